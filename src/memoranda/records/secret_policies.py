"""What each door does about secrets: refuses, masks or keeps them on the way in and out.

Which it is stands in the settings ``secrets.*``; :mod:`memoranda.text.secrets` says what is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from memoranda.errors import InvalidInput
from memoranda.model.models import Hit, Kind, Record
from memoranda.records.drafts import Draft, parse_tags
from memoranda.text.secrets import HIDDEN, has_secret, mask_secrets, secret_kind

SecretPolicy = Literal["mask", "refuse", "keep"]
REMEDY = "leave it out, and say where it is kept instead, such as a password manager"


def admit_text(text: str, policy: SecretPolicy, name: str = "content") -> str:
    """Return a text as it may be stored.

    Raises:
        InvalidInput: the policy is to refuse secrets, and it holds one.
    """
    if policy == "keep" or not isinstance(text, str):
        return text
    if policy == "mask":
        return mask_secrets(text)
    if kind := secret_kind(text):
        message = f"{name} seems to hold {kind}; secrets are not kept in memory: {REMEDY}"
        raise InvalidInput(message)
    return text


def admit_draft(draft: Draft, policy: SecretPolicy) -> Draft:
    """Return what is to be remembered as it may be stored: its content, metadata and tags.

    Raises:
        InvalidInput: as of :func:`admit_text`.
    """
    if policy == "keep":
        return draft
    draft = replace(draft, tags=parse_tags(draft.tags))
    if policy == "refuse":
        for name, text in _texts(draft):
            admit_text(text, policy, name)
        return draft
    metadata = draft.metadata
    if isinstance(metadata, Mapping):
        metadata = _mask_metadata(metadata)
    tags = [admit_text(tag, policy) for tag in draft.tags]
    return replace(draft, content=admit_text(draft.content, policy), metadata=metadata, tags=tags)


def holds_secret(draft: Draft) -> bool:
    """Return whether what is to be remembered holds a secret in its content, metadata or tags."""
    draft = replace(draft, tags=parse_tags(draft.tags))
    return any(has_secret(str(text)) for _, text in _texts(draft))


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the texts of a draft, each with what it is."""
    yield "content", draft.content
    yield from (("metadata", text) for text in metadata_statements(draft.metadata))
    yield from (("a tag", tag) for tag in draft.tags)


def show_text(text: str, policy: SecretPolicy) -> str:
    """Return a text as it may be shown."""
    return text if policy == "keep" else mask_secrets(text)


def show_read(read: Callable[[], str], policy: SecretPolicy) -> str:
    """Return a text that is read now as it may be shown."""
    return show_text(read(), policy)


def show_record(record: Record, policy: SecretPolicy) -> Record:
    """Return a record as it may be shown. An item is the application's, and shown as it is."""
    if policy == "keep" or record.kind is Kind.ITEM:
        return record
    if has_secret(record.content):
        record = replace(record, content=mask_secrets(record.content), value=None)
    if any(map(has_secret, metadata_statements(record.metadata))):
        record = replace(record, metadata=_mask_metadata(record.metadata))
    return record


def show_hit(hit: Hit, policy: SecretPolicy) -> Hit:
    """Return a hit as it may be shown, with the turns around it."""
    record, why = show_record(hit.record, policy), hit.why
    before, after = (text and show_text(text, policy) for text in (why.before, why.after))
    if record is hit.record and (before, after) == (why.before, why.after):
        return hit
    words = why.words if record is hit.record else ()
    return replace(hit, record=record, why=replace(why, before=before, after=after, words=words))


def _mask_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", _mask_value(metadata))


def _mask_value(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _mask_value(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_value(inner, name) for inner in value]
    return HIDDEN if has_secret(f"{name}: {value}") else value


def metadata_statements(value: object, name: str = "") -> Iterator[str]:
    """Yield what metadata says, each value with its name, as a text would say it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from metadata_statements(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from metadata_statements(inner, name)
    elif value is not None:
        yield f"{name}: {value}"

"""Results as JSON: the one form in which ``--json`` and the tools of MCP give them.

A result is an object of its fields. What is found by a query is a record with its score, and a
record has its kind also as the ``type`` that requirements S1.30 and S1.31 ask for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial
from typing import Any

from memoranda.model.models import Entity, ForgetReceipt, Hit, Kind, Recall, Record
from memoranda.text.patterns import compile_pattern

# Kinds that have another name as a type (requirement S1.33).
TYPES = {Kind.EPISODE: "conversation"}
# What stands in a record first, and what does also where it is empty.
FIRST = ("id", "type", "kind", "content", "created_at", "event_time", "tags", "metadata")
# What the upkeep of a record needs, and nobody else.
INNER = ("content_hash", "strength", "strength_at", "enriched_at")
# Gives what is shown of a result, by name.
ResultForm = Callable[[Any], Mapping[str, object]]
LATIN_CONTROL = compile_pattern(r"[\x7f-\x9f]")


def form_of(result: Any) -> Mapping[str, object]:
    """Return what of a result is given, by name."""
    match result:
        case Record():
            return _form_of_record(result)
        case Hit():
            return {**_form_of_record(result.record), "score": result.score}
        case Recall():
            ids = [hit.record.id for hit in result.hits]
            return {"text": result.text, "ids": ids, "tokens": result.tokens}
    shown = full_form_of(result)
    extra = {ForgetReceipt: "success", Entity: "known"}.get(type(result))
    return {extra: True, **shown} if extra else shown


def full_form_of(result: Any) -> dict[str, object]:
    """Return the fields of a result as they are, from which the result can be made again."""
    return {each.name: getattr(result, each.name) for each in fields(result) if each.repr}


def _form_of_record(record: Record) -> dict[str, object]:
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    values["type"] = TYPES.get(record.kind, record.kind.value)
    first = {name: values.pop(name) for name in FIRST}
    return first | {
        name: each for name, each in values.items() if name not in INNER and each not in (None, ())
    }


def explain_hit(hit: Hit) -> Mapping[str, object]:
    """Return a hit with the reasons for it."""
    return {**form_of(hit), "why": hit.why}


def to_json(value: object) -> Any:
    """Return a result as what JSON can hold, its moments in the zone that they came in."""
    return json.loads(json.dumps(value, default=partial(_plain, form_of)))


def _plain(form: ResultForm, value: Any) -> object:
    """Return what JSON does not know as something that it does."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, AbstractSet | Sequence):
        return [*value]
    if is_dataclass(value):
        return form(value)
    return dict(value) if isinstance(value, Mapping) else str(value)


def format_json(
    value: Any, *, form: ResultForm = form_of, indent: int | None = None, ascii_only: bool = False
) -> str:
    """Return ``value`` as a JSON document without a raw control character.

    Args:
        value: what is given; results in it have the form that ``form`` gives them.
        form: that of ``--json``, if not given.
        indent: spaces of a level; all on one line, if not given.
        ascii_only: whether other characters are escaped.
    """
    text = json.dumps(value, default=partial(_plain, form), indent=indent, ensure_ascii=ascii_only)
    # json.dumps leaves these raw, and an old terminal takes some of them for commands.
    return LATIN_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

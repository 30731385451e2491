"""From what a caller says to the change that stores it: validation, times, corrections, filters.

Also what each door does about secrets on the way in and out: it refuses, masks or keeps them. Which
it is stands in the settings ``secrets.*``; :mod:`memoranda.text.secrets` says what is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Literal, Required, TypedDict, cast

from memoranda.errors import InvalidInput
from memoranda.model import checks
from memoranda.model.changes import PROPOSED, Insert
from memoranda.model.clock import Clock, IdFactory
from memoranda.model.models import Kind, Record, Scope, Trust
from memoranda.model.query import Filter, parse_metadata_filter
from memoranda.text.secrets import HIDDEN, has_secret, mask_secrets, secret_kind

# Other names of kinds (requirements S1.04, S1.07).
ALIASES = {
    "conversation": Kind.EPISODE,
    # Kinds that earlier systems kept apart (requirement S1.07).
    "observation": Kind.EPISODE,
    "preference": Kind.FACT,
    "event": Kind.CONTEXT,
    "task": Kind.CONTEXT,
}
KINDS: Mapping[str, Kind] = {**{kind.value: kind for kind in Kind}, **ALIASES}
# Origins of what stands on its own word: sources it has only say it, too.
STATED = frozenset({"api", "tool", "notes"})
# The field of metadata that has what of a fact holds only from when a person keeps it.
HELD = "held"
# Whose word it is that a role says. Nobody knows who else stands behind a name.
TRUST = {
    "user": Trust.PERSON,
    **dict.fromkeys(("assistant", "agent", "model", "ai"), Trust.AGENT),
    **dict.fromkeys(("system", "tool"), Trust.EXTERNAL),
}
# Bytes of a namespace and a key: an entry of an index has room for little more.
LONGEST = 2_000
EXCERPT = 120  # characters of a turn beside a hit
# What items alone have, and what they have not: whoever says and believes something.
ADDRESS = ("key", "namespace")
BELIEF = ("session", "role", "event_time", "decay_rate", "confidence")
SecretPolicy = Literal["mask", "refuse", "keep"]
REMEDY = "leave it out, and say where it is kept instead, such as a password manager"


class RecordDetails(TypedDict, total=False):
    """What a caller may say of a record beside its text (see ``Memory.remember``)."""

    kind: str
    namespace: Iterable[str]
    key: str | None
    tags: Iterable[str]
    metadata: Mapping[str, Any] | None
    event_time: datetime | None
    valid_until: datetime | None
    session: str | None
    role: str | None
    trust: str | None
    origin: str | None
    confidence: float
    decay_rate: float | None


# What a dict that is to be remembered may hold.
DRAFT_KEYS = ("content", *RecordDetails.__annotations__)
# What holds where a draft does not say so.
DEFAULTS = {"kind": "fact", "namespace": (), "tags": (), "confidence": 1.0}


class Draft(RecordDetails, total=False):
    """What is to be remembered, not yet validated: what a caller may say, and what a stage knows.

    See :class:`~memoranda.model.models.Record` for what only a stage knows.
    """

    content: Required[str]
    source_ids: tuple[str, ...]
    supersedes: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    event_until: datetime | None
    created_at: datetime | None


def parse_draft(item: object, place: str) -> Draft:
    """Return what is to be remembered, a text or a dict of ``remember``'s arguments, as a draft.

    Raises:
        InvalidInput: it is neither; the message begins with ``place``.
    """
    if isinstance(item, str):
        return Draft(content=item)
    if not isinstance(item, Mapping) or "content" not in item:
        raise InvalidInput(f"{place} must be a text or a dict with content, got {item!r:.80}")
    checks.refuse_unknown(item, DRAFT_KEYS, f"{place}: argument")
    return cast("Draft", dict(item))


def require_one(id: object, namespace: object, key: object) -> None:
    """Require either the id of a record or the key of an item, with its namespace.

    Raises:
        InvalidInput: both are given, or none of them.
    """
    if (id is None) == (key is None) or (namespace and key is None):
        raise InvalidInput(
            f"id must be text, got {type(id).__name__}: {id!r:.80}; or leave it out, and name "
            f"an item by namespace=(…) and key='…'"
        )


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each kind is kept: a time span, until the end of the day, or for ever.

    Attributes:
        zone: the user's time zone.
        spans: kind → time span, or ``None`` for the end of the day in ``zone``. Kinds that are not
            in it are kept for ever.
    """

    zone: tzinfo
    spans: Mapping[Kind, timedelta | None]

    def end(self, kind: Kind, start: datetime) -> datetime | None:
        """Return when a record made at ``start`` expires; ``None`` is never."""
        if kind not in self.spans:
            return None
        span = self.spans[kind]
        if span is None:
            return self.midnight(start, days=1)
        try:
            return start + span
        except OverflowError:  # Beyond the calendar, so never.
            return None

    def midnight(self, moment: datetime, *, days: int = 0) -> datetime:
        """Return when the user's day of a moment began, or a later one begins."""
        day = moment.astimezone(self.zone).date() + timedelta(days)
        return checks.require_aware(datetime.combine(day, time(), self.zone), "midnight")


# What becomes of a value of a draft, by its name there; what only a stage knows is not checked.
PARSERS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("session", "role"), checks.named),
    **dict.fromkeys(("created_at", "event_time", "valid_until"), checks.known),
    "confidence": lambda given, name: _number(given, name, 1.0),
    "decay_rate": lambda given, name: 0.0 if given is None else _number(given, name),
    "origin": lambda given, name: "api" if given is None else checks.clean(given, name),
    "tags": lambda given, _: parse_tags(given),
    "metadata": checks.parse_metadata,
    "source_ids": lambda given, _: given or (),
    **dict.fromkeys(
        ("supersedes", "subject", "attribute", "value", "event_until"), lambda given, _: given
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlanner:
    """Plans the storing of new records.

    Attributes:
        ids: makes their ids.
        clock: where the time comes from.
        retention: how long records of each kind are kept.
    """

    ids: IdFactory
    clock: Clock
    retention: Retention

    def plan(
        self, scope: Scope, draft: Draft, *, reason: str = "remembered", unless_known: bool = False
    ) -> Insert:
        """Return the action that stores ``draft`` for ``scope``; names in it are found later.

        Raises:
            InvalidInput: a value of the draft cannot be stored; the message says which.
        """
        kind = parse_kind(draft.get("kind", DEFAULTS["kind"]))
        is_item = kind is Kind.ITEM
        namespace, key = _parse_place(draft, is_item=is_item)
        # An application gets back what it gave, also nothing.
        content = (checks.storable if is_item else checks.clean)(draft["content"], "content")
        now = self.clock.now()
        # Most drafts say little beside their text, and what they do not say need not be parsed.
        parsed = {
            name: PARSERS[name](value, name) for name, value in draft.items() if name in PARSERS
        }
        made = parsed.pop("created_at", None) or now
        ends = parsed.pop("valid_until", None) or self.retention.end(kind, made)
        role = parsed.pop("role", None)
        record = Record(
            id=self.ids.new(kind.prefix, now),
            kind=kind,
            content=content,
            content_hash=checks.content_hash(content),
            user=scope.user,
            agent=scope.agent,
            session_id=parsed.pop("session", None),
            event_time=parsed.pop("event_time", None) or made,
            created_at=made,
            # What waits for approval has not been believed at any moment.
            valid_until=checks.EPOCH if reason == PROPOSED else ends,
            strength=parsed.get("confidence", 1.0),
            strength_at=made,
            source_role=role,
            trust=parse_trust(draft.get("trust"), role),
            namespace=namespace,
            key=key,
            **parsed,
        )
        return Insert(record, reason=reason, unless_known=unless_known)


def _parse_place(draft: Draft, *, is_item: bool) -> tuple[tuple[str, ...], str | None]:
    """Return the namespace and key of a draft: those of an item, or none."""
    if is_item and draft.get("key") is None:
        raise InvalidInput("an item needs a key; write kind='item', namespace=(…), key='…'")
    remedy = "items; add kind='item', or leave it out"
    if is_item:
        remedy = "memories; leave it out, because an item is not believed"
    for name in BELIEF if is_item else ADDRESS:
        given = draft.get(name)
        if given and (name, given) != ("confidence", 1):
            raise InvalidInput(f"{name}={given!r:.80} is only for {remedy}")
    return parse_address(draft.get("namespace", ()), draft["key"]) if is_item else ((), None)


def draft_correction(old: Record, content: str) -> Draft:
    """Return the draft that takes the place of ``old``: the same but for its text.

    It is believed fully, happened when the old one did, and goes with the sources of what was
    drawn from them when these are erased.
    """
    told = old.origin in STATED
    metadata = {name: value for name, value in old.metadata.items() if name != HELD}
    return Draft(
        content=content,
        kind=old.kind,
        tags=old.tags,
        metadata=metadata,
        supersedes=old.id,
        event_time=old.event_time,
        event_until=old.event_until,
        session=old.session_id,
        role=old.source_role,
        decay_rate=old.decay_rate,
        source_ids=() if told else old.source_ids,
        origin=old.origin if told else "correction",
    )


def parse_kind(kind: object) -> Kind:
    """Return the kind of that name, or of that alias: ``conversation`` is ``episode``.

    Raises:
        InvalidInput: there is no such kind.
    """
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    raise InvalidInput(checks.unknown(kind, [*Kind, "conversation"], "kind"))


def parse_trust(trust: object, role: str | None) -> Trust:
    """Return the trust of that name; that of the role, if none is given.

    Only the role ``user`` is a person's. What comes without a role is the word of the caller, who
    stands behind it as a person does; every role that is not known is external.

    Raises:
        InvalidInput: there is no such trust.
    """
    if trust is None:
        return Trust.PERSON if role is None else TRUST.get(role, Trust.EXTERNAL)
    checks.refuse_unknown([trust], Trust, "trust")
    return Trust(str(trust))


def parse_tags(tags: object) -> tuple[str, ...]:
    """Return the tags without repetition, in order."""
    if tags == ():
        return ()
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidInput(f"tags must be a list of texts, got {tags!r:.80}; write tags=[…]")
    return tuple(dict.fromkeys(checks.clean(tag, "a tag") for tag in tags))


def _number(value: object, name: str, most: float = math.inf) -> float:
    found = checks.number(value, name)
    if found is None or not 0 <= found <= most or value == math.inf:
        upper = f" and {most:g}" if most < math.inf else " and infinity"
        raise InvalidInput(f"{name}={value!r} must be a number between 0{upper}")
    return float(found)


# Items: values that an application keeps under a namespace and a key of its own choice


def parse_namespace(given: object, name: str = "namespace") -> tuple[str, ...]:
    """Return the parts of a namespace, from the widest to the narrowest.

    Raises:
        InvalidInput: it is one text rather than several, or a part of it is empty.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name}={given!r:.80} must be a tuple of texts; write ('users', 'ana')")
    return tuple(checks.clean(part, f"a part of {name}") for part in given)


def parse_address(namespace: object, key: object) -> tuple[tuple[str, ...], str]:
    """Return the namespace and the key of one item.

    Raises:
        InvalidInput: one of them cannot be used, or they are too long.
    """
    parts, name = parse_namespace(namespace), checks.clean(key, "key")
    size = sum(len(part.encode()) for part in (*parts, name))
    if size > LONGEST:
        raise InvalidInput(
            f"namespace and key={name!r:.40} take {size:,} bytes; they may take {LONGEST:,}, "
            f"so put what is longer into the content or the metadata"
        )
    return parts, name


# Filters


class RecordFilters(TypedDict, total=False):
    """Which records a caller asks for; a record has to meet all that is given.

    Attributes:
        kind: of this kind.
        namespace: items in this namespace, or below it.
        session: of this session.
        tags: with all of these.
        metadata: with these values, or with values that operators describe.
        since, until: what happened at or after, and before.
    """

    kind: str | None
    namespace: Iterable[str] | None
    session: str | None
    tags: Iterable[str] | None
    metadata: Mapping[str, Any] | None
    since: datetime | None
    until: datetime | None


def parse_filters(
    now: datetime, otherwise: Iterable[Kind], given: RecordFilters, **known: Any
) -> Filter:
    """Return the filter of a store that these are.

    Args:
        now: the present.
        otherwise: the kinds that are meant where none is given; none of them is every kind of
            memory, or items, with a namespace.
        given: the filters.
        **known: what else the filter says.

    Raises:
        InvalidInput: a filter is unknown, or a value cannot be used; the message names it.
    """
    checks.refuse_unknown(given, RecordFilters.__annotations__, "argument")
    kind, namespace, tags = given.get("kind"), given.get("namespace"), given.get("tags")
    metadata = given.get("metadata")
    meant = (Kind.ITEM,) if namespace else tuple(otherwise)
    return Filter(
        now=now,
        kinds=meant if kind is None else (parse_kind(kind),),
        namespace=None if namespace is None else parse_namespace(namespace),
        session=checks.named(given.get("session"), "session"),
        tags=() if tags is None else parse_tags(tags),
        metadata={} if metadata is None else parse_metadata_filter(metadata),
        since=checks.known(given.get("since"), "since"),
        until=checks.known(given.get("until"), "until"),
        **known,
    )


# Secrets


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
        raise InvalidInput(f"{name} seems to hold {kind}; secrets are not kept in memory: {REMEDY}")
    return text


def admit_draft(draft: Draft, policy: SecretPolicy) -> Draft:
    """Return what is to be remembered as it may be stored: its content, metadata and tags.

    Raises:
        InvalidInput: as of :func:`admit_text`.
    """
    if policy == "keep":
        return draft
    draft = {**draft, "tags": parse_tags(draft.get("tags", ()))}
    if policy == "refuse":
        for name, text in _texts(draft):
            admit_text(text, policy, name)
        return draft
    content, metadata = admit_text(draft["content"], policy), mask_metadata(draft.get("metadata"))
    tags = [mask_secrets(tag) for tag in draft["tags"]]
    return {**draft, "content": content, "metadata": metadata, "tags": tags}


def holds_secret(draft: Draft) -> bool:
    """Return whether what is to be remembered holds a secret in its content, metadata or tags."""
    return any(has_secret(str(text)) for _, text in _texts(draft))


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the texts of a draft, each with what it is."""
    yield "content", draft["content"]
    yield from (("metadata", text) for text in metadata_statements(draft.get("metadata")))
    yield from (("a tag", tag) for tag in parse_tags(draft.get("tags", ())))


def show_text(text: str, policy: SecretPolicy) -> str:
    """Return a text as it may be shown."""
    return text if policy == "keep" else mask_secrets(text)


def show_record(record: Record, policy: SecretPolicy) -> Record:
    """Return a record as it may be shown. An item is the application's, and shown as it is."""
    if policy == "keep" or record.kind is Kind.ITEM:
        return record
    if has_secret(record.content):
        record = replace(record, content=mask_secrets(record.content), value=None)
    if any(map(has_secret, metadata_statements(record.metadata))):
        record = replace(record, metadata=mask_metadata(record.metadata))
    if any(map(has_secret, record.tags)):
        record = replace(record, tags=tuple(map(mask_secrets, record.tags)))
    return record


@lru_cache(maxsize=4_096)
def show_beginning(text: str, policy: SecretPolicy) -> str:
    """Return the beginning of a text beside a hit as it may be shown, as one line."""
    # Not the other way round: of a secret that is cut no pattern would know what is left.
    return excerpt(show_text(text, policy), EXCERPT)


def excerpt(text: str, longest: int) -> str:
    """Return the beginning of a text as one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def mask_metadata(value: Any, name: str = "") -> Any:
    """Return metadata, or a value of it, without secrets."""
    if isinstance(value, Mapping):
        return {key: mask_metadata(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_metadata(inner, name) for inner in value]
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

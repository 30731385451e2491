"""From what a caller says to the action that stores it: validation, times, corrections."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, TypedDict

from memoranda.errors import InvalidInput
from memoranda.model.changes import Close, Insert, RecordChange
from memoranda.model.checks import (
    clean,
    content_hash,
    known,
    parse_metadata,
    refuse_unknown,
    require_aware,
    storable,
    unknown,
)
from memoranda.model.clock import Clock, IdFactory
from memoranda.model.models import Kind, Record, Scope, Trust
from memoranda.records.items import parse_address, require_plain
from memoranda.settings.parsing import parse_span

if TYPE_CHECKING:
    from memoranda.settings.settings import Settings

# Other names of kinds (requirements S1.04, S1.07).
ALIASES = {
    "conversation": Kind.EPISODE,
    # Kinds that earlier systems kept apart (requirement S1.07).
    "observation": Kind.EPISODE,
    "preference": Kind.FACT,
    "event": Kind.CONTEXT,
    "task": Kind.CONTEXT,
}
PREFIXES = {kind: kind.prefix for kind in Kind}
KINDS: Mapping[str, Kind] = {**{kind.value: kind for kind in Kind}, **ALIASES}
# Origins of what stands on its own word: sources it has only say it, too.
STATED = frozenset({"api", "tool", "notes"})
# Whose word it is that a role says. Nobody knows who else stands behind a name.
TRUST = {"user": Trust.PERSON, **dict.fromkeys(("assistant", "agent", "model", "ai"), Trust.AGENT)}


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


@dataclass(slots=True, kw_only=True)  # Not frozen, which would take twice the time to make.
class Draft:
    """What a caller wants remembered, not yet validated."""

    content: str
    kind: str = "fact"
    tags: Iterable[str] = ()
    metadata: Mapping[str, Any] | None = None
    event_time: datetime | None = None
    valid_until: datetime | None = None
    session: str | None = None
    role: str | None = None
    trust: str | None = None
    confidence: float = 1.0
    decay_rate: float | None = None
    namespace: Iterable[str] = ()
    key: str | None = None
    source_ids: tuple[str, ...] = ()
    supersedes: str | None = None
    origin: str | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    event_until: datetime | None = None
    created_at: datetime | None = None


def parse_draft(item: object, place: str) -> Draft:
    """Return what is to be remembered, a text or a dict of ``remember``'s arguments, as a draft.

    Raises:
        InvalidInput: it is neither; the message begins with ``place``.
    """
    if isinstance(item, str):
        return Draft(content=item)
    if not isinstance(item, Mapping) or "content" not in item:
        message = f"{place} must be a text or a dict with content, got {item!r:.80}"
        raise InvalidInput(message)
    refuse_unknown(item, DRAFT_KEYS, f"{place}: argument")
    return Draft(**item)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each kind is kept: a time span, until the end of the day, or for ever.

    Attributes:
        spans: kind → time span; kinds without one are kept for ever.
        until_midnight: kinds kept until the day ends in ``zone``.
        zone: the user's time zone.
    """

    zone: tzinfo
    spans: Mapping[Kind, timedelta] = field(default_factory=dict)
    until_midnight: frozenset[Kind] = frozenset({Kind.CONTEXT})

    @classmethod
    def of_settings(cls, settings: Settings) -> Retention:
        """Return the retention policy of the settings."""
        kept = settings.retention.model_dump(exclude={"remove"})
        chosen = {Kind(kind): value for kind, value in kept.items()}
        return cls(
            zone=settings.zone,
            spans={
                kind: parse_span(value)
                for kind, value in chosen.items()
                if value not in {"forever", "day"}
            },
            until_midnight=frozenset(kind for kind, value in chosen.items() if value == "day"),
        )

    def end(self, kind: Kind, start: datetime) -> datetime | None:
        """Return when a record made at ``start`` expires; ``None`` is never."""
        if kind in self.until_midnight:
            tomorrow = start.astimezone(self.zone).date() + timedelta(days=1)
            return require_aware(datetime.combine(tomorrow, time(), self.zone), "expiry")
        span = self.spans.get(kind)
        try:
            return None if span is None else start + span
        except OverflowError:  # Beyond the calendar, so never.
            return None


class RecordPlanner:
    """Plans the storing of new records."""

    def __init__(self, *, ids: IdFactory, clock: Clock, retention: Retention) -> None:
        """Take what a plan depends on."""
        self._ids = ids
        self._clock = clock
        self._retention = retention

    def plan(
        self, scope: Scope, draft: Draft, *, reason: str = "remembered", unless_known: bool = False
    ) -> Insert:
        """Return the action that stores ``draft`` for ``scope``; names in it are found later.

        Raises:
            InvalidInput: a value of the draft cannot be stored; the message says which.
        """
        kind = parse_kind(draft.kind)
        is_item = kind is Kind.ITEM
        namespace, key = _parse_place(draft, is_item=is_item)
        # An application gets back what it gave, also nothing.
        content = (storable if is_item else clean)(draft.content, "content")
        now = self._clock.now()
        made = now if draft.created_at is None else require_aware(draft.created_at, "created_at")
        happened = draft.event_time
        role = None if draft.role is None else clean(draft.role, "role")
        confidence = _number(draft.confidence, "confidence", most=1.0)
        ends = known(draft.valid_until, "valid_until")
        decay = 0.0 if draft.decay_rate is None else _number(draft.decay_rate, "decay_rate")
        record = Record(
            id=self._ids.new(PREFIXES[kind], now),
            kind=kind,
            content=content,
            content_hash=content_hash(content),
            user=scope.user,
            agent=scope.agent,
            session_id=None if draft.session is None else clean(draft.session, "session"),
            event_time=made if happened is None else require_aware(happened, "event_time"),
            created_at=made,
            valid_until=self._retention.end(kind, made) if ends is None else ends,
            confidence=confidence,
            decay_rate=decay,
            strength=confidence,
            strength_at=made,
            supersedes=draft.supersedes,
            source_ids=draft.source_ids,
            source_role=role,
            origin="api" if draft.origin is None else clean(draft.origin, "origin"),
            trust=parse_trust(draft.trust, role),
            tags=parse_tags(draft.tags),
            metadata=parse_metadata(draft.metadata),
            namespace=namespace,
            key=key,
            subject=draft.subject,
            attribute=draft.attribute,
            value=draft.value,
            event_until=draft.event_until,
        )
        if is_item:
            return Insert(record, reason=reason)
        return Insert(record, None, reason, unless_known)


def _parse_place(draft: Draft, *, is_item: bool) -> tuple[tuple[str, ...], str | None]:
    """Return the namespace and key of a draft: those of an item, or none."""
    if is_item and draft.key is None:
        message = "an item needs a key; write kind='item', namespace=(…), key='…'"
        raise InvalidInput(message)
    if is_item:
        require_plain(
            session=draft.session,
            role=draft.role,
            event_time=draft.event_time,
            decay_rate=draft.decay_rate,
            confidence=None if draft.confidence == 1 else draft.confidence,
        )
        return parse_address(draft.namespace, draft.key)
    for name in ("key", "namespace"):
        if given := getattr(draft, name):
            message = f"{name}={given!r:.80} is of items; add kind='item', or leave it out"
            raise InvalidInput(message)
    return (), None


def draft_correction(old: Record, content: str) -> Draft:
    """Return the draft that takes the place of ``old``: the same but for its text.

    It is believed fully, happened when the old one did, and goes with the sources of what was
    drawn from them when these are erased.
    """
    told = old.origin in STATED
    return Draft(
        content=content,
        kind=old.kind,
        tags=old.tags,
        metadata=old.metadata,
        supersedes=old.id,
        event_time=old.event_time,
        event_until=old.event_until,
        session=old.session_id,
        role=old.source_role,
        decay_rate=old.decay_rate,
        source_ids=() if told else old.source_ids,
        origin=old.origin if told else "correction",
    )


def plan_correction(old: Record, new: Insert, at: datetime) -> list[RecordChange]:
    """Plan that ``new`` supersedes ``old``, which stays for ``as_of`` and history."""
    return [new, Close(old.id, at, "corrected", superseded_by=new.record.id)]


def parse_kind(kind: object) -> Kind:
    """Return the kind of that name, or of that alias: ``conversation`` is ``episode``.

    Raises:
        InvalidInput: there is no such kind.
    """
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    raise InvalidInput(unknown(kind, [*Kind, "conversation"], "kind"))


def parse_trust(trust: object, role: str | None) -> Trust:
    """Return the trust of that name; that of the role, if none is given.

    Only the role ``user`` is a person's. What comes without a role is the word of the caller, who
    stands behind it as a person does; every role that is not known is external.

    Raises:
        InvalidInput: there is no such trust.
    """
    if trust is None:
        return Trust.PERSON if role is None else TRUST.get(role, Trust.EXTERNAL)
    refuse_unknown([trust], list(Trust), "trust")
    return Trust(str(trust))


def parse_tags(tags: object) -> tuple[str, ...]:
    """Return the tags without repetition, in order."""
    if tags == ():
        return ()
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        message = f"tags must be a list of texts, got {tags!r:.80}; write tags=[…]"
        raise InvalidInput(message)
    return tuple(dict.fromkeys(clean(tag, "a tag") for tag in tags))


def _number(value: object, name: str, most: float = math.inf) -> float:
    valid = isinstance(value, int | float) and not isinstance(value, bool)
    # Comparing needs no conversion, which a very large int would not survive.
    if not valid or not 0 <= value <= most or value > sys.float_info.max:  # type: ignore[operator]
        upper = f" and {most:g}" if most < math.inf else " and infinity"
        message = f"{name}={value!r} must be a number between 0{upper}"
        raise InvalidInput(message)
    return float(value)  # type: ignore[arg-type]

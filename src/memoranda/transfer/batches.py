"""Adding many drafts at once: in batches, and only those that are not there yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from memoranda.model.actions import Insert
from memoranda.model.models import Kind, Mention, Record
from memoranda.model.ports import Progress, Store
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.records.drafts import Draft, RecordPlanner, Retention
from memoranda.transfer.formats import located

BATCH = 500
"""Records of one transaction, and of one page read."""


class Moved(NamedTuple):
    """How many records and messages were moved, and how many were there already."""

    records: int = 0
    messages: int = 0
    skipped: int = 0

    def plus(self, other: Moved) -> Moved:
        """Return the sums."""
        return Moved(*(one + two for one, two in zip(self, other, strict=True)))


class Placed(NamedTuple):
    """A draft, the place in a file from which it comes, and the names that this says are in it."""

    place: str
    draft: Draft
    mentions: tuple[Mention, ...] = ()


class Steps:
    """Counts the units of work that are done and tells of each batch."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        """Start at none of ``total``."""
        self._done = 0
        self._total = total
        self._progress = progress

    def advance(self, units: int) -> None:
        """Count ``units`` more as done."""
        self._done += units
        if self._progress is not None:
            self._progress(self._done, self._total)


class Sameness(NamedTuple):
    """What makes a record of a file the same as a stored one.

    Attributes:
        session: its session.
        content_hash: hash of its content.
        event_time: when it happened; ``None`` where the file does not say.
    """

    session: str | None
    content_hash: str
    event_time: datetime | None


class Additions:
    """The drafts of a file for one user, of which only the new ones are stored.

    A draft is there already if a record, believed or not, of the same session, content and
    event time is; what the file holds several times is stored as often. So importing again
    adds nothing, also after a crash in between, and what was forgotten stays forgotten.

    Args:
        parts: store, clock and what else a plan needs.
        scope: whose memory it goes to.
        drafts: gives the drafts; called once to check them and once to store them.

    Raises:
        InvalidInput: a draft cannot be stored; nothing was written.
    """

    def __init__(self, parts: Parts, scope: Scope, drafts: Callable[[], Iterable[Placed]]) -> None:
        """Check every draft; store nothing yet."""
        self._parts = parts
        self._scope = scope
        self._drafts = drafts
        self._trial = RecordPlanner(
            extractor=_NoNames(),
            ids=parts.ids,
            clock=parts.clock,
            retention=Retention.of_settings(parts.settings),
        )
        self._wanted: set[Sameness] = set()
        self.total = 0
        for placed in drafts():
            self._wanted.add(self._key(placed))
            self.total += 1

    def store(self, steps: Steps) -> Moved:
        """Store what is new, a transaction for each batch."""
        held = _held(self._parts, self._scope, self._wanted)
        batch: list[Insert] = []
        moved, seen = Moved(), 0
        for placed in self._drafts():
            key = self._key(placed)
            if held[key]:
                held[key] -= 1
            else:
                batch.append(self._plan(self._parts.ingest, placed))
            seen += 1
            if seen == BATCH:
                moved = moved.plus(self._flush(batch, seen, steps))
                batch, seen = [], 0
        return moved.plus(self._flush(batch, seen, steps)) if seen else moved

    def _flush(self, batch: list[Insert], seen: int, steps: Steps) -> Moved:
        self._parts.store.apply(self._scope, batch)
        steps.advance(seen)
        return Moved(records=len(batch), skipped=seen - len(batch))

    def _plan(self, ingest: RecordPlanner, placed: Placed) -> Insert:
        with located(placed.place):
            insert = ingest.plan(self._scope, placed.draft, reason="imported")
        if not placed.mentions:
            return insert
        told = placed.mentions
        others = (item for item in insert.mentions if not any(_overlap(item, own) for own in told))
        return replace(insert, mentions=(*told, *others))

    def _key(self, placed: Placed) -> Sameness:
        record = self._plan(self._trial, placed).record
        happened = None if placed.draft.event_time is None else record.event_time
        return Sameness(record.session_id, record.content_hash, happened)


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def pages(
    store: Store, scope: Scope, now: datetime, kinds: tuple[Kind, ...] = ()
) -> Iterator[list[Record]]:
    """Return the records of the scope, believed or not, in the order they were recorded.

    All, or only those of ``kinds``.
    """
    where, after = Filter(now=now, retired=True, kinds=kinds), None
    while page := store.page(scope, where, limit=BATCH, after=after):
        yield page
        after = page[-1].id


def _held(parts: Parts, scope: Scope, wanted: set[Sameness]) -> Counter[Sameness]:
    """Count which of ``wanted`` the store holds, also those of the user's other agents."""
    held: Counter[Sameness] = Counter()
    for page in pages(parts.store, Scope(scope.user), parts.now()):
        for record in page:
            key = Sameness(record.session_id, record.content_hash, record.event_time)
            keys = {key}
            if record.event_time == record.created_at:  # It was stored without one.
                keys.add(key._replace(event_time=None))
            held.update(keys & wanted)
    return held


class _NoNames:
    """Finds no entities: for drafts that are only checked."""

    def extract(self, text: str) -> list[Mention]:
        """Return nothing."""
        del text
        return []

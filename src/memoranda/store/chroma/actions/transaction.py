"""What the functions work with that carry out actions, and the table they are entered in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import singledispatch
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Action
from memoranda.model.models import Change
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.scope import Scope
from memoranda.model.vectors import Vector
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Counters, Facts, Log, Stored, Talk, cut_time
from memoranda.store.chroma.state import State, standing


@dataclass(frozen=True, slots=True)
class Transaction:
    """Whose transaction it is, and what is done the same way in many actions.

    Attributes:
        state: the rows of the scope's user; changed in place, undone by the caller.
        scope: whose records and conversations may be seen.
        names: decides which names are one entity.
        analyzer: counts the terms of a text.
        facts: what is known of the store.
        vectors: where :class:`PutVectors` leaves vectors, by record, to be stored with the rows.
    """

    state: State
    scope: Scope
    names: NameMatcher
    analyzer: Analyzer
    facts: Facts
    vectors: dict[str, Vector] = field(default_factory=dict)

    def target(self, id: str) -> Stored:
        """Return a record that the scope may see, or raise ``NotFound``."""
        row = self.state.records.get(id)
        if row is None or not sees(self.scope, row.record.agent):
            message = f"there is no record {id!r} for user {self.scope.user!r}"
            raise NotFound(message)
        return row

    def conversation(self, id: str) -> Talk:
        """Return a conversation that the scope may see, or raise ``NotFound``."""
        row = self.state.talks.get(id)
        if row is None or not sees(self.scope, row.agent):
            message = f"there is no conversation {id!r} for user {self.scope.user!r}"
            raise NotFound(message)
        return row

    def erased(self, ids: Iterable[str]) -> list[str]:
        """Return which records of the user are gone for good: nothing may rest on them."""
        return [each for each in ids if each not in self.state.records and self._is_gone(each)]

    def _is_gone(self, id: str) -> bool:
        log = self.state.logs.get(id)
        return log is not None and any(change.action == "erase" for change in log.changes)

    # Records

    def put(self, new: Stored) -> None:
        """Store a record, and count where it changes what MEMORY.md may say."""
        old = self.state.records.get(new.key)
        self.state.put(new)
        self._count_standing(old, new)

    def drop(self, old: Stored) -> None:
        """Remove a record; its history stays."""
        self.state.drop(old)
        self._count_standing(old, None)

    def _count_standing(self, old: Stored | None, new: Stored | None) -> None:
        row = new or old
        if row is None or standing(old) == standing(new):
            return
        agent = row.record.agent or ""
        counted = dict(self.state.counters.standing)
        counted[agent] = counted.get(agent, 0) + 1
        self.count(standing=tuple(sorted(counted.items())))

    def refresh(self, rows: Iterable[Stored], at: datetime) -> None:
        """Let records fade anew from their strength; tell readers only of what changed."""
        for row in rows:
            item = row.record
            strength = item.confidence if item.strength is None else item.strength
            if item.confidence != strength:
                self.raise_epoch()
            fresh = replace(item, confidence=strength, strength_at=cut_time(at))
            self.put(replace(row, record=fresh))

    def log(self, row: Stored, at: datetime, action: str, reason: str, **detail: Any) -> None:
        """Write one line of a record's history. ``detail`` never holds a record's text."""
        known = self.state.logs.get(row.key)
        log = known or Log(record=row.key, agent=row.record.agent)
        change = Change(cut_time(at), action, reason, detail)
        self.state.put(replace(log, changes=(*log.changes, change)))

    def revise(self, conversation: str, times: int = 1) -> None:
        """Tell readers of a conversation that what they know of it has changed."""
        talk = self.state.talks[conversation]
        info = replace(talk.info, revision=talk.info.revision + times)
        self.state.put(replace(talk, info=info))

    # Counting

    @property
    def counters(self) -> Counters:
        """What is counted of the user."""
        return self.state.counters

    def count(self, **values: Any) -> None:
        """Set some of what is counted."""
        self.state.put(replace(self.counters, **values))

    def number(self) -> int:
        """Return a number that nothing of the user had before."""
        return self.state.number()

    def raise_epoch(self) -> None:
        """Tell readers of the index that rows they know have changed or gone."""
        self.count(epoch=self.counters.epoch + 1)

    def ask_for_purge(self) -> None:
        """Have the free space cleaned of what this removes; until then ``verify`` asks for it."""
        self.count(erasures=self.counters.erasures + 1)


def require_weight(id: str, confidence: float, decay_rate: float = 0.0) -> None:
    """Raise ``InvalidInput`` where nothing can be believed so far, or fade so fast."""
    if not 0 <= confidence <= 1:
        message = f"the confidence of {id!r} is {confidence}; give one from 0 to 1"
        raise InvalidInput(message)
    if not decay_rate >= 0:
        message = f"the decay rate of {id!r} is {decay_rate}; give one of 0 or more"
        raise InvalidInput(message)


@singledispatch
def perform(action: Action, _tx: Transaction) -> None:
    """Carry out one action."""
    message = f"not an action: {action!r}"
    raise InvalidInput(message)

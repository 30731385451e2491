"""The states of the users that a process serves: loaded when asked for, kept up with others.

All that reads or changes a state holds the lock of the engine, so that a reader sees no
transaction half done. Where other processes write, too, each look begins with the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, RLock
from time import monotonic
from typing import ClassVar
from uuid import uuid4

from memoranda.errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from memoranda.model.ports import NameMatcher
from memoranda.model.vectors import Vector, Vectors
from memoranda.store.chroma.client import PATIENCE, Connection
from memoranda.store.chroma.journal import KEPT, Journal
from memoranda.store.chroma.place import Folder, Place
from memoranda.store.chroma.rows import NOBODY, Counters, Facts, Stored
from memoranda.store.chroma.shelf import Shelf, Write
from memoranda.store.chroma.state import Changes, State

log = logging.getLogger("memoranda.store.chroma")

POLL = 0.005
TRIES = 1_000
ASKED = 5
PROMPT = PATIENCE / 2
"""Seconds within which a commit is written as a matter of course: nobody else does it yet."""
MOST_ROWS = 200_000
"""Rows of all users together beyond which those who were not asked for longest are let go of."""
A_STATE = 50
"""As how many rows a state counts that has none."""
Made = dict[str, Vector]
"""Vectors of records that a change brought."""


@dataclass(slots=True)
class Held:
    """A state, and what is known of how far it is written.

    Attributes:
        state: the rows.
        written: number of the last commit whose rows are all written.
        owing: commits that were made here and could not be written yet.
    """

    state: State
    written: int
    owing: list[tuple[int, Write]]


class Engine:
    """One place in one process. A folder's is shared by all that open the same folder.

    Raises:
        StoreError: the place cannot be used.
    """

    _folders: ClassVar[dict[Place, Engine]] = {}
    _opening: ClassVar[RLock] = RLock()

    def __init__(self, place: Place, names: NameMatcher) -> None:
        """Open ``place``; loads nobody's rows yet."""
        self.lock = RLock()
        self.connection = Connection(place)
        try:
            self.shelf = Shelf(self.connection)
        except BaseException:
            self.connection.close()
            raise
        self.journal = Journal(self.shelf)
        self._names = names
        self._held: dict[str, Held] = {}
        self._most = MOST_ROWS
        self._checked = False
        self._users = 1
        self._closed = False
        self._still = 0
        self._seen: set[str] = set()

    @classmethod
    def opened(cls, place: Place, names: NameMatcher) -> Engine:
        """Return the engine of ``place``, the same one for a folder that is open already."""
        if not isinstance(place, Folder):
            return cls(place, names)
        with cls._opening:
            key = Folder(place.path.resolve())
            if key in cls._folders:
                cls._folders[key]._users += 1  # noqa: SLF001 - its own class
            else:
                cls._folders[key] = cls(key, names)
            return cls._folders[key]

    @classmethod
    def serving(cls, place: Folder) -> Engine | None:
        """Return the engine of a folder that this process has open."""
        with cls._opening:
            return cls._folders.get(Folder(place.path.resolve()))

    def close(self) -> None:
        """Release the place, once all that opened it have closed it."""
        with self._opening, self.lock:
            self._users -= 1
            if self._users > 0 or self._closed:
                return
            self._closed = True
            self._held.clear()
            self.connection.close()
            for key in [key for key, engine in self._folders.items() if engine is self]:
                del self._folders[key]

    # Reading

    @contextmanager
    def reading(self, user: str) -> Iterator[State]:
        """Give the state of a user as it is now, for as long as the block lasts."""
        with self.lock:
            yield self._fresh(user).state

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Let all reads in the block see one moment: nobody of this process writes meanwhile."""
        with self.lock:
            self._still += 1
            if self._still == 1:
                self._seen = set()
            try:
                yield
            finally:
                self._still -= 1

    def vectors(self, user: str, ids: Sequence[str]) -> Vectors:
        """Return the embeddings of records of a user, in the order of ``ids``."""
        with self.lock:
            if ids:
                self._turn(user)  # A row may say that it has one which is still to be written.
            return self.shelf.vectors(ids, self.facts.dimensions)

    @property
    def facts(self) -> Facts:
        """What is known of the store itself, as it is now."""
        with self.reading(NOBODY) as state:
            return state.facts

    def forget(self) -> None:
        """Let go of every state, so that each is loaded anew when it is next asked for."""
        with self.lock:
            for user in [user for user, held in self._held.items() if not held.owing]:
                del self._held[user]

    def _fresh(self, user: str) -> Held:
        if self._closed:
            message = f"{self.connection.place} is closed; open the memory again"
            raise StoreClosed(message)
        known = self._held.pop(user, None)
        if known is None:
            self._make_room()
        held = self._held[user] = known or self._loaded(user)  # Behind all others.
        if known and self.connection.shared and not (self._still and user in self._seen):
            held = self._held[user] = self._followed(user, known)
        if self._still:
            self._seen.add(user)
        return held

    def _make_room(self) -> None:
        """Let go of the states that were not asked for longest, where there are too many rows."""
        if self._still:
            return  # They are of the moment.
        rows = {user: A_STATE + held.state.size for user, held in self._held.items()}
        spare = sum(rows.values()) - self._most
        for user, held in list(self._held.items()):
            if spare <= 0:
                return
            if user != NOBODY and not held.owing:
                del self._held[user]
                spare -= rows[user]

    def _loaded(self, user: str) -> Held:
        # The counters first: what is written while the rows are read is in the journal after them.
        written = self.journal.written(user)
        state = State(user, self._names, self.shelf.load(user))
        known = written or Counters()
        if state.get((known.table, known.key)) is not None:
            state.follow({(known.table, known.key): written})
        return self._followed(user, Held(state, known.commit, []))

    def _followed(self, user: str, held: Held) -> Held:
        """Return the state of a user with all that is in the journal."""
        while True:
            known = held.state.counters.commit
            ahead = self.journal.ahead(user, known)
            missing = ahead.written - known - len(ahead.commits)
            if ahead.written - known > KEPT // 2 or (missing > 0 and not ahead.more):
                # Too far behind to follow, or what would have to be followed was erased.
                return replace(self._loaded(user), owing=held.owing)
            for commit in ahead.commits:
                held.state.follow(commit.changes)
            held.written = max(held.written, ahead.written)
            if not ahead.more:
                return held

    # Writing

    def change(self, user: str, work: Callable[[State], Made]) -> bool:
        """Let ``work`` change the state of a user, all or nothing; whether anything changed.

        Args:
            user: whose state it is.
            work: changes the state, and returns the vectors of records that are to be stored.
                It is called again where another process was first.

        Raises:
            StoreBusy: others were first too often.
            StoreError: it could not be stored; nothing was changed.
        """
        with self.lock:
            for _ in range(TRIES):
                held = self._turn(user)
                state, since = held.state, monotonic()
                state.begin()
                try:
                    write = self._planned(state, work)
                    if write is None or self._committed(held, write):
                        break
                    state.undo()
                except BaseException as error:
                    state.undo()
                    if not isinstance(error, Exception):
                        del self._held[user]  # Interrupted anywhere: perhaps it is committed.
                    raise
            else:
                message = f"{self.connection.place}: others write all the time; try again later"
                raise StoreBusy(message)
            state.keep()
            if write is not None and held.written < state.counters.commit:
                self._write(held, write, since)
            return write is not None

    def settle(self) -> None:
        """Write all that was committed and is not written, whoever did not come to do it."""
        with self.lock:
            owing = any(held.owing for held in self._held.values())
            if self.connection.shared or owing or not self._checked:
                for user in self.journal.behind():
                    self._turn(user)
                self._checked = True

    def _turn(self, user: str) -> Held:
        """Return the state of a user once all that was committed before is written, too."""
        held = self._fresh(user)
        while held.owing:
            number, write = held.owing[0]
            if number > held.written:  # Else another process did it by now.
                self.shelf.write(replace(write, new=None))
                held.written = number
            held.owing.pop(0)
        since = monotonic()
        while held.written < held.state.counters.commit:
            if monotonic() - since > PATIENCE or not self.connection.shared:
                self._finish(user, held)
            else:
                Event().wait(POLL)  # Whoever committed is about to write it.
            held = self._held[user] = self._followed(user, held)
        return held

    def _finish(self, user: str, held: Held) -> None:
        """Write what a process committed that did not come to write it."""
        for commit in self.journal.ahead(user, held.written).commits:
            self.shelf.write(commit)

    def _planned(self, state: State, work: Callable[[State], Made]) -> Write | None:
        vectors = work(state)
        changes = state.changes()
        if not changes:
            return None
        counters = state.counters
        state.put(replace(counters, commit=counters.commit + 1))
        changes = state.changes()
        new = {row.key for row in changes.values() if isinstance(row, Stored) and state.is_new(row)}
        taken = self.shelf.known(sorted(new)) if new else set()
        if taken:
            message = f"the id {min(taken)!r} is taken; records need ids of their own"
            raise InvalidInput(message)
        return Write(state.user, changes, vectors, new)

    def _committed(self, held: Held, write: Write) -> bool:
        """Commit what a state has become; whether nobody else was first."""
        number, token = held.state.counters.commit, uuid4().hex
        if not self.connection.shared and self.shelf.is_one_call(write):
            self.shelf.write(write)
            held.written = number
            return True
        try:
            self.journal.append(write, number, token)
        except StoreError:
            # Perhaps it arrived all the same: then it counts.
            if not self.connection.shared or not self._won(write.user, number, token):
                raise
            return True
        return not self.connection.shared or self._won(write.user, number, token)

    def _won(self, user: str, number: int, token: str) -> bool:
        """Ask whose the commit is, and ask again: what was sent cannot be taken back."""
        for _ in range(ASKED):
            try:
                return self.journal.won(user, number, token)
            except StoreError as error:
                last = error
                Event().wait(POLL)
        message = (
            f"{self.connection.place} stopped answering while something was stored; it may be "
            f"there or not: look before you store it again ({last})"
        )
        raise StoreError(message) from last

    def _write(self, held: Held, write: Write, since: float) -> None:
        number = held.state.counters.commit
        if self.connection.shared and monotonic() - since > PROMPT:
            held.owing.append((number, write))  # Another process may have begun to write it.
            return
        try:
            self.shelf.write(write)
        except StoreError as error:
            # It is in the journal, and so it is stored; its rows are written before the next.
            log.warning("%s: rows are written later (%s)", self.connection.place, error)
            held.owing.append((number, write))
            return
        held.written = number
        try:
            self.journal.trim(write.user, number, all=_erases(write.changes))
        except StoreError as error:
            log.warning("%s: the journal is trimmed later (%s)", self.connection.place, error)

    # The model of the vectors

    def settle_dimensions(self) -> None:
        """Let the memories be made for vectors of the length that the store's model has."""
        with self.lock:
            self.shelf.wanted = self.facts.dimensions


def _erases(changes: Changes) -> bool:
    return any(row is None for (table, _), row in changes.items() if table == Stored.table)

"""The replicas of the users that a process serves: opened when asked for, kept up with others.

All that reads or changes a replica holds the lock of its place, so that a reader sees no
transaction half done. Where other processes write, too, each look begins with the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, RLock
from typing import ClassVar, TypeVar
from uuid import uuid4

from memoranda.errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.store.chroma.client import Connection
from memoranda.store.chroma.collections import Collections
from memoranda.store.chroma.journal import Ahead, Journal, JournalEntry, Position
from memoranda.store.chroma.mirror import Mirror
from memoranda.store.chroma.place import Folder, Place
from memoranda.store.chroma.replica import MirrorChange, Recorded, Replica, ReplicaStore

log = logging.getLogger("memoranda.store.chroma")

# The user of what belongs to the store: its model, its leases, its jobs.
STORE_ITSELF = ""
TRIES = 1_000
ASKED = 5
POLL = 0.005
# Bytes of all replicas together beyond which those that were not asked for longest are closed.
MOST_BYTES = 1 << 29
# Commits of which a replica knows the tokens: by these a process knows its own again.
TOKENS = 256
GENERATION, MODEL, DIMENSIONS = "generation", "model", "dimensions"
ANALYZER = "analyzer"
T = TypeVar("T")


class OutrunError(Exception):
    """Another process was first to commit under a number."""


@dataclass(frozen=True, slots=True)
class VectorModel:
    """Which vectors count.

    Attributes:
        generation: how often a model was named.
        name, dimensions: the model that was named last, if any.
    """

    generation: int = 0
    name: str | None = None
    dimensions: int = 0


class Replicas:
    """One place in one process. A folder's is shared by all that open the same folder.

    Raises:
        StoreError: the place cannot be used.
    """

    _folders: ClassVar[dict[Place, Replicas]] = {}
    _opening: ClassVar[RLock] = RLock()

    def __init__(self, place: Place, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Open ``place``; loads nobody's rows yet."""
        self.lock = RLock()
        self.connection = Connection(place)
        try:
            self.collections = Collections(self.connection)
        except BaseException:
            self.connection.close()
            raise
        self.journal = Journal(self.collections)
        self.mirror = Mirror(self.collections)
        self._analyzer = analyzer
        self._names = names
        self._held: dict[str, Replica] = {}
        self._unsaid: dict[str, int] = {}
        self._most = MOST_BYTES
        self._checked = False
        self._users = 1
        self._closed = False
        self._still = 0
        self._seen: set[str] = set()
        self._aligning: set[str] = set()

    @classmethod
    def opened(cls, place: Place, *, analyzer: Analyzer, names: NameMatcher) -> Replicas:
        """Return the replicas of ``place``, the same ones for a folder that is open already."""
        if not isinstance(place, Folder):
            return cls(place, analyzer=analyzer, names=names)
        with cls._opening:
            key = Folder(place.path.resolve())
            if key in cls._folders:
                cls._folders[key]._users += 1  # noqa: SLF001 - its own class
            else:
                cls._folders[key] = cls(key, analyzer=analyzer, names=names)
            return cls._folders[key]

    @classmethod
    def serving(cls, place: Folder) -> Replicas | None:
        """Return the replicas of a folder that this process has open."""
        with cls._opening:
            return cls._folders.get(Folder(place.path.resolve()))

    def close(self) -> None:
        """Release the place, once all that opened it have closed it."""
        with self._opening, self.lock:
            self._users -= 1
            if self._users > 0 or self._closed:
                return
            with suppress(StoreError):  # It is found out when the place is opened again.
                self._say_mirrored()
            self._closed = True
            self.forget(all=True)
            self.connection.close()
            for key in [key for key, each in self._folders.items() if each is self]:
                del self._folders[key]

    # Reading

    @contextmanager
    def reading(self, user: str) -> Iterator[Replica]:
        """Give the replica of a user as it is now, for as long as the block lasts."""
        with self.lock:
            yield self._fresh(user)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Let all reads in the block see one moment: nobody of this process writes meanwhile."""
        with self.lock:
            self._require_open()
            self._still += 1
            if self._still == 1:
                self._seen = set()
            try:
                yield
            finally:
                self._still -= 1

    @property
    def model(self) -> VectorModel:
        """Which vectors count, as of now."""
        with self.reading(STORE_ITSELF) as replica:
            return _model(replica)

    def forget(self, *, all: bool = False) -> None:
        """Close the replicas, so that each is loaded anew when it is next asked for."""
        with self.lock:
            for user in [user for user, each in self._held.items() if all or not each.touched]:
                self._held.pop(user).close()

    def _require_open(self) -> None:
        if self._closed:
            message = f"{self.connection.place} is closed; open the memory again"
            raise StoreClosed(message)

    def _fresh(self, user: str) -> Replica:
        """Return a replica with all that is in the journal, of the model that the store has."""
        self._require_open()
        wanted = [each for each in dict.fromkeys((STORE_ITSELF, user)) if self._is_stale(each)]
        known = {each: self._held[each].at for each in wanted if self._held[each].at.commit}
        found = self.journal.ahead(known) if known else {}
        for each in wanted:
            self._follow(each, found.get(each))
        replica = self._held[user] = self._held.pop(user)  # Behind all others.
        return self._aligned(replica)

    def _is_stale(self, user: str) -> bool:
        """Return whether the journal has to be asked for a user; loads what is not there."""
        if user not in self._held:
            self._held[user] = self._loaded(user)
            self._make_room()
            self._seen.add(user)
            return False
        stale = self.connection.shared and not (self._still and user in self._seen)
        self._seen.add(user)
        return stale

    def _make_room(self) -> None:
        """Close the replicas that were not asked for longest, where there are too many bytes."""
        if self._still:
            return  # They are of the moment.
        sizes = {user: replica.size for user, replica in self._held.items()}
        spare = sum(sizes.values()) - self._most
        for user, replica in list(self._held.items())[:-1]:
            if spare <= 0:
                return
            if user != STORE_ITSELF and not replica.touched:
                self._held.pop(user).close()
                spare -= sizes[user]

    def _loaded(self, user: str) -> Replica:
        contents = self.journal.load(user)
        replica = Replica(user, analyzer=self._analyzer, names=self._names)
        replica.at = Position(contents.epoch, 0)
        replica.apply(contents.entries, mirrored=contents.mirrored)
        return replica

    def _follow(self, user: str, ahead: Ahead | None) -> None:
        """Take in what others have committed."""
        while True:
            replica = self._held[user]
            if ahead is None and replica.at.commit:
                ahead = self.journal.ahead({user: replica.at})[user]
            if ahead is None or ahead.replaced:
                self._held[user] = self._loaded(user)
                replica.close()
                return
            if not ahead.entries:
                return
            if ahead.mirrored >= replica.at.commit:
                replica.touched.clear()
            replica.apply(ahead.entries, mirrored=ahead.mirrored)
            ahead = None

    # Writing

    def change(
        self, user: str, work: Callable[[ReplicaStore], T], stamps: Mapping[str, str] | None = None
    ) -> T:
        """Let ``work`` change the rows of a user, each of its transactions all or nothing.

        Args:
            user: whose rows they are.
            work: changes them. It is called again where another process was first.
            stamps: what is to be noted of the replica with it.

        Raises:
            StoreBusy: others were first too often.
            StoreError: it could not be stored; nothing was changed.
        """
        with self.lock:
            for _ in range(TRIES):
                self._mirror(self._fresh(user))
                replica = self._aligned(self._held[user])
                commits = _Commits(self, replica, stamps or {})
                try:
                    done = replica.change(work, commits)
                except OutrunError:
                    self._seen.discard(user)  # Also in a moment: it is looked at anew.
                    continue
                except BaseException as error:
                    if not isinstance(error, Exception) or commits.number > commits.first:
                        self._drop(replica)  # Interrupted anywhere: perhaps it is committed.
                    raise
                self._after(user, commits)
                return done
            message = f"{self.connection.place}: others write all the time; try again later"
            raise StoreBusy(message)

    def settle(self) -> None:
        """Write to the memories all that was committed, whoever did not come to do it."""
        with self.lock:
            self._require_open()
            owing = [user for user, replica in self._held.items() if replica.touched]
            if self.connection.shared or not self._checked:
                owing += self.journal.behind()
                self._checked = True
            for user in dict.fromkeys(owing):
                self._mirror(self._fresh(user))

    def _drop(self, replica: Replica) -> None:
        if self._held.get(replica.user) is replica:
            del self._held[replica.user]
        replica.close()

    def _after(self, user: str, commits: _Commits) -> None:
        """Write to the memories what was committed, and keep the journal short."""
        if commits.number == commits.first:
            return
        try:
            self._mirror(self._held[user])
            for number in range(commits.first + 1, commits.number + 1):
                self.journal.fold(user, number)
        except StoreError as error:
            # It is in the journal, and so it is stored; the memories follow before the next.
            log.warning("%s: memories are written later (%s)", self.connection.place, error)

    def _mirror(self, replica: Replica) -> None:
        """Write to the memories what is not there yet."""
        user, shared = replica.user, self.connection.shared
        generation = _model(self._held[STORE_ITSELF]).generation
        while replica.touched:
            touched = replica.touched
            replica.touched = dict.fromkeys(
                touched, MirrorChange.REPLACED
            )  # Should it be broken off.
            self.mirror.write(replica, touched, generation)
            replica.touched = {}
            if shared:
                # What others have committed meanwhile they may have written before.
                self._follow(user, None)
                again, replica = replica, self._held[user]
                if replica is not again:
                    replica.touched.update(dict.fromkeys(touched, MirrorChange.REPLACED))
            self._unsaid[user] = replica.at.commit
        if shared and user in self._unsaid:
            self._say_mirrored()

    def _say_mirrored(self) -> None:
        if self._unsaid:
            self.journal.mirrored(self._unsaid)
            self._unsaid.clear()

    # Of one transaction

    def keep(self, replica: Replica, entry: JournalEntry, recorded: Recorded) -> None:
        """Commit what a transaction changed; raises ``OutrunError`` where another was first."""
        new = [each for each, how in recorded.touched.items() if how is MirrorChange.NEW]
        taken = self.mirror.known(new) if new else set()
        if taken:
            message = f"the id {min(taken)!r} is taken; records need ids of their own"
            raise InvalidInput(message)
        user, shared = replica.user, self.connection.shared
        told = None
        if not shared:
            # The rows of the last commit are written by now, and where this changes none of them …
            told = entry.through - (1 if recorded.touched else 0)
        try:
            self.journal.append(user, entry, erases=recorded.erases, mirrored=told)
        except StoreError:
            # Perhaps it arrived all the same: then it counts.
            if not shared or not self._won(replica, entry):
                raise
        else:
            if shared and not self._won(replica, entry):
                raise OutrunError
        if not shared:
            self._unsaid.pop(user, None)

    def _won(self, replica: Replica, entry: JournalEntry) -> bool:
        """Ask whose a commit is, and ask again: what was sent cannot be taken back."""
        for _ in range(ASKED):
            try:
                return self._has_won(replica, entry)
            except StoreError as error:
                last = error
                Event().wait(POLL)
        message = (
            f"{self.connection.place} stopped answering while something was stored; it may be "
            f"there or not: look before you store it again ({last})"
        )
        raise StoreError(message) from last

    def _has_won(self, replica: Replica, entry: JournalEntry) -> bool:
        won = self.journal.won(replica.user, entry, replica.at.epoch)
        if won is not None:
            return won
        # The journal was rewritten meanwhile, with this commit or without it.
        replaced = self._loaded(replica.user)
        kept = replaced.state(_slot(entry.through)) == entry.token
        replaced.close()
        if not kept:
            self.journal.forget(entry.token)
        return kept

    # What all users have in common

    def name_model(self, name: str, dimensions: int) -> None:
        """Name the model of the vectors, so that those of others do not count."""
        with self.lock:
            told = {
                GENERATION: str(self.model.generation + 1),
                MODEL: name,
                DIMENSIONS: str(dimensions),
            }
            self.change(STORE_ITSELF, lambda store: store.reset_vectors(name, dimensions), told)

    def _aligned(self, replica: Replica) -> Replica:
        """Return a replica whose vectors and terms are of the model and analyzer of today."""
        model, user = _model(self._held[STORE_ITSELF]), replica.user
        self.mirror.dimensions = model.dimensions
        if user == STORE_ITSELF or replica.generation == model.generation or user in self._aligning:
            return replica
        self._aligning.add(user)
        try:
            self._align(user, ANALYZER, self._analyzer.name, ReplicaStore.index_again)
            reset = partial(
                ReplicaStore.reset_vectors, model=model.name or "", dimensions=model.dimensions
            )
            self._align(user, GENERATION, str(model.generation), reset)
        finally:
            self._aligning.discard(user)
        replica = self._held[user]
        if model.name is not None:
            replica.store.tell_model(model.name, model.dimensions)
        replica.generation = model.generation
        replica.stamps = {ANALYZER: self._analyzer.name, GENERATION: str(model.generation)}
        return replica

    def _align(
        self, user: str, name: str, wanted: str, work: Callable[[ReplicaStore], object]
    ) -> None:
        """Let ``work`` be done on the rows of a user if they were made by something else."""
        replica = self._held[user]
        if replica.at.commit and replica.state(name) != wanted:
            replica.stamps = {name: wanted}
            self.change(user, work)


class _Commits:
    """Commits the transactions of a change, one after the other.

    Attributes:
        wanted: what is to be noted of the replica; a change by itself.
        first, number: the last commit before the change, and by now.
    """

    def __init__(self, replicas: Replicas, replica: Replica, wanted: Mapping[str, str]) -> None:
        """Begin where the replica is."""
        self.wanted = wanted
        self.first = self.number = replica.at.commit
        self._replicas = replicas
        self._replica = replica
        self._token = ""

    def stamps(self) -> Mapping[str, str]:
        """Note the token of the commit, where others may have to know it."""
        self._token = uuid4().hex
        told = self._replica.stamps
        shared = self._replicas.connection.shared
        return {**told, _slot(self.number + 1): self._token} if shared else told

    def keep(self, recorded: Recorded) -> None:
        """Commit what was recorded."""
        replica = self._replica
        entry = JournalEntry(self.number + 1, recorded.patch, self._token)
        self._replicas.keep(replica, entry, recorded)
        self.number = entry.through
        replica.at = Position(max(replica.at.epoch, 0), entry.through)
        for each, how in recorded.touched.items():
            replica.touched[each] = max(how, replica.touched.get(each, how))


def _model(replica: Replica) -> VectorModel:
    generation, dimensions = replica.state(GENERATION), replica.state(DIMENSIONS)
    return VectorModel(int(generation or 0), replica.state(MODEL), int(dimensions or 0))


def _slot(number: int) -> str:
    return f"token {number % TOKENS}"

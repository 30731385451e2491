"""The replicas of the users that a process serves: opened when asked for, kept up with others.

All that reads or changes a replica holds the lock of its place, so that a reader sees no
transaction half done. Where other processes write, too, each look begins with the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, RLock
from typing import ClassVar, TypeVar

from memoranda.errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from memoranda.model.ports import Analyzer
from memoranda.store.chroma.collections import Collections
from memoranda.store.chroma.journal import Journal, JournalEntries, JournalEntry, Position
from memoranda.store.chroma.mirror import Mirror
from memoranda.store.chroma.place import Folder, Place
from memoranda.store.chroma.replica import MirrorChange, Replica, Touched, stamp
from memoranda.store.sql.health import ANALYZER, follow_analyzer
from memoranda.store.sql.reads import DIMENSIONS, MODEL
from memoranda.store.sql.store import drop_vectors

log = logging.getLogger("memoranda.store.chroma")

# The user of what belongs to the store: its model, its leases, its jobs.
STORE_ITSELF = ""
TRIES = 1_000
ASKED = 5
POLL = 0.005
# Bytes of all replicas together beyond which those that were not asked for longest are closed.
MOST_BYTES = 1 << 29
# Commits after which the journal of a user begins anew with all there is; of a larger user, which
# takes longer to write and to read, one for each so many bytes.
COMMITS, BYTES_OF_COMMIT = 64, 1 << 14
# How often a model was named: vectors of an older one do not count.
GENERATION = "generation"
OF_STORE = (GENERATION, MODEL, DIMENSIONS)
T = TypeVar("T")


class OutrunError(Exception):
    """Another process was first to commit under a number."""


class Replicas:
    """One place in one process. A folder's is shared by all that open the same folder.

    Raises:
        StoreError: the place cannot be used.
    """

    _folders: ClassVar[dict[Place, Replicas]] = {}
    _opening: ClassVar[RLock] = RLock()

    def __init__(self, place: Place, analyzer: Analyzer) -> None:
        """Open ``place``; loads nobody's rows yet."""
        self.lock = RLock()
        self.collections = Collections(place)
        self.journal = Journal(self.collections)
        self.mirror = Mirror(self.collections)
        self._analyzer = analyzer
        self._held: dict[str, Replica] = {}
        self._unsaid: dict[str, int] = {}
        self._most = MOST_BYTES
        self._checked = False
        self._users = 1
        self._seen: set[str] | None = None

    @classmethod
    def opened(cls, place: Place, analyzer: Analyzer) -> Replicas:
        """Return the replicas of ``place``, the same ones for a folder that is open already."""
        if not isinstance(place, Folder):
            return cls(place, analyzer)
        with cls._opening:
            key = Folder(place.path.resolve())
            if key in cls._folders:
                cls._folders[key]._users += 1  # noqa: SLF001 - its own class
            else:
                cls._folders[key] = cls(key, analyzer)
            return cls._folders[key]

    def close(self) -> None:
        """Release the place, once all that opened it have closed it."""
        with self._opening, self.lock:
            self._users -= 1
            if self._users:
                return
            with suppress(StoreError):  # It is found out when the place is opened again.
                self._say_mirrored()
            self.forget(all=True)
            self.collections.close()
            self._folders.pop(self.collections.place, None)

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
            before = self._seen
            self._seen = set() if before is None else before
            try:
                yield
            finally:
                self._seen = before

    def forget(self, *, all: bool = False) -> None:
        """Close the replicas, so that each is loaded anew when it is next asked for."""
        with self.lock:
            for user in [user for user, each in self._held.items() if all or not each.touched]:
                self._held.pop(user).close()

    def _require_open(self) -> None:
        if self._users < 1:
            raise StoreClosed(f"{self.collections.place} is closed; open the memory again")

    def _fresh(self, user: str, *, align: bool = True) -> Replica:
        """Return a replica with all that is in the journal, of the model that the store has.

        Args:
            user: whose it is.
            align: whether its vectors and terms are to be of the model and analyzer of today.
        """
        self._require_open()
        wanted = [each for each in dict.fromkeys((STORE_ITSELF, user)) if self._is_stale(each)]
        known = {each: self._held[each].at for each in wanted if self._held[each].at.commit}
        found = self.journal.ahead(known) if known else {}
        for each in wanted:
            self._follow(each, found.get(each))
        replica = self._held[user] = self._held.pop(user)  # Behind all others.
        return self._aligned(replica) if align else replica

    def _is_stale(self, user: str) -> bool:
        """Return whether the journal has to be asked for a user; loads what is not there."""
        stale = self.collections.shared and user not in (self._seen or ())
        if user not in self._held:
            self._held[user] = self._loaded(user)
            self._make_room()
            stale = False
        if self._seen is not None:
            self._seen.add(user)
        return stale

    def _make_room(self) -> None:
        """Close the replicas that were not asked for longest, where there are too many bytes."""
        if self._seen is not None:
            return  # They are of one moment.
        sizes = {user: replica.size() for user, replica in self._held.items()}
        spare = sum(sizes.values()) - self._most
        for user, replica in list(self._held.items())[:-1]:
            if spare <= 0:
                return
            if user != STORE_ITSELF and not replica.touched:
                self._held.pop(user).close()
                spare -= sizes[user]

    def _loaded(self, user: str) -> Replica:
        self._say_mirrored()  # Or what is there would be written again.
        contents = self.journal.load(user)
        replica = Replica(user)
        base = contents.entries[0].through if contents.entries else 0
        replica.at = Position(contents.epoch, 0, base)
        replica.follow(contents.entries, mirrored=contents.mirrored)
        return replica

    def _follow(self, user: str, ahead: JournalEntries | None) -> None:
        """Take in what others have committed."""
        while True:
            replica = self._held[user]
            if ahead is None and replica.at.commit:
                ahead = self.journal.ahead({user: replica.at}).get(user)
            if ahead is None:
                self._load_again(replica)
                return
            if not ahead.entries:
                return
            if ahead.mirrored >= replica.at.commit:
                replica.touched.clear()
            replica.follow(ahead.entries, mirrored=ahead.mirrored)
            ahead = None

    def _load_again(self, replica: Replica) -> None:
        self._held[replica.user] = self._loaded(replica.user)
        replica.close()

    # Writing

    def change(self, user: str, work: Callable[[Replica], T], *, align: bool = True) -> T:
        """Let ``work`` change the rows of a user, each of its transactions all or nothing.

        Where another process was first, it is called again.

        Raises:
            StoreBusy: others were first too often.
            StoreError: it could not be stored; nothing was changed.
        """
        with self.lock:
            for _ in range(TRIES):
                self._mirror(self._fresh(user, align=align))
                replica = self._aligned(self._held[user]) if align else self._held[user]
                first = replica.at.commit
                replica.keep = self._keep
                try:
                    done = work(replica)
                except OutrunError:
                    if self._seen is not None:
                        self._seen.discard(user)  # Also in a moment: it is looked at anew.
                    continue
                except BaseException as error:
                    if not isinstance(error, Exception) or replica.at.commit > first:
                        # Interrupted anywhere: perhaps it is committed.
                        self._held.pop(user, replica).close()
                    raise
                finally:
                    replica.keep = None
                self._after(replica, first)
                return done
            raise StoreBusy(f"{self.collections.place}: others write all the time; try again later")

    def settle(self) -> None:
        """Write to the memories all that was committed, whoever did not come to do it."""
        with self.lock:
            self._fresh(STORE_ITSELF)
            owing = [user for user, replica in self._held.items() if replica.touched]
            if self.collections.shared or not self._checked:
                owing += self.journal.behind()
                self._checked = True
            for user in dict.fromkeys(owing):
                self._mirror(self._fresh(user))

    def _after(self, replica: Replica, first: int) -> None:
        """Write to the memories what was committed, and keep the journal short."""
        if replica.at.commit == first:
            return
        try:
            self._mirror(replica)
            replica = self._held[replica.user]
            if replica.at.commit % COMMITS == 0:
                self._say_mirrored()
            if replica.at.commit - replica.at.base >= max(
                COMMITS, replica.size() // BYTES_OF_COMMIT
            ):
                self.rebase(replica)
        except StoreError as error:
            # It is in the journal, and so it is stored; the memories follow before the next.
            log.warning("%s: memories are written later (%s)", self.collections.place, error)

    def _mirror(self, replica: Replica) -> None:
        """Write to the memories what is not there yet."""
        user, shared = replica.user, self.collections.shared
        while replica.touched:
            touched = replica.touched
            anew = dict.fromkeys(touched, MirrorChange.REPLACED)
            replica.touched = dict(anew)  # Should it be broken off.
            self.mirror.write(replica, touched)
            replica.touched = {}
            if shared:
                # What others have committed meanwhile they may have written before.
                self._follow(user, None)
                again, replica = replica, self._held[user]
                if replica is not again:
                    replica.touched.update(anew)
                self._unsaid[user] = replica.at.commit
        if not shared:  # It is said now and then, as no other process asks.
            self._unsaid[user] = replica.at.commit
        elif user in self._unsaid:
            self._say_mirrored()

    def rebase(self, replica: Replica) -> bool:
        """Let the journal of a user begin anew with what there is now.

        Returns:
            whether it was done; not, where another process was first.
        """
        at = replica.at
        if not replica.touched:
            self._unsaid[replica.user] = at.commit
        self._say_mirrored()
        done = self.journal.rebase(replica.user, at, replica.whole())
        if done:
            replica.at = Position(at.epoch + 1, at.commit, at.commit)
        else:
            self._load_again(replica)
        return done

    def _say_mirrored(self) -> None:
        if self._unsaid:
            self.journal.mirrored(self._unsaid)
            self._unsaid.clear()

    # Of one transaction

    def _keep(self, replica: Replica, entry: JournalEntry, touched: Touched, erases: bool) -> None:  # noqa: FBT001 - of a transaction
        """Commit what a transaction changed; raises ``OutrunError`` where another was first."""
        new = [each for each, how in touched.items() if how is MirrorChange.NEW]
        taken = self.mirror.known(new) if new else set()
        if taken and self._is_outrun(replica):
            raise OutrunError  # What has the id may be what this was to become.
        if taken:
            raise InvalidInput(f"the id {min(taken)!r} is taken; records need ids of their own")
        shared = self.collections.shared
        try:
            self.journal.append(replica.user, entry, erases=erases)
        except StoreError:
            # Perhaps it arrived all the same: then it counts.
            if not shared or not self._won(replica, entry):
                raise
        else:
            if shared and not self._won(replica, entry):
                raise OutrunError

    def _is_outrun(self, replica: Replica) -> bool:
        """Return whether another process has committed something since the replica was read."""
        if not self.collections.shared:
            return False
        user = replica.user
        if not replica.at.commit:
            return bool(self.journal.load(user).entries)
        ahead = self.journal.ahead({user: replica.at}).get(user)
        return ahead is None or bool(ahead.entries)

    def _won(self, replica: Replica, entry: JournalEntry) -> bool:
        """Ask whose a commit is, and ask again: what was sent cannot be taken back."""
        for _ in range(ASKED):
            try:
                won = self.journal.won(replica.user, entry, replica.at.epoch)
                if won is None:
                    # The journal was rewritten meanwhile, with this commit or without it.
                    with closing(self._loaded(replica.user)) as replaced:
                        won = replaced.knows(entry)
                    if not won:
                        self.journal.forget(entry.token)
            except StoreError as error:
                last = error
                Event().wait(POLL)
            else:
                return won
        raise StoreError(
            f"{self.collections.place} stopped answering while something was stored; it may be "
            f"there or not: look before you store it again ({last})"
        ) from last

    # What all users have in common

    def _aligned(self, replica: Replica) -> Replica:
        """Return a replica whose vectors and terms are of the model and analyzer of today."""
        user = replica.user
        store = {name: self._held[STORE_ITSELF].meta(name) for name in OF_STORE}
        self.mirror.dimensions = int(store[DIMENSIONS] or 0)
        self.mirror.generation = int(store[GENERATION] or 0)
        stamps = {name: value for name, value in store.items() if value is not None}
        stamps[ANALYZER] = self._analyzer.name
        if user == STORE_ITSELF or replica.stamps == stamps:
            return replica

        def work(replica: Replica) -> None:
            follow_analyzer(replica, self._analyzer)
            if replica.meta(GENERATION) != store[GENERATION]:
                with replica.write() as connection:
                    drop_vectors(connection, store[MODEL] or "", self.mirror.dimensions)
                    stamp(connection, stamps)

        if replica.at.commit and any(replica.meta(name) != it for name, it in stamps.items()):
            self.change(user, work, align=False)
        replica = self._held[user]
        replica.stamps = stamps
        return replica

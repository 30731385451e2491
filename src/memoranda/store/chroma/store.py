"""The Chroma store: the shared statements over the replicas of one place (requirement S1.01)."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, Unpack

from memoranda.errors import InvalidInput, StoreClosed, StoreReadOnly
from memoranda.model import capabilities as named
from memoranda.model.capabilities import Capability
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import ENTITIES, Analyzer, EntityExtractor, NameMatcher
from memoranda.model.query import Filter, RecordPage
from memoranda.store.chroma import index_files
from memoranda.store.chroma.client import LOCK, translated
from memoranda.store.chroma.collections import MEMORIES, Collections
from memoranda.store.chroma.journal import Journal
from memoranda.store.chroma.mirror import OURS, Mirror
from memoranda.store.chroma.place import Folder, Place
from memoranda.store.chroma.replica import MirrorChange, Replica, StoredTerms, Touched, stamp
from memoranda.store.chroma.replicas import GENERATION, STORE_ITSELF, Replicas
from memoranda.store.sql import health
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.store import NOBODY, USERS, SqlStore, drop_vectors
from memoranda.store.sqlite import told_by_others
from memoranda.text.byte_search import ByteSearch

T = TypeVar("T")
PART = ".part"
# The folder of the notes in that of Chroma.
INSIDE = "notes"
# At a collection that other processes write to: what is wrong each time is wrong.
LOOKS = 5
# What requirement S1 calls an episode.
EPISODES = {"conversation": Kind.EPISODE}
TAKE_TEXT = "UPDATE records SET content = :text WHERE id = :id"
OTHERWISE = "records that are otherwise in the collection of the memories"
CAPABILITIES = {
    named.TRANSACTIONS: "a journal of commits makes a plan all or nothing",
    named.FULL_TEXT: "Chroma ranks no words: an index of the user's words is made in memory",
    named.NEAREST: "exact, over the user's vectors in memory; Chroma's own index is kept, too",
    named.SNAPSHOTS: "reads of one moment wait for writers of the same process",
}
OF_FOLDERS = {
    named.PROCESSES: "one at a time; start chroma run and use chroma+http:// for more",
    named.PURGE: "the log, the indexes and the free pages are written without what was removed",
}
OF_SERVERS = {
    named.PROCESSES: "any number through the server",
    named.PURGE: "the server's files are its own: serve a new backup, and remove the old folder",
}


class ChromaStore(SqlStore):
    """Implements :class:`memoranda.model.ports.Store` on Chroma.

    A folder is used by one process at a time; a server by any number. Each process holds the
    rows of the users it serves in memory.

    Args:
        place: the folder or the server.
        analyzer: makes the terms by which texts are found.
        names: decides which names are one entity.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the place cannot be used; it is left as it was.
    """

    full_text = StoredTerms()

    def __init__(self, place: Place, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Open the place."""
        self._place = place
        self._analyzer, self.names, self._keys = analyzer, names, {}
        self._opened: Replicas | None = Replicas.opened(place, analyzer)

    @property
    def _replicas(self) -> Replicas:
        if self._opened is None:
            raise StoreClosed("this store is closed; open the memory again")
        return self._opened

    @contextmanager
    def _reading(self, scope: Scope | None) -> Iterator[tuple[SqlConnection, int]]:
        user = STORE_ITSELF if scope is None else scope.user
        with self._replicas.reading(user) as replica, replica.read() as connection:
            yield connection, NOBODY if scope is None else self._user_key(connection, scope)

    def _write(
        self, scope: Scope | None, work: Callable[[SqlConnection], T], patience: float | None = None
    ) -> T:
        del patience  # The writers of a user take turns by trying, each for a moment.

        def carry_out(replica: Replica) -> T:
            with replica.write() as connection:
                return work(connection)

        return self._replicas.change(STORE_ITSELF if scope is None else scope.user, carry_out)

    @property
    def location(self) -> str:
        """The location as it is given to ``Memory``, without a token."""
        return str(self._place)

    @property
    def identity(self) -> object:
        """What is equal of two stores in one place."""
        return self.location

    def records(
        self, scope: Scope | None, where: Filter, **page: Unpack[RecordPage]
    ) -> list[Record]:
        """Return the matching records; of all users, the oldest of those that wait for a work."""
        if scope is not None:
            return super().records(scope, where, **page)
        found: list[Record] = []
        limit = page.get("limit")
        with self._settled() as replicas:
            waiting = replicas.mirror.metadata(self._waiting(where.waiting), limit)
            for user in dict.fromkeys(row["user"] for row in waiting):
                found += super().records(Scope(user), where, **page)
        return sorted(found, key=lambda item: (item.created_at, item.id))[:limit]

    def count(self, scope: Scope | None, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind; of all users, those that wait for a work."""
        if scope is not None:
            return super().count(scope, where)
        with self._settled() as replicas:
            waiting = replicas.mirror.metadata(self._waiting(where.waiting))
            return Counter(Kind(EPISODES.get(row["type"], row["type"])) for row in waiting)

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Return the next records that wait, whoever else has them: a claim would be a commit."""
        del now, until
        where = Filter.at_any_time(kinds=tuple(Kind), waiting=work)
        return self.records(None, where, limit=limit)

    def _waiting(self, work: str | None) -> dict[str, Any]:
        """Return the condition of Chroma for records that wait for a kind of work."""
        if work == ENTITIES:
            return {"unlinked": True}
        stale = {"generation": {"$ne": self._replicas.mirror.generation}}
        return {"$and": [{"indexed": True}, stale]}

    def _name_model(self, model: str, dimensions: int) -> None:
        """Let vectors of other models count no more; those of a user go when it is next read."""

        def work(connection: SqlConnection) -> None:
            generation = int(health.meta(connection, GENERATION) or 0) + 1
            drop_vectors(connection, model, dimensions)
            stamp(connection, {GENERATION: str(generation)})

        self._write(None, work)

    # Upkeep

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what Chroma does by itself, and what stands in for what it does not."""
        shared = self._replicas.collections.shared
        native = named.PROCESSES if shared else named.PURGE
        told = CAPABILITIES | (OF_SERVERS if shared else OF_FOLDERS)
        return tuple(Capability(name, name == native, told[name]) for name in named.NAMES)

    @contextmanager
    def _settled(self) -> Iterator[Replicas]:
        """Give the replicas to this thread alone, with all that was committed in the memories."""
        with self._replicas.lock:
            self._replicas.settle()
            yield self._replicas

    def users(self) -> list[str]:
        """Return every user with a record or a conversation, in order."""
        found: list[str] = []
        with self._settled() as replicas:
            for user in replicas.journal.users():
                # So that few of them are loaded for this alone.
                active = {"$and": [{"user": user}, {"closed": False}]}
                if replicas.mirror.metadata(active, limit=1):
                    found.append(user)
                elif user != STORE_ITSELF:
                    with replicas.reading(user) as replica:
                        found += [row[0] for row in replica.all(USERS)]
        return found

    def verify(self) -> list[str]:
        """Return a line for each kind of difference found, with examples."""
        found: list[str] = []
        with self._settled() as replicas:
            replicas.forget()  # What is stored is looked at, not what is held of it.
            for user in replicas.journal.users():
                with replicas.reading(user) as replica:
                    found += health.verify(replica)
                wrong, texts = self._differing(user)
                found += health.report("records changed behind memoranda's back", list(texts))
                found += health.report(OTHERWISE, [each for each in wrong if each not in texts])
            # The files of a server are its own; but whoever opens its folder has to purge them.
            kept = not replicas.collections.shared and replicas.journal.unpurged()
            if kept or replicas.journal.erasing():
                found.append(health.UNPURGED)
            return list(dict.fromkeys(found))

    def _differing(self, user: str) -> tuple[Touched, dict[str, str]]:
        """Return what is not in the collection as it should be, nor about to be written."""
        replicas = self._replicas
        wrong: Touched | None = None
        texts: dict[str, str] = {}
        for _ in range(LOOKS if replicas.collections.shared else 1):
            with replicas.reading(user) as replica:
                found, texts = replicas.mirror.differing(replica)
            wrong = {it: how for it, how in found.items() if wrong is None or it in wrong}
            if not wrong:
                break
            replicas.settle()
        return wrong or {}, {it: text for it, text in texts.items() if it in (wrong or ())}

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive again what can be derived, and mend the collection; return what was different.

        A text that others changed in the collection is the truth from now on.
        """
        found: list[str] = []
        with self._settled() as replicas:
            for user in replicas.journal.users():
                wrong, texts = self._differing(user)
                rows = [{"id": record, "text": text} for record, text in texts.items()]

                def work(replica: Replica, rows: list[dict[str, str]] = rows) -> list[str]:
                    with replica.write() as connection:
                        connection.run_many(TAKE_TEXT, rows)
                    return health.rebuild(replica, self._analyzer, self.names, extractor)

                found += health.report(OTHERWISE, list(wrong)) + replicas.change(user, work)
                with replicas.reading(user) as replica:
                    replicas.mirror.write(replica, wrong)
        return list(dict.fromkeys(found))

    def purge(self, *, large: bool = False) -> str | None:
        """Overwrite what is left of erased text, where the files can be reached.

        The journal of each user who erased something begins anew, with what there is now. But
        Chroma keeps what was removed in its log, its indexes and in free pages: in a folder it is
        overwritten there, while nobody has it open. On a server the calls of a client do not reach
        that far; that there is something to purge stays known, for whoever opens its folder.
        """
        del large
        with self._settled() as replicas:
            place, journal = replicas.collections.place, replicas.journal
            erasing = journal.erasing()
            for user in erasing:
                done = False
                while not done:
                    with replicas.reading(user) as replica:
                        done = replicas.rebase(replica)
            if isinstance(place, Folder) and (erasing or journal.unpurged()):
                replicas.collections.purge(place)
                journal.purged()
        if isinstance(place, Folder):
            return None
        detail = next(each.detail for each in self.capabilities() if each.name == named.PURGE)
        return f"free space may still hold what was erased: {detail}"

    def search_files(self, texts: Collection[str]) -> Mapping[str, set[str]] | None:
        """Return which texts the files of a folder hold, as they are or as the journal codes them.

        Chroma leaves the folder meanwhile: its locks do not outlive that another one reads it.
        """
        with self._settled() as replicas:
            collections, place = replicas.collections, replicas.collections.place
            if not isinstance(place, Folder):
                return None
            with collections.left(place), ExitStack() as opened:
                index_files.blank(place.path)
                paths = (
                    each for each in sorted(place.path.rglob("*")) if _is_searched(each, place)
                )
                files = ((str(each), opened.enter_context(each.open("rb"))) for each in paths)
                found = ByteSearch(texts, coded=True).files(files)
            collections.look()
            return found

    def told_by_others(self, scope: Scope, texts: Collection[str]) -> set[str]:
        """Return those of ``texts`` that stand in what other users have stored."""
        found: set[str] = set()
        with self._settled() as replicas:
            for user in replicas.journal.users():
                if user != scope.user:
                    with replicas.reading(user) as replica, replica.read() as connection:
                        found |= told_by_others(connection, NOBODY, texts)
        return found

    def backup(self, path: str) -> None:
        """Write a copy of everything to the new folder ``path``, which can be opened as a store."""
        target = Path(path)
        if target.exists():
            raise InvalidInput(f"{path} exists already; name a folder that does not")
        if not target.absolute().parent.is_dir():
            message = f"{target.parent} is no folder; make it first, or name another place"
            raise StoreReadOnly(message)
        part = Folder(target.with_name(target.name + PART))
        shutil.rmtree(part.path, ignore_errors=True)
        try:
            with self._settled() as replicas, closing(Collections(part)) as collections:
                _copy(replicas, collections)
            with translated(part):
                part.path.rename(target)
        finally:
            shutil.rmtree(part.path, ignore_errors=True)

    def size(self) -> int:
        """Return the bytes of the folder; of a server, those of the journal: it takes more."""
        replicas = self._replicas
        place = replicas.collections.place
        if isinstance(place, Folder):
            return sum(path.stat().st_size for path in place.path.rglob("*") if path.is_file())
        return replicas.journal.size()

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""
        return self._replicas.moment()

    def close(self) -> None:
        """Release the place. Closing twice is harmless."""
        replicas, self._opened = self._opened, None
        if replicas is not None:
            replicas.close()


def foreign_memories(path: Path, analyzer: Analyzer) -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, text and metadata of what others put into ``memories`` of the folder ``path``.

    Raises:
        InvalidInput: there is no such collection.
        StoreError: the folder cannot be used, or another process has it.
    """
    place = Folder(path.expanduser().absolute())
    with closing(Replicas.opened(place, analyzer)) as replicas, replicas.lock:
        collections = replicas.collections
        if MEMORIES not in collections:
            raise InvalidInput(f"{path} has no collection {MEMORIES!r}; there is nothing to import")
        found: list[tuple[str, str, dict[str, Any]]] = []
        for page in collections.pages(MEMORIES, None, ["documents", "metadatas"]):
            rows = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
            found += [(key, text or "", told or {}) for key, text, told in rows]
        return [row for row in found if OURS not in row[2]]


def _is_searched(path: Path, place: Folder) -> bool:
    """Return whether a file of a folder is Chroma's: not a lock, nor one of the notes in it."""
    inside = path.relative_to(place.path).parts
    return path.is_file() and path.name != LOCK and inside[0] != INSIDE


def _copy(replicas: Replicas, to: Collections) -> None:
    """Write what each user has at one moment into an empty place."""
    journal, mirror = Journal(to), Mirror(to)
    mirror.dimensions, mirror.generation = replicas.mirror.dimensions, replicas.mirror.generation
    for user in replicas.journal.users():
        with replicas.reading(user) as replica:
            journal.begin(user, replica.at.commit, replica.whole())
            new = {row[0]: MirrorChange.NEW for row in replica.all("SELECT id FROM records")}
            mirror.write(replica, new)

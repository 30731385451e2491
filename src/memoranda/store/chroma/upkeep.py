"""Operations on a whole Chroma store: backup, verify, rebuild and purge."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from memoranda.errors import InvalidInput, StoreReadOnly
from memoranda.model import capabilities as named
from memoranda.model.capabilities import Capability
from memoranda.model.ports import EntityExtractor
from memoranda.store.chroma import index_files
from memoranda.store.chroma.client import DATABASE_FILE, Connection, of_file, translated
from memoranda.store.chroma.collections import Collections
from memoranda.store.chroma.journal import Journal
from memoranda.store.chroma.mirror import Mirror
from memoranda.store.chroma.place import Folder
from memoranda.store.chroma.replica import MirrorChange, ReplicaStore, Touched
from memoranda.store.chroma.replicas import Replicas
from memoranda.store.sql.health import report

PART = ".part"
# At a collection that other processes write to: what is wrong each time is wrong.
LOOKS = 5

OTHERWISE = "records that are otherwise in the collection of the memories"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"


def capabilities(*, shared: bool) -> tuple[Capability, ...]:
    """Return what Chroma does by itself, and what stands in for what it does not."""
    told = {
        named.TRANSACTIONS: "a journal of commits makes a plan all or nothing",
        named.FULL_TEXT: "Chroma ranks no words: an index of the user's words is made in memory",
        named.NEAREST: "exact, over the user's vectors in memory; Chroma's own index is kept, too",
        named.SNAPSHOTS: "reads of one moment wait for writers of the same process",
        named.PROCESSES: "any number through the server"
        if shared
        else "one at a time; start chroma run and use chroma+http:// for more",
        named.PURGE: "the server's files are its own: serve a new backup, and remove the old folder"
        if shared
        else "the collections are written anew and free pages are overwritten",
    }
    native = {named.PROCESSES} if shared else {named.PURGE}
    return tuple(Capability(name, name in native, told[name]) for name in named.NAMES)


# Erased text


def purge(replicas: Replicas) -> bool:
    """Overwrite what is left of erased text, where the files can be reached.

    The journal of each user who erased something begins anew, with what there is now. But Chroma
    keeps what was removed in its log and in free pages: in a folder all collections are written
    anew and the old ones dropped, and then the database is written without what is free. On a
    server the calls of a client do not reach that far; that there is something to purge stays
    known, for whoever opens its folder.
    """
    place = replicas.connection.place
    with replicas.lock:
        replicas.settle()
        local = isinstance(place, Folder)
        erasing = replicas.journal.erasing()
        for user in erasing:
            _rebase(replicas, user, unpurged=not local)
        if isinstance(place, Folder) and (erasing or replicas.journal.unpurged()):
            replicas.collections.rewrite()
            _vacuum(replicas, place)
            replicas.journal.purged()
        return local


def _rebase(replicas: Replicas, user: str, *, unpurged: bool) -> None:
    """Let the journal of a user begin with what there is now, and close the replica."""
    while True:
        replicas.change(user, lambda store: store.forget_purge())
        with replicas.reading(user) as replica:
            done = replicas.journal.rebase(user, replica.at, replica.whole(), unpurged=unpurged)
        replicas.forget()
        if done:
            return


def _vacuum(replicas: Replicas, place: Folder) -> None:
    try:
        with (
            replicas.connection.suspended(place),
            closing(sqlite3.connect(place.path / DATABASE_FILE)) as database,
        ):
            rows = database.execute("SELECT id FROM segments").fetchall()
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise of_file(place, error) from error
    replicas.collections.look()
    used = {row[0] for row in rows}
    for entry in index_files.folders(place.path):
        if entry.name not in used:
            shutil.rmtree(entry)  # Chroma leaves the folders of the indexes that it dropped.


# Copies


def backup(replicas: Replicas, path: str) -> None:
    """Write a copy of everything to the new folder ``path``, which can be opened as a store."""
    target = Path(path)
    if target.exists():
        message = f"{path} exists already; name a folder that does not"
        raise InvalidInput(message)
    if not target.absolute().parent.is_dir():
        message = f"{target.parent} is no folder; make it first, or name another place"
        raise StoreReadOnly(message)
    part = target.with_name(target.name + PART)
    shutil.rmtree(part, ignore_errors=True)
    try:
        with replicas.lock:
            replicas.settle()
            _copy(replicas, Folder(part))
        with translated(Folder(part)):
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(replicas: Replicas, place: Folder) -> None:
    """Write what each user has at one moment into an empty place."""
    connection = Connection(place)
    try:
        collections = Collections(connection)
        journal, mirror = Journal(collections), Mirror(collections)
        mirror.dimensions = replicas.model.dimensions
        generation = replicas.model.generation
        for user in replicas.journal.users():
            with replicas.reading(user) as replica:
                journal.begin(user, replica.at.commit, replica.whole())
                mirror.write(replica, dict.fromkeys(replica.ids(), MirrorChange.NEW), generation)
    finally:
        connection.close()


def size(replicas: Replicas) -> int:
    """Return the bytes of the folder; of a server, those of the rows, which it takes at least."""
    place = replicas.connection.place
    if isinstance(place, Folder):
        return sum(
            os.path.getsize(os.path.join(folder, name))  # noqa: PTH118, PTH202 - of many files
            for folder, _, names in os.walk(place.path)
            for name in names
        )
    return replicas.collections.bytes()


# Soundness


def verify(replicas: Replicas) -> list[str]:
    """Return a line for each kind of difference found, with examples."""
    found: list[str] = []
    with replicas.lock:
        replicas.settle()
        replicas.forget()  # What is stored is looked at, not what is held of it.
        for user in replicas.journal.users():
            with replicas.reading(user) as replica:
                found += [line for line in replica.store.verify() if line != UNPURGED]
            wrong, texts = _differing(replicas, user)
            found += report("records changed behind memoranda's back", list(texts))
            found += report(OTHERWISE, [each for each in wrong if each not in texts])
        if replicas.journal.erasing():
            found.append(UNPURGED)
        elif not replicas.connection.shared and replicas.journal.unpurged():
            found.append(UNPURGED)  # A server had it before.
    return list(dict.fromkeys(found))


def _differing(replicas: Replicas, user: str) -> tuple[Touched, dict[str, str]]:
    """Return what is not in the collection as it should be, but for what is about to be written."""
    wrong: Touched | None = None
    texts: dict[str, str] = {}
    for _ in range(LOOKS if replicas.connection.shared else 1):
        with replicas.reading(user) as replica:
            found, texts = replicas.mirror.differing(replica, replicas.model.generation)
        wrong = {it: how for it, how in found.items() if wrong is None or it in wrong}
        if not wrong:
            break
        replicas.settle()
    return wrong or {}, {it: text for it, text in texts.items() if it in (wrong or ())}


def rebuild(replicas: Replicas, extractor: EntityExtractor) -> list[str]:
    """Derive again what can be derived, and mend the collection; return what was different.

    A text that others changed in the collection is the truth from now on.
    """
    found: list[str] = []
    with replicas.lock:
        replicas.settle()
        for user in replicas.journal.users():
            wrong, texts = _differing(replicas, user)
            found += report(OTHERWISE, list(wrong))

            def work(store: ReplicaStore, texts: dict[str, str] = texts) -> list[str]:
                store.take_texts(texts)
                return store.rebuild(extractor)

            found += replicas.change(user, work)
            with replicas.reading(user) as replica:
                replicas.mirror.write(replica, wrong, replicas.model.generation)
    return list(dict.fromkeys(found))

"""What concerns a whole place: its users, the model of its vectors, copies, and what is left."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from memoranda.errors import InvalidInput, StoreReadOnly
from memoranda.model import capabilities as named
from memoranda.model.capabilities import Capability
from memoranda.model.models import Record
from memoranda.model.ports import Analyzer, EntityExtractor, NameMatcher
from memoranda.model.scope import Scope
from memoranda.model.vectors import Vector
from memoranda.store.chroma import health, index_files
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.client import DATABASE_FILE, Connection, of_file, translated
from memoranda.store.chroma.engine import Engine
from memoranda.store.chroma.place import Folder
from memoranda.store.chroma.rows import NOBODY, Stored, Talk
from memoranda.store.chroma.shelf import Shelf, Write, metadata, without_none
from memoranda.store.chroma.state import State

PART = ".part"


def capabilities(engine: Engine) -> tuple[Capability, ...]:
    """Return what Chroma does by itself, and what stands in for what it does not."""
    shared = engine.connection.shared
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


def users(engine: Engine) -> list[str]:
    """Return every user with a record or a conversation, in order."""
    shelf = engine.shelf
    with engine.lock:
        engine.settle()
        return sorted(
            user
            for user in shelf.users()
            if user != NOBODY and (shelf.has(user, Stored.table) or shelf.has(user, Talk.table))
        )


def waiting(engine: Engine, limit: int) -> list[Record]:
    """Return the first records of all users that wait for their vectors."""
    with engine.lock:
        engine.settle()
        return [row.record for row in engine.shelf.records(_waiting(engine), limit=limit)]


def waiting_count(engine: Engine) -> int:
    """Return how many records of all users wait for their vectors."""
    with engine.lock:
        engine.settle()
        return engine.shelf.count(_waiting(engine))


def follow_analyzer(engine: Engine, analyzer: Analyzer) -> None:
    """Count the terms of all records anew where another analyzer, or another version, did it."""

    def recount(state: State) -> dict[str, Vector]:
        for row in list(state.records.values()):
            state.put(replace(row, terms=len(analyzer.terms(row.record.content))))
        state.put(replace(state.counters, epoch=state.counters.epoch + 1))
        return {}

    def name(state: State) -> dict[str, Vector]:
        state.put(replace(state.facts, analyzer=analyzer.name))
        return {}

    with engine.lock:
        if engine.facts.analyzer == analyzer.name:
            return
        for user in engine.shelf.users():
            if user != NOBODY:
                engine.change(user, recount)
        engine.change(NOBODY, name)


def _waiting(engine: Engine) -> dict[str, object]:
    return {"$and": [{"indexed": True}, {"generation": {"$ne": engine.facts.generation}}]}


def reset_vectors(engine: Engine, model: str, dimensions: int) -> int:
    """Name the model of the vectors, so that those of others do not count; return who waits."""

    def name(state: State) -> dict[str, Vector]:
        facts = state.facts
        state.put(
            replace(facts, model=model, dimensions=dimensions, generation=facts.generation + 1)
        )
        return {}

    with engine.lock:
        engine.change(NOBODY, name)
        engine.settle_dimensions()
        return waiting_count(engine)


def purge(engine: Engine) -> bool:
    """Overwrite what is left of erased text, where the files can be reached.

    Chroma keeps what was removed in its log and in free pages: all collections are written anew
    and the old ones dropped, and then the database is written without what is free. On a server
    the calls of an agent do not reach that far; that there is something to purge stays known, for
    whoever opens its folder.
    """
    place = engine.connection.place
    with engine.lock:
        engine.settle()
        users = engine.shelf.users()
        asking = [user for user, counters in users.items() if counters.erasures]
        for user in asking:
            engine.journal.trim(user, users[user].commit, all=True)
        if asking and isinstance(place, Folder):
            engine.shelf.rewrite()
            _vacuum(engine, place)
        for user in asking:
            engine.change(user, _purged if isinstance(place, Folder) else _excused)
        return isinstance(place, Folder)


def _purged(state: State) -> dict[str, Vector]:
    state.made.clear()
    state.put(replace(state.counters, erasures=0, excused=0))
    return {}


def _excused(state: State) -> dict[str, Vector]:
    state.made.clear()
    counters = state.counters
    if counters.excused != counters.erasures:
        state.put(replace(counters, excused=counters.erasures))
    return {}


def _vacuum(engine: Engine, place: Folder) -> None:
    try:
        with (
            engine.connection.suspended(place),
            closing(sqlite3.connect(place.path / DATABASE_FILE)) as database,
        ):
            rows = database.execute("SELECT id FROM segments").fetchall()
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise of_file(place, error) from error
    engine.shelf.look()
    used = {row[0] for row in rows}
    for entry in index_files.folders(place.path):
        if entry.name not in used:
            shutil.rmtree(entry)  # Chroma leaves the folders of the indexes that it dropped.


def backup(engine: Engine, path: str) -> None:
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
        with engine.lock:
            _copy(engine, Folder(part))
        with translated(Folder(part)):
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(engine: Engine, place: Folder) -> None:
    """Write what each user has at one moment into an empty place, without the journal."""
    connection = Connection(place)
    try:
        shelf = Shelf(connection)
        shelf.wanted = engine.facts.dimensions
        for user in engine.shelf.users():
            with engine.moment(), engine.reading(user) as state:
                generation = engine.facts.generation
                rows = {(row.table, row.key): row for row in state.rows()}
                made = [row.key for row in state.records.values() if row.generation == generation]
                vectors = dict(zip(made, engine.vectors(user, made), strict=True))
                shelf.write(Write(user, rows, vectors, set(state.records)))
    finally:
        connection.close()


def size(engine: Engine) -> int:
    """Return the bytes of the folder; of a server, those of the rows, which it takes at least."""
    place = engine.connection.place
    if isinstance(place, Folder):
        return sum(
            os.path.getsize(os.path.join(folder, name))  # noqa: PTH118, PTH202 - of many files
            for folder, _, names in os.walk(place.path)
            for name in names
        )
    return engine.shelf.bytes()


# Soundness


def verify(engine: Engine, *, analyzer: Analyzer) -> list[str]:
    """Return a line for each kind of difference found, with examples."""
    found: list[str] = []
    with engine.lock:
        engine.forget()  # What is stored is looked at, not what is held of it.
        generation = engine.facts.generation
        for user in sorted(engine.shelf.users()):
            with engine.reading(user) as state:
                found += health.problems(state, analyzer=analyzer, generation=generation)
                if state.counters.erasures and not engine.connection.shared:
                    found.append(health.UNPURGED)  # Perhaps a server had it before.
        found += _shelved(engine)
    return list(dict.fromkeys(found))


def _shelved(engine: Engine, *, mend: bool = False) -> list[str]:
    """Compare what Chroma filters by with the rows it was made of; make it so with ``mend``."""
    wrong = [
        (row, entry)
        for row, entry in engine.shelf.shelved()
        if without_none(metadata(entry["user"], row)) != entry
    ]
    if mend and wrong:
        engine.shelf.mend(wrong)
    return health.report(
        "records whose metadata is not that of their row", [r.key for r, _ in wrong]
    )


def rebuild(
    engine: Engine, extractor: EntityExtractor, *, analyzer: Analyzer, names: NameMatcher
) -> list[str]:
    """Derive links, metadata and the queue of vectors anew; return what was different."""
    found: list[str] = []
    with engine.lock:
        facts = engine.facts
        for user in sorted(engine.shelf.users()):

            def work(state: State, user: str = user) -> dict[str, Vector]:
                tx = Transaction(state, Scope(user), names, analyzer, facts)
                found.extend(health.rebuilt(tx, extractor))
                return tx.vectors

            if user != NOBODY:
                engine.change(user, work)
        found += _shelved(engine, mend=True)
    return list(dict.fromkeys(found))

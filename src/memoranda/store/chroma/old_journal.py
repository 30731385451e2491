"""The journal of memoranda 0.2, which had one database for each user, read into one for all.

Its rows have ids such as ``["ana", "commit", 7, ""]``. The keys of each user's rows began at 1, so
those of one user are moved behind those of the others.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import apsw

from memoranda.errors import NotADatabase
from memoranda.store.chroma.folder import ChromaFolder
from memoranda.store.chroma.memories import GENERATION
from memoranda.store.sql.dialect import FILLING, schema_steps
from memoranda.store.sql.reads import DIMENSIONS, MODEL

OLD_JOURNAL = "journal"
# Number of the schema of memoranda 0.2.
SCHEMA = 5
# The user of what belonged to the store itself: its model and its leases.
STORE_ITSELF = ""
# Columns that hold keys.
KEYS = frozenset(
    ("key", "user_key", "record_key", "entity_key", "conversation_key", "tombstone_key")
)
TABLES = """
SELECT name FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'meta'
"""
META = "SELECT name, value FROM meta"
QUEUE_VECTORS = """
INSERT OR IGNORE INTO derivations (record_key, work, user_key)
SELECT key, 'vectors', user_key FROM records WHERE indexed = 1
"""
KEEP_META = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
# Kinds of rows: a change, or all there was after one.
COMMIT, BASE = "commit", "base"
# By user, kind, number and part.
OldRows = Mapping[tuple[str, str, int, str], dict[str, Any]]


def read_old_journal(folder: ChromaFolder, target: apsw.Connection, create: str) -> None:
    """Put what the journal of memoranda 0.2 holds into the tables of ``target``.

    Args:
        folder: has the journal.
        target: a database with the schema of memoranda 0.2, without rows.
        create: makes that schema.

    Raises:
        NotADatabase: the journal cannot be read.
    """
    try:
        rows = _read_rows(folder)
        offset, model = 0, None
        # What belongs to the store itself comes first.
        for user in sorted({each[0] for each in rows if each[1] == BASE}):
            with closing(apsw.Connection(":memory:")) as source:
                source.execute(create).fetchall()
                for patch in _patches(rows, user):
                    apsw.Changeset.apply(patch, source, conflict=_resolve)
                _fill(source)
                meta: dict[str, str] = dict(source.execute(META))
                if user == STORE_ITSELF:
                    model = meta.get(GENERATION)
                    named = [(name, meta[name]) for name in (MODEL, DIMENSIONS) if name in meta]
                    target.executemany(KEEP_META, named)
                elif meta.get(GENERATION) != model:
                    source.execute("DELETE FROM vectors; DELETE FROM token_vectors;").fetchall()
                    source.execute(QUEUE_VECTORS).fetchall()
                offset = _copy(source, target, offset)
        target.execute(KEEP_META, ("last_key", str(offset)))
    except (KeyError, ValueError, TypeError, apsw.Error) as error:
        message = f"{folder}: the journal of memoranda 0.2 cannot be read ({error})"
        raise NotADatabase(message) from error


def _read_rows(folder: ChromaFolder) -> OldRows:
    """Return all rows by user, kind, number and part."""
    return {
        tuple(json.loads(each)): row
        for page in folder.pages(OLD_JOURNAL, ["metadatas"])
        for each, row in zip(page["ids"], page["metadatas"], strict=True)
    }


def _patches(rows: OldRows, user: str) -> Iterator[bytes]:
    """Yield the newest base of a user and the commits after it."""
    row = rows[user, BASE, max(each[2] for each in rows if each[:2] == (user, BASE)), ""]
    while True:
        ids = [f"{row['token']}-{part}" for part in range(1, row["parts"])]
        parts = [rows[user, row["of"], row["number"], each] for each in ids]
        yield b64decode("".join(each["patch"] for each in (row, *parts)), validate=True)
        following = (user, COMMIT, row["through"] + 1, "")
        if following not in rows:
            return
        row = rows[following]


def _fill(source: apsw.Connection) -> None:
    """Fill the columns that later versions of the schema added to rows of earlier ones."""
    for step in schema_steps()[:SCHEMA]:
        for statement in FILLING.findall(step):
            source.execute(statement).fetchall()


def _copy(source: apsw.Connection, target: apsw.Connection, offset: int) -> int:
    """Copy the rows of all tables; return the largest key that is now in use.

    Args:
        source: the rows of one user.
        target: those of all.
        offset: what is added to each key.
    """
    largest = offset
    for (table,) in source.execute(TABLES).fetchall():
        columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
        moved = [place for place, name in enumerate(columns) if name in KEYS]
        rows = [list(row) for row in source.execute(f"SELECT * FROM {table}")]
        for row in rows:
            for place in moved:
                row[place] += offset
                largest = max(largest, row[place])
        marks = ", ".join("?" * len(columns))
        target.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    return largest


def _resolve(reason: int, _change: apsw.TableChange) -> int:
    replaced = {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}
    return apsw.SQLITE_CHANGESET_REPLACE if reason in replaced else apsw.SQLITE_CHANGESET_OMIT

"""Finds the rows of a database that cannot be read, and keeps them aside.

A damaged file or another program can leave what no statement of ours writes: text that is not
UTF-8, broken JSON, a kind or a time that does not exist. Reads leave such rows out
(``SqlConnection.made``), ``verify`` lists them, and ``rebuild`` writes them to a file beside the
database and takes them out. A row on which other canonical rows depend is mended instead: what
cannot be read of it is replaced.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from platformdirs import user_data_path

from memoranda.errors import StoreReadOnly
from memoranda.store.sql.database import NO_UTF8, Row, SqlConnection
from memoranda.store.sql.dialect import columns, primary_key, tables
from memoranda.store.sql.rows import (
    CHANGES,
    DAMAGE,
    MESSAGES,
    OBJECT,
    OPTIONAL_TIME,
    RECORDS,
    SPAN_LIST,
    RowShape,
    noted_lines,
    removed_message,
)

REMEDY = "memoranda doctor --rebuild keeps it aside"
# How the annotation of a column of texts begins.
TEXT = "str"
_time = OPTIONAL_TIME.read
# What reads the values of columns that are more than plain numbers and texts.
READERS: Final[Mapping[str, Mapping[str, Callable[[Any], Any]]]] = {
    "records": RECORDS.readers,
    "messages": MESSAGES.readers,
    "conversations": dict.fromkeys(("created_at", "ended_at", "deleted_at"), _time),
    "sessions": dict.fromkeys(("first_seen_at", "consolidated_at"), _time),
    "history": CHANGES.readers,
    "tombstones": {"at": _time},
    "removed_messages": {"message": removed_message},
    "prunings": {"at": _time, "spans": SPAN_LIST.read},
    "recalls": {"at": _time},
    "notes_bases": {"lines": noted_lines},
    "leases": {
        "done_due": _time,
        "done_at": _time,
        "done_counts": lambda text: None if text is None else OBJECT.read(text),
    },
    "job_users": {"due": _time, "counts": OBJECT.read},
}
# What takes the place of what cannot be read, where other canonical rows depend on the row.
# What was hidden stays hidden, and what was an agent's own does not become everybody's.
MENDED: Final[Mapping[str, Mapping[str, str]]] = {
    "users": {
        "name": "'damaged-' || CAST(key AS text)",
        "vector_seq": "(SELECT coalesce(max(seq), 0) FROM vectors WHERE user_key = users.key)",
        "index_epoch": "0",
        "item_epoch": "0",
        "revision": "(SELECT coalesce(max(revised), 0) FROM records WHERE user_key = users.key)",
        "deletions": "0",
        "deleted": "0",
        "digest": "NULL",
    },
    "conversations": {
        "id": "'damaged-' || CAST(key AS text)",
        "agent": "'damaged'",
        "system": "NULL",
        "model": "NULL",
        "context_limit": "NULL",
        "created_at": "0",
        "ended_at": "NULL",
        "deleted_at": "0",
        "cleared_through": "-1",
        "token_scale": "1.0",
        "token_overhead": "0",
        "message_count": "0",
        "next_position": "0",
        "revision": "0",
    },
    "tombstones": {"id": "'damaged-' || CAST(key AS text)", "at": "0", "count": "0"},
}


class DamagedRow(NamedTuple):
    """A row that cannot be read.

    Attributes:
        table: where it is.
        row: its values by column; text that is not UTF-8 as bytes.
        wrong: what is wrong with it, by column.
    """

    table: str
    row: dict[str, Any]
    wrong: dict[str, str]

    def __str__(self) -> str:
        """Return table, id or key, and what is wrong."""
        keys = [str(self.row[name]) for name in primary_key(self.table)]
        named = [self.row["id"]] if isinstance(self.row.get("id"), str) else []
        named.append(f"key {', '.join(keys)}")
        why = "; ".join(f"{name}: {what}" for name, what in self.wrong.items())
        return f"damaged row in {self.table} ({', '.join(named)}): {why}"

    @property
    def mending(self) -> dict[str, str]:
        """What takes the place of what is wrong; empty, where the row has to go."""
        known = MENDED.get(self.table, {})
        return {name: known[name] for name in self.wrong} if known.keys() >= {*self.wrong} else {}

    def as_json(self) -> str:
        """Return the row as a line of JSON; bytes as ``{"base64": …}``."""
        row = {
            name: {"base64": base64.b64encode(value).decode()}
            if isinstance(value, bytes)
            else value
            for name, value in self.row.items()
        }
        return json.dumps({"table": self.table, "wrong": self.wrong, "row": row})


def damaged_rows(connection: SqlConnection, table: str) -> Iterator[DamagedRow]:
    """Yield the rows of a table that cannot be read."""
    names = columns(table)
    shape, readers = RowShape(**names), READERS.get(table, {})
    places = [(list(names).index(name), read) for name, read in readers.items()]
    found = connection.rows(f"SELECT {', '.join(names)} FROM {table}")
    for row in found:
        if row is not None and not _is_sound(row, shape, places):
            yield _damaged(table, row)
    if None in found:  # Only SQLite keeps text that is none; as bytes it can be read.
        as_bytes = (
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in names
        )
        for row in connection.all(f"SELECT {', '.join(as_bytes)} FROM {table}"):
            read = [
                _text(value) if annotation.startswith(TEXT) else value
                for annotation, value in zip(names.values(), row, strict=True)
            ]
            # One that is of another type, and no text at all, was found above.
            if any(
                isinstance(value, bytes) and annotation.startswith(TEXT)
                for annotation, value in zip(names.values(), read, strict=True)
            ):
                yield _damaged(table, read)


def _is_sound(
    row: Row, shape: RowShape, places: Sequence[tuple[int, Callable[[Any], Any]]]
) -> bool:
    try:
        shape.require(row)
        for place, read in places:
            read(row[place])
    except DAMAGE:
        return False
    return True


def _text(value: object) -> object:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _damaged(table: str, row: Sequence[Any]) -> DamagedRow:
    values = dict(zip(columns(table), row, strict=True))
    wrong: dict[str, str] = {}
    for name, annotation in columns(table).items():
        value = values[name]
        if isinstance(value, bytes) and annotation.startswith(TEXT):
            wrong[name] = NO_UTF8 if _text(value) is value else "it is of type bytes"
            continue
        try:
            RowShape(it=annotation).require([value])
            READERS.get(table, {}).get(name, str)(value)
        except DAMAGE as error:
            wrong[name] = f"{type(error).__name__}: {error}"
    return DamagedRow(table, values, wrong)


def keep_aside(connection: SqlConnection, file: Path | None) -> list[str]:
    """Write all damaged rows to a new file, and take them out or mend them; say which, and where.

    Args:
        connection: an open transaction.
        file: beside which file the new one is to be; ``None`` is in the user's data folder.

    Raises:
        StoreReadOnly: the file cannot be written; nothing was taken out.
    """
    # Children first: they go with what they refer to.
    found = [row for table in reversed(tables()) for row in damaged_rows(connection, table)]
    if not found:
        return []
    path = write_aside(file, "".join(f"{row.as_json()}\n" for row in found).encode())
    for each in found:
        key = {name: each.row[name] for name in primary_key(each.table)}
        where = " AND ".join(
            f"{name} = :{name}" if isinstance(value, int) else f"@same({name}, :{name})"
            for name, value in key.items()
        )
        values = ", ".join(f"{name} = {value}" for name, value in each.mending.items())
        how = f"UPDATE {each.table} SET {values}" if values else f"DELETE FROM {each.table}"
        connection.run(f"{how} WHERE {where}", key)
    number = f"{len(found)} damaged row{'s' if len(found) > 1 else ''}"
    return [f"{number} kept aside in {path}: look at what it holds, then delete it"]


def write_aside(file: Path | None, content: bytes, suffix: str = ".damaged.jsonl") -> Path:
    """Write a new file that nobody else can read, beside ``file``; return its path.

    Raises:
        StoreReadOnly: it cannot be written.
    """
    beside = user_data_path("memoranda") / "memory" if file is None else file
    for number in count(1):
        path = beside.with_name(f"{beside.name}{suffix}{'' if number == 1 else f'.{number}'}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
        except FileExistsError:
            continue
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror}; nothing was taken out"
            raise StoreReadOnly(message) from error
        return path
    raise AssertionError

"""Reads the rows of a damaged SQLite file, page by page.

SQLite finds the pages of a table from its root: with one of them damaged, all below it are lost to
every query. Here each page is read by itself, and a row belongs to the table whose columns it fits
(see https://sqlite.org/fileformat.html). That is enough for what is canonical, and what is derived
is made anew from it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import apsw

from memoranda.model.checks import content_hash
from memoranda.store.sql.damage import READERS
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.dialect import OWNER, added_defaults, backfill, columns, primary_key
from memoranda.store.sql.rows import DAMAGE, RowShape, insertion

TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
HEADER = 100
USUAL_PAGE = 4096
# Bytes of the numbers, by the serial type of a value.
WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
REAL, ZERO, ONE, FIRST_BLOB = 7, 8, 9, 12
# The tables of which every row is read, a table after those that it refers to. What is derived is
# left out, and so are three small ones whose rows look like those of an index.
LOOKALIKE: Final = ("recalls", "entity_decisions", "noteworthy_epochs")
SALVAGED: Final = (
    "meta",
    "users",
    "records",
    "conversations",
    "messages",
    "tombstones",
    "removed_messages",
    "prunings",
    "sessions",
    "model_usage",
    "notes_bases",
    "history",
    "leases",
)
# What others rest on, where its own page is lost. Messages are known by their episodes, or else
# by there being one user alone.
MISSING_USER = """
INSERT INTO users (key, name) SELECT :key, 'damaged-' || :key
WHERE NOT EXISTS (SELECT 1 FROM users WHERE key = :key)
"""
MISSING_CONVERSATION = """
INSERT INTO conversations (key, user_key, id, created_at)
SELECT :conversation_key, coalesce((SELECT user_key FROM records WHERE id = :record_id),
    (SELECT min(key) FROM users HAVING count(*) = 1)), 'damaged-' || :conversation_key, :timestamp
WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE key = :conversation_key)
"""
MOST_KEYS = 1 << 53
Values = list[Any]


class DamagedFile:
    """The pages of a file.

    Args:
        content: all of its bytes.
    """

    def __init__(self, content: bytes) -> None:
        """Look for the size of a page, which may be damaged itself."""
        size = int.from_bytes(content[16:18], "big")
        size = 65_536 if size == 1 else size
        self._size = size if 512 <= size <= 65_536 and not size & (size - 1) else USUAL_PAGE  # noqa: PLR2004 - of SQLite
        self._content = content

    def _page(self, number: int) -> bytes:
        start = (number - 1) * self._size
        return self._content[start : start + self._size] if number > 0 else b""

    def rows(self) -> Iterator[tuple[int | None, Values]]:
        """Yield key (of a table that has one) and values of every row that can be read."""
        for number in range(1, len(self._content) // self._size + 1):
            page = self._page(number)
            at = HEADER if number == 1 else 0
            kind = page[at]
            if kind in {TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR}:
                first = at + (12 if kind == INDEX_INTERIOR else 8)
                count = int.from_bytes(page[at + 3 : at + 5], "big")
                for place in range(first, min(first + 2 * count, len(page) - 1), 2):
                    cell = int.from_bytes(page[place : place + 2], "big")
                    try:
                        yield self._row(page, cell, kind)
                    except (*DAMAGE, struct.error):
                        continue

    def _row(self, page: bytes, at: int, kind: int) -> tuple[int | None, Values]:
        at += 4 if kind == INDEX_INTERIOR else 0
        length, at = _varint(page, at)
        key = None
        if kind == TABLE_LEAF:
            key, at = _varint(page, at)
        return key, _values(self._payload(page, at, length, kind))

    def _payload(self, page: bytes, at: int, length: int, kind: int) -> bytes:
        most = self._size - 35 if kind == TABLE_LEAF else (self._size - 12) * 64 // 255 - 23
        if length <= most:
            return page[at : at + length]
        least = (self._size - 12) * 32 // 255 - 23
        local = least + (length - least) % (self._size - 4)
        local = local if local <= most else least
        parts, number = [page[at : at + local]], _number(page, at + local)
        missing = length - local
        while missing > 0:
            overflow = self._page(number)
            if len(overflow) < self._size:
                message = "a page is missing"
                raise ValueError(message)
            parts.append(overflow[4 : 4 + missing])
            missing -= self._size - 4
            number = _number(overflow, 0)
        return b"".join(parts)


def _number(page: bytes, at: int) -> int:
    return int.from_bytes(page[at : at + 4], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of up to nine bytes that begins there, and where it ends."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + place + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >> 63 else value), at + 9


def _values(payload: bytes) -> Values:
    end, at = _varint(payload, 0)
    body, values = end, []
    while at < end:
        serial, at = _varint(payload, at)
        width = (serial - FIRST_BLOB) // 2 if serial >= FIRST_BLOB else WIDTHS[serial]
        part = payload[body : body + width]
        if len(part) < width:
            message = "it ends too soon"
            raise ValueError(message)
        values.append(_value(serial, part))
        body += width
    return values


def _value(serial: int, part: bytes) -> Any:
    if serial >= FIRST_BLOB:
        return part.decode() if serial % 2 else part
    if serial in {ZERO, ONE}:
        return serial - ZERO
    if serial == REAL:
        return struct.unpack(">d", part)[0]
    return int.from_bytes(part, "big", signed=True) if serial else None


def fitting_rows(content: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the sound rows of a damaged file, by table: of two with one key, the first."""
    shapes = {table: RowShape(**columns(table)) for table in SALVAGED}
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in SALVAGED}
    for key, values in DamagedFile(content).rows():
        for table in SALVAGED:
            row = _fitted(table, shapes[table], key, values)
            if row is not None:
                found[table].append(row)
                break
    return found


def _fitted(table: str, shape: RowShape, key: int | None, values: Values) -> dict[str, Any] | None:
    """Return values as a row of a table, if they can be one."""
    names = columns(table)
    has_key = "key" in names
    added = added_defaults(table)
    missing = len(names) - len(values)
    if not 0 <= missing <= len(added) or has_key != (key is not None):
        return None
    values = [*values, *added[len(added) - missing :]]
    # A key of its own is kept beside the values.
    if key is not None and (values[0] is not None or not 0 < key < MOST_KEYS):
        return None
    row = dict(zip(names, [key, *values[1:]] if has_key else values, strict=True))
    try:
        shape.require([*row.values()])
        for name, read in READERS.get(table, {}).items():
            read(row[name])
    except DAMAGE:
        return None
    # A text that goes on in another's page is no text of its own.
    if table == "records" and content_hash(row["content"]) != row["content_hash"]:
        return None
    return row


def readable_rows(connection: apsw.Connection, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table from both of its ends, up to a page that cannot be read."""
    names, found = columns(table), []
    for order in ("", " DESC"):
        key = ", ".join(f"{name}{order}" for name in primary_key(table))
        with suppress(apsw.Error, UnicodeDecodeError):
            sql = f"SELECT {', '.join(names)} FROM {table} ORDER BY {key}"
            for row in connection.execute(sql):
                found.append(dict(zip(names, row, strict=True)))  # noqa: PERF401 - it may break off
    return found


def insert_salvaged(
    connection: SqlConnection, found: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Insert rows into an empty database, with what they rest on where that was lost."""
    for table, rows in found.items():
        if table == "records":
            owners = {each["user_key"] for rows in found.values() for each in rows if OWNER in each}
            _insert(connection, MISSING_USER, [{"key": key} for key in owners])
        if table == "messages":
            _insert(connection, MISSING_CONVERSATION, rows)
        _insert(connection, insertion(table, tuple(columns(table))), rows)
    for sql in backfill():
        connection.run(sql)


def _insert(connection: SqlConnection, sql: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert each row that fits what is there: of two with one key, the first."""
    for row in rows:
        with suppress(apsw.ConstraintError, apsw.MismatchError):
            connection.run(sql, row)

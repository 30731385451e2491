"""The ports between the shared statements and a database: dialect, connection, full text.

Statements are written once: parameters as ``:name``, ``CAST(:x AS text) IS NULL`` where a type
cannot be guessed, and these macros, which a :class:`Dialect` puts into its own words:

- ``@texts(x)``, ``@ints(x)``: a query with the elements of a JSON list as its column ``value``;
- ``@attribute(x, y)``: whether the JSON object x holds the only member of the JSON object y;
- ``least(…)`` and ``greatest(…)``, never of NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from memoranda.model.capabilities import Capability

Row = tuple[Any, ...]
Values = Mapping[str, Any]
Postings = list[tuple[int, int]]
NONE: Values = {}
COMMENT = re.compile(r"--[^\n]*")
MACRO = re.compile(r"@(texts|ints|attribute)\(([^()]*)\)|\b(least|greatest)\(")
# The tables of the schema; a table comes after those to which it refers.
TABLES = (
    "meta", "users", "records", "noteworthy_epochs", "record_sources", "vectors", "derivations",
    "entities", "entity_names", "entity_name_keys", "record_entities", "entity_decisions",
    "conversations", "messages", "prunings", "sessions", "recalls", "model_usage", "notes_bases",
    "history", "leases",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL dialect of one database.

    Attributes:
        macros: what stands for each macro, with its arguments as ``{0}`` and ``{1}``.
        types: patterns of the schema and the words of this database for them.
    """

    macros: Mapping[str, str]
    types: Mapping[str, str]

    def render(self, sql: str) -> str:
        """Return a shared statement with its macros replaced."""

        def replace(found: re.Match[str]) -> str:
            arguments = (each.strip() for each in (found[2] or "").split(","))
            return self.macros[found[1] or found[3]].format(*arguments)

        return MACRO.sub(replace, sql)

    def schema(self, sql: str) -> str:
        """Return the schema in the types of this database."""
        sql = COMMENT.sub("", sql)
        for pattern, words in self.types.items():
            sql = re.sub(pattern, words, sql)
        return sql


@cache
def schema_steps() -> tuple[str, ...]:
    """Return the schema and the numbered migrations after it, such as ``0002_items.sql``."""
    folder = files("memoranda.store.sql")
    names = sorted(entry.name for entry in folder.iterdir() if re.match(r"\d+_.*\.sql", entry.name))
    return tuple((folder / name).read_text("utf-8") for name in ("schema.sql", *names))


class SqlConnection(Protocol):
    """A connection that runs the shared statements."""

    def all(self, sql: str, values: Values = NONE) -> list[Row]:
        """Return every row."""

    def one(self, sql: str, values: Values = NONE) -> Row | None:
        """Return the first row, or ``None``."""

    def value(self, sql: str, values: Values = NONE) -> Any:
        """Return the first value of the first row, or ``None``."""

    def run(self, sql: str, values: Values = NONE) -> int:
        """Carry out a statement and return how many rows it changed."""

    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        """Carry out a statement for each of ``rows``."""


class FullText(Protocol):
    """Finds records by their terms. A user's terms are never mixed with another's."""

    def create(self, connection: SqlConnection) -> None:
        """Make what it needs in a new database."""

    def add(self, connection: SqlConnection, rows: Sequence[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""

    def remove(self, connection: SqlConnection, keys: Sequence[int]) -> None:
        """Take records out."""

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""

    def postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str]
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often."""

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""

    def holds(self, connection: SqlConnection, key: int, user: int, terms: Sequence[str]) -> bool:
        """Return whether a record is indexed under each of these terms."""


class Database(Protocol):
    """Connections to one database, and what only its kind can do."""

    full_text: FullText
    # What its driver raises where what is derived is damaged.
    damage: type[Exception]

    @property
    def location(self) -> str:
        """Where it is, without secrets."""

    def read(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for reading."""

    def write(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection inside one transaction: committed, or never begun."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what the database does by itself."""

    def problems(self, connection: SqlConnection) -> list[str]:
        """Return what is wrong with the database itself."""

    def purge(self) -> bool:
        """Overwrite what remains of erased text, and take the request for it back."""

    def backup(self, path: str) -> None:
        """Write a consistent copy to ``path``."""

    def size(self) -> int:
        """Return the bytes that it takes."""

    def close(self) -> None:
        """Release the connections."""

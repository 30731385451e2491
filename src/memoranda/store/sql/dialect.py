"""How a database words the shared statements: its dialect, and the schema in it.

Statements are written once: parameters as ``:name``, ``CAST(:x AS text) IS NULL`` where a type
cannot be guessed, and these macros, which a :class:`Dialect` puts into its own words:

- ``@texts(x)``, ``@ints(x)``: a query with the elements of a JSON list as its column ``value``;
- ``@members(x)``: the same of a column, which gives none where it holds no JSON: it was damaged;
- ``@same(x, y)``: whether a column holds a value, which may be no text of the column's type;
- ``@attribute(x, y)``: whether the JSON object x holds the only member of the JSON object y;
- ``@ordered(x, y, <)``: whether the JSON object x has a number or text under the name of the only
  member of y that stands so to it; a number never does to a text;
- ``@skip_locked()``: after a query that takes rows, so that it passes over those that others are
  just taking;
- ``least(…)`` and ``greatest(…)``, never of NULL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FOLDER = files("memoranda.store.sql")
DECLARED = re.MULTILINE | re.DOTALL
COLUMN = re.compile(r"^    (\w+) +(TEXT|INTEGER|REAL|BLOB|SERIAL)\b([^\n]*)", re.MULTILINE)
PYTHON = {"TEXT": "str", "INTEGER": "int", "SERIAL": "int", "REAL": "float", "BLOB": "bytes"}
COMMENT = re.compile(r"--[^\n]*")
MACRO = re.compile(
    r"@(texts|ints|members|same|attribute|ordered|skip_locked)\(([^()]*)\)|\b(least|greatest)\("
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL dialect of one database.

    Attributes:
        own: the file of what only this database has beside the schema.
        macros: what stands for each macro, with its arguments as ``{0}``, ``{1}`` and ``{2}``.
        types: patterns of the schema and the words of this database for them.
    """

    own: str
    macros: Mapping[str, str]
    types: Mapping[str, str]

    def render(self, sql: str) -> str:
        """Return a shared statement with its macros replaced."""

        def replace(found: re.Match[str]) -> str:
            arguments = (each.strip() for each in (found[2] or "").split(","))
            return self.macros[found[1] or found[3]].format(*arguments)

        return MACRO.sub(replace, sql)

    def schema(self) -> list[str]:
        """Return the steps of the schema in the words of this database."""
        first, *later = schema_steps()
        own = (FOLDER / self.own).read_text("utf-8")
        return [self._typed(first + own), *map(self._typed, later)]

    def _typed(self, sql: str) -> str:
        sql = COMMENT.sub("", sql)
        for pattern, words in self.types.items():
            sql = re.sub(pattern, words, sql)
        return sql


@cache
def schema_steps() -> tuple[str, ...]:
    """Return the schema and the numbered migrations after it, such as ``0002_items.sql``."""
    names = sorted(entry.name for entry in FOLDER.iterdir() if re.match(r"\d+_.*\.sql", entry.name))
    return tuple((FOLDER / name).read_text("utf-8") for name in ("schema.sql", *names))


@cache
def tables() -> tuple[str, ...]:
    """Return the names of the tables; a table comes after those to which it refers."""
    return tuple(re.findall(r"^CREATE TABLE (\w+)", "\n".join(schema_steps()), re.MULTILINE))


@cache
def columns(table: str) -> dict[str, str]:
    """Return the columns of a table, with the Python type of each, such as ``str | None``."""
    declared = COLUMN.findall(_declared(table)) + _added(table)
    return {
        name: PYTHON[kind] + ("" if "NOT NULL" in rest or "PRIMARY KEY" in rest else " | None")
        for name, kind, rest in declared
    }


@cache
def added_defaults(table: str) -> tuple[int, ...]:
    """Return the defaults of the columns that migrations add: rows of before do not hold them."""
    return tuple(int(rest.split("DEFAULT")[1]) for _, _, rest in _added(table))


def _added(table: str) -> list[tuple[str, str, str]]:
    added = re.compile(rf"^ALTER TABLE {table} ADD COLUMN (\w+) (\w+)([^;]*);", re.MULTILINE)
    return added.findall("\n".join(schema_steps()))


@cache
def primary_key(table: str) -> tuple[str, ...]:
    """Return the columns of a table's primary key."""
    declared = _declared(table)
    listed = re.search(r"^    PRIMARY KEY \((.*)\)", declared, re.MULTILINE)
    if listed:
        return tuple(listed[1].split(", "))
    return tuple(name for name, _, rest in COLUMN.findall(declared) if "PRIMARY KEY" in rest)


def _declared(table: str) -> str:
    found = re.search(rf"^CREATE TABLE {table} \(\n(.*?)^\)", "\n".join(schema_steps()), DECLARED)
    return found[1] if found else ""


@cache
def user_tables() -> tuple[str, ...]:
    """Return the tables whose rows name their user; what refers to these goes with them."""
    columns = r"^CREATE TABLE (\w+) \(((?:\n    .*)*)"
    found = re.findall(columns, "\n".join(schema_steps()), re.MULTILINE)
    return tuple(table for table, rows in found if "\n    user_key " in rows)

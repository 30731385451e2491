"""How a database words the shared statements: its dialect, and the schema in it.

Statements are written once: parameters as ``:name``, ``CAST(:x AS text) IS NULL`` where a type
cannot be guessed, and these macros, which a :class:`Dialect` puts into its own words:

- ``@texts(x)``, ``@ints(x)``: a query with the elements of a JSON list as its column ``value``;
- ``@members(x)``: the same of a column, which gives none where it holds no JSON: it was damaged;
- ``@same(x, y)``: whether a column holds a value, which may be no text of the column's type;
- ``@attribute(x, y)``: whether the JSON object x holds the only member of the JSON object y;
- ``@ordered(x, y, <)``: whether the JSON object x has a number or text under the name of the only
  member of y that stands so to it; a number never does to a text;
- ``@lock_row()``: after a query for one row, so that others who ask so wait for it;
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
COMMENT = re.compile(r" *--[^\n]*")
FILLING = re.compile(r"^UPDATE [^;]+;", re.MULTILINE)
DROPPED = re.compile(r"^DROP TABLE (\w+);", re.MULTILINE)
MACRO = re.compile(
    r"@(texts|ints|members|same|attribute|ordered|skip_locked|lock_row)\(([^()]*)\)"
    r"|\b(least|greatest)\("
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL dialect of one database.

    Attributes:
        own: the file of what only this database has beside the schema; or, from a number on,
            instead of it.
        macros: what stands for each macro, with its arguments as ``{0}``, ``{1}`` and ``{2}``.
        types: patterns of the schema and the words of this database for them.
        whole: the number of the schema that ``own`` creates by itself; 0 where it goes with
            ``schema.sql``.
    """

    own: str
    macros: Mapping[str, str]
    types: Mapping[str, str]
    whole: int = 0

    def render(self, sql: str) -> str:
        """Return a shared statement with its macros replaced."""

        def replace(found: re.Match[str]) -> str:
            arguments = (each.strip() for each in (found[2] or "").split(","))
            return self.macros[found[1] or found[3]].format(*arguments)

        return MACRO.sub(replace, sql)

    def schema(self, done: int = 0) -> list[str]:
        """Return what brings a database from the schema of a number (0: none) to the newest.

        One text for each number; together they may be empty.
        """
        steps = schema_steps(self.own)
        if done:
            return [*map(self._typed, steps[done:])]
        own = (FOLDER / self.own).read_text("utf-8")
        if self.whole:
            return [self._typed(own), *[""] * (self.whole - 1), *self.schema(self.whole)]
        return [self._typed(steps[0] + own), *map(self._typed, steps[1:])]

    def _typed(self, sql: str) -> str:
        sql = COMMENT.sub("", sql)
        for pattern, words in self.types.items():
            sql = re.sub(pattern, words, sql)
        return sql


@cache
def schema_steps(own: str = "sqlite.sql") -> tuple[str, ...]:
    """Return the schema and the numbered migrations after it, such as ``0002_items.sql``.

    One that ends like the file of another database, as ``0007_terms.postgres.sql`` does, is empty.
    """
    names = sorted(entry.name for entry in FOLDER.iterdir() if re.match(r"\d+_.*\.sql", entry.name))
    return tuple(
        (FOLDER / name).read_text("utf-8") if name.count(".") == 1 or name.endswith(own) else ""
        for name in ("schema.sql", *names)
    )


@cache
def tables() -> tuple[str, ...]:
    """Return the names of the tables; a table comes after those to which it refers."""
    steps = "\n".join(schema_steps())
    dropped = DROPPED.findall(steps)
    made = re.findall(r"^CREATE TABLE (\w+)", steps, re.MULTILINE)
    return tuple(table for table in made if table not in dropped)


@cache
def user_tables() -> tuple[str, ...]:
    """Return the tables whose rows name their user; what refers to these goes with them."""
    columns = r"^CREATE TABLE (\w+) \(((?:\n    .*)*)"
    found = re.findall(columns, "\n".join(schema_steps()), re.MULTILINE)
    return tuple(table for table, rows in found if "\n    user_key " in rows and table in tables())

"""How a database words the shared statements: its dialect, and the schema in it.

Statements are written once: parameters as ``:name``, ``CAST(:x AS text) IS NULL`` where a type
cannot be guessed, and these macros, which a :class:`Dialect` puts into its own words:

- ``@texts(x)``, ``@ints(x)``: a query with the elements of a JSON list as its column ``value``;
- ``@members(x)``: the same of a column, which gives none where it holds no JSON: it was damaged;
- ``@same(x, y)``: whether a column holds a value, which may be no text of the column's type;
- ``@attribute(x, y)``: whether the JSON object x holds the only member of the JSON object y;
- ``@ordered(x, y, <)``: whether the JSON object x has a number or text under the name of the only
  member of y that stands so to it; a number never does to a text;
- ``@partition(x)``: that the rows of a table are of ``:user``, where other conditions say so in
  other words: by it PostgreSQL looks at one partition alone. SQLite has none, and looks for the
  rows as if it were not there;
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
COMMENT = re.compile(r" *--[^\n]*")
# Columns of texts of which the planner of a server may keep samples: they hold no word of a user.
SAMPLED = (
    *("agent", "kind", "id", "source_id", "record_id", "superseded_by", "supersedes", "origin"),
    *("source_role", "trust", "work", "role", "strategy", "triggered_by", "stage", "model"),
)
# The column that says whose a row is.
OWNER = "user_key"
CREATED = re.compile(r"^CREATE TABLE (\w+) \(\n.*?^\)", DECLARED)
ADDED = re.compile(r"^ALTER TABLE (\w+) ADD COLUMN ([^;]+);", re.MULTILINE)
FILLING = re.compile(r"^UPDATE [^;]+;", re.MULTILINE)
DROPPED = re.compile(r"^DROP TABLE (\w+);", re.MULTILINE)
KEYS = re.compile(r"^(    (?:PRIMARY KEY|UNIQUE)) \((?!user_key)", re.MULTILINE)
KEY = re.compile(r"^    (?!user_key\b)(\w+)(.*?) (PRIMARY KEY|UNIQUE)\b", re.MULTILINE)
REFERENCE = re.compile(
    r"^    (?!user_key\b)(\w+)(.*?) REFERENCES (\w+) ?\((\w+)\)((?: ON DELETE CASCADE)?)",
    re.MULTILINE,
)
MACRO = re.compile(
    r"@(texts|ints|members|same|attribute|ordered|partition|skip_locked)\(([^()]*)\)"
    r"|\b(least|greatest)\("
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL dialect of one database.

    Attributes:
        own: the file of what only this database has beside the schema.
        macros: what stands for each macro, with its arguments as ``{0}``, ``{1}`` and ``{2}``.
        types: patterns of the schema and the words of this database for them.
        by_user: whether every key of a table with ``user_key`` begins with that, and the planner
            keeps no samples of texts: what is erased would stay in them.
    """

    own: str
    macros: Mapping[str, str]
    types: Mapping[str, str]
    by_user: bool = False

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

    def whole_schema(self) -> str:
        """Return what creates at once what all steps create one after another."""
        first, *later = schema_steps()
        steps = "\n".join((first, (FOLDER / self.own).read_text("utf-8"), *later))
        for table, column in ADDED.findall(steps):
            opening = f"CREATE TABLE {table} (\n"
            steps = steps.replace(opening, f"{opening}    {column},\n")
        return self._typed(FILLING.sub("", ADDED.sub("", steps)))

    def _typed(self, sql: str) -> str:
        sql = COMMENT.sub("", sql)
        if self.by_user:
            unsampled = leave_unsampled(sql)
            sql = CREATED.sub(lambda found: lead_with_user(found[0]), sql) + unsampled
        for pattern, words in self.types.items():
            sql = re.sub(pattern, words, sql)
        return sql


def lead_with_user(table: str) -> str:
    """Return what creates a table with the user's key first in its keys, and in what it refers to.

    So the rows of a user can be apart from those of others, in a partition or on another machine.
    """
    if OWNER not in table:
        return table
    keys: list[str] = []

    def name_key(found: re.Match[str]) -> str:
        keys.append(f"{found[3]} (user_key, {found[1]})")
        return f"    {found[1]}{found[2]}"

    def refer(found: re.Match[str]) -> str:
        name, rest, other, key, cascade = found.groups()
        keys.append(f"FOREIGN KEY (user_key, {name}) REFERENCES {other} (user_key, {key}){cascade}")
        return f"    {name}{rest}"

    table = REFERENCE.sub(refer, KEY.sub(name_key, KEYS.sub(r"\1 (user_key, ", table)))
    return "".join((table[:-2], *(f",\n    {key}" for key in keys), "\n)"))


def leave_unsampled(sql: str) -> str:
    """Return what keeps the planner from sampling the texts and bytes of tables with users."""
    declared = [
        (table[1], name, kind)
        for table in CREATED.finditer(sql)
        if table[1] in tables()
        if OWNER in table[0] or table[1] == "users"
        for name, kind, _ in COLUMN.findall(table[0])
    ]
    added = [(table, *column.split()[:2]) for table, column in ADDED.findall(sql)]
    return "".join(
        f"ALTER TABLE {table} ALTER COLUMN {name} SET STATISTICS 0;\n"
        for table, name, kind in (*declared, *added)
        # A conversation may have been named after what was said in it.
        if kind in {"TEXT", "BLOB"} and (name not in SAMPLED or table == "conversations")
    )


@cache
def schema_steps() -> tuple[str, ...]:
    """Return the schema and the numbered migrations after it, such as ``0002_items.sql``."""
    names = sorted(entry.name for entry in FOLDER.iterdir() if re.match(r"\d+_.*\.sql", entry.name))
    return tuple((FOLDER / name).read_text("utf-8") for name in ("schema.sql", *names))


@cache
def tables() -> tuple[str, ...]:
    """Return the names of the tables; a table comes after those to which it refers."""
    steps = "\n".join(schema_steps())
    dropped = DROPPED.findall(steps)
    made = re.findall(r"^CREATE TABLE (\w+)", steps, re.MULTILINE)
    return tuple(table for table in made if table not in dropped)


@cache
def columns(table: str) -> dict[str, str]:
    """Return the columns of a table, with the Python type of each, such as ``str | None``."""
    declared = COLUMN.findall(_declared(table)) + _added(table)
    return {
        name: PYTHON[kind] + ("" if "NOT NULL" in rest or "PRIMARY KEY" in rest else " | None")
        for name, kind, rest in declared
    }


@cache
def backfill() -> tuple[str, ...]:
    """Return the statements of migrations that fill what they add: rows of before need them."""
    return tuple(FILLING.findall("\n".join(schema_steps())))


def _added(table: str) -> list[tuple[str, str, str]]:
    added = re.compile(rf"^ALTER TABLE {table} ADD COLUMN (\w+) (\w+)([^;]*);", re.MULTILINE)
    return added.findall("\n".join(schema_steps()))


def _declared(table: str) -> str:
    found = re.search(rf"^CREATE TABLE {table} \(\n(.*?)^\)", "\n".join(schema_steps()), DECLARED)
    return found[1] if found else ""


@cache
def user_tables() -> tuple[str, ...]:
    """Return the tables whose rows name their user; what refers to these goes with them."""
    columns = r"^CREATE TABLE (\w+) \(((?:\n    .*)*)"
    found = re.findall(columns, "\n".join(schema_steps()), re.MULTILINE)
    return tuple(table for table, rows in found if "\n    user_key " in rows and table in tables())

"""What the shared statements run on: dialects, connections that threads borrow, an index of terms.

Statements are written once: parameters as ``:name``, ``CAST(:x AS text) IS NULL`` where a type
cannot be guessed, and these macros, which a :class:`Dialect` puts into its own words:

- ``@texts(x)``, ``@ints(x)``: a query with the elements of a JSON list as its column ``value``;
- ``@compared(x, y, <)``: whether the JSON object x has under the name of the only member of the
  JSON object y a value of the same type that stands so to it; or, for ``=``, the same value;
- ``@numbers(x)``, ``@listed(x)``, ``@joined(x)``: of all rows together the numbers x, with commas
  between them; the texts x, as a JSON list; the bytes x, one after another;
- ``@skip_locked()``: after a query that takes rows, so that it passes over those that others are
  just taking;
- ``least(…)`` and ``greatest(…)``, never of NULL.
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from memoranda.errors import SchemaTooNew, StoreClosed, StoreError
from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.query import Postings
from memoranda.store.sql.rows import DAMAGE, insertion

T = TypeVar("T")
LAST_KEY = """
SELECT greatest(coalesce((SELECT max(key) FROM records), 0),
    coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'last_key'), 0))
"""
SET_META = """
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
# Of a row that another program changed, or a bad disk.
DAMAGED_ROW = (
    "{} holds a row that cannot be read ({}); memoranda doctor names it: restore a backup, or take "
    "the row out, see docs/reliability.md"
)
Row = tuple[Any, ...]
Values = Mapping[str, Any]
NONE: Values = {}


FOLDER = Path(__file__).parent
COMMENT = re.compile(r" *--[^\n]*")
DROPPED = re.compile(r"^DROP TABLE (\w+);", re.MULTILINE)
MACRO = re.compile(
    r"@(texts|ints|compared|numbers|listed|joined|skip_locked)\(([^()]*)\)"
    r"|\b(least|greatest)\("
)


@dataclass(frozen=True, slots=True, eq=False)  # Each is one of its kind, and so can be a key.
class Dialect:
    """The SQL dialect of one database.

    Attributes:
        own: the file of what only this database has beside the schema.
        macros: what stands for each macro, with its arguments as ``{0}``, ``{1}`` and ``{2}``.
        types: patterns of the schema and the words of this database for them.
        step: the number of the schema at which a new database gets that: with ``schema.sql``, or
            in the place of a later step.
    """

    own: str
    macros: Mapping[str, str]
    types: Mapping[str, str]
    step: int = 1

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
        steps = [*schema_steps(self.own)]
        if not done:  # What only this database has, it gets at once.
            own = (FOLDER / self.own).read_text("utf-8")
            steps[self.step - 1] = own if self.step > 1 else steps[0] + own
        steps = [COMMENT.sub("", sql) for sql in steps[done:]]
        for pattern, words in self.types.items():
            steps = [re.sub(pattern, words, sql) for sql in steps]
        return steps


def require_known(schema: int, location: str) -> None:
    """Refuse a database whose schema has a number that is higher than all of ours.

    Raises:
        SchemaTooNew: a newer memoranda wrote it.
    """
    if schema > len(schema_steps()):
        raise SchemaTooNew(f"{location} has schema {schema}; pip install -U memoranda to upgrade")


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


class SqlConnection(ABC):
    """Runs the shared statements over a connection of a driver.

    Args:
        raw: the connection.
        location: where the database is, for warnings.
    """

    raw: Any

    def __init__(self, raw: Any, location: str) -> None:
        """Take over a connection."""
        self.raw, self.location = raw, location

    @abstractmethod
    def all(self, sql: str, values: Values = NONE) -> list[Row]:
        """Return every row."""

    def made(self, make: Callable[[Row], T], sql: str, values: Values = NONE) -> list[T]:
        """Return what ``make`` makes of every row.

        This is the one place where rows become values of the model.

        Args:
            make: makes a value of a row, or raises one of ``DAMAGE``.
            sql: a query.
            values: its parameters.

        Raises:
            StoreError: a row cannot be read.
        """
        found = self.all(sql, values)
        try:
            return [make(row) for row in found]
        except DAMAGE as error:
            raise StoreError(DAMAGED_ROW.format(self.location, error)) from error

    def one(self, sql: str, values: Values = NONE) -> Row | None:
        """Return the first row, or ``None``."""
        return next(iter(self.all(sql, values)), None)

    def lock_one(self, sql: str, values: Values = NONE) -> Row | None:
        """Return the row of a query for a user, whose other writers wait from now on, if any."""
        return self.one(sql, values)

    def column(self, sql: str, values: Values = NONE) -> list[Any]:
        """Return the first value of every row."""
        return [row[0] for row in self.all(sql, values)]

    def value(self, sql: str, values: Values = NONE) -> Any:
        """Return the first value of the first row, or ``None``."""
        found = self.column(sql, values)
        return found[0] if found else None

    def run(self, sql: str, values: Values = NONE) -> None:
        """Carry out a statement; a server may do so when it is asked for something next."""
        self.change(sql, values)

    @abstractmethod
    def change(self, sql: str, values: Values = NONE) -> int:
        """Carry out a statement and return how many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Values | Row]) -> None:
        """Carry out a statement for each of ``rows``: values by name, or in the statement's order.

        The latter is quicker: a new record has some thirty of them.
        """

    def record_keys(self, count: int) -> Sequence[int]:
        """Return keys for new records, each higher than any that a record has or had."""
        first = self.value(LAST_KEY) + 1
        return range(first, first + count)

    def keep_last_key(self) -> None:
        """Let no new record get the key of one that is erased next."""
        self.run(SET_META, {"name": "last_key", "value": str(self.value(LAST_KEY))})


STATE_OF_USER = "key, deletions, deleted, name, revision, terms_through, terms_waiting"


@dataclass
class UserState:
    """The row of a user that a write begins from and ends with: the columns ``STATE_OF_USER``.

    Attributes:
        key: of the user; 0 before anything of theirs is stored.
        deletions: how often the user was deleted.
        deleted: 1, if nothing was stored since.
        name: ``None``, once the user was erased.
        revision: the number of the last write.
        terms_through: the last record whose terms are indexed.
        terms_waiting: how many came since, at most; a long one counts as several.
    """

    key: int = 0
    deletions: int = 0
    deleted: int = 0
    name: str | None = None
    revision: int = 0
    terms_through: int = 0
    terms_waiting: int = 0


# A connection to rows of a user, or of all, and what is kept of the user.
UserConnection = tuple[SqlConnection, UserState]


@dataclass
class UserRows:
    """The rows of one user in an open transaction.

    Every statement knows what ``own`` says, beside its own values.

    Attributes:
        connection: the transaction.
        user: the key of the user.
        scope: whose the transaction is.
        state: what is kept of the user.
    """

    connection: SqlConnection
    user: int
    scope: Scope
    state: UserState

    @property
    def own(self) -> dict[str, Any]:
        """The parameters that limit a statement to the scope; and the number of this write."""
        return {"user": self.user, "agent": self.scope.agent, "revision": self.state.revision + 1}

    def run(self, sql: str, /, **values: Any) -> None:
        """Carry out a statement."""
        self.connection.run(sql, self.own | values)

    def change(self, sql: str, /, **values: Any) -> int:
        """Carry out a statement and return how many rows it changed."""
        return self.connection.change(sql, self.own | values)

    def all(self, sql: str, /, **values: Any) -> list[Row]:
        """Return the rows of a statement."""
        return self.connection.all(sql, self.own | values)

    def column(self, sql: str, /, **values: Any) -> list[Any]:
        """Return the first value of every row of a statement."""
        return self.connection.column(sql, self.own | values)

    def value(self, sql: str, /, **values: Any) -> Any:
        """Return the first value of the first row of a statement, or ``None``."""
        return self.connection.value(sql, self.own | values)

    def add(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows of the user to a table, all with the same columns, unless they are there."""
        own = [{"user_key": self.user} | row for row in rows]
        if own:
            sql = f"{insertion(table, tuple(own[0]))} ON CONFLICT DO NOTHING"
            self.connection.run_many(sql, own)


# Begins the terms of items, and no others: a term holds letters and digits only.
ITEM_MARK = "§"


def indexed(terms: Sequence[str], *, items: bool) -> Sequence[str]:
    """Return the terms as the index has them; those of items never are those of memories."""
    return [ITEM_MARK + term for term in terms] if items else terms


class FullText(Protocol):
    """Finds records by their terms. A user's terms are never mixed with another's.

    Attributes:
        waits: whether the newest records of a user may be indexed later, some at a time; until
            then a search reads their texts.
    """

    waits: ClassVar[bool]

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""

    def postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str]
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often."""

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""


# Seconds that a writer waits for others.
BUSY_TIMEOUT = 60.0


class Database(ABC):
    """Lends connections to threads: inside a snapshot of a thread, always the same one.

    Attributes:
        location: where it is, without secrets.
        full_text: its index of terms.
        analyzer: makes the terms of a text.
        names: decides which names are one entity.
        reads_at_once: whether a small read waits for nobody, neither a writer nor a server.
        writers: how many threads of a process can write at once.
        damage: what its driver raises where what is derived is damaged.
    """

    BEGIN_SNAPSHOT: ClassVar[str]
    full_text: FullText
    analyzer: Analyzer
    names: NameMatcher
    reads_at_once = False
    writers = 1
    damage: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, location: str) -> None:
        """Hold no connection yet."""
        self.location = location
        self._local = threading.local()
        self._closed = False

    @abstractmethod
    def _lend(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection that nobody else has meanwhile."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection; one that is still out is closed when it comes back."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Raise one of our errors in place of any of the driver's."""

    @abstractmethod
    def transact(self, patience: float | None = None) -> AbstractContextManager[SqlConnection]:
        """Lend a connection inside one transaction: committed, or undone.

        Args:
            patience: seconds to wait for other writers, at most.
        """

    def transact_alone(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection inside a transaction beside which nobody writes."""
        return self.transact()

    def problems(self, connection: SqlConnection) -> list[str]:
        """Return what is wrong with the database itself; a server checks its own pages."""
        del connection
        return []

    def after_fork(self) -> None:
        """Forget, in a forked process, what the threads of the one before it were reading."""
        self._local = threading.local()

    def _require_open(self) -> None:
        if self._closed:
            message = f"the memory in {self.location} was closed; open it again with Memory(…)"
            raise StoreClosed(message)

    def read(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for reading; inside a snapshot, always the same one."""
        pinned = getattr(self._local, "pinned", None)
        return self._lend() if pinned is None else self._lend_again(pinned)

    @contextmanager
    def _lend_again(self, connection: SqlConnection) -> Iterator[SqlConnection]:
        with self._translated():
            yield connection

    @property
    def known(self) -> dict[Any, Any]:
        """What this thread has looked up in its snapshot, where nothing changes."""
        return {} if getattr(self._local, "pinned", None) is None else self._local.known

    def snapshot(self) -> AbstractContextManager[Any]:
        """Let the reads of this thread inside the block see one moment of the database."""
        pinned = getattr(self._local, "pinned", None)
        return self._pin() if pinned is None else nullcontext()

    @contextmanager
    def _pin(self) -> Iterator[None]:
        with self._lend() as connection:
            connection.raw.execute(self.BEGIN_SNAPSHOT)
            self._local.pinned, self._local.known = connection, {}
            try:
                yield
            finally:
                self._local.pinned = None

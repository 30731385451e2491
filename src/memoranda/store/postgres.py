"""The relational store on PostgreSQL: dialect, connections, transactions and errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import urlencode

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from memoranda import errors
from memoranda.model.changes import Insert, RecordChange, StoredRecord
from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.processes import follow_forks
from memoranda.store import postgres_terms
from memoranda.store.sql import database
from memoranda.store.sql.store import Store

FORM = "postgresql://user@host:5432/database"
# Connections of one process at most.
MOST_CONNECTIONS = 10
# Seconds to connect in; milliseconds after which a server that answers nothing is given up.
OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "client_encoding": "utf8",
}
SET_PATIENCE = "SELECT set_config('lock_timeout', CAST(greatest(1, round(1000 * %s)) AS text), %s)"
# Work on all users waits for the writers of each.
LOCK_ALL = "LOCK TABLE users IN EXCLUSIVE MODE"
# Processes that open a new database at once: one of them makes the schema.
LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(1835363695)"
NEXT_KEYS = "SELECT nextval('record_keys') FROM generate_series(1, :count)"
STEPS = "CREATE TABLE IF NOT EXISTS schema_steps (number bigint PRIMARY KEY)"
IS_THERE = "SELECT to_regclass('schema_steps') IS NOT NULL"
DONE = "SELECT coalesce(max(number), 0) FROM schema_steps"
TABLES = """
SELECT string_agg(CAST(CAST(c.oid AS regclass) AS text), ', ') FROM pg_class c
JOIN pg_class r ON r.oid = to_regclass('records')
    AND r.relnamespace = c.relnamespace AND r.relowner = c.relowner
WHERE c.relkind = 'r'
"""
LOST = (
    errors.StoreUnreachable,
    "the connection was lost; look whether what was being stored is there before you try again",
)
AWAY = (
    "start the server and try again, or look at the address: host, port, database, sslmode; a "
    "password belongs in PGPASSWORD or in a password file that nobody else can read"
)
TRY_AGAIN = errors.StoreBusy, "others write to it all the time; try again"
# Beginnings of SQLSTATE codes, what is raised for them, and what to do.
MEANINGS: Mapping[str, tuple[type[errors.StoreError], str]] = {
    "08": LOST,
    "25006": (errors.StoreReadOnly, "connect to a server that takes writes"),
    "40": TRY_AGAIN,
    "42501": (errors.StoreReadOnly, "grant the role what it needs"),
    "53100": (errors.StoreFull, "make room on the server"),
    "53300": (errors.StoreBusy, "the server has no connection left; try again"),
    "55P03": TRY_AGAIN,
    "57014": (errors.StoreBusy, "the server ended it; try again, or raise its statement_timeout"),
    "57P": (errors.StoreUnreachable, "the server stops or starts; try again"),
    "": (errors.StoreError, "see the log of the server"),
}
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
TYPES = {
    r"\bSERIAL\b": "bigserial",
    r"\bINTEGER\b": "bigint",
    r"\bREAL\b": "double precision",
    r"\bBLOB\b": "bytea",
    r"\bTEXT\b": 'text COLLATE "C"',  # Order and equality by bytes, as everywhere else.
    r"\) WITHOUT ROWID\b": ")",
}
MACROS = {
    "texts": (
        'SELECT value COLLATE "C" AS value '
        "FROM jsonb_array_elements_text(CAST({0} AS jsonb)) AS elements (value)"
    ),
    # No value is converted where it is compared: under a policy that would use no index.
    "ints": "SELECT unnest(CAST(translate({0}, '[]', '{{}}') AS bigint[])) AS value",
    # Some JSON is no jsonb: a text in it has a NUL character.
    "compared": (
        "EXISTS (SELECT 1 FROM jsonb_each(CAST({1} AS jsonb)) wanted CROSS JOIN LATERAL (SELECT "
        "CASE WHEN pg_input_is_valid({0}, 'jsonb') THEN CAST({0} AS jsonb) -> wanted.key END) "
        "AS held (value) WHERE jsonb_typeof(held.value) = jsonb_typeof(wanted.value) "
        "AND CASE jsonb_typeof(held.value) "
        "WHEN 'string' THEN (held.value #>> '{{}}') COLLATE \"C\" {2} (wanted.value #>> '{{}}') "
        "ELSE held.value {2} wanted.value END)"
    ),
    "numbers": "string_agg(CAST({0} AS text), ',')",
    "listed": "CAST(json_agg({0}) FILTER (WHERE {0} IS NOT NULL) AS text)",
    "joined": "string_agg({0}, '')",
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "least": "least(",
    "greatest": "greatest(",
}
DIALECT = database.Dialect("postgres.sql", MACROS, TYPES, step=7)
# What stands in a list is looked up in an index, as an array; else the planner would rather walk
# through all that a user has.
IN_LIST = re.compile(r"(?<!NOT )\bIN \(@(ints|texts)\((:\w+)\)\)")
ANY_OF = {
    "ints": "= ANY (CAST(translate({0}, '[]', '{{}}') AS bigint[]))",
    "texts": "= ANY (ARRAY (SELECT jsonb_array_elements_text(CAST({0} AS jsonb))))",
}
# Numbers are sent in one type, whatever their size, also those in lists: so a statement is prepared
# once, and two lists of it may be of different sizes.
ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(int, Int8Dumper)
ADAPTERS.register_dumper(int, Int8BinaryDumper)


@cache
def in_postgres(sql: str) -> Any:
    """Return a shared statement in PostgreSQL's dialect, with parameters as psycopg has them."""
    listed = IN_LIST.sub(lambda found: ANY_OF[found[1]].format(found[2]), sql)
    return PARAMETER.sub(r"%(\1)s", DIALECT.render(listed).replace("%", "%%"))


@cache
def parameters(sql: str) -> list[str]:
    """Return the names of the parameters of a statement, each once."""
    return list(dict.fromkeys(PARAMETER.findall(sql)))


class PostgresConnection(database.SqlConnection):
    """Runs the shared statements over a connection of psycopg, which commits by itself.

    Attributes:
        pipeline: that of the open transaction.
    """

    raw: psycopg.Connection[database.Row]
    pipeline: psycopg.Pipeline | None = None

    def _execute(self, sql: str, values: database.Values) -> psycopg.Cursor[database.Row]:
        return self.raw.execute(in_postgres(sql), values, binary=True)

    def all(self, sql: str, values: database.Values = database.NONE) -> list[database.Row]:
        """Return every row."""
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, values: database.Values = database.NONE) -> None:
        """Carry out a statement; in a pipeline the server does so while others are sent."""
        self._execute(sql, values)

    def change(self, sql: str, values: database.Values = database.NONE) -> int:
        """Carry out a statement and return how many rows it changed."""
        done = self._execute(sql, values)
        if self.pipeline is not None:
            self.pipeline.sync()
        return done.rowcount

    def run_many(self, sql: str, rows: Iterable[database.Values | database.Row]) -> None:
        """Carry out a statement for each of ``rows``, without waiting for each."""
        names = parameters(sql)
        values = [
            row if isinstance(row, Mapping) else dict(zip(names, row, strict=True)) for row in rows
        ]
        if values:
            self.raw.cursor().executemany(in_postgres(sql), values)

    def lock_one(self, sql: str, values: database.Values = database.NONE) -> database.Row | None:
        """Return the row of a query for a user, whose other writers wait from now on, if any."""
        return self.one(f"{sql} FOR NO KEY UPDATE", values)

    def record_keys(self, count: int) -> Sequence[int]:
        """Return keys for new records, each higher than any that a record has or had."""
        return self.column(NEXT_KEYS, {"count": count})

    def keep_last_key(self) -> None:
        """Do nothing: a sequence gives no number twice."""


def show_address(address: str) -> str:
    """Return an address as it may be shown: without its passwords.

    Raises:
        ConfigError: the address cannot be read.
    """
    try:
        told: dict[str, Any] = conninfo_to_dict(address)
    except psycopg.Error:  # What it says may have the password.
        told = {"host": "@"}
    user, name = told.pop("user", ""), told.pop("dbname", "")
    if "@" in f"{told.get('host')}{name}":  # The end of a password.
        why = f"postgresql://… cannot be read: use {FORM}, and %40 for @ in a password, %2F for /"
        raise errors.ConfigError(why)
    options = urlencode({each: told[each] for each in told if "password" not in each}, safe="/")
    return f"postgresql://{user}@/{name}?{options}"


class PostgresStore(Store):
    """A whole memory in a PostgreSQL database.

    Writers of one user take turns, those of different users do not wait for each other, and
    readers wait for nobody. Connections are shared by the threads of a process; a process that
    was forked has connections of its own.

    Args:
        address: what psycopg connects to: ``postgresql://…``.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
        busy_timeout: seconds to wait for other writers, and for a free connection.
        power_safe: wait at each commit until the server's disk has it, whatever is its default.

    Raises:
        ConfigError: the address cannot be read.
        StoreError: the server cannot be reached, or refuses.
    """

    BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    writers = MOST_CONNECTIONS
    full_text = postgres_terms.TermCounts()
    damage = (psycopg.errors.DataCorrupted,)

    def __init__(
        self,
        address: str,
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        busy_timeout: float = database.BUSY_TIMEOUT,
        power_safe: bool = False,
    ) -> None:
        """Connect, and create the schema where there is none."""
        super().__init__(show_address(address))
        self._address = make_conninfo(**(OPTIONS | conninfo_to_dict(address)))
        self._busy_timeout, self._power_safe = busy_timeout, power_safe
        with self._translated():
            # The pool would try for long, and not tell what was wrong.
            psycopg.connect(self._address).close()
            self._open_pool()
        self._begin_with(analyzer, names)
        follow_forks(self)

    def _open_pool(self) -> None:
        self._pool: ConnectionPool[psycopg.Connection[database.Row]] = ConnectionPool(
            self._address,
            kwargs={"autocommit": True, "context": ADAPTERS},
            min_size=1,
            max_size=MOST_CONNECTIONS,
            name=self.location,
            check=_require_connected,
            configure=self._set_session,
            open=True,
        )

    def after_fork(self) -> None:
        """Give up the connections of the process that this one was forked from; open others."""
        super().after_fork()
        if not self._closed:
            self._open_pool()

    def _set_session(self, raw: psycopg.Connection[database.Row]) -> None:
        raw.execute(SET_PATIENCE, (self._busy_timeout, False))
        if self._power_safe:
            raw.execute("SET synchronous_commit = on")

    def close(self) -> None:
        """Close every connection; one that is still out is closed when it comes back."""
        self._closed = True
        self._pool.close()

    # Schema

    def _migrate(self) -> None:
        """Bring the database to the newest schema; several processes may do so at once."""
        with self._lend() as connection, connection.raw.transaction():
            done = connection.value(DONE) if connection.value(IS_THERE) else 0
            database.require_known(done, self.location)
            if done == len(database.schema_steps()):
                return
            for sql in (LOCK_SCHEMA, STEPS):
                connection.run(sql)
            done = connection.value(DONE)  # Another process may have been quicker.
            steps: list[Any] = DIALECT.schema(done)
            for number, sql in enumerate(steps, done + 1):
                connection.raw.execute(sql)
                connection.run("INSERT INTO schema_steps VALUES (:number)", {"number": number})

    # Connections and transactions

    @contextmanager
    def _lend(self, patience: float | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection that nobody else has; what it began is committed, or undone.

        Args:
            patience: seconds to wait for one, at most.
        """
        self._require_open()
        # The pool gives no connection to who does not wait.
        seconds = self._busy_timeout if patience is None else max(0.01, patience)
        with self._translated(), self._pool.connection(seconds) as raw:
            yield PostgresConnection(raw, self.location)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            message = f"{error.object!r:.80} holds a lone surrogate, which no UTF-8 can hold"
            raise errors.InvalidInput(message) from error
        except psycopg.Error as error:
            raise self._error_of(error) from error

    def _error_of(self, error: psycopg.Error) -> errors.StoreError:
        """Return what is raised for an error of the driver, with what to do about it."""
        code = error.sqlstate or ""
        kind, remedy = next(what for each, what in MEANINGS.items() if code.startswith(each))
        lost = not code and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        away = isinstance(error, PoolTimeout) or re.search(
            "connection to server|resolve", str(error)
        )
        if lost:
            kind, remedy = (LOST[0], AWAY) if away else LOST
        text = " ".join(str(error).split())
        return kind(f"{self.location}: {type(error).__name__}: {text}; {remedy}")

    @contextmanager
    def transact(self, patience: float | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection inside one transaction: committed, or undone.

        Statements without a result are sent without waiting (psycopg's pipeline); psycopg's own
        ``transaction`` would wait at its beginning and at its end.
        """
        with self._lend(patience) as lent, lent.raw.pipeline() as lent.pipeline:
            lent.run("BEGIN")
            if patience is not None and patience < self._busy_timeout:
                lent.raw.execute(SET_PATIENCE, (patience, True))
            yield lent
            lent.run("COMMIT")

    @contextmanager
    def transact_alone(self) -> Iterator[PostgresConnection]:
        """Lend a connection inside a transaction for which writers of all users wait."""
        with self.transact() as connection:
            connection.run(LOCK_ALL)
            yield connection

    def apply(self, scope: Scope, changes: Sequence[RecordChange]) -> list[StoredRecord]:
        """Carry out changes of records; a record that stands alone by one statement.

        That is stored so where its user is known and has no other of its text.
        """
        match changes:
            case [Insert(stands_alone=True) as new] if scope.owns(new.record):
                values = postgres_terms.values_of(scope, new, self.analyzer)
                with self._lend() as connection:
                    if connection.change(postgres_terms.ADD, values):
                        return [StoredRecord(new.record, is_new=True)]
        return super().apply(scope, changes)

    # Upkeep

    def _purge(self) -> None:
        """Free the place of what was erased."""
        with self._lend() as connection:
            connection.run(f"VACUUM {connection.value(TABLES)}")

    def backup(self, path: str) -> None:
        """Refuse: the server's own tool makes a backup that anybody can restore."""
        command = ["pg_dump", "--format=custom", f"--file={path}", self.location]
        message = f"{self.location} is not copied by memoranda; run: {shlex.join(command)}"
        raise errors.InvalidInput(message)

    def size(self) -> int:
        """Return the bytes that the database takes."""
        with self.read() as connection:
            return int(connection.value("SELECT pg_database_size(current_database())"))


def _require_connected(raw: psycopg.Connection[database.Row]) -> None:
    """Raise ``psycopg.OperationalError`` where the server has left: why, and then the end."""
    for _ in range(2):
        raw.pgconn.consume_input()

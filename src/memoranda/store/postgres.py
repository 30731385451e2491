"""The relational store on PostgreSQL: dialect, connections and transactions."""

from __future__ import annotations

import logging
import math
import re
import secrets
import selectors
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from memoranda import errors
from memoranda.model import capabilities
from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.query import Candidates, Filter, Vector
from memoranda.model.reports import Check
from memoranda.store import postgres_nearest
from memoranda.store.postgres_backup import dump
from memoranda.store.postgres_batches import (
    NumberedStatement,
    StatementBatch,
    StatementResult,
    keep_prepared,
)
from memoranda.store.postgres_candidates import CandidateSearch
from memoranda.store.postgres_purge import TablePurge, note_tables
from memoranda.store.postgres_roles import ADMIT, ENTER, LIMIT, RowSecurity, open_limits
from memoranda.store.postgres_status import server_checks
from memoranda.store.postgres_term_lists import COMMON, UNLISTED
from memoranda.store.postgres_terms import TermVectors
from memoranda.store.sql.database import BUSY_TIMEOUT, NONE, DamageLog, Row, SqlConnection, Values
from memoranda.store.sql.dialect import Dialect, schema_steps
from memoranda.store.sql.reads import matching
from memoranda.store.sql.store import DatabaseStore, drop_vectors

log = logging.getLogger("memoranda.store")
T = TypeVar("T")
Entry = Mapping[str, str]
Execute = Callable[[str, Values, Entry | None], StatementResult]
# Number of the lock that every writer shares, and that work on all users at once has alone. By it
# the names of users are hashed into the numbers of the locks that make writers of one take turns:
# positions and entities depend on it.
WRITER = 0x6D656D6F
FORM = "postgresql://user@host:5432/database"
# Connections of one process at most.
MOST_CONNECTIONS = 10
# Seconds to connect in, before the server is said to be out of reach.
CONNECT = 10
# Milliseconds after which a server that answers nothing is given up.
UNANSWERED = 30_000
# Seconds that a connection is waited for at least.
LEAST_WAIT = 0.01
# Seconds after which it is logged that a connection is waited for, and until it is again.
WARN_AFTER = 3.0
WARN_AGAIN = 60.0
# Seconds until a server that failed is asked again.
PAUSE = 0.1
# What asks the system least to look at one connection; Windows has none.
Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)
# Memories of a user up to which a search ranks them all.
EXACT_UP_TO = 100_000
# Seconds for which it is known whether a user is large.
SEEN = 60.0
# Users of whom that is known at once.
MOST_SEEN = 10_000
# A large user is counted again when so much of what there is was there before.
GROWN = 0.8
# The lease of who prepares the search of large users, and how long it takes at most for one.
INDEXING = "index large users"
# What is raised where pgvector is not there or too old, or its tables may not be made.
UNABLE = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFile,
    psycopg.errors.UndefinedObject,
)
LONGEST_INDEXING = timedelta(hours=2)
# One statement: it reads nothing that others could change while it waits for them.
BEGIN_WRITE = """
SELECT set_config('lock_timeout', :most, TRUE), {first},
    nextval('record_keys'), CAST(pg_current_xact_id() AS text), (SELECT token FROM server_starts)
"""
# Stands in statements for the key that this one gives: as long as it was not read, it is the
# sequence's last.
NEW_KEY: Any = object()
LAST_KEY = "currval('record_keys')"
NEXT_KEYS = "SELECT nextval('record_keys') FROM generate_series(1, :count)"
SAFELY = "set_config('synchronous_commit', 'on', TRUE)"
LOCK_ALL = "pg_advisory_xact_lock(:lock)"
LOCK_NONE = "pg_advisory_xact_lock_shared(:lock)"
LOCK_USER = f"{LOCK_NONE}, pg_advisory_xact_lock(hashtextextended(:user, :lock))"
IS_THERE = """
SELECT to_regclass('schema_steps') IS NOT NULL, current_user = CAST(:role AS text),
    CASE WHEN to_regclass('records') IS NOT NULL THEN row_security_active('records') END,
    current_user
"""
DONE = "SELECT coalesce(max(number), 0) FROM schema_steps"
TO_DUMP = """
SELECT current_schema(), EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')
"""
NAME_START = """
INSERT INTO server_starts (id, token) VALUES (1, CAST(gen_random_uuid() AS text))
ON CONFLICT (id) DO NOTHING
"""
START = "SELECT token FROM server_starts"
# The token is by chance: of two servers that were made alike it is another.
IDENTITY = f"SELECT CAST(to_regclass('schema_steps') AS oid), ({START})"
OUTCOME = f"SELECT pg_xact_status(CAST(:number AS xid8)), ({START})"
OPEN = {TransactionStatus.INTRANS, TransactionStatus.INERROR}
# Beginnings of SQLSTATE codes, what is raised for them, and what to do.
CODES: Mapping[str, tuple[type[errors.StoreError], str]] = {
    "08": (errors.StoreUnreachable, "the connection was lost; try again"),
    "25006": (errors.StoreReadOnly, "connect to a server that takes writes"),
    "40": (errors.StoreBusy, "others write to it all the time; try again"),
    "42501": (errors.StoreReadOnly, "grant the role what it needs"),
    "53100": (errors.StoreFull, "make room on the server"),
    "53300": (errors.StoreBusy, "the server has no connection left; try again"),
    "55P03": (errors.StoreBusy, "others write to it all the time; try again"),
    "57P": (errors.StoreUnreachable, "the server stops or starts; try again"),
}
# Words of what libpq says when it cannot connect, which has no code.
WORDS: Mapping[str, tuple[type[errors.StoreError], str]] = {
    "password": (
        errors.StoreError,
        "give the password in PGPASSWORD or in a password file that nobody else can read",
    ),
    "SSL": (errors.StoreError, "look at sslmode and sslrootcert in the address"),
    "certificate": (errors.StoreError, "look at sslmode and sslrootcert in the address"),
    "too many": (errors.StoreBusy, "the server has no connection left; try again"),
    "slots are reserved": (errors.StoreBusy, "the server has no connection left; try again"),
    "starting up": (errors.StoreUnreachable, "try again"),
    "shutting down": (errors.StoreUnreachable, "try again"),
    "does not exist": (errors.StoreError, "create it on the server, or look at the address"),
    "resolve": (errors.StoreUnreachable, "look at the host in the address"),
}
# How what is said begins where no connection was made.
CONNECTING = re.compile(r"connection (?:failed|is bad|timeout)|failed to resolve|Multiple|invalid ")
NOT_MADE = errors.StoreUnreachable, "start the server, or look at host and port in the address"
LOST = errors.StoreUnreachable, "the connection was lost; try again"
# What passes by itself while a server starts, and seconds in which it does.
STARTING = re.compile(r"Connection refused|starting up|shutting down|on socket .* No such file")
LONGEST_START = 10.0
# What libpq adds to advise whoever runs the server.
HINT = re.compile(r"\n\t.*")
# Seconds to look why a connection is not to be had.
LOOK = 2
# Those of what passes by itself: conflicts, and servers that are lost, stop or start; and prepared
# statements that were dropped, which are then made anew.
PASSING = ("08", "26000", "40", "57P01", "57P02", "57P03", "57P05")
# What is copied rather than inserted, from so many rows on.
INSERT = re.compile(r"\s*INSERT INTO (\w+ \([\w\s,]+\))\s*VALUES \([\w\s,:]+\)\s*")
MANY = 100
# Rows that one statement inserts at most: a power of two.
SEVERAL = 64
HOSTS = re.compile(r"(?:(?:[^:,\[\]]*|\[[^\]]*\])(?::\d*)?(?:,|$))+")
TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE (\w+)", re.MULTILINE)
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
    "same": "{0} = {1}",
    "members": (
        'SELECT value COLLATE "C" AS value FROM jsonb_array_elements_text('
        "CASE WHEN {0} IS JSON ARRAY THEN CAST({0} AS jsonb) END) AS elements (value)"
    ),
    "attribute": (
        "EXISTS (SELECT 1 FROM jsonb_each(CAST({1} AS jsonb)) wanted "
        "WHERE CASE WHEN {0} IS JSON OBJECT THEN CAST({0} AS jsonb) END -> wanted.key "
        "= wanted.value)"
    ),
    "ordered": (
        "EXISTS (SELECT 1 FROM jsonb_each(CAST({1} AS jsonb)) wanted "
        "JOIN jsonb_each(CASE WHEN {0} IS JSON OBJECT THEN CAST({0} AS jsonb) END) held "
        "ON held.key = wanted.key "
        "AND jsonb_typeof(held.value) = jsonb_typeof(wanted.value) "
        "WHERE CASE jsonb_typeof(held.value) "
        "WHEN 'number' THEN held.value {2} wanted.value "
        "WHEN 'string' THEN (held.value #>> '{{}}') COLLATE \"C\" {2} (wanted.value #>> '{{}}') "
        "ELSE FALSE END)"
    ),
    "partition": "{0}.user_key = :user",
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "least": "least(",
    "greatest": "greatest(",
}
CAPABILITIES = {
    capabilities.TRANSACTIONS: "one for each plan of actions",
    capabilities.FULL_TEXT: "tsvector and GIN, by user",
    capabilities.NEAREST: (
        "exact, over vectors in memory; of large users by HNSW, where the server has pgvector"
    ),
    capabilities.SNAPSHOTS: "repeatable reads",
    capabilities.PROCESSES: "any number on one server",
    capabilities.PURGE: (
        "tables and indexes are written anew; its write-ahead log is overwritten in its own time, "
        "and archives, replicas, backups and logs are whoever's runs it"
    ),
}
STEPS = "CREATE TABLE IF NOT EXISTS schema_steps (number bigint PRIMARY KEY)"
DIALECT = Dialect("postgres.sql", MACROS, TYPES, by_user=True)
# What stands in a list is looked up in an index, as an array; else the planner would rather walk
# through all that a user has.
IN_LIST = re.compile(r"(?<!NOT )\bIN \(@(ints|texts)\((:\w+)\)\)")
ANY_OF = {
    "ints": "= ANY (CAST(translate({0}, '[]', '{{}}') AS bigint[]))",
    "texts": "= ANY (ARRAY (SELECT jsonb_array_elements_text(CAST({0} AS jsonb))))",
}
TABLES = tuple(name for step in DIALECT.schema() for name in TABLE.findall(step))


@cache
def in_postgres(sql: str) -> Any:
    """Return a shared statement in PostgreSQL's dialect, with parameters as psycopg has them."""
    return PARAMETER.sub(r"%(\1)s", _rendered(sql).replace("%", "%%"))


def _rendered(sql: str) -> str:
    return DIALECT.render(IN_LIST.sub(lambda found: ANY_OF[found[1]].format(found[2]), sql))


@cache
def parameters(sql: str) -> list[str]:
    """Return the names of the parameters of a statement, each once."""
    return list(dict.fromkeys(PARAMETER.findall(sql)))


@cache
def repeat_row(sql: str, count: int) -> str:
    """Return a statement that inserts one row as one that inserts several."""
    head, values = sql.split("VALUES")
    rows = (PARAMETER.sub(rf":\1_{number}", values) for number in range(count))
    return f"{head}VALUES{','.join(rows)}"


@cache
def in_numbers(sql: str) -> NumberedStatement:
    """Return a shared statement in PostgreSQL's dialect, with parameters as the server has them."""
    sql = _rendered(sql)
    names = parameters(sql)
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return NumberedStatement(PARAMETER.sub(lambda found: numbers[found[1]], sql), names)


@cache
def with_last_key(sql: str, names: Collection[str]) -> str:
    """Return a statement that takes the last key of a sequence for these parameters."""
    return PARAMETER.sub(lambda found: LAST_KEY if found[1] in names else found[0], sql)


class PostgresConnection(SqlConnection):
    """Runs the shared statements over one connection of psycopg.

    Attributes:
        raw: a connection that commits by itself.
        batch: the statements that are sent together, inside of ``batched``.
    """

    batch: StatementBatch | None = None
    _entry: Entry | None = None

    def __init__(self, raw: psycopg.Connection[Row], damage_log: DamageLog) -> None:
        """Take over a connection."""
        self.raw: psycopg.Connection[Row] = raw
        self.damage_log = damage_log

    def enter(self, entry: Entry | None) -> None:
        """Limit the transaction to the rows of a user, if it is not yet; see ``RowSecurity``."""
        if entry != self._entry:
            self._entry = entry
            for sql in (ENTER, LIMIT):
                self.send(sql, entry or NONE)

    @contextmanager
    def batched(self) -> Iterator[None]:
        """Send the statements inside the block together, as far as no result is asked for."""
        if self.batch is None:
            self.batch = StatementBatch(self.raw)
        try:
            yield
            self._end_batch()
        except BaseException:
            if self.batch is not None:
                self.batch.abandon()
            raise
        finally:
            self.batch = None

    def _end_batch(self) -> None:
        if self.batch is not None:
            self.batch.end()
            self.batch = None

    def admit(self, user: int) -> None:
        """Let the transaction see the rows of its user, who is new."""
        if self._entry is not None:
            self.run(ADMIT, {"key": str(user)})

    def _execute(self, sql: str, values: Values) -> StatementResult:
        return self.send(sql, values)

    def send(self, sql: str, values: Values) -> StatementResult:
        """Carry out a statement; in a batch by the time that its result is asked for."""
        if self.batch is not None:
            return self.batch.send(in_numbers(sql), values)
        return self.raw.execute(in_postgres(sql), values, binary=True)

    def ask(self, sql: str, values: Values = NONE) -> Callable[[], Sequence[Row | None]]:
        """Send a query, and return what waits for its rows."""
        result = self._execute(sql, values)
        self.hand_on()
        return result.fetchall

    def hand_on(self) -> None:
        """Let the server begin with what was sent, while more is made."""
        if self.batch is not None:
            self.batch.hand_on()

    def rows(self, sql: str, values: Values = NONE) -> list[Row]:
        """Return every row."""
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, values: Values = NONE) -> None:
        """Carry out a statement, in a write by the time that something is read."""
        self._execute(sql, values)

    def change(self, sql: str, values: Values = NONE) -> int:
        """Carry out a statement and return how many rows it changed."""
        return self._execute(sql, values).rowcount

    def run_many(self, sql: str, rows: Iterable[Values | Row]) -> None:
        """Carry out a statement for each of ``rows``."""
        names = parameters(sql)
        for row in rows:
            self.run(sql, row if isinstance(row, Mapping) else dict(zip(names, row, strict=True)))

    def index_vectors(self, user: int, vectors: Mapping[int, bytes]) -> None:
        """Let the database find a user's vectors (float16, by record), if it finds any of them."""
        postgres_nearest.put(self, user, vectors)

    def note_purge(self, user: int, *, of_name: bool) -> None:
        """Note which tables may hold what the transaction erases of a user."""
        note_tables(self, TABLES, user, of_name=of_name)

    def drop_indexed_vectors(self, user: int | None = None) -> None:
        """Drop what the database finds vectors by, of a user or of all."""
        every = self.all("SELECT user_key FROM large_users") if user is None else [(user,)]
        postgres_nearest.drop(self, [row[0] for row in every])

    def record_keys(self, count: int) -> Sequence[int]:
        """Return keys for new records, each higher than any that a record has or had."""
        return [row[0] for row in self.rows(NEXT_KEYS, {"count": count})]

    def keep_last_key(self) -> None:
        """Do nothing: a sequence gives no number twice."""


class WriteBegun(NamedTuple):
    """What a server tells of a transaction when it begins.

    Attributes:
        key: for a new record.
        number: by which the server knows the transaction after its connection was lost.
        start: token of the server's last start: one that crashed may give a number again.
    """

    key: int
    number: str
    start: str


class PostgresWrite(PostgresConnection):
    """A write transaction, whose statements are sent when a result is waited for.

    Args:
        raw: a connection that commits by itself.
        damage_log: tells of rows that cannot be read.
    """

    _has_key = True

    def begin(self, sql: str, values: Values) -> None:
        """Begin; the answer is read with the first that is asked for.

        Args:
            sql: the statement that waits for other writers, and tells what is in ``WriteBegun``.
            values: its parameters.
        """
        self.send("BEGIN", NONE)
        self._first = self.send(sql, values)

    def run_many(self, sql: str, rows: Iterable[Values | Row]) -> None:
        """Carry out a statement for each of ``rows``; copy them, if they are many and only new."""
        made = iter(rows)  # While the server takes the first, the next are made.
        first = list(islice(made, MANY))
        new = INSERT.fullmatch(sql) if len(first) > 1 else None
        every = chain(first, made)
        if new is None:
            super().run_many(sql, every)
            return
        names = parameters(sql)
        listed = (tuple(map(row.get, names)) if isinstance(row, Mapping) else row for row in every)
        if len(first) == MANY and self._entry is None:  # COPY heeds no policies, so it is refused.
            self.copy(f"COPY {new[1]} FROM STDIN", listed)
        else:
            self._insert_several(sql, listed)

    def _insert_several(self, sql: str, rows: Iterable[Row]) -> None:
        """Insert rows by a few statements, each of which inserts 1, 2, 4, … of them."""
        made = iter(rows)
        while left := list(islice(made, SEVERAL)):
            while left:
                count = 1 << len(left).bit_length() - 1
                several = repeat_row(sql, count)
                values = chain.from_iterable(left[:count])
                self.run(several, dict(zip(parameters(several), values, strict=True)))
                del left[:count]

    def copy(self, sql: str, rows: Iterable[Row], types: Sequence[str] = ()) -> None:
        """Copy rows into a table, of these types where they are sent in binary."""
        self._end_batch()  # In it nothing can be copied.
        with self.raw.cursor() as cursor, cursor.copy(in_postgres(sql)) as copy:
            if types:
                copy.set_types(types)
            for row in rows:
                copy.write_row(row)
        self.batch = StatementBatch(self.raw)

    def send(self, sql: str, values: Values) -> StatementResult:
        """Carry out a statement, by the time that its result is asked for."""
        new = tuple([name for name, value in values.items() if value is NEW_KEY])
        return super().send(with_last_key(sql, new) if new else sql, values)

    @cached_property
    def begun(self) -> WriteBegun:
        """By what it is known."""
        *_, key, number, start = self._first.fetchall()[0]
        if start is None:
            self.run(NAME_START)
            start = self.value(START)
        return WriteBegun(key, number, start)

    def record_keys(self, count: int) -> Sequence[int]:
        """Return keys for new records, each higher than any that a record has or had."""
        if count == 1 and self._has_key:
            self._has_key = False
            return [self.begun.key]
        return super().record_keys(count)

    def new_key(self) -> int | None:
        """Return what stands for the key of the only new record."""
        self._has_key = False
        key: int = NEW_KEY
        return key


class PostgresReads(PostgresConnection):
    """Runs each statement by itself.

    Args:
        execute: runs one over a connection that may be another each time.
        entry: what limits each to the rows of a user.
    """

    def __init__(self, execute: Execute, damage_log: DamageLog, entry: Entry | None) -> None:
        """Hold no connection."""
        self._run_alone, self.damage_log, self._entry = execute, damage_log, entry

    def send(self, sql: str, values: Values) -> StatementResult:
        """Carry out a statement over any connection."""
        return self._run_alone(sql, values, self._entry)


def without_password(address: str) -> str:
    """Return an address as it may be shown.

    Raises:
        ConfigError: it cannot be read.
    """
    scheme, _, rest = address.partition("://")
    head, slash, path = rest.partition("/")
    whom, at, hosts = head.rpartition("@")
    place, _, query = f"{hosts}{slash}{path}".partition("?")
    # What libpq took for a host, it would tell in errors: that must be no part of a password.
    if "@" in whom or not HOSTS.fullmatch(place.partition("/")[0]):
        message = f"{scheme}://… cannot be read: use {FORM}, and %40 for @ in a password, %2F for /"
        raise errors.ConfigError(message)
    told = [each for each in query.split("&") if each and "password" not in unquote(each).lower()]
    shown = f"{scheme}://{whom.partition(':')[0]}{at}{place}{'?' if told else ''}{'&'.join(told)}"
    wrong = _mistake(shown) or (_mistake(address) and "its password is not encoded")
    if wrong:
        message = f"{shown} cannot be read: {wrong}; use {FORM}"
        raise errors.ConfigError(message)
    return shown


def _mistake(address: str) -> str:
    try:
        conninfo_to_dict(address)
    except psycopg.Error as error:
        return str(error).strip()
    return ""


class PostgresStore(DatabaseStore[PostgresConnection]):
    """Implements :class:`memoranda.model.ports.Store` on a PostgreSQL database.

    Writers of one user take turns, those of different users do not wait for each other, and
    readers wait for nobody. Connections are shared by the threads of a process. What loses its
    connection is done again over another, if it is a single query, or a write that the server has
    not stored; where that cannot be told, it is the error.

    No session has a state: the server may be behind a pooler that gives each transaction another
    connection.

    Args:
        address: what psycopg connects to: ``postgresql://…``.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
        busy_timeout: seconds to wait for other writers, and for a free connection.
        power_safe: wait at each commit until the server's disk has it, whatever is its default.
        exact_up_to: memories of a user up to which a search ranks them all; of those who have
            more, it gets candidates from the database, once ``index_large_users`` has run.
        role: the role that limits the transactions of a user to their rows, if any does.

    Raises:
        ConfigError: the address cannot be read, or the role cannot be used.
        StoreError: the server cannot be reached, or refuses.
    """

    BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    full_text = TermVectors()
    damage = psycopg.errors.DataCorrupted
    details = CAPABILITIES

    def __init__(
        self,
        address: str,
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        busy_timeout: float = BUSY_TIMEOUT,
        power_safe: bool = False,
        exact_up_to: int = EXACT_UP_TO,
        role: str | None = None,
    ) -> None:
        """Connect, and create the schema where there is none."""
        super().__init__(without_password(address))
        self._address, self._busy_timeout, self._power_safe = address, busy_timeout, power_safe
        self._exact_up_to = exact_up_to
        self._large: dict[str, tuple[float, bool]] = {}
        self._told_unable = False
        self._looking = threading.Lock()
        self._options = options = connection_options(address)
        with self._translated():
            # The pool would try for long, and not tell what was wrong.
            with connect(address, min(busy_timeout, LONGEST_START)) as raw:
                self._require_encoding(raw)
            self._pool = WaitLoggingPool(
                address,
                kwargs=options | {"autocommit": True},
                min_size=1,
                max_size=MOST_CONNECTIONS,
                timeout=busy_timeout,
                name=self.location,
                check=_require_connected,
                configure=_prepare_where_kept,
                open=True,
            )
        self._limits: RowSecurity | None = None
        try:
            with self._translated():
                self._pool.wait(LONGEST_START)  # Also where calls are to wait for less.
            if self._is_behind(role):
                self._migrate()
            if role is not None:
                self._limit_to(role)
            self._begin_with(analyzer, names)
        except BaseException:
            self.close()
            raise

    def _require_encoding(self, raw: psycopg.Connection[Row]) -> None:
        """Refuse a database that cannot keep every text."""
        encoding = raw.execute("SHOW server_encoding").fetchall()[0][0]
        if encoding != "UTF8":
            message = (
                f"{self.location} has the encoding {encoding}, which does not hold every text; "
                f"create the database with ENCODING 'UTF8' (and TEMPLATE template0)"
            )
            raise errors.ConfigError(message)

    def _is_behind(self, role: str | None) -> bool:
        """Return whether the schema is not there, or not the newest; only its owner makes it so."""
        newest = len(schema_steps())
        with self._lend() as connection:
            is_there, is_limited, hides, who = connection.all(IS_THERE, {"role": role})[0]
            done = connection.value(DONE) if is_there else 0
        if done > newest:
            message = (
                f"{self.location} has schema {done}, this memoranda knows up to {newest}; "
                f"upgrade with pip install -U memoranda, the database was left as it is"
            )
            raise errors.SchemaTooNew(message)
        if hides and role is None:
            message = (
                f"{self.location}: policies hide the rows of all users from {who!r}; "
                f"set storage.role to {who}, or log in as the owner of the tables"
            )
            raise errors.ConfigError(message)
        if done < newest and is_limited:
            message = (
                f"{self.location}: the tables are not there, or of an older memoranda; open it "
                f"once, with this setting, as the role that is to own them, not as {role!r}"
            )
            raise errors.ConfigError(message)
        return bool(done < newest)

    def _migrate(self) -> None:
        with self._lend() as connection, connection.raw.transaction():
            connection.value(f"SELECT {LOCK_ALL}", {"lock": WRITER})
            connection.run(STEPS)
            done = connection.value(DONE)
            steps: list[Any] = DIALECT.schema()
            for sql in steps[done:] if done else [DIALECT.whole_schema()]:
                connection.raw.execute(sql)
            numbers = [{"number": number} for number in range(done + 1, len(steps) + 1)]
            connection.run_many("INSERT INTO schema_steps VALUES (:number)", numbers)

    def _limit_to(self, role: str) -> None:
        with self._lend() as connection, connection.raw.transaction():
            self._limits = open_limits(connection, role, TABLES)
        self.full_text = TermVectors(limited=True)

    @contextmanager
    def _lend(self, end: float | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection that nobody else has; what it began is committed, or undone.

        Args:
            end: until when to wait for one, by the monotonic clock.
        """
        self._require_open()
        # The pool gives none to who does not wait at all, also where one is free.
        seconds = None if end is None else max(LEAST_WAIT, end - time.monotonic())
        with self._translated(), self._pool.connection(seconds) as raw:
            yield PostgresConnection(raw, self.damage_log)

    def _entry(self, scope: Scope | None) -> Entry | None:
        return None if self._limits is None else self._limits.entry(scope)

    @contextmanager
    def read(self, scope: Scope | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection for reading; inside a snapshot, always the same one."""
        if getattr(self._local, "pinned", None) is None:
            yield PostgresReads(self._execute_alone, self.damage_log, self._entry(scope))
        else:
            with super().read(scope) as connection:
                connection.enter(self._entry(scope))
                yield connection

    def _execute_alone(self, sql: str, values: Values, entry: Entry | None) -> StatementResult:
        """Carry out a statement, limited to the rows of a user; again, if its connection was lost.

        What limits it is sent and answered with it.
        """
        end = time.monotonic() + self._busy_timeout
        while True:
            try:
                with self._lend(end) as lent, lent.batched():
                    lent.enter(entry)
                    return lent.send(sql, values)
            except errors.StoreError as error:
                if not _passes(error) or time.monotonic() > end:
                    raise
            time.sleep(PAUSE)

    @contextmanager
    def _in_snapshot(self, connection: PostgresConnection) -> Iterator[None]:
        with connection.batched():  # It begins with its first query.
            connection.run(self.BEGIN_SNAPSHOT)
            yield
            connection.run("COMMIT")  # At a rollback psycopg would drop all that is prepared.

    def close(self) -> None:
        """Close every connection; one that is still out is closed when it comes back."""
        self._closed = True
        self._pool.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            message = f"{error.object!r:.80} holds a lone surrogate, which no UTF-8 can hold"
            raise errors.InvalidInput(message) from error
        except PoolTimeout as error:
            raise self._no_connection() from error
        except PoolClosed:
            self._require_open()
            raise
        except psycopg.Error as error:
            raise self._error_of(error) from error

    def _error_of(self, error: psycopg.Error) -> errors.StoreError:
        """Return what is raised for an error of the driver, with what to do about it."""
        code, text = error.sqlstate, str(error)
        kind, remedy = errors.StoreError, ""
        connecting = not code and CONNECTING.match(text)
        if code:
            told = [what for each, what in CODES.items() if code.startswith(each)]
            kind, remedy = told[0] if told else (kind, remedy)
        elif connecting:
            told = [what for each, what in WORDS.items() if each in text]
            kind, remedy = told[0] if told else NOT_MADE
        elif isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            kind, remedy = LOST
        name = "" if type(error) is psycopg.OperationalError else f"{type(error).__name__}: "
        message = " ".join(f"{self.location}: {name}{HINT.sub('', text)}".split())
        made = kind(f"{message}; {remedy}" if remedy else message)
        if isinstance(made, errors.StoreUnreachable):
            made.lost = not connecting
        return made

    def _no_connection(self) -> errors.StoreError:
        """Return what is raised where the pool had no connection in time; with why, if found."""
        why = "no connection was free or could be made"
        if self._looking.acquire(blocking=False):
            try:
                psycopg.connect(self._address, **self._options | {"connect_timeout": LOOK}).close()
                why = f"no connection was free in time, of {MOST_CONNECTIONS} for this process"
            except psycopg.Error as error:
                return self._error_of(error)
            finally:
                self._looking.release()
        return errors.StoreBusy(f"{self.location}: {why}; try again")

    @contextmanager
    def write(self, patience: float | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection inside one transaction: committed, or never begun.

        No other writer of any user has one meanwhile.
        """
        with self._begun(LOCK_ALL, self._seconds(patience)) as connection:
            connection.enter(self._entry(None))
            yield connection
            connection.run("COMMIT")

    def _seconds(self, patience: float | None) -> float:
        return self._busy_timeout if patience is None else min(patience, self._busy_timeout)

    @contextmanager
    def _begun(
        self, lock: str, seconds: float, user: str = "", end: float | None = None
    ) -> Iterator[PostgresWrite]:
        """Lend a connection inside a transaction that waits for other writers, by a lock."""
        first = f"{SAFELY}, {lock}" if self._power_safe else lock
        values = {"most": f"{max(1, round(1000 * seconds))}ms", "lock": WRITER, "user": user}
        sql = BEGIN_WRITE.format(first=first)
        with self._lend(end) as lent:
            connection = PostgresWrite(lent.raw, self.damage_log)
            with connection.batched():
                connection.begin(sql, values)
                yield connection

    def _write(
        self,
        scope: Scope | None,
        work: Callable[[SqlConnection], T],
        patience: float | None = None,
        *,
        limited: bool = True,
    ) -> T:
        """Do ``work`` in one transaction; again, where the server undid or lost the one before."""
        entry = self._entry(scope if limited else None)
        seconds = self._seconds(patience)
        end = time.monotonic() + seconds
        lock, user = (LOCK_NONE, "") if scope is None else (LOCK_USER, scope.user)
        while True:
            sent: WriteBegun | None = None
            try:
                with self._begun(lock, seconds, user, end) as connection:
                    connection.enter(entry)
                    done = work(connection)
                    sent = connection.begun
                    connection.run("COMMIT")
            except errors.StoreError as error:
                if not _passes(error):
                    raise
                if sent is not None and self._was_committed(sent, end, error):
                    return done
                if time.monotonic() > end:
                    raise
            else:
                return done
            time.sleep(PAUSE)

    def write_as(self, scope: Scope | None, work: Callable[[Any], T]) -> T:
        """Do ``work`` as who logged in; only writers of the scope's user wait for it."""
        return self._write(scope, work, limited=False)

    def protect(self, connection: SqlConnection, table: str) -> None:
        """Limit transactions to the rows of their user in a new table, if in others they are."""
        if self._limits is not None:
            self._limits.protect(connection, table)

    def _was_committed(self, sent: WriteBegun, end: float, lost: errors.StoreError) -> bool:
        """Return whether a transaction was committed, though its connection was lost.

        Raises:
            StoreError: the server cannot tell.
        """
        while time.monotonic() < end:
            try:
                with self._lend(end) as connection:
                    state, start = connection.rows(OUTCOME, {"number": sent.number})[0]
            except errors.StoreError as error:
                if isinstance(error.__cause__, psycopg.errors.InvalidParameterValue):
                    return False  # No transaction has had the number: a crash took it back.
                if not _passes(error):
                    raise
            else:
                same = start == sent.start
                if state == "aborted" or (state == "in progress" and not same):
                    return False
                if state == "committed" and same:
                    return True
                if state != "in progress":
                    break
            time.sleep(PAUSE)
        message = (
            f"{self.location}: the connection was lost while this was being stored, and whether it "
            "was is not known; look before you store it again"
        )
        raise errors.StoreError(message) from lost

    def is_large(self, scope: Scope) -> bool:
        """Return whether candidates for the scope's user come from the database."""
        seen, large = self._large.get(scope.user, (-math.inf, False))
        if time.monotonic() - seen > SEEN:
            with self._reading(scope) as (connection, user):
                large = postgres_nearest.large_user(connection, user) is not None
            if len(self._large) >= MOST_SEEN:
                self._large.clear()
            self._large[scope.user] = time.monotonic(), large
        return large

    def candidates(
        self,
        scope: Scope,
        where: Filter,
        *,
        terms: Sequence[str],
        vector: Vector | None,
        attributes: Collection[str],
        most: int,
    ) -> Candidates:
        """Return what a question may be about among the memories of a large user."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            large = postgres_nearest.large_user(connection, user)
            if large is None:  # Dropped since it was looked at last.
                self._large.pop(scope.user, None)
                large = postgres_nearest.LargeUser(0, 1.0, 0, 0)
            mine = matching(scope, user, where)
            known = user, mine, large, self.full_text
            search = CandidateSearch(connection, *known, most=most)
            return search.find(terms, vector, attributes)

    def index_large_users(self) -> int:
        """Prepare the search of users with too many memories to rank them all in memory.

        Where the server lacks what that needs, they are ranked in memory like all others.
        """
        asked = {"most": self._exact_up_to, "grown": GROWN, "unlisted": UNLISTED, "common": COMMON}
        with self.read() as connection:
            users = [
                (user, name, due)
                for user, name in connection.all(postgres_nearest.TO_INDEX, asked)
                if (due := connection.value(postgres_nearest.DUE, asked | {"user": user}))
            ]
        holder, done = secrets.token_hex(8), 0
        try:
            for user, name, due in users:
                if not self._claim_indexing(holder, LONGEST_INDEXING):
                    break  # Another process does it.
                done += 1
                prepare = postgres_nearest.index if due > 1 else postgres_nearest.continue_lists
                prepare(self, Scope(name), user)
                self._large.pop(name, None)
        except errors.StoreError as error:
            if not isinstance(error.__cause__, UNABLE):
                raise
            if not self._told_unable:
                log.warning("%s; %s", error, postgres_nearest.NEEDED)
            self._told_unable, done = True, 0
        finally:
            if users:
                self._claim_indexing(holder, timedelta())
        return done

    def _claim_indexing(self, holder: str, lease: timedelta) -> bool:
        now = datetime.now(UTC)
        return self.claim(INDEXING, holder, now=now, until=now + lease)

    def _name_model(self, model: str, dimensions: int) -> None:
        """Drop all vectors, name the model and queue every record."""
        with self.write() as connection:
            drop_vectors(connection, model, dimensions)

    def purge(self, *, large: bool = False) -> str | None:
        """Write the tables anew that may hold what was erased; the server drops the old files."""
        return TablePurge(self._lend, large=large).run()

    def backup(self, path: str) -> None:
        """Write a dump of one moment to ``path``, which appears there whole or not at all."""
        with self.read() as connection:
            schema, vectors = connection.all(TO_DUMP)[0]
        dump(self._address, connection_options(self._address), path, schema, vectors=vectors)

    @property
    def identity(self) -> object:
        """What is equal of two stores in one database and schema, however their addresses are."""
        with self.read() as connection:
            return tuple(connection.all(IDENTITY)[0])

    def checks(self) -> list[Check]:
        """Return what the server says of itself, and of who logged in."""
        figures = self._pool.get_stats()
        pool = f"{figures.get('pool_size', 0)} of {MOST_CONNECTIONS} connections"
        with self._lend() as connection:
            told = (connection, self.location, self._limits, pool, self._exact_up_to)
            return list(server_checks(*told))

    def size(self) -> int:
        """Return the bytes that the database takes."""
        with self.read() as connection:
            return int(connection.value("SELECT pg_database_size(current_database())"))


class WaitLoggingPool(ConnectionPool[psycopg.Connection[Row]]):
    """A pool of connections to a server, which logs a warning where one is waited for long."""

    _warned_at = -WARN_AGAIN

    def getconn(self, timeout: float | None = None) -> psycopg.Connection[Row]:
        """Return a connection that nobody else has, after ``timeout`` seconds at most."""
        left = self.timeout if timeout is None else timeout
        if left > WARN_AFTER:
            with suppress(PoolTimeout):
                return super().getconn(WARN_AFTER)
            left -= WARN_AFTER
            now = time.monotonic()
            if now - self._warned_at > WARN_AGAIN:
                self._warned_at = now
                told = "%s gives no connection; waiting for it, %.0f s at most"
                log.warning(told, self.name, left)
        return super().getconn(left)


def has_memory(address: str) -> bool:
    """Return whether a database has tables of a memory; nothing is created.

    Also where it cannot be reached: why, is told when it is opened.
    """
    without_password(address)
    try:
        with connect(address, 0) as raw:
            return bool(raw.execute("SELECT to_regclass('schema_steps')").fetchall()[0][0])
    except psycopg.Error:
        return True


def connect(address: str, seconds: float) -> psycopg.Connection[Row]:
    """Return a connection that commits by itself, after some seconds if its server starts."""
    end, options = time.monotonic() + seconds, connection_options(address)
    told = False
    while True:
        try:
            return psycopg.connect(address, autocommit=True, **options)
        except psycopg.OperationalError as error:
            if time.monotonic() >= end or not STARTING.search(str(error)):
                raise
            if not told:
                log.warning("%s is away; waiting for it", without_password(address))
                told = True
        time.sleep(PAUSE)


def connection_options(address: str) -> dict[str, Any]:
    """Return how to connect to an address, as far as it does not say so itself."""
    told = conninfo_to_dict(address)
    options: dict[str, Any] = {"connect_timeout": CONNECT, "tcp_user_timeout": UNANSWERED}
    if "," in str(told.get("host", "")):
        # The one of them that takes writes, also after another has taken its place.
        options["target_session_attrs"] = "read-write"
    return options | {name: told[name] for name in options if name in told}


def _require_connected(raw: psycopg.Connection[Row]) -> None:
    """Raise ``psycopg.OperationalError`` where the server has left: it says so, unasked."""
    with Selector() as selector:
        selector.register(raw, selectors.EVENT_READ)
        if selector.select(0):
            ConnectionPool.check_connection(raw)


def _prepare_where_kept(raw: psycopg.Connection[Row]) -> None:
    """Prepare no statements over a pooler, whose transactions have other sessions each."""
    raw.prepare_threshold = None  # With its own, psycopg would drop those of batches.
    process = raw.execute("SELECT pg_backend_pid()").fetchall()[0][0]
    if process == raw.info.backend_pid:
        keep_prepared(raw)


def _passes(error: errors.StoreError) -> bool:
    """Return whether what failed may be done again at once."""
    cause = error.__cause__
    if isinstance(cause, PoolTimeout) or not isinstance(cause, psycopg.Error):
        return False
    if cause.sqlstate:
        return cause.sqlstate.startswith(PASSING)
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)

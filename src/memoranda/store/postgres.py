"""The relational store on PostgreSQL: dialect, connections, transactions and errors."""

from __future__ import annotations

import logging
import math
import re
import secrets
import selectors
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from memoranda import errors
from memoranda.model.forks import follow_forks
from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.query import Candidates, Filter, Vector
from memoranda.store import postgres_large
from memoranda.store.postgres_terms import TermCounts
from memoranda.store.sql.database import BUSY_TIMEOUT, NONE, DamageLog, Row, SqlConnection, Values
from memoranda.store.sql.dialect import Dialect
from memoranda.store.sql.reads import matching
from memoranda.store.sql.store import TAKE_TURN, Store, Transaction, drop_vectors, known_user
from memoranda.store.sql.transaction import PURGE

log = logging.getLogger("memoranda.store")
T = TypeVar("T")
FORM = "postgresql://user@host:5432/database"
# Connections of one process at most.
MOST_CONNECTIONS = 10
# Seconds to connect in, before the server is said to be out of reach.
CONNECT = 10
# Milliseconds after which a server that answers nothing is given up.
UNANSWERED = 30_000
# Seconds that a connection is waited for at least: the pool gives none to who does not wait.
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
# Seconds for which it is known whether a user is large, and users of whom it is known at once.
SEEN = 60.0
MOST_SEEN = 10_000
# The lease of who prepares the search of large users, and how long it takes at most for one.
INDEXING = "index large users"
LONGEST_INDEXING = timedelta(hours=2)
# What is raised where pgvector is not there or too old, or its tables may not be made.
UNABLE = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFile,
    psycopg.errors.UndefinedObject,
)
SET_SESSION = "SELECT set_config('lock_timeout', %s, FALSE)"
COMMIT_SAFELY = "SET synchronous_commit = on"
SET_PATIENCE = "SELECT set_config('lock_timeout', :most, TRUE)"
# Work on all users waits for the writers of each.
LOCK_ALL = "LOCK TABLE users IN EXCLUSIVE MODE"
# Processes that open a new database at once: one of them makes the schema.
LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(1835363695)"
NEXT_KEYS = "SELECT nextval('record_keys') FROM generate_series(1, :count)"
STEPS = "CREATE TABLE IF NOT EXISTS schema_steps (number bigint PRIMARY KEY)"
IS_THERE = "SELECT to_regclass('schema_steps') IS NOT NULL"
DONE = "SELECT coalesce(max(number), 0) FROM schema_steps"
IDENTITY = """
SELECT pg_postmaster_start_time(), current_database(), CAST(to_regclass('schema_steps') AS oid)
"""
TABLES = """
SELECT string_agg(CAST(CAST(c.oid AS regclass) AS text), ', ') FROM pg_class c
JOIN pg_class r ON r.oid = to_regclass('records')
    AND r.relnamespace = c.relnamespace AND r.relowner = c.relowner
WHERE c.relkind = 'r'
"""
ASKED_FOR_PURGE = "SELECT value FROM meta WHERE name = :name"
PURGED = "DELETE FROM meta WHERE name = :name AND value = :value"
Meaning = tuple[type[errors.StoreError], str]
# Beginnings of SQLSTATE codes, what is raised for them, and what to do.
MEANINGS: Mapping[str, Meaning] = {
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
CONNECTING: Mapping[str, Meaning] = {
    "password": (
        errors.StoreError,
        "give the password in PGPASSWORD or in a password file that nobody else can read",
    ),
    "SSL": (errors.StoreError, "look at sslmode and sslrootcert in the address"),
    "certificate": (errors.StoreError, "look at sslmode and sslrootcert in the address"),
    "too many": (errors.StoreBusy, "the server has no connection left; try again"),
    "slots are reserved": (errors.StoreBusy, "the server has no connection left; try again"),
    "does not exist": (errors.StoreError, "create it on the server, or look at the address"),
    "resolve": (errors.StoreUnreachable, "look at the host in the address"),
    "connection": (
        errors.StoreUnreachable,
        "start the server, or look at host and port in the address",
    ),
}
LOST = errors.StoreUnreachable, "the connection was lost; try again"
IN_DOUBT = "it was lost while this was being stored: look whether it was, before you store it again"
# What libpq adds to advise whoever runs the server.
HINT = re.compile(r"\n\t.*")
# What passes by itself while a server starts, and seconds in which it does.
STARTING = re.compile(r"Connection refused|starting up|shutting down|on socket .* No such file")
LONGEST_START = 10.0
# Seconds to look why a connection is not to be had.
LOOK = 2
# A transaction that failed so was undone, whatever was sent.
UNDONE = "40"
# Those of what passes by itself: conflicts, and servers that are lost, stop or start.
PASSING = ("08", UNDONE, "57P01", "57P02", "57P03", "57P05")
# Rows that one statement inserts at most, in powers of two: so few forms of it are prepared.
SEVERAL = 64
ONE_ROW = re.compile(r"\s*INSERT INTO \w+ \([\w\s,]+\)\s*VALUES \([\w\s,:]+\)\s*")
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
    "lock_row": "FOR NO KEY UPDATE",
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "least": "least(",
    "greatest": "greatest(",
}
DIALECT = Dialect("postgres.sql", MACROS, TYPES, whole=7)
# What stands in a list is looked up in an index, as an array; else the planner would rather walk
# through all that a user has.
IN_LIST = re.compile(r"(?<!NOT )\bIN \(@(ints|texts)\((:\w+)\)\)")
ANY_OF = {
    "ints": "= ANY (CAST(translate({0}, '[]', '{{}}') AS bigint[]))",
    "texts": "= ANY (ARRAY (SELECT jsonb_array_elements_text(CAST({0} AS jsonb))))",
}
# Numbers are sent in one type, whatever their size: so a statement is prepared once.
ADAPTERS = AdaptersMap(psycopg.adapters)
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


@cache
def repeat_row(sql: str, count: int) -> str:
    """Return a statement that inserts one row as one that inserts several."""
    head, values = sql.split("VALUES")
    rows = (PARAMETER.sub(rf":\1_{number}", values) for number in range(count))
    return f"{head}VALUES{','.join(rows)}"


class PostgresConnection(SqlConnection):
    """Runs the shared statements over a connection of psycopg, which commits by itself."""

    def __init__(self, raw: psycopg.Connection[Row], damage_log: DamageLog) -> None:
        """Take over a connection."""
        self.raw: psycopg.Connection[Row] = raw
        self.damage_log = damage_log

    def _execute(self, sql: str, values: Values) -> psycopg.Cursor[Row]:
        return self.raw.execute(in_postgres(sql), values, binary=True)

    def rows(self, sql: str, values: Values = NONE) -> list[Row]:
        """Return every row."""
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, values: Values = NONE) -> None:
        """Carry out a statement; in a pipeline the server does so while others are sent."""
        self._execute(sql, values)

    def change(self, sql: str, values: Values = NONE) -> int:
        """Carry out a statement and return how many rows it changed."""
        with self.raw.pipeline() as pipeline:
            done = self._execute(sql, values)
            pipeline.sync()
        return done.rowcount

    def run_many(self, sql: str, rows: Iterable[Values | Row]) -> None:
        """Carry out a statement for each of ``rows``, several at once where it only inserts."""
        names = parameters(sql)
        listed = (tuple(map(row.get, names)) if isinstance(row, Mapping) else row for row in rows)
        several = SEVERAL if ONE_ROW.fullmatch(sql) else 1
        while left := list(islice(listed, several)):
            while left:
                count = 1 << len(left).bit_length() - 1
                made = repeat_row(sql, count) if several > 1 else sql
                values = (value for row in left[:count] for value in row)
                self.run(made, dict(zip(parameters(made), values, strict=True)))
                del left[:count]

    def record_keys(self, count: int) -> Sequence[int]:
        """Return keys for new records, each higher than any that a record has or had."""
        return [row[0] for row in self.rows(NEXT_KEYS, {"count": count})]

    def keep_last_key(self) -> None:
        """Do nothing: a sequence gives no number twice."""

    def index_vectors(self, user: int, vectors: Mapping[int, bytes]) -> None:
        """Let the database find a user's vectors (float16, by record), if it finds any of them."""
        postgres_large.put(self, user, vectors)

    def drop_indexed_vectors(self, user: int | None = None) -> None:
        """Drop what the database finds vectors by, of a user or of all."""
        every = self.all("SELECT user_key FROM large_users") if user is None else [(user,)]
        for (each,) in every:
            postgres_large.drop(self, each)


def show_address(address: str) -> str:
    """Return an address as it may be shown: without its password.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        told: dict[str, Any] = conninfo_to_dict(address)
    except psycopg.Error:  # What it says may have the password.
        told = {"host": "@"}
    user, host, port, name = (
        str(told.get(each, "")) for each in ("user", "host", "port", "dbname")
    )
    # What libpq took for a host or a name, it would tell in errors: that must be no password.
    if "@" in host + name or not re.fullmatch(r"[\d,]*", port):
        scheme = address.partition("://")[0]
        message = f"{scheme}://… cannot be read: use {FORM}, and %40 for @ in a password, %2F for /"
        raise errors.ConfigError(message)
    whom, place = f"{user}@" if user else "", f"{host}:{port}" if port else host
    if host.startswith("/"):  # The folder of a socket.
        return f"postgresql://{whom}/{name}?host={host}" + (f"&port={port}" if port else "")
    return f"postgresql://{whom}{place}/{name}"


class PostgresStore(Store):
    """Implements :class:`memoranda.store.sql.store.Store` on a PostgreSQL database.

    Writers of one user take turns, those of different users do not wait for each other, and
    readers wait for nobody. Connections are shared by the threads of a process; a process that
    was forked has connections of its own. A write that the server undid, or that was not sent
    whole before its connection was lost, is done again over another.

    Args:
        address: what psycopg connects to: ``postgresql://…``.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
        busy_timeout: seconds to wait for other writers, and for a free connection.
        power_safe: wait at each commit until the server's disk has it, whatever is its default.
        exact_up_to: memories of a user up to which a search ranks them all; of those who have
            more, it gets candidates from the database, once ``index_large_users`` has run.

    Raises:
        ConfigError: the address cannot be read.
        StoreError: the server cannot be reached, or refuses.
    """

    BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    full_text = TermCounts()
    damage = psycopg.errors.DataCorrupted

    def __init__(
        self,
        address: str,
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        busy_timeout: float = BUSY_TIMEOUT,
        power_safe: bool = False,
        exact_up_to: int = EXACT_UP_TO,
    ) -> None:
        """Connect, and create the schema where there is none."""
        super().__init__(show_address(address))
        self._address, self._busy_timeout, self._power_safe = address, busy_timeout, power_safe
        self._exact_up_to = exact_up_to
        self._large: dict[str, tuple[float, bool]] = {}
        self._told_unable = False
        self._warned_at = -math.inf
        with self._translated():
            # The pool would try for long, and not tell what was wrong.
            with connect(address, min(busy_timeout, LONGEST_START)) as raw:
                self._require_encoding(raw)
            self._open_pool()
        try:
            with self._translated():
                self._pool.wait(LONGEST_START)  # Also where calls are to wait for less.
            if self._is_behind():
                self._migrate()
            self._begin_with(analyzer, names)
        except BaseException:
            self.close()
            raise
        follow_forks(self)

    def _open_pool(self) -> None:
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            self._address,
            kwargs=connection_options(self._address) | {"autocommit": True, "context": ADAPTERS},
            min_size=1,
            max_size=MOST_CONNECTIONS,
            timeout=self._busy_timeout,
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

    def _set_session(self, raw: psycopg.Connection[Row]) -> None:
        raw.execute(SET_SESSION, (_milliseconds(self._busy_timeout),))
        if self._power_safe:
            raw.execute(COMMIT_SAFELY)

    def _require_encoding(self, raw: psycopg.Connection[Row]) -> None:
        """Refuse a database that cannot keep every text."""
        encoding = raw.execute("SHOW server_encoding").fetchall()[0][0]
        if encoding != "UTF8":
            message = (
                f"{self.location} has the encoding {encoding}, which does not hold every text; "
                f"create the database with ENCODING 'UTF8' (and TEMPLATE template0)"
            )
            raise errors.ConfigError(message)

    def _is_behind(self) -> bool:
        """Return whether the schema is not there, or not the newest."""
        newest = len(DIALECT.schema())
        with self._lend() as connection:
            done = connection.value(DONE) if connection.value(IS_THERE) else 0
        if done > newest:
            message = (
                f"{self.location} has schema {done}, this memoranda knows up to {newest}; "
                f"upgrade with pip install -U memoranda, the database was left as it is"
            )
            raise errors.SchemaTooNew(message)
        return bool(done < newest)

    def _migrate(self) -> None:
        """Bring the database to the newest schema; several processes may do so at once."""
        with self._lend() as connection, connection.raw.transaction():
            connection.run(LOCK_SCHEMA)
            connection.run(STEPS)
            done = connection.value(DONE)
            steps: list[Any] = DIALECT.schema(done)
            for number, sql in enumerate(steps, done + 1):
                connection.raw.execute(sql)
                connection.run("INSERT INTO schema_steps VALUES (:number)", {"number": number})

    @contextmanager
    def _lend(self, patience: float | None = None) -> Iterator[PostgresConnection]:
        """Lend a connection that nobody else has; what it began is committed, or undone.

        Args:
            patience: seconds to wait for one, at most.
        """
        self._require_open()
        seconds = self._busy_timeout if patience is None else max(LEAST_WAIT, patience)
        with self._translated():
            raw = self._connection(seconds)
            try:
                with raw:
                    yield PostgresConnection(raw, self.damage_log)
            finally:
                self._pool.putconn(raw)

    def _connection(self, seconds: float) -> psycopg.Connection[Row]:
        """Return a connection from the pool; log a warning where it is waited for long."""
        try:
            return self._pool.getconn(min(seconds, WARN_AFTER))
        except PoolTimeout:
            left, now = seconds - WARN_AFTER, time.monotonic()
            if left <= 0:
                raise
        if now - self._warned_at > WARN_AGAIN:
            self._warned_at = now
            told = "%s gives no connection; waiting for it, %.0f s at most"
            log.warning(told, self.location, left)
        return self._pool.getconn(left)

    def _end_snapshot(self, connection: PostgresConnection) -> None:
        connection.raw.execute("COMMIT")  # At a rollback psycopg drops all that is prepared.

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
        code, text = error.sqlstate or "", HINT.sub("", str(error))
        is_lost = not code and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        connecting = [what for each, what in CONNECTING.items() if is_lost and each in text]
        is_made = "connection to server" not in text and "resolve" not in text
        if code:
            told = [what for each, what in MEANINGS.items() if code.startswith(each)]
        else:
            told = [LOST] if is_lost and is_made else connecting
        kind, remedy = told[0] if told else (errors.StoreError, "")
        name = "" if type(error) is psycopg.OperationalError else f"{type(error).__name__}: "
        message = " ".join(f"{self.location}: {name}{text}".split())
        made = kind(f"{message}; {remedy}" if remedy else message)
        if isinstance(made, errors.StoreUnreachable):
            made.lost = bool(code) or is_made
        return made

    def _no_connection(self) -> errors.StoreError:
        """Return what is raised where the pool had no connection in time; with why, if found."""
        try:
            connect(self._address, 0, connect_timeout=LOOK).close()
        except psycopg.Error as error:
            return self._error_of(error)
        why = f"no connection was free in time, of {MOST_CONNECTIONS} for this process"
        return errors.StoreBusy(f"{self.location}: {why}; try again")

    @contextmanager
    def transact(
        self, scope: Scope | None = None, patience: float | None = None
    ) -> Iterator[PostgresConnection]:
        """Lend a connection inside one transaction: committed, or undone."""
        with self._begun("", patience) as connection:
            if scope is not None:
                known_user(connection, replace(scope, deletions=None), TAKE_TURN)
            yield connection

    @contextmanager
    def transact_alone(self) -> Iterator[PostgresConnection]:
        """Lend a connection inside a transaction for which writers of all users wait."""
        with self._begun(LOCK_ALL, None) as connection:
            yield connection

    @contextmanager
    def _begun(self, lock: str, patience: float | None) -> Iterator[PostgresConnection]:
        """Lend a connection inside a transaction that takes a lock first.

        Statements without a result are sent without waiting (psycopg's pipeline).
        """
        is_done = False
        try:
            with self._lend(patience) as lent, lent.raw.pipeline(), lent.raw.transaction():
                if patience is not None and patience < self._busy_timeout:
                    lent.run(SET_PATIENCE, {"most": _milliseconds(patience)})
                if lock:
                    lent.run(lock)
                yield lent
                is_done = True
        except errors.StoreError as error:
            if is_done and _passes(error) and not _is_undone(error):
                raise errors.StoreError(f"{error}; {IN_DOUBT}") from error
            raise

    @contextmanager
    def write(self, scope: Scope, *, patience: float | None = None) -> Iterator[Transaction]:
        """Open a unit of work, also where a server is away for a while."""
        seconds = self._busy_timeout if patience is None else min(patience, self._busy_timeout)
        end = time.monotonic() + seconds
        with ExitStack() as afterwards:
            while True:
                try:
                    with ExitStack() as begun:
                        left = max(0.0, end - time.monotonic())
                        connection = begun.enter_context(self.transact(patience=left))
                        unit_of_work = self._unit_of_work(connection, scope)
                        afterwards.push(begun.pop_all())
                        break
                except errors.StoreError as error:
                    if not _passes(error) or time.monotonic() > end:
                        raise
                time.sleep(PAUSE)
            yield unit_of_work
            unit_of_work.raise_revision()

    def is_large(self, scope: Scope) -> bool:
        """Return whether candidates for the scope's user come from the database."""
        seen, large = self._large.get(scope.user, (-math.inf, False))
        if time.monotonic() - seen > SEEN:
            with self._reading(scope) as (connection, user):
                large = postgres_large.large_user(connection, user) is not None
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
            mine = matching(scope, user, where)
            search = postgres_large.CandidateSearch(connection, user, mine, self.full_text)
            return search.find(terms, vector, attributes, most)

    def index_large_users(self) -> int:
        """Prepare the search of users with too many memories to rank them all in memory.

        Where the server lacks what that needs, they are ranked in memory like all others.
        """
        with self.read() as connection:
            users = postgres_large.users_to_index(connection, self._exact_up_to)
        holder, done = secrets.token_hex(8), 0
        try:
            for user, name in users:
                if not self._claim_indexing(holder, LONGEST_INDEXING):
                    break  # Another process does it.
                done += 1
                postgres_large.index(self, Scope(name), user)
                self._large.pop(name, None)
        except errors.StoreError as error:
            if not isinstance(error.__cause__, UNABLE):
                raise
            if not self._told_unable:
                log.warning("%s; %s", error, postgres_large.NEEDED)
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
        with self.transact_alone() as connection:
            drop_vectors(connection, model, dimensions)

    def purge(self, *, large: bool = False) -> str | None:
        """Free the place of what was erased.

        Args:
            large: also write the tables anew, while nobody else uses them, so that no page holds
                what was erased until something is written over it.
        """
        with self._lend() as connection:
            asked = connection.value(ASKED_FOR_PURGE, {"name": PURGE})
            how = "VACUUM (FULL)" if large else "VACUUM"
            connection.run(f"{how} {connection.value(TABLES)}")
            connection.run(PURGED, {"name": PURGE, "value": asked})
        return None

    def backup(self, path: str) -> None:
        """Refuse: the server's own tool makes a backup that anybody can restore."""
        command = f"pg_dump --format=custom --file={path} {self.location}"
        message = f"{self.location} is not copied by memoranda; run: {command}"
        raise errors.InvalidInput(message)

    @property
    def identity(self) -> object:
        """What is equal of two stores in one database and schema, however their addresses are."""
        with self.read() as connection:
            return tuple(connection.all(IDENTITY)[0])

    def size(self) -> int:
        """Return the bytes that the database takes."""
        with self.read() as connection:
            return int(connection.value("SELECT pg_database_size(current_database())"))


def has_memory(address: str) -> bool:
    """Return whether a database has tables of a memory; nothing is created.

    Also where it cannot be reached: why, is told when it is opened.
    """
    show_address(address)
    try:
        with connect(address, 0) as raw:
            return bool(raw.execute(IS_THERE).fetchall()[0][0])
    except psycopg.Error:
        return True


def connect(address: str, seconds: float, **how: Any) -> psycopg.Connection[Row]:
    """Return a connection that commits by itself, after some seconds if its server starts."""
    end, options = time.monotonic() + seconds, connection_options(address) | how
    told = False
    while True:
        try:
            return psycopg.connect(address, autocommit=True, **options)
        except psycopg.OperationalError as error:
            if time.monotonic() >= end or not STARTING.search(str(error)):
                raise
            if not told:
                log.warning("%s is away; waiting for it", show_address(address))
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


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(1000 * seconds))}ms"


def _passes(error: errors.StoreError) -> bool:
    """Return whether what failed may be done again at once."""
    cause = error.__cause__
    if isinstance(cause, PoolTimeout) or not isinstance(cause, psycopg.Error):
        return False
    if cause.sqlstate:
        return cause.sqlstate.startswith(PASSING)
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)


def _is_undone(error: errors.StoreError) -> bool:
    """Return whether the server says that it undid the transaction."""
    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and str(cause.sqlstate).startswith(UNDONE)

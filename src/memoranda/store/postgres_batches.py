"""Sends the statements of a transaction to PostgreSQL together, each prepared once.

This is libpq's pipeline mode. That of psycopg sends each statement by itself, and waits for the
socket after each, which is most of the time that a single write takes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from memoranda.store.sql.database import Row, Values

# Types of parameters that the server is told; those of others it sees by itself.
TYPES = defaultdict(int, {int: 20, float: 701, bytes: 17})
FORMATS = defaultdict(lambda: PyFormat.TEXT, {TYPES[bytes]: PyFormat.BINARY})
# The format of results: vectors as text would be twice as long.
IN_BINARY = 1
# Statements of a connection that are prepared, and parameters of one: which of many are null, and
# so of no type, is hardly ever the same again.
MOST_PREPARED = 300
MOST_PARAMETERS = 60
FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)
StatementKey = tuple[str, tuple[int, ...]]


class NumberedStatement(NamedTuple):
    """A statement as the server has it.

    Attributes:
        sql: with parameters ``$1``, ``$2``, …
        names: of the parameters, in that order.
    """

    sql: str
    names: Sequence[str]


class StatementResult(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed or found."""

    def fetchall(self) -> list[Row]:
        """Return the rows that it found."""


class PendingResult:
    """What came of a statement of a batch, which is waited for when it is asked for.

    Attributes:
        received: as the server sent it, once it did.
    """

    def __init__(self, batch: StatementBatch) -> None:
        """Have nothing yet."""
        self._batch = batch
        self.received: PGresult | None = None

    @property
    def rowcount(self) -> int:
        """How many rows it changed or found."""
        return self._batch.receive(self).command_tuples or 0

    def fetchall(self) -> list[Row]:
        """Return the rows that it found."""
        return self._batch.read_rows(self._batch.receive(self))


class PreparedStatements(dict[StatementKey, bytes]):
    """The names of the statements that a connection has prepared.

    Attributes:
        count: how many there ever were.
    """

    count = 0


# Of connections on which the server keeps them.
PREPARED: WeakKeyDictionary[psycopg.Connection[Any], PreparedStatements] = WeakKeyDictionary()


def keep_prepared(raw: psycopg.Connection[Row]) -> None:
    """Let the statements of batches over a connection be prepared."""
    PREPARED[raw] = PreparedStatements()


def keeps_prepared(raw: psycopg.Connection[Row]) -> bool:
    """Return whether the statements of batches over a connection are prepared."""
    return raw in PREPARED


class StatementBatch:
    """Statements that go to the server when a result is asked for, or at the end.

    Args:
        raw: a connection on which nothing else is done meanwhile.
    """

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        """Begin."""
        self._raw, self._server = raw, raw.pgconn
        self._transformer = Transformer(raw)
        self._pending: deque[PendingResult] = deque()
        self._prepared = PREPARED.get(raw)
        self._preparing: dict[StatementKey, PendingResult] = {}
        self._is_ending = self._is_handed_on = False
        self._server.enter_pipeline_mode()

    def send(self, statement: NumberedStatement, values: Values) -> PendingResult:
        """Send a statement, together with those before and after it."""
        given = [values[name] for name in statement.names]
        types = tuple([TYPES[type(value)] for value in given])
        wanted = [FORMATS[number] for number in types]
        parameters = self._transformer.dump_sequence(given, wanted)
        formats = self._transformer.formats
        name = self._prepare((statement.sql, types)) if given else None
        if name is None:
            sql = statement.sql.encode()
            self._server.send_query_params(sql, parameters, types, formats, IN_BINARY)
        else:
            self._server.send_query_prepared(name, parameters, formats, IN_BINARY)
        return self._expect()

    def _prepare(self, key: StatementKey) -> bytes | None:
        """Return the name of a prepared statement; nothing where the server keeps none."""
        prepared = self._prepared
        if prepared is None:
            return None
        is_new = key not in prepared and len(key[1]) <= MOST_PARAMETERS
        if is_new and len(prepared) < MOST_PREPARED:
            prepared.count += 1
            prepared[key] = b"memoranda_%d" % prepared.count
            self._server.send_prepare(prepared[key], key[0].encode(), key[1])
            self._preparing[key] = self._expect()
        return prepared.get(key)

    def _expect(self) -> PendingResult:
        self._is_handed_on = False
        self._pending.append(PendingResult(self))
        return self._pending[-1]

    def hand_on(self) -> None:
        """Let the server begin with what was sent, and answer as soon as it can."""
        if not self._is_handed_on:
            self._server.send_flush_request()
            self._raw.wait(send(self._server))
            self._is_handed_on = True

    def receive(self, asked: PendingResult) -> PGresult:
        """Return a result, once those of all statements before it are there.

        Raises:
            psycopg.Error: the server refused one of these statements.
        """
        if asked.received is None:
            self.hand_on()
        while asked.received is None:
            self._receive_next()
        return asked.received

    def _receive_next(self) -> None:
        result = self._raw.wait(fetch_many(self._server))[-1]
        if result.status in FAILED:
            raise error_from_result(result)
        self._pending.popleft().received = result

    def read_rows(self, result: PGresult) -> list[Row]:
        """Return the rows of a result."""
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def end(self) -> None:
        """Wait for all results, and leave the connection to others.

        Raises:
            psycopg.Error: the server refused a statement.
        """
        self._end()
        while self._pending:
            self._receive_next()
        self._leave()

    def abandon(self) -> None:
        """Leave the connection to others after an error, in a transaction that has failed."""
        for key, prepared in self._preparing.items():
            if self._prepared is not None and prepared.received is None:
                self._prepared.pop(key, None)  # It may have come after the error.
        with suppress(psycopg.Error):  # It is lost: who borrows it next sees that.
            if not self._is_ending:
                self._end()
            self._leave()

    def _end(self) -> None:
        self._is_ending = True
        self._server.pipeline_sync()
        self._raw.wait(send(self._server))

    def _leave(self) -> None:
        """Pass over results until the server has answered all that was sent."""
        while True:
            results = self._raw.wait(fetch_many(self._server))
            if results and results[-1].status == ExecStatus.PIPELINE_SYNC:
                break
        self._server.exit_pipeline_mode()

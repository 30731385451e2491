"""The full-text arm: which records of a user hold which terms, and how often.

FTS5's own ``bm25()`` weighs a term by how rare it is among all users' records, which
is slow to find out and tells one user about another. Here FTS5 finds and counts, and
ranking weighs with the user's own statistics. Each row carries its user as a term of
its own, so a query never walks through the postings of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import apsw
import numpy as np

from memoranda.model.query import TermMatches

COUNTS = "term_counts"
LENGTH_BYTES = 4
MOST = 255


def nothing(terms: Sequence[str]) -> TermMatches:
    """Return that no record holds any of ``terms``."""
    return TermMatches((), (), (), (0,) * len(terms))


def register(connection: apsw.Connection) -> None:
    """Give ``connection`` the FTS5 function that counts the terms of a row."""
    connection.register_fts5_function(COUNTS, _term_counts)


def _term_counts(api: apsw.FTS5ExtensionApi, /, *_: object) -> bytes:
    # Phrase 0 is the user. One byte for each term, then the number of terms in the row.
    # Called for every row that a query finds, so each step here is felt in each search.
    offsets = api.phrase_column_offsets
    counts = [len(offsets(phrase, 0)) for phrase in range(1, api.phrase_count)]
    if max(counts) > MOST:
        counts = [min(MOST, count) for count in counts]
    return bytes(counts) + api.column_size(0).to_bytes(LENGTH_BYTES, "little")


def match_terms(
    connection: apsw.Connection, user: int, terms: Sequence[str], *, limit: int
) -> TermMatches:
    """Return the records of ``user`` that hold any of ``terms`` (see the port)."""
    if not terms:
        return nothing(terms)
    rows = _rows(connection, user, terms, "", limit + 1)
    if len(rows) <= limit:
        counted = np.frombuffer(b"".join(row[1] for row in rows), np.uint8)
        counted = counted.reshape(len(rows), len(terms) + LENGTH_BYTES)
        frequencies = np.count_nonzero(counted[:, : len(terms)], axis=0).tolist()
    else:
        frequencies = [_frequency(connection, user, term) for term in terms]
        rows = _rarest(connection, user, terms, frequencies, limit)
    return TermMatches(
        ordinals=[row[0] for row in rows],
        counts=[row[1][: len(terms)] for row in rows],
        lengths=[int.from_bytes(row[1][-LENGTH_BYTES:], "little") for row in rows],
        frequencies=frequencies,
    )


def _rows(
    connection: apsw.Connection, user: int, terms: Sequence[str], condition: str, limit: int
) -> list[tuple[int, bytes]]:
    # All terms stand in the query, so that all are counted; those of `condition` come after
    # them and are not looked at.
    rows: list[Any] = connection.execute(
        f"SELECT rowid, {COUNTS}(records_fts) FROM records_fts WHERE records_fts MATCH ? LIMIT ?",
        (f"scope : u{user} AND {_any(terms)}{condition}", limit),
    ).fetchall()
    return rows


def _any(terms: Sequence[str]) -> str:
    # Terms are letters and digits; the doubled quotes see to it that they act as nothing else.
    quoted = " OR ".join('"{}"'.format(term.replace('"', '""')) for term in terms)
    return f"terms : ({quoted})"


def _frequency(connection: apsw.Connection, user: int, term: str) -> int:
    found: int = connection.execute(
        "SELECT count(*) FROM records_fts WHERE records_fts MATCH ?",
        (f"scope : u{user} AND {_any([term])}",),
    ).get
    return found


def _rarest(
    connection: apsw.Connection,
    user: int,
    terms: Sequence[str],
    frequencies: Sequence[int],
    limit: int,
) -> list[tuple[int, bytes]]:
    # Term by term, the rarest first: all that hold it, until there is no room for more.
    ranked = sorted(zip(frequencies, terms, strict=True))
    order = [term for _, term in ranked]
    fitting = sum(total <= limit for total in accumulate(number for number, _ in ranked))
    rows = []
    if fitting:
        rows = _rows(connection, user, terms, f" AND {_any(order[:fitting])}", limit)
    while len(rows) < limit and fitting < len(order):
        condition = f" AND {_any([order[fitting]])}"
        if fitting:
            condition += f" NOT {_any(order[:fitting])}"
        rows += _rows(connection, user, terms, condition, limit - len(rows))
        fitting += 1
    return rows

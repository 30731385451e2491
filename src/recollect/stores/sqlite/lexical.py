"""The full-text arm: which records of a user hold which terms, and how often.

FTS5's own ``bm25()`` weighs a term by how rare it is among all users' records, which
is slow to find out and tells one user about another. Here FTS5 finds and counts, and
ranking weighs with the user's own statistics. Each row carries its user as a term of
its own, so a query never walks through the postings of others.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from recollect.core.query import TermMatches

COUNTS = "term_counts"
LENGTH_BYTES = 4
MOST = 255
NOTHING = TermMatches((), (), (), ())


def register(connection: apsw.Connection) -> None:
    """Give ``connection`` the FTS5 function that counts the terms of a row."""
    connection.register_fts5_function(COUNTS, _term_counts)


def _term_counts(api: apsw.FTS5ExtensionApi) -> bytes:
    # Phrase 0 is the user. One byte for each term, then the number of terms in the row.
    counts = bytes(
        min(MOST, len(api.phrase_locations(phrase)[0])) for phrase in range(1, api.phrase_count)
    )
    return counts + api.column_size(0).to_bytes(LENGTH_BYTES, "little")


def match_terms(
    connection: apsw.Connection, user: int, terms: Sequence[str], *, limit: int
) -> TermMatches:
    """Return the records of ``user`` that hold any of ``terms`` (see the port)."""
    if not terms:
        return NOTHING
    rows = _rows(connection, user, terms, terms, limit + 1)
    if len(rows) <= limit:
        frequencies = [sum(row[1][term] > 0 for row in rows) for term in range(len(terms))]
    else:
        frequencies = [_frequency(connection, user, term) for term in terms]
        rows = _rows(connection, user, terms, _rarest(terms, frequencies, limit), limit)
    return TermMatches(
        ordinals=[row[0] for row in rows],
        counts=[row[1][: len(terms)] for row in rows],
        lengths=[int.from_bytes(row[1][-LENGTH_BYTES:], "little") for row in rows],
        frequencies=frequencies,
    )


def _rows(
    connection: apsw.Connection, user: int, terms: Sequence[str], needed: Sequence[str], limit: int
) -> list[tuple[int, bytes]]:
    # All terms stand in the query, so that all are counted; a row must hold one of `needed`,
    # whose second counts come after those of `terms` and are not looked at.
    query = f"scope : u{user} AND terms : ({_any(terms)})"
    if len(needed) < len(terms):
        query += f" AND terms : ({_any(needed)})"
    return connection.execute(
        f"SELECT rowid, {COUNTS}(records_fts) FROM records_fts "  # noqa: S608
        "WHERE records_fts MATCH ? LIMIT ?",
        (query, limit),
    ).fetchall()


def _any(terms: Sequence[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _frequency(connection: apsw.Connection, user: int, term: str) -> int:
    found: int = connection.execute(
        "SELECT count(*) FROM records_fts WHERE records_fts MATCH ?",
        (f'scope : u{user} AND terms : "{term}"',),
    ).get
    return found


def _rarest(terms: Sequence[str], frequencies: Sequence[int], limit: int) -> list[str]:
    total, kept = 0, []
    for frequency, term in sorted(zip(frequencies, terms, strict=True)):
        if kept and total + frequency > limit:
            break
        total += frequency
        kept.append(term)
    return kept

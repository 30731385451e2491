"""Receipts of prunings: kept as they were given, but for the text of what is erased.

The cuts of a receipt are JSON. One that lost a message to an erasure is marked as torn: a
summary of it may hold what was erased, also one that is only now being made of what was read
before. So it has none, and gets none any more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import apsw

from memoranda.model.models import PrunedSpan, Pruning
from memoranda.model.times import from_ms, to_ms
from memoranda.store.sqlite.rows import Row, dump

PRUNING = "p.id, p.at, p.triggered_by, p.why, p.strategy, p.tokens_before, p.tokens_after, p.cuts"
TORN = "torn"
Stored = dict[str, Any]
"""A cut as it is kept: its fields, times in milliseconds, and whether it is torn."""


def pruning(row: Row) -> Pruning:
    """Make a receipt from a row of ``PRUNING``'s columns."""
    return Pruning(
        id=row[0],
        at=from_ms(row[1]),
        trigger=row[2],
        why=row[3],
        strategy=row[4],
        before=row[5],
        after=row[6],
        cuts=tuple(map(_cut, json.loads(row[7]))),
    )


def _cut(stored: Stored) -> PrunedSpan:
    known = {name: value for name, value in stored.items() if name != TORN}
    times = {name: from_ms(stored[name]) for name in ("since", "until")}
    return PrunedSpan(**(known | times))


def add(connection: apsw.Connection, conversation: int, item: Pruning) -> None:
    """Keep a receipt."""
    cuts = [_stored(connection, conversation, cut) for cut in item.cuts]
    connection.execute(
        "INSERT INTO prunings (conversation_key, id, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, cuts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation,
            item.id,
            to_ms(item.at),
            item.trigger,
            item.why,
            item.strategy,
            item.before,
            item.after,
            dump(cuts),
        ),
    )


def _stored(connection: apsw.Connection, conversation: int, cut: PrunedSpan) -> Stored:
    stored = asdict(cut) | {"since": to_ms(cut.since), "until": to_ms(cut.until)}
    held: int = connection.execute(
        "SELECT count(*) FROM messages WHERE conversation_key = ? AND position BETWEEN ? AND ?",
        (conversation, cut.first, cut.last),
    ).get
    # Fewer than were read when the pruning was decided: some were erased since.
    return _torn(stored) if held < cut.messages else stored


def _torn(stored: Stored) -> Stored:
    return stored | {"summary": None, TORN: True}


def summarize(
    connection: apsw.Connection, conversation: int, id: str, summaries: Mapping[int, str]
) -> None:
    """Give cuts, by their first positions, their summaries; pass over what is torn or gone."""

    def told(stored: Stored) -> Stored:
        if TORN in stored or stored["first"] not in summaries:
            return stored
        return stored | {"summary": summaries[stored["first"]]}

    row: Any = connection.execute(
        "SELECT key, cuts FROM prunings WHERE conversation_key = ? AND id = ?", (conversation, id)
    ).fetchone()
    if row is not None:
        cuts = json.loads(row[1])
        _replace(connection, row[0], cuts, list(map(told, cuts)))


def tear(connection: apsw.Connection, conversation: int, places: Collection[int]) -> None:
    """Take the summaries from the cuts that cover any of these positions."""

    def reread(stored: Stored) -> Stored:
        covers = any(stored["first"] <= place <= stored["last"] for place in places)
        return _torn(stored) if covers else stored

    rows: list[Any] = connection.execute(
        "SELECT key, cuts FROM prunings WHERE conversation_key = ?", (conversation,)
    ).fetchall()
    for key, text in rows:
        cuts = json.loads(text)
        _replace(connection, key, cuts, list(map(reread, cuts)))


def _replace(
    connection: apsw.Connection, key: int, before: list[Stored], after: list[Stored]
) -> None:
    if after != before:
        connection.execute("UPDATE prunings SET cuts = ? WHERE key = ?", (dump(after), key))

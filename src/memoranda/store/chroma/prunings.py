"""Receipts of prunings: kept as they were given, but for the text of what is erased.

A cut that lost a message to an erasure is torn: a summary of it may hold what was erased, also
one that is only now being made of what was read before. So it has none, and gets none any more.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memoranda.errors import InvalidInput
from memoranda.model.models import PrunedSpan, Pruning
from memoranda.store.chroma.rows import Receipt, cut_time, joined
from memoranda.store.chroma.state import State


def add(state: State, conversation: str, item: Pruning) -> None:
    """Keep a receipt.

    Raises:
        InvalidInput: the conversation has a receipt with this id.
    """
    if joined(conversation, item.id) in state.receipts:
        message = f"{conversation!r} has a pruning {item.id!r} already; give this one another id"
        raise InvalidInput(message)
    cuts = tuple(
        replace(cut, since=cut_time(cut.since), until=cut_time(cut.until)) for cut in item.cuts
    )
    held = state.indexes.talks[conversation]
    positions = sorted(state.messages[key].message.position or 0 for key in held)
    # Fewer than were read when the pruning was decided: some were erased since.
    torn = {cut.first for cut in cuts if _count(cut, positions) < cut.messages}
    receipt = Receipt(
        pruning=replace(item, at=cut_time(item.at), cuts=cuts),
        conversation=conversation,
        number=state.number(),
    )
    state.put(_torn(receipt, torn))


def _count(cut: PrunedSpan, positions: Sequence[int]) -> int:
    """Return how many of ascending positions a cut covers."""
    return bisect_right(positions, cut.last) - bisect_left(positions, cut.first)


def _torn(receipt: Receipt, first: Collection[int]) -> Receipt:
    """Return the receipt without the summaries of the cuts that begin there."""
    cuts = tuple(
        replace(cut, summary=None) if cut.first in first else cut for cut in receipt.pruning.cuts
    )
    torn = tuple(sorted({*receipt.torn, *first}))
    return replace(receipt, pruning=replace(receipt.pruning, cuts=cuts), torn=torn)


def summarize(state: State, conversation: str, id: str, summaries: Mapping[int, str]) -> bool:
    """Give cuts, by their first positions, their summaries; pass over what is torn or gone.

    Returns:
        Whether the receipt is another now.
    """
    receipt = state.receipts.get(joined(conversation, id))
    if receipt is None:
        return False
    told = {first: text for first, text in summaries.items() if first not in receipt.torn}
    cuts = tuple(
        replace(cut, summary=told.get(cut.first, cut.summary)) for cut in receipt.pruning.cuts
    )
    return _replace(state, receipt, replace(receipt, pruning=replace(receipt.pruning, cuts=cuts)))


def tear(state: State, conversation: str, places: Collection[int]) -> int:
    """Take the summaries from the cuts that cover any of these positions.

    Returns:
        How many receipts are others now.
    """
    positions = sorted(places)
    changed = 0
    for receipt in [state.receipts[key] for key in state.indexes.receipts[conversation]]:
        hit = {cut.first for cut in receipt.pruning.cuts if _count(cut, positions)}
        changed += _replace(state, receipt, _torn(receipt, hit))
    return changed


def _replace(state: State, before: Receipt, after: Receipt) -> bool:
    if after != before:
        state.put(after)
    return after != before

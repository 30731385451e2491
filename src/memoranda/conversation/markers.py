"""Markers: what a model reads in place of messages that are out of its view.

A marker says how many messages are gone and how to have them back. As far as there is room it also
tells the particulars of these, and in short what binds later turns. What it says depends on the
gaps and the budget alone: so the beginning of a request stays as it was while a conversation grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import UTC
from itertools import accumulate, takewhile

from memoranda.conversation.particulars import merge_ranked
from memoranda.conversation.summary import rank_lines
from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, MessageSpan, PrunedSpan
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.catalog import ChatMeter

PARTICULARS = 0.3  # most of a budget that the particulars in markers may take
MOST_TOLD = 1_500  # tokens of them, and of what markers tell in short
SUMMARIES = 0.2  # most of a budget that what markers tell in short may take

REFERENCE = compile_pattern(r"cut_(\d{1,15})(?:-(\d{1,15}))?")
PLACES = compile_pattern(r"\s*#?(\d{1,15})(?:-#?(\d{1,15}))?\s*")
SPAN = tuple(each.name for each in fields(MessageSpan))


def marked_positions(marker: object) -> tuple[int, int]:
    """Return the first and last position that a marker, its id or a text with it stands for.

    Also of positions alone, as in ``12-26`` or ``#12``.

    Raises:
        InvalidInput: there is no such id in it.
    """
    text = marker.id if isinstance(marker, Marker) else marker
    found = isinstance(text, str) and (REFERENCE.search(text) or PLACES.fullmatch(text))
    if not found:
        raise InvalidInput(
            f"marker={marker!r:.80} names no part of the conversation; "
            f"pass a marker of a view, its id such as cut_12-26, or its text"
        )
    return int(found[1]), int(found[2] or found[1])


def make_marker(gap: PrunedSpan, meter: ChatMeter) -> Marker:
    """Return the marker of a gap, with what it costs."""
    name = f"cut_{gap.place}"
    noun = "message" if gap.messages == 1 else "messages"
    since, until = (f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" for at in (gap.since, gap.until))
    when = since if since == until else f"{since} to {until.removeprefix(since[:11])}"
    text = f"... [{gap.messages} {noun} removed] ... ({when} UTC; expand {name})"
    if gap.named:
        text += f"\nNamed there: {', '.join(gap.named)}"
    if gap.summary:
        text += f"\nIn short: {gap.summary}"
    place = {each: getattr(gap, each) for each in SPAN}
    cost, quotes = meter.message(text), bool(gap.summary or gap.named)
    return Marker(id=name, text=text, cost=cost, quotes=quotes, **place)


def mark_gaps(gaps: Sequence[PrunedSpan], meter: ChatMeter, budget: int) -> list[Marker]:
    """Return the markers of gaps, in order, with what they tell in shares of ``budget`` tokens."""
    shorter = _fit_summaries(gaps, meter, rounded(min(budget * SUMMARIES, MOST_TOLD)))
    told = _fit_particulars(shorter, meter, rounded(min(budget * PARTICULARS, MOST_TOLD)))
    return [make_marker(gap, meter) for gap in told]


def rounded(tokens: float) -> int:
    """Return a number of tokens that stays the same while a budget changes a little."""
    most = int(tokens)
    return most - most % (1 << max(0, most.bit_length() - 3))


def _count_fitting(costs: Iterable[int], most: int) -> int:
    """Return how many of the first costs are together at most ``most``."""
    return sum(1 for _ in takewhile(most.__ge__, accumulate(costs)))


def _fit_particulars(gaps: Sequence[PrunedSpan], meter: ChatMeter, most: int) -> list[PrunedSpan]:
    """Return the gaps, each with those of its particulars that its marker is to tell.

    Each is told once, the most telling of the newest gap first, in ``most`` tokens together.
    """
    names = merge_ranked([gap.named for gap in reversed(gaps)])
    told = set(names[: _count_fitting((meter.counter.count(f", {name}") for name in names), most)])
    found: list[PrunedSpan] = []
    for gap in reversed(gaps):
        names = tuple(name for name in gap.named if name in told)
        told.difference_update(names)
        found.append(replace(gap, named=names))
    return found[::-1]


def _fit_summaries(gaps: Sequence[PrunedSpan], meter: ChatMeter, most: int) -> list[PrunedSpan]:
    """Return the gaps with as many lines of their summaries as ``most`` tokens hold.

    The most binding come first.
    """
    told = [(gap, line) for gap in gaps for line in (gap.summary or "").splitlines()]
    ranked = rank_lines([line for _, line in told])
    costs = (meter.counter.count(told[at][1]) + 1 for at in ranked)
    kept = set(ranked[: _count_fitting(costs, most)])
    lines = ("\n".join(told[at][1] for at in sorted(kept) if told[at][0] is gap) for gap in gaps)
    return [replace(gap, summary=each or None) for gap, each in zip(gaps, lines, strict=True)]

"""Markers: what a model reads in place of messages that are out of its view.

A marker says how many messages are gone and how to have them back. As far as there is room it also
tells the particulars of these that nothing in view tells, and their summary.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import fields, replace
from datetime import UTC
from itertools import accumulate

from memoranda.conversation.particulars import merge_ranked
from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, MessageSpan, PrunedSpan
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.catalog import ChatMeter

PARTICULARS = 0.1  # most of a budget that the particulars in markers may take
SUMMARIES = 0.2  # most of a budget that what markers tell in short may take
CHARACTERS = 2  # of a particular that take one token, about
SHORTEST_SUMMARY = 20  # characters; less tells nothing


REFERENCE = compile_pattern(r"cut_(\d+)(?:-(\d+))?")
SPAN = tuple(each.name for each in fields(MessageSpan))


def reference(first: int, last: int) -> str:
    """Return the id of a marker: ``cut_12-26``, or ``cut_12`` for one message."""
    return f"cut_{first}" if first == last else f"cut_{first}-{last}"


def marked_positions(marker: object) -> tuple[int, int]:
    """Return the first and last position that a marker, its id or a text with it stands for.

    Raises:
        InvalidInput: there is no such id in it.
    """
    if isinstance(marker, Marker):
        return marker.first, marker.last
    found = REFERENCE.search(marker) if isinstance(marker, str) else None
    if found is None:
        raise InvalidInput(
            f"marker={marker!r:.80} names no part of the conversation; "
            f"pass a marker of a view, its id such as cut_12-26, or its text"
        )
    return int(found[1]), int(found[2] or found[1])


def make_marker(gap: PrunedSpan, meter: ChatMeter) -> Marker:
    """Return the marker of a gap, with what it costs."""
    name = reference(gap.first, gap.last)
    noun = "message" if gap.messages == 1 else "messages"
    when = join_period(*(f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" for at in (gap.since, gap.until)))
    text = f"... [{gap.messages} {noun} removed] ... ({when} UTC; expand {name})"
    if gap.named:
        text += f"\nNamed there: {', '.join(gap.named)}"
    if gap.summary:
        text += f"\nIn short: {gap.summary}"
    place = {each: getattr(gap, each) for each in SPAN}
    cost, quotes = meter.message(text), bool(gap.summary or gap.named)
    return Marker(id=name, text=text, cost=cost, quotes=quotes, **place)


def join_period(first: str, last: str) -> str:
    """Return a period of two dates with times, without what its ends have in common."""
    day, _, time = last.partition(" ")
    return first if first == last else f"{first} to {time if first.startswith(day) else last}"


def fit_particulars(
    gaps: Sequence[PrunedSpan], known: Container[str], meter: ChatMeter, most: int
) -> list[PrunedSpan]:
    """Return the gaps, each with those of its particulars that its marker is to tell.

    Each is told once, the most telling of the newest gap first.

    Args:
        gaps: in order.
        known: particulars that are in view.
        meter: measures the markers.
        most: tokens that they may take.
    """
    order = [
        name for name in merge_ranked([gap.named for gap in reversed(gaps)]) if name not in known
    ]

    def told(count: int) -> list[PrunedSpan]:
        left, found = dict.fromkeys(order[:count]), list[PrunedSpan]()
        for gap in reversed(gaps):
            names = tuple(name for name in gap.named if name in left)
            left = {name: None for name in left if name not in names}
            found.append(replace(gap, named=names))
        return found[::-1]

    # Counting is what takes time: it begins near what will fit, and goes down in proportion.
    sizes = list(accumulate(len(name) + len(", ") for name in order))
    count = bisect_right(sizes, most * CHARACTERS)
    while count and (cost := particulars_cost(told(count), meter)) > most:
        count = min(count - 1, count * most // cost)
    return told(count)


def particulars_cost(gaps: Iterable[PrunedSpan], meter: ChatMeter) -> int:
    """Return the tokens that the particulars of gaps add to their markers."""
    return sum(
        make_marker(replace(gap, summary=None), meter).cost
        - make_marker(replace(gap, summary=None, named=()), meter).cost
        for gap in gaps
        if gap.named
    )


def fit_summaries(gaps: Sequence[PrunedSpan], meter: ChatMeter, most: int) -> list[Marker]:
    """Return the markers of gaps, with as much of their summaries as ``most`` tokens hold.

    The newest come first, while there is room for them.
    """
    found: list[Marker] = []
    for gap in reversed(gaps):
        plain = make_marker(replace(gap, summary=None), meter)
        full = _with_summary(gap, plain, meter, most) if gap.summary else plain
        most -= full.cost - plain.cost
        found.append(full)
    return found[::-1]


def _with_summary(gap: PrunedSpan, plain: Marker, meter: ChatMeter, most: int) -> Marker:
    """Return the marker with as much of its summary as ``most`` tokens hold."""
    text = gap.summary or ""
    while text:
        full = make_marker(replace(gap, summary=text), meter)
        more = full.cost - plain.cost
        if more <= most:
            return full
        kept = min(len(text) - 1, len(text) * most // more - 1)
        text = f"{text[:kept].rstrip()}…" if kept >= SHORTEST_SUMMARY else ""
    return plain

"""Gaps: runs of messages that are out of a view, and the markers that stand for them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, Message, PrunedSpan
from memoranda.model.ports import MessageMeter

LONGEST_SUMMARY = 1_200  # characters, of all the cuts in whose place one marker stands


def message_span(message: Message, why: str) -> PrunedSpan:
    """Return the span of one message."""
    place, said = message.position or 0, message.timestamp
    return PrunedSpan(
        first=place,
        last=place,
        messages=1,
        tokens=message.tokens,
        since=said,
        until=said,
        why=why,
    )


def join_spans(before: PrunedSpan, after: PrunedSpan) -> PrunedSpan:
    """Return two spans as one; two writers may have pruned the same messages."""
    twice = max(0, before.last + 1 - after.first)
    summaries = [text for text in (before.summary, after.summary) if text]
    whys = dict.fromkeys([*before.why.split("; "), *after.why.split("; ")])
    return PrunedSpan(
        first=before.first,
        last=max(before.last, after.last),
        messages=before.messages + after.messages - twice,
        tokens=before.tokens + after.tokens * (after.messages - twice) // after.messages,
        since=before.since,
        until=after.until,
        why="; ".join(whys),
        summary=_newest("\n".join(summaries).splitlines()) or None,
    )


def split_span(span: PrunedSpan, message: Message) -> list[PrunedSpan]:
    """Return what is left of a span beside one message in it: two spans, one or none."""
    place, said = message.position or 0, message.timestamp
    tokens = max(0, span.tokens - message.tokens)
    before, after = place - span.first, span.last - place
    share = tokens * before // max(1, before + after)
    parts = [
        replace(span, last=place - 1, messages=before, tokens=share, until=said),
        replace(span, first=place + 1, messages=after, tokens=tokens - share, since=said),
    ]
    return [part for part in parts if part.messages > 0]


def _newest(lines: list[str]) -> str:
    """Return as many of the last lines as there is room for."""
    kept: list[str] = []
    left = LONGEST_SUMMARY
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0 and kept:
            break
        kept.append(line[:LONGEST_SUMMARY])
    return "\n".join(reversed(kept))


REFERENCE = re.compile(r"cut_(\d+)(?:-(\d+))?")


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


def make_marker(gap: PrunedSpan, meter: MessageMeter) -> Marker:
    """Return the marker of a gap, with what it costs."""
    name = reference(gap.first, gap.last)
    noun = "message" if gap.messages == 1 else "messages"
    text = f"... [{gap.messages} {noun} removed] ... ({_when(gap)} UTC; expand {name})"
    if gap.summary:
        text += f"\nIn short: {gap.summary}"
    return Marker(
        id=name,
        first=gap.first,
        last=gap.last,
        messages=gap.messages,
        tokens=gap.tokens,
        since=gap.since,
        until=gap.until,
        why=gap.why,
        text=text,
        cost=meter.message(text),
        quotes=gap.summary is not None,
    )


def _when(gap: PrunedSpan) -> str:
    first, last = _minute(gap.since), _minute(gap.until)
    if first == last:
        return first
    day, _, time = last.partition(" ")
    return f"{first} to {time if first.startswith(day) else last}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"

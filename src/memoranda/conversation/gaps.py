"""Gaps: runs of messages that are out of a view, and the markers that stand for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, Message, PrunedSpan
from memoranda.model.ports import MessageMeter

LONGEST_SUMMARY = 1_200  # characters, of all the cuts in whose place one marker stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Messages in a row that are out of a view, by one pruning or several, or for want of room.

    Attributes:
        first: position of the first of them.
        last: position of the last.
        messages: how many they are.
        tokens: how many tokens they take.
        since: when the first was said.
        until: when the last was said.
        why: why they are out.
        summary: what they said in short, where that is known.
    """

    first: int
    last: int
    messages: int
    tokens: int
    since: datetime
    until: datetime
    why: str
    summary: str | None = None

    @classmethod
    def of_cut(cls, cut: PrunedSpan) -> Gap:
        """Return the gap that one cut leaves."""
        return cls(
            first=cut.first,
            last=cut.last,
            messages=cut.messages,
            tokens=cut.tokens,
            since=cut.since,
            until=cut.until,
            why=cut.why,
            summary=cut.summary,
        )

    @classmethod
    def of_message(cls, message: Message, why: str) -> Gap:
        """Return the gap that one message leaves."""
        place, said = message.position or 0, message.timestamp
        return cls(
            first=place,
            last=place,
            messages=1,
            tokens=message.tokens,
            since=said,
            until=said,
            why=why,
        )

    def joined(self, after: Gap) -> Gap:
        """Return this gap and the next as one; two writers may have cut the same messages."""
        twice = max(0, self.last + 1 - after.first)
        told = [text for text in (self.summary, after.summary) if text]
        whys = dict.fromkeys([*self.why.split("; "), *after.why.split("; ")])
        return Gap(
            first=self.first,
            last=max(self.last, after.last),
            messages=self.messages + after.messages - twice,
            tokens=self.tokens + after.tokens * (after.messages - twice) // after.messages,
            since=self.since,
            until=after.until,
            why="; ".join(whys),
            summary=_newest("\n".join(told).splitlines()) or None,
        )

    def without(self, message: Message) -> list[Gap]:
        """Return what is left of this gap beside one message in it: two gaps, one or none."""
        place, said = message.position or 0, message.timestamp
        tokens = max(0, self.tokens - message.tokens)
        before, after = place - self.first, self.last - place
        share = tokens * before // max(1, before + after)
        parts = [
            replace(self, last=place - 1, messages=before, tokens=share, until=said),
            replace(self, first=place + 1, messages=after, tokens=tokens - share, since=said),
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


def make_marker(gap: Gap, meter: MessageMeter) -> Marker:
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


def _when(gap: Gap) -> str:
    first, last = _minute(gap.since), _minute(gap.until)
    if first == last:
        return first
    day, _, time = last.partition(" ")
    return f"{first} to {time if first.startswith(day) else last}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"

"""Markers: what a view shows in the place of what is left out, and how it is found again."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memoranda.conversation.gaps import Gap
from memoranda.errors import InvalidInput
from memoranda.model.models import Marker
from memoranda.model.ports import MessageMeter

REFERENCE = re.compile(r"cut_(\d+)(?:-(\d+))?")


def reference(first: int, last: int) -> str:
    """Return the id of a marker: ``cut_12-26``, or ``cut_12`` for one message."""
    return f"cut_{first}" if first == last else f"cut_{first}-{last}"


def positions(marker: object) -> tuple[int, int]:
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


def marker(gap: Gap, meter: MessageMeter) -> Marker:
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

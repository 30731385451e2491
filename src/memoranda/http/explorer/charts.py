"""Charts as numbers: where lines, bars and dots stand in a picture that a template draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoranda.maintenance.decay import confidence
from memoranda.model.models import Record

# Points of a curve.
POINTS = 60
YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """How far a record is believed at a moment."""

    at: datetime
    confidence: float


def decay_curve(record: Record, now: datetime, fades_on: datetime | None) -> list[CurvePoint]:
    """Return how far a record is believed, from when it was last said or recalled on.

    Until it will be retired, or for a year; nothing for one that does not fade.
    """
    if not record.decay_rate:
        return []
    start = record.strength_at or record.last_accessed or record.created_at
    stop = min(max(fades_on or now, now + timedelta(days=1)), now + YEAR)
    step = (stop - start) / (POINTS - 1)
    moments = (start + number * step for number in range(POINTS))
    return [CurvePoint(at, confidence(record, at)) for at in moments]


def draw_line(points: Sequence[CurvePoint], width: float, height: float) -> str:
    """Return the points of a curve as the ``points`` of an SVG line."""
    return " ".join(
        f"{place(each.at, points) * width:.1f},{(1 - each.confidence) * height:.1f}"
        for each in points
    )


def place(at: datetime, points: Sequence[CurvePoint]) -> float:
    """Return where a moment stands between the first and the last point, from 0 to 1."""
    first, last = points[0].at, points[-1].at
    return max(0.0, min(1.0, (at - first) / (last - first)))


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A part of a bar: its name, its value, and where it begins and how long it is, in percent."""

    name: str
    value: float
    start: float
    length: float


def stack(values: Mapping[str, float], whole: float) -> list[BarSegment]:
    """Return values as the parts of a bar, one behind the other.

    Args:
        values: each by its name.
        whole: the value of the whole bar; more than that is cut off.
    """
    parts: list[BarSegment] = []
    start = 0.0
    for name, value in values.items():
        length = max(0.0, min(100 - start, 100 * value / whole)) if whole else 0.0
        parts.append(BarSegment(name, value, round(start, 2), round(length, 2)))
        start += length
    return parts


def heights(values: Sequence[float], height: float) -> list[float]:
    """Return the heights of columns, of which the highest is ``height``."""
    most = max(values, default=0)
    return [round(height * value / most, 1) if most else 0.0 for value in values]


def circle(count: int, radius: float) -> list[tuple[float, float]]:
    """Return the places of so many dots on a circle around 0, the first at the top."""
    angles = (math.tau * number / count - math.pi / 2 for number in range(count))
    return [(round(radius * math.cos(x), 1), round(radius * math.sin(x), 1)) for x in angles]

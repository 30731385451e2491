"""Draw how facts fade: ``python scripts/draw_decay.py docs/images/decay.svg``.

The curves are those of ``memoranda.maintenance.decay.curve``: strength × exp(-rate × days).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memoranda.maintenance.decay import curve
from memoranda.settings.sections import DecaySettings

THRESHOLD = DecaySettings().threshold
DAYS = 80
STEPS = 4  # points of a curve in a day
RECALLED = 10
WIDTH, HEIGHT = 960, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 76, 340
STYLE = (
    "<style>.ink{fill:#1c2330}.soft{fill:#5b6472}.paper{fill:#ffffff}"
    ".grid{stroke:#d9dde3}.edge{stroke:#b3261e}.red{fill:#b3261e}"
    "@media (prefers-color-scheme: dark){.ink{fill:#e8ebf0}.soft{fill:#a9b2c0}"
    ".paper{fill:#14181f}.grid{stroke:#39414d}.edge{stroke:#ff8a80}.red{fill:#ff8a80}}</style>"
)


@dataclass(frozen=True)
class Line:
    """One fact: its name, its colour and dash, and its confidence by the day."""

    name: str
    colour: str
    left: Callable[[float], float]
    dash: str = "none"


def recalled(day: float) -> float:
    """Return the confidence of a fact that fades by a tenth and is recalled once."""
    return curve(1.0, 0.1, day if day < RECALLED else day - RECALLED)


LINES = (
    Line("0.05 a day", "#3d9970", lambda day: curve(1.0, 0.05, day)),
    Line("0.1 a day, as consolidation sets it", "#3f7fd0", lambda day: curve(1.0, 0.1, day)),
    Line("0.2 a day", "#c98a1b", lambda day: curve(1.0, 0.2, day)),
    Line(f"0.1 a day, recalled on day {RECALLED}", "#3f7fd0", recalled, "7 5"),
    Line("confirmed", "#9a78cf", lambda day: curve(1.0, 0.0, day)),
)


def main() -> None:
    """Write the picture."""
    Path(sys.argv[1]).write_text(picture(), "utf-8")


def picture() -> str:
    """Return the picture as SVG."""
    return "\n".join(_drawn()) + "\n"


def _drawn() -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img">'
    )
    yield "<title>How the confidence of a fact fades, day by day</title>"
    yield STYLE
    yield f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>'
    yield (
        f'<text class="ink" x="{LEFT}" y="24" font-weight="600">Confidence = strength × '
        f"exp(-rate × days since it was last said or recalled)</text>"
    )
    yield from _legend()
    yield from _axes()
    for line in LINES:
        yield from _line(line)
    yield "</svg>"


def _legend() -> Iterator[str]:
    x = float(LEFT)
    for line in LINES:
        yield (
            f'<path d="M{x:.0f},48h26" stroke="{line.colour}" stroke-width="2.5" '
            f'stroke-dasharray="{line.dash}"/>'
        )
        yield f'<text class="ink" x="{x + 33:.0f}" y="52">{line.name}</text>'
        x += 58 + 6.6 * len(line.name)


def _axes() -> Iterator[str]:
    for tenths in range(0, 11, 2):
        y = _y(tenths / 10)
        yield f'<path class="grid" d="M{LEFT},{y:.1f}H{WIDTH - RIGHT}"/>'
        yield (
            f'<text class="soft" x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">'
            f"{tenths / 10:.1f}</text>"
        )
    for day in range(0, DAYS + 1, 10):
        yield (
            f'<text class="soft" x="{_x(day):.1f}" y="{BOTTOM + 20}" text-anchor="middle">'
            f"{day}</text>"
        )
    yield (
        f'<text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{BOTTOM + 42}" '
        f'text-anchor="middle">days</text>'
    )
    y = _y(THRESHOLD)
    yield (
        f'<path class="edge" d="M{LEFT},{y:.1f}H{WIDTH - RIGHT}" stroke-dasharray="2 4" '
        f'stroke-width="1.5"/>'
    )
    yield (
        f'<text class="red" x="{WIDTH - RIGHT}" y="{y - 7:.1f}" text-anchor="end">'
        f"below {THRESHOLD} a fact is retired</text>"
    )


def _line(line: Line) -> Iterator[str]:
    days = [step / STEPS for step in range(DAYS * STEPS + 1)]
    kept = [day for day in days if line.left(day) >= THRESHOLD]
    end = next((day for day in days if line.left(day) < THRESHOLD), None)
    points = " ".join(f"{_x(day):.1f},{_y(line.left(day)):.1f}" for day in kept)
    yield (
        f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2.5" '
        f'stroke-dasharray="{line.dash}"><title>{line.name}</title></polyline>'
    )
    if end is not None:
        x, y, day = _x(end), _y(THRESHOLD), f"day {end:.0f}"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{line.colour}"/>'
        yield (f'<text class="ink" x="{x + 6:.1f}" y="{y + 11:.1f}" font-size="11">{day}</text>')


def _x(day: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * day / DAYS


def _y(confidence: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * confidence


if __name__ == "__main__":
    main()

"""What is learned from the tokens that a provider reports: how its count follows from ours.

A report near what was expected is believed at once. One far from it waits until the next agrees
with it, so that a single odd report changes little (requirements N2.1, N2.5).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from statistics import median
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.models import Calibration

NAMES = ("prompt_tokens", "input_tokens")
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
MOST_TOKENS = 1 << 40  # that no context has
# Shares of the expected tokens that are believed at once: of a first report, of any later one; and
# those beyond which it cannot be of the same text.
FIRST = (0.25, 3.0)
LATER = (0.7, 1.3)
LEAST, MOST = 0.1, 10.0
UNCALIBRATED = Calibration()
REPORTS = 5  # that are compared
STEADY = 3  # reports from which on a scale is believed wholly that makes counts smaller
EXACT = 0.05  # Scales so near 1 are those of an exact counter.
# Two reports tell of the scale if they differ by so much: a share of the larger, and tokens.
APART, APART_TOKENS = 0.05, 32


def read_usage(usage: object) -> int:
    """Return the tokens of a prompt: a number, or from the ``usage`` of a reply.

    Of Anthropic's usage the cached tokens count too, which it gives apart.

    Raises:
        InvalidInput: there is no such number in it.
    """

    def read(name: str) -> Any:
        return usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)

    found: Iterable[Any] = [usage] if isinstance(usage, int) else map(read, NAMES)
    first: Any = next((each for each in found if each is not None), None)
    parts = [first, *(read(name) or 0 for name in CACHED)]
    if {*map(type, parts)} != {int} or min(parts) < 0 or not 1 <= sum(parts) <= MOST_TOKENS:
        raise InvalidInput(
            f"actual={usage!r:.80} must be the tokens of the prompt, or the reply's usage"
        )
    return sum(parts)


class Calibrator:
    """Learns the calibration of one conversation from report to report. Not thread-safe."""

    def __init__(self) -> None:
        """Know no report yet."""
        self._reports: deque[tuple[int, int]] = deque(maxlen=REPORTS)
        self._odd: tuple[int, int] | None = None  # the last report, if it was not believed

    def learn(
        self, before: Calibration, *, counted: int, actual: int, exact: bool, tools: int = 0
    ) -> Calibration:
        """Return the calibration after a report.

        Args:
            before: what was known.
            counted: tokens of the request as they are counted here, not calibrated.
            actual: tokens that the provider reports.
            exact: whether a tokenizer counted: then only what goes with the messages differs, and
                the scale not unless it is the tokenizer of another model.
            tools: how many of ``counted`` are definitions of tools.
        """
        counted = max(counted, 1)
        report = counted, actual
        is_first = before == UNCALIBRATED and not self._reports
        expected = max(1.0, counted * before.scale + before.overhead)
        if not LEAST <= actual / expected <= MOST:
            return before
        least, most = FIRST if is_first else LATER
        if not least <= actual / expected <= most:
            odd, self._odd = self._odd, report
            if odd is None or not _agree(odd, report):
                # It may be right: so much more is on the safe side.
                more = 0 if is_first or actual < expected else int(expected * (most - 1) / 2)
                return replace(before, overhead=before.overhead + more)
            self._reports.clear()
            self._reports.append(odd)
        self._odd = None
        self._reports.append(report)
        scale = self._scale(before, exact=exact)
        if actual < scale * (counted - tools):  # The tools alone cannot have cost too much.
            scale = actual / (counted - tools)
        return Calibration(scale, round(actual - scale * counted))

    def _scale(self, before: Calibration, *, exact: bool) -> float:
        """Return what one token more of ours is to the provider, as far as the reports tell."""
        counted, actual = self._reports[-1]
        slopes = [
            (after[1] - first[1]) / (after[0] - first[0])
            for first, after in combinations(self._reports, 2)
            if abs(after[0] - first[0]) > max(APART_TOKENS, APART * max(after[0], first[0]))
        ]
        found = median(slopes) if slopes else 0
        if found <= 0:
            is_more = not exact and before == UNCALIBRATED and actual > counted
            return actual / counted if is_more else before.scale
        if exact and abs(found - 1) < EXACT:
            return 1.0
        return found if len(self._reports) >= STEADY else max(found, (found + before.scale) / 2)


def _agree(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two reports say the same of the scale, or of what goes with messages."""
    (counted, actual), (least, most) = other, LATER
    expected = counted * one[1] / one[0], counted + one[1] - one[0]
    return any(each > 0 and least <= actual / each <= most for each in expected)


def limit_to_tools(calibration: Calibration, tools: int) -> Calibration:
    """Return the calibration for requests with so many tokens of tools: these alone cost less."""
    return replace(
        calibration, overhead=max(calibration.overhead, -round(calibration.scale * tools))
    )

"""What was read out of messages: their signals, and the tasks they belong to.

Each message is read once. A conversation that goes on is read on from where it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memoranda.conversation.segments import Segmenter
from memoranda.conversation.signals import Signals, signals
from memoranda.conversation.units import Unit
from memoranda.model.models import Message


@dataclass(frozen=True, slots=True)
class Task:
    """Units in a row that serve one task.

    Attributes:
        start: the first of them.
        end: the one after the last.
        completed: whether the task is done.
    """

    start: int
    end: int
    completed: bool


class Reading:
    """Signals by message, tasks by unit. Not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._signals: dict[str, Signals] = {}
        self._start_over()

    def _start_over(self) -> None:
        self._segmenter = Segmenter(read=self.signals)
        self._units: list[Unit] = []
        self._starts: list[int] = []
        self._done: list[bool] = []  # after each unit, whether its task was said to be complete

    def signals(self, message: Message) -> Signals:
        """Return the signals of a message."""
        known = self._signals.get(message.id)
        if known is None:
            known = self._signals[message.id] = signals(message)
        return known

    def keep(self, messages: Collection[Message]) -> None:
        """Forget what was read of all other messages."""
        ids = {message.id for message in messages}
        self._signals = {key: said for key, said in self._signals.items() if key in ids}

    def tasks(self, units: Sequence[Unit]) -> list[Task]:
        """Return the tasks of units. Only where somebody said so does one end (R5.1)."""
        self._read_on(units)
        starts = [0, *(start for start in self._starts if 0 < start < len(units)), len(units)]
        return [
            Task(start, end, end < len(units) or self._done[end - 1])
            for start, end in pairwise(starts)
            if end > start
        ]

    def _read_on(self, units: Sequence[Unit]) -> None:
        known = min(len(units), len(self._units))
        if known and units[known - 1] is not self._units[known - 1]:
            # Units only come at the end; else they were all made anew.
            self._start_over()
        for unit in units[len(self._units) :]:
            strong = False
            for message in unit.messages:
                boundary = self._segmenter.add(message)
                strong = strong or (boundary is not None and boundary.strong)
            if strong:
                self._starts.append(len(self._units))
            self._units.append(unit)
            self._done.append(self._segmenter.completed)

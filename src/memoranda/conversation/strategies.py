"""How the messages that stay in a view are chosen: the strategies, all pure functions."""

from __future__ import annotations

from typing import cast

from memoranda.conversation.selection import CURRENT, NEWEST, Selection, SelectionInput, Strategy
from memoranda.model.checks import refuse_unknown, require_attributes


class RollingWindow(Strategy):
    """Keeps the newest turns that fit, and of older ones mistakes (requirements R3.1 to R3.5)."""

    name = "rolling_window"
    description = (
        "the newest turns that fit, a question together with its answer; of what is older the "
        "request that the task is about, and mistakes with their corrections"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep what binds, then the newest turns."""
        selection.take_binding()
        selection.take_turns(given.turns, NEWEST)


class Recency(Strategy):
    """Keeps messages from the newest back until one does not fit: no gaps, no pairs (ADR 7)."""

    name = "recency"
    pairs = False
    description = "the newest messages that fit, one by one, without gaps"

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep the newest units."""
        for index in reversed(range(len(given.units))):
            if index not in selection.kept and not selection.take([index], NEWEST):
                return


class Importance(Strategy):
    """Keeps the groups with the highest scores, those of the current task first (requirement R4.4).

    A group is a question with its answer, or one exchange with tools. Completed tasks go
    before any of the current one does (R5.2); what binds of them does not (R5.3).
    """

    name = "importance"
    description = (
        "what scores highest, a question together with its answer; the current task "
        "before any earlier one"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep what binds, the current task, then the rest by score."""
        selection.take_binding()
        if selection.take_current():
            for group in given.ranked:
                selection.take(group, "scores enough")


class Hybrid(Strategy):
    """Keeps the newest turns of the current task, then the rest of it by importance (R7).

    What is left goes to earlier tasks, the newest first, each of them whole.
    """

    name = "hybrid"
    description = (
        "the newest turns of the current task, then the rest of it by score, then earlier "
        "tasks, each of them whole"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep what binds, a window on the current task, its rest, then earlier tasks."""
        selection.take_binding()
        start = given.current
        current = [turn for turn in given.turns if max(turn.all, default=-1) >= start]
        window = selection.tokens // 2  # is for the newest turns of the current task
        saved, selection.tokens = selection.tokens - window, window
        selection.take_turns(current, CURRENT)
        selection.tokens += saved
        if selection.take_current():
            for task in reversed(given.tasks[:-1]):
                if not selection.take(task, "of an earlier task that fits"):
                    return


class CurrentTask(Strategy):
    """Keeps the current task, and of those before it mistakes with their corrections (R6.4)."""

    name = "task_boundary"
    description = "the current task, and of earlier ones mistakes with their corrections"

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep what binds, then the current task from its end."""
        selection.take_binding()
        for index in reversed(range(given.current, len(given.units))):
            if not selection.take([index], CURRENT):
                return


def find_strategy(given: object) -> Strategy:
    """Return the strategy of a name, or the object that is one.

    Raises:
        InvalidInput: there is none of that name, or the object is no strategy.
    """
    if isinstance(given, str):
        refuse_unknown([given], STRATEGIES, "strategy")
        return STRATEGIES[given]
    require_attributes(given, "strategy", "name", "description", "pairs", "select")
    return cast("Strategy", given)


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (RollingWindow(), Recency(), Importance(), Hybrid())
}
FINISHED_TASKS = CurrentTask()

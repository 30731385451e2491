"""Hybrid: a window on the current task, the most important of what lies before (seed 000)."""

from __future__ import annotations

from memoranda.conversation.scene import Choice, Scene
from memoranda.conversation.strategies import importance, rolling_window

WINDOW = 0.5  # share of what is free that the newest turns of the current task get first


def keep(scene: Scene, choice: Choice) -> None:
    """Keep the newest turns of the current task, then the rest of it by importance.

    What is left goes to earlier tasks, the newest first, each of them whole.
    """
    choice.take_old(scene.kept_when_old)
    start = scene.current
    current = [turn for turn in scene.turns if max(turn.all, default=-1) >= start]
    saved, choice.tokens = choice.tokens - int(choice.tokens * WINDOW), int(choice.tokens * WINDOW)
    rolling_window.walk(current, choice)
    choice.tokens += saved
    if importance.keep_current(scene, choice):
        for task in reversed(scene.tasks[:-1]):
            if not choice.take(range(task.start, task.end)):
                return

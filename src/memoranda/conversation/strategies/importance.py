"""Importance: what matters most stays, whatever its age (seed 000, R4.4 and its scoring)."""

from __future__ import annotations

from memoranda.conversation.scene import Choice, Scene


def keep(scene: Scene, choice: Choice) -> None:
    """Keep the groups with the highest scores, those of the current task before all others.

    A group is a question with its answer, or one exchange with tools. Completed tasks go
    before any of the current one does (R5.2); their mistakes and standing rules do not (R5.3).
    """
    choice.take_old(scene.kept_when_old)
    if keep_current(scene, choice):
        for group in scene.ranked:
            choice.take(group)


def keep_current(scene: Scene, choice: Choice) -> bool:
    """Keep the most important groups of the current task; return whether all of them fit."""
    start = scene.current
    current = [group for group in scene.ranked if group[-1] >= start]
    return sum(choice.take(group) for group in current) == len(current)

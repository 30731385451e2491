"""What stays when one task ends and the next begins (seed 000, R6.4, workflow 3)."""

from __future__ import annotations

from memoranda.conversation.scene import Choice, Scene


def keep(scene: Scene, choice: Choice) -> None:
    """Keep the current task, and of those before it the mistakes and standing rules."""
    choice.take_old(scene.kept_when_old)
    for index in reversed(range(scene.current, len(scene.units))):
        if not choice.take([index]):
            return

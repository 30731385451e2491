"""Recency: system messages always, then the newest messages that fit (seed 003)."""

from __future__ import annotations

from memoranda.conversation.scene import Choice, Scene


def keep(scene: Scene, choice: Choice) -> None:
    """Keep units from the newest back until one does not fit: no gaps, no pairs."""
    for index in reversed(range(len(scene.units))):
        if index not in choice.kept and not choice.take([index]):
            return

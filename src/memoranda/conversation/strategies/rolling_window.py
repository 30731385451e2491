"""Rolling window: the last N messages that fit, pruned in pairs (seed 000, R3.1 to R3.5)."""

from __future__ import annotations

from memoranda.conversation.scene import Choice, Scene, Turn


def keep(scene: Scene, choice: Choice) -> None:
    """Keep the newest turns that fit, and old mistakes with their corrections.

    The window opens with a question: of the first turn that does not fit whole, question
    and answer stay if these fit, with as much of the newest work between them as there is
    room for; nothing before it.
    """
    choice.take_old(scene.kept_when_old)
    walk(scene.turns, choice)


def walk(turns: list[Turn], choice: Choice) -> bool:
    """Keep turns from the newest back until one does not fit; return whether all did.

    Work that alone exceeds half of the room is passed over, so that one long result does
    not take out all that was said before it.
    """
    large, whole = choice.tokens / 2, True
    for turn in reversed(turns):
        if choice.take(turn.all):
            continue
        whole = False
        if not choice.take(turn.pair):
            return False
        for index in reversed(turn.work):
            if not choice.take([index]) and choice.cost([index])[0] <= large:
                return False
    return whole

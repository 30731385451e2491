"""One answer of several: of mentions that overlap, the best one stays.

Seed 004: "the highest-confidence, longest-span entity wins".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoranda.model.models import Mention


def resolve(text: str, found: Sequence[Iterable[Mention]]) -> list[Mention]:
    """Return the mentions of all providers, ordered and free of overlaps.

    Where mentions overlap, the highest confidence wins, then the longest span, then the
    earlier provider. What does not hold what the text says at its place is dropped, as is a
    confidence that is none. The result is the same in whatever order a provider names them.

    Args:
        text: the text that was read.
        found: what each provider found, the preferred provider first.
    """
    sound = [
        (place, mention)
        for place, mentions in enumerate(found)
        for mention in mentions
        if _is_sound(text, mention)
    ]
    taken = bytearray(len(text))
    kept: list[Mention] = []
    for _, mention in sorted(sound, key=_rank):
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _rank(found: tuple[int, Mention]) -> tuple[float, int, int, int, str]:
    place, mention = found
    length = mention.end - mention.start
    return -mention.confidence, -length, place, mention.start, mention.type


def _is_sound(text: str, mention: Mention) -> bool:
    return (
        0 <= mention.start < mention.end <= len(text)
        and text[mention.start : mention.end] == mention.text
        and 0 <= mention.confidence <= 1
    )

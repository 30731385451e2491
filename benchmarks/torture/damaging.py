"""Damages the bytes of a database at random, in the ways of disks, copies and other programs."""

from __future__ import annotations

import random

PAGE = 4096


def flip_bits(made: bytearray, chance: random.Random) -> None:
    """Change single bits anywhere behind the first page."""
    for _ in range(chance.randint(1, 64)):
        made[chance.randrange(PAGE, len(made))] ^= 1 << chance.randrange(8)


def zero_pages(made: bytearray, chance: random.Random) -> None:
    """Leave zeros, as what was allocated and never written."""
    for page in _some_pages(made, chance):
        made[page : page + PAGE] = bytes(PAGE)


def fill_pages(made: bytearray, chance: random.Random) -> None:
    """Leave what is of another file."""
    for page in _some_pages(made, chance):
        made[page : page + PAGE] = chance.randbytes(PAGE)


def truncate(made: bytearray, chance: random.Random) -> None:
    """Lose the end."""
    del made[chance.randrange(PAGE, len(made)) :]


def swap_pages(made: bytearray, chance: random.Random) -> None:
    """Write pages to each other's places."""
    for page in _some_pages(made, chance):
        (other,) = _some_pages(made, chance, 1)
        first, second = made[page : page + PAGE], made[other : other + PAGE]
        made[page : page + PAGE], made[other : other + PAGE] = second, first


def spoil_text(made: bytearray, chance: random.Random) -> None:
    """Leave bytes in texts that are not UTF-8."""
    places = [at for at in range(len(made) - 3) if made[at : at + 4] == b"word"]
    for at in chance.sample(places, min(len(places), 9)):
        made[at] = 0xFF


def flip_head(made: bytearray, chance: random.Random) -> None:
    """Change bits of the first page: the head of the file, and the schema."""
    for _ in range(chance.choice((1, 20, 500))):
        made[chance.randrange(PAGE)] ^= 1 << chance.randrange(8)


KINDS = (flip_bits, zero_pages, fill_pages, truncate, swap_pages, spoil_text, flip_head)


def _some_pages(made: bytearray, chance: random.Random, number: int = 4) -> list[int]:
    return [PAGE * chance.randrange(1, len(made) // PAGE) for _ in range(chance.randint(1, number))]


def damage(content: bytes, seed: int) -> bytes:
    """Return the bytes of a file with some damage, which depends on the seed alone."""
    made = bytearray(content)
    KINDS[seed % len(KINDS)](made, random.Random(seed))  # noqa: S311 - no secret
    return bytes(made)


def whole_pages(before: bytes, after: bytes) -> set[int]:
    """Return the numbers of the pages that are as they were."""
    return {
        page
        for page in range(len(before) // PAGE)
        if before[page * PAGE : (page + 1) * PAGE] == after[page * PAGE : (page + 1) * PAGE]
    }

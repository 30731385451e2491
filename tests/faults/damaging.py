"""Damages the bytes of a database at random, in the ways of disks, copies and other programs."""

import random

PAGE = 4096
KINDS = ("flips", "zeroed", "garbage", "truncated", "swapped", "invalid text", "head")


def damage(content, seed):  # noqa: C901 - a case for each kind of damage
    """Return the bytes of a file with some damage, which depends on the seed alone."""
    chance, made = random.Random(seed), bytearray(content)  # noqa: S311 - makes examples
    kind = KINDS[seed % len(KINDS)]
    pages = len(made) // PAGE
    some = [chance.randrange(1, pages) for _ in range(chance.randint(1, 4))]
    if kind == "flips":
        for _ in range(chance.randint(1, 64)):
            made[chance.randrange(PAGE, len(made))] ^= 1 << chance.randrange(8)
    elif kind in {"zeroed", "garbage"}:
        for page in some:
            new = bytes(PAGE) if kind == "zeroed" else chance.randbytes(PAGE)
            made[page * PAGE : (page + 1) * PAGE] = new
    elif kind == "truncated":
        del made[chance.randrange(PAGE, len(made)) :]
    elif kind == "swapped":
        for page in some:
            one, other = page * PAGE, chance.randrange(1, pages) * PAGE
            first, second = made[one : one + PAGE], made[other : other + PAGE]
            made[one : one + PAGE], made[other : other + PAGE] = second, first
    elif kind == "invalid text":
        places = [at for at in range(len(made) - 3) if made[at : at + 4] == b"word"]
        for at in chance.sample(places, min(len(places), 9)):
            made[at] = 0xFF
    else:  # The first page: the head of the file, and the schema.
        for _ in range(chance.choice((1, 20, 500))):
            made[chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
    return bytes(made)


def whole_pages(before, after):
    """Return the numbers of the pages that are as they were."""
    return {
        page
        for page in range(len(before) // PAGE)
        if before[page * PAGE : (page + 1) * PAGE] == after[page * PAGE : (page + 1) * PAGE]
    }

"""What tests of one memory on two stores share: to open each, and to compare what they return."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

ID = re.compile(r"\b(?:[a-z]+_[0-9A-HJKMNP-TV-Z]{26}|ent_[0-9a-f]{20})\b")
CLOSE = 1e-3


def plain(value, *, folder, known=None):
    """Return a value as lists, dicts, texts and numbers.

    Ids become numbers in the order they are met, and ``folder`` becomes a word, so that two
    memories that did the same say the same.
    """
    known = {} if known is None else known

    def inner(value):
        if value is None or isinstance(value, bool | int | float):
            found = value
        elif isinstance(value, str | Path):
            named = ID.sub(lambda m: f"#{known.setdefault(m[0], len(known) + 1)}", str(value))
            found = named.replace(str(folder), "FOLDER")
        elif isinstance(value, datetime):
            found = value.isoformat()
        elif isinstance(value, Mapping):
            found = {inner(str(name)): inner(each) for name, each in value.items()}
        elif isinstance(value, Sequence):
            found = [inner(each) for each in value]
        else:
            # What a server says of itself, only a memory on one has.
            names = [each.name for each in dataclasses.fields(value) if each.name != "server"]
            found = {name: inner(getattr(value, name)) for name in names}
        return found

    return inner(value)


def differences(one, other, place=""):
    """Return where two plain values differ; numbers that are close do not."""
    match one, other:
        case float() | int(), float() | int() if abs(one - other) <= CLOSE:
            return []
        case dict(), dict():
            names = dict.fromkeys((*one, *other))
            pairs = [(f"{place}.{name}", one.get(name), other.get(name)) for name in names]
        case list(), list():
            each = enumerate(zip_longest(one, other))
            pairs = [(f"{place}[{number}]", *pair) for number, pair in each]
        case _:
            return [] if one == other else [f"{place}: {one!r:.200} and {other!r:.200}"]
    return [found for name, a, b in pairs for found in differences(a, b, name)]


def remembering(location, **sections):
    """Return Ana's memory on a clock that stands still; the caller closes it."""
    quiet = {"embedding": {"background": False}, "consolidation": {"automatic": False}}
    return Memory(
        location,
        user="ana",
        settings=Settings(timezone="UTC", **(quiet | sections)),
        embedder=HashEmbedder(),
        clock=FrozenClock(),
    )


def done(flow, location, folder, **sections):
    """Return what a flow tells on a memory at ``location``, comparably."""
    folder.mkdir()
    notes = {"folder": str(folder / "notes")}
    with closing(remembering(location, notes=notes, **sections)) as memory:
        told = flow(memory, memory._services.clock.source, folder)
    return without_own(plain(told, folder=folder))


OWN = {"purged", "unpurged", "rank"}
"""What a place has its own way: the files of a server are its own, and where one stores vectors
in half the precision, two that are almost as near are as near, and of one rank."""


def without_own(value):
    """Return a plain value without what each place has its own way."""
    if isinstance(value, list):
        return [without_own(each) for each in value]
    if isinstance(value, dict):
        return {name: without_own(each) for name, each in value.items() if name not in OWN}
    return value

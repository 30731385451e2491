"""Looks for many texts at once in the bytes of files: what was erased must be in none (law 7)."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import BinaryIO

import numpy as np

# Bytes by which a text is known at first, and so the fewest that are looked for.
KEY = 8
# Bytes that are looked for of a longer text at each of some places: a database spreads it out.
PROBE, MOST_PROBES = 96, 6
BLOCK = 1 << 23
# Parts between the places of a text at which it is looked at.
PLACES = 4
# By this the place of a key in a table of 2^20 is known.
FACTOR, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(44)


def probes(text: str) -> list[str]:
    """Return the parts of a text that are looked for; none of one that is too short to tell."""
    if len(text) <= PROBE:
        return [text] if len(text.encode()) >= KEY else []
    starts = range(0, len(text) - PROBE + 1, max(PROBE, (len(text) - PROBE) // MOST_PROBES))
    return [text[at : at + PROBE] for at in starts]


def forms(text: str, *, coded: bool = False) -> set[bytes]:
    """Return the bytes by which files may hold a text: plain, as JSON, and in base64."""
    escaped = (json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (False, True))
    written = {each.encode() for each in (text, *escaped)}
    return written | {found for each in written if coded for found in _in_base64(each)}


def _in_base64(data: bytes) -> Iterator[bytes]:
    """Yield what of a text does not depend on what stands beside it, wherever it begins."""
    for before in range(3):
        coded = b64encode(bytes(before) + data)
        first = 4 if before else 0
        yield coded[first : (before + len(data)) // 3 * 4]


def _keys(needle: bytes) -> dict[int, int]:
    """Return the bytes at some places of a text, as numbers, with the place."""
    last = len(needle) - KEY
    places = (last * part // PLACES for part in range(PLACES + 1))
    return {int.from_bytes(needle[at : at + KEY], "little"): at for at in places}


class ByteSearch:
    """Searches files for texts.

    Args:
        texts: what is looked for, each as :func:`probes` returns it.
        coded: whether it may stand there in base64, too.
    """

    def __init__(self, texts: Collection[str], *, coded: bool = False) -> None:
        """Know each by that of some places which the fewest have in common with it."""
        needles = [
            (needle, text, _keys(needle))
            for text in texts
            for needle in forms(text, coded=coded)
            if len(needle) >= KEY
        ]
        shared = Counter(key for *_, keys in needles for key in keys)
        self._needles: defaultdict[int, list[tuple[int, bytes, str]]] = defaultdict(list)
        for needle, text, keys in needles:
            key = min(keys, key=shared.__getitem__)
            self._needles[key].append((keys[key], needle, text))
        self._longest = max((len(needle) for needle, *_ in needles), default=KEY)
        known = np.array(list(self._needles), np.uint64)
        self._table = np.zeros(1 << (64 - int(SHIFT)), np.bool_)
        self._table[known * FACTOR >> SHIFT] = True

    def files(self, files: Iterable[tuple[str, BinaryIO]]) -> dict[str, set[str]]:
        """Return which texts are in files: text → the names of these."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for name, file in files:
            kept = b""
            while block := file.read(BLOCK):
                data = kept + block
                for text in self._find(data):
                    found[text].add(name)
                kept = data[-self._longest :]
        return dict(found)

    def _find(self, data: bytes) -> Iterator[str]:
        """Yield the texts that stand in ``data``."""
        if not self._needles:
            return
        for offset in range(min(KEY, len(data) - KEY + 1)):
            keys = np.frombuffer(data, "<u8", (len(data) - offset) // KEY, offset)
            hits = np.flatnonzero(self._table[keys * FACTOR >> SHIFT])
            for place, key in zip(hits.tolist(), keys[hits].tolist(), strict=True):
                at = offset + place * KEY
                for before, needle, text in self._needles.get(key, ()):
                    if data.startswith(needle, at - before) and at >= before:
                        yield text

"""The files of Chroma's vector indexes, as far as they hold more than vectors of records.

An index is saved with room for more vectors than it has, and that room holds whatever was in the
memory of the process: perhaps a text that was erased, or a key. It is overwritten when a folder is
left, as nothing reads it. A vector that was removed stays as a step on the way to others: it is
overwritten by that of one of its neighbours.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np

HEADER, VECTORS = "header.bin", "data_level0.bin"
FIELDS = struct.Struct("<iQQQQQQ")
VERSION = 1
BLOCK = 1 << 20
# Of an entry: where its neighbours begin, behind their number and the mark that it was removed.
MARK, NEIGHBOURS = 2, 4
# Removed vectors that are overwritten at once.
TOGETHER = 1_000


class IndexLayout(NamedTuple):
    """How the header of an index begins.

    Attributes:
        version: of the format.
        links: where in an entry its links begin.
        room: for how many entries there is room.
        number: of entries.
        size: bytes of each.
        label, vector: where in an entry they begin; the vector ends at the label.
    """

    version: int
    links: int
    room: int
    number: int
    size: int
    label: int
    vector: int


def folders(place: Path) -> Iterator[Path]:
    """Return the folders of indexes in a folder of Chroma."""
    for entry in sorted(place.iterdir()):
        with suppress(ValueError):
            if entry.is_dir() and str(UUID(entry.name)) == entry.name:
                yield entry


def drop(place: Path, used: Collection[str]) -> None:
    """Remove the folders of indexes but those that are used: Chroma leaves them."""
    for folder in folders(place):
        if folder.name not in used:
            shutil.rmtree(folder)


def blank(place: Path, *, removed: bool = False) -> None:
    """Overwrite what no vector takes in the indexes of a folder that nobody has open.

    Args:
        place: the folder.
        removed: whether the vectors that were removed are overwritten, too.

    Raises:
        OSError: a file cannot be written.
    """
    for folder in folders(place):
        layout = _layout(folder)
        if layout is not None:
            _overwrite(folder / VECTORS, layout.number * layout.size)
            if removed and layout.number:
                _overwrite_removed(folder / VECTORS, layout)


def _layout(folder: Path) -> IndexLayout | None:
    """Return the layout of the vectors' file; ``None`` for another format."""
    header, vectors = folder / HEADER, folder / VECTORS
    if not header.is_file() or not vectors.is_file():
        return None
    start = header.read_bytes()[: FIELDS.size]
    if len(start) < FIELDS.size:
        return None
    at = IndexLayout(*FIELDS.unpack(start))
    fits = at.number * at.size <= vectors.stat().st_size <= at.room * at.size
    known = at.version == VERSION and at.links + NEIGHBOURS < at.vector < at.label < at.size
    return at if known and fits else None


def _overwrite(path: Path, start: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        while block := file.read(BLOCK):
            if block.count(0) != len(block):
                file.seek(-len(block), 1)
                file.write(bytes(len(block)))


def _overwrite_removed(path: Path, at: IndexLayout) -> None:
    """Give each removed entry the vector of a neighbour that stays; none, where there is none."""
    entries = np.memmap(path, np.uint8, "r+", shape=(at.number, at.size))
    stays = entries[:, at.links + MARK] & 1 == 0
    removed = np.flatnonzero(~stays)
    for start in range(0, len(removed), TOGETHER):
        here = removed[start : start + TOGETHER]
        links = entries[here, at.links : at.vector]
        neighbours = links[:, NEIGHBOURS:].copy().view(np.uint32) % at.number
        count = links[:, :MARK].copy().view(np.uint16)
        usable = stays[neighbours] & (np.arange(neighbours.shape[1]) < count)
        nearest = neighbours[np.arange(len(here)), usable.argmax(axis=1)]
        vectors = entries[nearest, at.vector : at.label]
        vectors[~usable.any(axis=1)] = 0
        entries[here, at.vector : at.label] = vectors
    entries.flush()

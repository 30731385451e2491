"""The files of Chroma's vector indexes, as far as they hold more than vectors.

An index is saved with room for more vectors than it has, and that room holds whatever was in the
memory of the process: perhaps a text that was erased, or a key. It is overwritten when a folder is
left, as nothing reads it.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

HEADER, VECTORS = "header.bin", "data_level0.bin"
# How a header begins: version, offset, room and number of vectors, bytes of each.
FIELDS = struct.Struct("<iQQQQ")
VERSION = 1
BLOCK = 1 << 20


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


def blank(place: Path) -> None:
    """Overwrite what no vector takes in the indexes of a folder that nobody has open.

    Raises:
        OSError: a file cannot be written.
    """
    for folder in folders(place):
        used = _used(folder)
        if used is not None:
            _overwrite(folder / VECTORS, used)


def _used(folder: Path) -> int | None:
    """Return how many bytes of the vectors' file are of vectors; ``None`` for another format."""
    header, vectors = folder / HEADER, folder / VECTORS
    if not header.is_file() or not vectors.is_file():
        return None
    start = header.read_bytes()[: FIELDS.size]
    if len(start) < FIELDS.size:
        return None
    version, _, room, number, each = FIELDS.unpack(start)
    size = vectors.stat().st_size
    known = version == VERSION and each and number * each <= size <= room * each
    return number * each if known else None


def _overwrite(path: Path, start: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        while block := file.read(BLOCK):
            if block.count(0) != len(block):
                file.seek(-len(block), 1)
                file.write(bytes(len(block)))

"""Finds the file that a name in the folder of the notes stands for, and refuses what is none.

A folder of notes may come from anywhere, a cloned repository for one. A link in it must not make
an agent read or overwrite a file elsewhere, and a folder or a pipe of that name is no note.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from memoranda.errors import InvalidInput, StoreError
from memoranda.notes.failures import translated

PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would change line ends without it.
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text of a name is, links followed.

    Attributes:
        path: the file.
        found: what the system says of it; ``None`` if it does not exist.
    """

    path: Path
    found: os.stat_result | None


def locate(folder: Path, name: str) -> Place:
    """Return the regular file that ``name`` stands for in ``folder``, or would stand for.

    Raises:
        InvalidInput: ``name`` is no plain name of a file.
        StoreError: it is a folder, a pipe, or a link that leads out of the folder or nowhere.
    """
    if name in {"", ".", ".."} or {"/", "\\", "\x00", os.sep} & set(name):
        message = f"{name!r:.200} is no name of a file in the folder of the notes; leave out paths"
        raise InvalidInput(message)
    path = folder / name
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            path = _followed(folder, path)
            found = path.lstat()
    except FileNotFoundError:
        return Place(path, None)
    if stat.S_ISDIR(found.st_mode):
        message = f"{path} is a folder, but must be a file; move it away or rename it"
        raise StoreError(message)
    if not stat.S_ISREG(found.st_mode):
        message = f"{path} is not a regular file; move it away or rename it"
        raise StoreError(message)
    return Place(path, found)


def _followed(folder: Path, link: Path) -> Path:
    """Return where a link leads, if that is a file in the folder."""
    target = Path(os.path.realpath(link))
    if not target.is_relative_to(os.path.realpath(folder)):
        message = (
            f"{link} is a link that leads out of its folder, to {target}, and is neither read nor "
            f"written; put a copy of that file in its place, or use {target.parent} for the notes"
        )
        raise StoreError(message)
    if target.is_symlink() or not target.exists():
        message = (
            f"{link} is a link that leads nowhere, to {target}; "
            f"remove the link, or create the file that it names"
        )
        raise StoreError(message)
    return target


def make_folder(folder: Path) -> None:
    """Make a folder that is its owner's alone, with those above it that are missing."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        make_folder(folder.parent)
    try:
        folder.mkdir(PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():  # Another process may have been faster.
            raise
    else:
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    if os.name == "nt":  # A folder cannot be opened there; NTFS keeps its own journal.
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # It may be written, but not listed.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(place: Place) -> bytes:
    """Return what is in a file; nothing, if there is none."""
    if place.found is None:
        return b""
    with translated(place.path, writing=False):
        try:
            descriptor = os.open(place.path, os.O_RDONLY | NO_LINK | BINARY)
        except FileNotFoundError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

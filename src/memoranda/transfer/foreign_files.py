"""Reads Markdown files of a folder that others wrote, and nothing that is outside it.

Such a folder may come from anywhere. A link in a text or in the file system must not make its
import read a file elsewhere, wait for a pipe, or take in a disk image.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from memoranda.errors import InvalidInput
from memoranda.text.patterns import compile_pattern

# Bytes; a memory that is loaded into every prompt is far smaller.
LARGEST = 2**20
# Bytes of a history, which is never truncated.
LARGEST_HISTORY = 2**24
HISTORY = compile_pattern(r"HISTORY.*\.md", re.IGNORECASE)
OUTSIDE = "leads out of the folder"
MOST_FILES = 10_000
DEEPEST = 4
OPENING = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file that was read.

    Attributes:
        file: its path in the folder, with ``/``.
        path: where it is, links followed.
        text: all that is in it.
    """

    file: str
    path: Path
    text: str


class _UnreadableError(Exception):
    """A file is not to be read; the message says why."""


class ForeignFolder:
    """The files of one folder. Each is read once; what is not read is noted with the reason.

    Args:
        root: the folder.

    Attributes:
        root: the folder, links followed.
        skipped: what was not read, and why, in the order in which it was come across.
    """

    def __init__(self, root: Path) -> None:
        """Read nothing yet."""
        self.root = root
        self._read: dict[Path, ForeignFile | None] = {}
        self.skipped: dict[str, str] = {}

    def skip(self, file: str, why: str) -> None:
        """Note that ``file`` was not read."""
        self.skipped.setdefault(file, why)

    def text(self, path: Path, *, named: str | None = None) -> ForeignFile | None:
        """Return the file at ``path``; ``None`` where it is not to be read, which is noted.

        Args:
            path: where it should be; only what is in the folder, links followed, is read.
            named: how a text names it, for the note.
        """
        try:
            place = path.resolve(strict=True)
            if not place.is_relative_to(self.root):
                raise _UnreadableError(OUTSIDE)  # noqa: TRY301 - told as all that is not read
            if place not in self._read:
                self._read[place] = None
                name = place.relative_to(self.root).as_posix()
                self._read[place] = ForeignFile(name, place, _content(place))
            return self._read[place]
        except _UnreadableError as error:
            why = str(error)
        except FileNotFoundError:
            why = "there is no such file"
        except (OSError, RuntimeError, ValueError) as error:
            why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        self.skip(named or self._shown(path), why)
        return None

    def linked(self, text: ForeignFile, target: str) -> ForeignFile | None:
        """Return the Markdown file that ``text`` leads to by a link or an import, as ``text``.

        Args:
            text: the file with the link.
            target: a path from there. One that leads out is refused before the file system is
                asked: a path of Windows may mean another machine.
        """
        path = Path(os.path.normpath(text.path.parent / target))
        away = target.startswith(("/", "~")) or PureWindowsPath(target).anchor
        if away or not path.is_relative_to(self.root):
            self.skip(target, OUTSIDE)
            return None
        if not target.lower().endswith(".md"):
            self.skip(target, "is no Markdown file")
            return None
        return self.text(path, named=target)

    def markdown(self, folder: Path, depth: int = DEEPEST) -> Iterator[Path]:
        """Yield the Markdown files in ``folder`` and below, by name, hidden ones left out."""
        for found, path in enumerate(self._below(folder, depth)):
            if found == MOST_FILES:
                self.skip(self._shown(folder), f"only its first {MOST_FILES:,} files were read")
                return
            yield path

    def _below(self, folder: Path, depth: int) -> Iterator[Path]:
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            self.skip(self._shown(folder), f"cannot be read ({error.strerror})")
            return
        for path in paths:
            if path.name.startswith("."):
                continue
            if path.suffix.lower() == ".md" and not path.is_dir():
                yield path
            elif path.is_symlink():
                if path.is_dir():
                    self.skip(self._shown(path), "a link to a folder")
            elif path.is_dir() and depth:
                yield from self._below(path, depth - 1)

    def _shown(self, path: Path) -> str:
        with suppress(ValueError):
            return path.relative_to(self.root).as_posix()
        return str(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise an ``InvalidInput`` that names the file in place of an error of the file system."""
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no file {path}; check the path") from error
    except IsADirectoryError as error:
        raise InvalidInput(f"{path} is a folder; name a file in it") from error
    except (OSError, RuntimeError, ValueError) as error:
        message = f"{path!s:.200} cannot be read ({error}); check its name and permissions"
        raise InvalidInput(message) from error


def root_of(path: Path) -> tuple[Path, Path | None]:
    """Return the folder to read, and the file in it if ``path`` is one; links are followed.

    Raises:
        InvalidInput: there is nothing at ``path``, or it is neither file nor folder.
    """
    with reading(path):
        place = path.resolve(strict=True)
        mode = place.stat().st_mode
    if stat.S_ISDIR(mode):
        return place, None
    return place.parent, place


def _content(path: Path) -> str:
    most = LARGEST_HISTORY if HISTORY.fullmatch(path.name) else LARGEST
    with open(os.open(path, OPENING), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _UnreadableError("is no regular file")
        raw = file.read(most + 1)
    if len(raw) > most:
        raise _UnreadableError(f"is larger than {most // 2**20} MiB; split it to import it")
    if b"\0" in raw:
        raise _UnreadableError("is no text but binary")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = "is no UTF-8 text; convert it, for example with iconv -t utf-8"
        raise _UnreadableError(why) from error

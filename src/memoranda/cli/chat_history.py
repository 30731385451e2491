"""What was typed at the prompt of ``memoranda chat``: a file of its own for each user.

It lies in the user's data folder and only they may read it. One line holds one entry as JSON, so
that several chats can add to it at once, and a text of several lines is one entry.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from platformdirs import user_data_path

from memoranda.notes.service import folder_name

FOLDER = "chat"
KEPT = 1_000
"""Entries that are offered again."""
MOST = 2 * KEPT
"""Entries from which the file is cut to those."""
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def history_file(user: str) -> Path:
    """Return where the prompts of ``user`` are kept, which need not exist."""
    return user_data_path("memoranda") / FOLDER / f"{folder_name(user)}.jsonl"


class PromptHistory:
    """The entries of one user, oldest first.

    A file that cannot be used is no reason not to talk: then they last as long as the chat.

    Args:
        path: the file; it is made with the first entry.
        warn: called once with what is wrong with it.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Read nothing yet."""
        self._path = path
        self._warn: Callable[[str], None] | None = warn

    def load(self) -> list[str]:
        """Return the newest entries, and cut a file that has grown long."""
        try:
            entries = self._read()
            if len(entries) > MOST:
                self._rewrite(entries[-KEPT:])
        except OSError as error:
            self._problem(error)
            return []
        return entries[-KEPT:]

    def add(self, text: str) -> None:
        """Keep what was typed, but for a line that is blank."""
        if not text.strip():
            return
        try:
            self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            file = os.open(self._path, APPEND, PRIVATE)
            try:
                if stat.S_IMODE(os.fstat(file).st_mode) != PRIVATE and hasattr(os, "fchmod"):
                    os.fchmod(file, PRIVATE)
                os.write(file, _line(text))
            finally:
                os.close(file)
        except OSError as error:
            self._problem(error)

    def erase(self, contents: Collection[str]) -> None:
        """Remove the entries that hold one of ``contents``."""
        try:
            entries = self._read()
            gone = [text.casefold() for text in contents]
            left = [
                entry for entry in entries if not any(text in entry.casefold() for text in gone)
            ]
            if len(left) < len(entries):
                self._rewrite(left)
        except OSError as error:
            self._problem(error)

    def _read(self) -> list[str]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        entries: list[str] = []
        for line in lines:
            with suppress(ValueError):  # Another program's line, or half of one.
                entry = json.loads(line)
                if isinstance(entry, str):
                    entries.append(entry)
        return entries

    def _rewrite(self, entries: Iterable[str]) -> None:
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.writelines(map(_line, entries))
            new.replace(self._path)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _problem(self, error: OSError) -> None:
        if self._warn is not None:
            self._warn(f"what you type is not kept for the next chat: {error}")
            self._warn = None


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"

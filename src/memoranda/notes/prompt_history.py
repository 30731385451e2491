"""The prompt history: what each user typed into ``memoranda chat``, kept for the next one.

A file of its own for each user in their data folder, which only they may read. One line holds one
entry as JSON, so that several chats can add to it at once, and a text of several lines is one
entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_data_path

from memoranda.notes.service import folder_name
from memoranda.text.erased import ErasedTexts, cut_out
from memoranda.text.files import NO_LINK, PRIVATE, write_whole

# Entries that are offered again.
KEPT = 1_000
# Entries from which the file is cut to those.
MOST = 2 * KEPT
PRIVATE_FOLDER = 0o700


def history_file(user: str) -> Path:
    """Return where the prompts of ``user`` are kept, which need not exist."""
    return user_data_path("memoranda") / "chat" / f"{folder_name(user)}.jsonl"


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
        entries: list[str] = []
        with self._told():
            entries = self._read()
            if len(entries) > MOST:
                write_whole(self._path, map(_line, entries[-KEPT:]))
        return entries[-KEPT:]

    def add(self, text: str) -> None:
        """Keep what was typed, but for a line that is blank."""
        if not text.strip():
            return
        with self._told():
            self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            with open(self._path, "ab", opener=_open_private) as file:
                if hasattr(os, "fchmod"):  # It may have been made by hand.
                    os.fchmod(file.fileno(), PRIVATE)
                file.write(_line(text))

    def erase(self, texts: ErasedTexts | None) -> bool:
        """Take what was erased, or everything, out of the entries; return whether there was any.

        An entry that says only that goes, and so does the command by which it was to be forgotten.
        """
        done = False
        with self._told():
            entries = self._read()
            left = [
                kept
                for each in entries
                if texts is not None and (kept := _without(texts, each)) is not None
            ]
            done = left != entries
            if done:
                write_whole(self._path, map(_line, left))
        return done

    def _read(self) -> list[str]:
        entries = []
        for line in self._path.read_bytes().split(b"\n") if self._path.exists() else ():
            with suppress(ValueError):  # Another program's line, or half of one.
                entries.append(json.loads(line))
        return [entry for entry in entries if isinstance(entry, str)]

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._warn is not None:
                self._warn(f"what you type is not kept for the next chat: {error}")
            self._warn = None


def _without(texts: ErasedTexts, entry: str) -> str | None:
    if texts.is_whole(entry) or (entry.startswith("/forget") and texts.is_in(entry)):
        return None
    return cut_out(entry, [each.piece for each in texts.find(entry)])


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags | NO_LINK, PRIVATE)


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"

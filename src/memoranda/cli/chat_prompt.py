"""The prompt of ``memoranda chat`` on a terminal, and its history.

What was typed is kept in a file of its own for each user, in their data folder, which only they
may read. One line holds one entry as JSON, so that several chats can add to it at once, and a
text of several lines is one entry. Only a terminal loads this module, and the prompt's library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_data_path
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import DummyHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from memoranda.cli.chat_commands import PipeReader
from memoranda.notes.service import folder_name
from memoranda.text.files import NO_LINK, PRIVATE, write_whole

LEAVES = "Ctrl+C again leaves; the session stays"
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

    def erase(self, contents: Collection[str]) -> None:
        """Remove the entries that hold one of ``contents``."""
        gone = [text.casefold() for text in contents]
        with self._told():
            entries = self._read()
            left = [each for each in entries if not any(text in each.casefold() for text in gone)]
            if len(left) < len(entries):
                write_whole(self._path, map(_line, left))

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


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags | NO_LINK, PRIVATE)


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


class TerminalReader(PipeReader):
    """A line editor: history, completion of commands, Alt+Enter for another line.

    Ctrl+C clears the line, and leaves where the line was just cleared or empty before. Ctrl+D
    leaves on an empty line.
    """

    def __init__(self, history: PromptHistory, commands: Mapping[str, str]) -> None:
        """Offer ``commands`` by name, each with what it does."""
        self._history = history
        self._commands = commands
        self._leaving = False
        self._session: PromptSession[str] | None = None

    def read(self) -> str | None:
        """Return what was typed; ``None`` where the person leaves."""
        if self._session is None:
            self._session = self._make()
        self._set_leaving(leaving=False)
        try:
            # What the library warns of meanwhile is printed above the prompt.
            with patch_stdout():
                text = self._session.prompt([("class:prompt", "> ")])
        except (EOFError, KeyboardInterrupt):
            return None
        self._history.add(text)
        return text

    def ask(self, question: str) -> str | None:
        """Return the answer on one line; empty for Ctrl+C and Ctrl+D."""
        try:
            return PromptSession[str](history=DummyHistory()).prompt(f"{question} ").strip()
        except (EOFError, KeyboardInterrupt):
            return ""

    def forget(self, contents: Collection[str]) -> None:
        """Remove what was typed that holds one of ``contents``."""
        self._history.erase(contents)
        self._session = None

    def _make(self) -> PromptSession[str]:
        session = PromptSession[str](
            history=InMemoryHistory(self._history.load()),
            completer=WordCompleter(
                list(self._commands), meta_dict=dict(self._commands), sentence=True
            ),
            # Elsewhere the menu would keep room below the prompt.
            complete_while_typing=Condition(lambda: _is_command(session.default_buffer.text)),
            key_bindings=self._keys(),
            prompt_continuation="  ",
            style=Style.from_dict({"prompt": "ansigreen bold", "hint": "ansibrightblack"}),
        )
        session.default_buffer.on_text_changed += lambda _: self._set_leaving(leaving=False)
        return session

    def _complete_only(self) -> str | None:
        """Return what is missing of the only command that begins as the line does."""
        if self._session is None:
            return None
        line = self._session.default_buffer.document
        found = [name for name in self._commands if name.startswith(line.text)]
        if not _is_command(line.text) or not line.is_cursor_at_the_end or len(found) != 1:
            return None
        return found[0][len(line.text) :] or None

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("tab", filter=Condition(lambda: self._complete_only() is not None))
        def _(event: KeyPressEvent) -> None:
            # Not by the menu: while it is being made, the library passes the key over.
            event.current_buffer.insert_text(self._complete_only() or "")

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            if self._leaving:
                event.app.exit(exception=EOFError, style="class:exiting")
                return
            event.current_buffer.reset()
            self._set_leaving(leaving=True)

        return keys

    def _set_leaving(self, *, leaving: bool) -> None:
        """Say whether the next Ctrl+C leaves, and show it."""
        self._leaving = leaving
        if self._session is not None:
            self._session.placeholder = [("class:hint", LEAVES)] if leaving else None


def _is_command(text: str) -> bool:
    return text.startswith("/") and "\n" not in text

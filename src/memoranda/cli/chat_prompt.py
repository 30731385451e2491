"""The prompt of ``memoranda chat`` on a terminal, and the lines of a pipe in its place.

Its library loads with the first prompt: no other command waits for it.
"""

# Imports stand in functions here, as the docstring says.
# ruff: noqa: PLC0415

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from memoranda.cli.chat_history import PromptHistory

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

MARK = "> "
CONTINUED = "  "
LEAVES = "Ctrl+C again leaves; the session stays"
STYLE = {"prompt": "ansigreen bold", "hint": "ansibrightblack"}


class Reader(Protocol):
    """Where what a person says comes from."""

    def read(self) -> str | None:
        """Return what was said next; ``None`` at the end."""

    def ask(self, question: str) -> str | None:
        """Return the answer to a question; ``None`` where nobody can be asked."""

    def forget(self, contents: Collection[str]) -> None:
        """Keep none of ``contents``."""


class Lines:
    """Lines of standard input, each said by itself. Nobody can be asked."""

    def read(self) -> str | None:
        """Return the next line that is not blank."""
        for line in sys.stdin:
            if line.strip():
                return line.rstrip("\r\n")
        return None

    def ask(self, question: str) -> str | None:
        """Ask nobody."""
        del question
        return None

    def forget(self, contents: Collection[str]) -> None:
        """Keep nothing anyway."""


class Prompt:
    """A line editor: history, completion of commands, Alt+Enter for another line.

    Ctrl+C clears the line, and leaves where the line was just cleared or empty before. Ctrl+D
    leaves on an empty line.
    """

    def __init__(self, history: PromptHistory, commands: Mapping[str, str]) -> None:
        """Offer ``commands`` by name, each with what it does."""
        self._history = history
        self._commands = commands
        self._armed = False
        self._session: PromptSession[str] | None = None

    def read(self) -> str | None:
        """Return what was typed; ``None`` where the person leaves."""
        from prompt_toolkit.patch_stdout import patch_stdout

        if self._session is None:
            self._session = self._made()
        self._arm(armed=False)
        try:
            # What the library warns of meanwhile is printed above the prompt.
            with patch_stdout():
                said = self._session.prompt([("class:prompt", MARK)])
        except (EOFError, KeyboardInterrupt):
            return None
        self._history.add(said)
        return said

    def ask(self, question: str) -> str | None:
        """Return the answer on one line; empty for Ctrl+C and Ctrl+D."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import DummyHistory

        try:
            return PromptSession[str](history=DummyHistory()).prompt(f"{question} ").strip()
        except (EOFError, KeyboardInterrupt):
            return ""

    def forget(self, contents: Collection[str]) -> None:
        """Remove what was typed that holds one of ``contents``."""
        self._history.erase(contents)
        self._session = None

    def _made(self) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.styles import Style

        session = PromptSession[str](
            history=InMemoryHistory(self._history.load()),
            completer=WordCompleter(
                list(self._commands), meta_dict=dict(self._commands), sentence=True
            ),
            # Elsewhere the menu would keep room below the prompt.
            complete_while_typing=Condition(lambda: _is_command(session.default_buffer.text)),
            key_bindings=self._keys(),
            prompt_continuation=CONTINUED,
            style=Style.from_dict(STYLE),
        )
        session.default_buffer.on_text_changed += lambda _: self._arm(armed=False)
        return session

    def _only(self) -> str | None:
        """Return what is missing of the only command that begins as the line does."""
        if self._session is None:
            return None
        line = self._session.default_buffer.document
        found = [name for name in self._commands if name.startswith(line.text)]
        if not _is_command(line.text) or not line.is_cursor_at_the_end or len(found) != 1:
            return None
        return found[0][len(line.text) :] or None

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()

        @keys.add("tab", filter=Condition(lambda: self._only() is not None))
        def _(event: KeyPressEvent) -> None:
            # Not by the menu: while it is being made, the library passes the key over.
            event.current_buffer.insert_text(self._only() or "")

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            if self._armed:
                event.app.exit(exception=EOFError, style="class:exiting")
                return
            event.current_buffer.reset()
            self._arm(armed=True)

        return keys

    def _arm(self, *, armed: bool) -> None:
        """Say whether the next Ctrl+C leaves, and show it."""
        self._armed = armed
        if self._session is not None:
            self._session.placeholder = [("class:hint", LEAVES)] if armed else None


def _is_command(text: str) -> bool:
    return text.startswith("/") and "\n" not in text

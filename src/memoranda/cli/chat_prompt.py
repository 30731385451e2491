"""The prompt of ``memoranda chat`` on a terminal: only there it and its library are loaded."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

KEYS = KeyBindings()


@KEYS.add("escape", "enter")
def _break_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


class TerminalPrompt:
    """A line editor: history, completion of commands, Alt+Enter for another line."""

    def __init__(self, said: Sequence[str], commands: Sequence[str]) -> None:
        """Offer what the person said before, and the names of commands."""
        self._session = PromptSession[str](
            [("ansigreen bold", "> ")],
            history=InMemoryHistory(said),
            completer=WordCompleter([*commands], sentence=True),
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=KEYS,
            prompt_continuation="  ",
        )

    def read(self) -> str | None:
        """Return what was typed; ``None`` for Ctrl+D, and for Ctrl+C on an empty line."""
        while True:
            try:
                return _read_line(self._session)
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not self._session.default_buffer.text:
                    return None

    def confirm(self, question: str) -> bool:
        """Ask a question whose answer is no unless it is yes."""
        try:
            answer = _read_line(PromptSession[str](f"{question} [y/N] "))
        except (EOFError, KeyboardInterrupt):
            return False
        return answer.strip().casefold() in {"y", "yes"}


def _read_line(session: PromptSession[str]) -> str:
    """Return what is typed; what the library warns of meanwhile is printed above the prompt."""
    with patch_stdout():
        return session.prompt()

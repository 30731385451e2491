"""The prompt of ``memoranda chat`` on a terminal: only there it and its library are loaded."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

from memoranda.cli.command import ending_signals, exit_on_signal, handle_signals

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
    """Return what is typed; a signal that ends the program does so once the prompt is gone.

    In the middle of it, the terminal would be left as the prompt has it.

    Raises:
        SystemExit: such a signal came.
    """
    numbers, app = list[int](), session.app

    def note(number: int, _frame: object) -> None:
        numbers.append(number)
        if app.loop is not None:
            app.loop.call_soon_threadsafe(leave)

    def leave() -> None:
        if numbers and app.is_running and not app.is_done:
            app.exit(exception=EOFError)

    # What the library warns of meanwhile is printed above the prompt.
    with handle_signals(ending_signals(), note), patch_stdout():
        try:
            return session.prompt(pre_run=leave)
        finally:
            if numbers:
                exit_on_signal(numbers[0], None)

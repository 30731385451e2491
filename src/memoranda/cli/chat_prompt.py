"""The prompt of ``memoranda chat`` on a terminal: only there it and its library are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import DummyHistory, FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from memoranda.cli.chat_commands import PipeReader
from memoranda.cli.command import exit_on_signal, handle_signals
from memoranda.serving.signals import ending_signals
from memoranda.text.files import PRIVATE

PRIVATE_FOLDER = 0o700
LEAVES = "Ctrl+C again leaves; the session stays"


class PromptHistory(FileHistory):
    """What a user typed in earlier chats, in a file of prompt_toolkit that only they may read.

    A file that cannot be used is no reason not to talk: then it lasts as long as the chat.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Read nothing yet; ``warn`` is called once with what is wrong with the file."""
        super().__init__(path)
        self._path = path
        self._warn: Callable[[str], None] | None = warn

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, the newest first."""
        try:
            return list(super().load_history_strings())
        except OSError as error:
            self._fail(error)
            return []

    def store_string(self, string: str) -> None:
        """Keep what was typed, but for a line that is blank."""
        if not string.strip():
            return
        try:
            self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._path.touch(PRIVATE)
            self._path.chmod(PRIVATE)  # It may have been made by hand.
            super().store_string(string.encode(errors="replace").decode())
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if self._warn is not None:
            self._warn(f"what you type is not kept for the next chat: {error}")
        self._warn = None


class TerminalReader(PipeReader):
    """A line editor: history, completion of commands, Alt+Enter for another line.

    Ctrl+C clears the line, and leaves where the line was just cleared or empty before. Ctrl+D
    leaves on an empty line.
    """

    def __init__(
        self, history: Path, commands: Mapping[str, str], warn: Callable[[str], None]
    ) -> None:
        """Offer what is in the file ``history``, and ``commands`` by name with what they do."""
        self._history, self._warn = history, warn
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
                text = _read_line(self._session, [("class:prompt", "> ")])
        except (EOFError, KeyboardInterrupt):
            return None
        return text

    def ask(self, question: str) -> str | None:
        """Return the answer on one line; empty for Ctrl+C and Ctrl+D."""
        try:
            return _read_line(PromptSession(history=DummyHistory()), f"{question} ").strip()
        except (EOFError, KeyboardInterrupt):
            return ""

    def reload(self) -> None:
        """Read the history anew, as something was erased from it."""
        self._session = None

    def _make(self) -> PromptSession[str]:
        session = PromptSession[str](
            history=PromptHistory(self._history, self._warn),
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


def _read_line(session: PromptSession[str], prompt: AnyFormattedText) -> str:
    """Return what is typed; a signal that ends the program does so once the prompt is gone.

    In the middle of it, the tasks of its event loop would be left, and tell of that.

    Raises:
        SystemExit: such a signal came.
    """
    numbers: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        numbers.append(number)
        if session.app.loop is not None:
            with suppress(RuntimeError):  # The loop has ended just now.
                session.app.loop.call_soon_threadsafe(leave)

    def leave() -> None:
        waiting = session.app.future
        if numbers and waiting is not None and not waiting.done():
            session.app.exit(exception=EOFError)

    with handle_signals(ending_signals(), note):
        try:
            return session.prompt(prompt, pre_run=leave)
        finally:
            if numbers:
                exit_on_signal(numbers[0], None)


def _is_command(text: str) -> bool:
    return text.startswith("/") and "\n" not in text

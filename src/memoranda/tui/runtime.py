"""The chat behind the screens: opened, and opened again with other settings."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from types import MappingProxyType

from rich.console import Console

from memoranda.agent import Agent
from memoranda.agent.session import ChatSession
from memoranda.errors import InvalidInput
from memoranda.memory import Memory, services_of
from memoranda.rendering.layout import Display
from memoranda.settings import configure
from memoranda.settings.configure import Setting, SettingChange
from memoranda.settings.settings import Settings
from memoranda.store.locations import MEMORY
from memoranda.tui.commands import MEANINGS

BUSY = "an answer is under way; Escape stops it"
MARGIN = 4  # columns of padding and scroll bar


class ChatRuntime:
    """A chat with its memory, which can be opened again on the same session.

    Attributes:
        doing: what is under way, in words.
        opened: called when the chat was opened again.

    Args:
        open_memory: opens the memory with settings.
        session: the conversation that goes on, or begins.
        given: options that win over settings, which ``open_memory`` uses, with their values, by
            the names of the settings.
    """

    def __init__(
        self,
        open_memory: Callable[[Settings], Memory],
        *,
        session: str = "chat",
        given: Mapping[str, tuple[str, str | None]] = MappingProxyType({}),
    ) -> None:
        """Open memory and conversation; nothing is asked yet."""
        self.doing = ""
        self.opened: Callable[[], object] = bool
        self._open_memory, self._given = open_memory, given
        self.chat = self._open(session)

    @property
    def agent(self) -> Agent:
        """The agent that the person talks to."""
        return self.chat.agent

    @property
    def memory(self) -> Memory:
        """The memory of the agent."""
        return self.agent.memory

    def make_display(self, columns: int) -> Display:
        """Return how results are drawn in so many columns, less the margin of a screen."""
        width = max(MARGIN, columns - MARGIN)
        console = Console(file=io.StringIO(), width=width, force_terminal=True)
        return Display(console, self.memory.settings.zone)

    def list_settings(self) -> list[Setting]:
        """Return every setting in force, with where it comes from."""
        return configure.list_settings(self.memory.settings, **self._given)

    def save(self, name: str, text: str) -> SettingChange:
        """Write a setting to the settings file, and open memory and agent again with it.

        Raises:
            InvalidInput, ConfigError: the value cannot be used; all is as it was.
        """
        self._require_reopening()
        session = self.agent.chat.id
        self._open(session, {name: text}).agent.memory.close()  # What cannot be used is refused.
        done = configure.put(name, text)
        self.switch(session)
        return done

    def switch(self, session: str) -> None:
        """Go on in a conversation: memory and agent are opened again, those before closed.

        Raises:
            InvalidInput: that cannot be done now.
        """
        self._require_reopening()
        before = self.memory
        self.chat = self._open(session)
        before.close()
        self.opened()

    def _require_reopening(self) -> None:
        if services_of(self.memory).store.location == MEMORY:
            raise InvalidInput("a memory without a file cannot be opened again")
        if self.doing:
            raise InvalidInput(BUSY)

    def _open(self, session: str, texts: Mapping[str, str] = MappingProxyType({})) -> ChatSession:
        memory = self._open_memory(Settings(**configure.override(texts)))
        try:
            return ChatSession(memory, session=session, own=MEANINGS)
        except BaseException:
            memory.close()
            raise

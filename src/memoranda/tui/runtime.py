"""The chat behind the screens: opened, and opened again with other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from memoranda.agent import Agent
from memoranda.agent.session import ChatSession
from memoranda.errors import InvalidInput
from memoranda.memory import Memory, services_of
from memoranda.settings import configure
from memoranda.settings.configure import Setting, SettingChange
from memoranda.settings.settings import Settings
from memoranda.store.locations import MEMORY
from memoranda.tui.commands import MEANINGS

THIS_SESSION = "this session"


class ChatRuntime:
    """A chat with its memory, which can be opened again on the same session.

    Args:
        open_memory: opens the memory with settings.
        session: the conversation that goes on, or begins.
        given: options that win over settings, with their values, by the names of the settings:
            of ``agent.system`` it is used here, the others by ``open_memory``.
        arguments: settings that win over file and environment, nested by group; what is changed
            for this session wins over them.
    """

    def __init__(
        self,
        open_memory: Callable[[Settings], Memory],
        *,
        session: str = "chat",
        given: Mapping[str, tuple[str, str | None]] = MappingProxyType({}),
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Open memory and conversation; nothing is asked yet."""
        self._open_memory = open_memory
        self._session, self._given = session, given
        self._arguments = dict(arguments or {})
        self._changed: dict[str, Any] = {}
        self._texts: Mapping[str, str] = {}
        self._open(session, self._texts)

    @property
    def agent(self) -> Agent:
        """The agent that the person talks to."""
        return self.chat.agent

    @property
    def memory(self) -> Memory:
        """The memory of the agent."""
        return self.agent.memory

    @property
    def open_again(self) -> bool:
        """Whether another memory can be opened on the same store."""
        return services_of(self.memory).store.location != MEMORY

    def close(self) -> None:
        """Close the memory; nothing is lost."""
        self.memory.close()

    # Settings

    def list_settings(self) -> list[Setting]:
        """Return every setting in force, with where it comes from."""
        changed = {name: (THIS_SESSION, value) for name, value in self._changed.items()}
        given = {name: each for name, each in self._given.items() if each[1] is not None}
        return configure.list_settings(self.memory.settings, **changed | given)

    def change(self, name: str, text: str) -> None:
        """Use a setting for this session alone: memory and agent are opened again with it.

        Raises:
            InvalidInput, ConfigError: the value cannot be used; all is as it was.
        """
        self._open(self._session, {**self._texts, name: text})
        shown = {each.name: each.value for each in configure.list_settings(self.memory.settings)}
        self._changed[name] = shown.get(name, text)

    def save(self, name: str, text: str) -> SettingChange:
        """Write a setting to the settings file, and go on with it.

        Raises:
            InvalidInput, ConfigError: the value cannot be used; all is as it was.
        """
        self._require_file()
        done = configure.put(name, text)
        self._drop(name)
        return done

    def reset(self, name: str) -> None:
        """Take back what was changed of a setting, in this session and in the settings file."""
        self._require_file()
        with suppress(InvalidInput):  # It is in no file.
            configure.unset(name)
        self._drop(name)

    def switch(self, session: str) -> None:
        """Go on in another conversation."""
        self._open(session, self._texts)

    def _require_file(self) -> None:
        if not self.open_again:
            raise InvalidInput(
                "a memory without a file cannot be opened again; set it with memoranda config "
                "set, and start again"
            )

    def _drop(self, name: str) -> None:
        self._changed.pop(name, None)
        kept = {each: text for each, text in self._texts.items() if each != name}
        self._open(self._session, kept)

    def _open(self, session: str, texts: Mapping[str, str]) -> None:
        """Open memory and agent, and close those before once the new ones are there."""
        before: ChatSession | None = getattr(self, "chat", None)
        if before is not None:
            self._require_file()
        memory = self._open_memory(Settings(**configure.override(self._arguments, texts)))
        try:
            _, system = self._given.get("agent.system", ("", None))
            chat = ChatSession(memory, session=session, system=system, own=MEANINGS)
        except BaseException:
            memory.close()
            raise
        self.chat = chat
        self._session, self._texts = session, texts
        if before is not None:
            before.agent.memory.close()

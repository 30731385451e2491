"""Starts the terminal user interface; the command line opens it by this name."""

from __future__ import annotations

from memoranda.memory import Memory
from memoranda.settings.settings import Settings
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime


def run(
    *, location: str | None, user: str, session: str, system: str | None, model: str | None
) -> None:
    """Run the interface until the person leaves.

    Args:
        location: where the memory is; by the settings, if not given.
        user: whose it is.
        session: the conversation that goes on, or begins.
        system: the system prompt; otherwise ``agent.system``.
        model: the language model; otherwise ``llm.model``.
    """

    def open_memory(settings: Settings) -> Memory:
        return Memory(location, user=user, settings=settings, llm=model)

    runtime = ChatRuntime(open_memory, session=session, system=system)
    try:
        MemorandaApp(runtime).run()
    finally:
        runtime.close()

"""Starts the terminal user interface; the command line opens it by this name."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.memory import Memory
from memoranda.settings.settings import Settings
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime


def run(
    *, location: str | None, user: str, session: str, given: Mapping[str, tuple[str, str | None]]
) -> None:
    """Run the interface until the person leaves.

    Args:
        location: where the memory is; by the settings, if not given.
        user: whose it is.
        session: the conversation that goes on, or begins.
        given: the options of the command line that win over settings, with their values, by the
            names of the settings.
    """

    def open_memory(settings: Settings) -> Memory:
        return Memory(location, user=user, settings=settings, llm=given["llm.model"][1])

    runtime = ChatRuntime(open_memory, session=session, given=given)
    app = MemorandaApp(runtime)
    try:
        app.run()
    finally:
        runtime.close()
    if app.return_code:  # A signal ended it.
        raise SystemExit(app.return_code)

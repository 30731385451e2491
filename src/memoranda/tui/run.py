"""Starts the terminal user interface; the command line opens it by this name."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.memory import Memory
from memoranda.settings.settings import Settings
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime


def run(*, user: str, session: str, given: Mapping[str, tuple[str, str | None]]) -> None:
    """Run the interface until the person leaves.

    Args:
        user: whose it is.
        session: the conversation that goes on, or begins.
        given: the options of the command line that win over settings, with their values, by the
            names of the settings: of ``location`` and ``llm.model`` at least.
    """
    location, model = given["location"][1], given["llm.model"][1]

    def open_memory(settings: Settings) -> Memory:
        return Memory(location, user=user, settings=settings, llm=model)

    runtime = ChatRuntime(open_memory, session=session, given=given)
    app = MemorandaApp(runtime)
    try:
        app.run()
    finally:
        runtime.memory.close()
    if app.return_code:  # A signal ended it, or a fault.
        raise SystemExit(app.return_code)

"""Hermes Agent: a provider of its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider

from memoranda.memory import Memory

# Who a person writes to; what other contexts say, such as scheduled jobs, is nobody's word.
PRIMARY = "primary"


class MemorandaProvider(MemoryProvider):
    """Recalls before each turn, keeps each turn, and gives the agent the tools of a memory.

    Args:
        location: of the memory; ``memoranda.db`` in the home of Hermes, if not given.
        budget: the most tokens that recalled memory may take.
    """

    name = "memoranda"

    def __init__(self, location: str | Path | None = None, *, budget: int = 1_000) -> None:
        """Open nothing yet but an empty memory, of whose tools the agent is told at first."""
        self.location, self.budget = location, budget
        self.session, self.writes = "", False
        self.memory = Memory(":memory:")

    def is_available(self) -> bool:
        """Return true: nothing else is needed."""
        return True

    def initialize(self, session_id: str, **given: Any) -> None:
        """Open the memory of the user, and of the profile as an agent of theirs."""
        self.shutdown()
        place = self.location or Path(given["hermes_home"]) / "memoranda.db"
        agent = given.get("agent_identity") or None
        self.memory = Memory(place, user=given.get("user_id") or "default", agent=agent)
        self.session = session_id
        self.writes = given.get("agent_context", PRIMARY) == PRIMARY

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what memory has for a message, from other sessions."""
        known = session_id or self.session
        if not query.strip():
            return ""
        return self.memory.recall(query, budget=self.budget, exclude_session=known).text

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", **_: Any
    ) -> None:
        """Keep what was said in a turn."""
        said = {"user": user_content, "assistant": assistant_content}
        if self.writes:
            self.memory.conversation(session_id or self.session).extend(
                {"role": role, "content": text} for role, text in said.items() if text.strip()
            )

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools of a memory."""
        return [tool.openai()["function"] for tool in self.memory.tools()]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """Return what a tool answers, as JSON."""
        return json.dumps({"result": self.memory.tools().find(tool_name).call(args)})

    def on_memory_write(self, action: str, target: str, content: str, **_: Any) -> None:
        """Keep what the tool of Hermes adds to its own files; what it removes there stays here."""
        del target
        if self.writes and action == "add":
            self.memory.remember(content, role="assistant", session=self.session)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """End the session: facts are learned from it."""
        del messages
        if self.writes:
            self.memory.conversation(self.session).end()

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Go on in another session."""
        self.session = new_session_id

    def shutdown(self) -> None:
        """Close the memory."""
        self.memory.close()

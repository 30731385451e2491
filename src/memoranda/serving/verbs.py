"""The verbs of a served memory that a model may use, for each user."""

from __future__ import annotations

from memoranda.memory import Memory, agent_tools, scope_of, services_of
from memoranda.model.models import Record, is_active
from memoranda.tools.agent import AgentTools


class Verbs:
    """What a server gives of one user's memory; secrets are masked.

    Attributes:
        memory: what it works on.
    """

    def __init__(self, memory: Memory) -> None:
        """Work on ``memory``."""
        self.memory = memory
        parts = services_of(memory)
        self._clock, self._searcher = parts.clock, parts.searcher(scope_of(memory))

    @property
    def tools(self) -> AgentTools:
        """What the model may call."""
        return agent_tools(self.memory, secrets=self.memory.settings.secrets.mcp)

    def notes(self) -> str:
        """Return MEMORY.md, in step with the store; empty, if there is nothing to say."""
        return self._searcher.show_text(self.memory.notes.context_text(make=True))

    def history(self) -> str:
        """Return HISTORY.md; empty, if there is none."""
        return self._searcher.show_text(self.memory.notes.read_history())

    def insight(self) -> Record | None:
        """Return the newest weekly insight."""
        return self._searcher.latest_insight(self._clock.now())

    def record(self, id: str) -> Record | None:
        """Return an active record of this user; forgotten ones are not shown."""
        found = self.memory.get(id)
        return self._searcher.show(found) if found and is_active(found, self._clock.now()) else None

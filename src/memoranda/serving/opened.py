"""An opened memory of a server: the verbs for each user, and its scheduled upkeep."""

from __future__ import annotations

from memoranda.memory import Memory
from memoranda.model.ports import Embedder
from memoranda.serving.verbs import Verbs
from memoranda.settings.settings import Settings

LAST_MOMENTS = 2.0
"""Seconds that closing waits for a job at hand; the next process takes it up from there."""


class Opened:
    """A memory that is served, for all its users.

    A server may be the only process that lives for long, so it runs the jobs of the settings:
    what expired is retired when it starts and every hour (S1.38, S1.39). Of several servers on one
    store, one runs each job.
    """

    def __init__(
        self, location: str | None, *, user: str, settings: Settings, embedder: Embedder | None
    ) -> None:
        """Open the memory and start its upkeep.

        Raises:
            MemorandaError: the store cannot be opened, or a time of a job cannot be read.
        """
        self._memory = Memory(location, user=user, settings=settings, embedder=embedder)
        try:
            self._upkeep = self._memory.schedule().background()
        except BaseException:
            self._memory.close()
            raise
        if settings.mcp.upkeep:
            self._upkeep.start()

    def verbs(self, user: str | None) -> Verbs:
        """Return what a model may do with the memory of ``user``, else that of the server."""
        return Verbs(self._memory if user is None else self._memory.as_user(user))

    def close(self) -> None:
        """End the upkeep and close the memory."""
        self._upkeep.close(LAST_MOMENTS)
        self._memory.close()

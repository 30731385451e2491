"""A memory that is opened when it is first asked for, so that a server answers before that."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from memoranda.settings.settings import Settings

if TYPE_CHECKING:
    from memoranda.memory import Memory


@dataclass(slots=True)
class LateMemory:
    """One store, for whoever asks. Thread-safe.

    A server may be the only process that lives for long, so it runs the jobs of the settings:
    what expired is retired when it starts and every hour (S1.38, S1.39). Several servers on one
    store divide the users.

    Attributes:
        location: as of :class:`memoranda.Memory`.
        user: whose memory it is for those who come without a name.
        settings: all else that can be set.
    """

    location: str | None
    user: str
    settings: Settings
    _opening: Lock = field(default_factory=Lock)
    _opened: Memory | None = None

    @classmethod
    def over(cls, memory: Memory) -> LateMemory:
        """Return a memory that is open already."""
        return cls(None, memory.user, memory.settings, _opened=memory)

    def of(self, user: str | None = None) -> Memory:
        """Return the memory of ``user``; opens the store at first.

        Raises:
            MemorandaError: the store cannot be opened, or a time of a job cannot be read; the
                next call tries again.
        """
        return self.opened() if user is None else self.opened().as_user(user)

    def opened(self) -> Memory:
        """Return the memory; opens the store at first, as :meth:`of` does."""
        from memoranda.memory import Memory  # noqa: PLC0415 - see the module

        with self._opening, ExitStack() as failing:
            if self._opened is None:
                memory = failing.enter_context(
                    Memory(self.location, user=self.user, settings=self.settings)
                )
                memory.run_upkeep()
                failing.pop_all()
                self._opened = memory
            return self._opened

    def close(self) -> None:
        """Close the memory, if it was opened. What asks after that opens it again."""
        with self._opening:
            memory, self._opened = self._opened, None
        if memory is not None:
            memory.close()

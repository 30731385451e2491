"""A memory that is opened when it is first asked for, so that a server answers before that."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from threading import Lock, Thread
from typing import TYPE_CHECKING

from memoranda.settings.settings import Settings

if TYPE_CHECKING:
    from memoranda.memory import Memory
    from memoranda.serving.verbs import Verbs

# The module that brings all of a memory with it, which takes most of a second to import.
OPENED = "memoranda.serving.verbs"


class LateMemory:
    """One store, for whoever asks. Thread-safe.

    A server may be the only process that lives for long, so it runs the jobs of the settings:
    what expired is retired when it starts and every hour (S1.38, S1.39). Several servers on one
    store divide the users.

    Args:
        location: as of :class:`memoranda.Memory`.
        user: whose memory it is for those who come without a name.
        settings: all else that can be set.
    """

    def __init__(self, location: str | None, *, user: str, settings: Settings) -> None:
        """Open and import nothing yet."""
        self._location, self._user, self._settings = location, user, settings
        self._opening = Lock()
        self._opened: Verbs | None = None
        self._closing = ExitStack()
        self._starting = Lock()
        self._loading: Thread | None = None

    def load(self) -> None:
        """Import what a memory needs while nobody waits for it.

        Returns at once, also while another thread opens the store.
        """
        with self._starting:
            if self._loading is None:
                self._loading = Thread(target=import_module, args=(OPENED,), name="memoranda-load")
                self._loading.start()

    def of(self, user: str | None = None) -> Verbs:
        """Return what a model may do with the memory of ``user``; opens the store at first.

        Raises:
            MemorandaError: the store cannot be opened, or a time of a job cannot be read; the
                next call tries again.
        """
        from memoranda.serving.verbs import Verbs  # noqa: PLC0415 - see the module

        with self._opening:
            verbs = self._opened = self._opened or Verbs(self._open())
        return verbs if user is None else Verbs(verbs.memory.as_user(user))

    def _open(self) -> Memory:
        from memoranda.memory import Memory  # noqa: PLC0415 - see the module

        with ExitStack() as opened:
            memory = opened.enter_context(
                Memory(self._location, user=self._user, settings=self._settings)
            )
            memory.run_upkeep()
            self._closing = opened.pop_all()
        return memory

    def close(self) -> None:
        """Close the memory, if it was opened. What asks after that opens it again."""
        with self._opening:
            self._opened, closing = None, self._closing.pop_all()
        closing.close()

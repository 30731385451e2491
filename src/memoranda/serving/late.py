"""A memory that is opened when it is first asked for, so that a server answers before that."""

from __future__ import annotations

from importlib import import_module
from threading import Lock, Thread
from typing import TYPE_CHECKING

from memoranda.model.ports import Embedder
from memoranda.settings.settings import Settings

if TYPE_CHECKING:
    from memoranda.serving.verbs import ServedMemory, Verbs

# The module that brings all of a memory with it, which takes most of a second to import.
OPENED = "memoranda.serving.verbs"


class LateMemory:
    """One store, for whoever asks. Thread-safe.

    Args:
        location: as of :class:`memoranda.Memory`.
        user: whose memory it is for those who come without a name.
        settings: all else that can be set.
        embedder: a model of your own in place of the configured one.
    """

    def __init__(
        self,
        location: str | None,
        *,
        user: str,
        settings: Settings,
        embedder: Embedder | None = None,
    ) -> None:
        """Open and import nothing yet."""
        self._given = {"user": user, "settings": settings, "embedder": embedder}
        self._location = location
        self._opening = Lock()
        self._opened: ServedMemory | None = None
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
            MemorandaError: the store cannot be opened; the next call tries again.
        """
        module = import_module(OPENED)
        with self._opening:
            opened: ServedMemory = self._opened or module.ServedMemory(
                self._location, **self._given
            )
            self._opened = opened
        return opened.verbs(user)

    def close(self) -> None:
        """Close the memory, if it was opened. What asks after that opens it again."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

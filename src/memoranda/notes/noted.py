"""What is known of the notes of each scope while a memory is open: so that a look costs little."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock

from memoranda.model.scope import Scope

Stamp = tuple[int, int, int]
"""Number, size and time of change of a file."""


@dataclass(slots=True)
class Look:
    """The notes of one scope as they were when file and store were last alike.

    Attributes:
        lock: held while they are read or written.
        stamp: of MEMORY.md; ``None`` where there was none.
        version: of the facts that are worth a line.
        text: of MEMORY.md; ``None`` before the first look.
        problem: why they could not be read or written the last time.
        uncommitted: why git could not keep them the last time.
        warned: what a person was told about them.
        preferred: facts that a model would rather keep in a file that is too long.
    """

    lock: RLock = field(default_factory=RLock)
    stamp: Stamp | None = None
    version: str = ""
    text: str | None = None
    problem: str | None = None
    uncommitted: str | None = None
    warned: frozenset[str] = frozenset()
    preferred: frozenset[str] | None = None


class Noted:
    """The looks at the notes of all scopes of a store. Thread-safe."""

    def __init__(self) -> None:
        """Nothing was looked at yet."""
        self._looks: dict[Scope, Look] = {}
        self._folders: dict[Scope, TemporaryDirectory[str]] = {}
        self._lock = RLock()

    def of(self, scope: Scope) -> Look:
        """Return the look at the notes of a scope."""
        with self._lock:
            return self._looks.setdefault(scope, Look())

    def folder(self, scope: Scope) -> Path | None:
        """Return the temporary folder of the notes of a scope, if there is one."""
        with self._lock:
            found = self._folders.get(scope)
            return None if found is None else Path(found.name)

    def new_folder(self, scope: Scope) -> Path:
        """Return a folder for the notes of a scope that lasts as long as the memory."""
        with self._lock:
            if scope not in self._folders:
                self._folders[scope] = TemporaryDirectory(prefix="memoranda-notes-")
            return Path(self._folders[scope].name)

    def temporary(self) -> list[tuple[Scope, Path]]:
        """Return the temporary folders and whose notes are in them."""
        with self._lock:
            return [(scope, Path(folder.name)) for scope, folder in self._folders.items()]

    def close(self) -> None:
        """Remove what lasts no longer."""
        with self._lock:
            for folder in self._folders.values():
                folder.cleanup()
            self._folders.clear()

"""The notes in git, as the doors ask for them: log, diff, restore, commit.

The room ``memoranda.notes.git`` knows git alone. Here a revision that comes back is an edit like
any other: what it says is read into the store.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from memoranda.errors import MemorandaError, NotFound
from memoranda.model.notes import MEMORY_FILE
from memoranda.notes.git import Commit, NotesGit
from memoranda.notes.notes import Notes
from memoranda.notes.report import NotesReport

__all__ = [
    "Commit",
    "Restoring",
    "commit",
    "committed",
    "diff",
    "is_versioned",
    "log",
    "restore",
    "restoring",
]

BY_HAND = "Keep the notes as they are"
"""What a commit says that nobody gave a message."""
LOGGED = 20
WARNINGS = 256
"""Different warnings that are remembered, so as not to be given again."""

logger = logging.getLogger("memoranda.notes")


class Synced(Protocol):
    """Notes that are kept in step with a store."""

    @property
    def folder(self) -> Path:
        """Where the files are."""

    def read_memory(self) -> str:
        """Return the text of MEMORY.md, in step with the store."""

    def sync(self, *, accept_removals: bool = False) -> NotesReport:
        """Read edits of MEMORY.md, then write what memory has learned."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """What bringing MEMORY.md of a revision back would change.

    Attributes:
        revision: the revision that was asked for.
        text: what MEMORY.md says in it.
        diff: from MEMORY.md as it is to that, as a unified diff; empty if they are the same.
    """

    revision: str
    text: str
    diff: str


def is_versioned(notes: Synced) -> bool:
    """Return whether the folder of the notes is in a work tree of git."""
    return NotesGit(notes.folder).is_repository()


def log(notes: Synced, *, limit: int = LOGGED) -> list[Commit]:
    """Return the last commits that changed notes, the newest first.

    Raises:
        InvalidInput: git is not installed, the folder is in no repository, or the limit is
            below 1.
        NotFound: there are no notes yet.
        StoreError: git failed; the message holds its own words.
    """
    return _git(notes).log(limit)


def diff(notes: Synced, revision: str | None = None) -> str:
    """Return how the notes differ from a commit, the last one if not given; empty if not at all.

    Raises:
        InvalidInput, StoreError: as for :func:`log`.
        NotFound: there is no such commit, or there are no notes yet.
    """
    return _git(notes).diff(revision)


def restoring(notes: Synced, revision: str) -> Restoring:
    """Return what :func:`restore` would change; nothing is changed but for what ``sync`` does.

    Raises:
        InvalidInput, StoreError: as for :func:`log`.
        NotFound: there is no such commit, or MEMORY.md is not in it.
    """
    then = _git(notes).show(revision)
    now = notes.read_memory()
    # Split at line feeds alone: other line ends are part of the text.
    before, after = (text.replace("\r\n", "\n").split("\n") for text in (now, then))
    names = f"{MEMORY_FILE} now", f"{MEMORY_FILE} in {revision}"
    changed = unified_diff(before, after, *names, lineterm="", n=2)
    return Restoring(revision, then, "\n".join(changed))


def restore(notes: Synced, change: Restoring) -> NotesReport:
    """Bring MEMORY.md of a revision back: it is written, then read as an edit by hand.

    Raises:
        StoreError: the file cannot be read or written.
    """
    # As a person's editor would: what comes of it is then read by whoever keeps the notes.
    Notes(notes.folder).write_memory(change.text)
    return notes.sync(accept_removals=True)


def commit(notes: Synced, message: str | None = None) -> str | None:
    """Commit the notes' files as they are, after edits were read; nothing else is committed.

    Returns:
        the id of the commit, or ``None`` if no note was changed since the last.

    Raises:
        InvalidInput: the message is blank, git is not installed or told to ignore the notes, or
            the folder is in no repository.
        NotFound, StoreError: there are no notes yet, or git refused.
    """
    notes.sync()
    return _git(notes).commit(BY_HAND if message is None else message)


def committed(notes: Synced, message: str) -> str | None:
    """Commit the notes' files where that can be done; for what happens by itself.

    Never raises for want of git: what stands in the way is logged as a warning, once.

    Returns:
        the id of the commit, or ``None`` if there was nothing to commit, or it was not possible.
    """
    try:
        return _git(notes).commit(message)
    except MemorandaError as error:
        _warn(str(error))
        return None


def _git(notes: Synced) -> NotesGit:
    """Return the repository around the notes.

    Raises:
        NotFound: there are no notes yet.
    """
    if not notes.folder.is_dir():
        message = f"there are no notes in {notes.folder} yet"
        raise NotFound(message)
    return NotesGit(notes.folder)


@lru_cache(maxsize=WARNINGS)
def _warn(problem: str) -> None:
    """Say once why the notes are not committed."""
    logger.warning("the notes were not committed: %s", problem)

"""Values of the Markdown notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoranda.model.checks import iso

MEMORY_FILE = "MEMORY.md"
HISTORY_FILE = "HISTORY.md"
MONTHLY_FILES = "HISTORY-*.md"
# Former texts of MEMORY.md, kept where a model made it shorter.
FORMER_FILES = "MEMORY-*.md"
# The patterns of all their names. Version 0.2 wrote the last one.
NOTES_FILES = (MEMORY_FILE, FORMER_FILES, HISTORY_FILE, MONTHLY_FILES, "MEMORY.md.damaged")
# From this size on, MEMORY.md is to be made smaller (``maxMemorySize``, requirement S2.06).
MEMORY_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of the history.

    Attributes:
        at: the moment in its heading, UTC.
        text: what stands below the heading, exactly as it was given.
        file: name of the file it was found in.
    """

    at: datetime
    text: str
    file: str = HISTORY_FILE

    def __str__(self) -> str:
        """The entry as it is read in the file."""
        return f"## {iso(self.at)}\n\n{self.text}"


def line_of(content: str) -> str:
    """Return the text of a record as MEMORY.md has it: on one line."""
    return " ".join(content.split())


def lines_of(notes: str) -> frozenset[str]:
    """Return the lines of notes without their bullets."""
    return frozenset(line_of(line.lstrip(" \t-*+")) for line in notes.splitlines())


@dataclass(frozen=True, slots=True)
class NotedLine:
    """A line of MEMORY.md that a store knows.

    Attributes:
        id: the record that it tells.
        digest: ``content_hash`` of its text, by which it is known when the record is gone.
    """

    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class NotesBase:
    """MEMORY.md as the store last read or wrote it: a difference since then is a person's edit.

    Attributes:
        folder: the folder of the notes, by its absolute path.
        lines: the lines of it that tell records, from top to bottom.
    """

    folder: str
    lines: tuple[NotedLine, ...] = ()


@dataclass(frozen=True, slots=True)
class NotesContent:
    """All that the notes of one scope say, for another store.

    Attributes:
        agent: whose they are, if they are an agent's.
        lines: the lines of MEMORY.md that tell records, as the store last saw it.
        files: name of each file → its text.
    """

    agent: str | None
    lines: tuple[NotedLine, ...]
    files: Mapping[str, str]

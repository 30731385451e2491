"""What one look at MEMORY.md did: what was read out of it, and what was written into it."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.model.models import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesReport:
    """What was done to bring MEMORY.md and the store into step.

    Attributes:
        added: facts that a person wrote into the file.
        corrected: facts that took the place of others, whose lines a person changed.
        forgotten: ids of facts whose lines a person took out.
        held: ids of facts whose lines are gone, so many at once that they are believed on until
            somebody says that it was meant.
        restored: whether the file was empty, missing or cut short, and made anew.
        written: whether the file was changed.
        over: bytes by which it is larger than it should be: all that is left was written by hand.
        lines: each deed in a line, for a person.
    """

    added: tuple[Record, ...] = ()
    corrected: tuple[Record, ...] = ()
    forgotten: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    restored: bool = False
    written: bool = False
    over: int = 0
    lines: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """How many edits of a person were read."""
        return len(self.added) + len(self.corrected) + len(self.forgotten)

    def __str__(self) -> str:
        """One line: what came in, what went, and what waits."""
        counts = {
            "added": len(self.added),
            "corrected": len(self.corrected),
            "forgotten": len(self.forgotten),
            "held back": len(self.held),
        }
        did = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        restored = "restored; " if self.restored else ""
        return f"notes: {restored}{did or ('written' if self.written else 'nothing to do')}"

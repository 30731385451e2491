"""The Markdown notes that a person can read and edit: MEMORY.md and the history (seed 002)."""

from recollect.notes.notes import Notes

__all__ = ["Notes"]

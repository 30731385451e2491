"""The Markdown notes that a person can read and edit: MEMORY.md and the history."""

from memoranda.notes.notes import Notes

__all__ = ["Notes"]

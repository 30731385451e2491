"""What is written into the history when a talk is told there (seed 002), without a model.

An entry quotes what mattered; a raw one keeps the last messages where an entry could not be made.
"""

from memoranda.notes.chronicle.entry import Chronicler
from memoranda.notes.chronicle.fallback import raw_fallback

__all__ = ["Chronicler", "raw_fallback"]

"""How much of a very long text is read for what is derived from it. All of it is stored."""

from __future__ import annotations

from typing import Final

#: Of a message or a record: the characters from which names, facts, times and requests are read.
MOST_READ: Final = 10_000
#: Of a sentence: the characters that are read.
LONGEST_SENTENCE: Final = 1_500

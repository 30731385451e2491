"""How much of a very long text is read for what is derived from it. All of it is stored."""

from __future__ import annotations

from typing import Final

#: Of a message or a record: the characters from which names, facts, times and requests are read.
MOST_READ: Final = 10_000
#: Of a sentence: the characters that are read.
LONGEST_SENTENCE: Final = 1_500
#: Of a question: the characters by which it is searched for.
MOST_ASKED: Final = 4_000


def shorten_question(text: str) -> str:
    """Return a question as it is searched for: of a very long one its beginning and its end."""
    if len(text) <= MOST_ASKED:
        return text
    half = MOST_ASKED // 2
    return f"{text[:half]}\n{text[-half:]}"

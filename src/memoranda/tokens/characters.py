"""Text as every tokenizer takes it: whole characters, in stretches of bounded length."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The longest text that a tokenizer is given at once. Memory stays small whatever the text is,
# and the regular expressions of tiktoken give up on some 500,000 spaces in a row.
STRETCH = 65_536
NEAR_END = 4_096
# Places that no piece of OpenAI's patterns crosses: before a space after anything but white
# space, and between a line break and a letter.
BREAK = re.compile(r"(?<=\S)(?= )|(?<=\n)(?=[^\W\d_])")


def whole(text: str) -> str:
    """Return ``text`` with U+FFFD for lone surrogates, which UTF-8 cannot hold.

    Two surrogates that belong together become the character they mean.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def stretches(text: str) -> Iterator[str]:
    """Yield ``text`` in parts of at most ``STRETCH`` characters.

    They are cut where no piece is, so the parts have as many tokens as the whole. Only in a
    text that goes on for ``NEAR_END`` characters without such a place is a piece cut in two,
    at the cost of one or two tokens in the 10,000 or more of a stretch.
    """
    start = 0
    while len(text) - start > STRETCH:
        end = start + STRETCH
        breaks = [found.start() for found in BREAK.finditer(text, end - NEAR_END, end)]
        end = breaks[-1] if breaks else end
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]

"""What a sentence of a talk does: asks, decides, tells what is done, failed or left open.

English, with the commonest forms of German, Spanish, French and Portuguese. What no pattern
knows is simply said.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "history")


class Label(StrEnum):
    """What a line of an entry tells."""

    ASKED = "asked"
    DECIDED = "decided"
    DONE = "done"
    FAILED = "failed"
    PLANNED = "planned"
    OPEN = "open"
    SAID = "said"


_FLAGS = re.IGNORECASE
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def is_casual(text: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a sentence is a greeting, thanks or the like, and nothing else.

    Args:
        text: the sentence.
        names: of those who talk, in lower case.
    """
    if any(sign.isdigit() for sign in text):
        return False
    if _EN.pattern("casual_unspaced", 0).fullmatch(text):
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    return all(word in _EN.words("casual") or word in names for word in words)


def label_of(text: str, *, asks: bool, person: bool, chat: bool) -> Label | None:
    """Return what a sentence does; ``None`` for one of an assistant that does nothing.

    Args:
        text: the sentence.
        asks: whether it ends with a question mark.
        person: whether a person says it.
        chat: whether persons talk with an assistant, and so ask it for things.
    """
    text = text.replace("’", "'")
    if not person:
        if asks:
            return None
        if _EN.pattern("agent_failed").search(text):
            return Label.FAILED
        return Label.DONE if _EN.pattern("agent_done").search(text) else None
    if asks or (chat and _EN.pattern("request").search(text)):
        return Label.ASKED
    own = _QUOTED.sub("", text)
    for label, pattern in _OF_PERSONS:
        if pattern.search(own) and (label is not Label.PLANNED or _EN.pattern("own").search(own)):
            return label
    return Label.SAID


_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<![^\s:(])'(?=[A-Z])[^\n]{1,300}?(?<=[\w.,!?])'(?!\w)"
)
_OF_PERSONS = (
    (Label.DECIDED, _EN.pattern("decided")),
    (Label.OPEN, _EN.pattern("open")),
    (Label.FAILED, _EN.pattern("failed")),
    (Label.DONE, _EN.pattern("done")),
    (Label.PLANNED, _EN.pattern("planned")),
)

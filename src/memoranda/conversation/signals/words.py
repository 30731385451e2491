"""Text as sentences of words: one form for all the ways in which the same can be written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from memoranda.text.patterns import compile_pattern

END = "$"
HEAD, TAIL = 2_500, 1_500  # characters that are read of a longer text

_HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_ENDS = frozenset(".!?\n")
_ASKING = frozenset("吗嗎呢か")  # what ends a question, with or without a mark
_WORDS = compile_pattern(r"\w+(?:\.\w+)*|[,.!?\n]")
_WORDS_WITHOUT_SPACES = compile_pattern(
    rf"[^\W{_HAN_AND_KANA}]+(?:\.[^\W{_HAN_AND_KANA}]+)*|[{_HAN_AND_KANA}]|[,.!?\n]"
)
_ACCENT = compile_pattern("[\u0300-\u036f\u064b-\u0655]")
_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\u00b4'", ""),
        **dict.fromkeys(";:", ","),
        **dict.fromkeys("\u2014\u2013\uff0c\uff1a\uff1b\u3001\u060c\u061b", " , "),
        **dict.fromkeys("\u3002\u0964\uff01", ". "),
        **dict.fromkeys("\u061f\uff1f", "? "),
    }
)
_CODE = compile_pattern(r"```.*?(?:```|\Z)|^[ \t]*>.*$|###\w+###", re.DOTALL | re.MULTILINE)


def excerpt(text: str) -> str:
    """Return the text, or head and tail of one that is very long."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def prose(text: str) -> str:
    """Return the text without code blocks, quoted lines and control marks (``###STOP###``)."""
    if "```" in text or ">" in text or "###" in text:
        return _CODE.sub("\n", text)
    return text


def fold(text: str) -> str:
    """Return the text without case, accents and apostrophes, with plain punctuation.

    A colon, a semicolon and a dash separate as a comma does.
    """
    if not text.isascii():
        bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text.casefold().translate(_MARKS)))
        text = unicodedata.normalize("NFC", bare)
    plain = text.lower().replace("'", "").replace(";", ",").replace(":", ",")
    return plain.replace(" - ", " , ")


def words(folded: str) -> list[str]:
    """Return the words, commas and sentence ends of folded text.

    A name such as ``app.py`` is one word, and so is each character of Chinese.
    """
    pattern = _WORDS if folded.isascii() else _WORDS_WITHOUT_SPACES
    return pattern.findall(folded)


def sentences(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each sentence of ``text``, END last, and whether it asks."""
    found: list[str] = []
    for word in (*words(fold(text)), "."):
        if word not in _ENDS:
            found.append(word)
        elif found:
            asks = word == "?" or found[-1] in _ASKING
            found.append(END)
            yield found, asks
            found = []

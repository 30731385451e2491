"""Finds entities by their form: addresses, tags, dates, titles in brackets.

One pattern (``languages/mul/marks.toml``) finds them all in one pass, so that an earlier form
hides the later ones: what is inside code or a URL is never a hashtag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from memoranda.model.models import Mention
from memoranda.text.calendar import month_numbers
from memoranda.text.patterns import LanguageData, compile_pattern, is_word, word_list

# What stands in names and around them, by what it tells.
names = partial(word_list, "names")


_MONTHS = {"months": partial(month_numbers, "en", "de", "fr", "es")}
_MARKS = LanguageData("mul", "marks", _MONTHS, re.IGNORECASE | re.DOTALL)
_HEX = compile_pattern(r"[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8}", re.IGNORECASE)
_YEAR = compile_pattern("[0-9]{4}")
_DOUBTFUL_MONTH = compile_pattern(r"\b(?:may|march|mar)\b")


def find_marks(text: str) -> Iterator[tuple[int, int, Mention | None]]:
    """Yield start, end and mention of everything recognizable by its form.

    ``None`` stands for a stretch that holds no names at all: code, a refused form.
    """
    for match in _MARKS.marks.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if not _stands_alone(kind, text, start, end):
            continue
        if kind == "url":
            end = _url_end(text, start, end)
        if kind == "title":
            yield start, end, Mention(text[start + 1 : end - 1], "other", start + 1, end - 1, 0.9)
        elif kind == "code" or not _is_genuine(kind, text[start:end]):
            yield start, end, None
        else:
            yield start, end, Mention(text[start:end], kind, start, end)


def _stands_alone(kind: str, text: str, start: int, end: int) -> bool:
    """Return whether no letter or sign stands before or after a mark with which it is another."""
    if kind not in _BESIDE or "\u5e74" in text[start:end]:
        return True
    first, last = _BESIDE[kind]
    numeric = kind == "date" and not any(map(str.isalpha, text[start:end]))
    before, after = text[start - 1 : start] if start else " ", text[end : end + 1] or " "
    goes_on = after in (last + "-/" * numeric) or (kind != "hashtag" and is_word(after))
    return not (is_word(before) or before in first or goes_on)


# By kind, the signs before and after that make it another thing; so do letters and digits.
_BESIDE = {
    "email": (".+%-", "@_"),
    "date": ("/.-", "_"),
    "mention": ("@./", "/@_"),
    "hashtag": ("&#/", ""),
}


_OPENING = {")": "(", "]": "[", "}": "{"}
_PUNCTUATION = ".,;:!?'\"*_~…’>|"


def _url_end(text: str, start: int, end: int) -> int:
    """Leave out the punctuation of the sentence, and brackets that the URL did not open."""
    url = text[start:end].rstrip(_PUNCTUATION)
    while url[-1:] in _OPENING and url.count(url[-1]) > url.count(_OPENING[url[-1]]):
        url = url[:-1].rstrip(_PUNCTUATION)
    return start + len(url)


def _is_genuine(kind: str, mark: str) -> bool:
    """Refuse colours, preprocessor lines and doubtful dates."""
    if kind == "hashtag":
        body = mark[1:]
        if body in names("code_words") or body.isdecimal():
            return False
        colour = _HEX.fullmatch(body) is not None
        return not (colour and (any(c.isdigit() for c in body) or len(set(body.lower())) == 1))
    # "may 5" and "march 10" without a capital or a year are as often a verb.
    doubtful = kind == "date" and _DOUBTFUL_MONTH.search(mark) is not None
    return not doubtful or _YEAR.search(mark) is not None

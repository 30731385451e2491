"""Writes out what is typed in a hurry: without apostrophes and capitals, shortened or misspelt.

What reads sentences may then expect them as they are written with care. Only English sentences
are changed, and names get their capital only in a text that has none of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import re2

from memoranda.facts.forms import compile_form
from memoranda.facts.reader import known_words, mask_halves
from memoranda.model.models import Mention
from memoranda.text.patterns import any_of, languages_with, load, words_of

_SENTENCE = r"[^.!?\n]+"
# What is written with care: a capital where a sentence begins, or in "I".
_CAREFUL = r"(?:^|[.!?\n]\s*)[A-Z][a-z]|\bI\b"
_NAMED = frozenset({"person", "location", "organization", "other"})
# What joins a word to the rest of an address or a longer word.
_JOINING = "'’@/_-"
# Lists of words that may be typed in small letters and be no name.
_WORDS = ("everyday", "function_words", "names_and_words")


def write_out(text: str) -> str:
    """Return a text with the apostrophes and letters that it leaves out: ``I'm`` for ``im``.

    Each sentence may be in another language: "Ich arbeite im Kino. My dog is called Rex."
    """
    shown = mask_halves(text)
    if not _known().search(shown) and not any(form.search(shown) for form, _ in _forms()):
        return text
    return str(_compile(_SENTENCE).sub(lambda found: _write_sentence(found[0]), shown))


def lacks_capitals(text: str) -> bool:
    """Return whether a text is typed without capitals, where English has them."""
    return _compile(_CAREFUL).search(mask_halves(text)) is None


def find_names(text: str, mentions: Iterable[Mention]) -> frozenset[str]:
    """Return the names that a text writes with capitals, and the first names of persons."""
    found = set()
    for mention in mentions:
        first, _, rest = mention.text.partition(" ")
        # "The Damp Towels" are no person that is spoken of.
        titled = text[: mention.start].lower().endswith("the ")
        if mention.text[:1].isupper() and mention.type in _NAMED and not titled:
            found.add(mention.text)
            if rest and mention.type == "person" and first.lower() not in _titles():
                found.add(first)
    return frozenset(each for each in found if not _is_word(each))


def capitalize_names(text: str, names: Iterable[str], mentions: Sequence[Mention]) -> str:
    """Return a text with the capitals of names that it has in small letters.

    Args:
        text: typed without capitals.
        names: those that the conversation writes with capitals.
        mentions: the named things that are found in the text itself.
    """
    text = mask_halves(text)
    written = {each.lower(): each for each in names}
    for mention in mentions:
        if mention.type in _NAMED and mention.text.islower():
            written.setdefault(mention.text, mention.text.title())
    told = load("en", "spelling")["names"]
    for found in compile_form(told["introduced"]).finditer(text):
        name = found["name"]
        if name not in told["no_names"] and not _is_word(name, _WORDS[:2]):
            written.setdefault(name.lower(), name.title())
    if not written:
        return text
    longest = sorted(written, key=len, reverse=True)
    form = compile_form(rf"\b({'|'.join(map(re2.escape, longest))})(s [a-z]|\b)")
    text = form.sub(lambda found: _capitalize(found, written), text)
    for source, becomes in told["titles"].items():
        text = compile_form(source).sub(becomes, text)
    return str(text)


def _capitalize(found: Any, written: dict[str, str]) -> str:
    """Return a name with its capitals, and with the mark of whose something is: ``Ana's``."""
    name, rest = found[1], found[2]
    if not name.islower():
        return str(found[0])
    mark = "'" if rest else ""
    return f"{written[name.lower()]}{mark}{rest}"


def _write_sentence(sentence: str) -> str:
    """Return a sentence written out, unless it is in another language."""
    table = load("en", "spelling")["words"]
    words = frozenset(sentence.lower().split()).difference(table)
    english = known_words("en", words)
    if any(known_words(code, words) > english for code in languages_with("function_words")):
        return sentence
    sentence = _known().sub(_write_word, sentence)
    for form, becomes in _forms():
        sentence = form.sub(becomes, sentence)
    return str(sentence)


def _write_word(found: Any) -> str:
    """Return the word for one that is typed, unless it is a part of an address or another word."""
    joined = found.string[found.end() :][:1] in {*_JOINING}
    word = load("en", "spelling")["words"][found[2].lower()]
    return str(found[0] if joined else found[1] + word)


def _is_word(name: str, lists: Sequence[str] = _WORDS) -> bool:
    """Return whether a name is a word of one of some lists, and may stand for itself."""
    low = name.lower()
    return any(low in words_of(each, "en") for each in lists)


@cache
def _titles() -> frozenset[str]:
    return frozenset(load("en", "names")["titles"])


@cache
def _known() -> Any:
    """Return what finds a word that is written otherwise with care."""
    words = any_of(load("en", "spelling")["words"])
    return _compile(rf"(?i)(^|[^\w'’@/#.-])({words})\b")


@cache
def _forms() -> Sequence[tuple[Any, str]]:
    table = load("en", "spelling")["forms"]
    return [(compile_form(source), becomes) for source, becomes in table.items()]


@cache
def _compile(source: str) -> Any:
    return re2.compile(source)

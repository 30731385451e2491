"""Values of attributes: in which form they are compared, and when two are the same.

Two values are the same as wholes or not at all. What only holds the words of another is narrower
or something else: pine nuts are no nuts, Jersey is not New Jersey, and Ana is not Ana Maria.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import dropwhile

from memoranda.text.patterns import compile_pattern, languages_with, load, stands_alone
from memoranda.text.terms import fold, normalize, stemmer

_WORD = compile_pattern(r"[^\W_]+(?:[.@'’+#-]+[^\W_]+)*[+#]*")
_ARTICLE = compile_pattern("^(?:the|a|my|our) ")
_DAY = compile_pattern(r"(\d{1,2})(?:st|nd|rd|th)")
_EDGE = " \t\n.,;:!?()[]\"'*_`\u3001\u3002\uff01\uff1f\u300c\u300d"


@lru_cache(maxsize=4096)
def value_key(value: str) -> frozenset[str]:
    """Return the words of a value that tell it, without case, accents, articles and pronouns."""
    words = _WORD.findall(fold(normalize(value)))
    return frozenset(each for each in words if each not in _small_words("")) or frozenset(words)


def same_value(one: str, other: str, language: str = "", *, plural: bool = False) -> bool:
    """Return whether two values are the same as wholes: ``a Volvo`` and ``the volvo``.

    Args:
        one: a value.
        other: the other value.
        language: whose articles and possessives at the beginning count for nothing; of all
            languages, where it is not known.
        plural: whether they are no names, and so the same in singular and plural: ``nut``.
    """
    left, right = (_value_words(each, language) for each in (one, other))
    if plural and left != right:
        single = load("mul", "comparison")["plurals"]
        both = ([single.get(word, word) for word in each] for each in (left, right))
        left, right = (tuple(stems(each, language)) for each in both)
    return bool(left) and left == right


def is_part_of_name(short: str, name: str) -> bool:
    """Return whether a name is the beginning or the end of a longer one: of Dana Smith."""
    part, whole = _value_words(short, ""), _value_words(name, "")
    length = len(part)
    return 0 < length < len(whole) and part in {whole[:length], whole[-length:]}


def stems(words: Sequence[str], language: str = "en") -> list[str]:
    """Return the Snowball stems of words; the words, in a language that has none."""
    with suppress(KeyError):
        return [fold(each) for each in stemmer(language).stemWords([*words])]
    return [*words]


def replace_value(content: str, old: str, new: str) -> str:
    """Return a text with another value; empty where it does not hold the old one just once."""
    wrong, right = (_ARTICLE.sub("", each) for each in (old, new))
    days = [_DAY.fullmatch(each) for each in (wrong, right)]
    if all(days) and wrong not in content:  # "The 11th" is "11 December".
        wrong, right = (each[1] for each in days if each is not None)
    form = compile_pattern(re.escape(wrong), re.IGNORECASE)
    places = [each.span() for each in form.finditer(content)] if wrong and right else []
    found = [each for each in places if stands_alone(content, *each)]
    start, end = found[0] if len(found) == 1 else (0, 0)
    day, _, month = right.partition(" ")
    if month and wrong.isalnum() and wrong[0].isdigit():  # "The 5th of July, not the 3rd."
        end = end if content[end:].lower().startswith(f" {month.lower()}") else 0
        right = day
    return f"{content[:start]}{right}{content[end:]}" if end else ""


@lru_cache(maxsize=4096)
def _value_words(value: str, language: str) -> tuple[str, ...]:
    """Return the folded words of a value without articles and possessives before them.

    "Ana's" is Ana, and "l'arachide" two words.
    """
    words: list[str] = []
    for each in normalize(value).replace("-", " ").split():
        words += filter(None, fold(each).strip(_EDGE).removesuffix("'s").split("'"))
    small = _small_words(language)
    return tuple(dropwhile(small.__contains__, words)) or tuple(words)


@lru_cache(maxsize=16)
def _small_words(language: str) -> frozenset[str]:
    """Return articles and possessives of a language, or of all, which tell nothing of a value."""
    return frozenset(
        word
        for code in ([language] if language else languages_with("facts"))
        for word in load(code, "facts")["words"].get("small_words", ())
    )

"""The few forms that are read in German, Spanish and French: name, age, home, taste, remember.

What somebody asks to remember is kept as it stands, with who said it; the rest becomes English
around their own words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memoranda.learning.claims import Category
from memoranda.learning.extract.rewriting import Person

_END = r"(?P<value>[^,.;:!?\n]{2,60})"
_NAME = r"(?P<value>(?-i:[A-ZÀ-Ý])[\w'-]+(?: (?-i:[A-ZÀ-Ý])[\w'-]+){0,2})"


class Foreign(NamedTuple):
    """What was found: sentence, kind, score, and where it stands in the sentence read."""

    text: str
    category: Category
    score: float
    start: int
    end: int


_LIVES = re.compile(
    rf"\b(?:(?:ich |und )(?:wohne|lebe) in|vivo en|j'habite (?:à|en|au)) {_END}", re.IGNORECASE
)
_LIKES = re.compile(
    rf"\b(?:ich (?:mag|liebe)(?! (?:es|das|dich|sie)\b)|me (?:gusta|gustan|encanta|encantan)|"
    rf"j'(?:aime|adore)(?! (?:pas|ça)\b)) {_END}",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:ich hei(?:ß|ss)e|mein name ist|me llamo|mi nombre es|je m'appelle|mon nom est) " + _NAME,
    re.IGNORECASE,
)
_AGED = re.compile(
    r"\b(?:ich bin (?P<a>\d{1,3}) jahre alt|tengo (?P<b>\d{1,3}) años|j'ai (?P<c>\d{1,3}) ans)\b",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^\s*(?:bitte\s+|por favor,?\s+|s'il (?:te|vous) plaît,?\s+)?"
    r"(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht|recuerda|no olvides|ten en cuenta|"
    r"souviens-toi|n'oublie pas|rappelle-toi|retiens)\b,?\s*"
    r"(?:bitte\b,?\s*)?(?:dass|daß|que|qu')?\s*:?\s*"
    r"(?P<value>.{8,200}?)[.!]*\s*$",
    re.IGNORECASE,
)


_NEGATOR = re.compile(
    r"\b(?:no|nunca|jamás|tampoco|nada|ni|sin|nicht|nie|niemals|nichts|weder|kein\w*|ne|pas|plus|"
    r"jamais|rien|não|nem)\b|\bn'",
    re.IGNORECASE,
)
"""In a sentence that denies anything, what seems stated may be its opposite."""


def read_foreign(shown: str, said: str, person: Person) -> Foreign | None:
    """Return what a sentence in another language states; ``None`` for nothing known.

    Args:
        shown: the sentence, masked.
        said: the sentence as it is written, as long.
        person: who says it.
    """
    whose, who = person.possessive, person.name
    denied = _NEGATOR.search(shown) is not None
    for pattern, form, category in (
        (_CALLED, "{whose} name is {value}.", Category.IDENTITY),
        (_LIVES, "{who} lives in {value}.", Category.IDENTITY),
        (_LIKES, "{who} likes {value}.", Category.PREFERENCE),
        (_AGED, "{who} is {value} years old.", Category.IDENTITY),
        (_REMEMBER, '{who} said: "{value}."', Category.REMEMBER),
    ):
        found = pattern.search(shown)
        asked = category is Category.REMEMBER
        if found is None or (denied and not asked):
            continue
        start, end = found.span(0 if asked else found.lastgroup or 0)
        value = said[start:end].strip()
        if asked:
            value = value.rstrip(".! ").replace('"', "'")
        text = form.format(whose=whose, who=who, value=value)
        return Foreign(text[0].upper() + text[1:], category, 0.8, found.start(), found.end())
    return None

"""What a text states: its sentences, the words of change in them, and their values.

A value is a number, a share, a price, a time or the like. Two statements about the same thing
with different values of one sort cannot both be true at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoranda.text.folding import normalize

LONGEST = 2_500  # characters of a text that are read
MOST_SENTENCES = 40

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*\n\s*|(?<=[\u3002\uff01\uff1f])")
_ASKS = re.compile(
    r"\W*(?:(?:and|but|so|also|ok(?:ay)?|please|well)\W+)*(?:can|could|would|will|should|shall|may"
    r"|is|are|am|do|does|did|has|have|how|what|which|who|whom|whose|where|when|why)\b[^?]*\?\W*",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|currently|nowadays|these days|by now|as of|recent(?:ly)?|latest(?:ly)?|newly"
    r"|no longer|any ?more|instead|actually|correction|corrected|turn(?:s|ed) out|since then"
    r"|(?:up|down)(?:dat|grad|siz)(?:ed?|es|ing)|re(?:nam|vis|siz)(?:ed|es|ing)"
    r"|chang(?:ed?|es|ing)|switch(?:ed|es|ing)|mov(?:ed|ing)|rais(?:ed|ing)|lower(?:ed|ing)"
    r"|increas(?:ed?|es|ing)|decreas(?:ed?|es|ing)|reduc(?:ed|es|ing)|improv(?:ed|es|ing)"
    r"|exten(?:ded|ds|ding|sion)|shorten(?:ed|ing)|postponed|delayed|rescheduled|brought"
    r"|push(?:ed|ing) (?:back|out|forward)|gr(?:ew|own|owth|owing)|rose|risen|dropp(?:ed|ing)"
    r"|f(?:ell|allen)|went (?:up|down)|replac(?:ed|es|ing)|adjust(?:ed|ing)|bumped|boosted"
    r"|expand(?:ed|ing)|cut (?:to|down)|reach(?:ed|es|ing)|climbed|doubled|halved|tripled"
    r"|added|adding|joined|removed|makes it|in total|total of|(?:up|down) (?:to|from))\b",
    re.IGNORECASE,
)
_NEW = re.compile(r"\bnew((?: [^\W_]+){1,3})", re.IGNORECASE)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_PART_OF_DATE = re.compile(rf"{_MONTH}|{_WEEKDAY}", re.IGNORECASE)
_SPELLED = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen twenty",
)
_NUMBER = rf"(?:\d[\d,]*(?:\.\d+)?|(?:{'|'.join(_SPELLED[2:])})\b)"
_VALUE = re.compile(
    rf"""(?<![\w.])(?:
    (?P<date>{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?
        |\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?:,?\s+\d{{4}})?
        |{_MONTH}\s+\d{{4}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|{_WEEKDAY}\b)
    |(?P<clock>\d{{1,2}}:\d\d(?:\s*[ap]m)?\b|\d{{1,2}}\s*[ap]\.?m\b|noon\b|midnight\b)
    |(?P<share>{_NUMBER}\s*(?:%|percent\b|per\ cent\b))
    |(?P<money>[$€£¥₹]\s*\d[\d,]*(?:\.\d+)?[km]?\b
        |{_NUMBER}\s*(?:€|£|dollars?|euros?|usd|eur|gbp|pounds|bucks)\b)
    |(?P<version>v\d+(?:\.\d+)*\b|\d+\.\d+\.\d+(?:\.\d+)*\b)
    |(?P<span>{_NUMBER}[\s-]*(?:ms|milliseconds?|s|secs?|seconds?|min|mins|minutes?|h|hrs?|hours?
        |days?|nights?|weeks?|months?|years?)\b)
    |(?P<measure>{_NUMBER}[\s-]*(?:[kmgt]i?b|kg|lbs?|grams?|km|cm|mm|m|miles?|kilomet(?:er|re)s?
        |met(?:er|re)s?|feet|mg|litres?|liters?)\b)
    |(?P<number>{_NUMBER}))""",
    re.IGNORECASE | re.VERBOSE,
)

LONGEST_AIM = 12
_AIM = re.compile(
    r"\b(?:under|below|within|less than|at (?:least|most)|goal of|aim of|target of)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a sentence.

    Attributes:
        sort: date, clock, share (of a hundred), money, version, span (of time), measure, number.
        plain: in lower case, its number in digits and without separators.
        start, end: its first character, and the character after it.
    """

    sort: str
    plain: str
    start: int
    end: int


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences at the beginning of ``text`` that are not questions, without code."""
    text = normalize(text[: 4 * LONGEST])
    prose = (_CODE.sub("\n", text) if "```" in text else text)[:LONGEST]
    stated = (one for one in _END.split(prose) if one and not _ASKS.fullmatch(one))
    for _, sentence in zip(range(MOST_SENTENCES), stated, strict=False):
        yield sentence


def speaks_of_change(sentence: str, things: tuple[str, ...] = ()) -> bool:
    """Return whether a sentence says that something is not as it was.

    "New" alone may be said of anything; it counts of words that begin like ``things``.
    """
    return _CHANGE.search(sentence) is not None or any(
        word.startswith(things)
        for match in _NEW.finditer(sentence)
        for word in match[1].lower().split()
    )


def values(sentence: str) -> list[Value]:
    """Return the values in a sentence, in order, without those that are only aimed at."""
    return [
        Value(match.lastgroup or "", _plain(match[0]), match.start(), match.end())
        for match in _VALUE.finditer(sentence)
        if not _AIM.search(sentence, max(0, match.start() - LONGEST_AIM), match.start())
    ]


def is_part_of_date(word: str) -> bool:
    """Return whether a word is the name of a month or of a day of the week."""
    return _PART_OF_DATE.fullmatch(word) is not None


def _plain(value: str) -> str:
    plain = re.sub(r"[\s,.-]+$|(?<=\d),(?=\d)", "", value.lower())
    word = re.match(r"[a-z]+", plain)
    if word is not None and word[0] in _SPELLED[2:]:
        plain = f"{_SPELLED.index(word[0])}{plain[word.end() :]}"
    return re.sub(r"[\s,-]+", " ", plain)

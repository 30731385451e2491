"""A text as statements are compared: its words, what it is about, its numbers, dates and names."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer

from memoranda.learning.wording import (
    ENDED,
    IDIOMS,
    LIMITS,
    MODAL,
    NEGATORS,
    PERSONS,
    POSSESSIVE,
    PRONOUNS,
    SPELLINGS,
    STOP_WORDS,
    word_set,
)

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sep", "sept"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        1,
    )
    for name in names
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"(?<!\x01)\b(?P<y1>\d{4})-(?P<m1>\d{2})-(?P<d1>\d{2})\b"
    rf"|\b(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>\d{{4}})\b)?"
    rf"|\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m3>{_MONTH})\b\.?"
    r"(?:,?\s+(?P<y3>\d{4})\b)?"
    rf"|\b(?P<m4>{_MONTH})\.?,?\s+(?P<y4>\d{{4}})\b",
    re.IGNORECASE,
)
_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_SMALL.split())} | {
    word: str(10 * value) for value, word in enumerate(_TENS.split(), 3)
}
_TOKEN = re.compile(
    r"(?P<date>\x01[\d-]+\x01)"
    r"|(?P<number>(?:(?<![\w)])[-\u2212])?\d+(?:[.,:/]\d+)*)(?:(?:st|nd|rd|th)\b)?"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*[+#]*)"
    r"|(?P<sign>[%€$£¥°]|[\u2600-\u27BF\U0001F300-\U0001FAFF])"
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED_NOT = re.compile(r"[不没沒無无未非]|ない|ません")
_IDIOM = re.compile(
    "|".join(rf"(?P<i{place}>\b{form}\b)" for place, (form, _) in enumerate(IDIOMS)), re.IGNORECASE
)
_NO_NUMBER_BEFORE = word_set(
    "no this that the another each every any which some only first last new next single other"
)
_NO_NUMBER_AFTER = STOP_WORDS | word_set("day another time thing")
_local = threading.local()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        text: as it is compared: in lower case, without accents; a number or a date in full.
        stem: its stem; ``text`` of a number or date.
        kind: ``word``, ``number``, ``date`` or ``sign``.
        name: whether it is written as a name is.
        owned: whether it follows a possessive: ``Ana's sister``.
        start, end: its place in the text as it was read.
    """

    text: str
    stem: str
    kind: str
    name: bool
    owned: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is compared.

    Attributes:
        words: all its words, in order.
        content: the stems that say what it is about, numbers and dates among them.
        values: its numbers and dates, in order.
        names: what is written as names are, in order.
        markers: what turns its sense: ``not``, ``ended``, ``modal``, ``only``; sorted.
        pronouns: whom its pronouns mean, by person.
        persons: words for relatives and other people about somebody.
    """

    words: tuple[Word, ...]
    content: frozenset[str]
    values: tuple[str, ...]
    names: tuple[str, ...]
    markers: tuple[str, ...]
    pronouns: frozenset[str]
    persons: frozenset[str]

    @property
    def normal(self) -> str:
        """The text without case, punctuation and accents."""
        return " ".join(word.text for word in self.words)


def stems(words: Sequence[str]) -> list[str]:
    """Return the English stems of ``words`` (Snowball's Porter2)."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # A stemmer keeps state, so threads cannot share one.
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return list(stemmer.stemWords(list(words)))


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Return ``text`` as it is compared."""
    words = _words(text)
    plain = [word for word in words if word.kind == "word"]
    content = frozenset(
        word.stem for word in words if word.text not in STOP_WORDS and _marker(word) is None
    )
    negations = ["not"] * len(_UNSPACED_NOT.findall(text))
    return Reading(
        words=words,
        content=content,
        values=tuple(word.text for word in words if word.kind in {"number", "date"}),
        names=tuple(word.text for word in plain if word.name),
        markers=tuple(sorted([*filter(None, map(_marker, _spoken(words))), *negations])),
        pronouns=frozenset(PRONOUNS[word.text] for word in plain if word.text in PRONOUNS),
        persons=frozenset(word.stem for word in plain if word.text in PERSONS),
    )


def _marker(word: Word) -> str | None:
    """Return how a word turns the sense of what it stands in, if it does."""
    if word.kind != "word" or word.name:
        return None
    for marker, words in (
        ("not", NEGATORS),
        ("ended", ENDED),
        ("modal", MODAL),
        ("only", LIMITS),
    ):
        if word.text in words:
            return marker
    return None


def _spoken(words: Sequence[Word]) -> list[Word]:
    """Return the words with ``used to`` as one that ended, and ``no longer`` as one ``not``."""
    ended = [
        Word("formerly", "formerli", "word", name=False, owned=False, start=0, end=0)
        for left, right in pairwise(words)
        if left.text == "used" and right.text == "to"
    ]
    return [*words, *ended]


def mark_dates(text: str) -> str:
    """Return ``text`` with its dates in one form, which :func:`read` takes for one word each.

    Phrases that hold a ``not`` and deny nothing (``not long ago``, ``not only``) are replaced
    by what they mean.
    """
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return _DATE.sub(_date, _IDIOM.sub(_meaning, text))


def _words(text: str) -> tuple[Word, ...]:
    text = mark_dates(text)
    cased = any(char.islower() for char in text)
    found: list[tuple[str, str, bool, bool, int, int]] = []
    owned = False
    matches = list(_TOKEN.finditer(text))
    tokens = [match[0].casefold() for match in matches]
    for place, match in enumerate(matches):
        kind = str(match.lastgroup)
        for part, owner in _parts(kind, match[kind]):
            name = kind == "word" and cased and part[0].isupper() and len(part) > 1
            plain = _NUMBER_WORDS.get(part.casefold(), _plain(part))
            if tokens[place] == "one" and not _counts(tokens, place):
                plain = "one"
            stop = plain in STOP_WORDS or plain in _MONTHS_AS_MODAL
            name = name and (not stop or _is_month(part, plain))
            sort = "number" if plain.isdigit() and kind == "word" else kind
            found.append((plain, sort, name, owned, match.start(), match.end()))
            owned = owner or plain in POSSESSIVE
    return tuple(
        Word(plain, stem if kind == "word" else plain, kind, name, own, start, end)
        for (plain, kind, name, own, start, end), stem in zip(
            found, stems([each[0] for each in found]), strict=True
        )
    )


def _counts(tokens: Sequence[str], place: int) -> bool:
    """Return whether ``one`` is a number where it stands: not in ``one of them``, ``this one``."""
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else "of"
    return before not in _NO_NUMBER_BEFORE and after not in _NO_NUMBER_AFTER


def _meaning(match: re.Match[str]) -> str:
    """Return what an idiom means."""
    return IDIOMS[int(str(match.lastgroup)[1:])][1]


_MONTHS_AS_MODAL = word_set("may will not no never if maybe perhaps")


def _is_month(part: str, plain: str) -> bool:
    return plain == "may" and part == "May"


def _parts(kind: str, token: str) -> list[tuple[str, bool]]:
    """Return the words in one run of letters, each with whether it owns what follows."""
    if kind == "date":
        return [(token.strip("\x01"), False)]
    if kind == "number":
        return [(_number(token), False)]
    if _UNSPACED.fullmatch(token):
        return [(token[at : at + 2], False) for at in range(max(len(token) - 1, 1))]
    if token.casefold() in _CONTRACTED or token.casefold().endswith("n't"):
        verb = _CONTRACTED.get(token.casefold(), token[:-3])
        return [(part, False) for part in (verb, "not") if part]
    stem, _, rest = token.partition("'")
    if rest.casefold() == "s":
        return [(stem, True)]
    return [(part, False) for part in (stem, rest) if part]


_CONTRACTED = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}


def _number(token: str) -> str:
    """Return a number in one form: ``1,200`` as 1200, ``2.50`` as 2.5."""
    token = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", token.replace("\u2212", "-"))
    if re.fullmatch(r"-?\d+\.\d*0", token):
        token = token.rstrip("0").rstrip(".")
    return token


def _date(match: re.Match[str]) -> str:
    """Return a date in one form, marked so that it is read as one word."""
    groups = {key[0]: value for key, value in match.groupdict().items() if value}
    month = groups["m"].casefold()
    number = int(month) if month.isdigit() else _MONTHS[month]
    day = f"-{int(groups['d']):02d}" if "d" in groups else ""
    return f" \x01{groups.get('y', '-')}-{number:02d}{day}\x01 "


def _plain(part: str) -> str:
    """Return a word without case and accents."""
    folded = unicodedata.normalize("NFD", part.casefold())
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    return SPELLINGS.get(bare, bare)

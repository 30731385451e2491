"""Whether two statements say the same: exactly, in nearly the same words, or by their vectors.

A duplicate that is missed costs one row too many; two statements taken for one lose what one
of them said. So likeness alone never decides: a difference in a number, a date, a name, a
negation or in whom a statement is about keeps two apart, however alike they read.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer

from recollect.lifecycle.claims import Category, Statement
from recollect.lifecycle.wording import (
    DIRECTED,
    ENDED,
    LIKING,
    LIMITS,
    MODAL,
    NEGATORS,
    OPPOSITES,
    PERSONS,
    POSSESSIVE,
    PRONOUNS,
    SPELLINGS,
    STOP_WORDS,
    word_set,
)

JACCARD = 0.75
"""Share of content words that two statements have in common (seed 004)."""
COSINE = 0.95
"""Likeness of the vectors of all-MiniLM-L6-v2 from which two statements may be one.

Of pairs of short facts with nothing else to tell them apart, paraphrases have 0.94 to 0.99
and other values of one attribute up to 0.92 (``morning`` and ``afternoon``).
"""


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

_EVENTS = frozenset({Category.EVENT, Category.PLAN})
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


def jaccard(first: str, second: str) -> float:
    """Return the share of content words that two texts have in common, 0 to 1."""
    one, other = read(first), read(second)
    union = one.content | other.content
    if not union:
        return float(one.normal == other.normal)
    return len(one.content & other.content) / len(union)


def difference(first: str, second: str) -> str | None:
    """Return what keeps two texts from saying the same, or ``None``.

    It is symmetric: one of ``number``, ``negation``, ``name``, ``person``, ``owner``,
    ``opposite`` (``likes``, ``hates``) and ``order`` (``tea over coffee``, ``coffee over tea``).
    """
    one, other = read(first), read(second)
    apart = one.content ^ other.content
    owned = {word.stem for word in (*one.words, *other.words) if word.owned}
    others = one.persons != other.persons or _speak_of_others(one.pronouns, other.pronouns)
    reasons = (
        ("number", one.values != other.values),
        ("negation", one.markers != other.markers),
        ("name", _name_differs(one, other)),
        ("person", others),
        ("owner", bool(apart & owned)),
        ("opposite", _opposite(one, other)),
        ("order", _turned_round(one, other)),
    )
    return next((name for name, holds in reasons if holds), None)


def duplicate(
    old: Statement, new: Statement, *, threshold: float = JACCARD, cosine: float = COSINE
) -> float:
    """Return how surely two statements say the same, 0 to 1; 0 where they do not.

    Symmetric, and 1 for the same text. Words that take each other's place (``tea`` here,
    ``coffee`` there) keep two statements apart unless their vectors say otherwise.

    Args:
        old: one of them.
        new: the other one; its ``likeness`` is the cosine of both, if that is known.
        threshold: least share of common content words (seed 004: 0.75).
        cosine: least likeness of the vectors.
    """
    if not _same_subject(old, new) or not _same_day(old, new):
        return 0.0
    one, other = read(old.text), read(new.text)
    if one.normal == other.normal:
        return 1.0
    if difference(old.text, new.text) is not None:
        return 0.0
    share = jaccard(old.text, new.text)
    if share >= threshold and not _replaced(one, other):
        return share
    likeness = max(old.likeness or 0.0, new.likeness or 0.0)
    return min(likeness, 1.0) if likeness >= cosine else 0.0


def subject(statement: Statement) -> str | None:
    """Return whom a statement is about, in the form that is compared; ``None`` if unknown."""
    if statement.subject is None:
        return None
    normal = read(statement.subject).normal.removeprefix("the ").removesuffix(" s")
    return "user" if normal in {"user", "i", "me", ""} else normal


def _same_subject(old: Statement, new: Statement) -> bool:
    one, other = subject(old), subject(new)
    return one is None or other is None or one == other


def _same_day(old: Statement, new: Statement) -> bool:
    """Return whether two events may be one: what happened on two days happened twice."""
    if not {old.category, new.category} & _EVENTS:
        return True
    return old.at == new.at or old.at.date() == new.at.astimezone(old.at.tzinfo).date() == (
        old.at.astimezone(new.at.tzinfo).date()
    )


def _replaced(one: Reading, other: Reading) -> bool:
    """Return whether each has a word that the other lacks."""
    return bool(one.content - other.content and other.content - one.content)


def _speak_of_others(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and not (one <= other or other <= one)


def _name_differs(one: Reading, other: Reading) -> bool:
    """Return whether a name is missing in one of them, or stands elsewhere among the names."""
    mine = {word.text for word in one.words}
    yours = {word.text for word in other.words}
    if not set(one.names) <= yours or not set(other.names) <= mine:
        return True
    names = set(one.names) | set(other.names)
    order = [[word.text for word in each.words if word.text in names] for each in (one, other)]
    return list(dict.fromkeys(order[0])) != list(dict.fromkeys(order[1]))


def _opposite(one: Reading, other: Reading) -> bool:
    """Return whether a word of one is the opposite of a word of the other."""
    for table in (_LIKINGS, OPPOSITES):
        mine, yours = (
            {table[word.text] for word in each.words if word.text in table} for each in (one, other)
        )
        if any((axis, -sign) in yours for axis, sign in mine - yours):
            return True
    return False


_LIKINGS = {word: (0, sign) for word, sign in LIKING.items()}


def _turned_round(one: Reading, other: Reading) -> bool:
    """Return whether words stand in another order where the order tells who or what comes first."""
    texts = [[word.text for word in each.words] for each in (one, other)]
    if not any(DIRECTED & set(text) or {"from", "to"} <= set(text) for text in texts):
        return False
    shared = one.content & other.content
    left, right = ([w.stem for w in each.words if w.stem in shared] for each in (one, other))
    return list(dict.fromkeys(left)) != list(dict.fromkeys(right))


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
    """Return ``text`` with its dates in one form, which :func:`read` takes for one word each."""
    return _DATE.sub(_date, unicodedata.normalize("NFKC", text).replace("’", "'"))


def _words(text: str) -> tuple[Word, ...]:
    text = mark_dates(text)
    cased = any(char.islower() for char in text)
    found: list[tuple[str, str, bool, bool, int, int]] = []
    owned = False
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        for part, owner in _parts(kind, match[kind]):
            name = kind == "word" and cased and part[0].isupper() and len(part) > 1
            plain = _NUMBER_WORDS.get(part.casefold(), _plain(part))
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

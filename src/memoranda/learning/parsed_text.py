"""Parses a text for comparing statements: its words, subject, numbers, dates and names."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

from memoranda.text.calendar import month_numbers
from memoranda.text.limits import MOST_READ
from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import LanguageData, compile_pattern, load

_EN = LanguageData("en", "comparison", {"month": lambda: month_numbers("en")})
_TOKEN = compile_pattern(
    r"(?P<date>\x01[\d-]+\x01)"
    # Neither ``gpt4`` nor ``10h30`` nor ``500ml``.
    r"|(?P<code>[^\W\d_]+\d{3,}[^\W_]*|[^\W\d_]+\d+[^\W\d_]+[^\W_]{2,}"
    r"|\d+[^\W\d_]+\d+[^\W_]{2,})"
    r"|(?P<number>(?:(?<![\w)])[-\u2212])?\d+(?:[.,:/]\d+)*)(?:(?:st|nd|rd|th)\b)?"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*[+#]*)"
    r"|(?P<sign>[%€$£¥°]|[\u2600-\u27BF\U0001F300-\U0001FAFF])"
)
# Scripts that set no blanks between words.
UNSPACED = compile_pattern(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED_NOT = compile_pattern(r"[不没沒無无未非]|ない|ません")
_THOUSANDS = compile_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_TRAILING_ZERO = compile_pattern(r"-?\d+\.\d*0")
_local = threading.local()


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word of a text.

    Attributes:
        text: as it is compared: in lower case, without accents; a number or a date in full.
        stem: its stem; ``text`` of a number or date.
        kind: ``word``, ``number``, ``date`` or ``sign``.
        name: whether it is written as a name is.
        owned: whether it follows a possessive: ``Ana's sister``.
    """

    text: str
    stem: str
    kind: str
    name: bool
    owned: bool


@dataclass(frozen=True, slots=True)
class ParsedText:
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

    words: tuple[ParsedWord, ...]
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

    @property
    def texts(self) -> frozenset[str]:
        """Its words, each once."""
        return frozenset(word.text for word in self.words)


@cache
def stem_set(name: str) -> frozenset[str]:
    """Return the stems of a list of words in the data by which statements are compared."""
    return frozenset(stems(sorted(_EN.words(name))))


def stems(words: Sequence[str]) -> list[str]:
    """Return the English stems of ``words`` (Snowball's Porter2)."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # A stemmer keeps state, so threads cannot share one.
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return list(stemmer.stemWords(list(words)))


@lru_cache(maxsize=4096)
def parse_text(text: str) -> ParsedText:
    """Return ``text`` as it is compared."""
    text = text[:MOST_READ]
    words = _split_words(text)
    plain = [word for word in words if word.kind == "word"]
    pronouns = _EN.mapping("pronouns")
    markers = [marker for word in words if (marker := _marker(word))]
    markers += ["ended" for pair in pairwise(words) if [w.text for w in pair] == ["used", "to"]]
    markers += ["not"] * len(_UNSPACED_NOT.findall(text))
    return ParsedText(
        words=words,
        content=frozenset(
            word.stem
            for word in words
            if word.text not in _EN.words("stop_words") and _marker(word) is None
        ),
        values=tuple(word.text for word in words if word.kind in {"number", "date"}),
        names=tuple(word.text for word in plain if word.name),
        markers=tuple(sorted(markers)),
        pronouns=frozenset(pronouns[word.text] for word in plain if word.text in pronouns),
        persons=frozenset(word.stem for word in plain if word.text in _EN.words("persons")),
    )


def _marker(word: ParsedWord) -> str | None:
    """Return how a word turns the sense of what it stands in, if it does."""
    if word.kind != "word" or word.name:
        return None
    turning = ("not", "negators"), ("ended", "ended"), ("modal", "modal"), ("only", "limits")
    return next((marker for marker, name in turning if word.text in _EN.words(name)), None)


def mark_dates(text: str) -> str:
    """Return ``text`` with its dates in one form, which is then parsed as one word each.

    Idioms of denial are replaced by what they mean.
    """
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return _EN.pattern("date").sub(_write_date, replace_idioms(text))


def replace_idioms(text: str) -> str:
    """Return ``text`` with phrases that hold a ``not`` and deny nothing in other words.

    ``not long ago``, ``not only``: each becomes what it means.
    """
    pattern, meanings = _idioms()
    return pattern.sub(lambda found: meanings[(found.lastindex or 1) - 1], text)


@cache
def _idioms() -> tuple[LinearPattern, list[str]]:
    """Return what finds the idioms, each as the group of its place, and what they mean."""
    idioms: Sequence[tuple[str, str]] = load("en", "comparison")["idioms"]
    forms = "|".join(rf"(\b{form}\b)" for form, _ in idioms)
    return compile_pattern(forms, re.IGNORECASE), [meaning for _, meaning in idioms]


def _split_words(text: str) -> tuple[ParsedWord, ...]:
    text = mark_dates(text)
    cased = any(char.islower() for char in text)
    found: list[ParsedWord] = []
    owned = False
    matches = list(_TOKEN.finditer(text))
    tokens = ["", *(match[0].casefold() for match in matches), "of"]
    for place, match in enumerate(matches, 1):
        # Not "one of them", "this one".
        number = not (
            tokens[place - 1] in _EN.words("no_number_before")
            or tokens[place + 1] in _EN.words("no_number_after")
        )
        kind = str(match.lastgroup)
        if kind == "code":  # A name: with one character changed it is of something else.
            code = _fold(match[kind])
            found.append(ParsedWord(code, stem=code, kind="word", name=True, owned=owned))
            owned = False
            continue
        for part, owner in _split_token(kind, match[kind]):
            plain = _EN.mapping("number_words").get(part.casefold(), _fold(part))
            if tokens[place] == "one" and not number:
                plain = "one"
            named = plain not in _EN.words("never_names") or part == "May"
            capital = kind == "word" and cased and part[0].isupper() and len(part) > 1
            sort = "number" if plain.isdigit() and kind == "word" else kind
            stem = stems([plain])[0] if sort == "word" else plain
            found.append(ParsedWord(plain, stem, sort, capital and named, owned))
            owned = owner or plain in _EN.words("possessive")
    return tuple(found)


def _split_token(kind: str, token: str) -> list[tuple[str, bool]]:
    """Return the words in one run of letters, each with whether it owns what follows."""
    if kind == "date":
        return [(token.strip("\x01"), False)]
    if kind == "number":
        return [(_write_number(token), False)]
    if UNSPACED.fullmatch(token):
        return [(token[at : at + 2], False) for at in range(max(len(token) - 1, 1))]
    low = token.casefold()
    if low in _EN.mapping("contracted") or low.endswith("n't"):
        verb = _EN.mapping("contracted").get(low, token[:-3])
        return [(part, False) for part in (verb, "not") if part]
    stem, _, rest = token.partition("'")
    if rest.casefold() == "s":
        return [(stem, True)]
    return [(part, False) for part in (stem, rest) if part]


def _write_number(token: str) -> str:
    """Return a number in one form: ``1,200`` as 1200, ``2.50`` as 2.5."""
    token = _THOUSANDS.sub("", token.replace("\u2212", "-"))
    return token.rstrip("0").rstrip(".") if _TRAILING_ZERO.fullmatch(token) else token


def _write_date(match: LinearMatch) -> str:
    """Return a date in one form, marked so that it is read as one word."""
    groups = {key[0]: value for key, value in match.groupdict().items() if value}
    month = groups["m"].casefold()
    number = int(month) if month.isdigit() else month_numbers("en")[month]
    day = f"-{int(groups['d']):02d}" if "d" in groups else ""
    return f" \x01{groups.get('y', '-')}-{number:02d}{day}\x01 "


def _fold(part: str) -> str:
    """Return a word without case and accents."""
    folded = unicodedata.normalize("NFD", part.casefold())
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    return _EN.mapping("spellings").get(bare, bare)

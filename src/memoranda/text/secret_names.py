"""Finds what is called a secret: "the wifi password is …", in the languages of ``secrets.toml``.

A name tells how much its value has to look like one: a password may be a plain word, a key has
digits. What only speaks of a password ("the password is required") has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import takewhile

from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import WordLists, compile_pattern, words_of
from memoranda.text.random_codes import LEAST_SWITCHES, count_digits, share_of_switches

_NAMES = ("passwords", "keys", "numbers", "documents", "topics")
LABELLED = {
    "passwords": "a password",
    "keys": "a key",
    "numbers": "a PIN or code",
    "documents": "the number of a document",
}
_WORDS = WordLists("secrets")
# Names of so many letters or fewer are no end of a longer word: "pin" of "spin".
_SHORT = 6
_MARKS = "\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`*"
_SIGNS_OF_VALUE = ":=>\uff1a"
_QUOTES = f"[{_MARKS}]"
_VALUE = compile_pattern(
    rf"\s{{0,3}}[*_(]{{0,3}}(?:{_QUOTES}([^{_MARKS}\n]{{1,200}}){_QUOTES}"
    rf"|([^\s,;<>{_MARKS}]{{1,200}}))"
)
_NUMBER = compile_pattern(r"\s{0,3}[\"'#*]{0,2}([0-9](?:[ -]?[0-9]){2,23})")
_CODE = compile_pattern(r"\s{0,3}[\"'#*]{0,2}([A-Za-z0-9](?:[ ./-]?[A-Za-z0-9]){4,24})")
_DATE = compile_pattern(
    r"[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}|(?:[0-9]{1,2}[./-]){2}(?:[0-9]{4}|[0-9]{2})"
)
_CLAUSE = compile_pattern(r"[^.,;:!?()\n\"“”«»]{1,120}")
# With what begins that stands for a value, and a page where to look for it.
_PLACEHOLDERS = (
    "$",
    "{",
    "<",
    "%",
    "[",
    "…",
    "***",
    "xxx",
    "XXX",
    "•",
    "...",
    "http://",
    "https://",
)
_LONGEST_VALUE = 400  # characters after a name in which its value may stand
_BEFORE = 80  # characters before a name in which its value may stand
_PHRASE = 6  # plain words of a password at most
_MANY = 3  # of which one may also be said of a password
_LEAST = {"passwords": 4, "keys": 6, "numbers": 3, "documents": 5}
# Characters of a value that nothing joins to its name but a space.
_LEAST_BARE = {"passwords": 6, "keys": 12}
_LONG = 16  # from so many characters on, a value of letters alone is a key
_DOCUMENT_DIGITS = 4


def _any_name(words: Iterable[str]) -> str:
    """Return a group of names, the longest first."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    names = (r"[\s_-]?".join(map(re.escape, name.split())) for name in ordered)
    return f"(?:{'|'.join(names)})"


def _any_word(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"\s") for word in longest_first)


@cache
def _label_of() -> dict[str, str]:
    """Return the label of each name, which is written without what parts its words."""
    return {
        _bare_name(name): label for label in reversed(_NAMES) for name in getattr(_WORDS, label)
    }


def _bare_name(name: str) -> str:
    return "".join(sign for sign in name if not sign.isspace() and sign not in "_-")


@cache
def _names(*labels: str) -> LinearPattern:
    """Return the pattern of all names with some labels, in lower case."""
    return compile_pattern(_any_name(name for label in labels for name in getattr(_WORDS, label)))


@cache
def _joint() -> LinearPattern:
    """Return the pattern of what joins a name to its value, in lower case."""
    of = rf"(?:\s(?:{_any_word(_WORDS.of)})(?:\s[^\s.,;:!?=]{{1,30}}){{1,4}}?)?"
    verb = rf"(?:\s(?:{_any_word(_WORDS.verbs)})|['’]s)\s?:?\s(?:(?:{_any_word(_WORDS.still)})\s)?"
    sign = rf"\s{{0,3}}(?:,\s?{_QUOTES}value{_QUOTES}\s?)?(?::=|=>|[{_SIGNS_OF_VALUE}])"
    return compile_pattern(rf"{_QUOTES}{{0,2}}{of}(?:{sign}|{verb})")


def _find_names(lowered: str, *labels: str) -> Iterator[LinearMatch]:
    """Yield the names that stand in a text; a short one only as a word of its own."""
    for found in _names(*labels).finditer(lowered):
        start, end = found.span()
        begins = end - start > _SHORT or not lowered[start - 1 : start].isalpha()
        ends = not lowered[end : end + 2].removeprefix("s")[:1].isalnum()
        if begins and ends:
            yield found


def find_named_values(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield the values that stand beside names of secrets: begin, end, and the kind."""
    read = cache(_read_after)  # What stands behind one name often stands behind the next, too.
    for found in _find_names(lowered, *LABELLED):
        start, end = found.span()
        label = _label_of()[_bare_name(found[0])]
        value = read(text[end : end + _LONGEST_VALUE], label)
        if value is not None:
            yield end + value[0], end + value[1], LABELLED[label]
        elif label == "passwords" and (before := _value_before(lowered, start)):
            yield *before, LABELLED[label]


def _read_after(text: str, label: str) -> tuple[int, int] | None:
    """Return where the value stands in what follows a name, if it has one."""
    joined = _joint().match(lower_in_place(text))
    at = joined.end() if joined else 0
    if joined or text[:1].isspace() or text.startswith("#"):
        return _read_at(text, at, label, joined=joined is not None)
    return None


def _read_at(text: str, at: int, label: str, *, joined: bool) -> tuple[int, int] | None:
    if label == "documents":
        return _read_document(text, at)
    if label == "numbers" and (number := _NUMBER.match(text[at:])):
        least = _LEAST[label] + (not joined)
        fits = len(number[1]) >= least and not _DATE.fullmatch(number[1])
        return (at + number.start(1), at + number.end(1)) if fits else None
    found = _VALUE.match(text[at:])
    if found is None:
        return None
    quoted = found[1] is not None
    value = (found[1] or found[2]).rstrip(".:?)]}*_'\u2019")
    start = at + found.start(1 if quoted else 2)
    if not value.startswith(_PLACEHOLDERS) and not _is_call(value):
        if _is_value(value, label) if joined else not quoted and _is_bare_value(value, label):
            return start, start + len(value)
        # A name of a variable stands behind a sign with blanks.
        assigned = text[:at].endswith(" =") and not quoted
        if joined and label == "passwords" and not assigned and "\n" not in text[:start]:
            return _read_words(text, start, quoted=quoted)
    return None


def _is_call(value: str) -> bool:
    """Return whether a value is code that calls for it: ``os.environ["PASSWORD"]``."""
    name = value.replace("[", "(").partition("(")
    return name[1] != "" and name[0].replace(".", "").isidentifier()


def _read_document(text: str, at: int) -> tuple[int, int] | None:
    found = _CODE.match(text[at:])
    if found is None or _DATE.match(found[1]):
        return None
    parts = list(takewhile(count_digits, found[1].split(" ")))
    start, value = at + found.start(1), " ".join(parts)
    return (start, start + len(value)) if count_digits(value) >= _DOCUMENT_DIGITS else None


def _is_value(value: str, label: str) -> bool:
    """Return whether what is joined to a name is no word of a sentence."""
    digits, letters = count_digits(value), any(map(str.isalpha, value))
    if len(value) < _LEAST[label] or value.lower() in _WORDS.no_values:
        return False
    if label == "passwords":
        return digits > 0 or (letters and any(sign in _SIGNS for sign in value[:-1]))
    plain = value.isalnum() or label == "numbers"
    return (digits > 1 or (digits == 1 and plain)) and (letters or len(value) >= _LONG)


_SIGNS = frozenset("!#$%&*+<=>?@\\^_|~§€")


def _is_bare_value(value: str, label: str) -> bool:
    """Return whether what stands behind a name, joined by nothing, is its value."""
    least = _LEAST_BARE.get(label, len(value) + 1)
    if len(value) < least or value.lower() in _WORDS.no_values:
        return False
    if label == "keys":
        return count_digits(value) > 1 and share_of_switches(value) >= LEAST_SWITCHES
    return value[:1].isalnum() and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _read_words(text: str, start: int, *, quoted: bool) -> tuple[int, int] | None:
    """Return where a password of plain words stands that begins at ``start``."""
    clause = _CLAUSE.match(text[start:])
    words = clause[0].split() if clause else []
    if not quoted:
        joins = (n for n, word in enumerate(words) if word.lower() in _WORDS.joining)
        words = words[: next(joins, len(words))]
    if not words or len(words) > _PHRASE or not _is_phrase(" ".join(words).lower()):
        return None
    end = start
    for word in words:
        end = text.index(word, end) + len(word)
    return (start, end) if end - start >= _LEAST["passwords"] else None


def _is_phrase(said: str) -> bool:
    """Return whether words may be a password: no sentence, and nothing that is said of one."""
    parts = said.replace("-", " ").split()
    if not parts or not all(part.replace("'", "").replace("’", "").isalpha() for part in parts):
        return False
    # "correct horse battery staple" is a password, "correct" is not.
    told = sum(part in _WORDS.no_values or part.endswith(_no_endings()) for part in parts)
    return (
        told <= (len(parts) >= _MANY)
        and _function_words().isdisjoint(parts)
        and _label_of().keys().isdisjoint(parts)
    )


@cache
def _function_words() -> frozenset[str]:
    return words_of("function_words", "en", "de", "es", "fr", "it", "pt", "nl")


@cache
def _no_endings() -> tuple[str, ...]:
    return tuple(_WORDS.no_endings)


def _value_before(lowered: str, at: int) -> tuple[int, int] | None:
    """Return the value that stands before its name: "tulip22 is my password"."""
    words = lowered[max(0, at - _BEFORE) : at].split()
    for verb in range(len(words) - 2, max(0, len(words) - _PHRASE), -1):
        if words[verb] in _WORDS.verbs and words[verb + 1] in _WORDS.whose:
            value = words[verb - 1].strip(_MARKS)
            start = lowered.rfind(value, max(0, at - _BEFORE), at)
            fits = _is_bare_value(value, "passwords")
            return (start, start + len(value)) if fits else None
    return None


def lower_in_place(text: str) -> str:
    """Return ``text`` in lower case, each character at its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def mentions_secret(text: str) -> bool:
    """Return whether ``text`` speaks of a password, a key or the like, whatever it says of it."""
    return any(_find_names(lower_in_place(text), *_NAMES))

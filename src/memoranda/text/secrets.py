"""Finds the secrets in a text: passwords, keys, tokens, card and account numbers, seed phrases.

:func:`find_secrets` is the one judgement; whatever masks, refuses or reports secrets asks it. Four
things tell a secret: the form that its issuer gave it; a check digit; its name beside it ("the wifi
password is …"), in the languages of ``secrets.toml``; and that no person would have written it, as
letters and digits thrown together. Every pattern is linear; what a pattern cannot say is checked in
Python on the few places that it found.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations_with_replacement
from operator import attrgetter, ne
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import WordLists, any_of, compile_pattern, expand, load, words_of
from memoranda.text.terms import lower_in_place

# What stands for a secret.
HIDDEN = "[…]"
_WORDS = WordLists("secrets")

SEED = "a seed phrase"


class SecretSpan(NamedTuple):
    """Where a secret stands in a text, and what it is: ``"a password"``."""

    start: int
    end: int
    kind: str


# A record is looked at whenever it is told.
@lru_cache(maxsize=4_096)
def find_secrets(text: str) -> tuple[SecretSpan, ...]:
    """Return the secrets in a text, in order; none overlaps another."""
    found: list[SecretSpan] = []
    for span in sorted(_find(text), key=attrgetter("start")):
        if found and span.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, span.end))
        else:
            found.append(span)
    return tuple(found)


def secret_kind(text: str) -> str | None:
    """Return what kind of secret a text holds (``"an API key"``), if any."""
    found = find_secrets(text)
    return found[0].kind if found else None


def has_secret(text: str) -> bool:
    """Return whether a text holds a secret."""
    return bool(find_secrets(text))


def mask_secrets(text: str) -> str:
    """Return ``text`` with ``[…]`` for every secret; nothing is found in what is returned."""
    while found := find_secrets(text):
        ends = [0, *(each.end for each in found)]
        starts = [*(each.start for each in found), len(text)]
        text = HIDDEN.join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return text


def _find(text: str) -> Iterator[SecretSpan]:
    """Yield spans that may overlap; of two that begin together, the first one names the kind."""
    yield from _find_forms(text)
    lowered = lower_in_place(text)
    yield from _find_named_values(text, lowered)
    yield from _find_numbers(text, lowered)
    yield from _find_seeds(lowered)
    yield from _find_codes(text, lowered)


# Forms


@cache
def _forms() -> tuple[LinearPattern, tuple[str, ...]]:
    """Return one pattern for all forms, each a group, and by the number of a group its kind."""
    forms: dict[str, str] = {
        kind: expand(f, {}) for kind, f in load("mul", "secrets")["forms"].items()
    }
    kinds = [""]
    for kind, form in forms.items():
        kinds += [kind] * (1 + form.count("(?P<"))
    return compile_pattern("|".join(f"({form})" for form in forms.values())), tuple(kinds)


_KEY_READ = 200  # characters of a key that are looked at
_CHECKED = frozenset({"an API key", "a login"})
_WORDY = 16  # letters in a row that no word of an identifier has


def _find_forms(text: str) -> Iterator[SecretSpan]:
    pattern, kinds = _forms()
    for found in pattern.finditer(text):
        kind = kinds[found.lastindex or 0]
        if kind not in _CHECKED or _is_of_form(found):
            yield SecretSpan(*found.span(), kind)


def _is_of_form(found: LinearMatch) -> bool:
    """Return whether what follows a well-known prefix is a key, and not the words of a name."""
    if login := found["basic"]:
        return ":" in _decode_base64(login)
    key = (found["short_key"] or found["key"] or "")[:_KEY_READ]
    return not key or any(map(str.isdigit, key)) or max(map(len, _PARTS.split(key))) >= _WORDY


_PARTS = compile_pattern(r"[^A-Za-z]")


# Numbers with a check digit

_IBAN = compile_pattern(r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")
_IBAN_DIGITS = {code: str(code - 55) for code in range(ord("A"), ord("Z") + 1)}
_IBAN_LENGTHS = range(15, 35)
_CARD = compile_pattern(r"[0-9]{3,19}(?:[ -][0-9]{3,7}){0,5}")
# By what the cards of the large networks begin with, how many digits they have.
_NETWORKS = compile_pattern(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[689][0-9])[0-9]{11}|35[0-9]{14}|6[0-9]{15,18}"
)
_BEFORE_NUMBER = frozenset("0123456789.-+/_")


def _find_numbers(text: str, lowered: str) -> Iterator[SecretSpan]:
    for found in _IBAN.finditer(text):
        given = found[0]
        for end in range(len(given), _IBAN_LENGTHS[0] - 1, -1):
            if not given[end : end + 1].isalnum() and _is_iban(given[:end]):
                yield SecretSpan(found.start(), found.start() + end, "an IBAN")
                break
    for found in _CARD.finditer(text):
        before = text[found.start() - 1 : found.start()]
        if before not in _BEFORE_NUMBER and (place := _card_within(found[0])):
            start, end = place[0] + found.start(), place[1] + found.start()
            if not text[end : end + 1].isalnum() and not _is_reference(lowered, start, end):
                yield SecretSpan(start, end, "a card number")


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").replace("-", "")
    if len(plain) not in _IBAN_LENGTHS:
        return False
    return int((plain[4:] + plain[:4]).translate(_IBAN_DIGITS)) % 97 == 1


def _card_within(digits: str) -> tuple[int, int] | None:
    """Return where a card number stands in groups of digits, which may begin with others."""
    groups = [found.span() for found in _DIGITS.finditer(digits)]
    for (start, _), (_, end) in combinations_with_replacement(groups, 2):
        plain = digits[start:end].replace(" ", "").replace("-", "")
        if _NETWORKS.fullmatch(plain) and _luhn([int(digit) for digit in plain]):
            return start, end
    return None


def _luhn(digits: Sequence[int]) -> bool:
    """Return whether the check digit of a card number is right."""
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]  # noqa: PLR2004 - two digits from five on
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


# Seed phrases

_SEED_WORDS = 12
# Of these so many are different: nobody's phrase is one word again and again.
_DIFFERENT = 8
_WORD = compile_pattern(r"\S+")
_SPACED = str.maketrans(dict.fromkeys(".,;:|()[]\"'`*-0123456789", " "))


def _find_seeds(lowered: str) -> Iterator[SecretSpan]:
    run: list[LinearMatch] = []
    for word in (*_WORD.finditer(lowered.translate(_SPACED)), None):
        if word and word[0] in _seed_words():
            run.append(word)
            continue
        if len(run) >= _SEED_WORDS and len({each[0] for each in run}) >= _DIFFERENT:
            yield SecretSpan(run[0].start(), run[-1].end(), SEED)
        run = []


@cache
def _seed_words() -> frozenset[str]:
    return words_of("seed_words", "mul")


# Codes that look random

# What words beside a code call a commit, an order or the like is none, nor is what stands in a URL,
# nor plain text in Base64.
KEY, HEX_KEY = "a key", "a hex key"
_CODES = compile_pattern(r"[A-Za-z0-9+/_=-]{16,}")
_MOST_RANDOM = 200  # characters; what is longer is data
_HEX = compile_pattern(r"(?:0[xX])?(?:[0-9a-f]{32,}|[0-9A-F]{32,})")
_LONG_HEX = 32
_SPELLED = compile_pattern(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{4,}")
_LEAST_SWITCHES = 0.25  # of the characters are of another class than the one before
# Share of the characters that may stand in what could be words: more where chance makes up for it.
_MOST_SPELLED, _MOST_SPELLED_OF_LONG, _SURE = 0.5, 0.65, 32
_LEAST_CLASSES = 3
_LONG_PART = 12  # characters without a sign between them
_LONG_CODE = 16  # letters and digits of a key at least
_LONG_PLAIN = 24  # the same, of one without capitals, or without small letters
_FEW = 4
_AROUND = 40  # characters before and after a code that are read for what it is
_NO_SIGNS = dict.fromkeys(
    map(ord, ".,:;!?#@=/()[]{}<>\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`*|_-"), " "
)
_JOINTS = dict.fromkeys(map(ord, "/_-"), " ")
_CLASS_OF = str.maketrans(
    ascii_lowercase + ascii_uppercase + digits, "a" * 26 + "A" * 26 + "0" * 10, "+/=-_.:"
)


def _find_codes(text: str, lowered: str) -> Iterator[SecretSpan]:
    for found in _CODES.finditer(text):
        start, end = found.span()
        code = found[0].strip("=-_/")
        kind = HEX_KEY if _is_hex(code) else KEY if _is_random(code) else None
        if kind and not _is_reference(lowered, start, end) and not _is_in_address(text, start):
            yield SecretSpan(start, end, kind)


def _is_hex(code: str) -> bool:
    figures = _count_digits(code)
    varied = len(code) >= _LONG_HEX and _FEW <= figures <= len(code) - _FEW
    return varied and _HEX.fullmatch(code) is not None


def _is_random(code: str) -> bool:
    """Return whether letters and digits are thrown together, as in a key."""
    if len(code) > _MOST_RANDOM or _share_of_switches(code) < _LEAST_SWITCHES:
        return False
    classes, figures = code.translate(_CLASS_OF), _count_digits(code)
    mixed = len(set(classes)) >= _LEAST_CLASSES  # Else without capitals, or without small letters.
    long = len(classes) >= (_LONG_CODE if mixed else _LONG_PLAIN)
    plain = figures >= _FEW and code.isalnum()
    if not (long and (mixed or plain)) or figures < 2 or code.startswith("AAAA"):  # noqa: PLR2004
        return False  # The last is the beginning of a public key of SSH.
    spelled = sum(map(len, _SPELLED.findall(code)))
    most = _MOST_SPELLED_OF_LONG if len(code) >= _SURE else _MOST_SPELLED
    return (
        max(map(len, code.translate(_JOINTS).split())) >= _LONG_PART
        and spelled <= most * len(code)
        and not _decode_base64(code)
    )


def _share_of_switches(code: str) -> float:
    """Return how often a letter or digit is of another class than the one before."""
    classes = code.translate(_CLASS_OF)  # Of what is neither, nothing is left.
    switches: int = sum(map(ne, classes, classes[1:]))
    return switches / max(len(classes), 1)


def _count_digits(code: str) -> int:
    """Return how many digits a text has."""
    return sum(map(str.isdigit, code))


def _is_reference(lowered: str, start: int, end: int) -> bool:
    """Return whether words beside a code say that it is an order number, a commit or the like."""
    around = f"{lowered[max(0, start - _AROUND) : start]} {lowered[end : end + _AROUND]}"
    return not _WORDS.references.isdisjoint(around.translate(_NO_SIGNS).split())


def _is_in_address(text: str, start: int) -> bool:
    """Return whether a code is part of a URL, or of the name of a file."""
    before = text[max(0, start - _MOST_RANDOM) : start].rpartition(" ")[2]
    return "://" in before or before.startswith("www.") or text.startswith("/", start)


def _decode_base64(text: str) -> str:
    """Return the plain text that stands in Base64; empty where it is none."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        plain = b64decode(padded, altchars=b"-_" if set("-_") & set(text) else None).decode()
    except (NotBase64, UnicodeDecodeError):
        return ""
    return plain if plain.isprintable() else ""


# Values beside the names of secrets

# A name tells how much its value has to look like one: a password may be a plain word, a key has
# digits. What only speaks of a password ("the password is required") has none.
_NAMES = ("passwords", "keys", "numbers", "documents", "topics")
LABELLED = {
    "passwords": "a password",
    "keys": "a key",
    "numbers": "a PIN or code",
    "documents": "the number of a document",
}
# The first character of the scripts that part no words.
_FIRST_UNSPACED = "\u2e80"
# Names of so many letters or fewer are no end of a longer word: "pin" of "spin".
_SHORT = 6
_MARKS = "\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`*"
_SIGNS_OF_VALUE = ":=>\uff1a"
_QUOTES = f"[{_MARKS}]"
_VALUE = compile_pattern(
    rf"\s{{0,3}}[*_(]{{0,3}}(?:{_QUOTES}([^{_MARKS}\n]{{1,200}}){_QUOTES}"
    rf"|([^\s,;<>{_MARKS}\u3001\u3002\uff0c\uff1b]{{1,200}}))"
)
# How the values are written that have figures.
_FIGURES = {
    "numbers": compile_pattern(r"\s{0,3}[\"'#*]{0,2}([0-9](?:[ -]?[0-9]){2,23})"),
    "documents": compile_pattern(
        r"\s{0,3}[\"'#*]{0,2}([0-9](?:[ -]?[0-9]){4,23}|[A-Za-z0-9./-]{5,25})"
    ),
}
_DIGITS = compile_pattern("[0-9]+")
# A name, a slash between blanks, and the password of a login.
_LOGIN = compile_pattern(
    r"\b(?:log-?in|credentials?|zugang|zugangsdaten|identifiants|acceso)\s?[:=]\s?\S{1,60}\s/\s(\S{4,200})",
    re.IGNORECASE,
)
_CLAUSE = compile_pattern(r"[^.,;:!?()\n\"“”«»]{1,120}")
# With what begins that stands for a value, and a page where to look for it.
_PLACEHOLDERS = ("$", "{", "<", "%", "[", "…", "***", "xxx", "XXX", "•", "...", "http:", "https:")
_LONGEST_VALUE = 400  # characters after a name in which its value may stand
_BEFORE = 80  # characters before a name in which its value may stand
_PHRASE = 6  # plain words of a password at most
_MANY = 3  # of which one may also be said of a password
_LEAST = {"passwords": 4, "keys": 6, "numbers": 3, "documents": 4}
# Characters of a value that nothing joins to its name but a space.
_LEAST_BARE = {"passwords": 6, "keys": 12, "numbers": 4, "documents": 4}
_LONG = 16  # from so many characters on, a value of letters alone is a key


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
    names = any_of(name for label in labels for name in getattr(_WORDS, label))
    return compile_pattern(names.replace(r"\s+", r"[\s_-]?"))


@cache
def _joint() -> LinearPattern:
    """Return the pattern of what joins a name to its value, in lower case."""
    of = rf"(?:\s{any_of(_WORDS.of)}(?:\s[^\s.,;:!?=]{{1,30}}){{1,4}}?|\s?\([^()\n]{{1,60}}\))?"
    verb = rf"(?:\s{any_of(_WORDS.verbs)}|['’]s)\s?:?\s(?:{any_of(_WORDS.still)}\s)?"
    sign = rf"\s{{0,3}}(?:,\s?{_QUOTES}value{_QUOTES}\s?)?(?::=|=>|[{_SIGNS_OF_VALUE}])"
    unspaced = rf"\s?{any_of(_WORDS.unspaced_verbs)}\s?"
    return compile_pattern(rf"{_QUOTES}{{0,2}}{of}(?:{sign}|{verb}|{unspaced})")


def _find_names(lowered: str, *labels: str) -> Iterator[LinearMatch]:
    """Yield the names that stand in a text; a short one only as a word of its own."""
    for found in _names(*labels).finditer(lowered):
        start, end = found.span()
        begins = end - start > _SHORT or not lowered[start - 1 : start].isalpha()
        ends = not lowered[end : end + 2].removeprefix("s")[:1].isalnum()
        if (begins and ends) or found[0] > _FIRST_UNSPACED:
            yield found


def _find_named_values(text: str, lowered: str) -> Iterator[SecretSpan]:
    read = cache(_read_after)  # What stands behind one name often stands behind the next, too.
    for found in _find_names(lowered, *LABELLED):
        start, end = found.span()
        label = _label_of()[_bare_name(found[0])]
        value = read(text[end : end + _LONGEST_VALUE], label)
        if value is not None:
            yield SecretSpan(end + value[0], end + value[1], LABELLED[label])
        elif label == "passwords" and (before := _value_before(lowered, start)):
            yield SecretSpan(*before, LABELLED[label])
    for login in _LOGIN.finditer(text):
        value = login[1].rstrip(".")
        if any(map(str.isalpha, value)) and _is_value(value, "passwords", joined=True):
            yield SecretSpan(login.start(1), login.start(1) + len(value), LABELLED["passwords"])


def _read_after(text: str, label: str) -> tuple[int, int] | None:
    """Return where the value stands in what follows a name, if it has one."""
    joint = _joint().match(lower_in_place(text))
    joined, at = joint is not None, joint.end() if joint else 0
    if not joined and not text[:1].isspace() and not text.startswith("#"):
        return None
    if label in _FIGURES and (found := _FIGURES[label].match(text[at:])):
        fits = _count_digits(found[1]) >= (_LEAST if joined else _LEAST_BARE)[label]
        return (at + found.start(1), at + found.end(1)) if fits else None
    found = _VALUE.match(text[at:])
    if found is None or (label in _FIGURES and not (joined and label == "numbers")):
        return None
    quoted = found[1] is not None
    value = (found[1] or found[2]).rstrip(".:?)]}*_'\u2019")
    start = at + found.start(1 if quoted else 2)
    if value.startswith(_PLACEHOLDERS) or _is_call(value) or (quoted and not joined):
        return None
    if _is_value(value, label, joined=joined):
        return start, start + len(value)
    # A name of a variable stands behind a sign with blanks, and "Set it to X" is no sentence.
    assigned = text[:at].endswith(" =") and not quoted
    said = joined and not assigned and text[:at].split()[-1:] != ["to"] and "\n" not in text[:start]
    return _read_words(text, start, quoted=quoted) if said and label == "passwords" else None


def _is_call(value: str) -> bool:
    """Return whether a value is code that calls for it: ``os.environ["PASSWORD"]``."""
    name = value.replace("[", "(").partition("(")
    return name[1] != "" and name[0].replace(".", "").isidentifier()


def _is_value(value: str, label: str, *, joined: bool) -> bool:
    """Return whether what stands behind a name is no word of a sentence."""
    figures, letters = _count_digits(value), any(map(str.isalpha, value))
    if len(value) < (_LEAST if joined else _LEAST_BARE)[label] or value.lower() in _WORDS.no_values:
        return False
    if label == "passwords" and joined:
        return figures > 0 or (letters and any(sign in _SIGNS for sign in value[:-1]))
    if label == "passwords":
        return figures > 0 and letters and value[0].isalnum()
    if not joined:
        return figures > 1 and _share_of_switches(value) >= _LEAST_SWITCHES
    plain = value.isalnum() or label == "numbers"
    return (figures > 1 or (figures == 1 and plain)) and (letters or len(value) >= _LONG)


_SIGNS = frozenset("!#$%&*+<=>?@\\^_|~§€")


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
    told = sum(
        part in _WORDS.no_values or part.endswith(tuple(_WORDS.no_endings)) for part in parts
    )
    return (
        told <= (len(parts) >= _MANY)
        and _function_words().isdisjoint(parts)
        and _label_of().keys().isdisjoint(parts)
    )


@cache
def _function_words() -> frozenset[str]:
    return words_of("function_words", "en", "de", "es", "fr", "it", "pt", "nl")


def _value_before(lowered: str, at: int) -> tuple[int, int] | None:
    """Return the value that stands before its name: "tulip22 is my password"."""
    found = _given_before().search(lowered, max(0, at - _BEFORE), at)
    return found.span(1) if found and _is_value(found[1], "passwords", joined=False) else None


@cache
def _given_before() -> LinearPattern:
    """Return the pattern of a value and the words between it and its name."""
    words = rf"\s{any_of(_WORDS.verbs)}\s{any_of(_WORDS.whose)}\s(?:\S+\s+){{0,3}}$"
    return compile_pattern(rf"([^\s{_MARKS}]+){_QUOTES}?{words}")


def mentions_secret(text: str) -> bool:
    """Return whether ``text`` speaks of a password, a key or the like, whatever it says of it."""
    return any(_find_names(lower_in_place(text), *_NAMES))

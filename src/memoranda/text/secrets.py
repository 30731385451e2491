"""Finds the secrets in a text: passwords, keys, tokens, card and account numbers.

:func:`find_secrets` is the one judgement; whatever masks, refuses or reports secrets asks it. Four
things tell a secret: the form that its issuer gave it; a check digit; its name beside it ("the wifi
password is …"), in the languages of ``secrets.toml``; and that no person would have written it, as
letters and digits thrown together. Every pattern is linear; what a pattern cannot say is checked in
Python on the few places that it found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from operator import attrgetter, ne
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from memoranda.text.patterns import (
    LinearMatch,
    LinearPattern,
    any_of,
    compile_pattern,
    expand,
    load,
    word_list,
    words_of,
)
from memoranda.text.terms import lower_in_place

# What stands for a secret.
HIDDEN = "[…]"
_WORDS = partial(word_list, "secrets")


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
    lowered = lower_in_place(text)
    may_have_form = _MAY_HAVE_FORM.search(text) is not None
    if may_have_form:
        pattern, kinds = _forms()
        for found in pattern.finditer(text):
            yield SecretSpan(*found.span(), kinds[found.lastindex])
    yield from _find_named_values(text, lowered)
    if _DIGIT.search(text) is not None:
        yield from _find_numbers(text, lowered)
    if may_have_form:
        yield from _find_codes(text, lowered)


# Forms


@cache
def _forms() -> tuple[LinearPattern, tuple[str, ...]]:
    """Return one pattern for all forms, each a group, and by the number of a group its kind."""
    forms: dict[str, str] = dict(load("mul", "secrets")["forms"])
    pattern = "|".join(f"({expand(form, {})})" for form in forms.values())
    return compile_pattern(pattern), ("", *forms)


# What every form and code has: many signs without a space between them, or one of these beginnings.
_MAY_HAVE_FORM = compile_pattern(r"\S{16}|://|-----BEGIN|basic\s", re.IGNORECASE)


# Numbers with a check digit

_DIGIT = compile_pattern("[0-9]")
_IBAN = compile_pattern(r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")
_IBAN_DIGITS = {code: str(code - 55) for code in range(ord("A"), ord("Z") + 1)}
_IBAN_LENGTHS = range(15, 35)
# A card of the large networks.
_CARD = compile_pattern(
    r"(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|35[0-9]{2}|6[0-9]{3})(?:[ -]?[0-9]{4}){3}"
    r"|3(?:[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}|[068][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{4})"
)
_BEFORE_NUMBER = frozenset("0123456789.-+/_")


def _find_numbers(text: str, lowered: str) -> Iterator[SecretSpan]:
    for found in _IBAN.finditer(text):
        given = found[0]
        ends = (end for end in range(len(given), 0, -1) if not given[end : end + 1].isalnum())
        if end := next((end for end in ends if _is_iban(given[:end])), None):
            yield SecretSpan(found.start(), found.start() + end, "an IBAN")
    for found in _CARD.finditer(text):
        start, end = found.span()
        beside = text[start - 1 : start] in _BEFORE_NUMBER or text[end : end + 1].isalnum()
        if not beside and _luhn(found[0]) and not _is_reference(lowered, start, end):
            yield SecretSpan(start, end, "a card number")


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").replace("-", "")
    if len(plain) not in _IBAN_LENGTHS:
        return False
    return int((plain[4:] + plain[:4]).translate(_IBAN_DIGITS)) % 97 == 1


def _luhn(number: str) -> bool:
    """Return whether the check digit of a card number is right."""
    digits = [int(sign) for sign in number if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]  # noqa: PLR2004 - two digits from five on
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


# Codes that look random

# What words beside a code call a commit, an order or the like is none, nor is what stands in a URL.
_CODES = compile_pattern(r"[A-Za-z0-9+/_=-]{16,}")
_MOST_RANDOM = 200  # characters; what is longer is data
_SPELLED = compile_pattern(r"[A-Z][a-z]{2,}|[a-z]{4,}")
_LEAST_SWITCHES = 0.3  # of the characters are of another class than the one before
_MOST_SPELLED = 0.55  # of the characters may stand in what could be words
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
        is_key = _is_random(code) and not _is_in_address(text, start)
        if is_key and not _is_reference(lowered, start, end):
            yield SecretSpan(start, end, "a key")


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
    spelled = sum(map(len, _SPELLED.findall(code))) > _MOST_SPELLED * len(code)
    return not spelled and max(map(len, code.translate(_JOINTS).split())) >= _LONG_PART


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
    return not _WORDS("references").isdisjoint(around.translate(_NO_SIGNS).split())


def _is_in_address(text: str, start: int) -> bool:
    """Return whether a code is part of a URL, or of the name of a file."""
    before = text[max(0, start - _MOST_RANDOM) : start].rpartition(" ")[2]
    return "://" in before or before.startswith("www.") or text.startswith("/", start)


# Values beside the names of secrets

# A name tells how much its value has to look like one: a password may be a plain word, a key has
# digits. What only speaks of a password ("the password is required") has none.
LABELLED = {
    "documents": "the number of a document",
    "passwords": "a password",
    "numbers": "a PIN or code",
    "keys": "a key",
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
# A login, which is a name, a slash between blanks, and the password.
_LOGIN = compile_pattern(
    lambda: rf"\b{any_of(_WORDS('logins'))}\s?[:=]\s?\S{{1,60}}\s/\s(\S*[a-z]\S*[^\s.])"
)
# A password before its name: "tulip22 is my password".
_GIVEN_BEFORE = compile_pattern(
    lambda: (
        rf"([^\s{_MARKS}]+){_QUOTES}?\s{any_of(_WORDS('verbs'))}\s{any_of(_WORDS('whose'))}\s"
        rf"(?:\S+\s+){{0,3}}{any_of(_WORDS('passwords'))}\b"
    )
)
# What ends a value of plain words.
_JOINING = compile_pattern(lambda: rf"(?:^|\s){any_of(_WORDS('joining'))}(?:\s|$)", re.IGNORECASE)
# How the values are written that have figures.
_NUMBER = compile_pattern(r"\s{0,3}[\"'#*]{0,2}([A-Za-z]{0,2}[0-9](?:[ -]?[0-9]){2,23})")
_CLAUSE = compile_pattern(r"[^.,;:!?()\n\"“”«»]{1,240}")
# With what begins that stands for a value, and a page where to look for it.
_PLACEHOLDERS = ("$", "{", "<", "%", "[", "…", "***", "xxx", "XXX", "•", "...", "http:", "https:")
_LONGEST_VALUE = 400  # characters after a name in which its value may stand
_SPOKEN = ("en", "de", "es", "fr", "it", "pt", "nl")
_PHRASE = 24  # plain words of a password at most: those of a recovery phrase
_MANY = 3  # of which one may also be said of a password
# Characters of a value at least: where something joins it to its name, and where only a space does.
_LEAST = {"passwords": (4, 6), "keys": (6, 12), "numbers": (3, 4), "documents": (4, 4)}
_LONG = 16  # from so many characters on, a value of letters alone is a key


@cache
def _names(*labels: str) -> LinearPattern:
    """Return the pattern of the names with some labels, each a group, in lower case."""
    groups = (f"(?P<{label}>{any_of(_WORDS(label))})" for label in labels)
    return compile_pattern("|".join(groups).replace(r"\s+", r"[\s_-]?"))


@cache
def _joint() -> LinearPattern:
    """Return the pattern of what joins a name to its value, in lower case."""
    of = rf"(?:\s{any_of(_WORDS('of'))}(?:\s[^\s.,;:!?=]{{1,30}}){{1,4}}?|\s?\([^()\n]{{1,60}}\))?"
    verb = rf"(?:\s{any_of(_WORDS('verbs'))}|['’]s)\s?:?\s(?:{any_of(_WORDS('still'))}\s)?"
    sign = rf"\s{{0,3}}(?:,\s?{_QUOTES}value{_QUOTES}\s?)?(?::=|=>|[{_SIGNS_OF_VALUE}])"
    unspaced = rf"\s?{any_of(_WORDS('unspaced_verbs'))}\s?"
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
    names = [*_find_names(lowered, *LABELLED)]
    for found in names:
        end, label = found.end(), found.lastgroup
        if value := _read_after(text[end : end + _LONGEST_VALUE], label):
            yield SecretSpan(end + value[0], end + value[1], LABELLED[label])
    patterns = [(_LOGIN, True)] * ("/" in lowered) + [(_GIVEN_BEFORE, False)] * bool(names)
    for pattern, joined in patterns:
        for found in pattern.finditer(lowered):
            if _is_value(found[1], "passwords", joined=joined):
                yield SecretSpan(*found.span(1), LABELLED["passwords"])


@lru_cache(maxsize=64)  # What stands behind one name often stands behind the next, too.
def _read_after(text: str, label: str) -> tuple[int, int] | None:
    """Return where the value stands in what follows a name, if it has one."""
    joint = _joint().match(lower_in_place(text))
    joined, at = joint is not None, joint.end() if joint else 0
    if not joined and not text[:1].isspace() and not text.startswith("#"):
        return None
    numbered = label in {"numbers", "documents"}
    if numbered and (found := _NUMBER.match(text[at:])):
        fits = _count_digits(found[1]) >= _LEAST[label][not joined]
        return (at + found.start(1), at + found.end(1)) if fits else None
    found = _VALUE.match(text[at:])
    if found is None or (numbered and not joined):
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
    if len(value) < _LEAST[label][not joined] or value.lower() in _WORDS("no_values"):
        return False
    if label == "passwords" and joined:
        return figures > 0 or (letters and any(sign in _SIGNS for sign in value[:-1]))
    if label == "passwords":
        return figures > 0 and letters and value[0].isalnum()
    if not joined:
        return figures > 1 and _share_of_switches(value) >= _LEAST_SWITCHES
    several = figures > 1 or (figures == 1 and value.isalnum())
    return several and (letters or len(value) >= _LONG)


_SIGNS = frozenset("!#$%&*+<=>?@\\^_|~§€")


def _read_words(text: str, start: int, *, quoted: bool) -> tuple[int, int] | None:
    """Return where a password of plain words stands that begins at ``start``."""
    clause = _CLAUSE.match(text[start:])
    said = clause[0] if clause else ""
    said = (said if quoted else _JOINING.split(said)[0]).rstrip()
    fits = len(said) >= _LEAST["passwords"][0] and len(said.split()) <= _PHRASE
    return (start, start + len(said)) if fits and _is_phrase(said.lower()) else None


def _is_phrase(said: str) -> bool:
    """Return whether words may be a password: no sentence, and nothing that is said of one."""
    parts = said.replace("-", " ").split()
    if not parts or not all(part.replace("'", "").replace("’", "").isalpha() for part in parts):
        return False
    # "correct horse battery staple" is a password, "correct" is not.
    endings = tuple(_WORDS("no_endings"))
    told = sum(part in _WORDS("no_values") or part.endswith(endings) for part in parts)
    return (
        told <= (len(parts) >= _MANY)
        and words_of("function_words", *_SPOKEN).isdisjoint(parts)
        and not any(part in _WORDS(label) for label in LABELLED for part in parts)
    )


def mentions_secret(text: str) -> bool:
    """Return whether ``text`` speaks of a password, a key or the like, whatever it says of it."""
    return any(_find_names(lower_in_place(text), *LABELLED, "topics"))

"""Finds the secrets in a text: passwords, keys, tokens, card and account numbers, seed phrases.

:func:`find_secrets` is the one judgement; whatever masks, refuses or reports secrets asks it. Four
things tell a secret: the form that its issuer gave it, a check digit, its name beside it
(:mod:`memoranda.text.secret_names`), and that no person would have written it
(:mod:`memoranda.text.random_codes`). Every pattern is linear; what a pattern cannot say is checked
in Python on the few places that it found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import compile_pattern, expand, load, words_of
from memoranda.text.random_codes import decode_base64, find_codes, is_reference
from memoranda.text.secret_names import find_named_values, lower_in_place

# What stands for a secret.
HIDDEN = "[…]"

PRIVATE_KEY, SEED = "a private key", "a seed phrase"
_MOST_KEPT = 10_000
_kept: dict[bytes, tuple[SecretSpan, ...]] = {}


class SecretSpan(NamedTuple):
    """Where a secret stands in a text, and what it is: ``"a password"``."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> tuple[SecretSpan, ...]:
    """Return the secrets in a text, in order; none overlaps another.

    What was found in the last texts is kept under their hashes: a record is looked at whenever it
    is told.
    """
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    known = _kept.get(key)
    if known is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        known = _kept[key] = _join_overlapping(_find(text))
    return known


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
    """Yield spans that may overlap; of two that do, the one that comes first names the kind."""
    yield from _find_forms(text)
    lowered = lower_in_place(text)
    yield from (SecretSpan(*each) for each in find_named_values(text, lowered))
    yield from _find_numbers(text, lowered)
    yield from _find_seeds(lowered)
    yield from (SecretSpan(*each) for each in find_codes(text, lowered))


def _join_overlapping(spans: Iterable[SecretSpan]) -> tuple[SecretSpan, ...]:
    found: list[SecretSpan] = []
    ranked = [(each.start, rank, each) for rank, each in enumerate(spans)]
    first = 0
    for start, rank, span in sorted(ranked):
        if found and start < found[-1].end:
            last = found[-1]
            first, kind = (rank, span.kind) if rank < first else (first, last.kind)
            found[-1] = SecretSpan(last.start, max(last.end, span.end), kind)
        else:
            first = rank
            found.append(span)
    return tuple(found)


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


_PRIVATE_END = compile_pattern(r"-----END [A-Z ]{0,60}-----")
_KEY_READ = 200  # characters of a key that are looked at
_CHECKED = frozenset({"an API key", "a login"})
_WORDY = 16  # letters in a row that no word of an identifier has


def _find_forms(text: str) -> Iterator[SecretSpan]:
    pattern, kinds = _forms()
    end = 0
    for found in pattern.finditer(text):
        kind = kinds[found.lastindex or 0]
        if found.start() < end or (kind in _CHECKED and not _is_of_form(found)):
            continue
        end = found.end()
        if kind == PRIVATE_KEY:  # A private key goes on to the line that ends it.
            closing = _PRIVATE_END.search(text[end:])
            end = end + closing.end() if closing else len(text)
        yield SecretSpan(found.start(), end, kind)


def _is_of_form(found: LinearMatch) -> bool:
    """Return whether what follows a well-known prefix is a key, and not the words of a name."""
    given = found.groupdict()
    if login := given["basic"]:
        return ":" in decode_base64(login)
    key = (given["short_key"] or given["key"] or "")[:_KEY_READ]
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
_CARD_LENGTHS = range(13, 20)
_BEFORE_NUMBER = frozenset("0123456789.-+/_")


def _find_numbers(text: str, lowered: str) -> Iterator[SecretSpan]:
    for found in _IBAN.finditer(text):
        given = found[0]
        ends = [
            at
            for at in range(len(given), _IBAN_LENGTHS[0] - 1, -1)
            if not given[at : at + 1].isalnum()
        ]
        end = next((at for at in ends if _is_iban(given[:at])), None)
        if end is not None:
            yield SecretSpan(found.start(), found.start() + end, "an IBAN")
    for found in _CARD.finditer(text):
        before = text[found.start() - 1 : found.start()]
        if before not in _BEFORE_NUMBER and (place := _card_within(found[0])):
            start, end = place[0] + found.start(), place[1] + found.start()
            if not text[end : end + 1].isalnum() and not is_reference(lowered, start, end):
                yield SecretSpan(start, end, "a card number")


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").replace("-", "")
    if len(plain) not in _IBAN_LENGTHS:
        return False
    return int((plain[4:] + plain[:4]).translate(_IBAN_DIGITS)) % 97 == 1


def _card_within(digits: str) -> tuple[int, int] | None:
    """Return where a card number stands in groups of digits, which may begin with others."""
    starts = [0, *(at + 1 for at, sign in enumerate(digits) if not sign.isdigit())]
    ends = [*(at - 1 for at in starts[1:]), len(digits)]
    for place, start in enumerate(starts):
        for end in ends[place:]:
            plain = digits[start:end].replace(" ", "").replace("-", "")
            if (
                len(plain) in _CARD_LENGTHS
                and _NETWORKS.fullmatch(plain)
                and _luhn([int(digit) for digit in plain])
            ):
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
_BESIDE_SEEDS = ".,;:|()[]\"'`*-"
_NUMBERED = _BESIDE_SEEDS + "0123456789"
_SPACED = str.maketrans(dict.fromkeys(_NUMBERED, " "))


def _find_seeds(lowered: str) -> Iterator[SecretSpan]:
    if len(_seed_words().intersection(lowered.translate(_SPACED).split())) < _DIFFERENT:
        return
    start, end = 0, 0
    found: list[str] = []
    for part in lowered.split():
        at = lowered.index(part, end)
        word = part.lstrip(_NUMBERED).rstrip(_BESIDE_SEEDS)
        if word in _seed_words():
            start = start if found else at
            found.append(word)
        elif word:
            if _is_seed(found):
                yield SecretSpan(start, end, SEED)
            found = []
        end = at + len(part)
    if _is_seed(found):
        yield SecretSpan(start, end, SEED)


def _is_seed(words: list[str]) -> bool:
    return len(words) >= _SEED_WORDS and len(set(words)) >= _DIFFERENT


@cache
def _seed_words() -> frozenset[str]:
    return words_of("seed_words", "mul")

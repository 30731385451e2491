"""Detects and masks secrets in a text.

There are two judgements. :func:`secret_kind` knows the forms of passwords, keys and numbers of
cards, and says which of them a text holds. :func:`tells_secret` is stricter: what only speaks of
a password, or looks like a key, counts as well. :func:`looks_secret` is either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise

from memoranda.text.patterns import LanguageData, compile_pattern

# What stands for a secret.
HIDDEN = "[…]"

_ENGLISH = LanguageData("en", "secrets")
_KINDS = {
    "a private key": compile_pattern(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)", re.DOTALL
    ),
    "an API key": compile_pattern(
        r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}\b|\bA[KS]IA[0-9A-Z]{16}\b"
        r"|\b(?:gh[pousr]|github_pat|hf|npm)_[A-Za-z0-9_]{30,}\b|\bglpat-[\w-]{20,}\b"
        r"|\bxox[abpr]-[A-Za-z0-9-]{10,}\b|\bAIza[\w-]{30,}"
    ),
    "a token": compile_pattern(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|\bBearer\s+[\w.~+/-]{20,}=*"),
    "a password": _ENGLISH.pattern("password"),
    "a pass": _ENGLISH.pattern("pass"),
    "the number of a document": _ENGLISH.pattern("document"),
    "a secret in an address": compile_pattern(r"\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s/@]{3,}@"),
}
_CARD = compile_pattern(r"(?<![\d.-])(?:\d[ -]?){12,18}\d(?![\d.-])")
_KNOWN_TOKEN = compile_pattern(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|AKIA|ASIA|AIza|eyJ|hf|npm|pypi)[-_]?[A-Za-z0-9]{8}"
)
_TOKEN = compile_pattern(r"[A-Za-z0-9+/_=-]{12,}")
_LONG_NUMBER = compile_pattern(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_WITH_DIGIT = compile_pattern(r"\S*\d\S*")
_LEAST_KINDS = 3
_MOST_DECIDED = 10_000
_decided: dict[bytes, bool] = {}


def secret_kind(text: str) -> str | None:
    """Return what kind of secret a text seems to hold (``"an API key"``), if any."""
    for kind, pattern in _KINDS.items():
        if pattern.search(text):
            return kind
    for number in _CARD.finditer(text):
        if _luhn([int(digit) for digit in number[0] if digit.isdigit()]):
            return "a card number"
    return None


def mask_secrets(text: str) -> str:
    """Return ``text`` with ``[…]`` for everything that has the form of a secret."""
    for pattern in [*_KINDS.values(), _CARD]:
        text = pattern.sub(HIDDEN, text)
    return text


def tells_secret(text: str) -> bool:
    """Return whether ``text`` states a password, a key, a card number or the like."""
    return (
        _ENGLISH.named.search(text) is not None
        or _ENGLISH.pin_value.search(text) is not None
        or _KNOWN_TOKEN.search(text) is not None
        or _LONG_NUMBER.search(text) is not None
        or any(_is_random(found[0]) for found in _TOKEN.finditer(text))
    )


def mentions_secret(text: str) -> bool:
    """Return whether ``text`` speaks of a password, a key or the like."""
    return _ENGLISH.called.search(text) is not None


def looks_secret(text: str) -> bool:
    """Return whether ``text`` is secret by either judgement.

    What was decided of the last texts is kept under their hashes: a record is looked at whenever
    it is told, and the patterns take half a microsecond for each character.
    """
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    known = _decided.get(key)
    if known is None:
        if len(_decided) >= _MOST_DECIDED:
            _decided.clear()
        known = _decided[key] = _is_secret(text)
    return known


def _is_secret(text: str) -> bool:
    return tells_secret(text) or secret_kind(text) is not None


def without_secrets(text: str) -> str:
    """Return ``text`` with ``[…]`` for what seems to be secret in it."""
    text = _ENGLISH.labelled.sub(rf"\1{HIDDEN}", mask_secrets(text))
    if not looks_secret(text):
        return text
    # The value is a word with a digit, or stands for itself.
    text = _WITH_DIGIT.sub(lambda word: HIDDEN if _is_secret(word[0]) else word[0], text)
    return text if not looks_secret(text) else _WITH_DIGIT.sub(HIDDEN, text)


def _luhn(digits: Sequence[int]) -> bool:
    """Return whether the check digit of a card number is right."""
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]  # noqa: PLR2004 - two digits from five on
    return any(digits) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_random(token: str) -> bool:
    """Return whether ``token`` looks like a key: letters and digits thrown together."""
    digits = sum(map(str.isdigit, token))
    kinds = (any(map(str.islower, token)), any(map(str.isupper, token)), digits >= _LEAST_KINDS)
    switches = sum(one.isdigit() != other.isdigit() for one, other in pairwise(token))
    return (sum(kinds) == len(kinds) and switches >= len(kinds)) or (
        digits >= _LEAST_KINDS and switches > _LEAST_KINDS + 1 and "-" not in token
    )

"""Finds codes that look random: letters and digits thrown together, as in a key and in no word.

What words beside a code call a commit, an order or the like is none, nor is what stands in a URL,
nor plain text in Base64.
"""

from __future__ import annotations

import math
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from operator import ne

from memoranda.text.patterns import WordLists, compile_pattern

KEY, HEX_KEY = "a key", "a hex key"
_WORDS = WordLists("secrets")
_CODES = compile_pattern(r"[A-Za-z0-9+/_=-]{16,}")
_MOST_RANDOM = 200  # characters; what is longer is data
_HEX = compile_pattern(r"(?:0[xX])?(?:[0-9a-f]{32,}|[0-9A-F]{32,})")
_LONG_HEX = 32
_SPELLED = compile_pattern(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{4,}")
LEAST_SWITCHES = 0.25  # of the characters are of another class than the one before
# Share of the characters that may stand in what could be words: more where chance makes up for it.
_MOST_SPELLED, _MOST_SPELLED_OF_LONG, _SURE = 0.5, 0.65, 32
_LEAST_ENTROPY = 3.2  # bits of each character
_LEAST_CLASSES = 3
_LONG_PART = 12  # characters without a sign between them
_LONG = 16  # letters and digits of a key at least
_LONG_PLAIN = 24  # the same, of one without capitals, or without small letters
_FEW = 4
_AROUND = 40  # characters before and after a code that are read for what it is
_NO_SIGNS = dict.fromkeys(
    map(ord, ".,:;!?#@=/()[]{}<>\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`*|_-"), " "
)
_PARTS = dict.fromkeys(map(ord, "/_-"), " ")
_CLASS_OF = {
    code: kind
    for kind, signs in {
        "a": "abcdefghijklmnopqrstuvwxyz",
        "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "0": "0123456789",
    }.items()
    for code in map(ord, signs)
} | dict.fromkeys(map(ord, "+/=-_.:"), "")


def find_codes(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield the codes in a text that look random: where each begins and ends, and its kind."""
    for found in _CODES.finditer(text):
        start, end = found.span()
        code = found[0].strip("=-_/")
        kind = HEX_KEY if _is_hex(code) else KEY if _is_random(code) else None
        if kind and not is_reference(lowered, start, end) and not _is_in_address(text, start):
            yield start, end, kind


def _is_hex(code: str) -> bool:
    digits = count_digits(code)
    varied = len(code) >= _LONG_HEX and _FEW <= digits <= len(code) - _FEW
    return varied and _HEX.fullmatch(code) is not None and _entropy(code) > _LEAST_CLASSES


def _is_random(code: str) -> bool:
    """Return whether letters and digits are thrown together, as in a key."""
    if not len(code) <= _MOST_RANDOM or share_of_switches(code) < LEAST_SWITCHES:
        return False
    classes, digits = code.translate(_CLASS_OF), count_digits(code)
    if len(set(classes)) < _LEAST_CLASSES:  # Without capitals, or without small letters.
        least, fits = _LONG_PLAIN, digits >= _FEW and code.isalnum()
    else:
        least, fits = _LONG, True
    if (
        not fits
        or len(classes) < least
        or max(map(len, code.translate(_PARTS).split())) < _LONG_PART
    ):
        return False
    if digits < 2 or code.startswith("AAAA"):  # noqa: PLR2004
        return False  # The last is the beginning of a public key of SSH.
    spelled = sum(map(len, _SPELLED.findall(code)))
    most = _MOST_SPELLED_OF_LONG if len(code) >= _SURE else _MOST_SPELLED
    return (
        spelled <= most * len(code) and _entropy(code) >= _LEAST_ENTROPY and not decode_base64(code)
    )


def share_of_switches(code: str) -> float:
    """Return how often a letter or digit is of another class than the one before."""
    classes = code.translate(_CLASS_OF)  # Of what is neither, nothing is left.
    switches: int = sum(map(ne, classes, classes[1:]))
    return switches / max(len(classes), 1)


def _entropy(code: str) -> float:
    """Return the bits of information in each character of a text."""
    shares = [code.count(sign) / len(code) for sign in set(code)]
    return -math.fsum(share * math.log2(share) for share in shares)


def count_digits(code: str) -> int:
    """Return how many digits a text has."""
    return sum(map(str.isdigit, code))


def is_reference(lowered: str, start: int, end: int) -> bool:
    """Return whether words beside a code say that it is an order number, a commit or the like."""
    around = f"{lowered[max(0, start - _AROUND) : start]} {lowered[end : end + _AROUND]}"
    return not _WORDS.references.isdisjoint(around.translate(_NO_SIGNS).split())


def _is_in_address(text: str, start: int) -> bool:
    """Return whether a code is part of a URL, or of the name of a file."""
    before = text[max(0, start - _MOST_RANDOM) : start].rpartition(" ")[2]
    return "://" in before or before.startswith("www.") or text.startswith("/", start)


def decode_base64(text: str) -> str:
    """Return the plain text that stands in Base64; empty where it is none."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        plain = b64decode(padded, altchars=b"-_" if set("-_") & set(text) else None).decode()
    except (NotBase64, UnicodeDecodeError):
        return ""
    return plain if plain.isprintable() else ""

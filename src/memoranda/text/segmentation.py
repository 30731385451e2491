"""Where the words of a text begin and end, in any script.

The rules, with what they give before stemming:

=========================  ====================================================
Melanie's, don't, I'll     melanie, dont, i
l'homme, well-known        l homme, well known
getUserName, user_name     getusername get user name, username user name
1,250.50 · 3.11 · v2.0     1250p50 1250 50 · 3p11 3 11 · 2p0 2 0
3.11.2                     3p11p2 3p11 3 11 2, so that it is also found by 3.11
C++, C#, .NET              cplusplus, csharp, dotnet net
ana@mail.example           ana mail example
🎂, 👨‍👩‍👧, 👍🏽, 🇵🇹            u1f382, one term per person, u1f44d, u1f1f5u1f1f9
東京都                     東 東京 京 京都 都 (for a query: 東京 京都)
=========================  ====================================================

Scripts without spaces are cut into overlapping pairs of characters, which needs
no dictionary and finds every word in any segmentation. Single characters are
indexed too, so that a query of one character finds its texts; a longer query
asks for pairs only. Korean is treated alike: its words have spaces, but
particles attach to them (학교 in 학교에서), and pairs see through that.

Everything here takes time linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from memoranda.text.folding import fold, lower
from memoranda.text.patterns import compile_pattern

LONGEST = 64
"""Longer words (hashes, base64) are cut to this many characters, in texts and queries alike."""

_CLITIC = compile_pattern(
    r"(?<=[^\W_])'(?:(?:s|m|re|ll|ve|d)(?![^\W_])|(?=t(?![^\W_])))", re.IGNORECASE
)
_ASCII_WORD = compile_pattern(r"[a-z0-9]+")
# A word inside a word, snake_case, a number with separators, C++, C#, .NET. Each alternative
# looks back from one of a few characters, so that the engine can skip all the others.
_ASCII_SPECIAL = compile_pattern(
    r"[A-Z_.,+#](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z])[A-Z][a-z]{2}|(?<=_)|(?<=[0-9][.,])[0-9]"
    r"|(?<=[A-Za-z]\+)\+|(?<=[A-Za-z]#)|(?<=\.)[Nn][Ee][Tt])"
)
_CAMEL = compile_pattern(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL_PART = compile_pattern(r"[A-Z]+(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_GROUPED = compile_pattern(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_GROUPED_BY_DOTS = compile_pattern(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_LONGEST_VERSION = 4

_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_EMOJI = (
    "[\u231a\u231b\u23e9-\u23fa\u2600-\u2767\u2795-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f0ff\U0001f191-\U0001f3fa\U0001f400-\U0001faff]"
)
_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u303c\u3041-\u30ff\u3100-\u31bf\u31f0-\u31ff"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00016fe0-\U00018d7f\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)


_FIRST_UNSPACED = "\u0e00"
_OPENING = "\"'([{<*"
_CLOSING = "\"')]}>*.,:;!?"
_LANGUAGE_NAMES = {"+": "plusplus", "#": "sharp"}


@cache
def _mark() -> tuple[str, str]:
    """Return the pattern of a combining mark: in the basic plane, and beyond it.

    Found out once, when the first text beyond ASCII comes: it takes 10 ms. Apart,
    because a character class is only fast while it stays in the basic plane.
    """
    marks = [c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M"]
    basic = "".join(c for c in marks if c <= "\uffff")
    beyond = "".join(c for c in marks if c > "\uffff")
    return basic, rf"[\U00010000-\U0001efff](?<=[{beyond}])"


@cache
def _token() -> re.Pattern[str]:
    """Return the pattern of everything that gives terms; the name of its group says what it is."""
    basic, beyond = _mark()
    return compile_pattern(
        rf"(?P<flag>{_FLAG})|(?P<emoji>{_EMOJI})"
        r"|(?P<number>[vV]?[0-9]++(?:[.,][0-9]++)+)"
        r"|(?P<language>[A-Za-z](?:\+\+(?!\+)|#(?![\w#])))"
        r"|(?P<dotnet>(?<!\w)\.[Nn][Ee][Tt](?!\w)|\.NET(?!\w))"
        rf"|(?P<run>(?:[\w{basic}]++|{beyond})++)"
    )


@cache
def _piece() -> re.Pattern[str]:
    """Return the pattern that parts a run of word characters by whether its script has spaces."""
    return compile_pattern(rf"(?P<unspaced>[{_UNSPACED}]+)|[^{_UNSPACED}]+")


@cache
def _cluster() -> re.Pattern[str]:
    """Return the pattern of a character with the marks that stand on it."""
    basic, beyond = _mark()
    return compile_pattern(rf"(?s:.)(?:[{basic}]++|{beyond})*+")


def ascii_words(text: str) -> list[str] | None:
    """Return the words of a plain ASCII text; ``None`` if it takes more than that to tell.

    The fast way: most turns of a conversation in English go here, and get the
    same words as from :func:`segment`.
    """
    if not text.isascii() or _ASCII_SPECIAL.search(text):
        return None
    if "'" in text:
        text = _CLITIC.sub("", text)
    return [word[:LONGEST] for word in _ASCII_WORD.findall(text.lower())]


def segment(text: str, *, query: bool = False) -> list[tuple[str, str]]:
    """Return the words of a normalised text in order: in lower case, and folded.

    Emoji and characters of unspaced scripts are terms as they are: instead of
    their folded form comes an empty text.

    Args:
        text: as :func:`memoranda.text.folding.normalize` gives it.
        query: leave out the single characters of longer unspaced runs.
    """
    words: list[tuple[str, str]] = []
    for chunk in _CLITIC.sub("", text).split():
        word = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if word.isalnum() and max(word) < _FIRST_UNSPACED and not _CAMEL.search(word):
            words.append(_both(word))
        else:
            words += _tokens(chunk, query=query)
    return words


def _tokens(chunk: str, *, query: bool) -> Iterator[tuple[str, str]]:
    """Yield the words of a piece of text that is more than one plain word."""
    for token in _token().finditer(chunk):
        found = token[0]
        match token.lastgroup:
            case "run":
                yield from _run(found, query=query)
            case "number":
                yield from map(_both, _number(found))
            case "language":
                yield _both(found[0] + _LANGUAGE_NAMES[found[1]])
            case "dotnet":
                yield from (_both("dotnet"), _both("net"))
            case _:
                yield "".join(f"u{ord(char):x}" for char in found), ""


def _run(run: str, *, query: bool) -> Iterator[tuple[str, str]]:
    """Yield the terms of letters, digits, marks and underscores that stand together."""
    for piece in _piece().finditer(run):
        if piece.lastgroup:
            yield from _pairs(piece[0], query=query)
        else:
            # A diacritic that stands on nothing is no word: nothing of it is left.
            yield from filter(_is_word, map(_both, _identifier(piece[0])))


def _both(word: str) -> tuple[str, str]:
    """Return a word in lower case and folded, both cut to the greatest length."""
    short = word[:LONGEST]
    return lower(short)[:LONGEST], fold(short)[:LONGEST]


def _is_word(both: tuple[str, str]) -> bool:
    """Return whether a word has a folded form."""
    return bool(both[1])


def _identifier(name: str) -> Iterator[str]:
    """Yield a word; of a name in snake_case or camelCase the whole and its parts."""
    parts = [part for part in name.split("_") if part]
    if len(parts) > 1:
        yield "".join(parts)
    for part in parts:
        yield part
        if len(part) <= LONGEST and part.isascii() and _CAMEL.search(part):
            yield from _CAMEL_PART.findall(part)


def _number(number: str) -> Iterator[str]:
    """Yield a number with separators whole, its beginnings, and its parts."""
    number = number.lstrip("vV")
    if _GROUPED.fullmatch(number):
        number = number.replace(",", "")
    elif _GROUPED_BY_DOTS.fullmatch(number):
        number = number.replace(".", "")
    parts = [part[:LONGEST] for part in number.replace(",", ".").split(".")]
    for length in range(min(len(parts), _LONGEST_VERSION), 1, -1):
        yield "p".join(parts[:length])
    yield from parts


def _pairs(run: str, *, query: bool) -> Iterator[tuple[str, str]]:
    """Yield the overlapping pairs of characters, and but for longer queries each character."""
    alone = run.isalpha()  # No character has a mark.
    characters = list(run) if alone else [c[: LONGEST // 2] for c in _cluster().findall(run)]
    if not query or len(characters) == 1:
        yield characters[0], ""
    for one, next_one in pairwise(characters):
        yield one + next_one, ""
        if not query:
            yield next_one, ""

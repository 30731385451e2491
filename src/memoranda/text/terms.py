"""Turns a text into the terms under which it is found, in any language.

A text in Latin script is indexed under the English stem (Snowball's Porter2) of
each of its words. If its function words show another language, also under the
stem of that language where this differs. A query is read in the same way. So

- an English query over English texts is plain Porter2;
- a query and a text in one language find each other through its inflections, if
  both show which language it is. A word alone does not: it finds its own form,
  and what English stemming makes of it;
- whatever the guesses, a word finds every text that holds the same word, accents
  and case aside, because its English stem is in both. A name needs no language.

A word of another script is stemmed by its script alone: Cyrillic as Russian,
Greek, Armenian, Arabic, Devanagari as Hindi, Tamil.

Where the words of a text begin and end, in any script.

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

Function words by language: what a query leaves out, and by what a language is known.

The lists are short on purpose. They hold the words that carry grammar rather than meaning, and
leave out those that are also names, months or countries ("may", "us"), because a memory is
asked about these.

One form for all the ways in which the same text can be written: of words, and of names.

Compatibility forms, upper case, diacritics, typographic quotes and the digits of
other scripts are differences of writing, not of words. What is kept:

- short i, short u and yi: letters of their own in Cyrillic, not accented vowels.
  But yo becomes ye, as most people write it, and stress marks go.
- the vowel signs of Devanagari, Thai and their relatives, which are vowels.
- the dakuten of Japanese (が is not か).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

from memoranda.text.patterns import compile_pattern, compile_scanner, languages_with, words_of

DEFAULT = "en"
_APOSTROPHES = "\u2018\u2019\u02bc\u055a\ua78c"
_DASHES = "\u2010\u2011\u2013\u2014\u2015\u2212"
_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb"
_INVISIBLE = (
    "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"  # hyphenation, joiners, direction
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variants of a glyph
    "\u20d0-\u20f0"  # frames around a character: keycaps
)
_TYPOGRAPHY = dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_DASHES, "-")
_TYPOGRAPHY |= dict.fromkeys(_QUOTES, '"')
_UNUSUAL = compile_scanner(
    rf"[{_APOSTROPHES}{_DASHES}{_QUOTES}]|(?P<invisible>[{_INVISIBLE}]+)|(?P<digit>[^\x00-\x7f\D])"
)
_UNDECOMPOSED = str.maketrans("øłđð\u0131ħ", "olddih") | str.maketrans(
    {"æ": "ae", "œ": "oe", "þ": "th"}
)
_DIACRITIC = compile_scanner(
    r"[\u0300-\u0305\u0307\u0309-\u036f]"  # Latin, Greek, Cyrillic
    r"|(?<![\u0438\u0443])\u0306|(?<!\u0456)\u0308"  # but not in letters of their own
    r"|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"  # Hebrew points
    r"|[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
    r"|\u0640"  # Arabic vowels, above, and the letter that only stretches a word
)


def normalize(text: str) -> str:
    """Return ``text`` in one Unicode form, its case kept, with ASCII quotes and digits."""
    if text.isascii():
        return text
    return _UNUSUAL.sub(_usual, unicodedata.normalize("NFKC", text))


def _usual(found: re.Match[str]) -> str:
    """Return the plain form of an unusual character."""
    if found.lastgroup == "digit":
        return str(unicodedata.decimal(found[0]))
    return _TYPOGRAPHY.get(found[0], "")


def lower(word: str) -> str:
    """Return a normalised word in lower case, its diacritics kept."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word.casefold())


def fold(word: str) -> str:
    """Return a normalised word in lower case and without diacritics."""
    return word.lower() if word.isascii() else _fold(word)


def lower_in_place(text: str) -> str:
    """Return ``text`` in lower case, each character at its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    """Fold a word beyond ASCII; remembered, because words come again and again."""
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = _DIACRITIC.sub("", apart).translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFKC", bare)


_NAME_LETTERS = _UNDECOMPOSED | str.maketrans(dict.fromkeys(f"{_APOSTROPHES}\u00b4`", "'"))
_ACCENTS = compile_pattern("[\u0300-\u036f]+")
_POSSESSIVE = compile_pattern(r"\w's?$")


def fold_name(name: str) -> str:
    """Return the key under which a name is looked up.

    Without case, width, accents (of Latin, Greek and Cyrillic letters; the marks of other
    scripts are letters), possessive and needless spaces. Folding twice changes nothing more.
    """
    folded = name
    while True:
        before = folded
        folded = unicodedata.normalize("NFKC", folded).casefold().translate(_NAME_LETTERS)
        folded = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", " ".join(folded.split()))
        folded = _POSSESSIVE.sub(lambda found: found[0][0], folded).strip()
        if folded == before:
            return folded


# Longer words (hashes, base64) are cut to this many characters, in texts and queries alike.
LONGEST = 64

_CLITIC = compile_scanner(
    r"(?<=[^\W_])'(?:(?:s|m|re|ll|ve|d)(?![^\W_])|(?=t(?![^\W_])))", re.IGNORECASE
)
_CAMEL = compile_scanner(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL_PART = compile_scanner(r"[A-Z]+(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_GROUPED = compile_scanner(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
# Of a number alone: to look for it within a text would take the square of its length.
_GROUPED_BY_DOTS = compile_scanner(r"\A[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
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
# A part of a run of word characters, by whether its script has spaces.
_PIECE = compile_scanner(rf"(?P<unspaced>[{_UNSPACED}]+)|[^{_UNSPACED}]+")
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
    return compile_scanner(
        rf"(?P<flag>{_FLAG})|(?P<emoji>{_EMOJI})"
        r"|(?P<number>[vV]?[0-9]++(?:[.,][0-9]++)+)"
        r"|(?P<language>[A-Za-z](?:\+\+(?!\+)|#(?![\w#])))"
        r"|(?P<dotnet>(?<!\w)\.[Nn][Ee][Tt](?!\w)|\.NET(?!\w))"
        rf"|(?P<run>(?:[\w{basic}]++|{beyond})++)"
    )


@cache
def _cluster() -> re.Pattern[str]:
    """Return the pattern of a character with the marks that stand on it."""
    basic, beyond = _mark()
    return compile_scanner(rf"(?s:.)(?:[{basic}]++|{beyond})*+")


def segment(text: str, *, query: bool = False) -> list[tuple[str, str]]:
    """Return the words of a normalised text in order: in lower case, and folded.

    Emoji and characters of unspaced scripts are terms as they are: instead of
    their folded form comes an empty text.

    Args:
        text: as :func:`memoranda.text.terms.normalize` gives it.
        query: leave out the single characters of longer unspaced runs.
    """
    words: list[tuple[str, str]] = []
    for chunk in _CLITIC.sub("", text).split():
        word = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if word.isascii() and word.isalpha() and (word.islower() or word.istitle()):
            low = word[:LONGEST].lower()
            words.append((low, low))
        elif word.isalnum() and max(word) < _FIRST_UNSPACED and not _CAMEL.search(word):
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
    for piece in _PIECE.finditer(run):
        if piece.lastgroup:
            yield from _pairs(piece[0], query=query)
        else:
            # A diacritic that stands on nothing is no word: nothing of it is left.
            yield from (both for both in map(_both, _identifier(piece[0])) if both[1])


def _both(word: str) -> tuple[str, str]:
    """Return a word in lower case and folded, both cut to the greatest length."""
    short = word[:LONGEST]
    return lower(short)[:LONGEST], fold(short)[:LONGEST]


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


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language, folded; none where its words are not known."""
    words = words_of("function_words", language)
    return frozenset(fold(word.replace("'", "")) for word in words)


@cache
def _languages_of() -> dict[str, list[str]]:
    """Return the languages of each function word."""
    found: dict[str, list[str]] = {}
    for code in languages_with("function_words"):
        for word in words_of("function_words", code):
            found.setdefault(word, []).append(code)
    return found


def count_function_words(words: Iterable[str]) -> Counter[str]:
    """Return how many of some words, in small letters, are function words of each language."""
    languages = _languages_of()
    return Counter([code for word in words if word in languages for code in languages[word]])


def guess_language(words: Collection[str]) -> str:
    """Return the code of the language that knows most words of a text: English, if several do."""
    languages = _languages_of()
    # Most texts are English, which this tells sooner than a count.
    if all(DEFAULT in languages[word] for word in words if word in languages):
        return DEFAULT
    known = count_function_words(words)
    return max(known, key=lambda code: (known[code], code == DEFAULT))


# The language by whose stemmer the words of a script are read.
_LANGUAGES = {
    "GREEK": "el",
    "CYRILLIC": "ru",
    "ARMENIAN": "hy",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "TAMIL": "ta",
}


_STEMMERS = threading.local()


def stemmer(language: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer of a language: they keep state, so threads cannot share one.

    Raises:
        KeyError: there is none.
    """
    found = getattr(_STEMMERS, language, None)
    if found is None:
        found = Stemmer.Stemmer(language)
        setattr(_STEMMERS, language, found)
    return found


class TermAnalyzer:
    """Snowball stems for the languages of the world, bigrams for those without spaces.

    Terms hold lower-case letters, digits and vowel signs only, at most 64 of them.
    Safe to share between threads.
    """

    @property
    def name(self) -> str:
        """Name and version: another Snowball, or another guess of languages, gives other stems."""
        return f"snowball-{Stemmer.version()}-2"

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur.

        A word gives one term, or two where the language of the text is not English
        and stems the word differently. No text is refused.
        """
        words = self._analyze(normalize(text), query=False)
        return [term for _, terms in words for term in terms]

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms worth searching, in order.

        As :meth:`terms`, less the function words of the query's language, unless it
        has no others.
        """
        words = self._analyze(normalize(text), query=True)
        telling = [terms for stop, terms in words if not stop] or [terms for _, terms in words]
        return list(dict.fromkeys(term for terms in telling for term in terms))

    def _analyze(self, text: str, *, query: bool) -> list[tuple[bool, Sequence[str]]]:
        """Return for each word of a normalised text whether it is a stop word, and its terms."""
        words = segment(text, query=query)
        folded = [plain for _, plain in words]
        language = guess_language([word for word, _ in words])
        english = self._stems(DEFAULT, folded)
        own = english if language == DEFAULT else self._stems(language, [each for each, _ in words])
        stop = stop_words(language)
        return [
            (False, (word,))
            if not plain
            else (plain in stop, (first,) if first == second else (first, second))
            if plain.isascii()
            else self._foreign(plain, first)
            for (word, plain), first, second in zip(words, english, own, strict=True)
        ]

    def _foreign(self, folded: str, english: str) -> tuple[bool, Sequence[str]]:
        """Return whether a word beyond ASCII is a stop word, and its term."""
        script = _script(folded)
        if script == "LATIN":
            return False, (english,)
        language = _LANGUAGES.get(script)
        if language is None:
            return False, (folded,)
        return folded in stop_words(language), self._stems(language, [folded])

    def _stems(self, language: str, words: list[str]) -> list[str]:
        """Return the folded stems; the word itself where a stemmer would leave nothing of it."""
        stems = stemmer(language).stemWords(words)
        return [
            stem if stem.isascii() and stem else (fold(stem) or fold(word))[:LONGEST]
            for stem, word in zip(stems, words, strict=True)
        ]


def _script(word: str) -> str:
    """Return the name of the script of a word."""
    letter = next((char for char in word if not char.isdigit()), word[0])
    return unicodedata.name(letter, "").partition(" ")[0]

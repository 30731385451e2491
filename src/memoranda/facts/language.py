"""What the data files say of one language: its words and patterns, and how its letters are read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from memoranda.facts.forms import FormFragments, compile_form
from memoranda.text.languages import rank_languages, spoken_words
from memoranda.text.patterns import (
    Fragments,
    compile_pattern,
    expand,
    languages_with,
    load,
    words_of,
)
from memoranda.text.terms import DEFAULT

# What becomes the attribute of the word for a person.
RELATION = "relation"
# Marks of all languages that end a clause, and those that may stand around a value.
_ENDS = (
    "\u00a1\u00bf,;:.!?~\u2026\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff1b\uff5e\u2013\u2014-()[]"
    "\uff08\uff09"
)
EDGE = _ENDS + " \t\n\"'`*_\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u300c\u300d\u300e\u300f"
_LAST_LETTER = compile_pattern(r"([^\W\d_])(?:[\W_]|$)")


def bare_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without marks around them."""
    words = (word.strip(EDGE) for word in text.casefold().split())
    return [word for word in words if word]


class PatternTable(dict[str, Any]):
    """The entries of one table of a data file; each of its patterns is compiled at its first use.

    A list that the file does not have is empty.
    """

    def __init__(self, entries: Mapping[str, Any], fragments: Fragments | None = None) -> None:
        """Take the entries of the table, and what the names in its patterns stand for."""
        super().__init__(entries)
        self._fragments = fragments or entries
        self._patterns: dict[str, Any] = {}

    def __missing__(self, name: str) -> frozenset[str]:
        """Return an empty list."""
        return frozenset()

    def pattern(self, name: str) -> Any:
        """Return a pattern, if the file has it."""
        if name not in self._patterns:
            source = self.get(name)
            made = None if source is None else compile_form(expand(source, self._fragments))
            self._patterns[name] = made
        return self._patterns[name]

    def patterns(self, name: str) -> list[Any]:
        """Return the patterns of an entry, each by itself; none, if the file has no such entry."""
        return [compile_form(expand(source, self._fragments)) for source in self[name]]

    def search(self, name: str, text: str) -> Any:
        """Return where a text fits a pattern first; ``None`` if nowhere, or without the pattern."""
        pattern = self.pattern(name)
        return None if pattern is None else pattern.search(text.replace("'", "\u2019"))

    def fits(self, name: str, text: str) -> bool:
        """Return whether a text fits a pattern that the file has."""
        return self.search(name, text) is not None


@cache
def language_of(code: str) -> Language:
    """Return what the data files say of a language; they are read at its first sentence."""
    return Language(code)


def languages_in(text: str) -> list[str]:
    """Return the codes of the languages with facts that a text may be in, the likeliest first."""
    words = spoken_words(text)
    ranked = [code for code in rank_languages(text) if code in languages_with("facts")]
    signs = {code: language_of(code).signs for code in ranked}
    return [code for code in ranked if not signs[code] or signs[code] & words] or [DEFAULT]


class Language:
    """The words, patterns and letters of one language.

    Attributes:
        code: its ISO 639-1 code.
        words: the table ``words`` of its ``facts.toml``, with all of its ``stance.toml``.
        requests: the table ``requests``.
        fragments: what the names in the braces of its forms stand for.
        function_words: the words that tell little by themselves: "the", "he".
        unspaced: whether it does not part its words by spaces.
    """

    def __init__(self, code: str) -> None:
        """Read the files of a language; no pattern is compiled yet."""
        self.code = code
        entries = {**load(code, "facts")["words"], **load(code, "stance")}
        words: dict[str, Any] = {
            name: frozenset(each) if isinstance(each, tuple) else each
            for name, each in entries.items()
        }
        self.fragments = FormFragments(self._fragment)
        self.words = PatternTable(words, self.fragments)
        self.requests = PatternTable(load(code, "facts").get("requests", {}), self.fragments)
        self.function_words = words_of("function_words", code)
        self.unspaced = bool(words.get("unspaced"))
        self._letters = _plain_letters(words.get("folds", ""), words.get("variants", ""))

    @cached_property
    def nouns(self) -> Mapping[str, tuple[str, str]]:
        """The words for people and animals, plain: the attribute of each, and how it is written."""
        found = {}
        for attribute, nouns in load(self.code, "facts")["relations"].items():
            for written in nouns:
                first, _, bare = written.partition(" ")
                bare = bare if first in self.words["articles"] else written
                found[self.plain(bare)] = (attribute, written)
        return found

    def _fragment(self, name: str) -> str:
        """Return a fragment as the file gives it."""
        first, *wanted = name.split("_")
        value: str | Sequence[str]
        if first == RELATION:
            nouns = (each for each, (of, _) in self.nouns.items() if not wanted or of in wanted)
            value = sorted(nouns, key=len, reverse=True)
        else:
            value = load(self.code, "facts")["fragments"][name]
        return value if isinstance(value, str) else "(?:" + "|".join(value) + ")"

    @cached_property
    def signs(self) -> frozenset[str]:
        """The words of which a sentence of the language has one; none, where any may be.

        Those of its file, and the function words that it does not share with English. So nothing
        of German is compiled where nobody writes it.
        """
        own = self.function_words - words_of("function_words", DEFAULT)
        return own | self.words["signs"] if "signs" in self.words else frozenset()

    def plain(self, text: str) -> str:
        """Return a text as forms read it: small, without the accents that do not count."""
        return text.lower().translate(self._letters)

    def fold(self, sentence: str) -> str:
        """Return a sentence, as long, without the accents that do not count.

        Letters of ``keeps`` keep theirs where they are a word, ``è`` is no ``e``, and those of
        ``keeps_last`` at the end of one: ``trabajó`` is no ``trabajo``.
        """
        folded = sentence.translate(self._letters)
        for found in _LAST_LETTER.finditer(sentence) if folded != sentence else ():
            start, end = found.span(1)
            lone = not sentence[start - 1 : start].isalnum()
            if found[1].lower() in self.words.get("keeps" if lone else "keeps_last", ""):
                folded = folded[:start] + found[1] + folded[end:]
        return folded


def _plain_letters(letters: str, variants: str) -> dict[int, str]:
    """Return by which letters others are read: without accents, or in their other shape.

    Args:
        letters: those whose accents do not count.
        variants: pairs of a letter and the one it is read as.
    """
    both = {*letters, *letters.upper()}
    plain = {ord(each): unicodedata.normalize("NFD", each)[0] for each in both}
    pairs = "".join(variants.split())
    return plain | {ord(pairs[at]): pairs[at + 1] for at in range(0, len(pairs) - 1, 2)}

"""In which language a text may be: by its script, and by the function words that it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from unicodedata import category

from memoranda.text.patterns import compile_pattern, languages_with, words_of

DEFAULT = "en"
# Marks around a word of any script.
_EDGE = " \t\n.,;:!?\u2026\u3001\u3002\u00a1\u00bf\"'`*_()[]\u201c\u201d\u201e\u00ab\u00bb\u2019"
# The letters of languages with a script of their own.
_SCRIPTS = {"ja": compile_pattern("[\u3041-\u30ff]"), "zh": compile_pattern("[\u4e00-\u9fff]")}
_LAST_LATIN = "\u024f"
_PICTURE = "So"  # the category of emoji
# Letters that stand behind an apostrophe in English: "they're".
_ELIDED = 2
# So many function words fewer, and a language is none that a text may be in.
_PLAINLY = 2


@lru_cache(maxsize=4096)
def rank_languages(text: str) -> tuple[str, ...]:
    """Return the codes of the languages that a text may be in, the likeliest first.

    English is the first of those that know equally many of its words. A language in a script of
    its own is one only where the text has letters of it.
    """
    known = _count_known(spoken_words(text))
    most = max(known.values(), default=0)
    found = [code for code in languages_with("function_words") if known[code] > most - _PLAINLY]
    found.sort(key=lambda code: (-known[code], code != DEFAULT))
    scripts = [code for code, script in _SCRIPTS.items() if script.search(text)]
    return (*scripts, *found) if most < _PLAINLY else (*found,)


def guess_language(words: Iterable[str]) -> str:
    """Return the code of the language that knows most words of a text: English, if several do."""
    known = _count_known(words)
    return max(known, key=lambda code: (known[code], code == DEFAULT), default=DEFAULT)


def is_english(text: str) -> bool:
    """Return whether a text is more likely English than in any other language, of any script."""
    other = any(char.isalpha() and char > _LAST_LATIN for char in text)
    return rank_languages(text)[0] == DEFAULT and not other


def mixes_scripts(text: str) -> bool:
    """Return whether letters of another script, or a picture, stand among those of ours."""
    beyond = {char > _LAST_LATIN for char in text if char.isalpha() or category(char) == _PICTURE}
    return len(beyond) > 1


def spoken_words(text: str) -> frozenset[str]:
    """Return the words of a text in small letters, with the parts of ``j'habite``."""
    plain = text.lower().replace("-", " ").replace("'", "\u2019")
    found = {word.strip(_EDGE) for word in plain.split()}
    for word in tuple(found):
        head, mark, rest = word.partition("\u2019")
        # What is as short as the "s" of "it's" tells no language.
        found |= {head, rest} if mark and len(rest) > _ELIDED else {head}
    return frozenset(found)


def _count_known(words: Iterable[str]) -> Counter[str]:
    """Return how many of some words, in small letters, are function words of each language."""
    languages = _languages_of()
    return Counter(code for word in words for code in languages.get(word, ()))


@cache
def _languages_of() -> dict[str, list[str]]:
    """Return the languages of each function word."""
    found: dict[str, list[str]] = {}
    for code in languages_with("function_words"):
        for word in words_of("function_words", code):
            found.setdefault(word, []).append(code)
    return found

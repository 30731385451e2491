"""In which language a text may be: by its script, and by the function words that it holds."""

from __future__ import annotations

from functools import lru_cache

from memoranda.text.patterns import compile_pattern, languages_with
from memoranda.text.terms import DEFAULT, count_function_words

# Marks around a word of any script.
_EDGE = " \t\n.,;:!?\u2026\u3001\u3002\u00a1\u00bf\"'`*_()[]\u201c\u201d\u201e\u00ab\u00bb\u2019"
# The letters of languages with a script of their own.
_SCRIPTS = {"ja": compile_pattern("[\u3041-\u30ff]"), "zh": compile_pattern("[\u4e00-\u9fff]")}
_LAST_LATIN = "\u024f"
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
    known = count_function_words(spoken_words(text))
    most = max(known.values(), default=0)
    found = [code for code in languages_with("function_words") if known[code] > most - _PLAINLY]
    found.sort(key=lambda code: (-known[code], code != DEFAULT))
    scripts = [code for code, script in _SCRIPTS.items() if script.search(text)]
    return (*scripts, *found) if most < _PLAINLY else (*found,)


def is_english(text: str) -> bool:
    """Return whether a text is more likely English than in any other language, of any script."""
    other = any(char.isalpha() and char > _LAST_LATIN for char in text)
    return rank_languages(text)[0] == DEFAULT and not other


def spoken_words(text: str) -> frozenset[str]:
    """Return the words of a text in small letters, with the parts of ``j'habite``."""
    plain = text.lower().replace("-", " ").replace("'", "\u2019")
    found = {word.strip(_EDGE) for word in plain.split()}
    for word in tuple(found):
        head, mark, rest = word.partition("\u2019")
        # What is as short as the "s" of "it's" tells no language.
        found |= {head, rest} if mark and len(rest) > _ELIDED else {head}
    return frozenset(found)

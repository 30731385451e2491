"""Analysis of text and names without any language, for the tests of stores."""

from __future__ import annotations

import re

from memoranda.model.models import Mention

WORD = re.compile(r"[^\W_]+")
CAPITALIZED = re.compile(r"\b[A-Z]\w*(?: [A-Z]\w*)*")


class WordAnalyzer:
    """Implements :class:`memoranda.model.ports.Analyzer`: words in lower case."""

    def __init__(self, name: str = "words-1") -> None:
        """Call this version of the analyzer ``name``."""
        self.name = name

    def terms(self, text: str) -> list[str]:
        """Return the words of ``text`` in order."""
        return WORD.findall(text.lower())

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct words of ``text``."""
        return list(dict.fromkeys(self.terms(text)))


class PlainNames:
    """Implements :class:`memoranda.model.ports.NameMatcher`: case aside, a name is itself.

    A first name is also the full name that begins with it.
    """

    def fold(self, name: str) -> str:
        """Return ``name`` in lower case."""
        return name.casefold().strip()

    def means(self, name: str, type: str, known: str, known_type: str) -> bool:
        """Return whether ``known`` is of this type, and its first name is ``name``."""
        return known_type == type and known.startswith(f"{self.fold(name)} ")

    def keys(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the first name, which is also what is looked for."""
        return (frozenset(self.fold(name).split()[:1]),) * 2


class CapitalizedNames:
    """Implements :class:`memoranda.model.ports.EntityExtractor`: words with a capital letter."""

    def extract(self, text: str) -> list[Mention]:
        """Return each run of capitalized words as a mention of type ``other``."""
        return [
            Mention(match.group(), "other", match.start(), match.end())
            for match in CAPITALIZED.finditer(text)
        ]

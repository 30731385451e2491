"""Patterns and word lists: what reads plain text is compiled, and its language data read, here.

Everything that reads what people, models or files have written asks here for its patterns, which
run in linear time (:mod:`memoranda.text.linear_patterns`). A pattern is compiled when it is first
used: a process pays only for those that it meets.

What the product knows of each language stands in ``memoranda/languages/<code>/<topic>.toml`` and
is read when it is first needed; the README there says how to add a language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

from memoranda.text.linear_patterns import LinearPattern

_FRAGMENT = re.compile(r"\{([a-z\u3040-\u9fff]\w*)\}")

# One character of a set, or as many as there are.
_RUN = re.compile(r"(?:\\[wWdDsS]|\[(?:\\.|[^\]\\])+\])\+?")


class Fragments(Protocol):
    """What the names in a pattern of a data file stand for."""

    def __getitem__(self, name: str, /) -> str:
        """Return the pattern of that name."""
        ...


def compile_pattern(pattern: str | Callable[[], str], flags: int = 0) -> LinearPattern:
    """Return ``pattern`` ready to use; a mistake in it shows at the first use.

    Args:
        pattern: the regular expression, or what returns it when it is first needed.
        flags: as :func:`re.compile` takes them.
    """
    if isinstance(pattern, str) and _RUN.fullmatch(pattern):
        # Never goes back, and is found by :mod:`re` many times faster.
        return cast("LinearPattern", re.compile(pattern, flags))
    return LinearPattern(pattern, flags)


# Makes a pattern that reads a text word by word, for :mod:`re`, which is faster at that. Only for
# patterns that do not backtrack on any text: what they repeat is possessive, or can be followed by
# nothing that it takes itself, and they look around for a fixed length only.
compile_scanner = re.compile


def is_word(sign: str) -> bool:
    """Return whether a character is a letter, a digit or an underscore."""
    return sign.isalnum() or sign == "_"


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether no word goes on before or after what stands between two places."""
    return not (start and is_word(text[start - 1])) and not is_word(text[end : end + 1])


def expand(pattern: str, fragments: Fragments) -> str:
    """Return a pattern of a data file as the engine takes it.

    ``{name}`` stands for a fragment; ends of lines, and indentation, for nothing.
    """
    if "\n" in pattern:
        pattern = "".join(line.lstrip() for line in pattern.splitlines())
    return _FRAGMENT.sub(lambda name: fragments[name[1]], pattern)


def any_of(words: Iterable[str]) -> str:
    r"""Return a group that matches any of the words, the longest first; a space is any ``\s+``."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"\s+") for word in ordered) + ")"


_FOLDER = Path(__file__).parent.parent / "languages"


@cache
def load(code: str, topic: str) -> Mapping[str, Any]:
    """Return the tables of one language on one topic; arrays come as tuples.

    Args:
        code: the language by its ISO 639-1 code, such as ``"en"``.
        topic: the name of the file without its ending, such as ``"dates"``.

    Raises:
        FileNotFoundError: the language has no such file.
    """
    frozen: Mapping[str, Any] = _frozen(tomllib.loads(read_text(code, f"{topic}.toml")))
    return frozen


@cache
def languages_with(topic: str) -> tuple[str, ...]:
    """Return the codes of the languages that have data on a topic, in order."""
    return tuple(sorted(file.parent.name for file in _FOLDER.glob(f"*/{topic}.*")))


def read_text(code: str, name: str) -> str:
    """Return a file of a language as it is."""
    return (_FOLDER / code / name).read_text("utf-8")


@cache
def words_of(topic: str, *codes: str) -> frozenset[str]:
    """Return the words of the plain lists ``<topic>.txt`` of some languages, or of all.

    What follows a ``#`` is a comment; an underscore stands for the space inside a name.
    """
    found: set[str] = set()
    for code in codes or languages_with(topic):
        lines = read_text(code, f"{topic}.txt").splitlines()
        found.update(word for line in lines for word in line.partition("#")[0].split())
    return frozenset(word.replace("_", " ") for word in found)


@cache
def word_list(topic: str, name: str, *codes: str) -> frozenset[str]:
    """Return the words of the arrays of a name in ``<topic>.toml`` of some languages, or of all."""
    files = (load(code, topic) for code in codes or languages_with(topic))
    return frozenset(word for file in files for word in file.get(name, ()))


class LanguageData:
    """The word lists and patterns of one language on one topic, each read when first used.

    In its file, an array is a list of words, a string is a pattern, which may go over several
    lines, and a table maps words to words. ``{name}`` stands for another entry of the file.
    Each pattern is an attribute, ready to use: ``ENGLISH.moved.search(text)``.
    """

    def __init__(
        self,
        code: str,
        topic: str,
        more: Mapping[str, Callable[[], str | Iterable[str]]] | None = None,
    ) -> None:
        """Stand for ``languages/<code>/<topic>.toml``, which is not read yet.

        Args:
            code: the language.
            topic: the name of the file.
            more: patterns, or lists of words, from elsewhere that patterns of the file may name.
        """
        self._code = code
        self._topic = topic
        self._more = more or {}
        self._sources: dict[str, str] = {}
        self._patterns: dict[tuple[str, int], LinearPattern] = {}

    def words(self, name: str) -> frozenset[str]:
        """Return the words of a list as a set."""
        return word_list(self._topic, name, self._code)

    def source(self, name: str) -> str:
        """Return a pattern as text; of a list of words, what matches any of them."""
        if name not in self._sources:
            more = self._more.get(name)
            value = load(self._code, self._topic)[name] if more is None else more()
            text = expand(value, self) if isinstance(value, str) else any_of(value)
            self._sources[name] = text
        return self._sources[name]

    __getitem__ = source

    def pattern(self, name: str, flags: int = re.IGNORECASE) -> LinearPattern:
        """Return a pattern ready to use; without regard to case unless ``flags`` say so."""
        if (name, flags) not in self._patterns:
            self._patterns[name, flags] = compile_pattern(lambda: self.source(name), flags)
        return self._patterns[name, flags]

    def __getattr__(self, name: str) -> LinearPattern:
        """Return the pattern of that name, which is compiled at its first use, and keep it."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.pattern(name)
        setattr(self, name, found)
        return found


def _frozen(value: Any) -> Any:
    """Return a value of a file so that nobody who shares it can change it."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value

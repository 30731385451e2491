"""The one place where patterns over text from outside are compiled.

Everything that reads what people, models or files have written asks here, so that the
engine can be exchanged for one that never backtracks. A pattern is compiled when it is
first used: a process pays only for those that it meets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

_METHODS = (
    "search",
    "match",
    "fullmatch",
    "finditer",
    "findall",
    "split",
    "sub",
    "subn",
    "pattern",
)
_FRAGMENT = re.compile(r"\{([a-z]\w*)\}")


class Fragments(Protocol):
    """What the names in a pattern of a data file stand for."""

    def __getitem__(self, name: str, /) -> str:
        """Return the pattern of that name."""
        ...


class _PatternOnUse:
    """Behaves as a compiled pattern, and compiles it at the first call of a method."""

    def __init__(self, source: Callable[[], str], flags: int) -> None:
        self._source = source
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and from now on answer with the methods of the engine itself."""
        compiled = re.compile(self._source(), self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile_pattern(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return ``pattern`` ready to use; a mistake in it shows at the first use.

    Args:
        pattern: the regular expression, or what returns it when it is first needed.
        flags: as :func:`re.compile` takes them.
    """
    source = pattern if callable(pattern) else lambda: pattern
    return cast("re.Pattern[str]", _PatternOnUse(source, flags))


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

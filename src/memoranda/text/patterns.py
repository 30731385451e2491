"""The one place where patterns over text from outside are compiled.

Everything that reads what people, models or files have written asks here, so that the
engine can be exchanged for one that never backtracks. A pattern is compiled when it is
first used: a process pays only for those that it meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _PatternOnUse:
    """Behaves as a compiled pattern, and compiles it at the first call of a method."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and from now on answer with the methods of the engine itself."""
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``pattern`` ready to use; a mistake in it shows at the first use."""
    return cast("re.Pattern[str]", _PatternOnUse(pattern, flags))


def any_of(words: Iterable[str]) -> str:
    r"""Return a group that matches any of the words, the longest first; a space is any ``\s+``."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"\s+") for word in ordered) + ")"

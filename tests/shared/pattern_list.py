"""All patterns of the package, wherever they are defined."""

import contextlib
import gc
import importlib
import pkgutil
import re
from collections.abc import Iterator

import memoranda
from memoranda.text import patterns
from memoranda.text.dates.expressions import matches


def all_patterns() -> Iterator[tuple[str, int]]:
    """Yield the source and the flags of every pattern, and those of the language data."""
    for module in pkgutil.walk_packages(memoranda.__path__, "memoranda."):
        if module.name != "memoranda.__main__":
            with contextlib.suppress(Exception):  # An extra that is not installed.
                importlib.import_module(module.name)
    matches("", statements=True)
    matches("", statements=False)
    found: dict[tuple[str, int], None] = {}
    for each in gc.get_objects():
        if isinstance(each, patterns._PatternOnUse):
            found[each._source(), int(each.flags)] = None
        elif isinstance(each, patterns.LanguageData):
            found.update(dict.fromkeys(_of_language(each)))
    yield from found


def _of_language(data: patterns.LanguageData) -> Iterator[tuple[str, int]]:
    """Yield the entries of a file that are patterns by themselves."""
    for name, value in patterns.load(data._code, data._topic).items():
        if isinstance(value, str):
            with contextlib.suppress(KeyError, re.error, TypeError, AttributeError):
                source = data.source(name)
                re.compile(source)
                yield source, int(data._flags)

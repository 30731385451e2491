"""All patterns of the package, wherever they are defined.

``python -m tests.shared.pattern_list`` writes them as JSON: a process of its own sees them all,
also where another one keeps some of its objects from the garbage collector.
"""

import contextlib
import gc
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import memoranda
from memoranda.text import patterns
from memoranda.text.dates.statements import read_times
from memoranda.text.patterns import LinearPattern


def all_patterns() -> list[tuple[str, int]]:
    """Return the source and the flags of every pattern, and those of the language data."""
    listing = [sys.executable, "-m", "tests.shared.pattern_list"]
    found = subprocess.run(listing, capture_output=True, check=True, text=True).stdout  # noqa: S603 - ourselves
    return [(source, flags) for source, flags in json.loads(found)]


def _collect() -> Iterator[tuple[str, int]]:
    package = Path(memoranda.__file__).parent
    for path in package.rglob("*.py"):
        if "memoranda.text.patterns" in path.read_text("utf-8"):
            module = path.relative_to(package.parent).with_suffix("")
            importlib.import_module(".".join(module.parts).removesuffix(".__init__"))
    read_times("on 5 May I went", datetime(2023, 5, 1, tzinfo=UTC))
    found: dict[tuple[str, int], None] = {}
    for each in gc.get_objects():
        if isinstance(each, LinearPattern):
            found[each.pattern, int(each.flags)] = None
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


if __name__ == "__main__":
    json.dump(list(_collect()), sys.stdout)

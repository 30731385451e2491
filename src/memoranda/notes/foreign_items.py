"""Statements of a Markdown memory of another agent, each to be understood by itself.

Their reader keeps the whole file before it; here a line stands alone. So a line that only imports
a file is no part of the paragraph around it, and what is nested under a name says whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from memoranda.model.notes import line_of
from memoranda.notes.document import Item, parse
from memoranda.notes.markdown import bare, split

IMPORT = re.compile(r"@(?P<target>\S+)")
"""A line of ``CLAUDE.md`` that stands for a file."""
PLACEHOLDER = re.compile(r"[*_]*\([^()]*\)[*_]*")
"""What a template holds where nothing was learned yet: ``(User preferences)``."""
OF_ITSELF = re.compile(
    r"[*_]*This (?:memory )?(?:file|document) "
    r"(?:stores|contains|holds|keeps|records|tracks|provides|is (?:\w+ ){0,2}(?:updated|maintained|"
    r"managed|generated|loaded|read))\b(?:[^.!?]|[.!?](?=[^\s*_]))*[.!?]?[*_]*"
)
"""What a template says of its own file, in one sentence."""
NO_TOPIC = re.compile(
    r"\[?(?:\d{1,2}:\d{2}(?::\d{2})?(?:[ ]?[ap]m)?|\d{4}-\d{2}-\d{2})\b.*", re.IGNORECASE
)
"""A heading that names a moment: ``09:00 Standup``."""
BOLD = re.compile(r"(?:\*\*|__)(?P<head>[^*_]{1,40}?)[:.]?(?:\*\*|__)")
LABEL = re.compile(r"(?P<head>[^\W\d_][\w'’-]*(?: [\w'’&-]+){0,3}):(?:\s.*)?", re.DOTALL)
NAME = re.compile(r"(?P<head>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})(?: \([^()]*\))?")


@dataclass(frozen=True, slots=True)
class Told:
    """A statement.

    Attributes:
        item: as it stands in its file.
        text: what it says; under a name, ``Rita: birthday: 3 May``.
        imports: whether it is a line that only names a file, ``@docs/style.md``.
    """

    item: Item
    text: str
    imports: str | None = None


def statements(text: str) -> Iterator[Told]:
    """Yield the statements of a file, without what a template says of itself."""
    lines = split(text)
    above: list[tuple[Item, str]] = []
    for whole in parse(text).items:
        for item in _apart(whole, lines):
            found = IMPORT.fullmatch(item.text)
            if found is not None:
                yield Told(item, item.text, found["target"])
                continue
            while above and not _inside(item, above[-1][0]):
                above.pop()
            head = _head(item.text)
            owner = above[-1][1] if above else ""
            if item.listed:
                above.append((item, f"{owner}{head}: " if head else owner))
            if not _says_nothing(item):
                yield Told(item, _owned(item.text, owner))


def topic(section: str | None) -> str | None:
    """Return the heading that a statement stands under, if it is one of a topic."""
    return None if section is None or NO_TOPIC.fullmatch(section) else section


def _says_nothing(item: Item) -> bool:
    if PLACEHOLDER.fullmatch(item.text):
        return True
    return not item.listed and OF_ITSELF.fullmatch(item.text) is not None


def _apart(item: Item, lines: tuple[str, ...]) -> Iterator[Item]:
    """Yield an item, or its parts where lines in it only import a file."""
    said = [bare(line).strip() for line in lines[item.start : item.stop]]
    said[0] = said[0].removeprefix(item.prefix.strip()).strip()
    marks = [IMPORT.fullmatch(line) is not None for line in said]
    if not any(marks) or len(said) == 1:
        yield item
        return
    keys = [(place, True) if mark else (-1, False) for place, mark in enumerate(marks)]
    for _, run in groupby(range(len(said)), key=lambda place: keys[place]):
        first, *more = run
        text = line_of(" ".join(said[place] for place in (first, *more)))
        if text:
            start = item.start + first
            yield replace(item, text=text, start=start, stop=start + 1 + len(more))


def _inside(item: Item, above: Item) -> bool:
    """Return whether an item is nested in another one of the same section."""
    return item.section == above.section and item.indent >= above.offset


def _head(text: str) -> str | None:
    """Return the name that a statement begins with, of which those below it speak."""
    for pattern in (BOLD.match(text), LABEL.fullmatch(text), NAME.fullmatch(text)):
        if pattern is not None:
            return pattern["head"].strip()
    return None


def _owned(text: str, owner: str) -> str:
    """Return a text with whose it is, where it is a fragment such as ``birthday: 3 May``."""
    name = owner.removesuffix(": ").rpartition(": ")[2]
    if not owner or re.search(rf"\b{re.escape(name)}\b", text):
        return text
    fragment = LABEL.fullmatch(text) is not None or text[:1].islower()
    return f"{owner}{text}" if fragment else text

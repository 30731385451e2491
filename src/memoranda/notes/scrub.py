"""Removes erased text from a Markdown text for good (law 7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from memoranda.notes.document import BlockKind, Document, bare, parse

# Contents of fewer characters are taken out only where they are a whole item.
SHORTEST = 4
ERASED = "…"
_MARKS = " \t>-*+#|"


def scrub(text: str, erased: Sequence[str]) -> tuple[str, int]:
    """Return ``text`` without what contains any of the ``erased`` contents.

    An item goes as a whole, of a fence, a quote, a table or a comment the lines that say it. A
    heading stays, and an ellipsis takes the place of its words. Compared without case, and with
    white space collapsed.

    Returns:
        The new text, and how many items, lines and headings were erased.
    """
    wanted = frozenset(filter(None, map(_folded, erased)))
    found = parse(text)
    spread = set(_spread(found, erased))
    items = [
        item
        for item in found.items
        if _says(wanted, item.text, " ".join(map(bare, found.lines[item.start : item.stop])))
        or spread.intersection(range(item.start, item.stop))
    ]
    inside = {at for item in found.items for at in range(item.start, item.stop)}
    lines = _lines(found, wanted, inside) | {
        at for at in spread - inside if found.kinds[at] not in {BlockKind.HEADING, BlockKind.BLANK}
    }
    headings = [each for each in found.headings if _says(wanted, each.text)]
    if not items and not lines and not headings:
        return text, 0
    left = list(found.lines)
    for each in headings:  # An ellipsis for the words of a heading; no line more or less.
        for at in range(each.start, each.stop):
            words = f"{'#' * each.level} {ERASED}" if at == each.start else ""
            left[at] = words + left[at][len(bare(left[at])) :]
    patched = parse(found.mark + "".join(left)).remove(items, lines=lines)
    return patched.render(), len(items) + len(lines) + len(headings)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _says(wanted: AbstractSet[str], *texts: str) -> bool:
    return any(
        each == folded or (len(each) >= SHORTEST and each in folded)
        for folded in map(_folded, texts)
        for each in wanted
    )


def _lines(document: Document, wanted: AbstractSet[str], inside: set[int]) -> set[int]:
    """Return the lines that are no items and say it, one alone or several together."""

    def kind_of(at: int) -> BlockKind | None:
        kind = document.kinds[at]
        return None if at in inside or kind in {BlockKind.BLANK, BlockKind.HEADING} else kind

    found: set[int] = set()
    for kind, block in groupby(range(len(document.kinds)), kind_of):
        if kind is None:
            continue
        run = list(block)
        said = {at: bare(document.lines[at]).strip(_MARKS) for at in run}
        hit = {at for at, line in said.items() if _says(wanted, line)}
        if not hit and _says(wanted, " ".join(said.values())):
            hit = set(run)
        # Without the lines that make a block what it is, the rest would be read otherwise.
        frame = run[:2] if kind is BlockKind.TABLE else [run[0], run[-1]]
        if kind in {BlockKind.TABLE, BlockKind.CODE, BlockKind.COMMENT} and hit.intersection(frame):
            hit = set(run)
        found |= hit
    return found


def _spread(document: Document, contents: Sequence[str]) -> Iterator[int]:
    """Yield the lines over which contents of several lines are spread, a line each."""

    def said(lines: Sequence[str]) -> list[tuple[int, str]]:
        folded = ((at, _folded(line.strip().strip(_MARKS))) for at, line in enumerate(lines))
        return [(at, line) for at, line in folded if line]

    there = said(document.lines)
    for content in contents:
        wanted = [line for _, line in said(content.splitlines())]
        if not wanted or len(content.splitlines()) == 1:
            continue
        for first in range(len(there) - len(wanted) + 1):
            run = there[first : first + len(wanted)]
            pairs = zip(run[1:], wanted[1:], strict=True)
            if run[0][1].endswith(wanted[0]) and all(
                line.startswith(each) for (_, line), each in pairs
            ):
                yield from range(run[0][0], run[-1][0] + 1)

"""Removes erased text from a Markdown text for good (law 7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from memoranda.notes.document import Document, NoteItem, parse
from memoranda.notes.markdown import Block, bare

SHORTEST = 4
"""Contents of fewer characters are taken out only where they are a whole item."""
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
    wanted = tuple(dict.fromkeys(each for each in map(_folded, erased) if each))
    found = parse(text)
    items = [item for item in found.items if _says(_item_text(found, item), item.text, wanted)]
    inside = {at for item in found.items for at in range(item.start, item.stop)}
    lines = _lines(found, wanted, inside)
    spans = set(_spans(found, [each for each in erased if len(each.splitlines()) > 1]))
    items += [
        item
        for item in found.items
        if item not in items and spans.intersection(range(item.start, item.stop))
    ]
    lines |= {at for at in spans - inside if found.kinds[at] not in {Block.HEADING, Block.BLANK}}
    headings = [each for each in found.headings if _says(each.text, each.text, wanted)]
    if not items and not lines and not headings:
        return text, 0
    for heading in headings:
        found = _without_words(found, heading.start, heading.stop, "#" * heading.level)
    return found.remove(items, lines=lines).render(), len(items) + len(lines) + len(headings)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _says(text: str, whole: str, wanted: Sequence[str]) -> bool:
    folded, alone = _folded(text), _folded(whole)
    return any(
        each in (alone, folded) or (len(each) >= SHORTEST and (each in folded or each in alone))
        for each in wanted
    )


def _item_text(document: Document, item: NoteItem) -> str:
    return " ".join(map(bare, document.lines[item.start : item.stop]))


def _lines(document: Document, wanted: Sequence[str], inside: set[int]) -> set[int]:
    """Return the lines that are no items and say it, one alone or several together."""
    found: set[int] = set()
    for block in _runs(document, inside):
        said = [bare(document.lines[at]).strip(_MARKS) for at in block]
        hit = {at for at, line in zip(block, said, strict=True) if _says(line, line, wanted)}
        if not hit and _says(" ".join(said), "", wanted):
            hit = set(block)
        if hit and _frames(document.kinds[block[0]], hit, block):
            hit = set(block)  # What is left would be read as something else.
        found |= hit
    return found


def _frames(kind: Block, hit: set[int], block: Sequence[int]) -> bool:
    """Return whether lines of a block are among those that make it what it is."""
    if kind is Block.TABLE:
        return not hit.isdisjoint(block[:2])
    return kind in {Block.CODE, Block.COMMENT} and not hit.isdisjoint((block[0], block[-1]))


def _runs(document: Document, inside: set[int]) -> Iterator[list[int]]:
    """Yield lines of one kind that follow each other and belong to no item."""
    run: list[int] = []
    for at, kind in enumerate(document.kinds):
        skipped = at in inside or kind in {Block.BLANK, Block.HEADING}
        if run and (skipped or document.kinds[run[-1]] is not kind):
            yield run
            run = []
        if not skipped:
            run.append(at)
    if run:
        yield run


def _spans(document: Document, contents: Sequence[str]) -> Iterator[int]:
    """Yield the lines over which contents of several lines are spread."""
    for content in contents:
        wanted = [line for line in map(_stripped, content.splitlines()) if line]
        for at in range(len(document.lines)):
            covered = _covered(document, at, wanted)
            if covered:
                yield from covered


def _stripped(line: str) -> str:
    return _folded(line.strip().strip(_MARKS))


def _covered(document: Document, start: int, wanted: Sequence[str]) -> range | None:
    """Return the lines from ``start`` on that say ``wanted``, a line each."""
    at, left = start, list(wanted)
    while left and at < len(document.lines):
        said = _stripped(document.lines[at])
        if said:
            begins = len(left) == len(wanted)
            if not (said.endswith(left[0]) if begins else said.startswith(left[0])):
                return None
            left.pop(0)
        elif at == start:
            return None
        at += 1
    return range(start, at) if wanted and not left else None


def _without_words(document: Document, start: int, stop: int, marks: str) -> Document:
    """Return ``document`` with an ellipsis for the words of a heading; no line more or less."""
    lines = list(document.lines)
    for at in range(start, stop):
        end = lines[at][len(bare(lines[at])) :]
        lines[at] = (f"{marks} {ERASED}" if at == start else "") + end
    return parse(document.mark + "".join(lines))

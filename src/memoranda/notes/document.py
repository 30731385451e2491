"""MEMORY.md as a text that a person and memory both edit.

The file is the authority on its layout: it is never rendered anew, only patched. What a patch
does not touch stays byte for byte: prose, order, headings, comments, blank lines, line ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoranda.notes.markdown import (
    CODE_INDENT,
    Block,
    Heading,
    NoteItem,
    bare,
    guarded,
    indent_of,
    scan,
    split,
)
from memoranda.notes.topics import key_of

__all__ = ["Document", "Heading", "NoteItem", "parse", "start"]

TITLE = "# Memory"
PARTING = "<!-- -->"
OWN_LEVEL = 2
HANGING = 2  # Columns from which a text below a blank line may be part of the list item above.
_MARK = "\ufeff"  # A byte order mark, as some editors of Windows write it.
_JOINS = frozenset({Block.TEXT, Block.TABLE, Block.QUOTE, Block.OTHER})


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text and what was found in it. Immutable: an edit gives another one.

    Attributes:
        lines: its lines with their ends.
        kinds: what each line is part of.
        items: the statements in it, from top to bottom.
        headings: its headings, from top to bottom.
        unclosed: the first line of a fence or a comment that is never closed.
        mark: the byte order mark before the first line, or nothing.
    """

    lines: tuple[str, ...]
    kinds: tuple[Block, ...]
    items: tuple[NoteItem, ...]
    headings: tuple[Heading, ...]
    unclosed: int | None = None
    mark: str = ""

    def render(self) -> str:
        """Return exactly the text that was parsed."""
        return self.mark + "".join(self.lines)

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it but white space."""
        return not any(line.strip() for line in self.lines)

    @property
    def eol(self) -> str:
        """How its lines end: as most of them do."""
        ends = [line[len(bare(line)) :] for line in self.lines]
        return max(("\n", "\r\n", "\r"), key=ends.count)

    def replace(self, texts: Mapping[NoteItem, str]) -> Document:
        """Return it with other texts for items; marker and indentation stay."""
        lines: list[str | None] = list(self.lines)
        for item, text in texts.items():
            last = self.lines[item.stop - 1]
            line = guarded(text, listed=item.listed)
            lines[item.start] = item.prefix + line + last[len(bare(last)) :]
            for at in range(item.start + 1, item.stop):
                lines[at] = None
        return self._with(lines)

    def remove(
        self,
        items: Collection[NoteItem],
        *,
        own: Collection[str] = (),
        keep: Collection[str] = (),
        lines: Collection[int] = (),
    ) -> Document:
        """Return it without ``items``. What was nested under one moves out to its place.

        Args:
            items: what goes.
            own: the headings of level 2 that go with the last item under them.
            keep: of these, the ones that stay.
            lines: other lines that go.
        """
        if not items and not lines:
            return self
        gone = {item.start for item in items}
        wanted = [each.text for each in self.items if each.start not in gone]
        patched = self
        for promote, part in ((True, False), (True, True), (False, True)):
            left = self._without(items, lines, promote=promote)
            for heading in self.headings:
                if heading.level == OWN_LEVEL and heading.text in own and heading.text not in keep:
                    self._remove_heading(heading, left)
            if part:  # What stood apart would be joined: Markdown's own way to part it.
                for at in gone:
                    left[at] = PARTING + self.eol
            else:
                self._mend(left)
            patched = self._with(left)
            if [each.text for each in patched.items] == wanted:
                break
        return patched

    def _without(
        self, items: Iterable[NoteItem], lines: Iterable[int], *, promote: bool
    ) -> list[str | None]:
        left: list[str | None] = list(self.lines)
        for item in sorted(items, key=lambda each: each.start, reverse=True):
            if promote:
                self._promote(item, left)
            left[item.start : item.stop] = [None] * (item.stop - item.start)
        for at in lines:
            left[at] = None
        return left

    def add(self, lines: Sequence[tuple[str, str]]) -> Document:
        """Return it with new items, each a pair of heading and text.

        They come at the end of the section with that heading; one that is missing is made at
        the end.
        """
        if not lines:
            return self
        sections: dict[str, list[str]] = {}
        titles: dict[str, str] = {}
        for title, text in lines:
            key = key_of(title)
            titles.setdefault(key, title)
            sections.setdefault(key, []).append(text)
        there = {key_of(each.text): each for each in reversed(self.headings) if each.level > 1}
        put: dict[int, list[str]] = {}
        made: list[str] = []
        for key, texts in sections.items():
            if key in there:
                at, new = self._place(there[key], texts)
                put.setdefault(at, []).extend(new)
            else:
                blank = made or (self.lines and self.kinds[-1] is not Block.BLANK)
                made += [""] if blank else []
                made += [f"## {titles[key]}", "", *(_line(text) for text in texts)]
        if made:
            put.setdefault(len(self.lines), []).extend(made)
        return self._put(put)

    def _with(self, lines: Iterable[str | None]) -> Document:
        return parse(self.mark + "".join(line for line in lines if line is not None))

    def _put(self, put: Mapping[int, Sequence[str]]) -> Document:
        eol = self.eol
        found: list[str] = []
        for at in range(len(self.lines) + 1):
            if new := put.get(at):
                if found and found[-1] == bare(found[-1]):
                    found[-1] += eol
                found += [line + eol for line in new]
            if at < len(self.lines):
                found.append(self.lines[at])
        return self._with(found)

    def _promote(self, item: NoteItem, lines: list[str | None]) -> None:
        """Move what stands inside a list item out to where the item stands."""
        nested = self._nested(item) if item.listed else range(0)
        first = next((at for at in nested if self.lines[at].strip()), None)
        if first is None:
            return
        outer = item.prefix[: len(item.prefix) - len(item.prefix.lstrip(" \t"))]
        inner = _space(lines[first] or self.lines[first])
        if self.kinds[first] is not Block.LIST and "\t" not in inner:
            inner = inner[: len(outer) + item.offset - item.indent]
        for at in nested:
            line = lines[at]
            if line is not None and line.startswith(inner):
                lines[at] = outer + line[len(inner) :]

    def _nested(self, item: NoteItem) -> range:
        """Return the lines below an item that are part of it, but not of its text."""
        stop = last = item.stop
        while stop < len(self.lines):
            line, kind = self.lines[stop], self.kinds[stop]
            if kind is Block.HEADING:
                break
            if line.strip():
                least = item.offset if stop > last else item.indent + 1
                if indent_of(line) < least:
                    break
                last = stop + 1
            stop += 1
        return range(item.stop, last)

    def _remove_heading(self, heading: Heading, lines: list[str | None]) -> None:
        """Remove a heading under which nothing is left but blank lines."""
        following = [each for each in self.headings if each.start >= heading.stop]
        stop = following[0].start if following else len(self.lines)
        body = range(heading.stop, stop)
        deeper = following and following[0].level > heading.level
        gone = any(lines[at] is None for at in body)
        rest = any(lines[at] is not None and self.kinds[at] is not Block.BLANK for at in body)
        if gone and not rest and not deeper:
            lines[heading.start : stop] = [None] * (stop - heading.start)

    def _mend(self, lines: list[str | None]) -> None:
        """Leave one blank line where something was taken out between two, and none too few."""
        at, kept = 0, -1
        while at < len(lines):
            if lines[at] is not None:
                kept = at
                at += 1
                continue
            start = at
            while at < len(lines) and lines[at] is None:
                at += 1
            before = self.kinds[kept] if kept >= 0 else Block.BLANK
            after = self.kinds[at] if at < len(lines) else Block.BLANK
            if before is Block.BLANK and after is Block.BLANK:
                extra = at if at < len(lines) else kept
                if extra >= 0:
                    lines[extra] = None
            elif before in _JOINS or (kept < 0 and after in {Block.RULE, Block.OTHER}):
                lines[start] = self.eol if after is not Block.BLANK else None

    def _place(self, heading: Heading, texts: Sequence[str]) -> tuple[int, list[str]]:
        """Return where items go under a heading, and the lines that they become."""
        starts = (each.start for each in self.headings if each.start >= heading.stop)
        stop = next(starts, len(self.lines))
        listed = [each for each in self.items if each.listed and heading.stop <= each.start < stop]
        if listed:
            style = _bullet(listed)
            return self._end(listed[-1]), [style + guarded(text) for text in texts]
        new = [_line(text) for text in texts]
        body = range(heading.stop, stop)
        full = [at for at in body if self.kinds[at] not in {Block.BLANK, Block.RULE}]
        at = full[-1] + 1 if full else heading.stop
        if not full and at < stop and self.kinds[at] is Block.BLANK:
            at += 1
        else:
            new.insert(0, "")
        if at < len(self.lines) and self.kinds[at] is not Block.BLANK:
            new.append("")
        return at, new

    def _end(self, item: NoteItem) -> int:
        """Return the line after an item and all that hangs on it, or would hang on a new one."""
        at = following = item.stop
        while following < len(self.lines) and self.kinds[following] is not Block.HEADING:
            if self.kinds[following] is not Block.BLANK:
                apart = following > at
                if apart and indent_of(self.lines[following]) < HANGING:
                    break
                at = following + 1
            following += 1
        return at


def parse(text: str) -> Document:
    """Return ``text`` as a document; ``parse(text).render() == text`` for any text."""
    mark = _MARK if text.startswith(_MARK) else ""
    lines = split(text[len(mark) :])
    blocks = scan(lines)
    return Document(
        lines,
        tuple(blocks.kinds),
        tuple(blocks.items),
        tuple(blocks.headings),
        blocks.unclosed,
        mark,
    )


def start(lines: Sequence[tuple[str, str]]) -> Document:
    """Return a new document of items, each a pair of heading and text, in this order."""
    return parse(f"{TITLE}\n").add(lines) if lines else parse("")


def _line(text: str) -> str:
    return f"- {guarded(text)}"


def _space(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _bullet(listed: Sequence[NoteItem]) -> str:
    """Return how a person's list begins its lines, so that a new one belongs to it."""
    least = min(each.indent for each in listed)
    last = [each for each in listed if each.indent == least][-1]
    marker = last.prefix.strip()
    plain = least < CODE_INDENT and "\t" not in last.prefix and len(marker) == 1
    return last.prefix if plain and last.offset - least <= CODE_INDENT else "- "

"""Which lines of a Markdown text are statements, and which are its frame.

A reader of the blocks that matter here, after CommonMark and GitHub's tables. It leaves the rules
in two places, both so that a statement is never lost by accident: a fence or a comment that nobody
closed is one line instead of the rest of the file, and a line that is not indented never belongs
to the list item above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from memoranda.model.notes import line_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"(?:(=+)|-{2,})[ \t]*$")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_MARKER = re.compile(r"([-*+]|(\d{1,9})[.)])(?:([ \t]+)(?=\S)|(?=[ \t]*$))")
_BULLET = re.compile(r"[-*+](?:[ \t]|$)")
_DELIMITER = re.compile(r":?-+:?")
_NUMBER = re.compile(r"(\d{1,9})(\\*)[.)](?: |$)")
_LINK = re.compile(r"\[[^\]]+\]:(?:[ \t]|$)")
_IMAGE = r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?"
_SILENT = re.compile(rf"(?:(?:{_IMAGE}|\[\s*{_IMAGE}\s*\]\([^)]*\)|</?[A-Za-z][^>]*>)\s*)+")
_KEY = re.compile(r"[\w.\"'-]+[ \t]*[:=](?:[ \t]|$)")
_DASHES = re.compile(r"[-*_ \t]+$")
CODE_INDENT = 4
TAB = 4


class Block(StrEnum):
    """What a line is part of."""

    BLANK = "blank"
    HEADING = "heading"
    LIST = "list"
    TEXT = "text"
    CODE = "code"
    COMMENT = "comment"
    TABLE = "table"
    QUOTE = "quote"
    RULE = "rule"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its text, its level from 1, its first line and the line after it."""

    text: str
    level: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Item:
    """A statement: an item of a list, or a paragraph.

    Attributes:
        text: what it says, on one line.
        section: the heading of level 2 or deeper that it stands under.
        start: its first line, counted from 0.
        stop: the line after its last one.
        prefix: what stands before its text: white space, and the marker of a list item.
        listed: whether it is an item of a list.
        indent: columns before it.
        offset: the column where its text begins.
    """

    text: str
    section: str | None
    start: int
    stop: int
    prefix: str
    listed: bool
    indent: int = 0
    offset: int = 0


@dataclass(slots=True)
class Blocks:
    """What was found: the block of each line, statements and headings in order.

    ``unclosed`` is the first line of a fence or a comment that is never closed.
    """

    kinds: list[Block]
    items: list[Item] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    unclosed: int | None = None


def split(text: str) -> tuple[str, ...]:
    """Return the lines of ``text`` with their ends: LF, CRLF or CR, and nothing else."""
    return tuple(_LINE.findall(text))


def bare(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


def guarded(text: str, *, listed: bool = True) -> str:
    r"""Return the text of an item so that it is read as this text: ``# a`` becomes ``\# a``.

    In a paragraph also ``1986. A year`` becomes ``1986\. A year``: it would begin a list.
    """
    number = _NUMBER.match(text)
    if number and (number[2] or not listed):
        return f"{number[1]}\\{text[number.end(1) :]}"
    return f"\\{text}" if _misread(text) else text


def _plain(text: str) -> str:
    """Return what a guarded text says."""
    number = _NUMBER.match(text)
    if number and number[2]:
        return number[1] + text[number.end(1) + 1 :]
    return text[1:] if text.startswith("\\") and _misread(text[1:]) else text


def _misread(text: str) -> bool:
    """Return whether Markdown takes the text for something else than words."""
    text = text.lstrip("\\")
    marks = (_FENCE, _HEADING, _BULLET, _LINK, _DASHES, _UNDERLINE)
    return (
        text.startswith((">", "<!--"))
        or any(mark.match(text) for mark in marks)
        or _SILENT.fullmatch(text) is not None
    )


def indent_of(line: str) -> int:
    """Return the columns of white space before the text of a line."""
    columns = 0
    for sign in line:
        if sign == "\t":
            columns += TAB - columns % TAB
        elif sign == " ":
            columns += 1
        else:
            break
    return columns


@dataclass(slots=True)
class _Open:
    """A statement whose lines are still coming in."""

    start: int
    stop: int
    prefix: str
    indent: int
    offset: int
    parts: list[str]
    listed: bool


@dataclass(slots=True)
class _Line:
    """A line with text: where it is, its columns of white space, and its text."""

    at: int
    indent: int
    text: str
    prefix: str


def scan(lines: Sequence[str]) -> Blocks:
    """Return the blocks of ``lines``; a byte order mark is no part of them."""
    return _Scanner([bare(line) for line in lines]).run()


class _Scanner:
    """Goes through the lines once, from top to bottom."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.found = Blocks([Block.BLANK] * len(lines))
        self.open: _Open | None = None
        self.gap = False
        self.offsets: list[int] = []
        self.around: tuple[int, ...] = ()
        self.section: str | None = None
        self.hopeless: dict[str, int] = {}

    def run(self) -> Blocks:
        """Read all lines."""
        at = self._front_matter()
        while at < len(self.lines):
            line = self.lines[at]
            if line.strip():
                at = self._step(self._line(at, line))
                self.gap = False
            else:
                self.gap = True
                at += 1
        self._close()
        return self.found

    def _line(self, at: int, line: str) -> _Line:
        text = line.lstrip(" \t")
        return _Line(at, indent_of(line), text.rstrip(), line[: len(line) - len(text)])

    def _step(self, line: _Line) -> int:
        """Read the block that starts with ``line``; return the line after it."""
        self.around = tuple(self.offsets)
        while self.offsets and line.indent < self.offsets[-1]:
            self.offsets.pop()
        goes_on = self.open is not None and not self.gap
        if line.indent - self._base() >= CODE_INDENT:
            if not goes_on:
                return self._mark(Block.CODE, line.at, line.at + 1)
            if self.open is None or not self.open.listed or not _MARKER.match(line.text):
                return self._text(line)
            return self._item(line)
        return self._frame(line) or self._statement(line, goes_on=goes_on)

    def _base(self) -> int:
        return self.offsets[-1] if self.offsets else 0

    def _frame(self, line: _Line) -> int:
        """Read what is no statement wherever it stands; 0 where ``line`` is something else."""
        if closed := self._spanning(line.at, line.text, line.indent):
            return closed
        if heading := _HEADING.match(line.text):
            self._close()
            title = _without_closing(line.text[heading.end() :])
            self._heading(title, len(heading[1]), line.at, line.at + 1)
            return line.at + 1
        if self._underlined(line):
            return line.at + 1
        if _RULE.match(line.text):
            return self._mark(Block.RULE, line.at, line.at + 1)
        if line.text.startswith(">"):
            return self._mark(Block.QUOTE, line.at, line.at + 1)
        return 0

    def _statement(self, line: _Line, *, goes_on: bool) -> int:
        marker = _MARKER.match(line.text)
        if marker and not (goes_on and self._is_inside(line) and not _interrupts(marker, line)):
            return self._item(line)
        if "|" in line.text and (rows := self._rows(line.at)):
            return self._mark(Block.TABLE, line.at, rows)
        inside = goes_on and self.open is not None and not self.open.listed
        if not inside and _LINK.match(line.text):
            return self._mark(Block.OTHER, line.at, line.at + 1)
        return self._text(line)

    def _is_inside(self, line: _Line) -> bool:
        """Return whether a line stands in the same text as the one above it."""
        return self.open is not None and (not self.open.listed or line.indent >= self.open.offset)

    def _spanning(self, at: int, text: str, indent: int) -> int:
        """Read a fence or a comment that starts in ``text``; 0 where there is none."""
        if fence := _FENCE.match(text):
            mark = fence[1] or fence[2]
            return self._until(at, self._fence_end(at, mark, indent), Block.CODE)
        if text.startswith("<!--"):
            return self._until(at, self._comment_end(at, text), Block.COMMENT)
        return 0

    def _until(self, at: int, stop: int | None, block: Block) -> int:
        if stop is not None:
            return self._mark(block, at, stop)
        if self.found.unclosed is None:
            self.found.unclosed = at
        return self._mark(Block.OTHER, at, at + 1)

    def _fence_end(self, at: int, mark: str, indent: int) -> int | None:
        sign, long = mark[0], len(mark)
        if long >= self.hopeless.get(sign, long + 1):
            return None
        closing = re.compile(rf"[ \t]*{re.escape(sign)}{{{long},}}[ \t]*$")
        least = self._base() if indent >= self._base() else 0
        for later in range(at + 1, len(self.lines)):
            line = self.lines[later]
            if line.strip() and indent_of(line) < least:
                return None  # The list item that the fence is in has ended.
            if closing.match(line):
                return later + 1
        self.hopeless[sign] = long  # None is closed further down: not to be looked for again.
        return None

    def _comment_end(self, at: int, text: str) -> int | None:
        if "-->" in text[len("<!--") :]:
            return at + 1
        if "<" in self.hopeless:
            return None
        for later in range(at + 1, len(self.lines)):
            if "-->" in self.lines[later]:
                return later + 1
        self.hopeless["<"] = 0
        return None

    def _rows(self, at: int) -> int:
        """Return the line after the table that starts here; 0 where none does."""
        following = self.lines[at + 1] if at + 1 < len(self.lines) else ""
        cells = following.strip().removeprefix("|").removesuffix("|").split("|")
        if "|" not in following or not all(_DELIMITER.fullmatch(cell.strip()) for cell in cells):
            return 0
        stop = at + 2
        while stop < len(self.lines) and "|" in self.lines[stop]:
            text = self.lines[stop].lstrip(" \t")
            if _MARKER.match(text) or _HEADING.match(text) or _spans(text):
                break
            stop += 1
        return stop

    def _underlined(self, line: _Line) -> bool:
        """Read ``line`` as what makes a heading of the paragraph above it, if it is that."""
        found, text = _UNDERLINE.match(line.text), self.open
        if found is None or text is None or self.gap or text.listed:
            return False
        self.open = None
        title = line_of(" ".join(text.parts))
        self._heading(title, 1 if found[1] else 2, text.start, line.at + 1)
        return True

    def _heading(self, text: str, level: int, start: int, stop: int) -> None:
        self.offsets.clear()
        for at in range(start, stop):
            self.found.kinds[at] = Block.HEADING
        title = line_of(text)
        self.found.headings.append(Heading(title, level, start, stop))
        self.section = title if level > 1 else None

    def _mark(self, block: Block, start: int, stop: int) -> int:
        self._close()
        for at in range(start, stop):
            self.found.kinds[at] = block
        return stop

    def _item(self, line: _Line) -> int:
        """Open the list item that ``line`` starts with."""
        marker = _MARKER.match(line.text)
        if marker is None:
            return self._text(line)
        rest = line.text[marker.end() :].strip()
        while self.offsets and self.offsets[-1] > line.indent:
            self.offsets.pop()
        space = marker[3] or " "
        wide = len(space) if len(space) <= CODE_INDENT and rest else 1
        offset = line.indent + len(marker[1]) + wide
        if _spans(rest):
            self._close()
            self.offsets.append(offset)
            return self._spanning(line.at, rest, offset)
        self._close()
        self.offsets.append(offset)
        self.found.kinds[line.at] = Block.LIST
        prefix = line.prefix + marker[1] + space
        parts = [rest] if rest else []
        self.open = _Open(line.at, line.at + 1, prefix, line.indent, offset, parts, listed=True)
        return line.at + 1

    def _text(self, line: _Line) -> int:
        """Add ``line`` to the statement that it goes on with, or open a paragraph."""
        above = self.open
        if above is None or not self._belongs(line, above):
            self._close()
            self.open = above = _Open(
                line.at, line.at, line.prefix, line.indent, line.indent, [], listed=False
            )
        else:
            self.offsets[:] = self.around  # It goes on inside the item, however it is indented.
        above.parts.append(line.text)
        above.stop = line.at + 1
        self.found.kinds[line.at] = Block.LIST if above.listed else Block.TEXT
        return line.at + 1

    def _belongs(self, line: _Line, above: _Open) -> bool:
        """Return whether ``line`` goes on with the text above it: never after a blank line."""
        return not self.gap and (not above.listed or line.indent > 0)

    def _close(self) -> None:
        """Keep the open statement, if it says anything."""
        text, self.open = self.open, None
        if text is None:
            return
        words = line_of(" ".join(text.parts))
        if not words:
            return
        if _SILENT.fullmatch(words):
            for at in range(text.start, text.stop):
                self.found.kinds[at] = Block.OTHER
            return
        self.found.items.append(
            Item(
                _plain(words),
                self.section,
                text.start,
                text.stop,
                text.prefix,
                text.listed,
                text.indent,
                text.offset,
            )
        )

    def _front_matter(self) -> int:
        """Return the line after the front matter, 0 where there is none."""
        mark = self.lines[0].rstrip() if self.lines else ""
        if mark not in {"---", "+++"}:
            return 0
        ends = {"---", "..."} if mark == "---" else {"+++"}
        inner = next((line for line in self.lines[1:] if line.strip()), "")
        if not _KEY.match(inner) and inner.rstrip() not in ends:
            return 0
        for at in range(1, len(self.lines)):
            if self.lines[at].rstrip() in ends:
                return self._mark(Block.OTHER, 0, at + 1)
        return 0


def _without_closing(text: str) -> str:
    """Return the text of a heading without the ``##`` that may close it."""
    text = text.strip()
    open_ = text.rstrip("#")
    return open_.rstrip() if not open_ or open_[-1] in " \t" else text


def _interrupts(marker: re.Match[str], line: _Line) -> bool:
    """Return whether a list may start in the middle of a text: not with ``1986. A good year``."""
    return marker.end() < len(line.text) and marker[2] in {None, "1"}


def _spans(text: str) -> bool:
    return text.startswith("<!--") or _FENCE.match(text) is not None

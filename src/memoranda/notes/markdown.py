"""Which lines of a Markdown text are statements, and which are its frame.

Read by markdown-it-py, with rules of our own in two places, so that a statement is never lost by
accident: a fence or a comment that nobody closed is one line instead of the rest of the file, and
a line that is not indented never belongs to the list item, quote or table above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, fence
from markdown_it.token import Token

from memoranda.model.notes import line_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*")
_NUMBER = re.compile(r"(\d{1,9})(\\*)[.)](?: |$)")
_LINK = re.compile(r"\[[^\]]+\]:(?:[ \t]|$)")
_IMAGE = r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?"
_SILENT = re.compile(rf"(?:(?:{_IMAGE}|\[\s*{_IMAGE}\s*\]\([^)]*\)|</?[A-Za-z][^>]*>)\s*)+")
_KEY = re.compile(r"[\w.\"'-]+[ \t]*[:=](?:[ \t]|$)")
_MISREAD = re.compile(r"`{3}|~{3}|#{1,6}(?:[ \t]|$)|[-*+](?:[ \t]|$)|[-*_ \t]+$|=+[ \t]*$|>|<!--")
_FENCE = re.compile(r"`{3,}|~{3,}")
CODE_INDENT = 4
TAB = 4
NESTED = 100
"""How deep lists are read."""


class Block(StrEnum):
    """The kind of block that a line belongs to."""

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
class NoteItem:
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
    items: list[NoteItem] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    unclosed: int | None = None


def split(text: str) -> tuple[str, ...]:
    """Return the lines of ``text`` with their ends: LF, CRLF or CR, and nothing else."""
    return tuple(_LINE.findall(text))


def bare(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


def indent_of(line: str) -> int:
    """Return the columns of white space before the text of a line."""
    return len(line.expandtabs(TAB)) - len(line.expandtabs(TAB).lstrip(" "))


def guarded(text: str, *, listed: bool = True) -> str:
    r"""Return the text of an item so that it is read as this text: ``# a`` becomes ``\# a``.

    In a paragraph also ``1986. A year`` becomes ``1986\. A year``: it would begin a list.
    """
    number = _NUMBER.match(text)
    if number and (number[2] or not listed or number.end() == len(text)):
        return f"{number[1]}\\{text[number.end(1) :]}"
    return f"\\{text}" if _is_misread(text) else text


def _plain(text: str) -> str:
    """Return what a guarded text says."""
    number = _NUMBER.match(text)
    if number and number[2]:
        return number[1] + text[number.end(1) + 1 :]
    return text[1:] if text.startswith("\\") and _is_misread(text[1:]) else text


def _is_misread(text: str) -> bool:
    """Return whether Markdown takes the text for something else than words."""
    text = text.lstrip("\\")
    found = _MISREAD.match(text) or _LINK.match(text) or _SILENT.fullmatch(text)
    return found is not None


# Rules of our own


def _text_at(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _mark(state: StateBlock, kind: Block, start: int, stop: int) -> bool:
    token = state.push(kind.value, "", 0)
    token.map = [start, stop]
    state.line = stop
    return True


def _unclosed(state: StateBlock, start: int, mark: str) -> bool:
    """Take the first line of what is never closed as a block of its own."""
    state.env.setdefault("unclosed", start)
    if (
        mark == "<" or state.blkIndent == 0
    ):  # None is closed further down: not to be looked for again.
        state.env[mark[0]] = min(len(mark), state.env.get(mark[0], len(mark)))
    return _mark(state, Block.OTHER, start, start + 1)


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read a fence that is closed; the first line of one that is not is a block of its own."""
    if not fence(state, start, end, True):  # noqa: FBT003 - its signature
        return False
    if silent:
        return True
    found = _FENCE.match(_text_at(state, start))
    mark = found[0] if found else ""
    if len(mark) >= state.env.get(mark[0], len(mark) + 1):
        return _unclosed(state, start, mark)
    fence(state, start, end, False)  # noqa: FBT003 - its signature
    token = state.tokens.pop()
    last = _text_at(state, state.line - 1).rstrip()
    if state.line - 1 == start or last.strip(mark[0]) or len(last) < len(mark):
        return _unclosed(state, start, mark)
    return _mark(state, Block.CODE, *(token.map or (start, state.line)))


def _comment(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read a comment that is closed; the first line of one that is not is a block of its own."""
    text = _text_at(state, start)
    if state.is_code_block(start) or not text.startswith("<!--"):
        return False
    if silent:
        return True
    if "-->" in text[len("<!--") :]:
        return _mark(state, Block.COMMENT, start, start + 1)
    if "<" not in state.env:
        for line in range(start + 1, state.lineMax):
            if "-->" in _text_at(state, line):
                return _mark(state, Block.COMMENT, start, line + 1)
    return _unclosed(state, start, "<")


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read lines that begin with ``>``, and no others."""
    if state.is_code_block(start) or not _text_at(state, start).startswith(">"):
        return False
    if silent:
        return True
    lines = takewhile(lambda line: _text_at(state, line).startswith(">"), range(start, end))
    return _mark(state, Block.QUOTE, start, start + sum(1 for _ in lines))


def _definition(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read a line that says where a link leads."""
    if silent or state.blkIndent or not _LINK.match(_text_at(state, start)):
        return False
    return _mark(state, Block.OTHER, start, start + 1)


def _outside(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """End a paragraph of a list item, or a table, at a line that is not indented or no row."""
    if not silent:
        return False
    if state.parentType == "table":
        return "|" not in _text_at(state, start)
    return state.parentType == "paragraph" and state.blkIndent > 0 == state.sCount[start]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"maxNesting": NESTED})
    parser.enable(["table", "code", "hr", "list", "heading", "lheading"])
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules = parser.block.ruler
    for name, rule in (("fence", _fence), ("comment", _comment), ("quote", _quote)):
        rules.before("hr", f"own_{name}", rule, ends)
    rules.before("hr", "own_definition", _definition)
    rules.before("hr", "own_outside", _outside, {"alt": ["paragraph", "blockquote"]})
    return parser


_PARSER = _parser()
_KINDS = {
    "code_block": Block.CODE,
    "table_open": Block.TABLE,
    "hr": Block.RULE,
    "heading_open": Block.HEADING,
    "list_item_open": Block.LIST,
} | {kind.value: kind for kind in (Block.CODE, Block.COMMENT, Block.QUOTE, Block.OTHER)}
_SAID_BY_ITEMS = frozenset({"code_block", "table_open", "hr", "quote"})
"""What is the text of a list item where it stands on the line of the marker."""


@lru_cache(maxsize=32)
def scan(lines: tuple[str, ...]) -> Blocks:
    """Return the blocks of ``lines``; a byte order mark is no part of them."""
    texts = [line if line.strip() else "" for line in map(bare, lines)]
    head = _front_matter(texts)
    env: dict[str, int] = {}
    tokens: list[Token] = []
    _PARSER.block.parse("\n".join([""] * head + texts[head:]), _PARSER, env, tokens)
    reader = _TokenReader(texts)
    reader.read(tokens)
    kinds = reader.found.kinds
    for at, text in enumerate(texts):
        if at < head or (text and kinds[at] is Block.BLANK):
            kinds[at] = Block.OTHER
    reader.found.unclosed = env.get("unclosed")
    return reader.found


class _TokenReader:
    """Goes through the tokens of a text once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found = Blocks([Block.BLANK] * len(lines))
        self.starts: list[int] = []
        self.section: str | None = None

    def read(self, tokens: Sequence[Token]) -> None:
        """Read all tokens."""
        walk = iter(tokens)
        for token in walk:
            start, stop = token.map or (0, 0)
            if token.type == "list_item_close":
                self.starts.pop()
            elif token.type == "list_item_open":
                self.starts.append(start)
                self.found.kinds[start] = Block.LIST
            elif token.type == "heading_open":
                self._heading(token, next(walk), start, stop)
            elif token.type == "paragraph_open":
                self._paragraph(next(walk).content, start, stop)
            elif token.type in _KINDS:
                self._frame(token.type, start, stop)

    def _paint(self, kind: Block, start: int, stop: int) -> None:
        self.found.kinds[start:stop] = [kind] * (stop - start)

    def _frame(self, kind: str, start: int, stop: int) -> None:
        if start in self.starts and kind in _SAID_BY_ITEMS:
            self._paragraph(self.lines[start][self._prefix(start) :], start, start + 1)
            start += 1
        self._paint(_KINDS[kind], start, stop)

    def _heading(self, token: Token, inline: Token, start: int, stop: int) -> None:
        if start in self.starts:  # On the line of a marker it is what the item says.
            opened = token.markup.startswith("#")
            text = self.lines[start][self._prefix(start) :] if opened else inline.content
            self._paragraph(text, start, stop)
            return
        if self.lines[stop - 1].strip() == "-":  # An empty item rather than an underline.
            self.found.kinds[stop - 1] = Block.LIST
            self._paragraph(inline.content, start, stop - 1)
            return
        self._paint(Block.HEADING, start, stop)
        level, title = int(token.tag[1]), line_of(inline.content)
        self.found.headings.append(Heading(title, level, start, stop))
        self.section = title if level > 1 else None

    def _paragraph(self, content: str, start: int, stop: int) -> None:
        listed = start in self.starts
        line, end = self.lines[start], self._prefix(start)
        # A second marker on the line is part of what the first item says: ``- 1986. A year``.
        first = _MARKER.match(line) if listed else None
        own = first.end() if first else end
        words = line_of(line[own:end] + content)
        silent = _SILENT.fullmatch(words) is not None
        kind = Block.OTHER if silent else Block.LIST if listed else Block.TEXT
        self._paint(kind, start, stop)
        if silent or not words:
            return
        prefix = line[:own]
        offset = len(prefix.expandtabs(TAB))
        indent = indent_of(line)
        self.found.items.append(
            NoteItem(_plain(words), self.section, start, stop, prefix, listed, indent, offset)
        )

    def _prefix(self, start: int) -> int:
        """Return how many characters stand before the text of a line."""
        line, at = self.lines[start], 0
        for _ in range(self.starts.count(start)):
            marker = _MARKER.match(line, at)
            at = marker.end() if marker else at
        return at or len(line) - len(line.lstrip(" \t"))


def _front_matter(lines: Sequence[str]) -> int:
    """Return the line after the front matter, 0 where there is none."""
    mark = lines[0].rstrip() if lines else ""
    if mark not in {"---", "+++"}:
        return 0
    ends = {"---", "..."} if mark == "---" else {"+++"}
    inner = next((line for line in lines[1:] if line), "")
    if not _KEY.match(inner) and inner.rstrip() not in ends:
        return 0
    closed = (at for at in range(1, len(lines)) if lines[at].rstrip() in ends)
    return next(closed, -1) + 1

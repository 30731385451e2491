"""MEMORY.md as a text that a person and memory both edit: what it states, and how it is patched.

The file is the authority on its layout: it is never rendered anew, only patched. What a patch
does not touch stays byte for byte: prose, order, headings, comments, blank lines, line ends.

Read by markdown-it-py, with rules of our own in two places, so that a statement is never lost by
accident: a fence or a comment that nobody closed is one line instead of the rest of the file, and
a line that is not indented never belongs to the list item, quote or table above it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, fence
from markdown_it.token import Token

from memoranda.model.notes import line_of
from memoranda.text.patterns import compile_pattern

TITLE = "# Memory"
PARTING = "<!-- -->"
OWN_LEVEL = 2
HANGING = 2  # Columns from which a text below a blank line may be part of the list item above.
CODE_INDENT = 4
TAB = 4
# How deep lists are read.
NESTED = 100
_BYTE_ORDER_MARK = "\ufeff"  # As some editors of Windows write it.
_LINE = compile_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARKER = compile_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*")
_NUMBER = compile_pattern(r"(\d{1,9})(\\*)[.)](?: |$)")
_LINK = compile_pattern(r"\[[^\]]+\]:(?:[ \t]|$)")
_IMAGE = r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?"
_SILENT = compile_pattern(rf"(?:(?:{_IMAGE}|\[\s*{_IMAGE}\s*\]\([^)]*\)|</?[A-Za-z][^>]*>)\s*)+")
_KEY = compile_pattern(r"[\w.\"'-]+[ \t]*[:=](?:[ \t]|$)")
_MISREAD = compile_pattern(
    r"`{3}|~{3}|#{1,6}(?:[ \t]|$)|[-*+](?:[ \t]|$)|[-*_ \t]+$|=+[ \t]*$|>|<!--"
)
_FENCE = compile_pattern(r"`{3,}|~{3,}")
_WORD = compile_pattern(r"\w+")


class BlockKind(StrEnum):
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


_JOINS = frozenset({BlockKind.TEXT, BlockKind.TABLE, BlockKind.QUOTE, BlockKind.OTHER})


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
    kinds: tuple[BlockKind, ...]
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
            line = item.prefix + guarded(text, listed=item.listed) + last[len(bare(last)) :]
            lines[item.start : item.stop] = [line, *[None] * (item.stop - item.start - 1)]
        return self._with(lines)

    def remove(
        self,
        items: Collection[NoteItem],
        *,
        titles: Collection[str] = (),
        lines: Collection[int] = (),
    ) -> Document:
        """Return it without ``items``. What was nested under one moves out to its place.

        Args:
            items: what goes.
            titles: the headings of level 2 that go with the last item under them.
            lines: other lines that go.
        """
        if not items and not lines:
            return self
        gone = {item.start for item in items}
        ours = [each for each in self.headings if each.level == OWN_LEVEL and each.text in titles]
        wanted = [each.text for each in self.items if each.start not in gone]
        patched = self
        # Where what stands apart would be joined, Markdown's own way to part it takes the place of
        # an item; where that is not enough, the marker stays, too, and what hangs on it.
        for promote, part, keep in (
            (True, False, False),
            (True, True, False),
            (False, True, False),
            (False, True, True),
        ):
            left: list[str | None] = list(self.lines)
            for item in sorted(items, key=lambda each: each.start, reverse=True):
                if promote:
                    self._promote(item, left)
                left[item.start : item.stop] = [None] * (item.stop - item.start)
            for at in lines:
                left[at] = None
            for heading in ours:
                self._remove_heading(heading, left)
            if part:
                for item in items:
                    left[item.start] = (item.prefix if keep else "") + PARTING + self.eol
            else:
                self._mend(left)
            patched = self._with(left)
            if [each.text for each in patched.items] == wanted:
                break
        return patched

    def add(self, lines: Sequence[tuple[str, str]]) -> Document:
        """Return it with new items, each a pair of heading and text.

        They come at the end of the section with that heading; one that is missing is made at
        the end. A blank document becomes a new one.
        """
        if not lines:
            return self
        if self.blank:
            return parse(f"{TITLE}\n").add(lines)
        sections: dict[str, list[str]] = {}
        titles: dict[str, str] = {}
        for title, text in lines:
            sections.setdefault(key_of(title), []).append(text)
            titles.setdefault(key_of(title), title)
        there = {key_of(each.text): each for each in reversed(self.headings) if each.level > 1}
        put: dict[int, list[str]] = {}
        made: list[str] = []
        for key, texts in sections.items():
            if key in there:
                at, new = self._place(there[key], texts)
                put.setdefault(at, []).extend(new)
                continue
            if made or (self.lines and self.kinds[-1] is not BlockKind.BLANK):
                made.append("")
            made += [f"## {titles[key]}", "", *(f"- {guarded(text)}" for text in texts)]
        put.setdefault(len(self.lines), []).extend(made)
        eol = self.eol
        found: list[str] = []
        for at, line in enumerate([*self.lines, ""]):
            if put.get(at) and found and found[-1] == bare(found[-1]):
                found[-1] += eol
            found += [each + eol for each in put.get(at, ())]
            found.append(line)
        return self._with(found)

    def _with(self, lines: Iterable[str | None]) -> Document:
        return parse(self.mark + "".join(line for line in lines if line is not None))

    def _promote(self, item: NoteItem, lines: list[str | None]) -> None:
        """Move what stands inside a list item out to where the item stands."""
        nested = self._below(item, item.indent + 1, item.offset) if item.listed else range(0)
        first = next((at for at in nested if self.lines[at].strip()), None)
        if first is None:
            return
        outer, inner = _space(item.prefix), _space(lines[first] or self.lines[first])
        if self.kinds[first] is not BlockKind.LIST and "\t" not in inner:
            inner = inner[: len(outer) + item.offset - item.indent]
        for at in nested:
            line = lines[at]
            if line is not None and line.startswith(inner):
                lines[at] = outer + line[len(inner) :]

    def _below(self, item: NoteItem, least: int, apart: int) -> range:
        """Return the lines below an item that hang on it.

        Args:
            item: the item.
            least: columns by which they are indented.
            apart: the same below a blank line.
        """
        end = item.stop
        for at in range(item.stop, len(self.lines)):
            if self.kinds[at] is BlockKind.BLANK:
                continue
            wanted = apart if at > end else least
            inside = not self.lines[at].strip() or indent_of(self.lines[at]) >= wanted
            if self.kinds[at] is BlockKind.HEADING or not inside:
                break
            end = at + 1
        return range(item.stop, end)

    def _body(self, heading: Heading) -> range:
        """Return the lines under a heading, up to the next one of any level."""
        starts = (each.start for each in self.headings if each.start >= heading.stop)
        return range(heading.stop, next(starts, len(self.lines)))

    def _remove_heading(self, heading: Heading, lines: list[str | None]) -> None:
        """Remove a heading under which nothing is left but blank lines."""
        body = self._body(heading)
        deeper = any(
            each.start == body.stop and each.level > heading.level for each in self.headings
        )
        gone = any(lines[at] is None for at in body)
        rest = any(lines[at] is not None and self.kinds[at] is not BlockKind.BLANK for at in body)
        if gone and not rest and not deeper:
            lines[heading.start : body.stop] = [None] * (body.stop - heading.start)

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
            before = self.kinds[kept] if kept >= 0 else BlockKind.BLANK
            after = self.kinds[at] if at < len(lines) else BlockKind.BLANK
            if before is BlockKind.BLANK and after is BlockKind.BLANK:
                extra = at if at < len(lines) else kept
                if extra >= 0:
                    lines[extra] = None
            elif before in _JOINS or (kept < 0 and after in {BlockKind.RULE, BlockKind.OTHER}):
                lines[start] = self.eol if after is not BlockKind.BLANK else None

    def _place(self, heading: Heading, texts: Sequence[str]) -> tuple[int, list[str]]:
        """Return where items go under a heading, and the lines that they become."""
        body = self._body(heading)
        listed = [each for each in self.items if each.listed and each.start in body]
        if listed:
            style = _bullet(listed)
            end = self._below(listed[-1], 0, HANGING).stop
            return end, [style + guarded(text) for text in texts]
        new = [f"- {guarded(text)}" for text in texts]
        full = [at for at in body if self.kinds[at] not in {BlockKind.BLANK, BlockKind.RULE}]
        at = full[-1] + 1 if full else heading.stop
        if not full and at in body and self.kinds[at] is BlockKind.BLANK:
            at += 1
        else:
            new.insert(0, "")
        if at < len(self.lines) and self.kinds[at] is not BlockKind.BLANK:
            new.append("")
        return at, new


def split(text: str) -> tuple[str, ...]:
    """Return the lines of ``text`` with their ends: LF, CRLF or CR, and nothing else."""
    return tuple(_LINE.findall(text))


def bare(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


def indent_of(line: str) -> int:
    """Return the columns of white space before the text of a line."""
    return len(_space(line).expandtabs(TAB))


def key_of(title: str) -> str:
    """Return by what headings are compared: their words, without case, marks or pictures."""
    return " ".join(_WORD.findall(title.casefold())) or line_of(title)


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
        return f"{number[1]}{text[number.end(1) + 1 :]}"
    return text[1:] if text.startswith("\\") and _is_misread(text[1:]) else text


def _is_misread(text: str) -> bool:
    """Return whether Markdown takes the text for something else than words."""
    text = text.lstrip("\\")
    found = _MISREAD.match(text) or _LINK.match(text) or _SILENT.fullmatch(text)
    return found is not None


def _space(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _bullet(listed: Sequence[NoteItem]) -> str:
    """Return how a person's list begins its lines, so that a new one belongs to it."""
    least = min(each.indent for each in listed)
    last = [each for each in listed if each.indent == least][-1]
    plain = least < CODE_INDENT and "\t" not in last.prefix and len(last.prefix.strip()) == 1
    return last.prefix if plain and last.offset - least <= CODE_INDENT else "- "


# Reading


@lru_cache(maxsize=32)
def parse(text: str) -> Document:
    """Return ``text`` as a document; ``parse(text).render() == text`` for any text."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    lines = split(text[len(mark) :])
    texts = [line if line.strip() else "" for line in map(bare, lines)]
    head = _front_matter(texts)
    env: dict[str, int] = {}
    tokens: list[Token] = []
    _PARSER.block.parse("\n".join([""] * head + texts[head:]), _PARSER, env, tokens)
    found = _TokenReader(texts, tokens)
    kinds = [
        BlockKind.OTHER if at < head or (texts[at] and kind is BlockKind.BLANK) else kind
        for at, kind in enumerate(found.kinds)
    ]
    items, headings = tuple(found.items), tuple(found.headings)
    return Document(lines, tuple(kinds), items, headings, env.get("unclosed"), mark)


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


class _TokenReader:
    """What the tokens of a text say of its lines: kinds, statements, headings."""

    def __init__(self, lines: Sequence[str], tokens: Sequence[Token]) -> None:
        self.lines = lines
        self.kinds = [BlockKind.BLANK] * len(lines)
        self.items: list[NoteItem] = []
        self.headings: list[Heading] = []
        self.starts: list[int] = []
        self.section: str | None = None
        walk = iter(tokens)
        for token in walk:
            start, stop = token.map or (0, 0)
            if token.type == "list_item_close":
                self.starts.pop()
            elif token.type == "list_item_open":
                self.starts.append(start)
                self.kinds[start] = BlockKind.LIST
            elif token.type == "heading_open":
                self._heading(token, next(walk).content, start, stop)
            elif token.type == "paragraph_open":
                self._statement(next(walk).content, start, stop)
            elif token.type in _KINDS:
                if start in self.starts and token.type in _SAID_BY_ITEMS:
                    self._statement(self._after_markers(start), start, start + 1)
                    start += 1
                self._paint(_KINDS[token.type], start, stop)

    def _paint(self, kind: BlockKind, start: int, stop: int) -> None:
        self.kinds[start:stop] = [kind] * (stop - start)

    def _heading(self, token: Token, content: str, start: int, stop: int) -> None:
        if start in self.starts:  # On the line of a marker it is what the item says.
            opened = token.markup.startswith("#")
            self._statement(self._after_markers(start) if opened else content, start, stop)
        elif self.lines[stop - 1].strip() == "-":  # An empty item rather than an underline.
            self.kinds[stop - 1] = BlockKind.LIST
            self._statement(content, start, stop - 1)
        else:
            self._paint(BlockKind.HEADING, start, stop)
            level, title = int(token.tag[1]), line_of(content)
            self.headings.append(Heading(title, level, start, stop))
            self.section = title if level > 1 else None

    def _statement(self, content: str, start: int, stop: int) -> None:
        line, listed = self.lines[start], start in self.starts
        end = len(line) - len(self._after_markers(start))
        # A second marker on the line is part of what the first item says: ``- 1986. A year``.
        first = _MARKER.match(line) if listed else None
        own = first.end() if first else end
        words, prefix = line_of(line[own:end] + content), line[:own]
        silent = _SILENT.fullmatch(words) is not None
        self._paint(
            BlockKind.OTHER if silent else BlockKind.LIST if listed else BlockKind.TEXT, start, stop
        )
        if words and not silent:
            indent, offset = indent_of(line), len(prefix.expandtabs(TAB))
            text = _plain(words)
            self.items.append(
                NoteItem(text, self.section, start, stop, prefix, listed, indent, offset)
            )

    def _after_markers(self, start: int) -> str:
        """Return a line without the markers of the items that begin on it, or its white space."""
        line, at = self.lines[start], 0
        for _ in range(self.starts.count(start)):
            marker = _MARKER.match(line, at)
            at = marker.end() if marker else at
        return line[at:] if at else line.lstrip(" \t")


# Rules of our own for markdown-it-py


def _text_at(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _mark(state: StateBlock, kind: BlockKind, start: int, stop: int) -> bool:
    token = state.push(kind.value, "", 0)
    token.map = [start, stop]
    state.line = stop
    return True


def _unclosed(state: StateBlock, start: int, mark: str) -> bool:
    """Take the first line of what is never closed as a block of its own."""
    state.env.setdefault("unclosed", start)
    if mark == "<" or state.blkIndent == 0:
        # None is closed further down: not to be looked for again.
        state.env[mark[0]] = min(len(mark), state.env.get(mark[0], len(mark)))
    return _mark(state, BlockKind.OTHER, start, start + 1)


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
    return _mark(state, BlockKind.CODE, *(token.map or (start, state.line)))


def _comment(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read a comment that is closed; the first line of one that is not is a block of its own."""
    text = _text_at(state, start)
    if state.is_code_block(start) or not text.startswith("<!--"):
        return False
    if silent:
        return True
    if "-->" in text[len("<!--") :]:
        return _mark(state, BlockKind.COMMENT, start, start + 1)
    further = range(0) if "<" in state.env else range(start + 1, state.lineMax)
    closing = next((line for line in further if "-->" in _text_at(state, line)), None)
    if closing is None:
        return _unclosed(state, start, "<")
    return _mark(state, BlockKind.COMMENT, start, closing + 1)


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read lines that begin with ``>``, and no others."""
    if state.is_code_block(start) or not _text_at(state, start).startswith(">"):
        return False
    lines = takewhile(lambda line: _text_at(state, line).startswith(">"), range(start, end))
    return silent or _mark(state, BlockKind.QUOTE, start, start + sum(1 for _ in lines))


def _definition(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - their signature
    """Read a line that says where a link leads."""
    if silent or state.blkIndent or not _LINK.match(_text_at(state, start)):
        return False
    return _mark(state, BlockKind.OTHER, start, start + 1)


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
_KINDS = {"code_block": BlockKind.CODE, "table_open": BlockKind.TABLE, "hr": BlockKind.RULE} | {
    kind.value: kind
    for kind in (BlockKind.CODE, BlockKind.COMMENT, BlockKind.QUOTE, BlockKind.OTHER)
}
# What is the text of a list item where it stands on the line of the marker.
_SAID_BY_ITEMS = frozenset({"code_block", "table_open", "hr", "quote"})

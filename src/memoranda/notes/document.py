"""MEMORY.md by its lines: a bullet is a fact, and every other line belongs to the person.

A bullet is a line ``- text`` with the indented lines right below it. Fenced code, comments and
front matter hold no bullets. A patch touches the lines of the bullets it names and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoranda.model.notes import line_of
from memoranda.text.patterns import compile_pattern

TITLE = "# Memory"
BYTE_ORDER_MARK = "\ufeff"  # As some editors of Windows write it.
TAB = 4
# From so many columns on, a line that belongs to no list is code.
CODE_INDENT = 4
_LINE = compile_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BULLET = compile_pattern(r"(?P<prefix>\ufeff?[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+)(?P<text>\S.*)")
_HEADING = compile_pattern(r"\ufeff? {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*#*[ \t]*")
_RULE = compile_pattern(r"[ \t]*(?:[-*_=][ \t]*)+|[ \t]*[|>].*|[ \t]*\[[^\]]+\]:(?:[ \t].*)?")
_FENCE = compile_pattern(r"[ \t]*(?P<mark>`{3,}|~{3,})")
_FRONT_KEY = compile_pattern(r"[\w.\"'-]+[ \t]*[:=](?:[ \t].*)?")
_ESCAPE = compile_pattern(r"(\d{1,9})?\\+([^\w\s])")
_WORD = compile_pattern(r"\w+")


@dataclass(frozen=True, slots=True)
class NoteItem:
    """A bullet, or a paragraph of a person's own.

    Attributes:
        text: what it says, on one line.
        section: the heading of level 2 or deeper that it stands under.
        start: its first line, counted from 0.
        stop: the line after its last one.
        prefix: what stands before its text: white space, and the marker of a bullet.
        listed: whether it is a bullet.
    """

    text: str
    section: str | None
    start: int
    stop: int
    prefix: str = ""
    listed: bool = True

    @property
    def indent(self) -> int:
        """The columns before it."""
        return indent_of(self.prefix)

    @property
    def offset(self) -> int:
        """The column where its text begins."""
        return len(self.prefix.lstrip(BYTE_ORDER_MARK).expandtabs(TAB))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its text, its level from 1, and its line."""

    text: str
    level: int
    at: int


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text and what was found in it. Immutable: a patch gives another one.

    Attributes:
        lines: its lines with their ends.
        items: its bullets and paragraphs, from top to bottom.
        headings: its headings, from top to bottom.
    """

    lines: tuple[str, ...]
    items: tuple[NoteItem, ...]
    headings: tuple[Heading, ...]

    @property
    def bullets(self) -> tuple[NoteItem, ...]:
        """The bullets alone."""
        return tuple(item for item in self.items if item.listed)

    def render(self) -> str:
        """Return exactly the text that was read."""
        return "".join(self.lines)

    @property
    def blank(self) -> bool:
        """Whether there is nothing in the document but white space."""
        return not self.render().strip(f"{BYTE_ORDER_MARK} \t\r\n")

    @property
    def eol(self) -> str:
        """How the lines end: as most of them do."""
        ends = [line[len(bare(line)) :] for line in self.lines]
        return max(("\n", "\r\n", "\r"), key=ends.count)

    def patch(self, texts: Mapping[NoteItem, str | None], titles: Collection[str] = ()) -> Document:
        """Return the document with other texts for bullets, and without those given ``None``.

        Args:
            texts: the new text of each bullet; its marker and its indentation stay.
            titles: headings of level 2 that go with the last bullet under them.
        """
        if not texts:
            return self
        lines: list[str | None] = list(self.lines)
        for item, text in texts.items():
            ending = self.lines[item.stop - 1][len(bare(self.lines[item.stop - 1])) :]
            first = None if text is None else item.prefix + text + ending
            lines[item.start : item.stop] = [first, *[None] * (item.stop - item.start - 1)]
        for heading, body in self._sections():
            emptied = any(lines[at] is None for at in body)
            left = any((lines[at] or "").strip() for at in body)
            if heading.text in titles and heading.level == len("##") and emptied and not left:
                lines[heading.at : body.stop] = [None] * (body.stop - heading.at)
        return parse("".join(_join_gaps(lines)))

    def _sections(self) -> list[tuple[Heading, range]]:
        """Return each heading with the lines below it, up to the next one."""
        ends = [*(heading.at for heading in self.headings[1:]), len(self.lines)]
        pairs = zip(self.headings, ends, strict=False)
        return [(heading, range(heading.at + 1, end)) for heading, end in pairs]

    def add(self, lines: Sequence[tuple[str, str]]) -> Document:
        """Return the document with new bullets, each a pair of heading and text.

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
        below = {key_of(each.text): body for each, body in self._sections() if each.level > 1}
        put: dict[int, list[str]] = {}
        made: list[str] = []
        for key, texts in sections.items():
            if key in below:
                at, new = self._place(below[key], texts)
                put[at] = new
            else:
                made += ["", f"## {titles[key]}", "", *(f"- {text}" for text in texts)]
        last = bare(self.lines[-1]).strip() or len(self.lines) in put
        put.setdefault(len(self.lines), []).extend(made if last else made[1:])
        return parse("".join(self._inserted(put)))

    def _place(self, body: range, texts: Sequence[str]) -> tuple[int, list[str]]:
        """Return where bullets go under a heading, and the lines that they become."""
        listed = [item for item in self.bullets if item.start in body]
        if listed:
            top = [item.prefix for item in listed if not item.indent]
            style = top[-1] if top and len(top[-1].strip()) == 1 else "- "
            return listed[-1].stop, [style + text for text in texts]
        new = [f"- {text}" for text in texts]
        full = [at for at in body if self.lines[at].strip()]
        at = full[-1] + 1 if full else body.start
        if not full and at < body.stop:
            at += 1
        else:
            new.insert(0, "")
        return at, [*new, ""] if at < len(self.lines) and self.lines[at].strip() else new

    def _inserted(self, put: Mapping[int, Sequence[str]]) -> list[str]:
        """Return the lines with others before some of them; each gets an end."""
        found: list[str] = []
        for at, line in enumerate([*self.lines, ""]):
            if put.get(at) and found and found[-1] == bare(found[-1]):
                found[-1] += self.eol
            found += [each + self.eol for each in put.get(at, ())]
            found.append(line)
        return found


def _join_gaps(lines: Sequence[str | None]) -> list[str]:
    """Return the lines that stay; where some went, one blank line is left of two."""
    found: list[str] = []
    gap = False
    for line in lines:
        if line is None:
            gap = True
        elif not (gap and not line.strip() and (not found or not found[-1].strip())):
            found.append(line)
            gap = False
    if gap and len(found) > 1 and not found[-1].strip():
        found.pop()
    return found


def split(text: str) -> tuple[str, ...]:
    """Return the lines of ``text`` with their ends: LF, CRLF or CR, and nothing else."""
    return tuple(_LINE.findall(text))


def bare(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


def indent_of(line: str) -> int:
    """Return the columns of white space before the text of a line."""
    line = line.lstrip(BYTE_ORDER_MARK)
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(TAB))


def key_of(title: str) -> str:
    """Return by what headings are compared: their words, without case, marks or pictures."""
    return " ".join(_WORD.findall(title.casefold())) or line_of(title)


def is_written_as(text: str) -> bool:
    """Return whether a bullet with this text is read again as what it says."""
    return [item.text for item in parse(f"- {text}\n").items] == [text]


@lru_cache(maxsize=32)
def parse(text: str) -> Document:
    """Return ``text`` as a document; ``parse(text).render() == text`` for any text."""
    lines = split(text)
    scanner = _LineScanner([bare(line) for line in lines])
    scanner.scan()
    return Document(lines, tuple(scanner.items), tuple(scanner.headings))


class _LineScanner:
    """Goes through the lines once, and finds bullets, paragraphs and headings."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.items: list[NoteItem] = []
        self.headings: list[Heading] = []
        self._section: str | None = None

    def scan(self) -> None:
        """Read all lines."""
        at, in_list = self._front_matter(), False
        while at < len(self.lines):
            line = self.lines[at]
            bullet, heading = _BULLET.fullmatch(line), _HEADING.fullmatch(line)
            closed = self._block_end(at)
            code = indent_of(line) >= CODE_INDENT and not in_list
            if closed is not None:
                at = closed
            elif not line.strip():
                at += 1
            elif heading and not code:
                self._add_heading(heading["title"] or "", len(heading["marks"]), at)
                at, in_list = at + 1, False
            elif code or _RULE.fullmatch(line):
                at += 1
            else:
                in_list = bullet is not None or (in_list and indent_of(line) > 0)
                prefix = bullet["prefix"] if bullet else line[: len(line) - len(line.lstrip())]
                at = self._add_item(at, prefix, listed=bullet is not None)

    def _add_heading(self, title: str, level: int, at: int) -> None:
        self.headings.append(Heading(line_of(title), level, at))
        self._section = line_of(title) if level > 1 else None

    def _add_item(self, start: int, prefix: str, *, listed: bool) -> int:
        """Add the bullet or paragraph that begins at a line; return the line after it."""
        stop = start + 1
        while stop < len(self.lines) and self._goes_on(stop, listed=listed):
            stop += 1
        said = [self.lines[start][len(prefix) :], *self.lines[start + 1 : stop]]
        # Other programs, and files of 0.2, escape what Markdown could take for a mark.
        text = line_of(" ".join(said))
        escape = _ESCAPE.match(text)
        if escape:
            text = f"{escape[1] or ''}{escape[2]}{text[escape.end() :]}"
        self.items.append(NoteItem(text, self._section, start, stop, prefix, listed))
        return stop

    def _goes_on(self, at: int, *, listed: bool) -> bool:
        """Return whether a line belongs to the bullet or paragraph right above it."""
        line = self.lines[at]
        if not line.strip() or (listed and not indent_of(line)):
            return False
        opens = _BULLET.fullmatch(line) or _HEADING.fullmatch(line) or _RULE.fullmatch(line)
        return opens is None and self._block_end(at) is None

    def _block_end(self, start: int) -> int | None:
        """Return the line after the fence or comment that opens at a line and is closed."""
        line = self.lines[start]
        fence = _FENCE.match(line)
        if not fence and not line.lstrip(" \t\ufeff").startswith("<!--"):
            return None
        if not fence and "-->" in line:
            return start + 1
        for at in range(start + 1, len(self.lines)):
            said = self.lines[at].strip()
            if fence and len(said) >= len(fence["mark"]) and not said.strip(fence["mark"][0]):
                return at + 1
            if not fence and "-->" in said:
                return at + 1
        return None

    def _front_matter(self) -> int:
        """Return the line after the front matter, 0 where there is none."""
        mark = self.lines[0].strip(f"{BYTE_ORDER_MARK} \t") if self.lines else ""
        inner = next((line for line in self.lines[1:] if line.strip()), "")
        if mark not in {"---", "+++"} or not _FRONT_KEY.fullmatch(inner):
            return 0
        ends = (at for at in range(1, len(self.lines)) if self.lines[at].rstrip() == mark)
        return next(ends, -1) + 1

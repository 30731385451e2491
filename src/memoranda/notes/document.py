"""MEMORY.md by its lines: a bullet is a fact, and every other line belongs to the person.

A bullet is a line ``- text`` with the indented lines right below it. Fenced code, comments and
front matter hold no bullets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO

from memoranda.model.notes import line_of
from memoranda.text.patterns import compile_pattern

TITLE = "# Memory"
# White space, and the byte order mark that some editors of Windows write.
_BLANK = "\ufeff \t\r\n"
_FRONT = "---"
_FENCE = compile_pattern(r"`{3,}|~{3,}")
_BULLET = compile_pattern(r"(?P<prefix>[ \t\ufeff]*(?:[-*+]|\d{1,3}[.)])[ \t]+)\S")
_HEADING = compile_pattern(r"[ \ufeff]{0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*#*\s*")
# Rules, tables, quotes and definitions of links: no words of a paragraph.
_RULE = compile_pattern(r"[ \t]*(?:[-*_=][ \t]*)+\s*|[ \t]*[|>][\s\S]*|[ \t]*\[[^\]]+\]:[\s\S]*")
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
    prefix: str
    listed: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text and what was found in it. Immutable: a patch gives another one.

    Attributes:
        lines: its lines with their ends.
        items: its bullets and paragraphs, from top to bottom.
        headings: the line of each heading and its title, from top to bottom.
    """

    lines: Sequence[str]
    items: Sequence[NoteItem]
    headings: Sequence[tuple[int, str]]

    @property
    def bullets(self) -> list[NoteItem]:
        """The bullets alone."""
        return [item for item in self.items if item.listed]

    def render(self) -> str:
        """Return exactly the text that was read."""
        return "".join(self.lines)

    @property
    def size(self) -> int:
        """The bytes of the text in UTF-8."""
        return len(self.render().encode())

    @property
    def blank(self) -> bool:
        """Whether there is nothing in the document but white space."""
        return not self.render().strip(_BLANK)

    def patch(self, texts: Mapping[NoteItem, str | None]) -> Document:
        """Return the document with other texts for bullets, and without those given ``None``.

        The marker and the indentation of a bullet stay.
        """
        lines = list(self.lines)
        for item, text in texts.items():
            last = lines[item.stop - 1]
            ending = last[len(last.rstrip("\r\n")) :]
            first = "" if text is None else item.prefix + text + ending
            lines[item.start : item.stop] = [first, *[""] * (item.stop - item.start - 1)]
        return parse("".join(lines)) if texts else self

    def add(self, lines: Sequence[tuple[str, str]]) -> Document:
        """Return the document with new bullets, each a pair of heading and text.

        They come at the end of the section with that heading; one that is missing is made at
        the end. A blank document becomes a new one.
        """
        if not lines:
            return self
        if self.blank:
            return parse(f"{TITLE}\n").add(lines)
        end = "\r\n" if any(line.endswith("\r\n") for line in self.lines) else "\n"
        new: dict[str, list[str]] = {}
        for title, text in lines:
            new.setdefault(title, []).append(f"- {text}{end}")
        places, listed = self._section_ends(), {item.stop for item in self.bullets}
        made = list(self.lines)
        made[-1] = made[-1].rstrip("\r\n") + end
        for title in sorted(new, key=lambda each: places.get(key_of(each), 0), reverse=True):
            if place := places.get(key_of(title)):
                made[place:place] = [*([] if place in listed else [end]), *new.pop(title)]
        for title, bullets in new.items():
            made += [end, f"## {title}{end}", end, *bullets]
        return parse("".join(made))

    def _section_ends(self) -> dict[str, int]:
        """Return the line after the last one of each section that is not blank."""
        stops = [*(at for at, _ in self.headings[1:]), len(self.lines)]
        return {
            key_of(title): max(n for n in range(at, stop) if self.lines[n].strip()) + 1
            for (at, title), stop in zip(self.headings, stops, strict=False)
        }


def key_of(title: str) -> str:
    """Return by what headings are compared: their words, without case, marks or pictures."""
    return " ".join(_WORD.findall(title.casefold())) or line_of(title)


def is_written_as(text: str) -> bool:
    """Return whether a bullet with this text is read again as what it says, and closes no block."""
    return "-->" not in text and [item.text for item in parse(f"- {text}\n").items] == [text]


@lru_cache(maxsize=32)
def parse(text: str) -> Document:
    """Return ``text`` as a document; ``parse(text).render() == text`` for any text."""
    lines = list(StringIO(text, newline=""))  # LF, CRLF or CR end a line, and nothing else does.
    items: list[NoteItem] = []
    headings: list[tuple[int, str]] = []
    section, at = None, 0
    while at < len(lines):
        heading, prose = _HEADING.fullmatch(lines[at]), _is_prose(lines[at])
        bullet = _BULLET.match(lines[at]) if prose else None
        stop = _block_end(lines, at)
        if not stop and heading:
            title = line_of(heading["title"] or "")
            headings.append((at, title))
            section = title if len(heading["marks"]) > 1 else None
        elif not stop and prose:
            stop = at + 1
            while stop < len(lines) and _goes_on(lines, stop, listed=bullet is not None):
                stop += 1
            prefix = bullet["prefix"] if bullet else ""
            said = line_of("".join(lines[at:stop])[len(prefix) :])
            items.append(NoteItem(said, section, at, stop, prefix, bullet is not None))
        at = stop or at + 1
    return Document(tuple(lines), tuple(items), tuple(headings))


def _block_end(lines: Sequence[str], at: int) -> int:
    """Return the line after the block that opens at a line and is closed; 0 where there is none."""
    line = lines[at].strip(_BLANK)
    front, fence = at == 0 and ":" in "".join(lines[1:2]), _FENCE.match(line)
    mark = fence[0] if fence else _FRONT if front and line == _FRONT else ""
    if not (mark or line.startswith("<!--")):
        return 0
    ends = (end for end in range(at + bool(mark), len(lines)) if _closes(lines[end], mark))
    return next(ends, -1) + 1


def _closes(line: str, mark: str) -> bool:
    """Return whether a line ends the block that a fence opens; without one, a comment."""
    if not mark:
        return "-->" in line
    return line.strip(_BLANK).startswith(mark) and not line.strip(_BLANK + mark[0])


def _is_prose(line: str) -> bool:
    return bool(line.strip(_BLANK)) and not _RULE.fullmatch(line)


def _goes_on(lines: Sequence[str], at: int, *, listed: bool) -> bool:
    """Return whether a line belongs to the bullet or paragraph right above it."""
    line = lines[at]
    if not _is_prose(line) or (listed and line == line.lstrip()):
        return False
    return not (_BULLET.match(line) or _HEADING.fullmatch(line) or _block_end(lines, at))

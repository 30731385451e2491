"""Reads the Markdown memories of other agents: what they hold as facts, and what happened when.

Read are, in a folder: ``CLAUDE.md`` and ``CLAUDE.local.md`` with the Markdown files that they
import by a line ``@path`` (Claude Code); ``MEMORY.md``, also as an index of links to a file for
each topic (Claude Code's own notes); ``memory/YYYY-MM-DD.md``, the log of a day (OpenClaw);
``memory/MEMORY.md`` and ``HISTORY*.md`` (nanobot); and all other Markdown in ``memory``.
No link, import or symbolic link leads out of the folder.

Their reader keeps the whole file before it; here a line stands alone. So a line that only imports
a file is no part of the paragraph around it, and what is nested under a name says whose it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, tzinfo
from itertools import dropwhile, groupby, takewhile
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from memoranda.model.checks import require_aware
from memoranda.model.notes import line_of
from memoranda.notes.document import NoteItem, parse
from memoranda.notes.history import parse_history
from memoranda.notes.markdown import bare, split
from memoranda.text.languages import LanguageData
from memoranda.transfer.foreign_files import (
    HISTORY,
    ForeignFile,
    ForeignFolder,
    SkippedFile,
    root_of,
)

_EN = LanguageData("en", "notes")
IMPORT = re.compile(r"@(?P<target>\S+)")
"""A line of ``CLAUDE.md`` that stands for a file."""
PLACEHOLDER = re.compile(r"[*_]*\([^()]*\)[*_]*")
"""What a template holds where nothing was learned yet: ``(User preferences)``."""
NO_TOPIC = re.compile(
    r"\[?(?:\d{1,2}:\d{2}(?::\d{2})?(?:[ ]?[ap]m)?|\d{4}-\d{2}-\d{2})\b.*", re.IGNORECASE
)
"""A heading that names a moment: ``09:00 Standup``."""
BOLD = re.compile(r"(?:\*\*|__)(?P<head>[^*_]{1,40}?)[:.]?(?:\*\*|__)")
LABEL = re.compile(r"(?P<head>[^\W\d_][\w'’-]*(?: [\w'’&-]+){0,3}):(?:\s.*)?", re.DOTALL)
NAME = re.compile(r"(?P<head>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})(?: \([^()]*\))?")


@dataclass(frozen=True, slots=True)
class MemoryStatement:
    """A statement.

    Attributes:
        item: as it stands in its file.
        text: what it says; under a name, ``Rita: birthday: 3 May``.
        imports: whether it is a line that only names a file, ``@docs/style.md``.
    """

    item: NoteItem
    text: str
    imports: str | None = None


def statements(text: str) -> Iterator[MemoryStatement]:
    """Yield the statements of a file, without what a template says of itself."""
    lines = split(text)
    above: list[tuple[NoteItem, str]] = []
    for whole in parse(text).items:
        for item in _apart(whole, lines):
            found = IMPORT.fullmatch(item.text)
            if found is not None:
                yield MemoryStatement(item, item.text, found["target"])
                continue
            while above and not _inside(item, above[-1][0]):
                above.pop()
            head = _head(item.text)
            owner = above[-1][1] if above else ""
            if item.listed:
                above.append((item, f"{owner}{head}: " if head else owner))
            if not _says_nothing(item):
                yield MemoryStatement(item, _owned(item.text, owner))


def topic(section: str | None) -> str | None:
    """Return the heading that a statement stands under, if it is one of a topic."""
    return None if section is None or NO_TOPIC.fullmatch(section) else section


def _says_nothing(item: NoteItem) -> bool:
    if PLACEHOLDER.fullmatch(item.text):
        return True
    return not item.listed and _EN.pattern("of_itself", 0).fullmatch(item.text) is not None


def _apart(item: NoteItem, lines: tuple[str, ...]) -> Iterator[NoteItem]:
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


def _inside(item: NoteItem, above: NoteItem) -> bool:
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


DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
HOUR = r"(?:[ T,]+(?P<hour>\d{1,2}:\d{2}(?::\d{2})?))?"
EXACT = re.compile(
    r"^##[ \t]+\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*(?:[Zz]|[+-]\d{2}:?\d{2})[ \t]*\r?$",
    re.MULTILINE,
)
"""The heading of an entry that names its moment with the zone."""
STAMPS = (
    re.compile(rf"\[{DAY}{HOUR}[^\]\n]*\][ \t]*(?P<rest>.*)"),
    re.compile(rf"#{{1,4}}[ \t]+\[?{DAY}{HOUR}\]?(?P<rest>(?:\W.*)?)"),
)
"""How an entry starts: ``[2026-02-27 14:30] …`` (nanobot), or ``## 2026-02-27 14:30``."""
NO_TEXT = re.compile(r"#{1,6}(?:[ \t].*)?|<!--.*-->|-{3,}|\*{3,}|_{3,}")
"""Lines of no entry: headings, comments, rules."""
DAILY = re.compile(rf"{DAY}(?P<slug>[-_ ].*)?\.md", re.IGNORECASE)
SESSION = re.compile(r"# Session: (\d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2})?) UTC")
ABOUT = re.compile(r"- \*\*(?:Session Key|Session ID|Source)\*\*:.*|## Conversation Summary|")
"""The session that OpenClaw writes down at ``/new``: what was said, not what is so."""


@dataclass(frozen=True, slots=True)
class ForeignEntry:
    """Something that happened, as a history of others tells it.

    Attributes:
        text: what it says.
        at: when, in UTC; ``None`` where it does not say.
        file: in which file of the folder it is.
    """

    text: str
    at: datetime | None
    file: str


def read_history(text: str, file: str, zone: tzinfo) -> Iterator[ForeignEntry]:
    """Yield the entries of a history.

    Args:
        text: what is in the file.
        file: its name, for the entries.
        zone: the zone of times that name none.
    """
    exact = EXACT.search(text)
    start = len(text) if exact is None else exact.start()
    for at, said in _paragraphs(text[:start], zone):
        yield ForeignEntry(said, at, file)
    for entry in parse_history(text[start:], file):
        if entry.text.strip():
            yield ForeignEntry(entry.text.strip(), entry.at, file)


def read_session(text: str, file: str) -> ForeignEntry | None:
    """Return the session that OpenClaw wrote down in a file; ``None`` if it is something else."""
    first, *rest = text.strip().splitlines() or [""]
    match = SESSION.fullmatch(first.strip())
    if match is None:
        return None
    talk = "\n".join(dropwhile(lambda line: ABOUT.fullmatch(line.strip()) is not None, rest))
    with suppress(ValueError):
        at = require_aware(datetime.fromisoformat(f"{match[1]}+00:00"), "at")
        return ForeignEntry(talk.strip(), at, file)
    return None


def day_of(name: str, zone: tzinfo) -> datetime | None:
    """Return the start of the day that a daily log is named after, in UTC; ``None`` without."""
    match = DAILY.fullmatch(PurePosixPath(name).name)
    return None if match is None else moment(match["day"], None, zone)


def moment(day: str, hour: str | None, zone: tzinfo) -> datetime | None:
    """Return the moment of a day and an hour in ``zone``; ``None`` if there is no such."""
    with suppress(ValueError, OverflowError):
        clock = time() if hour is None else time.fromisoformat(hour.zfill(len("00:00")))
        found = datetime.combine(datetime.fromisoformat(day).date(), clock, zone)
        return require_aware(found, "at")
    return None


def _paragraphs(text: str, zone: tzinfo) -> Iterator[tuple[datetime | None, str]]:
    """Yield entries that start with a stamp of their own; before the first, each paragraph."""
    at: datetime | None = None
    lines: list[str] = []
    dated = False
    for line, fresh in _lines(text):
        found = _stamp(line, zone) if fresh or line.startswith("#") else None
        if found is not None or (fresh and not dated):
            yield from _entry(at, lines)
            lines = []
        if found is not None:
            at, rest = found
            dated = True
            lines.append(rest)
        elif dated or NO_TEXT.fullmatch(line.strip()) is None:
            lines.append(line)
    yield from _entry(at, lines)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether a paragraph may start with it."""
    fresh = True
    for line in text.replace("\r\n", "\n").split("\n"):
        yield line, fresh
        fresh = not line.strip()


def _stamp(line: str, zone: tzinfo) -> tuple[datetime, str] | None:
    for pattern in STAMPS:
        match = pattern.fullmatch(line.rstrip())
        if match is not None:
            at = moment(match["day"], match["hour"], zone)
            return None if at is None else (at, match["rest"].lstrip(" \t—–-:·"))
    return None


def _entry(at: datetime | None, lines: list[str]) -> Iterator[tuple[datetime | None, str]]:
    said = "\n".join(lines).strip()
    if said:
        yield at, said


LOOKED_FOR = (
    "MEMORY.md, CLAUDE.md, CLAUDE.local.md, HISTORY.md, YYYY-MM-DD.md, and Markdown in memory/"
)
"""What a folder is searched for, for messages."""
FOLDER = "memory"
MEMORIES = ("MEMORY.md", "memory.md")
FIRST = ("MEMORY.md", "HISTORY.md")
INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
DEEPEST_IMPORT = 5
"""How many imports follow one another (Claude Code's own limit)."""
LINK = re.compile(r"[*_]*\[(?P<title>[^\]]*)\]\(<?(?P<target>[^)<>]+?)>?\)")
WIKI_LINK = re.compile(r"[*_]*\[\[(?P<title>[^\]|#]+)[^\]]*\]\]")
REASON = re.compile(r"\*\*[^*]{1,40}(?::\*\*|\*\*:)")
"""How a topic goes on after its rule: ``**Why:** …``, ``**How to apply:** …``."""
TITLE = re.compile(r"(name|description):[ \t]*(.+)")


@dataclass(frozen=True, slots=True)
class ForeignFact:
    """Something that a memory holds to be so.

    Attributes:
        text: what it says, on one line; a rule of a topic with its reasons.
        section: the heading that it stands under, unless that is a time, or the name of its topic.
        file: in which file of the folder it is.
        line: the line of that file where it begins, from 1.
        at: the start of the day whose log it is in, in UTC; ``None`` elsewhere.
    """

    text: str
    section: str | None
    file: str
    line: int
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """What was read, in the order of the files.

    Attributes:
        facts: what is held to be so.
        entries: what happened; an entry that is in two files is here once.
        skipped: what was come across and not read, and why.
    """

    facts: tuple[ForeignFact, ...]
    entries: tuple[ForeignEntry, ...]
    skipped: tuple[SkippedFile, ...]


def read_memory_md(path: Path, zone: tzinfo = UTC) -> ForeignMemory:
    """Return what a Markdown memory holds.

    Items of lists and paragraphs are facts; those of a history are entries. Headings, code,
    tables, quotes, comments and what a template says of its own file are neither. What is nested
    under a name begins with it: ``Rita: birthday: 3 May``.

    Args:
        path: a file, or a folder with files named as :data:`LOOKED_FOR` says.
        zone: the zone of days and times that name none.

    Raises:
        InvalidInput: there is nothing at ``path``, or it cannot be read.
    """
    root, file = root_of(path)
    reader = _MarkdownMemoryReader(ForeignFolder(root), zone)
    if file is None:
        reader.read_folder()
    else:
        reader.read_file(file)
    entries: dict[tuple[datetime | None, str], ForeignEntry] = {}
    for entry in reader.entries:
        entries.setdefault((entry.at, entry.text), entry)
    return ForeignMemory(tuple(reader.facts), tuple(entries.values()), reader.files.skipped)


class _MarkdownMemoryReader:
    """Goes through the files of one memory, each once."""

    def __init__(self, files: ForeignFolder, zone: tzinfo) -> None:
        self.files = files
        self.zone = zone
        self.facts: list[ForeignFact] = []
        self.entries: list[ForeignEntry] = []
        self._done: set[Path] = set()

    def read_folder(self) -> None:
        """Read all that is named as memories are."""
        root = self.files.root
        for name in (*INSTRUCTIONS, *MEMORIES, *FIRST):
            if os.path.lexists(root / name):
                self.read_file(root / name)
        for path in self.files.markdown(root, depth=0):
            if HISTORY.fullmatch(path.name) or day_of(path.name, self.zone):
                self.read_file(path)
        folder = root if root.name == FOLDER else root / FOLDER
        if folder.is_symlink():
            self.files.skip(FOLDER, "a link to a folder")
        elif folder.is_dir():
            # MEMORY.md names the topics, and HISTORY.md has what is in the files of the months.
            first = (folder / name for name in FIRST)
            for path in (*filter(os.path.lexists, first), *self.files.markdown(folder)):
                self.read_file(path)

    def read_file(self, path: Path) -> None:
        """Read the file at ``path``."""
        text = self.files.text(path)
        if text is not None:
            self._read(text)

    def _read(self, text: ForeignFile, title: str | None = None) -> None:
        """Read a file once, as what its name or its first line says it is."""
        if text.path in self._done:
            return
        self._done.add(text.path)
        name = PurePosixPath(text.file).name
        if HISTORY.fullmatch(name):
            self.entries += read_history(text.text, text.file, self.zone)
        elif session := read_session(text.text, text.file):
            self.entries += [session] if session.text else []
        elif name.startswith("CLAUDE."):
            self._instructions(text, 0)
        elif name in MEMORIES:
            self._index(text)
        else:
            self._topic(text, title)

    def _instructions(self, text: ForeignFile, depth: int) -> None:
        """Read a file whose lines may import others."""
        self._done.add(text.path)
        for stated in statements(text.text):
            if stated.imports is None:
                self._keep(text, stated)
            elif depth == DEEPEST_IMPORT:
                self.files.skip(stated.imports, "is imported by too many files in a row")
            elif (imported := self.files.linked(text, stated.imports)) and (
                imported.path not in self._done
            ):
                self._instructions(imported, depth + 1)

    def _index(self, text: ForeignFile) -> None:
        """Read a file whose items may be links to a file for each topic."""
        for stated in statements(text.text):
            title, target = _link(stated.item)
            linked = self.files.linked(text, target) if target else None
            if linked is None:
                self._keep(text, stated)
            else:
                self._read(linked, title)

    def _topic(self, text: ForeignFile, title: str | None) -> None:
        """Read a file that is about one thing, or the log of a day."""
        head = _front_matter(text.text)
        found = len(self.facts)
        for stated in statements(text.text):
            if head and len(self.facts) > found and REASON.match(stated.item.text):
                rule = self.facts[-1]
                self.facts[-1] = replace(rule, text=f"{rule.text} {stated.item.text}")
            else:
                self._keep(text, stated, head.get("name") or title)
        if len(self.facts) == found and "description" in head:
            self.facts.append(
                ForeignFact(head["description"], head.get("name") or title, text.file, 1)
            )

    def _keep(self, text: ForeignFile, stated: MemoryStatement, title: str | None = None) -> None:
        at = day_of(text.file, self.zone)
        section = topic(stated.item.section) or title
        self.facts.append(ForeignFact(stated.text, section, text.file, stated.item.start + 1, at))


def _link(item: NoteItem) -> tuple[str | None, str | None]:
    """Return title and target of the Markdown file that an item of an index leads to."""
    if not item.listed:
        return None, None
    if found := LINK.match(item.text):
        target = unquote(found["target"].strip().partition("#")[0])
        if target.lower().endswith(".md") and "://" not in target:
            return found["title"].strip() or None, target
    elif found := WIKI_LINK.match(item.text):
        return found["title"].strip(), f"{found['title'].strip()}.md"
    return None, None


def _front_matter(text: str) -> dict[str, str]:
    """Return name and description from the front matter, where there is one."""
    lines: Iterator[str] = iter(text.splitlines())
    if next(lines, "").rstrip() != "---" or "\n---" not in text:
        return {}
    inner = takewhile(lambda line: line.rstrip() != "---", lines)
    pairs = (match.groups() for line in inner if (match := TITLE.fullmatch(line.rstrip())))
    return {key: value.strip().strip("\"'") for key, value in pairs if value.strip("\"' |>")}

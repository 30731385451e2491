"""Reads the Markdown memories of other agents: what they hold as facts, and what happened when.

Read are, in a folder: ``CLAUDE.md`` and ``CLAUDE.local.md`` with the Markdown files that they
import by a line ``@path`` (Claude Code); ``MEMORY.md``, also as an index of links to a file for
each topic (Claude Code's own notes); ``memory/YYYY-MM-DD.md``, the log of a day (OpenClaw);
``memory/MEMORY.md`` and ``HISTORY*.md`` (nanobot, seed 002); and all other Markdown in ``memory``.
No link, import or symbolic link leads out of the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from itertools import takewhile
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from memoranda.notes.document import Item
from memoranda.notes.foreign_files import HISTORY, Files, Skipped, Text, root_of
from memoranda.notes.foreign_history import (
    ForeignEntry,
    day_of,
    read_history,
    read_session,
)
from memoranda.notes.foreign_items import Told, statements, topic

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
    skipped: tuple[Skipped, ...]


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
    reader = _Reader(Files(root), zone)
    if file is None:
        reader.read_folder()
    else:
        reader.read_file(file)
    entries: dict[tuple[datetime | None, str], ForeignEntry] = {}
    for entry in reader.entries:
        entries.setdefault((entry.at, entry.text), entry)
    return ForeignMemory(tuple(reader.facts), tuple(entries.values()), reader.files.skipped)


class _Reader:
    """Goes through the files of one memory, each once."""

    def __init__(self, files: Files, zone: tzinfo) -> None:
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

    def _read(self, text: Text, title: str | None = None) -> None:
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

    def _instructions(self, text: Text, depth: int) -> None:
        """Read a file whose lines may import others."""
        self._done.add(text.path)
        for told in statements(text.text):
            if told.imports is None:
                self._keep(text, told)
            elif depth == DEEPEST_IMPORT:
                self.files.skip(told.imports, "is imported by too many files in a row")
            elif (imported := self.files.linked(text, told.imports)) and (
                imported.path not in self._done
            ):
                self._instructions(imported, depth + 1)

    def _index(self, text: Text) -> None:
        """Read a file whose items may be links to a file for each topic."""
        for told in statements(text.text):
            title, target = _link(told.item)
            linked = self.files.linked(text, target) if target else None
            if linked is None:
                self._keep(text, told)
            else:
                self._read(linked, title)

    def _topic(self, text: Text, title: str | None) -> None:
        """Read a file that is about one thing, or the log of a day."""
        head = _head(text.text)
        found = len(self.facts)
        for told in statements(text.text):
            if head and len(self.facts) > found and REASON.match(told.item.text):
                rule = self.facts[-1]
                self.facts[-1] = replace(rule, text=f"{rule.text} {told.item.text}")
            else:
                self._keep(text, told, head.get("name") or title)
        if len(self.facts) == found and "description" in head:
            self.facts.append(
                ForeignFact(head["description"], head.get("name") or title, text.file, 1)
            )

    def _keep(self, text: Text, told: Told, title: str | None = None) -> None:
        at = day_of(text.file, self.zone)
        section = topic(told.item.section) or title
        self.facts.append(ForeignFact(told.text, section, text.file, told.item.start + 1, at))


def _link(item: Item) -> tuple[str | None, str | None]:
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


def _head(text: str) -> dict[str, str]:
    """Return name and description from the front matter, where there is one."""
    lines: Iterator[str] = iter(text.splitlines())
    if next(lines, "").rstrip() != "---" or "\n---" not in text:
        return {}
    inner = takewhile(lambda line: line.rstrip() != "---", lines)
    pairs = (match.groups() for line in inner if (match := TITLE.fullmatch(line.rstrip())))
    return {key: value.strip().strip("\"'") for key, value in pairs if value.strip("\"' |>")}

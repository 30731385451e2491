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
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, tzinfo
from itertools import dropwhile, groupby, takewhile
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from memoranda.errors import InvalidInput
from memoranda.model.checks import require_aware
from memoranda.model.models import Kind
from memoranda.model.notes import line_of
from memoranda.notes.document import NoteItem, bare, parse, split
from memoranda.notes.notes import parse_history
from memoranda.records.drafts import Draft
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import secret_kind
from memoranda.transfer.batches import ImportTarget, PlacedDraft
from memoranda.transfer.foreign_files import HISTORY, ForeignFile, ForeignFolder, root_of
from memoranda.transfer.json_files import LeftOut

_EN = LanguageData("en", "notes")
# A line of ``CLAUDE.md`` that stands for a file.
IMPORT = compile_pattern(r"@(?P<target>\S+)")
# What a template holds where nothing was learned yet: ``(User preferences)``.
PLACEHOLDER = compile_pattern(r"[*_]*\([^()]*\)[*_]*")
# A heading that names a moment: ``09:00 Standup``.
NO_TOPIC = compile_pattern(
    r"\[?(?:\d{1,2}:\d{2}(?::\d{2})?(?:[ ]?[ap]m)?|\d{4}-\d{2}-\d{2})\b.*", re.IGNORECASE
)
BOLD = compile_pattern(r"(?:\*\*|__)(?P<head>[^*_]{1,40}?)[:.]?(?:\*\*|__)")
LABEL = compile_pattern(r"(?P<head>[^\W\d_][\w'’-]*(?: [\w'’&-]+){0,3}):(?:\s.*)?", re.DOTALL)
NAME = compile_pattern(r"(?P<head>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})(?: \([^()]*\))?")


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
            if found := IMPORT.fullmatch(item.text):
                yield MemoryStatement(item, item.text, found["target"])
                continue
            while above and not (
                item.section == above[-1][0].section and item.indent >= above[-1][0].offset
            ):
                above.pop()
            owner = above[-1][1] if above else ""
            if item.listed:
                # Those nested below it speak of the name that it begins with.
                heads = (
                    BOLD.match(item.text),
                    LABEL.fullmatch(item.text),
                    NAME.fullmatch(item.text),
                )
                head = next((found["head"].strip() for found in heads if found), None)
                above.append((item, f"{owner}{head}: " if head else owner))
            of_itself = not item.listed and _EN.pattern("of_itself", 0).fullmatch(item.text)
            if not of_itself and not PLACEHOLDER.fullmatch(item.text):
                yield MemoryStatement(item, _owned(item.text, owner))


def _apart(item: NoteItem, lines: tuple[str, ...]) -> Iterator[NoteItem]:
    """Yield an item, or its parts where lines in it only import a file."""
    said = [bare(line).strip() for line in lines[item.start : item.stop]]
    said[0] = said[0].removeprefix(item.prefix.strip()).strip()
    marks = [IMPORT.fullmatch(line) is not None for line in said]
    if not any(marks) or len(said) == 1:
        yield item
        return
    for imports, run in groupby(range(len(said)), key=marks.__getitem__):
        places = list(run)
        for part in [[place] for place in places] if imports else [places]:
            text, start = line_of(" ".join(said[place] for place in part)), item.start + part[0]
            if text:
                yield replace(item, text=text, start=start, stop=start + len(part))


def _owned(text: str, owner: str) -> str:
    """Return a text with whose it is, where it is a fragment such as ``birthday: 3 May``."""
    name = owner.removesuffix(": ").rpartition(": ")[2]
    if not owner or compile_pattern(rf"\b{re.escape(name)}\b").search(text):
        return text
    fragment = LABEL.fullmatch(text) is not None or text[:1].islower()
    return f"{owner}{text}" if fragment else text


DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
HOUR = r"(?:[ T,]+(?P<hour>\d{1,2}:\d{2}(?::\d{2})?))?"
# The heading of an entry that names its moment with the zone.
EXACT = compile_pattern(
    r"^##[ \t]+\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*(?:[Zz]|[+-]\d{2}:?\d{2})[ \t]*\r?$",
    re.MULTILINE,
)
# How an entry starts: ``[2026-02-27 14:30] …`` (nanobot), or ``## 2026-02-27 14:30``.
STAMPS = (
    compile_pattern(rf"\[{DAY}{HOUR}[^\]\n]*\][ \t]*(?P<rest>.*)"),
    compile_pattern(rf"#{{1,4}}[ \t]+\[?{DAY}{HOUR}\]?(?P<rest>(?:\W.*)?)"),
)
# Lines of no entry: headings, comments, rules.
NO_TEXT = compile_pattern(r"#{1,6}(?:[ \t].*)?|<!--.*-->|-{3,}|\*{3,}|_{3,}")
DAILY = compile_pattern(rf"{DAY}(?P<slug>[-_ ].*)?\.md", re.IGNORECASE)
SESSION = compile_pattern(rf"# Session: {DAY} (?P<hour>\d{{2}}:\d{{2}}(?::\d{{2}})?) UTC")
# The session that OpenClaw writes down at ``/new``: what was said, not what is so.
ABOUT = compile_pattern(r"- \*\*(?:Session Key|Session ID|Source)\*\*:.*|## Conversation Summary|")


# Who tells a history: what an agent wrote down is no word of the person.
TELLER = "assistant"


def entry_draft(text: str, at: datetime | None, file: str) -> Draft:
    """Return something that happened at a moment, as a file tells it."""
    place = {"file": file}
    return Draft(content=text, kind=Kind.EPISODE, role=TELLER, metadata=place, event_time=at)


def read_history(text: str, file: str, zone: tzinfo) -> Iterator[Draft]:
    """Yield the entries of a history.

    Args:
        text: what is in the file.
        file: its name, for the entries.
        zone: the zone of times that name none.
    """
    exact = EXACT.search(text)
    start = len(text) if exact is None else exact.start()
    for at, said in _paragraphs(text[:start], zone):
        yield entry_draft(said, at, file)
    for entry in parse_history(text[start:], file):
        if entry.text.strip():
            yield entry_draft(entry.text.strip(), entry.at, file)


def read_session(text: str, file: str) -> Draft | None:
    """Return the session that OpenClaw wrote down in a file; ``None`` if it is something else."""
    first, *rest = text.strip().splitlines() or [""]
    match = SESSION.fullmatch(first.strip())
    at = moment(match["day"], match["hour"], UTC) if match else None
    if at is None:
        return None
    talk = "\n".join(dropwhile(lambda line: ABOUT.fullmatch(line.strip()) is not None, rest))
    return entry_draft(talk.strip(), at, file)


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
    entries: list[tuple[datetime | None, list[str]]] = [(None, [])]
    fresh = True  # Whether a paragraph may start with the line.
    for line in text.replace("\r\n", "\n").split("\n"):
        dated = entries[-1][0] is not None
        found = _stamp(line, zone) if fresh or line.startswith("#") else None
        if found:
            entries.append((found[0], [found[1]]))
        elif fresh and not dated:
            entries.append((None, []))
        if not found and (dated or NO_TEXT.fullmatch(line.strip()) is None):
            entries[-1][1].append(line)
        fresh = not line.strip()
    for at, lines in entries:
        said = "\n".join(lines).strip()
        if said:
            yield at, said


def _stamp(line: str, zone: tzinfo) -> tuple[datetime, str] | None:
    for pattern in STAMPS:
        match = pattern.fullmatch(line.rstrip())
        if match is not None:
            at = moment(match["day"], match["hour"], zone)
            return None if at is None else (at, match["rest"].lstrip(" \t—–-:·"))
    return None


# What a folder is searched for, for messages.
LOOKED_FOR = (
    "MEMORY.md, CLAUDE.md, CLAUDE.local.md, HISTORY.md, YYYY-MM-DD.md, and Markdown in memory/"
)
FOLDER = "memory"
MEMORIES = ("MEMORY.md", "memory.md")
FIRST = ("MEMORY.md", "HISTORY.md")
INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
# How many imports follow one another (Claude Code's own limit).
DEEPEST_IMPORT = 5
LINK = compile_pattern(r"[*_]*\[(?P<title>[^\]]*)\]\(<?(?P<target>[^)<>]+?)>?\)")
WIKI_LINK = compile_pattern(r"[*_]*\[\[(?P<title>[^\]|#]+)[^\]]*\]\]")
# How a topic goes on after its rule: ``**Why:** …``, ``**How to apply:** …``.
REASON = compile_pattern(r"\*\*[^*]{1,40}(?::\*\*|\*\*:)")
TITLE = compile_pattern(r"(name|description):[ \t]*(.+)")


def read_memory_md(path: Path, zone: tzinfo) -> MarkdownMemoryReader:
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
    reader = MarkdownMemoryReader(ForeignFolder(root), zone)
    reader.read([file] if file else reader.paths())
    return reader


class MarkdownMemoryReader:
    """Goes through the files of one memory, each once.

    Attributes:
        files: its folder, with what was come across and not read, and why.
        facts: what is held to be so, in the order of the files.
        entries: what happened, by moment and text: what is in two files is here once.
    """

    def __init__(self, files: ForeignFolder, zone: tzinfo) -> None:
        """Read nothing yet."""
        self.files = files
        self.zone = zone
        self.facts: list[Draft] = []
        self.entries: dict[tuple[datetime | None, str], Draft] = {}
        self._done: set[Path] = set()

    def paths(self) -> Iterator[Path]:
        """Yield the files of the folder that are named as memories are."""
        root = self.files.root
        named = (root / name for name in (*INSTRUCTIONS, *MEMORIES, *FIRST))
        yield from filter(os.path.lexists, named)
        for path in self.files.markdown(root, depth=0):
            if HISTORY.fullmatch(path.name) or day_of(path.name, self.zone):
                yield path
        folder = root if root.name == FOLDER else root / FOLDER
        if folder.is_symlink():
            self.files.skip(FOLDER, "a link to a folder")
        elif folder.is_dir():
            # MEMORY.md names the topics, and HISTORY.md has what is in the files of the months.
            yield from filter(os.path.lexists, (folder / name for name in FIRST))
            yield from self.files.markdown(folder)

    def read(self, paths: Iterable[Path]) -> None:
        """Read the files at ``paths``."""
        for path in paths:
            if text := self.files.text(path):
                self._read(text)

    def _read(self, text: ForeignFile, title: str | None = None) -> None:
        """Read a file once, as what its name or its first line says it is."""
        if text.path in self._done:
            return
        self._done.add(text.path)
        name = PurePosixPath(text.file).name
        if HISTORY.fullmatch(name):
            for entry in read_history(text.text, text.file, self.zone):
                self.entries.setdefault((entry.event_time, entry.content), entry)
        elif session := read_session(text.text, text.file):
            if session.content:
                self.entries.setdefault((session.event_time, session.content), session)
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
        title, before = head.get("name") or title, len(self.facts)
        for stated in statements(text.text):
            if head and len(self.facts) > before and REASON.match(stated.item.text):
                rule = self.facts[-1]
                self.facts[-1] = replace(rule, content=f"{rule.content} {stated.item.text}")
            else:
                self._keep(text, stated, title)
        if len(self.facts) == before and "description" in head:
            self._add(text.file, head["description"], title)

    def _keep(self, text: ForeignFile, stated: MemoryStatement, title: str | None = None) -> None:
        section = stated.item.section
        if section is None or NO_TOPIC.fullmatch(section):
            section = title
        self._add(text.file, stated.text, section)

    def _add(self, file: str, text: str, section: str | None) -> None:
        place = {"section": section, "file": file}
        self.facts.append(
            Draft(
                content=text,
                metadata={name: value for name, value in place.items() if value},
                event_time=day_of(file, self.zone),
                decay_rate=0.0,
            )
        )


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


MOST_SHOWN = 3


def read_drafts(path: Path, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Return what a Markdown memory holds: facts that a person stands behind, and episodes.

    A fact is the same whenever it was learned; something that happened twice is two. Lines that
    look like secrets are left out, and so is what could not be read.

    Args:
        path: a file or a folder, see :func:`memoranda.transfer.markdown_memory.read_memory_md`.
        target: where it goes.
        left_out: gets a line for each file that was not read, or holds secrets.

    Raises:
        InvalidInput: there is nothing at ``path``, or no memory in it.
    """
    memory, hidden, found = read_memory_md(path, target.zone), Counter[str](), list[Draft]()
    for draft in (*memory.facts, *memory.entries.values()):
        lines = draft.content.split("\n")
        plain = [line for line in lines if not secret_kind(line)]
        text = "\n".join(plain).strip()
        if secret_kind(text):  # One that goes over several lines.
            plain, text = [], ""
        hidden[(draft.metadata or {})["file"]] += len(lines) - len(plain)
        if text:
            found.append(replace(draft, content=text))
    told = [f"{file}: {why}" for file, why in memory.files.skipped.items()]
    for file, count in (+hidden).items():
        what = "line looks like a secret" if count == 1 else "lines look like secrets"
        told.append(f"{file}: {count} {what}, not imported")
    if not found:
        shown = "".join(f"; {line}" for line in told[:MOST_SHOWN])
        raise InvalidInput(f"{path} holds no memory to import; looked for {LOOKED_FOR}{shown}")
    for line in told:
        left_out.tell(line)
    yield from (PlacedDraft(str(path), target.scope, draft, once=True) for draft in found)

"""Reads the Markdown memories of other agents: bullets and paragraphs, and entries of histories.

Read are, in a folder, its own Markdown files that are named as memories are (``MEMORY.md``,
``CLAUDE.md``, ``HISTORY*.md``, ``YYYY-MM-DD.md``) and all Markdown in ``memory/``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, tzinfo

from memoranda.errors import InvalidInput
from memoranda.model.checks import parse_moment
from memoranda.model.models import Kind, Trust
from memoranda.notes.document import parse
from memoranda.records.drafts import Draft
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.transfer.sources import File, ForeignRecord, ImportCounts, ImportTarget, reading_file

_EN = LanguageData("en", "notes")
DAY = r"\d{4}-\d{2}-\d{2}"
# Hidden files, and those in hidden folders, are none of them.
NAMED = compile_pattern(
    rf"(?i)(?:MEMORY|CLAUDE(?:\.local)?|HISTORY.*|{DAY}.*|memory(?:/[^./][^/]*)+)\.md"
)
# How an entry of a history starts: ``[2026-02-27 14:30] …``, or ``## 2026-02-27T14:30:00Z``.
TIME = r"(?:[ T]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?"
STAMP = compile_pattern(rf"(?m)^(?:#{{1,4}}[ \t]+)?\[?({DAY}{TIME})\]?(?:[ \t]|$)")
# Lines before the first entry that are in no paragraph: headings, and blank ones.
BETWEEN = compile_pattern(r"(?m)^(?:#.*|[ \t]+)$")
# What is no statement: a link to a file for each topic, an import of a file, and what a
# template holds where nothing was learned yet.
NO_TEXT = compile_pattern(r"\W*\[[^\]]*\]\([^)]*\.md\).*|@\S+|[*_]*\([^()]*\)[*_]*")
# Words of an item that names what the items below it are about.
HEAD_WORDS = 3


def statements(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the bullets and paragraphs of a file, each with the heading above it.

    A bullet under a name begins with the name.
    """
    lines = ("" if _is_frame(line.strip()) else line for line in text.splitlines())
    parents: list[tuple[int, str]] = []
    above: str | None = None
    for item in parse("\n".join(lines)).items:
        goes_on = item.listed and item.section == above
        indent = len(item.prefix) - len(item.prefix.lstrip())
        parents = [each for each in parents if goes_on and each[0] < indent]
        above = item.section
        said = item.text.removeprefix("[x] ").removeprefix("[ ] ")
        if _is_frame(said):
            continue
        yield "".join(name for _, name in parents) + said, item.section
        if item.listed and (said.endswith(":") or len(said.split()) <= HEAD_WORDS):
            parents.append((indent, f"{said.strip(' :*_')}: "))


def _is_frame(text: str) -> bool:
    """Return whether a text is none of a person's own: a template says it of its own file, say."""
    return bool(NO_TEXT.fullmatch(text) or _EN.pattern("of_itself", 0).fullmatch(text))


def entries(text: str, zone: tzinfo) -> Iterator[tuple[datetime | None, str]]:
    """Yield the entries of a history, each with its moment; before the first, each paragraph."""
    stamps = [(each.span(), at) for each in STAMP.finditer(text) if (at := _moment(each[1], zone))]
    ends = [*(start for (start, _), _ in stamps), len(text)]
    for paragraph in BETWEEN.sub("", text[: ends[0]]).split("\n\n"):
        if said := paragraph.strip():
            yield None, said
    for ((_, start), at), end in zip(stamps, ends[1:], strict=True):
        if said := text[start:end].strip():
            yield at, said


def _moment(text: str, zone: tzinfo) -> datetime | None:
    with suppress(InvalidInput):
        return parse_moment(text, "at", zone)
    return None


def read_records(path: File, target: ImportTarget, _: ImportCounts) -> Iterator[ForeignRecord]:
    """Yield what a Markdown memory holds: facts that never fade, and episodes.

    A fact is the same whenever it was learned; something that happened twice is two.

    Raises:
        InvalidInput: it is no text, or there is no memory in it.
    """
    with reading_file(path):
        text = path.read_text("utf-8-sig") if path.is_file() else "\0"
    found = list(_drafts(text, path, target.zone)) if "\0" not in text else []
    if not found:
        raise InvalidInput(f"{path} is not a text that holds a memory")
    for draft in found:
        yield ForeignRecord(str(path), target.scope, draft, once=True)


def _drafts(text: str, path: File, zone: tzinfo) -> Iterator[Draft]:
    """Yield the entries of a history, or the statements of any other file, as drafts.

    Args:
        text: what is in the file.
        path: the file, whose name says what it is.
        zone: the zone of times that name none.
    """
    *_, folder, name = "", *str(path).split("/")
    place = f"memory/{name}" if folder == "memory" else name
    if path.name.upper().startswith("HISTORY"):
        for at, said in entries(text, zone):
            # What an agent wrote down is no word of the person.
            kind, file = Kind.EPISODE, {"file": place}
            yield Draft(content=said, kind=kind, role="assistant", metadata=file, event_time=at)
        return
    at = _moment(path.name[: len("2026-02-27")], zone)
    # What people write for agents is theirs; in any other file an agent keeps its own notes.
    trust = Trust.PERSON if path.name.upper().startswith("CLAUDE") else Trust.AGENT
    for said, section in statements(text):
        file = {"file": place} | ({"section": section} if section else {})
        yield Draft(content=said, metadata=file, event_time=at, decay_rate=0.0, trust=trust)

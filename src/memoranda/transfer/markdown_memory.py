"""Reads the Markdown memories of other agents: bullets and paragraphs, and entries of histories.

Read are, in a folder, its own Markdown files that are named as memories are (``MEMORY.md``,
``CLAUDE.md``, ``HISTORY*.md``, ``YYYY-MM-DD.md``) and all Markdown in ``memory/``. Nothing is read
that is outside the folder: such a folder may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path, PurePosixPath

from memoranda.errors import InvalidInput
from memoranda.model.checks import require_aware
from memoranda.model.models import Kind
from memoranda.notes.document import parse
from memoranda.records.drafts import Draft
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import secret_kind
from memoranda.transfer.batches import ImportTarget, PlacedDraft
from memoranda.transfer.json_files import LeftOut, reading_file

_EN = LanguageData("en", "notes")
LOOKED_FOR = (
    "MEMORY.md, CLAUDE.md, CLAUDE.local.md, HISTORY.md, YYYY-MM-DD.md, and Markdown in memory/"
)
FOLDER = "memory"
NAMED = compile_pattern(
    r"(?:MEMORY|CLAUDE|CLAUDE\.local|HISTORY.*|\d{4}-\d{2}-\d{2}.*)\.md", re.IGNORECASE
)
HISTORY = compile_pattern(r"HISTORY.*\.md", re.IGNORECASE)
# Bytes; a history is never truncated.
LARGEST = 2**24
DAY = r"(\d{4}-\d{2}-\d{2})"
DAILY = compile_pattern(rf"{DAY}.*\.md")
# How an entry of a history starts: ``[2026-02-27 14:30] …``, or ``## 2026-02-27T14:30:00Z``.
STAMP = compile_pattern(
    rf"(?:#{{1,4}}\s+)?\[?{DAY}(?:[ T]+(\d{{1,2}}:\d{{2}}(?::\d{{2}})?)(?:\.\d+)?"
    rf"(Z|[+-]\d{{2}}:?\d{{2}})?)?\]?(?:\s+(.*))?"
)
HEADING = compile_pattern(r"#{1,6}\s+.*")
CHECKBOX = compile_pattern(r"\[[ xX]\]\s+")
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
        parents = [each for each in parents if goes_on and each[0] < item.indent]
        above = item.section
        said = CHECKBOX.sub("", item.text, 1) if CHECKBOX.match(item.text) else item.text
        if _is_frame(said):
            continue
        yield "".join(name for _, name in parents) + said, item.section
        is_name = item.listed and (said.endswith(":") or len(said.split()) <= HEAD_WORDS)
        parents += [(item.indent, f"{said.strip(' :*_')}: ")] if is_name else []


def _is_frame(text: str) -> bool:
    """Return whether a text is none of a person's own: a template says it of its own file, say."""
    return bool(NO_TEXT.fullmatch(text) or _EN.pattern("of_itself", 0).fullmatch(text))


def entries(text: str, zone: tzinfo) -> Iterator[tuple[datetime | None, str]]:
    """Yield the entries of a history, each with its moment; before the first, each paragraph."""
    found: list[tuple[datetime | None, list[str]]] = [(None, [])]
    for line in text.splitlines():
        stamp = STAMP.fullmatch(line.rstrip())
        at = _moment(stamp[1], stamp[2], stamp[3], zone) if stamp else None
        if stamp and at:
            found.append((at, [stamp[4] or ""]))
        elif not line.strip() and found[-1][0] is None:
            found.append((None, []))
        elif found[-1][0] or not HEADING.fullmatch(line):
            found[-1][1].append(line)
    for at, lines in found:
        if said := "\n".join(lines).strip():
            yield at, said


def _moment(day: str, hour: str | None, offset: str | None, zone: tzinfo) -> datetime | None:
    with suppress(ValueError, InvalidInput):
        clock = (hour or "00:00").zfill(len("00:00"))
        found = datetime.fromisoformat(f"{day}T{clock}{offset or ''}")
        return require_aware(found if found.tzinfo else found.replace(tzinfo=zone), "at")
    return None


def read_drafts(path: Path, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Yield what a Markdown memory holds: facts that a person stands behind, and episodes.

    A fact is the same whenever it was learned; something that happened twice is two. Lines that
    look like secrets are left out, and so is what could not be read.

    Args:
        path: a file, or a folder with files named as :data:`LOOKED_FOR` says.
        target: where it goes.
        left_out: gets a line for each file that was not read, or holds secrets.

    Raises:
        InvalidInput: there is nothing at ``path``, or no memory in it.
    """
    with reading_file(path):
        place = path.resolve(strict=True)
    root = place if place.is_dir() else place.parent
    drafts: list[Draft] = []
    for file in _files(root) if place.is_dir() else [place]:
        name = file.relative_to(root).as_posix()
        try:
            given = _content(file, root).split("\n")
        except (InvalidInput, OSError, ValueError) as error:
            left_out.tell(f"{name}: {error}")
            continue
        plain = [line for line in given if not secret_kind(line)]
        if hidden := len(given) - len(plain):
            left_out.tell(f"{name}: lines that look like secrets, not imported: {hidden}")
        found = _drafts("\n".join(plain), name, target.zone)
        drafts += [draft for draft in found if not secret_kind(draft.content)]
    if not drafts:
        told = "; ".join([f"looked for {LOOKED_FOR}", *left_out.lines()[:3]])
        raise InvalidInput(f"{path} holds no memory to import; {told}")
    yield from (PlacedDraft(str(path), target.scope, draft, once=True) for draft in drafts)


def _files(root: Path) -> Iterator[Path]:
    """Yield the Markdown files of a folder that are memories, by name, hidden ones left out."""
    folder = root if root.name == FOLDER else root / FOLDER
    inside = folder.rglob("*.md") if folder.is_dir() and not folder.is_symlink() else ()
    named = (each for each in root.glob("*.md") if NAMED.fullmatch(each.name))
    for path in sorted({*named, *inside}):
        if not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield path


def _content(path: Path, root: Path) -> str:
    """Return the text of a file that is in the folder, links followed.

    Raises:
        InvalidInput: it is not to be read; the message says why.
    """
    if not path.resolve().is_relative_to(root):
        raise InvalidInput("leads out of the folder")
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise InvalidInput(f"is no regular file of at most {LARGEST // 2**20} MiB")
    text = path.read_text("utf-8-sig")
    if text.lstrip().startswith("# Session:") or "\0" in text:
        raise InvalidInput("is no memory but a talk that was written down, or binary")
    return text


def _drafts(text: str, file: str, zone: tzinfo) -> Iterator[Draft]:
    """Yield the entries of a history, or the statements of any other file."""
    name = PurePosixPath(file).name
    if HISTORY.fullmatch(name):
        for at, said in entries(text, zone):
            # What an agent wrote down is no word of the person.
            kind, place = Kind.EPISODE, {"file": file}
            yield Draft(content=said, kind=kind, role="assistant", metadata=place, event_time=at)
        return
    day = DAILY.fullmatch(name)
    at = _moment(day[1], None, None, zone) if day else None
    for said, section in statements(text):
        place = {"file": file} | ({"section": section} if section else {})
        yield Draft(content=said, metadata=place, event_time=at, decay_rate=0.0)

"""Entries of the histories that others keep, dated as they date them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time, tzinfo
from itertools import dropwhile
from pathlib import PurePosixPath

from memoranda.model.times import require_aware
from memoranda.notes.history import parse_history

DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
HOUR = r"(?:[ T,]+(?P<hour>\d{1,2}:\d{2}(?::\d{2})?))?"
EXACT = re.compile(
    r"^##[ \t]+\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*(?:[Zz]|[+-]\d{2}:?\d{2})[ \t]*\r?$",
    re.MULTILINE,
)
"""The heading of an entry that names its moment with the zone (seed 002)."""
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

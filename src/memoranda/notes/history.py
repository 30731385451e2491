r"""Parses and renders the entries of the history files.

An entry is a heading ``## 2026-02-27T14:30:00.000Z``, a blank line, its text and a blank line. A
line of a text that looks like such a heading gets a backslash in front, and one that has
backslashes already gets one more, so that every text comes back as it was. Only a line feed ends
a line here: other characters that break lines are part of the text.

Files may be edited by hand. What stands before the first heading is no entry; moments may lack
seconds or have another offset; and blank lines and line ends may be as an editor left them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from memoranda.model.checks import require_aware
from memoranda.model.notes import HISTORY_FILE, HistoryEntry, stamp

Change = Callable[[HistoryEntry], str | None]
"""Says what the text of an entry becomes; ``None`` removes the entry."""

_MOMENT = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})"
)
_LINE = rf"##[ \t]+(?P<at>{_MOMENT})[ \t]*\r?$"
_LIKE = re.compile(_LINE, re.MULTILINE)  # Begins with plain characters, so it is found fast.
_PLAIN = re.compile(rf"^(?=\\*{_LINE})", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(?=\\*{_LINE})", re.MULTILINE)
_OF_A_MOMENT = re.compile(r"[0-9][0-9t:.z-]*")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Where an entry is in the text of a file: heading ``start:body``, the rest ``body:end``."""

    at: datetime
    start: int
    body: int
    end: int
    line_end: str


def render_entry(at: datetime, text: str) -> str:
    """Return an entry as it is added to a file. ``parse_history`` gives ``text`` back exactly."""
    return f"## {stamp(at)}\n" + _body(text, "\n")


def parse_history(text: str, file: str = HISTORY_FILE) -> list[HistoryEntry]:
    """Return the entries of a file in its order.

    Args:
        text: what is in the file; the last entry may lack its end.
        file: the name of the file, for the entries.
    """
    return [HistoryEntry(piece.at, _text_of(text, piece), file) for piece in _pieces(text)]


def rewrite_history(text: str, change: Change, file: str = HISTORY_FILE) -> tuple[str, int]:
    """Return the text of a file with its entries changed, and how many of them were.

    What stands between entries, and entries that ``change`` leaves as they are, keep every byte.
    An entry keeps its heading; one whose text becomes blank is removed.
    """
    parts: list[str] = []
    done, changed = 0, 0
    for piece in _pieces(text):
        old = _text_of(text, piece)
        new = change(HistoryEntry(piece.at, old, file))
        if new == old:
            continue
        changed += 1
        parts.append(text[done : piece.start])
        if new is not None and new.strip():
            heading = text[piece.start : piece.body].rstrip("\r\n")
            parts.append(f"{heading}{piece.line_end}{_body(new, piece.line_end)}")
        done = piece.end
    return "".join([*parts, text[done:]]), changed


def once(files: Iterable[Iterable[HistoryEntry]]) -> Iterator[HistoryEntry]:
    """Yield the entries of several files, one that is in two of them only from the first.

    Entries that are twice in one file were told twice, and stay two.
    """
    known: Counter[tuple[datetime, str]] = Counter()
    for entries in files:
        here: Counter[tuple[datetime, str]] = Counter()
        for entry in entries:
            key = entry.at, entry.text
            here[key] += 1
            if here[key] > known[key]:
                yield entry
        known |= here


def newest_first(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return entries by their moment; of the same moment, the one that was added later first."""
    return sorted(entries, key=lambda entry: entry.at)[::-1]


def having(entries: Iterable[HistoryEntry], keyword: str) -> Iterator[HistoryEntry]:
    """Yield the entries whose text or time contains ``keyword``, ignoring case.

    Only a keyword that begins with a digit is looked for in the moment, as ``2026-02-27``; or
    ``z`` would find every entry.
    """
    wanted = folded(keyword)
    of_a_moment = _OF_A_MOMENT.fullmatch(wanted) is not None
    for entry in entries:
        if wanted in folded(entry.text) or (of_a_moment and wanted in folded(stamp(entry.at))):
            yield entry


def folded(text: str) -> str:
    """Return text without what only its spelling makes different: case, width, composition."""
    if text.isascii():
        return text.lower()
    whole = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    return whole.replace("i\u0307", "i")  # What the Turkish capital I with a dot becomes.


def _body(text: str, line_end: str) -> str:
    escaped = _PLAIN.sub(r"\\", text) if _LIKE.search(text) else text
    return f"{line_end}{escaped}{line_end * 2}"


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield where the entries of a file are."""
    headings = [
        (match, at)
        for match in _LIKE.finditer(text)
        if _begins_line(text, match.start()) and (at := _moment(match["at"]))
    ]
    starts = [match.start() for match, _ in headings]
    spans = pairwise([*starts, len(text)])
    for (match, at), (start, end) in zip(headings, spans, strict=True):
        line_end = "\r\n" if match[0].endswith("\r") else "\n"
        body = min(match.end() + 1, len(text))  # A file may end with a heading.
        yield _Piece(at, start, body, end, line_end)


def _begins_line(text: str, position: int) -> bool:
    before = text[position - 1 : position]  # Nothing, at the start; or the mark of its encoding.
    return before in {"", "\n"} or (position == 1 and before == "\ufeff")


def _text_of(text: str, piece: _Piece) -> str:
    raw, line_end = text[piece.body : piece.end], piece.line_end
    raw = raw.removeprefix(line_end)
    if raw.endswith(line_end * 2):
        raw = raw.removesuffix(line_end * 2)
    else:
        raw = raw.removesuffix(line_end)
    return _ESCAPED.sub("", raw) if _LIKE.search(raw) else raw


def _moment(written: str) -> datetime | None:
    """Return the moment of a heading in UTC; ``None``, if there is no such day or hour."""
    try:
        return require_aware(datetime.fromisoformat(written.upper()), "at").astimezone(UTC)
    except ValueError:  # InvalidInput, for a moment beyond the years 1 to 9999, is one too.
        return None

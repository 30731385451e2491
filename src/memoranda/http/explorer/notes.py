"""Notes: MEMORY.md, rendered and edited with the effects shown first, and the history by month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from memoranda.errors import Conflict
from memoranda.http.explorer.pages import Page, PageRequest, Redirect
from memoranda.model.checks import content_hash
from memoranda.model.notes import HistoryEntry
from memoranda.notes.document import parse

MONTH = len("2026-02")


@dataclass(frozen=True, slots=True)
class NoteEdit:
    """What a line of an edited MEMORY.md does: it is added, or it was changed or taken out."""

    before: str | None
    after: str | None

    @property
    def effect(self) -> str:
        """What becomes of the fact."""
        if self.before is None:
            return "remembered"
        return "forgotten" if self.after is None else "corrected"


def show(request: PageRequest) -> Page:
    """Show MEMORY.md, and a month of the history."""
    return _page(request, request.memory.notes.context_text(make=True))


def save(request: PageRequest) -> Page | Redirect:
    """Show what an edited MEMORY.md would do, or do it.

    Raises:
        Conflict: it was changed since it was opened.
    """
    draft = (request.text("text") or "").replace("\r\n", "\n")
    before = request.memory.notes.context_text(make=True)
    if request.required("seen") != content_hash(before):
        message = "MEMORY.md was changed since you opened it; open it again, and edit that"
        raise Conflict(message)
    if request.text("confirmed"):
        request.memory.notes.write_memory(draft)
        return Redirect("/notes", "saved")
    return _page(request, before, draft)


def _page(request: PageRequest, text: str, draft: str | None = None) -> Page:
    entries = request.memory.notes.history()
    months = sorted({_month(request, each) for each in entries}, reverse=True)
    month = request.text("month") or next(iter(months), None)
    values = {
        "text": text,
        "edits": None if draft is None else list(read_edits(text, draft)),
        "months": months,
        "month": month,
        "entries": [each for each in entries if _month(request, each) == month],
    }
    shown = {
        "edit": request.text("edit") or draft,
        "draft": text if draft is None else draft,
        "seen": content_hash(text),
    }
    return Page("notes", values, shown)


def read_edits(before: str, after: str) -> Iterator[NoteEdit]:
    """Yield what an edit does, bullet by bullet: a bullet is a fact."""
    old = [each.text for each in parse(before).bullets]
    new = [each.text for each in parse(after).bullets]
    for name, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if name != "equal":
            yield from (NoteEdit(*pair) for pair in zip_longest(old[i:j], new[k:m]))


def _month(request: PageRequest, entry: HistoryEntry) -> str:
    return entry.at.astimezone(request.zone).date().isoformat()[:MONTH]

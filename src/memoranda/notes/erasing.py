"""Takes what is erased out of the notes of a user.

The one rule is that of :class:`~memoranda.records.erased_words.ErasedWords`: a line that repeats
erased text becomes ``[erased]``, and so does the paragraph in which a model told an erased turn: a
model may remember too well.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from memoranda.model.erasure import ERASED
from memoranda.model.models import Record, Scope
from memoranda.notes.notes import HEADING
from memoranda.notes.service import NotesService
from memoranda.notes.writer import COMMENT
from memoranda.records.erased_words import ErasedWords


def erase_history(
    notes: NotesService,
    scope: Scope,
    erased: Sequence[Record],
    words: ErasedWords,
    conversation: str | None = None,
) -> int:
    """Take records out of the history of all notes of a user; return how many entries changed.

    Before the store erases them: an erasure that a crash kept from coming about is asked for again.

    Args:
        notes: finds the notes.
        scope: whose they are.
        erased: the records that are erased.
        words: what they say.
        conversation: the id of one that goes as a whole: it may be a title.

    Raises:
        StoreError: a file cannot be written; the message says which.
    """
    turns = {(record.session_id, record.position) for record in erased}

    def clean(lines: list[str]) -> tuple[list[str], int]:
        count = 0
        for at, line in enumerate(lines):
            if (found := COMMENT.search(line)) is None:
                continue
            session, first, last = unquote(found[1]), int(found[2]), int(found[3])
            told = any((session, place) in turns for place in range(first, last + 1))
            # The rules write a line for each sentence, a model one paragraph right above.
            if told and at and not lines[at - 1].startswith("- "):
                lines[at - 1] = f"{ERASED}\n"
                count += 1
            if session == conversation or words.repeated_in(session):
                lines[at] = line.replace(found[1], ERASED)
        headings = [at for at, line in enumerate(lines) if HEADING.match(line.rstrip("\r\n"))]
        left, gone = words.replace_lines(lines, spare=headings)
        return left, count + gone

    return sum(each.rewrite(clean) for each in notes.every(scope.whole_user))


def erase_lines(notes: NotesService, scope: Scope, words: ErasedWords) -> int:
    """Take erased words out of every MEMORY.md of a user; return how many lines changed.

    After the store has erased them: a line whose record is gone is known by its digest.

    Raises:
        StoreError: a file of the notes cannot be written; the message says which.
    """
    return sum(each.erase_lines(words) for each in notes.every(scope.whole_user))

"""Takes what is erased out of the notes of a user, and out of what they typed.

What a user typed in ``memoranda chat`` is in a file of prompt_toolkit's ``FileHistory``: a line
``# time`` and a line ``+text`` for each line typed. A line that begins otherwise is none to it.

The one rule is that of :class:`~memoranda.text.repetition.ErasedWords`: a line that repeats erased
text becomes ``[erased]``, and so does the paragraph in which a model told an erased turn: a model
may remember too well.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from platformdirs import user_data_path

from memoranda.model.erasure import ERASED
from memoranda.model.models import PlaceKind, Record, Scope, TextPlace
from memoranda.notes.notes import HEADING
from memoranda.notes.service import NotesService, folder_name
from memoranda.notes.writer import COMMENT
from memoranda.text.files import write_whole
from memoranda.text.repetition import ErasedWords

log = logging.getLogger("memoranda.notes")


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
            if session == conversation or words.are_in(session):
                lines[at] = line.replace(found[1], ERASED)
        headings = [at for at, line in enumerate(lines) if HEADING.match(line.rstrip("\r\n"))]
        left, gone = words.replace_lines(lines, spare=headings)
        return left, count + gone

    return sum(each.rewrite(clean) for each in notes.every(scope.whole_user))


def erase_files(
    notes: NotesService, scope: Scope, words: ErasedWords
) -> tuple[int, list[TextPlace]]:
    """Take erased words out of every MEMORY.md of a user, and out of what the user typed.

    After the store has erased them: a line whose record is gone is known by its digest. Returns how
    many lines changed, and where something was typed.

    Raises:
        StoreError: a file of the notes cannot be written; the message says which.
    """
    lines = sum(each.erase_lines(words) for each in notes.every(scope.whole_user))
    return lines, remove_prompts(scope, words)


def history_file(user: str) -> Path:
    """Return where the prompts of ``user`` are kept, which need not exist."""
    return user_data_path("memoranda") / "chat" / f"{folder_name(user)}.history"


def remove_prompts(scope: Scope, words: ErasedWords | None) -> list[TextPlace]:
    """Erase what a user typed of erased text (``None``: all of it); return where it was.

    A file that cannot be written keeps nobody from erasing: it is logged.
    """
    path = history_file(scope.user)
    try:
        typed = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        lines = typed.splitlines(keepends=True)
        left, count = words.replace_lines(lines) if words is not None else ([], len(lines))
        if count:
            write_whole(path, ["".join(left).encode()])
    except OSError as error:
        log.warning("%s was not cleaned of what was erased: %s", path, error)
        return []
    return [TextPlace(PlaceKind.TYPED, str(path))] if count else []

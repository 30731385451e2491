"""Where ``memoranda chat`` keeps what each user typed, and how erased text is taken out of it.

The file is one of prompt_toolkit's ``FileHistory``: a line ``# time`` and a line ``+text`` for each
line typed. A line that begins otherwise is none of these to it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from platformdirs import user_data_path

from memoranda.model.models import PlaceKind, Scope, TextPlace
from memoranda.notes.service import folder_name
from memoranda.text.files import write_whole
from memoranda.text.repetition import ErasedWords

log = logging.getLogger("memoranda.notes")


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

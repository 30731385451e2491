"""Where ``memoranda chat`` keeps what each user typed, and how erased text is taken out of it.

The file is one of prompt_toolkit's: a line ``# time`` and a line ``+text`` for each line typed.
"""

from __future__ import annotations

import logging
from pathlib import Path

from platformdirs import user_data_path

from memoranda.model.models import PlaceKind, Scope, TextPlace
from memoranda.notes.service import folder_name
from memoranda.text.files import write_whole
from memoranda.text.repetition import ErasedWords

START = "\n# "
log = logging.getLogger("memoranda.notes")


def history_file(user: str) -> Path:
    """Return where the prompts of ``user`` are kept, which need not exist."""
    return user_data_path("memoranda") / "chat" / f"{folder_name(user)}.history"


def remove_prompts(scope: Scope, words: ErasedWords | None) -> list[TextPlace]:
    """Remove what a user typed of erased text (``None``: all of it); return where it was.

    A file that cannot be written keeps nobody from erasing: it is logged.
    """
    path = history_file(scope.user)
    try:
        done = erase_prompts(path, words)
    except OSError as error:
        log.warning("%s was not cleaned of what was erased: %s", path, error)
        return []
    return [TextPlace(PlaceKind.TYPED, str(path))] if done else []


def erase_prompts(path: Path, words: ErasedWords | None) -> bool:
    """Remove the entries that repeat erased text, or all of them; return whether there was any.

    Raises:
        OSError: the file cannot be read or written.
    """
    former = path.with_suffix(".jsonl")  # Of version 0.2, in a form that nobody reads any more.
    done = former.exists()
    former.unlink(missing_ok=True)
    first, *entries = (
        (path.read_bytes() if path.exists() else b"").decode("utf-8", "replace").split(START)
    )
    kept = [] if words is None else [each for each in entries if not words.are_in(_typed(each))]
    if len(kept) < len(entries):
        write_whole(path, [START.join([first, *kept]).encode()])
    return done or len(kept) < len(entries)


def _typed(entry: str) -> str:
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+"))

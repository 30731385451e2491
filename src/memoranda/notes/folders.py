"""Where the notes of a user are: one folder each, so that nobody's notes are another's (law 6)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from memoranda.model.scope import Scope
from memoranda.settings.settings import Settings
from memoranda.wiring import file_of, is_folder

USER = "{user}"
FOLDER, INSIDE = ".notes", "notes"
AGENTS = "agents"
USERS = "users"
LONGEST = 80
"""Characters of a folder's name."""
UNSAFE = re.compile(r"[^\w@+.-]", re.ASCII)
# What Windows takes for a device, and what no folder can be called.
RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|\.+.*|.*\.|agents|users", re.DOTALL
)


def folder_of(settings: Settings, location: str, scope: Scope) -> Path | None:
    """Return the folder of the notes of ``scope``; ``None`` for a memory without file or folder.

    That of the setting ``notes.folder``, with ``{user}`` as the user; where it does not name the
    user, others than the configured one have folders inside. Otherwise ``agent.notes/USER``
    beside ``agent.db``; of a folder of Chroma, ``notes/USER`` in it, so that to copy or to remove
    it is to copy or to remove all there is (seed 001). An agent's are in ``agents/NAME`` inside.
    """
    chosen = settings.notes.folder
    if chosen is not None:
        folder = _chosen(chosen, settings, scope)
    else:
        file = file_of(location)
        if file is None:
            return None
        file = file.expanduser()
        every = file / INSIDE if is_folder(location) else file.with_name(f"{file.stem}{FOLDER}")
        folder = every / folder_name(scope.user)
    return folder if scope.agent is None else folder / AGENTS / folder_name(scope.agent)


def _chosen(chosen: str, settings: Settings, scope: Scope) -> Path:
    name = folder_name(scope.user)
    if USER in chosen:
        return Path(chosen.replace(USER, name)).expanduser()
    folder = Path(chosen).expanduser()
    return folder if scope.user == settings.user else folder / USERS / name


def folder_name(name: str) -> str:
    """Return a name under which a folder can stand on any file system, and no other name's.

    What is not plain is told apart by a hash: some file systems know no case, and some change
    how letters are written.
    """
    plain = UNSAFE.sub("_", name)[:LONGEST]
    if plain == name == name.lower() and not RESERVED.fullmatch(name):
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{plain.strip('.') or 'user'}~{digest}"

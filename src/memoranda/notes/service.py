"""Where the notes of each user are, how they are opened, and what is erased in all of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from memoranda.errors import MemorandaError, StoreError
from memoranda.model.erasure import ERASED
from memoranda.model.models import Record, Scope
from memoranda.model.notes import MEMORY_FILE, NotesBase
from memoranda.notes.notes import COMMENT, HEADING
from memoranda.notes.sync import NotesSyncState, SyncedNotes
from memoranda.records.erased_words import ErasedWords
from memoranda.records.service import RecordService
from memoranda.settings.settings import Settings
from memoranda.store.locations import file_of, medium
from memoranda.store.sql.store import Store
from memoranda.text.patterns import compile_pattern

USER = "{user}"
FOLDER, INSIDE = ".notes", "notes"
AGENTS = "agents"
USERS = "users"
# Characters of a folder's name.
LONGEST = 80
UNSAFE = compile_pattern(r"[^\w@+.-]", re.ASCII)
# What Windows takes for a device, and what no folder can be called.
RESERVED = compile_pattern(
    r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|\.+.*|.*\.|agents|users", re.DOTALL
)
WRONG = "cannot be used:"


class OpenNotes(dict[Scope, NotesSyncState]):
    """The sync state of the notes of each scope while a store is open. Thread-safe."""

    def __missing__(self, scope: Scope) -> NotesSyncState:
        """Nothing was read of these notes yet."""
        return self.setdefault(scope, NotesSyncState())

    def forget(self, user: str) -> None:
        """Drop what is known of the notes of a user and of all their agents."""
        for scope in [each for each in self if each.user == user]:
            state = self.pop(scope)
            with state.lock:
                if state.folder is not None:
                    state.folder.cleanup()

    def close(self, store: Store) -> None:
        """Remove the folders that last no longer; a server keeps nothing of them."""
        for scope, state in list(self.items()):
            with state.lock:
                if state.folder is None:
                    continue
                if medium(store.location) == "server":
                    with suppress(StoreError), store.write(scope) as tx:
                        tx.keep_notes_base(NotesBase(state.folder.name))
                state.folder.cleanup()
                state.folder = None


@dataclass(frozen=True, slots=True)
class NotesService:
    """Opens the notes of the users of a store.

    Attributes:
        records_of: gives what changes the records of a scope.
        settings: where the notes are, and how large.
        open_notes: what is known of them while the store is open.
    """

    records_of: Callable[[Scope], RecordService]
    settings: Settings
    open_notes: OpenNotes

    def find(self, scope: Scope) -> SyncedNotes | None:
        """Return the notes of ``scope``; ``None`` if nobody opened those of a memory without file.

        Those are gone when it is closed.
        """
        folder, opened = self._lasting(scope), self.open_notes[scope].folder
        if folder is None and opened is not None:
            folder = Path(opened.name)
        return None if folder is None else self.at(scope, folder)

    def open(self, scope: Scope) -> SyncedNotes:
        """Return the notes of ``scope``; of a memory without a file, in a temporary folder."""
        if found := self.find(scope):
            return found
        state = self.open_notes[scope]
        with state.lock:
            state.folder = state.folder or TemporaryDirectory(prefix="memoranda-notes-")
            return self.at(scope, state.folder.name)

    def every(self, scope: Scope) -> list[SyncedNotes]:
        """Return the notes of a scope, and of all agents of a whole user, where there is a folder.

        Of each owner first those in the folder of the settings, then those that the store knows.
        """
        known = self.records_of(scope).store.notes_bases(scope)
        found = map(self.find, dict.fromkeys([scope, *(owner for owner, _ in known)]))
        present = [(notes.scope, str(notes.folder)) for notes in found if notes is not None]
        places = dict.fromkeys([*present, *known])
        return [self.at(owner, folder) for owner, folder in places if Path(folder).is_dir()]

    def erase_history(
        self,
        scope: Scope,
        erased: Sequence[Record],
        words: ErasedWords,
        conversation: str | None = None,
    ) -> int:
        """Take records out of the history of all notes of a user; return how many entries changed.

        A line that repeats erased text becomes ``[erased]``, and so does the paragraph in which a
        model told an erased turn: a model may remember too well.

        Before the store erases them, as an erasure that a crash kept from coming about is asked for
        again; and after it, as an entry may have been written meanwhile.

        Args:
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
                if told and at and not lines[at - 1].startswith(("- ", ERASED)):
                    lines[at - 1] = f"{ERASED}\n"
                    count += 1
                if session == conversation or words.repeated_in(session):
                    lines[at] = f"{line[: found.start(1)]}{ERASED}{line[found.end(1) :]}"
            headings = [at for at, line in enumerate(lines) if HEADING.match(line.rstrip("\r\n"))]
            left, gone = words.replace_lines(lines, spare=headings)
            return left, count + gone

        return sum(each.rewrite(clean) for each in self.every(scope.whole_user))

    def erase_lines(self, scope: Scope, words: ErasedWords) -> int:
        """Take erased words out of every MEMORY.md of a user; return how many lines changed.

        After the store has erased them: a line whose record is gone is known by its digest.

        Raises:
            StoreError: a file of the notes cannot be written; the message says which.
        """
        return sum(each.erase_lines(words) for each in self.every(scope.whole_user))

    def status(self, scope: Scope) -> str:
        """Return where the notes of ``scope`` are, or what is wrong with them; writes nothing."""
        notes = self.find(scope)
        if notes is None:
            return "none: set notes.folder, or use Memory.notes while the memory is open"
        try:
            size = len(notes.read_file().encode())
            notes.read_history()
        except MemorandaError as error:
            return f"{WRONG} {error}"
        return f"{notes.folder} ({MEMORY_FILE}: {size:,} of {notes.max_memory_size:,} bytes)"

    def at(self, scope: Scope, folder: str | Path) -> SyncedNotes:
        """Return the notes of ``scope`` that are in a folder."""
        records, state = self.records_of(scope), self.open_notes[scope]
        return SyncedNotes(records, Path(folder), settings=self.settings, state=state)

    def _lasting(self, scope: Scope) -> Path | None:
        """Return the folder of the notes of ``scope``; ``None`` for a memory without a file.

        That of the setting ``notes.folder``, with ``{user}`` as the user; where it does not name
        the user, others than the configured one have folders inside. Otherwise
        ``agent.notes/USER`` beside ``agent.db``; of a folder of Chroma, ``notes/USER`` in it, so
        that to copy or to remove it is to copy or to remove all there is. An agent's are in
        ``agents/NAME`` inside.
        """
        chosen, location = self.settings.notes.folder, self.records_of(scope).store.location
        name, file = folder_name(scope.user), file_of(location)
        if chosen is not None:
            folder = Path(chosen.replace(USER, name)).expanduser()
            if USER not in chosen and scope.user != self.settings.user:
                folder = folder / USERS / name
        elif file is None:
            return None
        elif medium(location) == "folder":
            folder = file.expanduser() / INSIDE / name
        else:
            folder = file.expanduser().with_name(f"{file.stem}{FOLDER}") / name
        return folder if scope.agent is None else folder / AGENTS / folder_name(scope.agent)


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

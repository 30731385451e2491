"""Commands of the notes: MEMORY.md and the history."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group, read_words
from memoranda.errors import ConfigError
from memoranda.model.notes import MEMORY_FILE
from memoranda.notes.sync import NotesReport, SyncedNotes
from memoranda.rendering import notes as drawing
from memoranda.rendering.plain import pluralize

NO_FOLDER = (
    "a memory on a server has notes only in a folder that is set: "
    "memoranda config set notes.folder ~/notes"
)


def _open(session: Session, *, writes: bool = False) -> SyncedNotes:
    """Return the notes of the memory that is meant.

    Raises:
        ConfigError: they would be gone when the command ends.
    """
    notes = session.memory(writes=writes).notes
    if not notes.is_lasting:
        raise ConfigError(NO_FOLDER)
    return notes


def _sync(session: Session, notes: SyncedNotes, *, accept_removals: bool = False) -> NotesReport:
    """Read edits of MEMORY.md, and tell a person how many; what is written again, the log tells."""
    report = notes.sync(accept_removals=accept_removals)
    if report.changes:
        session.note(f"read {pluralize(report.changes, 'changed line')} from {MEMORY_FILE}")
    return report


class NotesGroup(CommandGroup):
    """Read MEMORY.md and what you changed in it, and look through the history.

    Examples:
        memoranda notes
        memoranda notes show
        memoranda notes history "Lisbon"
    """

    default = "show"


commands = typer.Typer()
group = make_group(commands, "notes", NotesGroup)


@command(group, "show")
def show(session: Session) -> None:
    """Print MEMORY.md, and where it is.

    Examples:
        memoranda notes
        memoranda notes show --json
    """
    notes = _open(session)
    _sync(session, notes)
    text, path = notes.read_memory(), notes.folder / MEMORY_FILE
    if session.as_json or session.out.is_terminal:
        session.show({"path": path, "text": text}, *drawing.show_markdown(text))
    else:
        sys.stdout.write(text)  # A file gets what the file says.
    session.note(f"from {path}" if text else "nothing is noted yet")
    if notes.is_over(text):
        session.warn("MEMORY.md is too long, and what is left was written by hand")


@command(group, "sync")
def sync(
    session: Session,
    *,
    accept_removals: Annotated[
        bool, Option("--accept-removals", help="Many lines were removed on purpose.")
    ] = False,
) -> None:
    """Read what you changed in MEMORY.md, and write what memory has learned.

    Examples:
        memoranda notes sync
        memoranda notes sync --accept-removals
    """
    report = _sync(session, _open(session, writes=True), accept_removals=accept_removals)
    session.show(report, *drawing.show_report(report))


@command(group, "history")
def history(
    session: Session,
    words: Annotated[
        list[str] | None, Argument(help="A text, or a part of a date; otherwise all.")
    ] = None,
    *,
    limit: options.Limit = 20,
) -> None:
    """Print the entries of the history that have these very words, the newest first.

    Examples:
        memoranda notes history --limit 5
        memoranda notes history "Lisbon"
        memoranda notes history 2026-02
    """
    notes, text = _open(session), read_words(words) if words else None
    found = notes.search(text, limit=limit) if text else notes.history(limit=limit)
    session.show(found, *drawing.show_entries(found, session.view))
    if not found:
        session.note("the history has no such entry")

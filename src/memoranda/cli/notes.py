"""Commands of the notes: MEMORY.md and the history."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group, read_words
from memoranda.errors import ConfigError, InvalidInput, StoreError
from memoranda.model.notes import MEMORY_FILE
from memoranda.notes.sync import NotesReport, SyncedNotes
from memoranda.rendering import notes as drawing
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.serving.existing import require_user
from memoranda.store.locations import medium, place

EDITORS = ("vi", "notepad")
MOST_READ, READ_LENGTH = 3, 120  # of the edits that were read by the way
ACCEPT = "memoranda notes sync --accept-removals"
NO_FOLDER = (
    "a memory on a server has notes only in a folder that is set: "
    "memoranda config set notes.folder ~/notes"
)


def _open(session: Session, *, writes: bool = False) -> SyncedNotes:
    """Return the notes of the memory that is meant.

    Raises:
        ConfigError: they would be gone when the command ends.
    """
    kind = medium(place(session.shared.db, session.settings))
    if kind == "server" and not session.settings.notes.folder:
        raise ConfigError(NO_FOLDER)
    memory = session.memory(writes=writes, all_users=True)
    if not writes and not memory.notes.folder.exists():
        require_user(memory)
    return memory.notes


def _sync(session: Session, notes: SyncedNotes) -> NotesReport:
    """Read edits of MEMORY.md before anything else, and tell a person what was read."""
    report = notes.sync()
    if report.changes:
        done = [line for line in report.lines if line[:1] in drawing.EDITS]
        more = len(done) - MOST_READ
        what = "; ".join(one_line(line, READ_LENGTH) for line in done[:MOST_READ])
        what += f"; and {more} more" if more > 0 else ""
        session.note(f"read {pluralize(report.changes, 'changed line')} from {MEMORY_FILE}: {what}")
    return report


def _warn_of_restored(session: Session, report: NotesReport) -> None:
    lines = pluralize(len(report.restored), "line")
    session.warn(f"{lines} gone at once and written again; if it was meant: {ACCEPT}")


class NotesGroup(CommandGroup):
    """Read and edit MEMORY.md, and look through the history.

    Examples:
        memoranda notes
        memoranda notes edit
        memoranda notes search "Lisbon"
    """

    default = "status"


commands = typer.Typer()
group = make_group(commands, "notes", NotesGroup)


@command(group, "status")
def status(session: Session) -> None:
    """Show where MEMORY.md is and how long, and what was read from it.

    Examples:
        memoranda notes
        memoranda notes status --json
    """
    notes = _open(session)
    report = _sync(session, notes)
    found = {
        "path": notes.folder / MEMORY_FILE,
        "size": len(notes.read_file().encode()),
        "limit": notes.max_memory_size,
        "entries": len(notes.history()),
        "report": report,
    }
    session.show(found, drawing.show_overview(found, report, ACCEPT))
    if report.restored and session.shared.as_json:
        _warn_of_restored(session, report)


@command(group, "show")
def show(
    session: Session,
    *,
    path: Annotated[bool, Option("--path", help="Print its path alone.")] = False,
) -> None:
    """Print MEMORY.md.

    Examples:
        memoranda notes show
        cat $(memoranda notes show --path)
    """
    notes = _open(session)
    file = notes.folder / MEMORY_FILE
    if path:
        session.show({"path": file}, safe_text(str(file)))
        return
    _sync(session, notes)
    text = notes.read_memory()
    if session.shared.as_json or session.out.is_terminal:
        session.show({"path": file, "text": text}, *drawing.show_markdown(text))
    else:
        sys.stdout.write(text)  # A file gets what the file says.
    if not text:
        session.note("nothing is noted yet")


@command(group, "edit")
def edit(session: Session) -> None:
    """Open MEMORY.md in your editor, then read back what you changed.

    A new line is a new fact, a changed line a correction, and one that is gone a forgetting.

    Examples:
        memoranda notes edit
        EDITOR=nano memoranda notes edit
    """
    with session.memory(writes=True):  # Not held open while somebody writes.
        notes = _open(session, writes=True)
        _sync(session, notes)
        file = notes.folder / MEMORY_FILE
        if not file.exists():
            notes.write_memory("# Memory\n")
    _run_editor(file)
    notes = _open(session, writes=True)
    edited = file.read_bytes() if file.exists() else b""
    report = notes.sync()
    asks = report.restored and not session.shared.as_json and sys.stdin.isatty()
    gone = f"{pluralize(len(report.restored), 'line')} gone. Forget what they said?"
    if asks and session.confirm(gone):
        file.write_bytes(edited)
        report = notes.sync(accept_removals=True)
    _show_report(session, report)


def _run_editor(file: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITORS[os.name == "nt"]
    try:
        words = shlex.split(editor, posix=os.name == "posix")
        code = subprocess.call([*words, str(file)])  # noqa: S603 - the user's own editor
    except (ValueError, OSError) as error:
        message = f"the editor {editor!r:.80} cannot be started: {error}; set EDITOR"
        raise InvalidInput(message) from error
    if code:
        message = f"the editor {editor!r:.80} failed with {code}; what it wrote is read by "
        raise StoreError(f"{message}memoranda notes sync")


@command(group, "sync")
def sync(
    session: Session,
    *,
    accept_removals: Annotated[
        bool, Option("--accept-removals", help="Many lines that are gone at once were meant.")
    ] = False,
) -> None:
    """Read what you changed in MEMORY.md, and write what memory has learned.

    Examples:
        memoranda notes sync
        memoranda notes sync --accept-removals
    """
    report = _open(session, writes=True).sync(accept_removals=accept_removals)
    _show_report(session, report)


def _show_report(session: Session, report: NotesReport) -> None:
    session.show(report, *drawing.show_report(report))
    if report.restored:
        _warn_of_restored(session, report)


@command(group, "search")
def search(
    session: Session,
    words: Annotated[list[str], Argument(help="A text, or a part of a date.")],
    *,
    limit: options.Limit = 20,
) -> None:
    """Find the entries of the history that have these very words, the newest first.

    Examples:
        memoranda notes search "Lisbon"
        memoranda notes search 2026-02 --limit 5
    """
    notes = _open(session)
    try:
        _sync(session, notes)
    except StoreError as error:  # The history can be searched all the same.
        session.warn(one_line(str(error)))
    text = read_words(words)
    found = notes.search(text, limit=limit)
    session.show(found, *drawing.show_entries(found, session.view, text))
    if not found:
        session.hint(f"no entry has {one_line(text, 80)!r}")


@command(group, "history")
def history(
    session: Session,
    *,
    limit: options.Limit = 20,
    since: Annotated[str | None, Option(metavar="DATE", help="None before this date.")] = None,
) -> None:
    """Print the entries of the history, the newest first.

    Examples:
        memoranda notes history
        memoranda notes history --since 2026-02-01
    """
    start = session.parse_moment(since, "since")
    found = _open(session).history(since=start, limit=limit)
    session.show(found, *drawing.show_entries(found, session.view))
    if not found:
        session.hint("no entries" if since else "the history has no entries yet")


@command(group, "add")
def add(
    session: Session,
    text: Annotated[list[str], Argument(help="What it says; - reads standard input.")],
) -> None:
    """Add an entry to the history, and to the file of its month.

    Examples:
        memoranda notes add "Chose Lisbon for the offsite"
        memoranda notes add - < day.md
    """
    content = read_words(text)
    notes = _open(session, writes=True)
    entry = notes.append_history_rotated(content)
    file = notes.folder / entry.file
    line = Text("added ").append(session.view.minute(entry.at), "bold")
    session.show(entry, line.append_text(safe_text(f" to {file}", "not bold dim")))

"""Commands of the notes: MEMORY.md and the history, and what git knows of them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.text import Text

from memoranda.cli.command import FAILED, Session, command, make_group, read_argument
from memoranda.errors import ConfigError, InvalidInput, StoreError
from memoranda.memory import Memory
from memoranda.model.notes import MEMORY_FILE
from memoranda.notes import Notes
from memoranda.notes.git import NotesGit
from memoranda.notes.sync import NotesReport
from memoranda.rendering import notes as drawing
from memoranda.rendering.layout import details, safe_text, table
from memoranda.rendering.plain import format_size, one_line, pluralize
from memoranda.store.locations import is_server, place

MOST_READ, READ_LENGTH = 3, 120  # of the edits that were read by the way
EDITORS = ("nano", "vim", "vi", "notepad")
ACCEPT = "memoranda notes sync --accept-removals"
NO_FOLDER = (
    "a memory on a server has notes only in a folder that is set: "
    "memoranda config set notes.folder ~/notes"
)
LIMIT = {"min": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesOverview:
    """The notes in figures.

    Attributes:
        path: of MEMORY.md.
        exists: whether it is there.
        size: its bytes.
        limit: bytes from which it is made smaller.
        entries: of the history.
        changed: when MEMORY.md was last changed.
        git: whether the folder is in a repository.
        report: what the sync just made did.
    """

    path: Path
    exists: bool
    size: int
    limit: int
    entries: int
    changed: datetime | None
    git: bool
    report: NotesReport


@contextmanager
def _open(session: Session, *, writes: bool = False) -> Iterator[Memory]:
    """Open the memory whose notes are meant.

    Raises:
        ConfigError: they would be gone when the command ends.
    """
    if is_server(place(session.shared.db, session.settings)) and not session.settings.notes.folder:
        raise ConfigError(NO_FOLDER)
    with session.memory(writes=writes) as memory:
        yield memory


def _show_overview(session: Session) -> None:
    with _open(session) as memory:
        report = _sync(session, memory)
        notes = memory.notes
        path = notes.folder / MEMORY_FILE
        found = path.stat() if path.exists() else None
        seen = NotesOverview(
            path=path,
            exists=found is not None,
            size=0 if found is None else found.st_size,
            limit=notes.max_memory_size,
            entries=len(notes.history()),
            changed=None if found is None else datetime.fromtimestamp(found.st_mtime, UTC),
            git=NotesGit(notes.folder).is_repository(),
            report=report,
        )
    session.show(seen, details(_figures(seen, session)))
    if report.held and session.shared.as_json:
        _warn_of_held(session, report)


def _figures(seen: NotesOverview, session: Session) -> Iterator[tuple[str, Text | None]]:
    size = Text(f"{format_size(seen.size)} of {format_size(seen.limit)}")
    if seen.size > seen.limit:
        size.append("  too long: what is left was written by hand", "yellow")
    changed = "there is none yet" if seen.changed is None else session.view.minute(seen.changed)
    report, held = seen.report, pluralize(len(seen.report.held), "line")
    gone = Text(f"{held} gone, still believed: {ACCEPT}", "bold yellow")
    yield MEMORY_FILE, safe_text(str(seen.path), "bold")
    yield "size", size
    yield "changed", Text(changed)
    yield "history", Text(pluralize(seen.entries, "entry", "entries"))
    yield "git", Text("in a repository" if seen.git else "in no repository")
    yield "read just now", Text(str(report).removeprefix("notes: ")) if report.lines else None
    yield "held back", gone if report.held else None


def _sync(session: Session, memory: Memory) -> NotesReport:
    """Read edits of MEMORY.md before anything else, and tell a person what was read."""
    report = memory.notes.sync()
    if report.changes:
        done = [line for line in report.lines if line[:1] in drawing.EDITS]
        more = len(done) - MOST_READ
        what = "; ".join(one_line(line, READ_LENGTH) for line in done[:MOST_READ])
        what += f"; and {more} more" if more > 0 else ""
        session.note(f"read {pluralize(report.changes, 'changed line')} from {MEMORY_FILE}: {what}")
    return report


def _warn_of_held(session: Session, report: NotesReport) -> None:
    session.warn(f"{pluralize(len(report.held), 'fact')} held back; if it was meant: {ACCEPT}")


commands = typer.Typer()
notes = make_group(
    commands,
    "notes",
    "Read and edit MEMORY.md, look through the history, go back to what was.",
    examples=(
        "memoranda notes",
        "memoranda notes edit",
        'memoranda notes search "Lisbon"',
        "memoranda notes restore HEAD~1",
    ),
    bare=_show_overview,
)


@command(notes, "show")
def show(session: Session, *, path: bool = False) -> None:
    """Print MEMORY.md.

    Args:
        path: Print its path alone.

    Examples:
        memoranda notes show
        cat $(memoranda notes show --path)
    """
    with _open(session) as memory:
        file = memory.notes.folder / MEMORY_FILE
        if not path:
            _sync(session, memory)
        text = "" if path else memory.notes.read_memory()
    if session.shared.as_json:
        session.show({"path": file} if path else {"path": file, "text": text})
    elif path:
        session.print(safe_text(str(file)))
    elif session.out.is_terminal:
        session.print(*drawing.show_markdown(text))
    else:
        sys.stdout.write(text)  # A file gets what the file says.
    if not text and not path:
        session.note("nothing is noted yet")


@command(notes, "edit")
def edit(session: Session) -> None:
    """Open MEMORY.md in your editor, then read back what you changed.

    A new line is a new fact, a changed line a correction, and one that is gone a forgetting.

    Examples:
        memoranda notes edit
        EDITOR=nano memoranda notes edit
    """
    editor = _find_editor()
    with _open(session, writes=True) as memory:
        _sync(session, memory)
        file = memory.notes.folder / MEMORY_FILE
        if not file.exists():
            memory.notes.write_memory("# Memory\n")
    _run_editor(editor, file)
    with _open(session, writes=True) as memory:
        report = memory.notes.sync()
        asks = report.held and not session.shared.as_json and sys.stdin.isatty()
        gone = f"{pluralize(len(report.held), 'line')} gone. Forget what they said?"
        if asks and session.confirm(gone):
            report = memory.notes.sync(accept_removals=True)
    _show_report(session, report)


def _find_editor() -> list[str]:
    """Return the words of the command that edits.

    Raises:
        InvalidInput: there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        chosen = os.environ.get(name, "").strip()
        if chosen:
            try:
                return shlex.split(chosen, posix=os.name == "posix")
            except ValueError as error:
                message = f"{name}={chosen!r:.80} is no command: {error}"
                raise InvalidInput(message) from error
    found = next(filter(None, map(shutil.which, EDITORS)), None)
    if found is None:
        message = "there is no editor; set EDITOR, such as EDITOR=nano"
        raise InvalidInput(message)
    return [found]


def _run_editor(editor: Sequence[str], file: Path) -> None:
    name = f"the editor {shlex.join(editor)!r:.80}"
    try:
        code = subprocess.call([*editor, str(file)])  # noqa: S603 - the user's own editor
    except OSError as error:
        message = f"{name} cannot be started: {error}; set EDITOR"
        raise InvalidInput(message) from error
    if code:
        message = f"{name} failed with {code}; what it wrote is read by memoranda notes sync"
        raise StoreError(message)


@command(notes, "sync")
def sync(session: Session, *, accept_removals: bool = False) -> None:
    """Read what you changed in MEMORY.md, and write what memory has learned.

    Args:
        accept_removals: Many lines that are gone at once were meant.

    Examples:
        memoranda notes sync
        memoranda notes sync --accept-removals
    """
    with _open(session, writes=True) as memory:
        report = memory.notes.sync(accept_removals=accept_removals)
    _show_report(session, report)


def _show_report(session: Session, report: NotesReport) -> None:
    session.show(report, *drawing.show_report(report))
    if report.held:
        _warn_of_held(session, report)
    if report.over:
        session.note(f"{format_size(report.over)} over the limit, all of it written by hand")


@command(notes, "search", words={"metavar": "WORDS"}, limit=LIMIT)
def search(session: Session, *, words: str, limit: int = 20) -> None:
    """Find the entries of the history that have these very words, the newest first.

    Args:
        words: A text, or a part of a date.
        limit: How many at most.

    Examples:
        memoranda notes search "Lisbon"
        memoranda notes search 2026-02 --limit 5
    """
    with _open(session) as memory:
        try:
            _sync(session, memory)
        except StoreError as error:  # The history can be searched all the same.
            session.warn(one_line(str(error)))
        found = memory.notes.search(words, limit=limit)
    session.show(found, *drawing.show_entries(found, session.view, words))
    if not found and not session.shared.as_json:
        session.note(f"no entry has {one_line(words, 80)!r}")


@command(notes, "history", limit=LIMIT)
def history(session: Session, *, limit: int = 20, since: str | None = None) -> None:
    """Print the entries of the history, the newest first.

    Args:
        limit: How many at most.
        since: None before this date.

    Examples:
        memoranda notes history
        memoranda notes history --since 2026-02-01
    """
    start = session.parse_moment(since, "since")
    with _open(session) as memory:
        found = memory.notes.history(since=start, limit=limit)
    session.show(found, *drawing.show_entries(found, session.view))
    if not found and not session.shared.as_json:
        session.note("no entries" if since else "the history has no entries yet")


@command(notes, "add")
def add(session: Session, *, text: str) -> None:
    """Add an entry to the history, and to the file of its month.

    Args:
        text: What the entry says; - reads standard input.

    Examples:
        memoranda notes add "Chose Lisbon for the offsite"
        memoranda notes add - < day.md
    """
    content = read_argument(text)
    with _open(session, writes=True) as memory:
        entry = memory.notes.append_history_rotated(content)
        file = memory.notes.folder / entry.file
    line = Text("added ").append(session.view.minute(entry.at), "bold")
    session.show(entry, line.append_text(safe_text(f" to {file}", "not bold dim")))


@command(notes, "log", limit=LIMIT)
def log(session: Session, *, limit: int = 20) -> None:
    """List the commits that changed the notes, the newest first.

    Args:
        limit: How many at most.

    Examples:
        memoranda notes log
        memoranda notes log --limit 50
    """
    with _open(session) as memory:
        found = NotesGit(memory.notes.folder).log(limit)
    empty = "no commit has changed the notes yet"
    session.show(found, table(found, drawing.COMMITS, session.view, empty=empty))


@command(notes, "diff", revision={"argument": True, "metavar": "[REV]"})
def diff(session: Session, *, revision: str | None = None) -> None:
    """Show how the notes differ from a commit.

    Args:
        revision: A commit; otherwise the last one.

    Examples:
        memoranda notes diff
        memoranda notes diff HEAD~3
    """
    with _open(session) as memory:
        _sync(session, memory)
        text = NotesGit(memory.notes.folder).diff(revision)
    if session.shared.as_json or text:
        session.show({"revision": revision, "diff": text}, *drawing.show_difference(text))
    else:
        session.note("the notes are as they were committed")


@command(notes, "restore", revision={"metavar": "REV"})
def restore(session: Session, *, revision: str, yes: bool = False) -> None:
    """Bring back MEMORY.md of a commit: show what changes, ask, and read it as an edit.

    Args:
        revision: A commit, such as HEAD~1.
        yes: Do not ask.

    Examples:
        memoranda notes restore HEAD~1
        memoranda notes restore 1a2b3c4 --yes
    """
    with _open(session, writes=True) as memory:
        _sync(session, memory)
        repository = NotesGit(memory.notes.folder)
        then, change = repository.memory(revision), repository.diff(revision, undo=True)
        if not change:
            session.show(NotesReport(), Text("MEMORY.md is as it was there"))
            return
        if not yes:
            for line in drawing.show_difference(change):
                session.err.print(line, soft_wrap=True)
            if not session.confirm("Bring this back?"):
                session.note("nothing was changed")
                raise typer.Exit(FAILED)
        # As a person's editor would: what comes of it is then read as an edit.
        Notes(memory.notes.folder).write_memory(then)
        report = memory.notes.sync(accept_removals=True)
    _show_report(session, report)


@command(notes, "commit", message={"flags": ("--message", "-m")})
def commit(session: Session, *, message: str = "Keep the notes as they are") -> None:
    """Commit the notes to git as they are, and nothing else.

    Args:
        message: What it says.

    Examples:
        memoranda notes commit
        memoranda notes commit -m "After the offsite"
    """
    with _open(session, writes=True) as memory:
        _sync(session, memory)
        made = NotesGit(memory.notes.folder).commit(message)
    line = Text("nothing to commit: no note was changed since the last one")
    if made is not None:
        line = Text("committed ").append(made[: drawing.SHORT], "bold")
    session.show({"commit": made}, line)

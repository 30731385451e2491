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
from typing import Annotated

import typer
from rich.prompt import Confirm
from rich.text import Text

from memoranda.cli import notes_drawing as drawing
from memoranda.cli import tables
from memoranda.cli.command import FAILED, Session, command, group
from memoranda.cli.output import counted, minute, one_line, size, styled
from memoranda.errors import ConfigError, InvalidInput, StoreError
from memoranda.memory import Memory
from memoranda.model.notes import MEMORY_FILE
from memoranda.notes import Notes
from memoranda.notes.git import NotesGit, compared
from memoranda.notes.sync import NotesReport
from memoranda.store.locations import is_server, place

PANEL = "Look"
LISTED = 20
STDIN = "-"
MOST_READ, READ_LENGTH = 3, 120  # of the edits that were read by the way
EDITORS = ("nano", "vim", "vi", "notepad")
HELD = "memoranda notes sync --accept-removals"
SERVED = (
    "a memory on a server has notes only in a folder that is set: "
    "memoranda config set notes.folder ~/notes"
)
EXAMPLES = (
    "memoranda notes",
    "memoranda notes edit",
    'memoranda notes search "Lisbon"',
    "memoranda notes restore HEAD~1",
)

commands = typer.Typer()
notes = typer.Typer(
    help="Read and edit MEMORY.md, look through the history, go back to what was.",
    epilog="\n\n".join(["Examples:", *(f"  {each}" for each in EXAMPLES)]),
)
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The notes in figures.

    Attributes:
        path: of MEMORY.md.
        exists: whether it is there.
        size: its bytes.
        limit: bytes from which it is made smaller.
        entries: of the history.
        changed: when MEMORY.md was last changed.
        git: whether the folder is in a repository.
        report: what the look just taken did.
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
def _memory(session: Session, *, writes: bool = False) -> Iterator[Memory]:
    """Open the memory whose notes are meant.

    Raises:
        ConfigError: they would be gone when the command ends.
    """
    if is_server(place(session.shared.db, session.settings)) and not session.settings.notes.folder:
        raise ConfigError(SERVED)
    with session.memory(writes=writes) as memory:
        yield memory


def _overview(session: Session) -> None:
    with _memory(session) as memory:
        report = _in_step(session, memory)
        kept = memory.notes
        path = kept.folder / MEMORY_FILE
        found = path.stat() if path.exists() else None
        seen = Overview(
            path=path,
            exists=found is not None,
            size=0 if found is None else found.st_size,
            limit=kept.max_memory_size,
            entries=len(kept.history()),
            changed=None if found is None else datetime.fromtimestamp(found.st_mtime, UTC),
            git=NotesGit(kept.folder).is_repository(),
            report=report,
        )
    session.show(seen, tables.grid(_rows(seen, session)))
    _say_held(session, report)


def _rows(seen: Overview, session: Session) -> list[tuple[str, Text]]:
    share = seen.size / seen.limit
    about = Text(f"{size(seen.size)} of {size(seen.limit)}")
    if share > 1:
        about.append("  too long: what is left was written by hand", "yellow")
    changed = (
        "there is none yet" if seen.changed is None else minute(seen.changed, session.settings)
    )
    rows = [
        (MEMORY_FILE, styled(str(seen.path), "bold")),
        ("size", about),
        ("changed", Text(changed)),
        ("history", Text(counted(seen.entries, "entry", "entries"))),
        ("git", Text("in a repository" if seen.git else "in no repository")),
    ]
    if seen.report.lines:
        rows.append(("read just now", Text(str(seen.report).removeprefix("notes: "))))
    if seen.report.held:
        held = counted(len(seen.report.held), "line")
        rows.append(("held back", Text(f"{held} gone, still believed: {HELD}", "bold yellow")))
    return rows


def _in_step(session: Session, memory: Memory) -> NotesReport:
    """Read edits of MEMORY.md before anything else, and tell a person what was read."""
    report = memory.notes.sync()
    if report.changes:
        done = [line for line in report.lines if line[:1] in drawing.READ]
        more = len(done) - MOST_READ
        told = "; ".join(one_line(line, READ_LENGTH) for line in done[:MOST_READ])
        told += f"; and {more} more" if more > 0 else ""
        session.note(f"read {counted(report.changes, 'changed line')} from {MEMORY_FILE}: {told}")
    return report


def _say_held(session: Session, report: NotesReport) -> None:
    if report.held and session.shared.as_json:
        session.warn(f"{counted(len(report.held), 'fact')} held back; if it was meant: {HELD}")


group(notes, bare=_overview)


@command(
    notes,
    "show",
    examples=("memoranda notes show", "cat $(memoranda notes show --path)"),
)
def show(
    session: Session,
    *,
    path: Annotated[bool, typer.Option("--path", help="Print its path alone.")] = False,
) -> None:
    """Print MEMORY.md."""
    with _memory(session) as memory:
        file = memory.notes.folder / MEMORY_FILE
        if not path:
            _in_step(session, memory)
        text = "" if path else memory.notes.read_memory()
    if session.shared.as_json:
        session.show({"path": file} if path else {"path": file, "text": text})
    elif path:
        session.out.print(styled(str(file)), soft_wrap=True)
    elif session.out.is_terminal:
        session.show(None, *drawing.markdown(text))
    else:
        sys.stdout.write(text)  # A file gets what the file says.
    if not text and not path:
        session.note("nothing is noted yet")


@command(notes, "edit", examples=("memoranda notes edit", "EDITOR=nano memoranda notes edit"))
def edit(session: Session) -> None:
    """Open MEMORY.md in your editor, then read back what you changed.

    A new line is a new fact, a changed line a correction, and one that is gone a forgetting.
    """
    editor = _editor()
    with _memory(session, writes=True) as memory:
        _in_step(session, memory)
        file = memory.notes.folder / MEMORY_FILE
        if not file.exists():
            memory.notes.write_memory("# Memory\n")
    _edited(editor, file)
    with _memory(session, writes=True) as memory:
        report = memory.notes.sync()
        if report.held and _meant(session, report):
            report = memory.notes.sync(accept_removals=True)
    _show_report(session, report)


def _editor() -> list[str]:
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


def _edited(editor: Sequence[str], file: Path) -> None:
    try:
        code = subprocess.call([*editor, str(file)])  # noqa: S603 - the user's own editor
    except OSError as error:
        message = f"the editor {shlex.join(editor)!r:.80} cannot be started: {error}; set EDITOR"
        raise InvalidInput(message) from error
    if code:
        message = (
            f"the editor {shlex.join(editor)!r:.80} failed with {code}; what it wrote is read "
            f"by memoranda notes sync"
        )
        raise StoreError(message)


def _meant(session: Session, report: NotesReport) -> bool:
    if session.shared.as_json or not sys.stdin.isatty():
        return False
    return _agreed(session, f"{counted(len(report.held), 'line')} gone. Forget what they said?")


@command(
    notes,
    "sync",
    examples=("memoranda notes sync", "memoranda notes sync --accept-removals"),
)
def sync(
    session: Session,
    *,
    accept_removals: Annotated[
        bool,
        typer.Option("--accept-removals", help="Many lines that are gone at once were meant."),
    ] = False,
) -> None:
    """Read what you changed in MEMORY.md, and write what memory has learned."""
    with _memory(session, writes=True) as memory:
        report = memory.notes.sync(accept_removals=accept_removals)
    _show_report(session, report)


def _show_report(session: Session, report: NotesReport) -> None:
    session.show(report, *drawing.report(report))
    if report.held:
        session.warn(f"{counted(len(report.held), 'fact')} held back; if it was meant: {HELD}")
    if report.over:
        session.note(f"{size(report.over)} over the limit, all of it written by hand")


@command(
    notes,
    "search",
    examples=('memoranda notes search "Lisbon"', "memoranda notes search 2026-02 --limit 5"),
)
def search(
    session: Session,
    *,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="A text, or a part of a date.")],
    limit: Limit = LISTED,
) -> None:
    """Find the entries of the history that have these very words, the newest first."""
    with _memory(session) as memory:
        try:
            _in_step(session, memory)
        except StoreError as error:  # The history can be searched all the same.
            session.warn(one_line(str(error)))
        found = memory.notes.search(words, limit=limit)
    session.show(found, *drawing.entries(found, session.settings, words))
    if not found and not session.shared.as_json:
        session.note(f"no entry has {one_line(words, 80)!r}")


@command(
    notes,
    "history",
    examples=("memoranda notes history", "memoranda notes history --since 2026-02-01"),
)
def history(
    session: Session,
    *,
    limit: Limit = LISTED,
    since: Annotated[str | None, typer.Option(help="None before this date.")] = None,
) -> None:
    """Print the entries of the history, the newest first."""
    start = session.moment(since, "since")
    with _memory(session) as memory:
        found = memory.notes.history(since=start, limit=limit)
    session.show(found, *drawing.entries(found, session.settings))
    if not found and not session.shared.as_json:
        session.note("no entries" if since else "the history has no entries yet")


@command(
    notes,
    "add",
    examples=(
        'memoranda notes add "Chose Lisbon for the offsite"',
        "memoranda notes add - < day.md",
    ),
)
def add(
    session: Session,
    *,
    text: Annotated[str, typer.Argument(help="What the entry says; - reads standard input.")],
) -> None:
    """Add an entry to the history, and to the file of its month."""
    said = sys.stdin.read().removesuffix("\n") if text == STDIN else text
    with _memory(session, writes=True) as memory:
        entry = memory.notes.append_history_rotated(said)
        file = memory.notes.folder / entry.file
    told = Text("added ").append(minute(entry.at, session.settings), "bold")
    session.show(entry, told.append_text(styled(f" to {file}", "not bold dim")))


@command(notes, "log", examples=("memoranda notes log", "memoranda notes log --limit 50"))
def log(session: Session, *, limit: Limit = LISTED) -> None:
    """List the commits that changed the notes, the newest first."""
    with _memory(session) as memory:
        found = NotesGit(memory.notes.folder).log(limit)
    session.show(found, drawing.commits(found, session.settings))


@command(notes, "diff", examples=("memoranda notes diff", "memoranda notes diff HEAD~3"))
def diff(
    session: Session,
    *,
    revision: Annotated[
        str | None,
        typer.Argument(
            metavar="[REV]", help="A commit; otherwise the last one.", show_default=False
        ),
    ] = None,
) -> None:
    """Show how the notes differ from a commit."""
    with _memory(session) as memory:
        _in_step(session, memory)
        text = NotesGit(memory.notes.folder).diff(revision)
    if session.shared.as_json or text:
        session.show({"revision": revision, "diff": text}, *drawing.difference(text))
    else:
        session.note("the notes are as they were committed")


@command(
    notes,
    "restore",
    examples=("memoranda notes restore HEAD~1", "memoranda notes restore 1a2b3c4 --yes"),
)
def restore(
    session: Session,
    *,
    revision: Annotated[str, typer.Argument(metavar="REV", help="A commit, such as HEAD~1.")],
    yes: Yes = False,
) -> None:
    """Bring back MEMORY.md of a commit: show what changes, ask, and read it as an edit."""
    with _memory(session, writes=True) as memory:
        _in_step(session, memory)
        then = NotesGit(memory.notes.folder).memory(revision)
        sides = (f"{MEMORY_FILE} now", f"{MEMORY_FILE} in {revision}")
        change = compared(memory.notes.read_memory(), then, sides)
        if not change:
            session.show(NotesReport(), Text("MEMORY.md is as it was there"))
            return
        if not yes:
            for line in drawing.difference(change):
                session.err.print(line, soft_wrap=True)
            if not _agreed(session, "Bring this back?"):
                session.note("nothing was changed")
                raise typer.Exit(FAILED)
        # As a person's editor would: what comes of it is then read as an edit.
        Notes(memory.notes.folder).write_memory(then)
        report = memory.notes.sync(accept_removals=True)
    _show_report(session, report)


@command(
    notes,
    "commit",
    examples=("memoranda notes commit", 'memoranda notes commit -m "After the offsite"'),
)
def commit(
    session: Session,
    *,
    message: Annotated[
        str, typer.Option("--message", "-m", help="What it says.")
    ] = "Keep the notes as they are",
) -> None:
    """Commit the notes to git as they are, and nothing else."""
    with _memory(session, writes=True) as memory:
        _in_step(session, memory)
        made = NotesGit(memory.notes.folder).commit(message)
    told = Text("nothing to commit: no note was changed since the last one")
    if made is not None:
        told = Text("committed ").append(made[: drawing.SHORT], "bold")
    session.show({"commit": made}, told)


commands.add_typer(notes, name="notes", rich_help_panel=PANEL)


def _agreed(session: Session, question: str) -> bool:
    try:
        return Confirm.ask(question, console=session.err, default=False)
    except EOFError:
        return False

"""Commands that move memories: import, export, copy and backup."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli.command import Session, command
from memoranda.errors import EmbeddingError
from memoranda.memory import Memory
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import pluralize
from memoranda.serving import existing
from memoranda.store.locations import place
from memoranda.transfer.sources import FileFormat, PortingReport, import_received

# What stands for standard input or output in the place of a file.
STREAM = "-"
# What is moved, and of how many files an import tells it by themselves.
MOVED = ("records", "messages", "conversations")
MOST_FILES = 20

commands = typer.Typer()


@command(commands, "import")
def import_(
    session: Session,
    path: Annotated[Path, Argument(help="The file or folder; - reads standard input.")],
    *,
    format: Annotated[
        str | None, Option(help=f"{', '.join(FileFormat)}; recognised if not given.")
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Refuse all where a line or file cannot be read.")
    ] = False,
) -> None:
    """Read a file of memoranda, or transcripts, exports and memories of other programs.

    Of a folder or a ZIP archive, each file is judged by itself. A line or file that cannot be read
    is named, counted and passed over. To import the same file twice adds nothing the second time;
    of one that has grown, the rest.

    Examples:
        memoranda import chat.json
        memoranda import ~/.claude/projects
        memoranda import chatgpt-export.zip
        memoranda import ~/Downloads --strict
        memoranda import ~/.claude/projects/trip/memory --format memory-md
        memoranda export - | ssh server memoranda import -
    """
    memory = session.memory(writes=True)
    with session.progress("reading") as progress:
        read = partial(memory.import_, format=format, strict=strict, progress=progress)
        report = _import_input(read) if str(path) == STREAM else read(path)
    _embed(session, memory)
    for line in report.left_out:
        session.note(f"left out: {line}")
    if report.conversations:
        session.note("memoranda maintain turns conversations into facts")
    files = report.files if 1 < len(report.files) <= MOST_FILES else ()
    told = [f"{each.path}: {_amount(each.moved)} ({each.format})" for each in files]
    told.append(
        f"imported {_amount(_moved(report))}, for {', '.join(report.users)} ({report.format})"
    )
    session.show(report, *map(safe_text, told))


def _import_input(read: Callable[[Path], PortingReport]) -> PortingReport:
    """Import what comes over standard input, named by its digest."""
    content = sys.stdin.buffer.read()
    return import_received(content, f"stdin-{sha256(content).hexdigest()[:12]}", read)


def _moved(*reports: PortingReport) -> Counter[str]:
    """Return how much was moved in all, by its names in the reports."""
    names = (*MOVED, "skipped")
    return Counter({name: sum(getattr(each, name) for each in reports) for name in names})


def _amount(moved: Mapping[str, int]) -> str:
    """Return in words what was moved, and what was there."""
    told = [pluralize(moved[name], name[:-1]) for name in MOVED if moved[name]]
    there = moved["skipped"]
    more = f"; {there:,} {'was' if there == 1 else 'were'} there already" if there else ""
    return f"{', '.join(told) or 'nothing'}{more}"


def _embed(session: Session, memory: Memory) -> None:
    """Make the vectors of what came; where that fails, all is stored nevertheless."""
    try:
        with session.progress("embedding") as progress:
            memory.embed_pending(progress)
    except EmbeddingError as error:
        session.warn(f"all is stored, but has no vectors yet: {error}")


@command(commands, "export")
def export(
    session: Session,
    path: Annotated[Path, Argument(help="The file to make; - writes to standard output.")],
    *,
    conversation: Annotated[str | None, Option(help="Only this one, in JSON Lines.")] = None,
    format: Annotated[
        str | None, Option(help="mif: what is known, as other memories read.")
    ] = None,
) -> None:
    """Write the user's whole memory, or one conversation, to a JSON Lines file.

    With --format mif, what is known goes into a document of the Memory Interchange Format 2.0.

    Examples:
        memoranda export ana.jsonl --user ana
        memoranda export ana.mif.json --format mif
        memoranda export trip.jsonl --conversation trip
        memoranda export - | gzip > memory.jsonl.gz
    """
    streams = str(path) == STREAM
    to = sys.stdout.buffer if streams else path
    report = session.memory().export(to, conversation=conversation, format=format)
    session.warn(*report.left_out)
    if streams:  # Nothing else stands there.
        session.note(f"exported {_amount(_moved(report))}")
    else:
        session.show(report, safe_text(f"exported {_amount(_moved(report))} to {path}"))


@command(commands, "copy")
def copy(
    session: Session,
    source: Annotated[str, Argument(metavar="FROM", help="Where they are: a place as for --db.")],
    target: Annotated[str, Argument(metavar="TO", help="Where they are to be; made if need be.")],
) -> None:
    """Copy users with all they have to another store.

    Every user, or the one that --user names: an export that is imported. What is there already
    stays as it is, so a copy that was cut short goes on. Vectors are made anew.

    Examples:
        memoranda copy agent.db postgresql://ana@db.example/memory
        memoranda copy postgresql://ana@db.example/memory agent.db --user ana
        memoranda copy agent.db chroma:///srv/memory --json
    """
    existing.require_place(place(source, session.settings))
    users = [session.user] if "user" in session.meta else None
    with session.progress("copying") as progress:
        reports = session.memory(source).copy_to(target, users=users, progress=progress)
    _embed(session, session.memory(target))
    session.warn(*(line for each in reports for line in each.left_out))
    shown = safe_text(f"copied {_amount(_moved(*reports))}, for {pluralize(len(reports), 'user')}")
    session.show({"users": reports}, shown)


@command(commands, "backup")
def backup(
    session: Session,
    path: Annotated[Path, Argument(help="The file to make; on Chroma, the folder.")],
) -> None:
    """Copy the whole store, while others go on using it; to restore it, put the copy in its place.

    The Markdown notes are files of their own, and not in it.

    Examples:
        memoranda backup memory-2025-03-31.db
        memoranda backup memory-2025-03-31 --db chroma:///srv/memory
    """
    memory = session.memory(all_users=True)
    memory.backup(path)
    session.show({"path": path}, safe_text(f"backed up to {path}"))
    chosen, beside = session.settings.notes.folder, memory.notes.folder.parent
    if chosen or beside.exists():
        session.note(f"the notes are files, and not in it: copy {chosen or beside}, too")

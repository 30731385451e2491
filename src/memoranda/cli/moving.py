"""Commands that move whole memories: import, export, backup."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from memoranda.cli.command import Session, command
from memoranda.cli.output import counted, progress_bar, size, styled
from memoranda.errors import EmbeddingError
from memoranda.memory import Memory
from memoranda.transfer.json_files import FORMATS, MEMORY_MD

PANEL = "Move"

commands = typer.Typer()


@command(
    commands,
    "import",
    panel=PANEL,
    examples=(
        "memoranda import chat.json",
        "memoranda import locomo10.json --format locomo --db locomo.db",
        "memoranda import ~/.claude/projects",
        "memoranda import chatgpt-export.zip",
        "memoranda import ~/.claude/projects/trip/memory --format memory-md",
    ),
)
def import_(
    session: Session,
    *,
    path: Annotated[Path, typer.Argument(help="The file or folder.", show_default=False)],
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}; recognised if not given."),
    ] = None,
) -> None:
    """Read a file of memoranda, or transcripts, exports and memories of other programs.

    To import the same file twice adds nothing the second time; of one that has grown, the rest.
    """
    with session.memory(writes=True) as memory:
        with progress_bar("reading") as progress:
            report = memory.import_(path, format, progress=progress)
        embedded = _embed(session, memory)
    told = [counted(report.records, "record"), counted(report.messages, "message")]
    if report.skipped:
        told.append(f"{report.skipped:,} were there already")
    if embedded:
        told.append(f"{embedded:,} given vectors")
    for line in report.left_out:
        if report.format == MEMORY_MD:
            session.warn(line)
        else:  # What is no talk belongs to every transcript.
            session.note(f"left out: {line}")
    whose = ", ".join(report.users[:5]) + (", …" if len(report.users) > 5 else "")  # noqa: PLR2004 - as many names as fit a line
    session.show(
        {**_fields(report), "embedded": embedded},
        styled(f"imported {', '.join(told)}, for {whose} ({report.format})"),
    )


def _embed(session: Session, memory: Memory) -> int:
    try:
        with progress_bar("embedding") as progress:
            return memory.embed_pending(progress)
    except EmbeddingError as error:
        session.warn(f"all is stored, but has no vectors yet: {error}")
        return 0


def _fields(report: object) -> dict[str, object]:
    if not dataclasses.is_dataclass(report):  # pragma: no cover - every report is one
        raise TypeError(report)
    return {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}


@command(
    commands,
    "export",
    panel=PANEL,
    examples=(
        "memoranda export ana.jsonl --user ana",
        "memoranda export trip.jsonl --conversation trip",
    ),
)
def export(
    session: Session,
    *,
    path: Annotated[Path, typer.Argument(help="The file to make.", show_default=False)],
    conversation: Annotated[
        str | None, typer.Option(help="Only this one, as a session file.", show_default=False)
    ] = None,
) -> None:
    """Write the user's whole memory, or one conversation, to a JSON Lines file."""
    with session.memory() as memory:
        report = memory.export(path, conversation=conversation)
    session.show(
        report,
        styled(
            f"exported {counted(report.records, 'record')} and "
            f"{counted(report.messages, 'message')} to {path}"
        ),
    )


@command(
    commands,
    "backup",
    panel=PANEL,
    examples=(
        "memoranda backup memory-2025-03-31.db",
        "memoranda backup memory-2025-03-31 --db chroma:///srv/memory",
    ),
)
def backup(
    session: Session,
    *,
    path: Annotated[
        Path,
        typer.Argument(help="The file to make; on Chroma, the folder.", show_default=False),
    ],
) -> None:
    """Copy the whole store, while others go on using it."""
    with session.memory() as memory:
        memory.backup(path)
    files = path.rglob("*") if path.is_dir() else [path]
    amount = sum(each.stat().st_size for each in files if each.is_file())
    session.show({"path": path, "size": amount}, styled(f"backed up to {path} ({size(amount)})"))

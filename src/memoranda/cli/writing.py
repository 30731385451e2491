"""Commands that change what is remembered: remember, correct, confirm, forget."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.prompt import Confirm
from rich.text import Text

from memoranda.cli import tables
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.output import counted, styled
from memoranda.errors import InvalidInput
from memoranda.memory import unpurged
from memoranda.model.models import ForgetReceipt

PANEL = "Remember"
STDIN = "-"

commands = typer.Typer()
Id = Annotated[str, typer.Argument(metavar="ID", help="The record, such as fact_01JD….")]


@command(
    commands,
    "remember",
    panel=PANEL,
    examples=(
        'memoranda remember "Ana is vegetarian" --tag diet',
        'memoranda remember "We met in Lisbon" --kind episode --event-time 2025-03-31',
        "memoranda remember - < note.txt",
    ),
)
def remember(
    session: Session,
    *,
    text: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    kind: Annotated[
        str, typer.Option(help="fact, episode (or conversation), context or reflection.")
    ] = "fact",
    tag: Annotated[
        list[str] | None, typer.Option(help="A label to filter by; repeat for more.")
    ] = None,
    session_id: Annotated[
        str | None, typer.Option("--session", help="The conversation it belongs to.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    event_time: Annotated[
        str | None, typer.Option(help="When it happened: 2025-03-31 or 2025-03-31T18:30.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="A JSON object to keep with it.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="How far it is believed, 0 to 1.")] = 1.0,
) -> None:
    """Store a fact, or something that was said."""
    content = sys.stdin.read().removesuffix("\n") if text == STDIN else text
    attached = _object(metadata)
    happened = session.moment(event_time, "event-time")
    with session.memory(writes=True) as memory:
        record = memory.remember(
            content,
            kind=kind,
            tags=tag or (),
            metadata=attached,
            event_time=happened,
            session=session_id,
            role=role,
            confidence=confidence,
        )
    session.show(record, Text("remembered ").append(record.id, "bold"))


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        message = f"metadata={text!r:.80} is no JSON: {error}"
        raise InvalidInput(message) from error
    if not isinstance(value, dict):
        message = f'metadata={text!r:.80} must be a JSON object, such as {{"place": "Lisbon"}}'
        raise InvalidInput(message)
    return value


@command(
    commands,
    "correct",
    panel=PANEL,
    examples=('memoranda correct fact_01JD… "Ana is vegan since March"',),
)
def correct(
    session: Session,
    *,
    id: Id,
    text: Annotated[str, typer.Argument(help="What it should say.")],
) -> None:
    """Replace what a record says; the old one is kept."""
    with session.memory() as memory:
        record = memory.correct(id, text)
    session.show(record, Text("corrected: ").append(f"{record.id} replaces {id}", "bold"))


@command(commands, "confirm", panel=PANEL, examples=("memoranda confirm fact_01JD…",))
def confirm(session: Session, *, id: Id) -> None:
    """Believe a record fully, for ever."""
    with session.memory() as memory:
        record = memory.confirm(id)
    session.show(record, Text("confirmed ").append(record.id, "bold"))


@command(
    commands,
    "forget",
    panel=PANEL,
    examples=("memoranda forget fact_01JD…", "memoranda forget fact_01JD… --erase --yes"),
)
def forget(
    session: Session,
    *,
    id: Id,
    erase: Annotated[
        bool, typer.Option("--erase", help="Remove the text for good, wherever it is kept.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Stop believing a record, or erase every trace of it."""
    with session.memory() as memory:
        if erase and not yes and sys.stdin.isatty():
            found = memory.get(id)
            if found is not None:
                session.err.print(tables.record(found, session.settings))
            if not Confirm.ask("Erase this for good?", console=session.err, default=False):
                session.note("nothing was erased")
                raise typer.Exit(FAILED)
        receipt = memory.forget(id, erase=erase)
        left = unpurged(memory)
    if not erase:
        session.show(receipt, styled(f"forgotten {id}; history and as-of still know it"))
        return
    session.show(receipt, styled(", ".join(_gone(receipt))))
    if not receipt.purged:
        session.warn(left)


def _gone(receipt: ForgetReceipt) -> list[str]:
    """Return what an erasure removed, part by part."""
    parts = [f"erased {receipt.id}"]
    if receipt.versions:
        parts.append(counted(len(receipt.versions), "former version"))
    if receipt.copies:
        parts.append(counted(len(receipt.copies), "exact copy", "exact copies"))
    if receipt.derived:
        parts.append(f"{counted(len(receipt.derived), 'record')} derived from it")
    if receipt.messages:
        parts.append(counted(receipt.messages, "message"))
    if receipt.notes:
        parts.append(f"{counted(receipt.notes, 'place')} in the notes")
    return parts

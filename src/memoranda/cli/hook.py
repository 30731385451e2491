"""Commands that other programs run at their events: they save, and never stand in the way.

A program may take exit code 2 of a hook as the wish to stop what it does, and read its standard
output as orders. So nothing here exits with 2, and what is said goes to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memoranda.cli.command import FAILED, Session, command, foreground, group
from memoranda.cli.output import counted, styled
from memoranda.errors import InvalidInput, NotFound
from memoranda.memory import Memory
from memoranda.transfer.json_files import CLAUDE_CODE

PANEL = "Move"
BLOCKING = 2
"""The exit code by which a hook of Claude Code blocks, and that of a wrong command line."""
FIELDS = ("session_id", "transcript_path")


class NeverBlocking(TyperGroup):
    """Commands that exit with 1 where others exit with 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments that stand before the command."""
        with _not_blocking():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of the command, and run it."""
        with _not_blocking():
            return super().invoke(ctx)


@contextmanager
def _not_blocking() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if getattr(error, "exit_code", None) == BLOCKING:
            vars(error)["exit_code"] = FAILED
        raise


commands = typer.Typer()
hook = typer.Typer(
    cls=NeverBlocking, help="Save sessions of other programs when they tell of them."
)
commands.add_typer(hook, name="hook", rich_help_panel=PANEL)
group(hook)


@command(
    hook,
    CLAUDE_CODE,
    examples=(
        "memoranda hook claude-code < event.json",
        "memoranda hook claude-code --user ana --learn",
    ),
)
def claude_code(
    session: Session,
    *,
    learn: Annotated[
        bool, typer.Option("--learn", help="Draw facts from the session now; takes longer.")
    ] = False,
) -> None:
    """Save a session of Claude Code. Reads the event of a hook from standard input.

    For SessionEnd, Stop and PreCompact. Only what is new since the last time is added.
    """
    event = _event(sys.stdin.read())
    path = Path(event["transcript_path"]).expanduser()
    if not path.is_file() or not path.stat().st_size:
        # A session in which nothing was said has none.
        session.err.print(styled(f"memoranda: nothing to save, {path} is not there or empty"))
        return
    with _memory(session) as memory:
        report = memory.import_(path, CLAUDE_CODE)
        learned = _learned(memory, event["session_id"]) if learn else 0
    told = [f"saved {counted(report.messages, 'new message')} of session {event['session_id']}"]
    if learn:
        told.append(f"learned {counted(learned, 'fact')}")
    session.err.print(styled(f"memoranda: {', '.join(told)}"), soft_wrap=True)
    if session.shared.as_json:
        session.show(report)


def _event(text: str) -> dict[str, str]:
    """Return the fields of an event that are needed.

    Raises:
        InvalidInput: it is no event of a hook.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"standard input is no event of a hook: not valid JSON ({error}): {text!r:.80}"
        raise InvalidInput(message) from error
    fields = value if isinstance(value, dict) else {}
    found = {name: each for name in FIELDS if isinstance(each := fields.get(name), str) and each}
    if len(found) < len(FIELDS):
        message = (
            f"standard input is no event of a hook: expected an object with "
            f"{' and '.join(FIELDS)}, got {text.strip()!r:.80}"
        )
        raise InvalidInput(message)
    return found


@contextmanager
def _memory(session: Session) -> Iterator[Memory]:
    """Open the memory without what would take its time before the command can end."""
    settings = foreground(session.settings)
    later = settings.consolidation.model_copy(update={"automatic": False})
    quick = settings.model_copy(update={"consolidation": later})
    with Memory(session.shared.db, user=session.user, settings=quick) as memory:
        yield memory


def _learned(memory: Memory, session: str) -> int:
    try:
        return memory.consolidate(session).count
    except NotFound:  # Nothing was said in it.
        return 0

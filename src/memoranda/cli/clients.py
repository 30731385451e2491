"""Commands for other programs: what puts memoranda into their settings, and what they then call.

A program may take exit code 2 of a hook as the wish to stop what it does. So no hook exits with 2,
and what it says to a person goes to standard error; standard output is what the model gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

import typer
from typer import Argument

from memoranda.cli.command import CommandGroup, Session, command, make_group, read_input, write_json
from memoranda.cli.options import DryRun, Yes
from memoranda.errors import InvalidInput
from memoranda.integrations.clients import clients, plan_install
from memoranda.integrations.hooks import Event, answer_event, find_transcript, parse_event
from memoranda.memory import Memory
from memoranda.model.checks import refuse_unknown
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import pluralize
from memoranda.store.locations import place
from memoranda.transfer.sources import FileFormat

ClientName = Annotated[str, Argument(metavar="CLIENT", help=f"{', '.join(clients())}.")]

commands = typer.Typer()


class HookGroup(CommandGroup):
    """Save sessions of other programs, and tell them what is known; called by their hooks."""


hook = make_group(commands, "hook", HookGroup)


@command(commands, "install")
def install(
    session: Session, client: ClientName, *, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Put memoranda into the settings of Claude Code, Cursor, VS Code and others.

    As an MCP server and, where the program has them, as hooks. Shows first what changes in which
    file; what else stands there stays as it is. With --user and --db, the program uses this memory;
    otherwise that of your settings.

    Examples:
        memoranda install claude-code
        memoranda install cursor --user ana --dry-run
    """
    options = []
    if "user" in session.meta:
        options += ["--user", session.user]
    if session.db is not None:
        location = place(session.db, session.settings)
        if "://" in location and urlsplit(location).password:
            message = "a password would stand in the settings of another program"
            raise InvalidInput(f"{message}; use memoranda config set location, or PGPASSWORD")
        options += ["--db", location]
    _edit(session, client, options, dry_run=dry_run, yes=yes)


@command(commands, "uninstall")
def uninstall(
    session: Session, client: ClientName, *, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Take memoranda out of the settings of a program; nothing that is remembered is lost.

    Examples:
        memoranda uninstall claude-code
    """
    _edit(session, client, None, dry_run=dry_run, yes=yes)


def _edit(
    session: Session, client: str, options: Sequence[str] | None, *, dry_run: bool, yes: bool
) -> None:
    """Show what changes, ask, and write it."""
    refuse_unknown([client], clients(), "client")
    edits = plan_install(client, options)
    form = [{"path": edit.path, "diff": edit.diff()} for edit in edits]
    if not edits:
        state = "not installed in" if options is None else "set up so already in"
        session.show(form, safe_text(f"nothing changes: memoranda is {state} {client}"))
        return
    session.show(form, *(safe_text(edit.diff().rstrip()) for edit in edits))
    if dry_run:
        session.note("nothing was written")
        return
    session.require_yes("Write this?", "nothing was written", yes=yes)
    for edit in edits:
        edit.write()
    session.note(f"written; start {client} again")


@command(hook, FileFormat.CLAUDE_CODE)
def claude_code(session: Session) -> None:
    """Serve the hooks of Claude Code. Reads the event from standard input.

    At SessionStart, also after a compaction, it prints the notes; at UserPromptSubmit, what is
    remembered for the prompt. At PreCompact, SessionEnd and Stop it saves what was said since.

    Examples:
        memoranda hook claude-code < event.json
        memoranda hook claude-code --user ana < event.json
    """
    event = parse_event(read_input())
    path = find_transcript(event)
    if path is None:
        _answer(session, event)
        return
    if not path.is_file() or not path.stat().st_size:
        # A session in which nothing was said has none.
        session.note(f"memoranda has nothing to save, {path} is not there or empty")
        return
    with _memory(session) as memory:
        report = memory.import_(path, FileFormat.CLAUDE_CODE)
    saved = pluralize(report.messages, "new message")
    session.note(f"memoranda saved {saved} of session {event['session_id']}")
    if session.as_json:
        session.show(report)


@command(hook, "codex")
def codex(session: Session) -> None:
    """Serve the hooks of Codex: at SessionStart the notes, at UserPromptSubmit what is remembered.

    Examples:
        memoranda hook codex < event.json
    """
    _answer(session, parse_event(read_input()))


def _answer(session: Session, event: Event) -> None:
    """Print what a model is told at an event."""
    with _memory(session) as memory:
        answer = answer_event(memory, event)
    if answer is not None:
        write_json(answer, indent=None)


def _memory(session: Session) -> Memory:
    """Open the memory so that nothing else takes its time before the hook can end."""
    settings = session.quiet_settings.with_values(consolidation={"automatic": False})
    return Memory(session.db, user=session.user, settings=settings)

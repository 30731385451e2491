"""Commands that look at conversations, and change what is in view of them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group
from memoranda.rendering import conversations as drawing
from memoranda.rendering.forms import to_json
from memoranda.rendering.layout import table
from memoranda.rendering.plain import one_line, pluralize

Id = Annotated[str, Argument(help="The conversation.")]

commands = typer.Typer()


class ConversationsGroup(CommandGroup):
    """List conversations, show what is in view of one and why, and change that.

    Examples:
        memoranda conversations
        memoranda conversations show trip --explain
        memoranda conversations prune trip --to 4000 --dry-run
    """

    default = "list"


conversations = make_group(commands, "conversations", ConversationsGroup)


@command(conversations, "list")
def list_(session: Session, *, limit: options.Limit = 50) -> None:
    """List the stored conversations, the newest first.

    Examples:
        memoranda conversations list --limit 200
        memoranda conversations list --json
    """
    found = session.memory().stored_conversations.overviews(limit)
    told = [{"id": each.info.id, **to_json(each)} for each in found]
    session.show(told, table(found, drawing.OVERVIEW, session.view, empty="no conversations"))


@command(conversations, "show")
def show(
    session: Session,
    id: Id,
    *,
    explain: Annotated[
        bool, Option("--explain", help="Say why each message is in view or not.")
    ] = False,
    budget: Annotated[
        int | None, Option(help="Show it as it would be within so many tokens.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Also what was pruned or cleared.")] = False,
) -> None:
    """Show a conversation as a model sees it: budget, messages, and what is out.

    Nothing is changed by looking.

    Examples:
        memoranda conversations show trip
        memoranda conversations show trip --explain --budget 4000
        memoranda conversations show trip --all > transcript.txt
    """
    found = session.memory().stored_conversations.open_existing(id).explain(budget=budget)
    shown = drawing.show_conversation(found, session.view, explain=explain, everything=everything)
    session.show(found, *shown)


@command(conversations, "prune")
def prune(
    session: Session,
    id: Id,
    *,
    to: Annotated[
        int | None,
        Option(metavar="TOKENS", help="How many may stay; otherwise as automatic pruning does."),
    ] = None,
    dry_run: options.DryRun = False,
) -> None:
    """Take older messages out of view, and print the receipt.

    They stay in the transcript: a marker stands for them, and expand prints them.

    Examples:
        memoranda conversations prune trip --to 4000 --dry-run
        memoranda conversations prune trip
    """
    done = session.memory().stored_conversations.open_existing(id, dry_run=dry_run).prune(to)
    if done is None:
        session.show(None, Text("nothing to prune: everything fits"))
    else:
        session.show(done, *drawing.show_receipt(done, session.view, dry=dry_run))


@command(conversations, "clear")
def clear(session: Session, id: Id, *, yes: options.Yes = False) -> None:
    """Start afresh: take all messages out of view, but not the system prompt.

    They stay in the transcript, and show --all still prints them.

    Examples:
        memoranda conversations clear trip
        memoranda conversations clear trip --yes
    """
    chat = session.memory().stored_conversations.open_existing(id)
    held = len(chat)
    messages = pluralize(held, "message")
    question = f"{one_line(id)} has {messages}. Clear conversation history?"
    session.require_yes(question, "nothing was cleared", yes=yes)
    chat.clear()
    session.show({"id": id, "cleared": held}, Text(f"cleared {messages}; the system prompt stays"))


@command(conversations, "delete")
def delete(
    session: Session, id: Id, *, erase: options.Erase = False, yes: options.Yes = False
) -> None:
    """Delete a conversation, with what was said in it and what was learned only from it.

    Examples:
        memoranda conversations delete trip
        memoranda conversations delete trip --erase --yes
    """
    memory = session.memory()
    end = " for good" if erase else ""
    question = f"Delete conversation {one_line(id)} and what was learned only from it{end}?"
    session.require_yes(question, "nothing was deleted", yes=yes)
    session.show_erasure(memory.delete_conversation(id, erase=erase), f"deleted {id}")


@command(conversations, "expand")
def expand(
    session: Session,
    id: Id,
    marker: Annotated[str, Argument(help="Such as cut_12-26, or positions: 12-26, 12.")],
) -> None:
    """Print the messages that a marker stands for, whole.

    Examples:
        memoranda conversations expand trip cut_12-26
        memoranda conversations expand trip 12
    """
    found = session.memory().stored_conversations.open_existing(id).expand(marker)
    view = session.view
    session.show(found, *(line for each in found for line in drawing.show_message(each, view)))

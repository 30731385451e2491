"""Commands that look at conversations, and change what is in view of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import typer
from rich.text import Text

from memoranda.cli.command import (
    ListingGroup,
    Session,
    SharedOptions,
    command,
    complete,
    make_group,
)
from memoranda.conversation.conversation_store import expand_place, message_at
from memoranda.conversation.explain import SHOWN
from memoranda.errors import MemorandaError
from memoranda.rendering import conversations as drawing
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import list_erased, warn_of_rest
from memoranda.settings.parsing import STRATEGIES, strategy_names


def _complete_id(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a conversation, from the file that the line names so far."""
    session = Session(SharedOptions.read(context))
    found: list[str] = []
    with suppress(MemorandaError, OSError), session.closing:
        if session.location is not None and session.location.exists():
            found = [each.id for each in session.memory(all_users=True).conversations()]
    return [each for each in found if each.startswith(incomplete)]


ID: dict[str, Any] = {"metavar": "ID", "help": "The conversation.", "autocompletion": _complete_id}
STRATEGY: dict[str, Any] = {
    "help": f"How messages are chosen: {', '.join(STRATEGIES)}, or an installed strategy; "
    "otherwise as the settings say.",
    "autocompletion": complete(strategy_names),
}

commands = typer.Typer()


class ConversationsGroup(ListingGroup):
    """List conversations, show what is in view of one and why, and change that.

    Examples:
        memoranda conversations
        memoranda conversations show trip --explain
        memoranda conversations prune trip --to 4000 --dry-run
    """


def list_(session: Session, *, limit: int = 50) -> None:
    """List the stored conversations, the newest first.

    Args:
        limit: How many at most.

    Examples:
        memoranda conversations list --limit 200
        memoranda conversations list --json
    """
    memory = session.memory()
    total = len(memory.conversations())
    found = memory.stored_conversations.overviews(limit)
    session.show(found, *drawing.show_overviews(found, session.view))
    if total > len(found):
        session.note(f"{total - len(found)} more: memoranda conversations list --limit {total}")


conversations = make_group(commands, "conversations", ConversationsGroup, list_)
command(conversations, "list", limit={"min": 1})(list_)


@command(conversations, "show", id=ID, strategy=STRATEGY, limit={"min": 1})
def show(
    session: Session,
    *,
    id: str,
    explain: bool = False,
    budget: int | None = None,
    strategy: str | None = None,
    everything: bool = False,
    limit: int | None = None,
) -> None:
    """Show a conversation as a model sees it: budget, messages, tasks, and what is out.

    Nothing is changed by looking. The score of a message is its importance, 0 to 1.

    Args:
        explain: Say why each message is in view or not.
        budget: What the view would be within so many tokens.
        everything: Also each message that was pruned or cleared.
        limit: The newest so many rows only.

    Examples:
        memoranda conversations show trip
        memoranda conversations show trip --explain --budget 4000
        memoranda conversations show trip --strategy importance
        memoranda conversations show trip --all > transcript.txt
    """
    chat = session.memory().stored_conversations.open_read_only(id, strategy=strategy)
    found = chat.explain(budget=budget, cleared=everything)
    if session.shared.as_json:
        session.show(found if limit is None else replace(found, lines=found.lines[-limit:]))
        return
    options = drawing.TranscriptOptions(
        explain=explain, everything=everything, given=budget is not None, limit=limit
    )
    session.print(*drawing.show_conversation(found, session.view, options))


@command(conversations, "prune", id=ID, to={"metavar": "TOKENS"}, strategy=STRATEGY)
def prune(
    session: Session,
    *,
    id: str,
    to: int | None = None,
    strategy: str | None = None,
    dry_run: bool = False,
) -> None:
    """Take older messages out of view, and print the receipt.

    They stay in the transcript: a marker stands for them, and expand prints them.

    Args:
        to: What is left fits so many tokens; otherwise as after an automatic pruning.
        dry_run: Only say what would leave the view.

    Examples:
        memoranda conversations prune trip --to 4000 --dry-run
        memoranda conversations prune trip --strategy importance
    """
    stored = session.memory().stored_conversations
    chat = (stored.open_read_only if dry_run else stored.open_existing)(id, strategy=strategy)
    done = chat.prune(to)
    if done is None:
        session.show(None, Text("nothing to prune: everything fits"))
    else:
        session.show(done, *drawing.show_receipt(done, session.view, dry=dry_run))


@command(conversations, "clear", id=ID)
def clear(session: Session, *, id: str, yes: bool = False) -> None:
    """Start afresh: take all messages out of view, but not the system prompt.

    They stay in the transcript, and show --all still prints them.

    Args:
        yes: Do not ask.

    Examples:
        memoranda conversations clear trip
        memoranda conversations clear trip --yes
    """
    chat = session.memory().stored_conversations.open_existing(id)
    held = len(chat)
    messages = pluralize(held, "message")
    if held:
        question = f"{one_line(id)} has {messages}. Clear conversation history?"
        session.require_yes(question, "nothing was cleared", yes=yes)
        chat.clear()
    line = f"cleared {messages}; the system prompt stays"
    shown = Text(line if held else "nothing to clear: no message is left")
    session.show({"id": id, "cleared": held}, shown)


@command(conversations, "delete", id=ID)
def delete(session: Session, *, id: str, erase: bool = False, yes: bool = False) -> None:
    """Delete a conversation, with what was said in it and what was learned only from it.

    Args:
        erase: Remove the texts for good, wherever they are kept.
        yes: Do not ask.

    Examples:
        memoranda conversations delete trip
        memoranda conversations delete trip --erase --yes
    """
    memory = session.memory()
    end = " for good" if erase else ""
    question = f"Delete conversation {one_line(id)} and what was learned only from it{end}?"
    session.require_yes(question, "nothing was deleted", yes=yes)
    receipt = memory.delete_conversation(id, erase=erase)
    parts = [f"deleted {one_line(id)}", *list_erased(receipt)]
    session.show(receipt, safe_text(", ".join(parts)))
    for each in warn_of_rest(receipt):
        session.warn(each)


@command(conversations, "pin", id=ID, message={"metavar": "MESSAGE"})
def pin(session: Session, *, id: str, message: str, off: bool = False) -> None:
    """Keep a message in every view, or stop keeping it.

    Args:
        message: Its id, or its position: 12 or '#12'.
        off: Stop keeping it.

    Examples:
        memoranda conversations pin trip 12
        memoranda conversations pin trip msg_01JD… --off
    """
    chat = session.memory().stored_conversations.open_existing(id)
    found = message_at(chat, message)
    chat.pin(found.id, pinned=not off)
    line = next(each for each in chat.explain().lines if each.message.id == found.id)
    shown = Text("no longer pinned" if off else "pinned").append(f" #{found.position}", "bold")
    shown.append_text(safe_text(f" {one_line(found.content, 60)}".rstrip(), "not bold dim"))
    session.show(line.message, shown)
    if not off and line.state not in SHOWN:
        session.warn(f"#{found.position} is not in view all the same: {line.why}")


@command(conversations, "expand", id=ID, marker={"metavar": "MARKER"})
def expand(session: Session, *, id: str, marker: str) -> None:
    """Print the messages that a marker stands for, whole.

    Args:
        marker: Such as cut_12-26, or positions: 12-26, 12.

    Examples:
        memoranda conversations expand trip cut_12-26
        memoranda conversations expand trip 12
    """
    found = expand_place(session.memory().stored_conversations.open_read_only(id), marker)
    lines = (line for each in found for line in drawing.show_message(each, session.view))
    session.show(found, *lines)


@command(conversations, "receipts", id=ID)
def receipts(session: Session, *, id: str) -> None:
    """List what was pruned, when and why, the oldest first.

    Examples:
        memoranda conversations receipts trip
    """
    found = session.memory().stored_conversations.open_read_only(id).prunings
    view = session.view
    lines = [line for done in found for line in (*drawing.show_receipt(done, view), Text())]
    session.show(found, *(lines[:-1] or [Text("nothing was pruned", "dim")]))

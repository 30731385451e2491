"""Commands that look at conversations, and change what is in view of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.prompt import Confirm
from rich.text import Text

from memoranda.cli import conversations_drawing as drawing
from memoranda.cli import tables
from memoranda.cli.command import FAILED, Session, Shared, command, group
from memoranda.cli.conversations_drawing import Look
from memoranda.cli.conversations_rows import rows, whole
from memoranda.cli.output import counted, minute, one_line, styled
from memoranda.conversation.conversation_store import (
    ConversationOverview,
    expand_place,
    message_at,
)
from memoranda.conversation.explain import SHOWN, ViewExplanation
from memoranda.errors import MemorandaError

PANEL = "Look"
LISTED = 50
STRATEGIES = ("rolling_window", "recency", "importance", "hybrid")
EXAMPLES = (
    "memoranda conversations",
    "memoranda conversations show trip --explain",
    "memoranda conversations prune trip --to 4000 --dry-run",
)


def _ids(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a conversation, from the file that the line names so far."""
    before = Shared()
    for each in (context.parent and context.parent.parent, context.parent, context):
        if each:
            before = before.under(Shared(each.params.get("db"), each.params.get("user")))
    session = Session(before)
    try:
        file = session.location
        if file is None or not file.exists():
            return []
        with session.memory() as memory:
            found = [info.id for info in memory.conversations()]
    except (MemorandaError, OSError):
        return []
    return [each for each in found if each.startswith(incomplete)]


def _strategies(incomplete: str) -> list[str]:
    return [name for name in STRATEGIES if name.startswith(incomplete)]


Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="The conversation.", autocompletion=_ids),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        help=f"How messages are chosen: {', '.join(STRATEGIES)}; otherwise as the settings say.",
        autocompletion=_strategies,
        show_default=False,
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(help="What the view would be within so many tokens.", show_default=False),
]

commands = typer.Typer()
conversations = typer.Typer(
    help="List conversations, show what is in view of one and why, and change that.",
    epilog="\n\n".join(["Examples:", *(f"  {each}" for each in EXAMPLES)]),
)


def _listed(session: Session, limit: int = LISTED) -> None:
    with session.memory() as memory:
        total = len(memory.conversations())
        found = memory.stored_conversations.overviews(limit)
        session.show(found, _overview(found, session))
    if total > len(found):
        session.note(f"{total - len(found)} more: memoranda conversations list --limit {total}")


group(conversations, bare=_listed)


@command(
    conversations,
    "list",
    examples=("memoranda conversations list --limit 200", "memoranda conversations list --json"),
)
def list_(
    session: Session,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)] = LISTED,
) -> None:
    """List the stored conversations, the newest first."""
    _listed(session, limit)


@command(
    conversations,
    "show",
    examples=(
        "memoranda conversations show trip",
        "memoranda conversations show trip --explain --budget 4000",
        "memoranda conversations show trip --strategy importance",
        "memoranda conversations show trip --all > transcript.txt",
    ),
)
def show(
    session: Session,
    *,
    id: Id,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each message is in view or not.")
    ] = False,
    budget: Budget = None,
    strategy: Strategy = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also each message that was pruned or cleared.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", help="The newest so many rows only.", min=1, show_default=False
        ),
    ] = None,
) -> None:
    """Show a conversation as a model sees it: budget, messages, tasks, and what is out.

    Nothing is changed by looking. The score of a message is its importance, 0 to 1.
    """
    with session.memory() as memory:
        chat = memory.stored_conversations.open_read_only(id, strategy=strategy)
        found = chat.explain(budget=budget, cleared=everything)
    if session.shared.as_json:
        session.show(found if limit is None else replace(found, lines=found.lines[-limit:]))
        return
    look = Look(
        console=session.out,
        settings=session.settings,
        explain=explain,
        everything=everything,
        given=budget is not None,
        limit=limit,
    )
    session.show(found, *_page(found, look))


def _page(found: ViewExplanation, look: Look) -> Iterator[Text]:
    yield from drawing.heading(found, look)
    yield Text()
    if look.explain:
        for sentence in found.told:
            yield from drawing.hung("", sentence, look, "dim")
        yield Text()
    yield from rows(found, look)
    yield Text()
    yield from drawing.summary(found, look)


@command(
    conversations,
    "prune",
    examples=(
        "memoranda conversations prune trip --to 4000 --dry-run",
        "memoranda conversations prune trip --strategy importance",
    ),
)
def prune(
    session: Session,
    *,
    id: Id,
    to: Annotated[
        int | None,
        typer.Option(
            "--to",
            metavar="TOKENS",
            help="What is left fits so many tokens; otherwise as after an automatic pruning.",
            show_default=False,
        ),
    ] = None,
    strategy: Strategy = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would leave the view.")
    ] = False,
) -> None:
    """Take older messages out of view, and print the receipt.

    They stay in the transcript: a marker stands for them, and expand prints them.
    """
    with session.memory() as memory:
        stored = memory.stored_conversations
        chat = (stored.open_read_only if dry_run else stored.open_existing)(id, strategy=strategy)
        done = chat.prune(to)
    look = Look(console=session.out, settings=session.settings)
    if done is None:
        session.show(None, Text("nothing to prune: everything fits"))
    else:
        session.show(done, *drawing.receipt(done, look, dry=dry_run))


@command(
    conversations,
    "clear",
    examples=("memoranda conversations clear trip", "memoranda conversations clear trip --yes"),
)
def clear(
    session: Session,
    *,
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Start afresh: take all messages out of view, but not the system prompt.

    They stay in the transcript, and show --all still prints them.
    """
    with session.memory() as memory:
        chat = memory.stored_conversations.open_existing(id)
        held = len(chat)
        if held and not yes and not _agreed(session, id, held):
            session.note("nothing was cleared")
            raise typer.Exit(FAILED)
        if held:
            chat.clear()
    said = f"cleared {counted(held, 'message')}; the system prompt stays"
    session.show(
        {"id": id, "cleared": held}, Text(said if held else "nothing to clear: no message is left")
    )


def _agreed(session: Session, id: str, held: int) -> bool:
    session.err.print(styled(f"{one_line(id)}: {counted(held, 'message')}", "dim"), soft_wrap=True)
    try:
        return Confirm.ask("Clear conversation history?", console=session.err, default=False)
    except EOFError:
        return False


@command(
    conversations,
    "pin",
    examples=(
        "memoranda conversations pin trip 12",
        "memoranda conversations pin trip msg_01JD… --off",
    ),
)
def pin(
    session: Session,
    *,
    id: Id,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="Its id, or its position: 12 or '#12'.")
    ],
    off: Annotated[bool, typer.Option("--off", help="Stop keeping it.")] = False,
) -> None:
    """Keep a message in every view, or stop keeping it."""
    with session.memory() as memory:
        chat = memory.stored_conversations.open_existing(id)
        found = message_at(chat, message)
        chat.pin(found.id, pinned=not off)
        line = next(each for each in chat.explain().lines if each.message.id == found.id)
    told = Text("no longer pinned" if off else "pinned").append(f" #{found.position}", "bold")
    told.append_text(styled(f" {one_line(found.content, 60)}".rstrip(), "not bold dim"))
    session.show(line.message, told)
    if not off and line.state not in SHOWN:
        session.warn(f"#{found.position} is not in view all the same: {line.why}")


@command(
    conversations,
    "expand",
    examples=(
        "memoranda conversations expand trip cut_12-26",
        "memoranda conversations expand trip 12",
    ),
)
def expand(
    session: Session,
    *,
    id: Id,
    marker: Annotated[
        str, typer.Argument(metavar="MARKER", help="Such as cut_12-26, or positions: 12-26, 12.")
    ],
) -> None:
    """Print the messages that a marker stands for, whole."""
    with session.memory() as memory:
        found = expand_place(memory.stored_conversations.open_read_only(id), marker)
    look = Look(console=session.out, settings=session.settings)
    session.show(found, *(line for each in found for line in whole(each, look)))


@command(conversations, "receipts", examples=("memoranda conversations receipts trip",))
def receipts(session: Session, *, id: Id) -> None:
    """List what was pruned, when and why, the oldest first."""
    with session.memory() as memory:
        found = memory.stored_conversations.open_read_only(id).prunings
    look = Look(console=session.out, settings=session.settings)
    lines = [line for done in found for line in (*drawing.receipt(done, look), Text())]
    session.show(found, *(lines[:-1] or [Text("nothing was pruned", "dim")]))


commands.add_typer(conversations, name="conversations", rich_help_panel=PANEL)


def _overview(found: Sequence[ConversationOverview], session: Session) -> RenderableType:
    if not found:
        return Text("no conversations", style="dim")
    numbers = ("messages", "in view", "tokens", "used")
    made = tables.table("conversation", *numbers, "last message", right=numbers)
    made.columns[0].ratio = 1
    made.columns[5].no_wrap = True
    for each in found:
        figures = each.stats
        share = figures.total_tokens / figures.token_limit
        said = each.last_message
        made.add_row(
            _name(each),
            f"{each.messages:,}",
            f"{figures.messages_in_context:,}",
            f"{'' if figures.exact else '~'}{figures.total_tokens:,}",
            Text(f"{figures.percent_used:.0f} %", drawing.alert(share)),
            Text("" if said is None else minute(said, session.settings), "dim"),
        )
    about = "" if all(each.stats.exact for each in found) else "; ~ is an estimate"
    return Group(made, Text(f"used: of the model's context window{about}", "dim"))


def _name(each: ConversationOverview) -> Text:
    name = styled(one_line(each.id), "bold")
    if each.ended_at is not None:
        name.append(" ended", "not bold dim")
    return name

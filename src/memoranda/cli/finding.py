"""Commands that find and show: search, recall, context, show, list, history, entity."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli import output, tables
from memoranda.cli.command import Session, command
from memoranda.cli.output import styled
from memoranda.conversation.conversation import Conversation
from memoranda.errors import NotFound
from memoranda.memory import Memory

FIND = "Find"
LOOK = "Look"

commands = typer.Typer()
Id = Annotated[str, typer.Argument(metavar="ID", help="The record, such as fact_01JD….")]
KindOption = Annotated[
    str | None, typer.Option("--kind", help="Only fact, episode, context or reflection.")
]
SessionOption = Annotated[str | None, typer.Option("--session", help="Only of this conversation.")]


@command(
    commands,
    "search",
    panel=FIND,
    examples=(
        'memoranda search "what does she eat?"',
        'memoranda search "the trip last spring" --why --limit 3',
        'memoranda search "diet" --kind fact --tag diet --since 2025-01-01 --json',
    ),
)
def search(
    session: Session,
    *,
    query: Annotated[str, typer.Argument(help="A question or words, in any language.")],
    why: Annotated[bool, typer.Option("--why", help="Say why each record was found.")] = False,
    kind: KindOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 5,
    in_session: SessionOption = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only with this tag; repeat for more.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Happened at or after this date.")] = None,
    until: Annotated[str | None, typer.Option(help="Happened before this date.")] = None,
    as_of: Annotated[str | None, typer.Option(help="What was believed at this moment.")] = None,
    min_score: Annotated[
        float | None, typer.Option(help="None with a lower score, 0 to 1.")
    ] = None,
) -> None:
    """Find what answers a question: when, who, what and why."""
    start, end = session.moment(since, "since"), session.moment(until, "until")
    believed = session.moment(as_of, "as-of")
    with session.memory() as memory:
        found = memory.search(
            query,
            kind=kind,
            limit=limit,
            session=in_session,
            tags=tag,
            min_score=min_score,
            since=start,
            until=end,
            as_of=believed,
        )
        session.show(found, tables.hits(found, session.settings, why=why))


@command(
    commands,
    "recall",
    panel=FIND,
    examples=('memoranda recall "Book me something to Lisbon" --budget 500',),
)
def recall(
    session: Session,
    *,
    prompt: Annotated[str, typer.Argument(help="What an agent is asked.")],
    budget: Annotated[int, typer.Option(help="Most tokens it may take.")] = 1_000,
) -> None:
    """Print the memories for a prompt, as an agent gets them."""
    with session.memory() as memory:
        found = memory.recall(prompt, budget=budget)
    if session.shared.as_json:
        session.show(found)
    elif not found.text:
        session.note(f"no memory fits into {budget} tokens")
    else:
        session.out.print(styled(found.text), soft_wrap=True)
        session.note(
            f"{found.tokens} of {budget} tokens, {output.counted(len(found.hits), 'record')}"
        )


@command(
    commands,
    "context",
    panel=FIND,
    examples=(
        'memoranda context "Book me something to Lisbon" --budget 2000',
        'memoranda context "And the hotel?" --conversation trip --system "You plan trips."',
    ),
)
def context(
    session: Session,
    *,
    prompt: Annotated[str, typer.Argument(help="What the user says now.")],
    conversation: Annotated[
        str | None, typer.Option(help="The stored conversation it continues.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Most tokens; otherwise 80 % of the model's window.")
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(help="The system prompt; a stored conversation keeps it from now on."),
    ] = None,
) -> None:
    """Print all that a model would be sent for a prompt.

    That is the system prompt, memory, the conversation and the prompt, within the budget;
    the receipt says what went in, what stayed out, and why.
    """
    with session.memory() as memory:
        chat = _chat(memory, conversation, system)
        built = chat.context(prompt, budget=budget)
    session.show(built, tables.context(built))


def _chat(memory: Memory, conversation: str | None, system: str | None) -> Conversation:
    if conversation is None:
        return memory.stored_conversations.unsaved(system=system)
    if all(info.id != conversation for info in memory.conversations()):
        message = (
            f"there is no conversation {conversation!r} for user {memory.user!r}; "
            f"memoranda conversations lists them"
        )
        raise NotFound(message)
    return memory.conversation(conversation, system=system)


@command(commands, "show", panel=LOOK, examples=("memoranda show fact_01JD…",))
def show(session: Session, *, id: Id) -> None:
    """Show everything about one record."""
    with session.memory() as memory:
        found = memory.get(id)
        if found is None:
            message = f"there is no record {id!r} for user {memory.user!r}"
            raise NotFound(message)
        session.show(found, tables.record(found, session.settings))


@command(
    commands,
    "list",
    panel=LOOK,
    examples=("memoranda list --kind fact", "memoranda list --session trip --limit 20"),
)
def list_(
    session: Session,
    *,
    kind: KindOption = None,
    in_session: SessionOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 20,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on after this record.")
    ] = None,
) -> None:
    """List records in the order they were recorded."""
    with session.memory() as memory:
        found = memory.records(kind=kind, session=in_session, limit=limit, after=after)
        session.show(found, tables.records(found, session.settings))
    if len(found) == limit and not session.shared.as_json:
        session.note(f"there may be more: --after {found[-1].id}")


@command(commands, "history", panel=LOOK, examples=("memoranda history fact_01JD…",))
def history(session: Session, *, id: Id) -> None:
    """Show what was done to a record, when and why."""
    with session.memory() as memory:
        found = memory.history(id)
        if not found:
            message = f"nothing is known of a record {id!r} of user {memory.user!r}"
            raise NotFound(message)
        session.show(found, tables.changes(found, session.settings))


@command(commands, "entity", panel=LOOK, examples=("memoranda entity Lisbon",))
def entity(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(help="A name or alias, in any case.")],
) -> None:
    """Show a person, place or thing and what is said of it."""
    with session.memory() as memory:
        found = memory.entity(name)
        if found is None:
            message = f"no record speaks of {name!r}; memoranda entities lists what they speak of"
            raise NotFound(message)
        session.show(found, tables.entity(found, session.settings))

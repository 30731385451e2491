"""Commands on records: those that change them, those that find them, those that show them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.text import Text

from memoranda.cli.command import Session, command, complete, read_argument
from memoranda.cli.conditions import parse_attached, parse_conditions
from memoranda.errors import NotFound
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind
from memoranda.rendering import records as drawing
from memoranda.rendering.forms import explain_hit
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import pluralize

commands = typer.Typer()
ID = {"metavar": "ID"}
KINDS = [kind.value for kind in Kind]
KIND: dict[str, Any] = {
    "help": f"Only {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
    "autocompletion": complete(KINDS),
}
# Of a record or, without it, of an item by namespace and key.
MAYBE_ID = {**ID, "argument": True}
NAMESPACE = {"metavar": "A/B"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """The options that say which records are meant; a record has to meet all that are given.

    Attributes:
        in_session: Only of this conversation.
        tag: Only with this tag; repeat for more.
        metadata: Only with key=value, key!=value or key>=3 (<=, >, <); repeat for more.
        since: Happened at or after this date.
        until: Happened before this date.
        namespace: Only items there or below, with / between the levels; or repeat for each level.
    """

    kind: str | None = field(default=None, metadata=KIND)
    in_session: str | None = None
    tag: list[str] | None = None
    metadata: list[str] | None = field(default=None, metadata={"metavar": "CONDITION"})
    since: str | None = None
    until: str | None = None
    namespace: list[str] | None = field(default=None, metadata=NAMESPACE)

    def parse(self, session: Session) -> dict[str, Any]:
        """Return them as the verbs of a memory take them."""
        return {
            "kind": self.kind,
            "session": self.in_session,
            "tags": self.tag,
            "metadata": parse_conditions(self.metadata),
            "since": session.parse_moment(self.since, "since"),
            "until": session.parse_moment(self.until, "until"),
            "namespace": _parts(self.namespace) or None,
        }


def _parts(namespace: list[str] | None) -> list[str]:
    """Return the parts of a namespace: a single text has slashes between them."""
    return namespace[0].split("/") if namespace and len(namespace) == 1 else namespace or []


@command(
    commands,
    "remember",
    kind={"autocompletion": complete(KINDS)},
    metadata={"metavar": "KEY=VALUE"},
    namespace=NAMESPACE,
)
def remember(
    session: Session,
    *,
    text: str,
    kind: str | None = None,
    tag: list[str] | None = None,
    in_session: str | None = None,
    role: str | None = None,
    event_time: str | None = None,
    metadata: list[str] | None = None,
    confidence: float = 1.0,
    namespace: list[str] | None = None,
    key: str | None = None,
) -> None:
    """Store a fact, or something that was said.

    Args:
        text: What to remember; - reads standard input.
        kind: fact, episode (or conversation), context, reflection or item; an item with a key,
            a fact otherwise.
        tag: A label to filter by; repeat for more.
        in_session: The conversation it belongs to.
        role: Who said it.
        event_time: When it happened: 2025-03-31 or 2025-03-31T18:30.
        metadata: What to keep with it, or a JSON object; repeat for more.
        confidence: How far it is believed, 0 to 1.
        namespace: Where an item is kept, with / between the levels; or repeat for each level.
        key: What an item is called there; its value is replaced.

    Examples:
        memoranda remember "Ana is vegetarian" --tag diet
        memoranda remember "We met in Lisbon" --kind episode --event-time 2025-03-31
        memoranda remember "Ship on Friday" --metadata project=atlas --metadata priority=3
        memoranda remember dark --namespace app/settings --key theme
        memoranda remember - < note.txt
    """
    content, attached = read_argument(text), parse_attached(metadata)
    happened = session.parse_moment(event_time, "event-time")
    record = session.memory(writes=True).remember(
        content,
        kind=kind or ("item" if key else "fact"),
        tags=tag or (),
        metadata=attached,
        event_time=happened,
        session=in_session,
        role=role,
        confidence=confidence,
        namespace=_parts(namespace),
        key=key,
    )
    session.show(record, Text("remembered ").append(record.id, "bold"))


@command(commands, "correct", id=ID)
def correct(session: Session, *, id: str, text: str) -> None:
    """Replace what a record says; the old one is kept.

    Args:
        id: The record, such as fact_01JD….
        text: What it should say.

    Examples:
        memoranda correct fact_01JD… "Ana is vegan since March"
    """
    record = session.memory().correct(id, text)
    session.show(record, Text("corrected: ").append(f"{record.id} replaces {id}", "bold"))


@command(commands, "confirm", id=ID)
def confirm(session: Session, *, id: str) -> None:
    """Believe a record fully, for ever.

    Args:
        id: The record, such as fact_01JD….

    Examples:
        memoranda confirm fact_01JD…
    """
    record = session.memory().confirm(id)
    session.show(record, Text("confirmed ").append(record.id, "bold"))


@command(commands, "forget", id=MAYBE_ID, namespace=NAMESPACE)
def forget(
    session: Session,
    *,
    id: str | None = None,
    namespace: list[str] | None = None,
    key: str | None = None,
    erase: bool = False,
    yes: bool = False,
) -> None:
    """Stop believing a record, or erase every trace of it.

    Args:
        id: The record, such as fact_01JD….
        namespace: Or where the item is, with / between the levels; or repeat for each level.
        key: And its key.
        erase: Remove the text for good, wherever it is kept.
        yes: Do not ask.

    Examples:
        memoranda forget fact_01JD…
        memoranda forget fact_01JD… --erase --yes
        memoranda forget --namespace app/settings --key theme
    """
    memory, place = session.memory(), _parts(namespace)
    if erase:
        found = memory.get(id, namespace=place, key=key)
        if found is not None and not yes and sys.stdin.isatty():
            session.err.print(drawing.show_record(found, session.view))
        session.require_yes("Erase this for good?", "nothing was erased", yes=yes or found is None)
    receipt = memory.forget(id, namespace=place, key=key, erase=erase)
    if not erase:
        parts = [f"forgotten {receipt.id}", *drawing.list_erased(receipt)]
        session.show(receipt, safe_text(f"{', '.join(parts)}; history and as-of still know it"))
        return
    parts = [f"erased {receipt.id}", *drawing.list_erased(receipt)]
    session.show(receipt, safe_text(", ".join(parts)))
    for each in drawing.warn_of_rest(receipt):
        session.warn(each)


@command(commands, "search", offset={"min": 0})
def search(
    session: Session,
    *,
    query: str,
    why: bool = False,
    limit: int = 5,
    offset: int = 0,
    filters: FilterOptions,
    as_of: str | None = None,
    min_score: float | None = None,
) -> None:
    """Find what answers a question: when, who, what and why.

    Args:
        query: A question or words, in any language.
        why: Say why each record was found.
        limit: How many at most.
        offset: How many of the best to leave out before.
        as_of: What was believed at this moment.
        min_score: None with a lower score, 0 to 1.

    Examples:
        memoranda search "what does she eat?"
        memoranda search "the trip last spring" --why --limit 3
        memoranda search "diet" --kind fact --tag diet --since 2025-01-01 --json
        memoranda search "deadline" --metadata project=atlas --metadata "priority>=3"
    """
    where, moment = filters.parse(session), session.parse_moment(as_of, "as-of")
    found = session.memory().search(
        query, limit=limit, offset=offset, min_score=min_score, as_of=moment, **where
    )
    form = [explain_hit(hit) for hit in found] if why else found
    session.show(form, drawing.show_hits(found, session.view, why=why))


@command(commands, "recall")
def recall(session: Session, *, prompt: str, budget: int = 1_000) -> None:
    """Print the memories for a prompt, as an agent gets them.

    Args:
        prompt: What an agent is asked.
        budget: Most tokens it may take.

    Examples:
        memoranda recall "Book me something to Lisbon" --budget 500
    """
    found = session.memory().recall(prompt, budget=budget)
    if session.shared.as_json:
        session.show(found)
    elif not found.text:
        session.note(f"nothing to recall for this within {budget} tokens")
    else:
        session.print(safe_text(found.text))
        hits = pluralize(len(found.hits), "record")
        session.note(f"{found.tokens} of {budget} tokens, {hits}")


@command(commands, "context")
def context(
    session: Session,
    *,
    prompt: str,
    conversation: str | None = None,
    budget: int | None = None,
    system: str | None = None,
) -> None:
    """Print all that a model would be sent for a prompt.

    That is the system prompt, memory, the conversation and the prompt, within the budget;
    the receipt says what went in, what stayed out, and why.

    Args:
        prompt: What the user says now.
        conversation: The stored conversation it continues.
        budget: Most tokens; otherwise 80 % of the model's window.
        system: The system prompt; a stored conversation keeps it from now on.

    Examples:
        memoranda context "Book me something to Lisbon" --budget 2000
        memoranda context "And the hotel?" --conversation trip --system "You plan trips."
    """
    memory = session.memory()
    if conversation is None:
        chat = memory.stored_conversations.unsaved(system=system)
    else:
        memory.stored_conversations.open_read_only(conversation)  # It is there, or this says so.
        chat = memory.conversation(conversation, system=system)
    built = chat.context(prompt, budget=budget)
    session.show(built, *drawing.show_context(built, session.view))


@command(commands, "show", id=MAYBE_ID, namespace=NAMESPACE)
def show(
    session: Session,
    *,
    id: str | None = None,
    namespace: list[str] | None = None,
    key: str | None = None,
) -> None:
    """Show everything about one record.

    Args:
        id: The record, such as fact_01JD….
        namespace: Or where the item is, with / between the levels; or repeat for each level.
        key: And its key.

    Examples:
        memoranda show fact_01JD…
        memoranda show --namespace app/settings --key theme
    """
    memory = session.memory()
    records = services_of(memory).records(scope_of(memory))
    found = records.existing(id, namespace=_parts(namespace), key=key)
    session.show(found, drawing.show_record(found, session.view))


@command(commands, "list", offset={"min": 0}, after=ID)
def list_(
    session: Session,
    *,
    limit: int = 20,
    offset: int = 0,
    newest_first: bool = False,
    filters: FilterOptions,
    after: str | None = None,
) -> None:
    """List records in the order they were recorded.

    Args:
        limit: How many at most.
        offset: How many to leave out before.
        newest_first: The one recorded last first.
        after: Go on after this record.

    Examples:
        memoranda list --kind fact --newest-first
        memoranda list --session trip --limit 20 --offset 20
        memoranda list --tag diet --metadata project=atlas --since 2025-01-01
    """
    where = filters.parse(session)
    found = session.memory().records(
        limit=limit, offset=offset, newest_first=newest_first, after=after, **where
    )
    session.show(found, drawing.show_records(found, session.view))
    if len(found) == limit:
        session.hint(f"there may be more: --offset {offset + limit}")


@command(commands, "history", id=ID)
def history(session: Session, *, id: str) -> None:
    """Show what was done to a record, when and why.

    Args:
        id: The record, such as fact_01JD….

    Examples:
        memoranda history fact_01JD…
    """
    memory = session.memory()
    found = memory.history(id)
    if not found:
        raise NotFound(f"nothing is known of a record {id!r} of user {memory.user!r}")
    session.show(found, drawing.show_changes(found, session.view))

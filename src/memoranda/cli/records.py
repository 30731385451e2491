"""Commands on records: those that change them, those that find them, those that show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import typer
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import Command, Kept, Session, command, declare_options, read_words
from memoranda.errors import InvalidInput
from memoranda.memory import Memory, services_of
from memoranda.model.models import Kind, Record
from memoranda.rendering import records as drawing
from memoranda.rendering.forms import explain_hit
from memoranda.rendering.layout import LONGEST, safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.serving.existing import require_record
from memoranda.text.secrets import HIDDEN

commands = typer.Typer()
KINDS = ", ".join(Kind)
Prompt = Annotated[list[str], Argument(help="What the user says now.")]


def filter_options(
    *,
    kind: Annotated[str | None, Kept(help=f"Only one of {KINDS}.")] = None,
    in_session: Annotated[str | None, Kept("--session", help="Only of this conversation.")] = None,
    tag: Annotated[list[str] | None, Kept(help="Only with this tag; repeat for more.")] = None,
    metadata: Annotated[
        list[str] | None,
        Kept(
            metavar="CONDITION",
            help='Only with key=value, or as in {"key": {"gte": 3}}; repeat for more.',
        ),
    ] = None,
    since: Annotated[str | None, Kept(metavar="DATE", help="Happened at or after it.")] = None,
    until: Annotated[str | None, Kept(metavar="DATE", help="Happened before it.")] = None,
    namespace: Annotated[
        str | None, Kept(metavar="A/B", help="Only items there or below, with / between levels.")
    ] = None,
) -> None:
    """Declare the options that say which records are meant: those that meet all that are given."""


class FilterCommand(Command):
    """A command that takes filters."""

    options: ClassVar[Any] = [*declare_options(filter_options), *Command.options]


def read_filters(session: Session) -> dict[str, Any]:
    """Return the filters of a command line as the verbs of a memory take them.

    Raises:
        InvalidInput: nothing can meet them, or one cannot be read.
    """
    given = session.meta
    since = session.parse_moment(given.get("since"), "since")
    until = session.parse_moment(given.get("until"), "until")
    if since and until and since >= until:
        raise InvalidInput(f"since={since} is not before until={until}; change one of them")
    return {
        "kind": given.get("kind"),
        "session": given.get("in_session"),
        "tags": given.get("tag"),
        "metadata": parse_metadata(given.get("metadata", ())),
        "since": since,
        "until": until,
        "namespace": _parts(given.get("namespace")) or None,
    }


def _parts(namespace: str | None) -> list[str]:
    return namespace.split("/") if namespace else []


def parse_metadata(texts: Sequence[str]) -> dict[str, Any]:
    """Return the metadata, or the filter of it, that ``key=value`` and JSON objects say together.

    Raises:
        InvalidInput: a text is neither of these.
    """
    parsed: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        found = {key.strip(): _parse_value(value)} if equals and key[-1:] not in "!<>" else None
        if text.lstrip().startswith("{"):
            found = _parse_value(text)
        if not isinstance(found, dict):
            message = "write key=value, or a JSON object such as"
            raise InvalidInput(
                f'metadata={text!r:.80} cannot be read; {message} {{"n": {{"gte": 3}}}}'
            )
        parsed |= found
    return parsed


def _parse_value(text: str) -> Any:
    """Return a number, ``true``, ``null`` or any other JSON; what is none is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


@command(commands, "remember")
def remember(
    session: Session,
    text: options.Words,
    *,
    kind: Annotated[
        str | None, Option(help=f"One of {KINDS}; an item with a key, a fact otherwise.")
    ] = None,
    tag: Annotated[list[str] | None, Option(help="A label; repeat for more.")] = None,
    in_session: Annotated[str | None, Option("--session", help="Of which conversation.")] = None,
    event_time: Annotated[
        str | None, Option(metavar="DATE", help="When it happened: 2025-03-31T18:30.")
    ] = None,
    until: Annotated[
        str | None, Option(metavar="DATE", help="The day from which it is no longer believed.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        Option(metavar="KEY=VALUE", help="What to keep with it, or a JSON object; repeat."),
    ] = None,
    namespace: options.Namespace = None,
    key: options.Key = None,
) -> None:
    """Store a fact, or something that was said.

    Examples:
        memoranda remember "Ana is vegetarian" --tag diet
        memoranda remember "We met in Lisbon" --kind episode --event-time 2025-03-31
        memoranda remember "Ana is on leave" --until 2027-04-01
        memoranda remember "Ship on Friday" --metadata project=atlas --metadata priority=3
        memoranda remember dark --namespace app/settings --key theme
        memoranda remember - < note.txt
    """
    attached = parse_metadata(metadata or ())
    happened = session.parse_moment(event_time, "event-time")
    record = session.memory(writes=True).remember(
        read_words(text),
        kind=("item" if key else "fact") if kind is None else kind,
        tags=tag or (),
        metadata=attached,
        event_time=happened,
        valid_until=session.parse_moment(until, "until"),
        session=in_session,
        namespace=_parts(namespace),
        key=key,
    )
    session.show(record, safe_text(f"remembered {record.id}"))
    if record.valid_until and record.valid_until <= record.created_at:
        session.warn(f"--until {until} is over: no search or list finds it")


@command(commands, "correct")
def correct(session: Session, id: options.RecordId, text: options.Words) -> None:
    """Replace what a record says; the old one is kept.

    Examples:
        memoranda correct fact_01JD… "Ana is vegan since March"
    """
    memory, old = session.find_id(id)
    record = memory.correct(old, read_words(text))
    session.show(record, safe_text(f"corrected: {record.id} replaces {old}"))


@command(commands, "confirm")
def confirm(session: Session, id: options.RecordId) -> None:
    """Believe a record fully, for ever.

    Examples:
        memoranda confirm fact_01JD…
    """
    memory, found = session.find_id(id)
    record = memory.confirm(found)
    session.show(record, safe_text(f"confirmed {record.id}"))


@command(commands, "forget")
def forget(
    session: Session,
    id: options.MaybeId = None,
    *,
    namespace: options.Namespace = None,
    key: options.Key = None,
    erase: options.Erase = False,
    yes: options.Yes = False,
) -> None:
    """Stop believing a record, or erase every trace of it.

    Examples:
        memoranda forget fact_01JD…
        memoranda forget last
        memoranda forget fact_01JD… --erase --yes
        memoranda forget --namespace app/settings --key theme
    """
    memory, found = _existing(session, id, namespace, key)
    if erase:
        question = f"Erase this for good? {one_line(found.content, LONGEST)}"
        session.require_yes(question, "nothing was erased", yes=yes)
    receipt = memory.forget(found.id, erase=erase)
    done, end = ("erased", "") if erase else ("forgotten", "; history and as-of still know it")
    session.show_erasure(receipt, f"{done} {receipt.id}", end)
    if not erase:
        session.note(f"to remove its text, too: memoranda forget {receipt.id} --erase")


def _existing(
    session: Session, id: str | None, namespace: str | None, key: str | None
) -> tuple[Memory, Record]:
    """Return the memory, and the record of an id, or of namespace and key.

    Raises:
        InvalidInput: nothing names it, or both do.
        NotFound: there is none.
    """
    if (id is None) == (key is None):
        message = "name a record by its id, as memoranda list shows it, or an item by --key"
        raise InvalidInput(f"{message} and --namespace")
    memory, known = session.find_id(id or "")
    return memory, require_record(memory, known or id, namespace=_parts(namespace), key=key)


@command(commands, "search", FilterCommand)
def search(
    session: Session,
    query: Annotated[list[str], Argument(help="A question or words, in any language.")],
    *,
    why: Annotated[bool, Option("--why", help="Say why each record was found.")] = False,
    limit: options.Limit = 5,
    as_of: Annotated[
        str | None, Option(metavar="DATE", help="What was believed at this moment.")
    ] = None,
    min_score: Annotated[
        float | None,
        Option(min=0, max=1, help="Nothing below it; 0 also shows what is hardly relevant."),
    ] = None,
) -> None:
    """Find what answers a question: when, who, what and why.

    Examples:
        memoranda search "what does she eat?"
        memoranda search "the trip last spring" --why --limit 3
        memoranda search "diet" --kind fact --tag diet --since 2025-01-01 --json
        memoranda search "deadline" --metadata project=atlas --metadata owner=ana
    """
    from memoranda.search.recall import find_near_best  # noqa: PLC0415 - a list does without

    where, moment = read_filters(session), session.parse_moment(as_of, "as-of")
    memory = session.memory()
    found = memory.search(
        read_words(query), limit=limit, min_score=min_score, as_of=moment, **where
    )
    shown = find_near_best(found) if min_score is None else found
    form = [explain_hit(hit) for hit in shown] if why else shown
    session.show(form, drawing.show_hits(shown, session.view, why=why))
    if found and not shown:
        session.note("--min-score 0 shows what is nearest")
    if any(HIDDEN in hit.record.content for hit in shown):
        session.note(f"{HIDDEN} hides what may be a secret; memoranda show ID prints it")
    derivations = services_of(memory).derivations
    if derivations.embedder is None and memory.settings.embedding.model == "auto":
        session.note(f"words and names were compared, but not meaning: {derivations.problem}")


@command(commands, "recall")
def recall(
    session: Session,
    prompt: Prompt,
    *,
    budget: Annotated[int, Option(help="Most tokens it may take.")] = 1_000,
) -> None:
    """Print the memories for a prompt, as an agent gets them.

    Examples:
        memoranda recall "Book me something to Lisbon" --budget 500
    """
    found = session.memory().recall(read_words(prompt), budget=budget)
    session.show(found, *([safe_text(found.text)] if found.text else []))
    used = f"{found.tokens:,} of {budget:,} tokens, {pluralize(len(found.hits), 'record')}"
    session.note(
        used if found.text else f"nothing to recall for this within {pluralize(budget, 'token')}"
    )


@command(commands, "context")
def context(
    session: Session,
    prompt: Prompt,
    *,
    conversation: Annotated[str | None, Option(help="A stored conversation to continue.")] = None,
    budget: Annotated[int | None, Option(help="Most tokens; otherwise 80 % of the window.")] = None,
) -> None:
    """Print all that a model would be sent for a prompt.

    That is the system prompt, memory, the conversation and the prompt, within the budget; the
    receipt says what went in, what stayed out, and why.

    Examples:
        memoranda context "Book me something to Lisbon" --budget 2000
        memoranda context "And the hotel?" --conversation trip
    """
    from memoranda.rendering.conversations import show_context  # noqa: PLC0415 - a search is faster

    stored = session.memory().stored_conversations
    chat = stored.unsaved() if conversation is None else stored.open_existing(conversation)
    built = chat.context(read_words(prompt), budget=budget)
    session.show(built, *show_context(built, session.view))


@command(commands, "show")
def show(
    session: Session,
    id: options.MaybeId = None,
    *,
    namespace: options.Namespace = None,
    key: options.Key = None,
) -> None:
    """Show everything about one record.

    Examples:
        memoranda show fact_01JD…
        memoranda show --namespace app/settings --key theme
    """
    _, found = _existing(session, id, namespace, key)
    session.show(found, drawing.show_record(found, session.view))


@command(commands, "list", FilterCommand)
def list_(
    session: Session,
    *,
    limit: options.Limit = 20,
    offset: options.Offset = 0,
    newest_first: Annotated[bool, Option("--newest-first", help="The newest first.")] = False,
) -> None:
    """List records in the order they were recorded.

    Examples:
        memoranda list --kind fact --newest-first
        memoranda list --session trip --limit 20 --offset 20
        memoranda list --tag diet --metadata project=atlas --since 2025-01-01
    """
    where = read_filters(session)
    found = session.memory().records(limit=limit, offset=offset, newest_first=newest_first, **where)
    session.show_table(found, drawing.RECORDS, "no records")


@command(commands, "history")
def history(session: Session, id: options.RecordId) -> None:
    """Show what was done to a record, when and why.

    Examples:
        memoranda history fact_01JD…
    """
    memory, record = session.find_id(id)
    found = memory.history(record)
    if not found:
        require_record(memory, record)  # It says what to do.
    session.show_table(found, drawing.CHANGES)

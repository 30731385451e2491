"""Commands on facts and where they come from, and on people, places and things."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group, read_words
from memoranda.rendering import facts as known
from memoranda.rendering import records as drawing
from memoranda.rendering.layout import safe_text, table
from memoranda.rendering.plain import one_line, pluralize
from memoranda.serving.existing import require_entity

commands = typer.Typer()


class FactsGroup(CommandGroup):
    """List facts with how far they are believed; show where one comes from.

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --limit 50
        memoranda facts show fact_01JD…
    """

    default = "list"
    takes_words = True


class EntitiesGroup(CommandGroup):
    """List what records speak of; make two of them one.

    Examples:
        memoranda entities --type person --limit 20
        memoranda entities merge Melanie Mel
    """

    default = "list"


facts = make_group(commands, "facts", FactsGroup)
entities = make_group(commands, "entities", EntitiesGroup)


@command(facts, "list")
def list_facts(
    session: Session,
    query: Annotated[
        list[str] | None, Argument(help="A question or words; without it, the last said first.")
    ] = None,
    *,
    everything: Annotated[
        bool, Option("--all", help="Also replaced, forgotten and faded ones.")
    ] = False,
    limit: options.Limit = 20,
) -> None:
    """List facts: how far each is believed, since when, and on whose word.

    The word list may be left out: memoranda facts "what does she eat?"

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --limit 50
    """
    words = read_words(query) if query else None
    found = session.memory().facts(words, everything=everything, limit=limit)
    session.show(found, known.show_facts(found, session.view))
    if len(found) == limit:
        session.hint(f"there may be more: --limit {limit * 2}")


@command(facts, "show")
def show(session: Session, id: options.RecordId) -> None:
    """Show where a fact comes from: the turns that say it, its versions and its history.

    Examples:
        memoranda facts show fact_01JD…
    """
    found = session.memory().trace_fact(id)
    session.show(found, *known.show_provenance(found, session.view))


@command(entities, "list")
def list_entities(
    session: Session,
    *,
    type: Annotated[str | None, Option(help="Only person, organization, location, …")] = None,
    limit: options.Limit = 50,
) -> None:
    """List what records speak of, most mentioned first; dates only with --type date.

    Examples:
        memoranda entities --type person --limit 20
    """
    found = session.memory().entities(type=type, limit=limit)
    session.show(found, table(found, drawing.ENTITIES, session.view, empty="no entities"))


@command(entities, "merge")
def merge(
    session: Session,
    name: Annotated[str, Argument(help="The name that stays.")],
    other: Annotated[str, Argument(help="The entity that becomes part of it.")],
) -> None:
    """Make two entities one, for good: whatever is said of either later is, too.

    Examples:
        memoranda entities merge Melanie Mel
        memoranda entities merge "New York" NYC
    """
    found = session.memory().merge_entities(name, other)
    records = pluralize(found.mention_count, "record")
    session.show(found, safe_text(f"one now: {one_line(found.name)}, in {records}"))


@command(commands, "entity")
def entity(
    session: Session, name: Annotated[str, Argument(help="A name or alias, in any case.")]
) -> None:
    """Show a person, place or thing and what is said of it.

    Examples:
        memoranda entity Lisbon
    """
    found = require_entity(session.memory(), name)
    session.show(found, drawing.show_entity(found, session.view))

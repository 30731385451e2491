"""Commands on facts and where they come from, and on people, places and things."""

from __future__ import annotations

import typer

from memoranda.cli.command import ListingGroup, Session, command, complete, make_group
from memoranda.maintenance.facts import CATEGORIES
from memoranda.rendering import facts as known
from memoranda.rendering import records as drawing
from memoranda.rendering.layout import safe_text, table
from memoranda.rendering.plain import one_line, pluralize
from memoranda.serving.existing import require_entity

commands = typer.Typer()


class FactsGroup(ListingGroup):
    """List facts with how far they are believed; show where one comes from.

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --category plan --limit 50
        memoranda facts show fact_01JD…
    """

    takes_words = True


class EntitiesGroup(ListingGroup):
    """List what records speak of; make two of them one.

    Examples:
        memoranda entities --type person --limit 20
        memoranda entities merge Melanie Mel
    """


def list_facts(
    session: Session,
    *,
    query: str | None = None,
    category: str | None = None,
    everything: bool = False,
    limit: int = 20,
) -> None:
    """List facts: how far each is believed, since when, and on whose word.

    The word list may be left out: memoranda facts "what does she eat?"

    Args:
        query: A question or words; without it, the last said first.
        everything: Also those that were replaced, forgotten or faded.
        limit: How many at most.

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --category plan --limit 50
    """
    memory = session.memory()
    found = memory.facts(query, category=category, everything=everything, limit=limit)
    session.show(found, known.show_facts(found, session.view))
    if len(found) == limit:
        session.hint(f"there may be more: --limit {limit * 2}")


def list_entities(session: Session, *, type: str | None = None, limit: int = 50) -> None:
    """List them, most mentioned first; dates only with ``--type date``.

    Args:
        type: Only person, organization, location, …
        limit: How many at most.

    Examples:
        memoranda entities --type person --limit 20
    """
    found = session.memory().entities(type=type, limit=limit)
    session.show(found, table(found, drawing.ENTITIES, session.view, empty="no entities"))


facts = make_group(commands, "facts", FactsGroup, list_facts)
entities = make_group(commands, "entities", EntitiesGroup, list_entities)
command(
    facts,
    "list",
    query={"argument": True},
    category={
        "help": f"Only one of {', '.join(CATEGORIES)}.",
        "autocompletion": complete(CATEGORIES),
    },
)(list_facts)
command(entities, "list")(list_entities)


@command(facts, "show", id={"metavar": "ID"})
def show(session: Session, *, id: str) -> None:
    """Show where a fact comes from: the turns that say it, its versions and its history.

    Args:
        id: The fact, such as fact_01JD….

    Examples:
        memoranda facts show fact_01JD…
    """
    found = session.memory().trace_fact(id)
    session.show(found, *known.show_provenance(found, session.view))


@command(entities, "merge")
def merge(session: Session, *, name: str, other: str) -> None:
    """Make two entities one, for good: whatever is said of either later is, too.

    Args:
        name: The name that stays.
        other: The entity that becomes part of it.

    Examples:
        memoranda entities merge Melanie Mel
        memoranda entities merge "New York" NYC
    """
    found = session.memory().merge_entities(name, other)
    line = safe_text("one now: ").append(one_line(found.name), "bold")
    if found.aliases:
        line.append(f", also {one_line(', '.join(found.aliases))}")
    session.show(found, line.append(f", in {pluralize(found.mention_count, 'record')}"))


@command(commands, "entity")
def entity(session: Session, *, name: str) -> None:
    """Show a person, place or thing and what is said of it.

    Args:
        name: A name or alias, in any case.

    Examples:
        memoranda entity Lisbon
    """
    found = require_entity(session.memory(), name)
    session.show(found, drawing.show_entity(found, session.view))

"""Commands on facts and where they come from, and on people, places and things."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group, read_words
from memoranda.rendering import facts as known
from memoranda.rendering import records as drawing
from memoranda.serving.existing import require_entity

commands = typer.Typer()


class FactsGroup(CommandGroup):
    """List facts with how far they are believed; show where one comes from.

    The word list may be left out; memoranda facts list --help has its options.

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --limit 50
        memoranda facts show fact_01JD…
    """

    default = "list"
    takes_words = True


facts = make_group(commands, "facts", FactsGroup)


@command(facts, "list")
def list_facts(
    session: Session,
    query: Annotated[
        list[str] | None, Argument(help="A question or words; without them, the newest first.")
    ] = None,
    *,
    everything: Annotated[
        bool, Option("--all", help="Also those that were replaced or forgotten, or faded.")
    ] = False,
    waiting: Annotated[
        bool, Option("--waiting", help="Only those that wait for approval: confirm ID keeps one.")
    ] = False,
    limit: options.Limit = 20,
) -> None:
    """List facts: how far each is believed, since when, and on whose word.

    Examples:
        memoranda facts
        memoranda facts "what does she eat?" --all
        memoranda facts --limit 50
    """
    words = read_words(query) if query else None
    found = session.memory().facts(words, everything=everything, waiting=waiting, limit=limit)
    session.show_table(found, known.FACTS, "no facts")


@command(facts, "show")
def show(session: Session, id: options.RecordId) -> None:
    """Show where a fact comes from: the turns that say it, its versions and its history.

    Examples:
        memoranda facts show fact_01JD…
    """
    memory, fact = session.find_id(id)
    found = memory.trace_fact(fact)
    session.show(found, *known.show_provenance(found, session.view))


@command(commands, "entities")
def entities(
    session: Session,
    *,
    type: Annotated[str | None, Option(help="Only person, organization, location, …")] = None,
    limit: options.Limit = 50,
) -> None:
    """List the names in records, most mentioned first; dates only with --type date.

    Examples:
        memoranda entities --type person --limit 20
    """
    found = session.memory().entities(type=type, limit=limit)
    session.show_table(found, drawing.ENTITIES, "no entities")


@command(commands, "entity")
def entity(
    session: Session, name: Annotated[str, Argument(help="A name or alias, in any case.")]
) -> None:
    """Show a person, place or thing, and what is said about it.

    Examples:
        memoranda entity Lisbon
    """
    found = require_entity(session.memory(), name)
    session.show(found, drawing.show_entity(found, session.view))

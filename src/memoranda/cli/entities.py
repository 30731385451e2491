"""Commands on the people, places and things that records speak of."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli import tables
from memoranda.cli.command import Listing, Session, command, group
from memoranda.cli.output import counted, one_line, styled

PANEL = "Look"
LISTED = 50
EXAMPLES = (
    "memoranda entities --type person --limit 20",
    "memoranda entities merge Melanie Mel",
    "memoranda entities split Melanie Mel",
)

commands = typer.Typer()
DATES = 1_000
"""More than that many dates are not looked past for other things."""

entities = typer.Typer(
    cls=Listing,
    help="List the people, places and things that records speak of; make two one, or one two.",
    epilog="\n\n".join(["Examples:", *(f"  {each}" for each in EXAMPLES)]),
)
group(entities)


@command(
    entities,
    "list",
    examples=("memoranda entities --type person --limit 20",),
)
def list_(
    session: Session,
    *,
    type: Annotated[str | None, typer.Option(help="Only person, organization, location, …")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = LISTED,
) -> None:
    """List them, most mentioned first; dates only with ``--type date``."""
    with session.memory() as memory:
        found = memory.entities(type=type, limit=limit if type else limit + DATES)
        found = [each for each in found if type or each.type != "date"][:limit]
        session.show(found, tables.entities(found))


@command(
    entities,
    "merge",
    examples=("memoranda entities merge Melanie Mel", 'memoranda entities merge "New York" NYC'),
)
def merge(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(help="The name that stays.")],
    other: Annotated[str, typer.Argument(help="The entity that becomes part of it.")],
) -> None:
    """Make two entities one, for good: whatever is said of either later is, too."""
    with session.memory() as memory:
        found = memory.merge_entities(name, other)
    said = styled("one now: ").append(one_line(found.name), "bold")
    if found.aliases:
        said.append(f", also {one_line(', '.join(found.aliases))}")
    session.show(found, said.append(f", in {counted(found.mention_count, 'record')}"))


@command(entities, "split", examples=("memoranda entities split Melanie Mel",))
def split(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(help="The entity.")],
    alias: Annotated[str, typer.Argument(help="The name of it that means another one.")],
) -> None:
    """Make a name of an entity an entity of its own, for good."""
    with session.memory() as memory:
        new = memory.split_entity(name, alias)
        old = memory.entity(name)
    said = styled("").append(one_line(new.name), "bold")
    said.append(f" is an entity of its own now, in {counted(new.mention_count, 'record')}")
    if old is not None:
        left = counted(old.mention_count, "record")
        said.append(f"; {one_line(old.name)} is in {left}")
    session.show(new, said)


commands.add_typer(entities, name="entities", rich_help_panel=PANEL)

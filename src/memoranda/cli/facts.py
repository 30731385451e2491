"""Commands that show what is believed, how far, and on whose word."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli import facts_drawing as drawing
from memoranda.cli.command import Listing, Session, command, group
from memoranda.cli.conversations_drawing import Look
from memoranda.rendering import facts as known
from memoranda.rendering.facts import CATEGORIES

PANEL = "Look"
LISTED = 20
EXAMPLES = (
    "memoranda facts",
    'memoranda facts "what does she eat?" --all',
    "memoranda facts --category plan --limit 50",
    "memoranda facts show fact_01JD…",
)


def _categories(incomplete: str) -> list[str]:
    return [name for name in CATEGORIES if name.startswith(incomplete)]


commands = typer.Typer()
facts = typer.Typer(
    cls=Listing,
    help="List facts with how far they are believed; show where one comes from.",
    epilog="\n\n".join(["Examples:", *(f"  {each}" for each in EXAMPLES)]),
)
group(facts)


@command(
    facts,
    "list",
    examples=EXAMPLES[:-1],
)
def list_(
    session: Session,
    *,
    query: Annotated[
        str | None, typer.Argument(help="A question or words; without it, the last said first.")
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            help=f"Only one of {', '.join(CATEGORIES)}.",
            autocompletion=_categories,
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that were replaced, forgotten or faded.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = LISTED,
) -> None:
    """List facts: how far each is believed, since when, and on whose word.

    The word list may be left out: memoranda facts "what does she eat?"
    """
    with session.memory() as memory:
        found = known.facts(memory, query, category=category, everything=everything, limit=limit)
        session.show(found, drawing.facts(found, session.settings))
    if len(found) == limit and not session.shared.as_json:
        session.note(f"there may be more: --limit {limit * 2}")


@command(facts, "show", examples=("memoranda facts show fact_01JD…",))
def show(
    session: Session,
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="The fact, such as fact_01JD….")],
) -> None:
    """Show where a fact comes from: the turns that say it, its versions and its history."""
    with session.memory() as memory:
        found = known.provenance(memory, id)
        session.show(
            found, *drawing.provenance(found, Look(console=session.out, settings=session.settings))
        )


commands.add_typer(facts, name="facts", rich_help_panel=PANEL)

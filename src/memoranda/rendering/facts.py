"""Shows facts with their confidence, date and source."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from memoranda.maintenance.facts import BELIEVED, Fact, Provenance
from memoranda.rendering.layout import LONGEST, Column, Display, safe_text, table
from memoranda.rendering.plain import join, one_line
from memoranda.rendering.records import CHANGES, NAME

SHORT = 80


def describe_fact(fact: Fact, view: Display, longest: int | None = None) -> Iterator[Text]:
    """Yield a fact, cut to ``longest`` characters, who said it, and what it replaced."""
    gone = fact.state != BELIEVED
    yield safe_text(view.brief(fact.record.content, longest), "dim strike" if gone else "")
    fades = "" if fact.fades_on is None else f"fades {view.day(fact.fades_on)}"
    who = one_line(fact.record.source_role or fact.record.trust.value, NAME)
    yield safe_text(join(who, fact.state if gone else fades, fact.record.id), "dim")
    links = [("replaces", old) for old in fact.supersedes]
    links += [("replaced by", fact.superseded_by)] if fact.superseded_by else []
    for how, other in links:
        content = f"{view.brief(other.content, SHORT)} ({view.day(other.said_at)})"
        yield Text(f"{how}: ", "yellow").append_text(safe_text(content, "dim"))


FACTS = (
    Column("confidence", "confidence", number=True),
    Column("said", lambda fact, view: view.day(fact.said_at), whole=True),
    Column("what", lambda fact, view: view.stack(*describe_fact(fact, view, LONGEST))),
)
SOURCES = (
    Column("when", "said_at", whole=True),
    Column("who", "speaker", "cyan"),
    Column("words", lambda source, _: safe_text(source.text or "no longer there")),
    Column("where", "session", "dim"),
    Column("#", "position", "dim", number=True),
)


def show_provenance(found: Provenance, view: Display) -> Iterator[RenderableType]:
    """Yield a fact with its versions, the turns it rests on as they were said, and its history."""
    yield from describe_fact(found.fact, view)
    yield Text("\nsaid in", "bold")
    yield table(found.sources, SOURCES, view, empty="no turn: it was stored as it is")
    yield Text("\nhistory", "bold")
    yield table(found.history, CHANGES, view)

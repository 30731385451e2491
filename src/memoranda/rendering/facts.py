"""Shows facts with their confidence, date and source, and what consolidation learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from memoranda.maintenance.facts import BELIEVED, ENDED, Fact, FactVersion, LearnedFacts, Provenance
from memoranda.model.models import Record
from memoranda.rendering.layout import Column, Display, bar, safe_text, table
from memoranda.rendering.plain import DOT, join, one_line
from memoranda.rendering.records import NAME, show_changes, show_record

CONFIDENCE = 6  # columns of a confidence
SHORT = 80
LEVELS = ((0.7, "green"), (0.4, "yellow"), (0.0, "red"))
FACTS = (
    Column("confidence", lambda fact, _: confidence_bar(fact.confidence), whole=True),
    Column("said", lambda fact, view: view.day(fact.said_at), whole=True),
    Column("what", lambda fact, view: view.stack(*_lines(fact, view))),
)


def confidence_bar(value: float) -> Text:
    """Return a confidence as a bar and its figure."""
    colour = next(colour for least, colour in LEVELS if value >= least)
    shown = bar(value, CONFIDENCE, colour)
    shown.pad_right(CONFIDENCE - shown.cell_len)
    return shown.append(f" {value:.2f}", "default")


def show_facts(found: Sequence[Fact], view: Display) -> RenderableType:
    """Return facts with how far they are believed, since when and on whose word."""
    return table(found, FACTS, view, empty="no facts")


def _lines(fact: Fact, view: Display) -> Iterator[Text]:
    gone = fact.state != BELIEVED
    yield safe_text(view.brief(fact.record.content), "dim strike" if gone else "")
    yield from _about_version(fact, view)


def describe_fact(fact: Fact, view: Display) -> Iterator[Text]:
    """Yield a fact whole, with who said it and what it replaced."""
    yield safe_text(fact.record.content)
    yield from _about_version(fact, view)


def _about_version(fact: Fact, view: Display) -> Iterator[Text]:
    who = safe_text(name_source(fact.record), "cyan")
    yield who.append(DOT.join(["", *_marks(fact, view), fact.record.id]), "dim")
    for old in fact.supersedes:
        yield _link("replaces", old, view)
    if fact.superseded_by is not None:
        yield _link("replaced by", fact.superseded_by, view)


def name_source(record: Record) -> str:
    """Return who said a fact; how far they are trusted where nobody is named."""
    return one_line(record.source_role or record.trust.value, NAME)


def _marks(fact: Fact, view: Display) -> Iterator[str]:
    if fact.state == ENDED and fact.record.valid_until is not None:
        yield f"ended {view.day(fact.record.valid_until)}"
    elif fact.state != BELIEVED:
        yield fact.state
    if fact.category:
        yield one_line(fact.category, 20)
    happened = view.day(fact.record.event_time)
    if happened != view.day(fact.said_at):
        yield f"of {happened}"
    if fact.said > 1:
        yield f"said {fact.said} times"
    if fact.state != ENDED:
        yield "never fades" if fact.fades_on is None else f"fades {view.day(fact.fades_on)}"


def _link(how: str, other: FactVersion, view: Display) -> Text:
    content = f"{view.brief(other.content, SHORT)} ({view.day(other.said_at)})"
    return Text(f"{how}: ", "yellow").append_text(safe_text(content, "dim"))


def show_provenance(found: Provenance, view: Display) -> Iterator[RenderableType]:
    """Yield a fact, the turns it rests on as they were said, its versions and its history."""
    fact = found.fact
    yield show_record(fact.record, view)
    marks = [fact.state, *_marks(fact, view), f"said first {view.minute(fact.said_at)}"]
    yield from view.hang("", join(*dict.fromkeys(marks)), "cyan")
    yield Text("\nsaid in", "bold")
    yield table(found.sources, SOURCES, view, empty="no turn: it was told as it is")
    for title, versions in (("it replaces", found.before), ("it was replaced by", found.after)):
        if versions:
            yield Text(f"\n{title}", "bold")
            yield show_facts(versions, view)
    yield Text("\nhistory", "bold")
    yield show_changes(found.history, view)


def place_of(session: str | None, position: int | None) -> str:
    """Return a conversation and the place in it, as far as they are known."""
    if not session:
        return ""
    return one_line(session, 40) + ("" if position is None else f" #{position}")


SOURCES = (
    Column("when", "said_at", whole=True),
    Column("who", lambda source, _: one_line(source.speaker or "", NAME), "cyan"),
    Column("words", lambda source, _: safe_text(source.text or "no longer there")),
    Column("where", lambda source, _: join(place_of(source.session, source.position), source.id),
           "dim"),
)  # fmt: skip
SIGNS = {"+": "bold green", "=": "bold cyan", "-": "bold red", "~": "bold yellow"}
LEARNED = (
    Column("", lambda row, _: Text(row[0], SIGNS.get(row[0], "")), whole=True),
    Column("said", lambda row, view: row[1] and view.day(row[1]), whole=True),
    Column("who", lambda row, _: row[2], "cyan"),
    Column("what", lambda row, _: row[3]),
)
Row = tuple[str, datetime | None, str, RenderableType]


def show_learned(found: LearnedFacts, view: Display, limit: int) -> RenderableType:
    """Return what was learned: new (+), said again (=), replaced (-)."""
    rows = list(_rows(found, view))
    if more := rows[limit:]:
        rows[limit:] = [("", None, "", Text(f"… {len(more):,} more", "dim"))]
    empty = "nothing new was said" if found.sessions else "nothing waits to be read"
    return table(rows, LEARNED, view, empty=empty)


def _rows(found: LearnedFacts, view: Display) -> Iterator[Row]:
    for new in found.new:
        fact, kind = new.fact, new.fact.metadata.get("category")
        category = one_line(kind, 20) if isinstance(kind, str) else ""
        yield _row("+", fact, view, new.source, category, "" if found.dry_run else fact.id)
    for again in found.again:
        fact, reason = again.fact, one_line(again.reason)
        yield _row("=", fact, view, again.source, fact.id, reason)
    for old in found.replaced:
        now = f"now: {view.brief(old.by.content, SHORT)}" if old.by else ""
        yield _row("-", old.fact, view, None, old.fact.id, now)


def _row(sign: str, fact: Record, view: Display, source: Record | None, *about: str) -> Row:
    place = "" if source is None else place_of(source.session_id, source.position)
    content = safe_text(view.brief(fact.content), "dim strike" if sign == "-" else "")
    what = view.stack(content, safe_text(join(*about, place), "dim"))
    said = fact.event_time if source is None else source.event_time
    return sign, said, name_source(fact), what

"""How facts look: how far each is believed as a bar, on whose word, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.cli import tables
from memoranda.cli.conversations_drawing import Look, flowing, wrapped
from memoranda.cli.output import counted, day, minute, one_line, styled
from memoranda.model.models import Record
from memoranda.rendering.facts import BELIEVED, ENDED, Fact, Provenance, Source, Version
from memoranda.rendering.learned import Again, Learned, New, Replaced
from memoranda.settings.settings import Settings

BLOCKS = " ▏▎▍▌▋▊▉█"
EIGHTHS = 8
BAR = 6
LONGEST = 280
SHORT = 80
QUOTE = "▎ "
DOT = " · "
LEVELS = ((0.7, "green"), (0.4, "yellow"), (0.0, "red"))
SIGNS = {"+": "bold green", "=": "bold cyan", "-": "bold red", "~": "bold yellow"}


def confidence(value: float, *, width: int = BAR) -> Text:
    """Return a confidence as a bar of ``width`` columns, and its figure."""
    share = min(max(value, 0.0), 1.0)
    eighths = max(1, round(share * width * EIGHTHS)) if share > 0 else 0
    full, rest = divmod(eighths, EIGHTHS)
    blocks = (BLOCKS[-1] * full + (BLOCKS[rest] if rest else "")).ljust(width)
    colour = next(colour for least, colour in LEVELS if share >= least)
    return Text(blocks, colour).append(f" {value:.2f}", "not bold")


def facts(found: Sequence[Fact], settings: Settings) -> RenderableType:
    """Return facts with how far they are believed, since when and on whose word."""
    if not found:
        return Text("no facts", style="dim")
    made = tables.table("confidence", "said", "what")
    made.columns[0].no_wrap = made.columns[1].no_wrap = True
    for fact in found:
        made.add_row(
            confidence(fact.confidence),
            day(fact.said_at, settings),
            Group(*_told(fact, settings)),
        )
    return made


def _told(fact: Fact, settings: Settings) -> Iterator[Text]:
    gone = fact.state != BELIEVED
    yield styled(one_line(fact.record.content, LONGEST), "dim strike" if gone else "")
    who = styled(_speaker(fact.record), "cyan")
    yield who.append(DOT.join(["", *_marks(fact, settings), fact.record.id]), "dim")
    for old in fact.supersedes:
        yield _link("replaces", old, settings)
    if fact.superseded_by is not None:
        yield _link("replaced by", fact.superseded_by, settings)


def _speaker(record: Record) -> str:
    return one_line(record.source_role or record.trust.value, tables.NAMES)


def _marks(fact: Fact, settings: Settings) -> Iterator[str]:
    if fact.state == ENDED and fact.record.valid_until is not None:
        yield f"ended {day(fact.record.valid_until, settings)}"
    elif fact.state != BELIEVED:
        yield fact.state
    if fact.category:
        yield one_line(fact.category, 20)
    happened = day(fact.record.event_time, settings)
    if happened != day(fact.said_at, settings):
        yield f"of {happened}"
    if fact.said > 1:
        yield f"said {fact.said} times"
    if fact.state != ENDED:
        yield _fading(fact, settings)


def _fading(fact: Fact, settings: Settings) -> str:
    return "never fades" if fact.fades_on is None else f"fades {day(fact.fades_on, settings)}"


def _link(how: str, other: Version, settings: Settings) -> Text:
    said = f"{one_line(other.content, SHORT)} ({day(other.said_at, settings)})"
    return Text(f"{how}: ", "yellow").append_text(styled(said, "dim"))


def provenance(found: Provenance, look: Look) -> Iterator[RenderableType]:
    """Yield a fact, the turns it rests on as they were said, its versions and its history."""
    fact, record, settings = found.fact, found.fact.record, look.settings
    yield styled(record.content, "bold" if fact.state == BELIEVED else "bold strike")
    yield tables.grid(_about(fact, settings))
    yield from _sources(found.sources, look)
    for title, versions in (("it replaces", found.before), ("it was replaced by", found.after)):
        if versions:
            yield Text(f"\n{title}", "bold")
            yield facts(versions, settings)
    yield Text("\nhistory", "bold")
    yield tables.changes(found.history, settings)


def _about(fact: Fact, settings: Settings) -> Iterator[tuple[str, RenderableType]]:
    record = fact.record
    state = fact.state
    if record.valid_until is not None:
        state += f", until {minute(record.valid_until, settings)}"
    yield "id", Text(record.id)
    yield "state", state
    yield "confidence", confidence(fact.confidence, width=2 * BAR)
    if record.decay_rate and fact.state != ENDED:
        yield "fades", f"{record.decay_rate:g} a day; {_fading(fact, settings)} if nobody asks"
    elif fact.state != ENDED:
        yield "fades", "never"
    yield "said", f"{minute(fact.said_at, settings)}, by {_speaker(record)}"
    yield "happened", minute(record.event_time, settings)
    subject = record.attributes.get("subject")
    for name, value in (("about", subject), ("category", fact.category)):
        if isinstance(value, str) and value:
            yield name, value
    if record.session_id:
        yield "session", record.session_id
    yield "origin", f"{record.origin}, {record.trust.value}"
    yield "recalled", counted(record.access_count, "time")


def _sources(sources: Sequence[Source], look: Look) -> Iterator[RenderableType]:
    if not sources:
        yield Text("\nit rests on no turn: it was told as it is", "dim")
        return
    yield Text("\nsaid in" if len(sources) == 1 else f"\nsaid {len(sources)} times", "bold")
    for source in sources:
        yield Text()
        if source.text is None or source.said_at is None:
            yield styled(f"{source.id} is no longer there", "dim")
            continue
        parts = [
            styled(one_line(source.speaker or "", SHORT), "bold cyan"),
            Text(minute(source.said_at, look.settings)),
            *(styled(place, "dim") for place in _place(source)),
        ]
        yield from flowing(parts, look)
        yield from _quoted(source.text, look)


def _place(source: Source) -> Iterator[str]:
    if source.session is not None:
        where = one_line(source.session, 40)
        yield where if source.position is None else f"{where} #{source.position}"
    yield source.id


def _quoted(text: str, look: Look) -> Iterator[Text]:
    room = None if look.width is None else look.width - len(QUOTE)
    for line in wrapped(map(styled, text.splitlines()), look, room):
        yield Text(QUOTE, "cyan").append_text(styled(line.plain, "not cyan default"))


def learned(found: Learned, settings: Settings, limit: int | None = None) -> RenderableType:
    """Return what was learned: new (+), said again (=), replaced (-)."""
    rows: list[New | Again | Replaced] = [*found.new, *found.again, *found.replaced]
    if not rows:
        return Text("nothing new was said" if found.sessions else "nothing waits to be read", "dim")
    made = tables.table("", "said", "who", "what")
    made.columns[0].no_wrap = made.columns[1].no_wrap = True
    for row in rows[:limit]:
        made.add_row(*_row(row, settings, dry_run=found.dry_run))
    if limit is not None and len(rows) > limit:
        made.add_row("", "", "", Text(f"… {len(rows) - limit:,} more", "dim"))
    return made


def _row(
    row: New | Again | Replaced, settings: Settings, *, dry_run: bool
) -> tuple[RenderableType, ...]:
    fact, style = row.fact, ""
    said = fact.event_time
    if isinstance(row, New):
        sign, told = "+", [_kept(fact, dry_run=dry_run), _from(row.source)]
        said = said if row.source is None else row.source.event_time
    elif isinstance(row, Again):
        sign, told = "=", [fact.id, one_line(row.reason), _from(row.source)]
        said = said if row.source is None else row.source.event_time
    else:
        sign, style = "-", "dim strike"
        told = [fact.id, f"now: {one_line(row.by.content, SHORT)}"]
    return (
        Text(sign, SIGNS[sign]),
        day(said, settings),
        styled(_speaker(fact), "cyan"),
        Group(
            styled(one_line(fact.content, LONGEST), style),
            styled(DOT.join(filter(None, told)), "dim"),
        ),
    )


def _kept(fact: Record, *, dry_run: bool) -> str:
    kind = fact.attributes.get("category")
    parts = [one_line(kind, 20) if isinstance(kind, str) else "", "" if dry_run else fact.id]
    return DOT.join(filter(None, parts))


def _from(source: Record | None) -> str:
    if source is None or not source.session_id:
        return ""
    place = "" if source.position is None else f" #{source.position}"
    return f"{one_line(source.session_id, 40)}{place}"

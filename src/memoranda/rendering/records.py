"""Records, hits, changes, entities and contexts as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.model.models import Change, Entity, ForgetReceipt, Hit, Record
from memoranda.rendering.forms import form_of
from memoranda.rendering.layout import Column, Display, bar, details, safe_text, table
from memoranda.rendering.plain import escape_controls, join, one_line, pluralize

NAME = 14  # characters of a speaker
# Records that are named where there may be many.
NAMED = 3
MANY = {"summary": "summaries"}
# Fields of a record that are shown apart, or say the same as another.
APART = ("content", "type", "content_hash", "strength", "strength_at", "enriched_at")
CHANGES = (
    Column("when", "at", whole=True),
    Column("what", "action"),
    Column("why", "reason"),
    Column("detail", "detail", "dim"),
)
ENTITIES = (
    Column("name", "name"),
    Column("type", "type", "dim"),
    Column("records", "mention_count", number=True),
    Column("also called", "aliases", "dim"),
)
RECORDS = (
    Column("when", lambda record, view: view.day(record.event_time), whole=True),
    Column("who", lambda record, _: speaker(record), "cyan"),
    Column("what", lambda record, view: _stack(record, view, "")),
)


def speaker(record: Record) -> str:
    """Return who said a record; its kind where nobody is named."""
    return one_line(record.source_role or record.kind.value, NAME)


HITS = (
    Column("score", "score", number=True),
    Column("when", lambda hit, view: view.day(hit.record.event_time), whole=True),
    Column("who", lambda hit, _: speaker(hit.record), "cyan"),
    Column("what", "record.content"),
)


def show_hits(found: Sequence[Hit], view: Display, *, why: bool = False) -> RenderableType:
    """Return hits with rank, score, date, speaker and text, and their reasons if wanted."""

    def what(hit: Hit, view: Display) -> RenderableType:
        lines = _stack(hit.record, view, "bold" if hit is found[0] else "")
        return Group(lines, _reasons(hit, view), Text()) if why else lines

    rank = Column("#", lambda hit, _: str(found.index(hit) + 1), number=True)
    return table(found, (rank, *HITS[:-1], Column("what", what)), view, empty="nothing found")


def _stack(record: Record, view: Display, style: str = "") -> RenderableType:
    tags = (f"#{view.brief(tag, 30)}" for tag in record.tags)
    place = " / ".join((*record.namespace, record.key or record.session_id or ""))
    label = join(record.id, view.brief(place, 40), *tags)
    return view.stack(safe_text(view.brief(record.content), style), safe_text(label, "dim"))


def _reasons(hit: Hit, view: Display) -> RenderableType:
    """Return the arms of a hit with rank, score and share; the factors; the neighbours."""
    why = hit.why
    lines = [Text(f"{'arm':<9}{'rank':>5}{'score':>7}{'share':>7}", "dim")]
    for name, arm in sorted(why.arms.items(), key=lambda item: -item[1].share):
        figures = f"{one_line(name):<9}{arm.rank:>5}{arm.score:>7.2f}{arm.share:>7.3f}  "
        lines.append(Text(figures).append_text(bar(arm.share / (hit.score or 1))))
    factors = {"recency": why.recency, "confidence": why.confidence, "precedence": why.precedence}
    shown = "  ".join(f"{name} x{value:.2f}" for name, value in factors.items() if value != 1)
    words = "  ".join(f"{each.asked} = {each.found} {each.cosine:.2f}" for each in why.words)
    beside = {"factors": shown, "words": words, "before": why.before, "after": why.after}
    for name, text in beside.items():
        if text:
            lines.append(Text(f"{name:<9}", "dim").append(view.brief(text), "dim italic"))
    return Group(*lines)


def show_records(found: Sequence[Record], view: Display) -> RenderableType:
    """Return a page of records."""
    return table(found, RECORDS, view, empty="no records")


def show_record(found: Record, view: Display) -> RenderableType:
    """Return everything about a record: its text, and its other fields by their names."""
    rest = [
        (name.replace("_", " "), view.cell(value))
        for name, value in form_of(found).items()
        if name not in APART and value not in (None, "", (), {}, 0.0)
    ]
    return Group(safe_text(found.content, "bold"), details(rest))


def show_changes(found: Sequence[Change], view: Display) -> RenderableType:
    """Return the history of a record, oldest first."""
    return table(found, CHANGES, view)


def show_entity(found: Entity, view: Display) -> RenderableType:
    """Return the profile of an entity with its newest records."""
    head = safe_text(one_line(found.name), "bold")
    about = f"  {escape_controls(found.type)}, in {pluralize(found.mention_count, 'record')}"
    head.append(about, "dim")
    if found.aliases:
        head.append(f"  also {view.brief(', '.join(found.aliases))}", "dim")
    return Group(head, show_records(found.records, view))


def list_erased(receipt: ForgetReceipt) -> list[str]:
    """Return what a forgetting took along beside what was named, part by part."""
    whole = receipt.records if receipt.conversations else 0
    counts = (
        (receipt.conversations, "conversation", None),
        (whole, "record", None),
        (len(receipt.versions), "other version", None),
        (len(receipt.copies), "exact copy", "exact copies"),
        (len(receipt.derived), "record derived from it", "records derived from it"),
        (receipt.messages, "message", None),
        (receipt.notes, "place in the notes", "places in the notes"),
    )
    found = [pluralize(number, one, many) for number, one, many in counts if number]
    cut = Counter(place.kind.value for place in receipt.places)
    found += [
        f"cut out of {pluralize(number, kind, MANY.get(kind))}" for kind, number in cut.items()
    ]
    if receipt.independent:
        same = pluralize(len(receipt.independent), "text that says", "texts that say")
        found.append(f"but not {same} the same: {', '.join(receipt.independent[:NAMED])}")
    return found


def warn_of_rest(receipt: ForgetReceipt) -> list[str]:
    """Return what a person has to know of an erasure: what it does not reach, and what is left."""
    if not receipt.erased:
        return []
    told = []
    if receipt.likely:
        told.append(
            "what tells it in other words cannot be found for sure; look at these, and erase what "
            f"should go: {', '.join(receipt.likely)}"
        )
    return [*told, *([receipt.unpurged] if receipt.unpurged else [])]

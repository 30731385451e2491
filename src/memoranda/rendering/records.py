"""Records, hits, changes, entities and contexts as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.model.models import Entity, ForgetReceipt, Hit, Record
from memoranda.rendering.forms import INNER, form_of
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.plain import join, one_line, pluralize

NAME = 14  # characters of a speaker
NAMED = 3  # records that are named where there may be many
APART = ("content", "type", *INNER)  # fields that are shown apart, or not at all
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


def speaker(record: Record) -> str:
    """Return who said a record; its kind where nobody is named."""
    return one_line(record.source_role or record.kind.value, NAME)


def _stack(record: Record, view: Display) -> RenderableType:
    tags = (f"#{view.brief(tag, 30)}" for tag in record.tags)
    place = " / ".join((*record.namespace, record.key or record.session_id or ""))
    label = join(record.id, view.brief(place, 40), *tags)
    return view.stack(safe_text(view.brief(record.content)), safe_text(label, "dim"))


RECORDS = (
    Column("when", lambda record, view: view.day(record.event_time), whole=True),
    Column("who", lambda record, _: speaker(record), "cyan"),
    Column("what", _stack),
)
HITS = (
    Column("score", "score", number=True),
    Column("when", lambda hit, view: view.day(hit.record.event_time), whole=True),
    Column("who", lambda hit, _: speaker(hit.record), "cyan"),
    Column("what", "record.content"),
)


def show_hits(found: Sequence[Hit], view: Display, *, why: bool = False) -> RenderableType:
    """Return hits with score, date, speaker and text, best first, and their reasons if wanted."""

    def what(hit: Hit, view: Display) -> RenderableType:
        lines = _stack(hit.record, view)
        return Group(lines, show_reasons(hit, view)) if why else lines

    return table(found, (*HITS[:-1], Column("what", what)), view, empty="nothing found")


def show_reasons(hit: Hit, view: Display) -> RenderableType:
    """Return the arms of a hit with rank, score and share; the factors; the neighbours."""
    why = hit.why
    arms = sorted(why.arms.items(), key=lambda item: -item[1].share)
    factors = {"confidence": why.confidence, "precedence": why.precedence}
    rows = {
        **{name: f"rank {arm.rank}, score {arm.score:.2f}, share {arm.share:.3f}"
           for name, arm in arms},
        "factors": "  ".join(f"{name} x{x:.2f}" for name, x in factors.items() if x != 1),
        "model": f"cannot read the {why.unread}" if why.unread else "",
        "before": view.brief(why.before or ""),
        "after": view.brief(why.after or ""),
    }  # fmt: skip
    return details(rows)


def show_record(found: Record, view: Display) -> RenderableType:
    """Return everything about a record: its text, and its other fields by their names."""
    rest = [
        (name.replace("_", " "), view.cell(value))
        for name, value in form_of(found).items()
        if name not in APART and value not in (None, "", (), {}, 0.0)
    ]
    return Group(safe_text(found.content, "bold"), details(rest))


def show_entity(found: Entity, view: Display) -> RenderableType:
    """Return the profile of an entity with its newest records."""
    many = pluralize(found.mention_count, "record")
    rows = {found.type: found.name, "also called": ", ".join(found.aliases), "in": many}
    return Group(details(rows), Text(), table(found.records, RECORDS, view, empty="no records"))


def list_erased(receipt: ForgetReceipt) -> list[str]:
    """Return what a forgetting took along beside what was named, part by part."""
    counts = {
        "conversations": receipt.conversations,
        "records": receipt.records if receipt.conversations else 0,
        "other versions": len(receipt.versions),
        "exact copies": len(receipt.copies),
        "records derived from it": len(receipt.derived),
        "messages": receipt.messages,
        "places in the notes": receipt.notes,
        "cut out of others": len(receipt.places),
    }
    found = [f"{what}: {number:,}" for what, number in counts.items() if number]
    if same := receipt.independent:
        found.append(f"but not {len(same):,} that say the same: {', '.join(same[:NAMED])}")
    return found


def warn_of_rest(receipt: ForgetReceipt) -> list[str]:
    """Return what a person has to know of an erasure: what it does not reach, and what is left."""
    if not receipt.erased:
        return []
    words = "these may say it in other words; look at them, and erase what should go"
    told = [f"{words}: {', '.join(receipt.likely)}"] if receipt.likely else []
    return [*told, *filter(None, [receipt.unpurged])]

"""Records, hits, changes, entities and contexts as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memoranda.model.models import Change, Context, Entity, ForgetReceipt, Hit, Record
from memoranda.rendering.layout import Column, Display, bar, details, safe_text, table
from memoranda.rendering.plain import escape_controls, join, one_line, pluralize

NAME = 14  # characters of a speaker
# Records that are named where there may be many.
NAMED = 3
CHANGES = (
    Column("when", "at", whole=True),
    Column("what", "action"),
    Column("why", "reason"),
    Column("detail", lambda change, view: _pairs(change.detail, view), "dim"),
)
ENTITIES = (
    Column("name", "name"),
    Column("type", "type", "dim"),
    Column("records", "mention_count", number=True),
    Column("also called", "aliases", "dim"),
)
RECEIPT = (
    Column("receipt", "what"),
    Column("tokens", lambda item, _: str(item.tokens), number=True),
    Column("why", "why", "dim"),
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
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("arm", "rank", "score", "share"):
        made.add_column(name, justify="left" if name == "arm" else "right", no_wrap=True)
    made.add_column()
    why = hit.why
    for name, arm in sorted(why.arms.items(), key=lambda item: -item[1].share):
        part = arm.share / hit.score if hit.score else 0.0
        score, share = f"{arm.score:.2f}", f"{arm.share:.3f}"
        made.add_row(safe_text(name), str(arm.rank), score, share, bar(part))
    factors = f"recency x{why.recency:.2f}  confidence x{why.confidence:.2f}"
    if why.precedence != 1:
        factors += f"  precedence x{why.precedence:.2f}"
    if why.words:
        pairs = (f"{each.asked} = {each.found} {each.cosine:.2f}" for each in why.words)
        factors += f"\nwords  {'  '.join(pairs)}"
    beside = [
        Text(f"{name:<7}", "dim").append(view.brief(text), "dim italic")
        for name, text in (("before", why.before), ("after", why.after))
        if text
    ]
    return Group(made, safe_text(factors, "dim"), *beside)


def show_records(found: Sequence[Record], view: Display) -> RenderableType:
    """Return a page of records."""
    return table(found, RECORDS, view, empty="no records")


def show_record(found: Record, view: Display) -> RenderableType:
    """Return everything about a record."""
    decay = f", fades {found.decay_rate:g} a day" if found.decay_rate else ""
    last = f", last {view.minute(found.last_accessed)}" if found.last_accessed else ""
    rows = {
        "kind": found.kind.value,
        "namespace": " / ".join(found.namespace),
        "key": found.key,
        "happened": view.stretch(found.event_time, found.event_until),
        "recorded": view.minute(found.created_at),
        "until": view.minute(found.valid_until) if found.valid_until else None,
        "replaced by": found.superseded_by,
        "said by": found.source_role,
        "session": found.session_id,
        "agent": found.agent,
        "tags": ", ".join(found.tags),
        "metadata": ", ".join(f"{key}={value}" for key, value in found.metadata.items()),
        "derived from": ", ".join(found.source_ids),
        "confidence": f"{found.confidence:.2f}{decay}",
        "recalled": f"{found.access_count} times{last}",
        "origin": f"{found.origin}, {found.trust.value}",
    }
    return Panel(
        Group(safe_text(found.content), Text(), details(rows.items())),
        title=Text(found.id),
        title_align="left",
        border_style="dim",
        box=box.ROUNDED,
    )


def show_changes(found: Sequence[Change], view: Display) -> RenderableType:
    """Return the history of a record, oldest first."""
    return table(found, CHANGES, view)


def _pairs(values: Any, view: Display) -> Text:
    pairs = (f"{key}={view.brief(str(value))}" for key, value in values.items())
    return safe_text(", ".join(pairs), "dim")


def show_entity(found: Entity, view: Display) -> RenderableType:
    """Return the profile of an entity with its newest records."""
    head = safe_text(one_line(found.name), "bold")
    about = f"  {escape_controls(found.type)}, in {pluralize(found.mention_count, 'record')}"
    head.append(about, "dim")
    if found.aliases:
        head.append(f"  also {view.brief(', '.join(found.aliases))}", "dim")
    return Group(head, show_records(found.records, view))


def show_context(built: Context, view: Display) -> Iterator[RenderableType]:
    """Yield the messages of what ``Conversation.context`` built, and its receipt."""
    for message in built.messages:
        yield safe_text(str(message["role"]), "bold cyan")
        text, calls = str(message.get("content") or ""), message.get("tool_calls")
        yield Padding(safe_text(f"{text}\n{calls}".strip() if calls else text), (0, 0, 0, 2))
    receipt = built.receipt
    yield table(receipt.included, RECEIPT, view)
    left = "; nothing stayed out"
    if receipt.left_out:
        tokens = sum(item.tokens for item in receipt.left_out)
        messages = pluralize(len(receipt.left_out), "message")
        left = f"; {messages} ({tokens} tokens) stayed out, still searchable"
    about = "" if receipt.exact else "about "
    total = Text(f"{about}{receipt.tokens} of {receipt.budget} tokens", "bold")
    yield total.append(left, "not bold")


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
        f"cut out of {pluralize(number, kind, _plural(kind))}" for kind, number in cut.items()
    ]
    if receipt.independent:
        same = pluralize(len(receipt.independent), "text that says", "texts that say")
        found.append(f"but not {same} the same: {', '.join(receipt.independent[:NAMED])}")
    return found


def _plural(kind: str) -> str:
    return "summaries" if kind == "summary" else f"{kind}s"


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

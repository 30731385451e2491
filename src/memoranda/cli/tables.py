"""How records, hits, contexts and figures look on a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memoranda.cli.output import counted, day, minute, one_line, plain, styled
from memoranda.model.models import Change, Context, Entity, Hit, Record
from memoranda.settings.settings import Settings

LONGEST = 280  # characters of a text in a list; `show` has all of it
BAR = 16
NAMES = 14  # characters of a speaker


def table(*columns: str, right: Sequence[str] = (), wide: str | None = None) -> Table:
    """Return an empty table; ``right`` columns hold numbers, ``wide`` takes what is left."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold",
            no_wrap=name in right,
            ratio=1 if name == wide else None,
        )
    return made


def grid(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """Return names and values side by side, without lines."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), styled(value) if isinstance(value, str) else value)
    return made


def speaker(record: Record) -> str:
    """Return who said a record; its kind where nobody is named."""
    return one_line(record.source_role or record.kind.value, NAMES)


def hits(found: Sequence[Hit], settings: Settings, *, why: bool = False) -> RenderableType:
    """Return hits with rank, score, date, speaker and text, and their reasons if wanted."""
    if not found:
        return Text("nothing found", style="dim")
    made = table("#", "score", "when", "who", "what", right=("#", "score"))
    made.columns[2].no_wrap = True
    for rank, hit in enumerate(found, 1):
        made.add_row(
            str(rank),
            Text(f"{hit.score:.2f}", style="bold" if rank == 1 else ""),
            day(hit.record.event_time, settings),
            styled(speaker(hit.record), "cyan"),
            _found(hit, rank=rank, why=why),
        )
    return made


def _found(hit: Hit, *, rank: int, why: bool) -> RenderableType:
    record = hit.record
    text = styled(one_line(record.content, LONGEST), "bold" if rank == 1 else "")
    label = styled(_label(record), "dim")
    if not why:
        return Group(text, label)
    return Group(text, label, reasons(hit), Text())


def _label(record: Record) -> str:
    parts = [record.id]
    if record.session_id:
        parts.append(one_line(record.session_id, 40))
    parts.extend(f"#{one_line(tag, 30)}" for tag in record.tags)
    return " · ".join(parts)


def reasons(hit: Hit) -> RenderableType:
    """Return the arms of a hit with rank, score and share; the factors; the neighbours."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("arm", "rank", "score", "share"):
        made.add_column(name, justify="left" if name == "arm" else "right", no_wrap=True)
    made.add_column()
    why = hit.why
    ordered = sorted(why.arms.items(), key=lambda item: -item[1].share)
    for name, arm in ordered:
        made.add_row(
            styled(name),
            str(arm.rank),
            f"{arm.score:.2f}",
            f"{arm.share:.3f}",
            bar(arm.share / hit.score if hit.score else 0.0),
        )
    lines: list[RenderableType] = [made]
    factors = f"recency x{why.recency:.2f}  confidence x{why.confidence:.2f}"
    if why.precedence != 1:
        factors += f"  precedence x{why.precedence:.2f}"
    lines.append(Text(factors, "dim"))
    for name, text in (("before", why.before), ("after", why.after)):
        if text:
            lines.append(Text(f"{name:<7}", "dim").append(one_line(text, LONGEST), "dim italic"))
    return Group(*lines)


def bar(share: float, width: int = BAR) -> Text:
    """Return ``share``, 1 at most, as the length of a line."""
    filled = max(1, round(min(share, 1.0) * width)) if share > 0 else 0
    return Text("━" * filled, style="cyan")


def records(found: Sequence[Record], settings: Settings) -> RenderableType:
    """Return a page of records."""
    if not found:
        return Text("no records", style="dim")
    made = table("when", "who", "what")
    made.columns[0].no_wrap = True
    for record in found:
        made.add_row(
            day(record.event_time, settings),
            styled(speaker(record), "cyan"),
            Group(styled(one_line(record.content, LONGEST)), styled(_label(record), "dim")),
        )
    return made


def record(found: Record, settings: Settings) -> RenderableType:
    """Return everything about a record."""
    rows: list[tuple[str, RenderableType]] = [
        ("kind", found.kind.value),
        ("happened", minute(found.event_time, settings)),
        ("recorded", minute(found.created_at, settings)),
    ]
    if found.valid_until is not None:
        rows.append(("until", minute(found.valid_until, settings)))
    for name, value in (
        ("replaced by", found.superseded_by),
        ("said by", found.source_role),
        ("session", found.session_id),
        ("agent", found.agent),
        ("tags", ", ".join(found.tags)),
        ("metadata", ", ".join(f"{key}={value}" for key, value in found.attributes.items())),
        ("derived from", ", ".join(found.source_ids)),
    ):
        if value:
            rows.append((name, value))
    decay = f", fades {found.decay_rate:g} a day" if found.decay_rate else ""
    rows.append(("confidence", f"{found.confidence:.2f}{decay}"))
    recalled = f"{found.access_count} times"
    if found.last_accessed is not None:
        recalled += f", last {minute(found.last_accessed, settings)}"
    rows.append(("recalled", recalled))
    rows.append(("origin", f"{found.origin}, {found.trust.value}"))
    return Panel(
        Group(styled(found.content), Text(), grid(rows)),
        title=Text(found.id),
        title_align="left",
        border_style="dim",
        box=box.ROUNDED,
    )


def changes(found: Sequence[Change], settings: Settings) -> RenderableType:
    """Return the history of a record, oldest first."""
    made = table("when", "what", "why", "detail")
    made.columns[0].no_wrap = True
    for change in found:
        made.add_row(
            minute(change.at, settings),
            styled(change.action),
            styled(one_line(change.reason)),
            styled(
                ", ".join(
                    f"{key}={one_line(str(value), LONGEST)}" for key, value in change.detail.items()
                ),
                "dim",
            ),
        )
    return made


def entities(found: Sequence[Entity]) -> RenderableType:
    """Return entities, with how often they are mentioned."""
    if not found:
        return Text("no entities", style="dim")
    made = table("name", "type", "records", "also called", right=("records",))
    for entity in found:
        made.add_row(
            styled(one_line(entity.name)),
            styled(entity.type, "dim"),
            str(entity.mention_count),
            styled(one_line(", ".join(entity.aliases), LONGEST), "dim"),
        )
    return made


def entity(found: Entity, settings: Settings) -> RenderableType:
    """Return the profile of an entity with its newest records."""
    head = styled(one_line(found.name), "bold")
    head.append(f"  {plain(found.type)}, in {counted(found.mention_count, 'record')}", "dim")
    if found.aliases:
        head.append(f"  also {one_line(', '.join(found.aliases), LONGEST)}", "dim")
    return Group(head, records(found.records, settings))


def context(built: Context) -> RenderableType:
    """Return the messages of what ``Conversation.context`` built, and its receipt."""
    parts: list[RenderableType] = []
    for message in built.messages:
        parts.append(styled(str(message["role"]), "bold cyan"))
        parts.append(Padding(styled(_said(message)), (0, 0, 0, 2)))
    parts.append(receipt(built))
    return Group(*parts)


def _said(message: dict[str, object]) -> str:
    said = str(message.get("content") or "")
    calls = message.get("tool_calls")
    return f"{said}\n{calls}".strip() if calls else said


def receipt(built: Context, *, longest: int | None = None) -> RenderableType:
    """Return what went into a context and what stayed out; ``longest`` lines of either."""
    slip = built.receipt
    about = "" if slip.exact else "about "
    made = table("receipt", "tokens", "why", right=("tokens",))
    for item in slip.included[:longest]:
        made.add_row(styled(item.what), str(item.tokens), styled(item.why, "dim"))
    if longest is not None and len(slip.included) > longest:
        made.add_row(f"… {len(slip.included) - longest} more", "", "")
    out = sum(item.tokens for item in slip.left_out)
    left = (
        f"; {counted(len(slip.left_out), 'message')} ({out} tokens) stayed out, still searchable"
        if slip.left_out
        else "; nothing stayed out"
    )
    total = Text(f"{about}{slip.tokens} of {slip.budget} tokens", "bold").append(left, "not bold")
    return Group(made, total)

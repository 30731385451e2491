"""How the frame of a conversation looks: its budget as a bar, its figures, its receipts.

On a terminal lines are made to fit. In a pipe or a file nothing is wrapped or left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console
from rich.text import Text

from memoranda.cli.output import counted, minute, one_line, styled
from memoranda.conversation.explain import SHOWN, MessageState, ViewExplanation, marker_of
from memoranda.model.models import Cut, Pruning, ToolCall
from memoranda.settings.settings import Settings

ROLES = {"system": "magenta", "user": "green", "assistant": "cyan", "tool": "yellow"}
BAR = 30
DOT = " · "
ALERTS = ((0.9, "red"), (0.8, "yellow"), (0.0, "green"))  # R6.1, R6.2
HOUR, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60  # minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How to draw.

    Attributes:
        console: where it goes.
        settings: the user's time zone.
        explain: whether to say why each message is in or out.
        everything: whether to show what was pruned or cleared message by message.
        given: whether the budget was asked for, rather than the conversation's own.
        limit: the newest so many rows only.
    """

    console: Console
    settings: Settings
    explain: bool = False
    everything: bool = False
    given: bool = False
    limit: int | None = None

    @property
    def width(self) -> int | None:
        """The columns of the terminal; ``None`` where there is none to fit into."""
        return self.console.width if self.console.is_terminal else None


def heading(found: ViewExplanation, look: Look) -> Iterator[Text]:
    """Yield the name of a conversation, its budget as a bar, and the share of each role."""
    info = found.info
    about = [info.model or "", f"since {minute(info.created_at, look.settings)}"]
    if info.ended_at is not None:
        about.append(f"ended {minute(info.ended_at, look.settings)}")
    name = styled(one_line(info.id), "bold")
    yield from flowing([name, *(styled(one_line(each), "dim") for each in about if each)], look)
    yield from flowing(_budget(found, look), look)
    spent = found.figures.tokens_by_role
    split = [
        Text(f"{role} {spent[role]:,}", colour) for role, colour in ROLES.items() if spent.get(role)
    ]
    yield from flowing(split, look)


def _budget(found: ViewExplanation, look: Look) -> list[Text]:
    whole = found.budget if look.given else found.window
    share = found.tokens / whole
    colour = alert(share)
    shown = bar(share, colour, mark=None if look.given else found.budget / whole)
    used = Text("" if found.figures.exact else "about ")
    used.append(f"{found.tokens:,}", f"bold {colour}").append(f" of {whole:,} tokens ")
    used.append(f"({share:.0%})".replace("%", " %"), colour)
    other = f"window {found.window:,}" if look.given else f"budget {found.budget:,}"
    if look.width is None or shown.cell_len + 2 + used.cell_len <= look.width:
        return [Text("  ").join([shown, used]), Text(other, "dim")]
    return [shown, used, Text(other, "dim")]


def alert(share: float) -> str:
    """Return the colour for a share of a budget that is used."""
    return next(colour for least, colour in ALERTS if share >= least)


def bar(share: float, colour: str, *, mark: float | None = None) -> Text:
    """Return a share, 1 at most, as a bar; ``mark`` is the share at which a limit stands."""
    filled = min(BAR, max(1, round(share * BAR))) if share > 0 else 0
    text = Text("━" * filled, colour).append("─" * (BAR - filled), "dim")
    if mark is None or mark >= 1:
        return text
    at = min(BAR - 1, int(mark * BAR))
    return Text.assemble(text[:at], ("┃" if at < filled else "│", "bold"), text[at + 1 :])


def summary(found: ViewExplanation, look: Look) -> Iterator[Text]:
    """Yield what is in memory: counts, the oldest message, the strategy (R7.2 to R7.4)."""
    figures = found.figures
    held = f"Memory: {counted(figures.messages_in_context, 'message')}"
    yield Text(held, "bold").append(_missing(found, look.settings), "not bold")
    cleared = f", {found.cleared:,} of them cleared" if found.cleared else ""
    oldest = next((line for line in found.lines if line.state in SHOWN), None)
    rows = [("in all", f"{counted(figures.total_messages, 'message')}{cleared}")]
    if oldest is not None:
        said = minute(oldest.message.timestamp, look.settings)
        rows.append(("oldest in view", f"#{oldest.message.position}, {said}"))
    rows.append(("strategy", found.strategy))
    estimate = "" if found.counter.startswith("estimate") else "estimate by "
    rows.append(("tokens", f"{'exact, by ' if figures.exact else estimate}{found.counter}"))
    for name, value in rows:
        yield Text(f"  {name:<16}", "dim").append_text(styled(value, "not dim"))


def _missing(found: ViewExplanation, settings: Settings) -> str:
    states = Counter(line.state for line in found.lines)
    parts = []
    if states[MessageState.PRUNED]:
        when = ago(found.prunings[-1].at, found.now, settings) if found.prunings else ""
        parts.append(f"{states[MessageState.PRUNED]:,} pruned {when}".rstrip())
    if out := states[MessageState.OUT]:
        parts.append(f"{out:,} without room")
    if orphans := states[MessageState.ORPHAN]:
        parts.append(f"{orphans:,} without counterpart")
    if waiting := states[MessageState.WAITING]:
        parts.append(f"{waiting:,} waiting for results")
    return f" ({', '.join(parts)})" if parts else ""


def ago(moment: datetime, now: datetime, settings: Settings) -> str:
    """Return how long ago a moment was, as people say it; after a week its date."""
    minutes = int((now - moment).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < HOUR:
        return f"{minutes} min ago"
    if minutes < DAY:
        return f"{minutes // HOUR} h ago"
    if minutes < WEEK:
        return f"{counted(minutes // DAY, 'day')} ago"
    return f"on {minute(moment, settings)}"


def period(since: datetime, until: datetime, settings: Settings) -> str:
    """Return a span of time, without what its ends have in common."""
    first, last = minute(since, settings), minute(until, settings)
    if first == last:
        return first
    day, _, time = last.partition(" ")
    return f"{first} to {time if first.startswith(day) else last}"


def fitting(text: Text, look: Look) -> Text:
    """Return a line that is no wider than the terminal."""
    if look.width is not None:
        text.truncate(look.width, overflow="ellipsis")
    return text


def hung(start: str | Text, text: str | Text, look: Look, style: str = "") -> Iterator[Text]:
    """Yield a paragraph behind ``start``, its other lines indented as far."""
    start = Text(start, style) if isinstance(start, str) else start
    body = styled(text, style) if isinstance(text, str) else text
    room = None if look.width is None else look.width - start.cell_len
    yield from beside(start, wrapped([body], look, room))


def flowing(parts: Iterable[Text], look: Look, start: str = "") -> Iterator[Text]:
    """Yield parts joined by dots behind ``start``, in lines that break between them."""
    line, begun = Text(start), False
    for part in parts:
        more = line.cell_len + part.cell_len + len(DOT)
        if begun and look.width is not None and more > look.width:
            yield fitting(line, look)
            line, begun = Text(" " * len(start)), False
        line = Text.assemble(line, (DOT, "dim") if begun else "", part)
        begun = True
    if begun:
        yield fitting(line, look)


def beside(start: Text, lines: Iterable[Text]) -> Iterator[Text]:
    """Yield lines behind ``start``, all but the first indented as far."""
    indent = Text(" " * start.cell_len)
    for number, line in enumerate(lines):
        made = Text.assemble(start if number == 0 else indent, line)
        made.rstrip()
        yield made


def wrapped(paragraphs: Iterable[Text], look: Look, room: int | None) -> Iterator[Text]:
    """Yield the paragraphs in lines of at most ``room`` columns, where that is given."""
    for paragraph in paragraphs:
        if room is None:
            yield paragraph
        else:
            yield from paragraph.wrap(look.console, max(1, room), overflow="fold")


def signature(call: ToolCall) -> str:
    """Return a call as ``name(key="value")``."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return one_line(f"{call.name}({call.arguments})")
    pairs = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in given.items())
    return one_line(f"{call.name}({', '.join(pairs)})")


def receipt(done: Pruning, look: Look, *, dry: bool = False) -> Iterator[Text]:
    """Yield the receipt of a pruning: what went, when, why, and the markers for it."""
    head = "dry run, nothing was changed" if dry else one_line(done.id)
    at, trigger = minute(done.at, look.settings), one_line(done.trigger).replace("_", " ")
    yield from flowing([Text(head, "bold"), Text(at), Text(trigger, "cyan")], look)
    freed = f"{done.tokens:,} freed, {done.before:,} before, {done.after:,} after"
    for name, value in (
        ("why", done.why),
        ("strategy", done.strategy),
        ("messages", f"{done.messages:,}"),
        ("tokens", freed),
    ):
        yield from hung(Text(f"  {name:<10}", "dim"), value, look)
    yield from _cuts(done.cuts, look)


def _cuts(cuts: tuple[Cut, ...], look: Look) -> Iterator[Text]:
    rows = [(marker_of(cut), f"{cut.messages:,}", f"{cut.tokens:,}") for cut in cuts]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cut, row in zip(cuts, rows, strict=True):
        line = Text(f"  {row[0]:<{wide[0]}}", "bold")
        noun = "message " if cut.messages == 1 else "messages"
        line.append(f"  {row[1]:>{wide[1]}} {noun}  {row[2]:>{wide[2]}} tokens", "not bold")
        line.append(f"  {period(cut.since, cut.until, look.settings)}", "not bold dim")
        yield fitting(line, look)
        score = "" if cut.score is None else f"; highest score {cut.score:.2f}"
        yield from hung("    ", f"{cut.why}{score}", look, "dim")
        if cut.summary:
            for told in cut.summary.splitlines():
                yield from hung("    ", told, look, "dim italic")

"""A conversation as a model sees it: budget, messages, tasks, what is out, and receipts.

On a terminal texts are made to fit. In a pipe or a file nothing is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import (
    SHOWN,
    ExplainedMessage,
    ExplainedTask,
    MessageState,
    ViewExplanation,
)
from memoranda.conversation.formats.parse import unread_parts
from memoranda.conversation.pruning import ContextUsage
from memoranda.model.models import (
    ContextReceipt,
    Message,
    PrunedSpan,
    Pruning,
    ReceiptLine,
    ToolCall,
)
from memoranda.rendering.layout import Column, Display, bar, details, safe_text, table
from memoranda.rendering.plain import DOT, one_line, pluralize

ROLES = {"system": "magenta", "user": "green", "assistant": "cyan", "tool": "yellow"}
STATES = {
    MessageState.IN: "green",
    MessageState.PINNED: "green",
    MessageState.SHORTENED: "yellow",
    MessageState.WAITING: "yellow",
}  # and red where a message is out
MISSING = {
    MessageState.PRUNED: "pruned",
    MessageState.OUT: "without room",
    MessageState.ORPHAN: "without counterpart",
    MessageState.WAITING: "waiting for results",
    MessageState.CLEARED: "cleared",
}
# Why messages left the view, by what set it off (R7.2).
REASONS = {
    "manual": "as you asked",
    "task_boundary": "as a new task begins",
    "session_start": "as a new session begins",
    "overflow": "as the session has grown long",
}
SAVES = "to save space"  # otherwise
BAR = 30
PART_BAR = 12
ALERTS = ((0.9, "red"), (0.8, "yellow"), (0.0, "green"))  # R6.1, R6.2
HOUR, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60  # minutes
MESSAGE = " message"
LONGEST = 120  # characters of a message in a list on a terminal
ADDRESS = 200  # characters of an address


def alert_colour(share: float) -> str:
    """Return the colour for a share of a budget that is used."""
    return next(colour for least, colour in ALERTS if share >= least)


def _name(row: ConversationOverview, _: Display) -> Text:
    name = safe_text(one_line(row.id), "bold")
    return name if row.ended_at is None else name.append(" ended", "not bold dim")


def _used(row: ConversationOverview, _: Display) -> Text:
    share = row.stats.total_tokens / row.stats.token_limit
    return Text(f"{row.stats.percent_used:.0f} %", alert_colour(share))


OVERVIEW = (
    Column("conversation", _name, wide=True),
    Column("messages", "messages", number=True),
    Column("in view", "stats.messages_in_context", number=True),
    Column("tokens", lambda row, _: _tokens(row), number=True),
    Column("used", _used, number=True),
    Column("last message", "last_message", "dim", whole=True),
)


def _tokens(row: ConversationOverview) -> str:
    return f"{'' if row.stats.exact else '~'}{row.stats.total_tokens:,}"


def show_overviews(
    found: Sequence[ConversationOverview], view: Display
) -> Iterator[RenderableType]:
    """Yield conversations, each with how much of the model's window it takes."""
    yield table(found, OVERVIEW, view, empty="no conversations")
    if found:
        about = "" if all(each.stats.exact for each in found) else "; ~ is an estimate"
        yield Text(f"used: of the model's context window{about}", "dim")


def format_use(tokens: int, whole: int, *, exact: bool) -> Text:
    """Return how many tokens of how many are used: as a bar, in figures and as a share."""
    share = tokens / whole
    colour = alert_colour(share)
    made = bar(share, BAR, colour)
    made.append("─" * (BAR - made.cell_len), "dim").append("  " if exact else "  about ")
    made.append(f"{tokens:,}", f"bold {colour}").append(f" of {whole:,} tokens ")
    return made.append(f"({share:.0%})".replace("%", " %"), colour)


def join_messages(receipt: ContextReceipt) -> Iterator[ReceiptLine]:
    """Yield the parts of a context in order, the messages of the conversation as one."""
    messages = [item for item in receipt.included if item.what.endswith(MESSAGE)]
    roles = Counter(item.what.removesuffix(MESSAGE) for item in messages)
    for item in receipt.included:
        if item not in messages:
            yield item
        elif item is messages[0]:
            of = ", ".join(f"{number} of {role}" for role, number in roles.items())
            tokens = sum(each.tokens for each in messages)
            yield ReceiptLine(pluralize(len(messages), "message"), tokens, of)


def show_budget(receipt: ContextReceipt, view: Display) -> Iterator[RenderableType]:
    """Yield what a context takes of its budget as a bar, and the share of each part."""
    yield view.fit(format_use(receipt.tokens, receipt.budget, exact=receipt.exact))
    columns = (
        Column("part", "what"),
        Column("tokens", "tokens", number=True),
        Column("", lambda item, _: bar(item.tokens / (receipt.tokens or 1), PART_BAR)),
        Column("why", "why", "dim", wide=True),
    )
    yield table(join_messages(receipt), columns, view)
    if receipt.left_out:
        out = sum(item.tokens for item in receipt.left_out)
        yield view.fit(Text(f"{out:,} tokens stayed out; they can still be found", "dim"))


def format_age(moment: datetime, now: datetime, view: Display) -> str:
    """Return how long ago a moment was, as people say it; after a week its date."""
    minutes = int((now - moment).total_seconds() // 60)
    ages = {
        1: "just now",
        HOUR: f"{minutes} min ago",
        DAY: f"{minutes // HOUR} h ago",
        WEEK: f"{pluralize(minutes // DAY, 'day')} ago",
    }
    known = (age for limit, age in ages.items() if minutes < limit)
    return next(known, f"on {view.minute(moment)}")


def format_call(call: ToolCall) -> str:
    """Return a call as ``name(key="value")``."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return one_line(f"{call.name}({call.arguments})")
    pairs = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in given.items())
    return one_line(f"{call.name}({', '.join(pairs)})")


def format_unread(message: Message) -> str:
    """Return the types of what a provider gave beside the text, as ``[reasoning]``."""
    parts = (part for part in unread_parts(message.raw) if isinstance(part, dict))
    return one_line(" ".join(f"[{part['type']}]" for part in parts if part.get("type")))


def show_message(message: Message, view: Display) -> Iterator[Text]:
    """Yield a message with all that it says, to the letter."""
    head = Text(f"#{message.position}", "bold")
    head.append(f"  {view.minute(message.timestamp)}", "not bold dim")
    head.append(f"  {message.role}", ROLES.get(message.role, ""))
    result = message.tool_result
    if result is not None:
        head.append(f"  answers {one_line(result.call_id)}", "not bold dim")
        head.append("  error" if result.is_error else "", "red")
    yield head.append(f"  {message.tokens:,} tokens", "not bold dim")
    if message.content:
        yield safe_text(message.content)
    if kinds := format_unread(message):
        yield safe_text(kinds, "blue")
    for image in message.images:
        yield safe_text(f"[image] {one_line(image.url, ADDRESS)}", "blue")
    for call in message.tool_calls:
        yield safe_text(f"{format_call(call)}  {one_line(call.id)}", "yellow")
    yield Text()


# Receipts


def format_places(first: int, last: int) -> str:
    """Return the positions of messages as ``12-26``, which ``expand`` takes."""
    return str(first) if first == last else f"{first}-{last}"


def _why_cut(cut: PrunedSpan, _: Display) -> RenderableType:
    score = "" if cut.score is None else f"; highest score {cut.score:.2f}"
    lines = (f"{cut.why}{score}", *(cut.summary or "").splitlines())
    return safe_text("\n".join(lines), "dim")


CUTS = (
    Column("place", lambda cut, _: format_places(cut.first, cut.last), "bold", number=True),
    Column("messages", "messages", number=True),
    Column("tokens", "tokens", number=True),
    Column("since", "since", whole=True),
    Column("why", _why_cut),
)


def show_receipt(done: Pruning, view: Display, *, dry: bool = False) -> Iterator[RenderableType]:
    """Yield the receipt of a pruning: what went, when and why, and the places to expand."""
    what = "dry run, nothing was changed" if dry else describe_pruning(done)
    yield from view.flow([Text(what, "bold"), Text(view.minute(done.at))])
    rows = {
        "why": done.why,
        "strategy": done.strategy,
        "tokens": f"{done.tokens:,} freed, {done.before:,} before, {done.after:,} after",
        "receipt": None if dry else one_line(done.id),
    }
    yield details(rows.items())
    yield table(done.cuts, CUTS, view)


def describe_pruning(done: Pruning) -> str:
    """Return in a sentence that messages left the view, and why (R7.2)."""
    return _describe(done.messages, done.trigger)


def _describe(count: int, trigger: str) -> str:
    why = REASONS.get(trigger, SAVES)
    return f"{pluralize(count, 'message')} left the view {why}"


def describe_pruned(prunings: Iterable[Pruning], hint: str) -> Text | None:
    """Return a line on what left the view, with ``hint`` how to see it; ``None`` for nothing."""
    done = [pruning for pruning in prunings if pruning.cuts]
    if not done:
        return None
    line = _describe(sum(pruning.messages for pruning in done), done[-1].trigger)
    return Text(f"{line}; {hint}", "dim")


def describe_usage(usage: ContextUsage) -> Text:
    """Return a line that says how full the context window is."""
    use = f"{usage.tokens:,} of {usage.limit:,} tokens"
    line = f"context {usage.percent:.0f} % full ({use}): older messages leave the view soon"
    return Text(line, alert_colour(usage.tokens / usage.limit))


# A transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """What of a conversation is shown.

    Attributes:
        explain: whether to say why each message is in or out.
        everything: whether to show what was pruned or cleared message by message.
        given: whether the budget was asked for, rather than the conversation's own.
        limit: the newest so many rows only.
    """

    explain: bool = False
    everything: bool = False
    given: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """A row of a transcript: a message, what stands for several, or where a task begins."""

    what: RenderableType
    place: str = ""
    at: datetime | None = None
    role: str = ""
    tokens: int | None = None
    score: float | None = None


TRANSCRIPT = (
    Column("#", "place", number=True),
    Column("time", lambda row, view: row.at and f"{view.local(row.at):%H:%M}", "dim", whole=True),
    Column("role", lambda row, _: Text(row.role, ROLES.get(row.role, "")), whole=True),
    Column("tokens", "tokens", number=True),
    Column("score", "score", number=True),
    Column("text", "what", wide=True),
)


def show_conversation(
    found: ViewExplanation, view: Display, options: TranscriptOptions
) -> Iterator[RenderableType]:
    """Yield a conversation: its budget, its messages, and what is in memory."""
    yield from _heading(found, view, given=options.given)
    yield Text()
    if options.explain:
        for sentence in found.told:
            yield from view.hang("", sentence, "dim")
        yield Text()
    rows = TranscriptTable(found, view, options).rows()
    yield table(rows, TRANSCRIPT, view, empty="no messages")
    yield Text()
    yield from show_figures(found, view)


def show_state(found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
    """Yield the state of a conversation without its messages: its budget, and what is in view."""
    yield from _heading(found, view)
    yield Text()
    yield from show_figures(found, view)


def _heading(found: ViewExplanation, view: Display, *, given: bool = False) -> Iterator[Text]:
    info = found.info
    about = [info.model or "", f"since {view.minute(info.created_at)}"]
    if info.ended_at is not None:
        about.append(f"ended {view.minute(info.ended_at)}")
    dim = [safe_text(one_line(each), "dim") for each in about if each]
    yield from view.flow([safe_text(one_line(info.id), "bold"), *dim])
    whole = found.budget if given else found.window
    other = f"window {found.window:,}" if given else f"budget {found.budget:,}"
    use = format_use(found.tokens, whole, exact=found.figures.exact)
    yield from view.flow([use, Text(other, "dim")])
    by_role = found.figures.tokens_by_role
    roles = (role for role in ROLES if by_role.get(role))
    yield from view.flow(Text(f"{role} {by_role[role]:,}", ROLES[role]) for role in roles)


def show_figures(found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
    """Yield what is in memory: counts, the oldest message, the strategy (R7.2 to R7.4)."""
    figures = found.figures
    states = Counter(line.state for line in found.lines)
    del states[MessageState.CLEARED]
    missing = {state: f"{states[state]:,} {MISSING[state]}" for state in MISSING if states[state]}
    if found.prunings and MessageState.PRUNED in missing:
        age = format_age(found.prunings[-1].at, found.now, view)
        missing[MessageState.PRUNED] += f" {age}"
    held = Text(f"Memory: {pluralize(figures.messages_in_context, 'message')}", "bold")
    yield held.append(f" ({', '.join(missing.values())})" if missing else "", "not bold")
    cleared = f", {found.cleared:,} of them cleared" if found.cleared else ""
    expired = f", {found.expired:,} expired" if found.expired else ""
    oldest = next((line.message for line in found.lines if line.state in SHOWN), None)
    unknown = f"not known, {figures.token_limit:,} tokens assumed: set tokens.limits"
    estimate = "" if found.counter.startswith("estimate") else "estimate by "
    rows = {
        "in all": f"{pluralize(figures.total_messages, 'message')}{cleared}{expired}",
        "oldest in view": oldest and f"#{oldest.position}, {view.minute(oldest.timestamp)}",
        "window": None if figures.limit_known else unknown,
        "strategy": found.strategy,
        "tokens": f"{'exact, by ' if figures.exact else estimate}{found.counter}",
    }
    yield details(rows.items())


class TranscriptTable:
    """Draws a transcript as rows: days, tasks, messages, and what stands for those that are out."""

    def __init__(self, found: ViewExplanation, view: Display, options: TranscriptOptions) -> None:
        """Draw nothing yet."""
        self._found, self._view, self._explain = found, view, options.explain
        self._limit = options.limit
        self._names = {
            call.id: call.name for line in found.lines for call in line.message.tool_calls
        }
        self._alone = {*SHOWN, MessageState.WAITING}
        if options.explain:
            self._alone |= {MessageState.OUT, MessageState.ORPHAN}
        if options.everything:
            self._alone |= {*MessageState}

    def rows(self) -> Iterator[TranscriptRow]:
        """Yield the rows, the oldest first."""
        found, day, groups = self._found, None, list(self._groups())
        hidden = len(groups) - self._limit if self._limit else 0
        if hidden > 0:
            more = f"… {pluralize(hidden, 'earlier row')}; --limit {len(groups)} shows all"
            yield TranscriptRow(Text(more, "dim"))
            del groups[:hidden]
        elif found.info.system:
            text = self._content(found.info.system)
            yield TranscriptRow(text, role="system", tokens=found.system, score=1.0)
        if found.cleared and MessageState.CLEARED not in self._alone:
            cleared = f"… {pluralize(found.cleared, 'message')} cleared before"
            yield TranscriptRow(Text(f"{cleared}; --all shows what they said", "dim"))
        tasks = {task.first: task for task in found.tasks} if len(found.tasks) > 1 else {}
        for lines in groups:
            said = self._view.day(lines[0].message.timestamp)
            if said != day:
                day = said
                yield TranscriptRow(Text(day, "dim"))
            for line in lines:
                if task := tasks.get(line.message.position or 0):
                    yield self._task(task)
            alone = lines[0].state in self._alone
            yield self._message(lines[0]) if alone else self._fold(lines)

    def _groups(self) -> Iterator[list[ExplainedMessage]]:
        """Yield the messages that have a row together."""
        for alone, run in groupby(self._found.lines, lambda line: line.state in self._alone):
            if alone:
                yield from ([line] for line in run)
            else:
                yield list(run)

    def _task(self, task: ExplainedTask) -> TranscriptRow:
        done = " (done)" if task.completed else ""
        title = safe_text(f"── task {task.number}{done}: {one_line(task.title)}", "blue")
        return TranscriptRow(self._with_reason(title, f"begins here: {task.why}"))

    def _message(self, line: ExplainedMessage) -> TranscriptRow:
        message, calls = line.message, line.message.tool_calls
        text = _tags(line)
        if message.tool_result is not None:
            name = one_line(self._names.get(message.tool_result.call_id, "unknown call"))
            text.append(f"↳ {name}: ", "yellow")
            text.append("error " if message.tool_result.is_error else "", "bold red")
        parts = [safe_text(self._view.brief(format_call(each), LONGEST), "yellow")
                 for each in calls]  # fmt: skip
        if message.content.strip() or not calls:
            parts.insert(0, self._content(message.content or format_unread(message)))
        text.append_text(Text("\n").join(parts))
        score = "" if line.score_why is None else f"{DOT}score {line.score_why}"
        return TranscriptRow(
            self._with_reason(text, f"{line.state}: {line.why}{score}"),
            place=f"#{message.position}",
            at=message.timestamp,
            role=message.role,
            tokens=line.tokens,
            score=line.score,
        )

    def _content(self, content: str) -> Text:
        """Return what a message says: its beginning on a terminal, elsewhere all of it."""
        whole = self._view.width is None
        return safe_text(content if whole else one_line(content, LONGEST))

    def _with_reason(self, shown: Text, why: str) -> Text:
        return shown.append(f"\n{one_line(why)}", "not bold dim") if self._explain else shown

    def _fold(self, lines: Sequence[ExplainedMessage]) -> TranscriptRow:
        """Return the row that stands for messages that are out."""
        found, first, last = self._found, lines[0].message, lines[-1].message
        states = Counter(line.state for line in lines)
        parts = [f"… {number:,} {MISSING[state]}" for state, number in states.items()]
        receipts = {line.pruning for line in lines}
        for done in [item for item in found.prunings if item.id in receipts][-1:]:
            why = REASONS.get(done.trigger, SAVES)
            parts.append(f"{why}, {format_age(done.at, found.now, self._view)}")
        places = format_places(first.position or 0, last.position or 0)
        shown = Text(DOT.join([*parts, f"expand {places} shows them"]), "dim")
        tokens = sum(line.tokens for line in lines)
        return TranscriptRow(shown, at=first.timestamp, tokens=tokens)


def _tags(line: ExplainedMessage) -> Text:
    """Return what is to be known of a message before what it says."""
    found = Text()
    if line.message.pinned:
        found.append("[pinned] ", "bold yellow")
    if line.state not in {MessageState.IN, MessageState.PINNED}:
        found.append(f"[{line.state}] ", STATES.get(line.state, "red"))
    return found.append("[image] " * len(line.message.images), "blue")

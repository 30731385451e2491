"""A conversation as a model sees it: budget, messages, tasks, what is out, and receipts.

On a terminal lines are made to fit. In a pipe or a file nothing is wrapped or left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby, islice

from rich.console import RenderableType
from rich.text import Text

from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import SHOWN, ExplainedMessage, MessageState, ViewExplanation
from memoranda.conversation.formats.parse import unread_parts
from memoranda.conversation.ledger import start_of
from memoranda.conversation.markers import join_period, reference
from memoranda.conversation.pruning import ContextUsage
from memoranda.model.models import ContextReceipt, Message, Pruning, ReceiptLine, ToolCall
from memoranda.rendering.layout import Column, Display, bar, put_beside, safe_text, table
from memoranda.rendering.plain import escape_controls, one_line, pluralize

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
}
GONE = {MessageState.CLEARED: " cleared", MessageState.PRUNED: " removed"}
BAR = 30
PART_BAR = 12
ALERTS = ((0.9, "red"), (0.8, "yellow"), (0.0, "green"))  # R6.1, R6.2
HOUR, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60  # minutes
SHORT = 3  # lines of a message on a terminal
LONG_CALL = 2  # lines of a call on a terminal
NARROW = 24  # columns of text below which it goes under its heading
ROLE, TIME, SCORE = 9, 5, 5
GAP = "  "
MESSAGE = " message"
RULE = 60  # columns of a rule that goes to no terminal
ANSWER = "↳ "
ADDRESS = 200  # characters of an address
OVERVIEW = (
    Column("conversation", lambda row, _: _name(row), wide=True),
    Column("messages", "messages", number=True),
    Column("in view", "stats.messages_in_context", number=True),
    Column("tokens", lambda row, _: _tokens(row), number=True),
    Column("used", lambda row, _: _used(row), number=True),
    Column("last message", "last_message", "dim", whole=True),
)


def show_overviews(
    found: Sequence[ConversationOverview], view: Display
) -> Iterator[RenderableType]:
    """Yield conversations, each with how much of the model's window it takes."""
    yield table(found, OVERVIEW, view, empty="no conversations")
    if found:
        about = "" if all(each.stats.exact for each in found) else "; ~ is an estimate"
        yield Text(f"used: of the model's context window{about}", "dim")


def _name(row: ConversationOverview) -> Text:
    name = safe_text(one_line(row.id), "bold")
    return name if row.ended_at is None else name.append(" ended", "not bold dim")


def _tokens(row: ConversationOverview) -> str:
    return f"{'' if row.stats.exact else '~'}{row.stats.total_tokens:,}"


def _used(row: ConversationOverview) -> Text:
    share = row.stats.total_tokens / row.stats.token_limit
    return Text(f"{row.stats.percent_used:.0f} %", alert_colour(share))


def alert_colour(share: float) -> str:
    """Return the colour for a share of a budget that is used."""
    return next(colour for least, colour in ALERTS if share >= least)


def budget_bar(share: float, colour: str, *, mark: float | None = None) -> Text:
    """Return a share, 1 at most, as a bar; ``mark`` is the share at which a limit stands."""
    filled = min(BAR, max(1, round(share * BAR))) if share > 0 else 0
    text = Text("━" * filled, colour).append("─" * (BAR - filled), "dim")
    if mark is None or mark >= 1:
        return text
    at = min(BAR - 1, int(mark * BAR))
    return Text.assemble(text[:at], ("┃" if at < filled else "│", "bold"), text[at + 1 :])


def format_use(tokens: int, whole: int, *, exact: bool) -> Text:
    """Return how many tokens of how many are used, and their share."""
    share = tokens / whole
    colour = alert_colour(share)
    used = Text("" if exact else "about ").append(f"{tokens:,}", f"bold {colour}")
    return used.append(f" of {whole:,} tokens ").append(f"({share:.0%})".replace("%", " %"), colour)


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
    share = receipt.tokens / receipt.budget
    used = format_use(receipt.tokens, receipt.budget, exact=receipt.exact)
    yield from view.flow([Text(GAP).join([budget_bar(share, alert_colour(share)), used])])
    columns = (
        Column("part", "what"),
        Column("tokens", "tokens", number=True),
        Column("", lambda item, _: bar(item.tokens / (receipt.tokens or 1), PART_BAR)),
        Column("why", "why", "dim", wide=True),
    )
    yield table(join_messages(receipt), columns, view)
    if receipt.left_out:
        out = sum(item.tokens for item in receipt.left_out)
        left = f"{out:,} tokens stayed out; they can still be found"
        yield from view.flow([Text(left, "dim")])


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


def show_receipt(done: Pruning, view: Display, *, dry: bool = False) -> Iterator[Text]:
    """Yield the receipt of a pruning: what went, when, why, and the markers for it."""
    head = Text("dry run, nothing was changed" if dry else one_line(done.id), "bold")
    trigger = Text(one_line(done.trigger).replace("_", " "), "cyan")
    yield from view.flow([head, Text(view.minute(done.at)), trigger])
    for name, value in (
        ("why", done.why),
        ("strategy", done.strategy),
        ("messages", f"{done.messages:,}"),
        ("tokens", f"{done.tokens:,} freed, {done.before:,} before, {done.after:,} after"),
    ):
        yield from view.hang(Text(f"  {name:<10}", "dim"), value)
    rows = [
        (reference(cut.first, cut.last), f"{cut.messages:,}", f"{cut.tokens:,}")
        for cut in done.cuts
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cut, (marker, messages, tokens) in zip(done.cuts, rows, strict=True):
        noun = "message " if cut.messages == 1 else "messages"
        line = Text(f"  {marker:<{wide[0]}}", "bold")
        line.append(f"  {messages:>{wide[1]}} {noun}  {tokens:>{wide[2]}} tokens", "not bold")
        period = join_period(view.minute(cut.since), view.minute(cut.until))
        yield view.fit(line.append(f"  {period}", "not bold dim"))
        score = "" if cut.score is None else f"; highest score {cut.score:.2f}"
        yield from view.hang("    ", f"{cut.why}{score}", "dim")
        for sentence in (cut.summary or "").splitlines():
            yield from view.hang("    ", sentence, "dim italic")


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


def show_conversation(
    found: ViewExplanation, view: Display, options: TranscriptOptions
) -> Iterator[Text]:
    """Yield a conversation: its budget, its messages, and what is in memory."""
    yield from _heading(found, view, options)
    yield Text()
    if options.explain:
        for sentence in found.told:
            yield from view.hang("", sentence, "dim")
        yield Text()
    yield from TranscriptRows(found, view, options).show()
    yield Text()
    yield from show_figures(found, view)


def show_state(found: ViewExplanation, view: Display) -> Iterator[Text]:
    """Yield the state of a conversation without its messages: its budget, and what is in view."""
    yield from _heading(found, view, TranscriptOptions())
    yield Text()
    yield from show_figures(found, view)


def describe_pruned(prunings: Iterable[Pruning], hint: str) -> Text | None:
    """Return a line on what left the view, with ``hint`` how to see it; ``None`` for nothing."""
    cuts = [cut for done in prunings for cut in done.cuts]
    if not cuts:
        return None
    many = pluralize(sum(cut.messages for cut in cuts), "message")
    return Text(f"{many} left the view to save space; {hint}", "dim")


def describe_usage(usage: ContextUsage) -> Text:
    """Return a line that says how full the context window is."""
    use = f"{usage.tokens:,} of {usage.limit:,} tokens"
    line = f"context {usage.percent:.0f} % full ({use}): older messages leave the view soon"
    return Text(line, alert_colour(usage.tokens / usage.limit))


def _heading(found: ViewExplanation, view: Display, options: TranscriptOptions) -> Iterator[Text]:
    info = found.info
    about = [info.model or "", f"since {view.minute(info.created_at)}"]
    if info.ended_at is not None:
        about.append(f"ended {view.minute(info.ended_at)}")
    dim = [safe_text(one_line(each), "dim") for each in about if each]
    yield from view.flow([safe_text(one_line(info.id), "bold"), *dim])
    whole = found.budget if options.given else found.window
    share, mark = found.tokens / whole, None if options.given else found.budget / whole
    shown = [
        budget_bar(share, alert_colour(share), mark=mark),
        format_use(found.tokens, whole, exact=found.figures.exact),
    ]
    if view.width is None or sum(each.cell_len for each in shown) + len(GAP) <= view.width:
        shown = [Text(GAP).join(shown)]
    other = f"window {found.window:,}" if options.given else f"budget {found.budget:,}"
    yield from view.flow([*shown, Text(other, "dim")])
    by_role = found.figures.tokens_by_role
    roles = (role for role in ROLES if by_role.get(role))
    yield from view.flow(Text(f"{role} {by_role[role]:,}", ROLES[role]) for role in roles)


def show_figures(found: ViewExplanation, view: Display) -> Iterator[Text]:
    """Yield what is in memory: counts, the oldest message, the strategy (R7.2 to R7.4)."""
    figures = found.figures
    states = Counter(line.state for line in found.lines)
    missing = {state: f"{states[state]:,} {MISSING[state]}" for state in MISSING if states[state]}
    if found.prunings and MessageState.PRUNED in missing:
        age = format_age(found.prunings[-1].at, found.now, view)
        missing[MessageState.PRUNED] += f" {age}"
    held = Text(f"Memory: {pluralize(figures.messages_in_context, 'message')}", "bold")
    yield held.append(f" ({', '.join(missing.values())})" if missing else "", "not bold")
    cleared = f", {found.cleared:,} of them cleared" if found.cleared else ""
    expired = f", {found.expired:,} expired" if found.expired else ""
    rows = {"in all": f"{pluralize(figures.total_messages, 'message')}{cleared}{expired}"}
    oldest = next((line.message for line in found.lines if line.state in SHOWN), None)
    if oldest is not None:
        rows["oldest in view"] = f"#{oldest.position}, {view.minute(oldest.timestamp)}"
    if not figures.limit_known:
        rows["window"] = f"not known, {figures.token_limit:,} tokens assumed: set tokens.limits"
    rows["strategy"] = found.strategy
    estimate = "" if found.counter.startswith("estimate") else "estimate by "
    rows["tokens"] = f"{'exact, by ' if figures.exact else estimate}{found.counter}"
    for name, value in rows.items():
        yield Text(f"  {name:<16}", "dim").append_text(safe_text(value, "not dim"))


class TranscriptRows:
    """Draws the lines of a transcript one after another.

    It remembers day and task of the one before: a row for each message, a rule for each task,
    one line for messages that are out.
    """

    def __init__(self, found: ViewExplanation, view: Display, options: TranscriptOptions) -> None:
        """Measure the columns."""
        self._found, self._view, self._options = found, view, options
        self._day: date | None = None
        self._task = 0
        tasks = {task.number: task for task in found.tasks}
        self._tasks = tasks if len(tasks) > 1 else {}
        self._calls = {
            call.id: (call.name, len(line.message.tool_calls))
            for line in found.lines
            for call in line.message.tool_calls
        }
        last = found.lines[-1].message.position or 0 if found.lines else 0
        most = max([found.system, *(line.tokens for line in found.lines)])
        self._place = max(2, len(f"#{last}"))
        self._tokens = max(len("tokens"), len(f"{most:,}"))
        indent = self._place + TIME + ROLE + self._tokens + SCORE + 5 * len(GAP)
        width = view.width
        self._stacked = width is not None and width - indent < NARROW
        self._room = None if width is None else max(1, width - (2 if self._stacked else indent))

    def show(self) -> Iterator[Text]:
        """Yield the lines of the transcript: messages, and what stands for those that are out."""
        found, limit = self._found, self._options.limit
        if not found.lines and not found.info.system and not (found.cleared or found.expired):
            yield Text("no messages", "dim")
            return
        titles = self._columns("#", "time", "role", "tokens", "score", dim="dim")
        titles.rstrip()
        yield self._view.fit(titles)
        if limit is None and found.info.system:
            start = self._columns("", "", "system", f"{found.system:,}", "1.00")
            yield from self._beside(start, list(self._content(found.info.system, Text())))
            yield from self._why(MessageState.IN, "system prompt, always in", None)
        rows = list(self._rows())
        skipped = max(0, len(rows) - limit) if limit else 0
        if skipped:
            more = f"… {pluralize(skipped, 'earlier row')}; --limit {len(rows)} shows all"
            yield self._view.fit(Text(more, "dim"))
        elif found.cleared and not self._options.everything:
            cleared = f"… {pluralize(found.cleared, 'message')} cleared before"
            yield self._view.fit(Text(f"{cleared}; --all shows what they said", "dim"))
        for alone, lines in rows[skipped:]:
            yield from self._row(lines, alone=alone)

    def _rows(self) -> Iterator[tuple[bool, list[ExplainedMessage]]]:
        """Yield the rows in order: a line alone, or the lines that one row stands for."""
        alone = {*MessageState} if self._options.everything else {*SHOWN, MessageState.WAITING}
        if self._options.explain:
            alone |= {MessageState.OUT, MessageState.ORPHAN}
        kinds = {state: "alone" if state in alone else "out" for state in MessageState}
        if MessageState.CLEARED not in alone:
            kinds[MessageState.CLEARED] = "cleared"
        for kind, run in groupby(self._found.lines, key=lambda line: kinds[line.state]):
            if kind == "alone":
                yield from ((True, [line]) for line in run)
            else:
                yield False, list(run)

    def _columns(self, *cells: str, dim: str = "") -> Text:
        """Return the columns before the text of a row, of which the third is the role."""
        styles = ("dim", "dim", ROLES.get(cells[2], ""), "", "")
        formats = (f">{self._place}", f"<{TIME}", f"<{ROLE}", f">{self._tokens}", f">{SCORE}")
        row = Text()
        for cell, style, form in zip(cells, styles, formats, strict=True):
            row.append(f"{cell:{form}}{GAP}", dim or style)
        return row

    def _row(self, lines: Sequence[ExplainedMessage], *, alone: bool) -> Iterator[Text]:
        """Yield a message, or what stands for several."""
        first, last = (self._view.local(line.message.timestamp) for line in (lines[0], lines[-1]))
        if first.date() != self._day:
            yield Text(f"{first:%Y-%m-%d}", "dim")
        self._day = last.date()
        yield from self._new_task(lines[0].task)
        yield from self._message(lines[0]) if alone else self._fold(lines)

    def _new_task(self, number: int | None) -> Iterator[Text]:
        task = self._tasks.get(number or 0)
        if task is None or task.number == self._task:
            return
        self._task = task.number
        done = " (done)" if task.completed else ""
        title = safe_text(f"── task {task.number}{done}: {one_line(task.title)}", "blue")
        width = self._view.width or max(RULE, title.cell_len + 3)
        title.truncate(width - 3, overflow="ellipsis")
        yield title.append(f" {'─' * (width - title.cell_len - 1)}", "blue")
        if self._options.explain:
            yield from self._view.hang("   ", f"begins here: {task.why}", "dim")

    def _message(self, line: ExplainedMessage) -> Iterator[Text]:
        message = line.message
        dim = "" if line.state in SHOWN else "dim"
        start = self._columns(
            f"#{message.position}",
            f"{self._view.local(message.timestamp):%H:%M}",
            message.role,
            f"{line.tokens:,}",
            "" if line.score is None else f"{line.score:.2f}",
            dim=dim,
        )
        body = list(self._body(line))
        for text in body if dim else ():
            text.stylize("dim")
        yield from self._beside(start, body)
        yield from self._why(line.state, line.why, line.score_why)

    def _beside(self, start: Text, body: Sequence[Text]) -> Iterator[Text]:
        if self._stacked:
            start.rstrip()
            yield start
            yield from put_beside(Text(GAP), body)
        else:
            yield from put_beside(start, body or [Text()])

    def _body(self, line: ExplainedMessage) -> Iterator[Text]:
        message, result, tags = line.message, line.message.tool_result, _tags(line)
        if result is not None:
            # Whose result it is is told where that is not clear.
            name, parallel = self._calls.get(result.call_id, ("", 0))
            tags.append("" if parallel == 1 else f"{one_line(name) or 'unknown call'}: ", "dim")
            tags.append("error " if result.is_error else "", "bold red")
            content = self._content(message.content, tags, indent=len(ANSWER))
            yield from put_beside(Text(ANSWER, "yellow"), content)
        elif message.content.strip() or not message.tool_calls:
            yield from self._content(message.content or format_unread(message), tags)
            tags = Text()
        for number, call in enumerate(message.tool_calls):
            text = safe_text(format_call(call), "yellow")
            lines = self._view.wrap([text if number else tags + text], self._room)
            yield from _shorten(lines, LONG_CALL, self._room)

    def _content(self, content: str, start: Text, *, indent: int = 0) -> Iterator[Text]:
        """Yield what a message says behind ``start``, on a terminal its first lines."""
        texts = content.replace("\r\n", "\n").split("\n")
        room = None if self._room is None else max(1, self._room - indent)
        if room is not None:
            texts = [text for text in texts if text.strip()][: SHORT + 1] or [""]
            texts = [text[: room * SHORT + 1].expandtabs(4) for text in texts]
        found = [safe_text(text) for text in texts]
        found[0] = start + found[0]
        yield from _shorten(self._view.wrap(found, room), SHORT, room)

    def _why(self, state: MessageState, why: str, score: str | None) -> Iterator[Text]:
        if not self._options.explain:
            return
        reason = Text(state.value, STATES.get(state, "red")).append(
            f": {escape_controls(why)}", "dim"
        )
        if score is not None:
            # The sum stands in its column, unless it had to be limited.
            parts, _, total = score.partition(" = ")
            reason.append(f" · score {score if ',' in total else parts}", "dim")
        yield from self._view.hang(" " * (self._place + len(GAP)), reason)

    def _fold(self, lines: Sequence[ExplainedMessage]) -> Iterator[Text]:
        first, last = lines[0].message, lines[-1].message
        start, end = first.position or 0, last.position or 0
        receipts = {line.pruning for line in lines}
        prunings = [item for item in self._found.prunings if item.id in receipts]
        near = (cut for item in prunings for cut in item.cuts)
        cuts = sorted((cut for cut in near if cut.first <= end and start <= cut.last), key=start_of)
        since, until = self._view.local(first.timestamp), self._view.local(last.timestamp)
        same = since.date() == until.date()
        times = dict.fromkeys(
            (f"{since:%H:%M}", f"{until:{'%H:%M' if same else '%Y-%m-%d %H:%M'}}")
        )
        parts = [
            pluralize(len(lines), "message") + _describe_fold(lines),
            f"{sum(line.tokens for line in lines):,} tokens",
            "–".join(times),
        ]
        if prunings:
            newest = prunings[-1]
            many = f"{len(prunings)} prunings, last " if len(prunings) > 1 else ""
            when = format_age(newest.at, self._found.now, self._view)
            parts.append(f"{many}{newest.trigger.replace('_', ' ')} {when}")
        shown = (safe_text(part, "dim") for part in (*parts, reference(start, end)))
        yield from self._view.flow(shown, "… ")
        for cut in cuts:
            # A message that was pinned later parts a span: its summary stands at the first part.
            for sentence in (cut.summary or "").splitlines() if cut.first >= start else ():
                yield from self._view.hang("  ", sentence, "dim italic")
        if not self._options.explain:
            return
        scores = [cut.score for cut in cuts if cut.score is not None]
        score = f"; highest score then {max(scores):.2f}" if scores else ""
        for item in prunings:
            trigger, at = item.trigger.replace("_", " "), self._view.minute(item.at)
            line = f"{item.id}: {trigger}, {at}, {item.strategy}: {item.why}{score}"
            yield from self._view.hang("     ", line, "dim")


def _shorten(lines: Iterable[Text], most: int, room: int | None) -> Iterator[Text]:
    """Yield the first lines, with a sign where there are more; all where there is room."""
    found = list(lines if room is None else islice(lines, most + 1))
    if room is not None and len(found) > most:
        last = found[most - 1]
        last.rstrip()
        last.truncate(room - 1)
        last.rstrip()  # Half a wide character leaves a space.
        last.append("…", "dim")
        del found[most:]
    yield from found


def _tags(line: ExplainedMessage) -> Text:
    """Return what is to be known of a message before what it says."""
    found = Text()
    if line.message.pinned:
        found.append("[pinned] ", "bold yellow")
    if line.state not in {MessageState.IN, MessageState.PINNED}:
        found.append(f"[{line.state}] ", STATES.get(line.state, "red"))
    return found.append("[image] " * len(line.message.images), "blue")


def _describe_fold(lines: Sequence[ExplainedMessage]) -> str:
    states = Counter(line.state for line in lines)
    if len(states) == 1 and lines[0].state in GONE:
        return GONE[lines[0].state]
    parts = [f"{count:,} {MISSING[state]}" for state, count in states.items()]
    return f" left out ({', '.join(parts)})" if len(parts) > 1 else f" left out: {parts[0]}"

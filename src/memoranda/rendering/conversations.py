"""A conversation as a model sees it: budget, messages, tasks, what is out, and receipts.

On a terminal texts are made to fit. In a pipe or a file nothing is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import SHOWN, ExplainedMessage, MessageState, ViewExplanation
from memoranda.conversation.formats.parse import unread_parts
from memoranda.conversation.pruning import ContextUsage
from memoranda.model.models import (
    Context,
    ContextReceipt,
    Message,
    MessageSpan,
    Pruning,
    ReceiptLine,
    ToolCall,
)
from memoranda.rendering.layout import Column, Display, bar, details, safe_text, table
from memoranda.rendering.plain import one_line, pluralize

ROLES = {"system": "magenta", "user": "green", "assistant": "cyan", "tool": "yellow"}
STATES = {
    MessageState.IN: "green",
    MessageState.PINNED: "green",
    MessageState.SHORTENED: "yellow",
    MessageState.WAITING: "yellow",
}  # and red where a message is out
INSIDE = {*SHOWN, MessageState.WAITING}
MISSING = {
    MessageState.PRUNED: "pruned",
    MessageState.OUT: "without room",
    MessageState.ORPHAN: "without counterpart",
    MessageState.WAITING: "waiting for results",
}
EXPAND = "memoranda conversations expand"
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
MESSAGE = " message"
LONGEST = 120  # characters of a message in a list on a terminal
ADDRESS = 200  # characters of an address


def alert_colour(share: float) -> str:
    """Return the colour for a share of a budget that is used."""
    return next(colour for least, colour in ALERTS if share >= least)


def _name(row: ConversationOverview, _: Display) -> Text:
    name = safe_text(one_line(row.info.id), "bold")
    return name if row.info.ended_at is None else name.append(" ended", "not bold dim")


def _used(row: ConversationOverview, _: Display) -> Text:
    share = row.stats.total_tokens / row.stats.token_limit
    return Text(f"{row.stats.percent_used:.0f} %", alert_colour(share))


OVERVIEW = (
    Column("conversation", _name, wide=True),
    Column("messages", "info.messages", number=True),
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


def show_context(built: Context, view: Display) -> Iterator[RenderableType]:
    """Yield the messages of what ``Conversation.context`` built, and what they take."""
    for message in built.messages:
        yield safe_text(str(message["role"]), "bold cyan")
        text, calls = str(message.get("content") or ""), message.get("tool_calls")
        yield Padding(safe_text(f"{text}\n{calls}".strip() if calls else text), (0, 0, 0, 2))
    yield Text()
    yield from show_budget(built.receipt, view)


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


def _why_out(span: MessageSpan, _: Display) -> Text:
    score, summary = getattr(span, "score", None), getattr(span, "summary", None)
    text = span.why if score is None else f"{span.why}; highest score {score:.2f}"
    return safe_text(f"{text}\n{summary}" if summary else text, "dim")


SPANS = (
    Column("place", lambda span, _: format_places(span.first, span.last), "bold", number=True),
    Column("messages", "messages", number=True),
    Column("tokens", "tokens", number=True),
    Column("since", "since", whole=True),
    Column("why", _why_out),
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
    yield table(done.cuts, SPANS, view)


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


# Messages in a list


def format_text(message: Message, view: Display) -> Text:
    """Return what a message says and calls: its beginning on a terminal, elsewhere all of it."""

    def cut(text: str) -> str:
        return text if view.width is None else one_line(text, LONGEST)

    said = message.content if message.content.strip() else format_unread(message)
    shown = Text("[image] " * len(message.images), "blue")
    if message.tool_result is not None and message.tool_result.is_error:
        shown.append("error ", "bold red")
    shown.append_text(safe_text(cut(said), "not blue default"))
    for call in message.tool_calls:
        shown.append("\n" if shown else "").append(cut(format_call(call)), "yellow")
    return shown


def _state(line: ExplainedMessage) -> Text:
    pinned = line.message.pinned and line.state != MessageState.CLEARED
    state = "pinned" if pinned else line.state.value
    return Text(state, STATES.get(line.state, "red"))


def _with_reason(line: ExplainedMessage, view: Display) -> Text:
    why = safe_text(f"{line.state}: {one_line(line.why)}", "dim")
    return format_text(line.message, view).append("\n").append_text(why)


MESSAGES = (
    Column("#", "message.position", "dim", number=True),
    Column("time", lambda line, view: f"{view.local(line.message.timestamp):%m-%d %H:%M}", "dim",
           whole=True),
    Column("role", lambda line, _: Text(line.message.role, ROLES.get(line.message.role, "")),
           whole=True),
    Column("state", lambda line, _: _state(line), whole=True),
    Column("tokens", "tokens", number=True),
    Column("text", lambda line, view: format_text(line.message, view)),
)  # fmt: skip
EXPLAINED = (*MESSAGES[:-1], Column("text", _with_reason))


def show_conversation(
    found: ViewExplanation, view: Display, *, explain: bool = False, everything: bool = False
) -> Iterator[RenderableType]:
    """Yield a conversation: its budget, its messages, and what is out of view.

    Args:
        found: the conversation.
        view: where it is shown.
        explain: whether to say why each message is in or out.
        everything: whether to show what was pruned or cleared message by message.
    """
    yield from _heading(found, view)
    for text in (*found.told,) if explain else ():
        yield from view.hang("", text, "dim")
    if found.info.system:
        yield from view.hang("system prompt: ", found.info.system, "dim")
    yield Text()
    lines = [
        line
        for line in found.lines
        if everything
        or line.state in INSIDE
        or (explain and line.state is not MessageState.CLEARED)
    ]
    columns = EXPLAINED if explain else MESSAGES
    yield table(lines, columns, view, empty="no messages")
    if found.markers:
        yield Text()
        yield from view.hang("", f"out of view; {EXPAND} ID PLACE shows them", "dim")
        yield table(found.markers, SPANS, view)
    yield Text()
    yield from show_figures(found, view)


def show_state(found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
    """Yield the state of a conversation without its messages: its budget, and what is in view."""
    yield from _heading(found, view)
    yield Text()
    yield from show_figures(found, view)


def _heading(found: ViewExplanation, view: Display) -> Iterator[Text]:
    info = found.info
    about = [info.model or "", f"since {view.minute(info.created_at)}"]
    if info.ended_at is not None:
        about.append(f"ended {view.minute(info.ended_at)}")
    dim = [safe_text(one_line(each), "dim") for each in about if each]
    yield from view.flow([safe_text(one_line(info.id), "bold"), *dim])
    figures = found.figures
    use = format_use(figures.total_tokens, found.budget, exact=figures.exact)
    yield from view.flow([use, Text(f"window {figures.token_limit:,}", "dim")])
    by_role = figures.tokens_by_role
    roles = (role for role in ROLES if by_role.get(role))
    yield from view.flow(Text(f"{role} {by_role[role]:,}", ROLES[role]) for role in roles)


def show_figures(found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
    """Yield what is in memory: counts, the oldest message, the strategy (R7.2 to R7.4)."""
    figures = found.figures
    states = Counter(line.state for line in found.lines)
    missing = {state: f"{states[state]:,} {MISSING[state]}" for state in MISSING if states[state]}
    held = Text(f"Memory: {pluralize(figures.messages_in_context, 'message')}", "bold")
    yield held.append(f" ({', '.join(missing.values())})" if missing else "", "not bold")
    cleared = states[MessageState.CLEARED]
    oldest = next((line.message for line in found.lines if line.state in SHOWN), None)
    unknown = f"not known, {figures.token_limit:,} tokens assumed: set tokens.limits"
    estimate = "" if found.counter.startswith("estimate") else "estimate by "
    rows = {
        "in all": pluralize(figures.total_messages, "message")
        + (f", {cleared:,} of them cleared" if cleared else ""),
        "oldest in view": oldest and f"#{oldest.position}, {view.minute(oldest.timestamp)}",
        "window": None if figures.limit_known else unknown,
        "strategy": found.strategy,
        "last pruning": figures.last_prune and view.minute(figures.last_prune),
        "tokens": f"{'exact, by ' if figures.exact else estimate}{found.counter}",
    }
    yield details(rows.items())

"""A conversation as a model sees it: budget, messages, what is out, and receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import SHOWN, ExplainedMessage, MessageState, ViewExplanation
from memoranda.conversation.pruning import ContextUsage
from memoranda.model.models import Context, ContextReceipt, Message, Pruning, ReceiptLine, ToolCall
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.plain import join, one_line, pluralize

EXPAND = "memoranda conversations expand"
# Why messages left the view, by what set it off (requirement R7.2).
REASONS = {
    "manual": "as you asked",
    "task_boundary": "as a new task begins",
    "session_start": "as a new session begins",
}
SAVES = "to save space"  # otherwise
BAR = 30
# From which share of a budget it is told how, in colour and in words (R2.4, R6.1, R6.2).
ALERTS = ((0.9, "red", ", almost full"), (0.8, "yellow", ", near the limit"), (0.0, "green", ""))
MESSAGE = " message"
LONGEST = 120  # characters of a message in a list on a terminal


def alert_of(share: float) -> tuple[str, str]:
    """Return the colour and the words for a share of a budget that is used."""
    return next((colour, words) for least, colour, words in ALERTS if share >= least)


def _tokens(row: ConversationOverview, _: Display) -> str:
    return f"{'' if row.stats.exact else '~'}{row.stats.total_tokens:,}"


OVERVIEW = (
    Column("conversation", lambda row, _: join(row.info.id, row.title or ""), "bold", wide=True),
    Column("messages", "info.messages", number=True),
    Column("in view", "stats.messages_in_context", number=True),
    Column("tokens", _tokens, number=True),
    Column("used", lambda row, _: f"{row.stats.percent_used:.0f} %", number=True),
    Column("begun", "info.created_at", "dim", whole=True),
)
PARTS = (
    Column("part", "what"),
    Column("tokens", "tokens", number=True),
    Column("why", "why", "dim", wide=True),
)


def _format_use(tokens: int, whole: int, *, exact: bool) -> Text:
    """Return how many tokens of how many are used: as a bar, in figures and as a share."""
    share = tokens / whole
    colour, _ = alert_of(share)
    filled = min(BAR, round(share * BAR))
    made = Text().append("━" * filled, colour).append("─" * (BAR - filled), "dim")
    made.append("  " if exact else "  about ", "default")
    made.append(f"{tokens:,} of {whole:,} tokens ", "bold default")
    return made.append(f"({100 * share:.0f} %)", colour)


def _join_messages(receipt: ContextReceipt) -> Iterator[ReceiptLine]:
    """Yield the parts of a context, and the messages of the conversation as one."""
    messages = [item for item in receipt.included if item.what.endswith(MESSAGE)]
    yield from (item for item in receipt.included if item not in messages)
    tokens = sum(item.tokens for item in messages)
    yield ReceiptLine(pluralize(len(messages), "message"), tokens, "")


def show_budget(receipt: ContextReceipt, view: Display) -> Iterator[RenderableType]:
    """Yield what a context takes of its budget as a bar, and the tokens of each part."""
    yield _format_use(receipt.tokens, receipt.budget, exact=receipt.exact)
    yield table(_join_messages(receipt), PARTS, view)
    if receipt.left_out:
        out = sum(item.tokens for item in receipt.left_out)
        yield Text(f"{out:,} tokens stayed out; they can still be found", "dim")


def show_context(built: Context, view: Display) -> Iterator[RenderableType]:
    """Yield the messages of what ``Conversation.context`` built, and what they take."""
    for message in built.messages:
        yield safe_text(str(message["role"]), "bold cyan")
        said = (message.get("content"), message.get("tool_calls"))
        yield Padding(safe_text("\n".join(str(each) for each in said if each)), (0, 0, 0, 2))
    yield Text()
    yield from show_budget(built.receipt, view)


def format_call(call: ToolCall) -> str:
    """Return a call as ``name({"key": "value"})``."""
    return one_line(f"{call.name}({call.arguments})")


def show_message(message: Message, view: Display) -> Iterator[Text]:
    """Yield a message with all that it says, to the letter."""
    head = Text(f"#{message.position}", "bold")
    head.append(f"  {view.minute(message.timestamp)}", "not bold dim")
    head.append(f"  {message.role}", "cyan")
    if message.tool_result is not None and message.tool_result.is_error:
        head.append("  error", "red")
    yield head.append(f"  {message.tokens:,} tokens", "not bold dim")
    if message.content:
        yield safe_text(message.content)
    for image in message.images:
        yield safe_text(f"{image.label} {one_line(image.url, LONGEST)}", "blue")
    for call in message.tool_calls:
        yield safe_text(format_call(call), "yellow")
    yield Text()


# Receipts


SPANS = (
    Column("place", "place", "bold", number=True),
    Column("messages", "messages", number=True),
    Column("tokens", "tokens", number=True),
    Column("since", "since", whole=True),
    Column("why", "why", "dim"),
)


def show_receipt(done: Pruning, view: Display, *, dry: bool = False) -> Iterator[RenderableType]:
    """Yield the receipt of a pruning: what went, when and why, and the places to expand."""
    yield Text("dry run, nothing was changed" if dry else describe_pruning(done), "bold")
    rows = {
        "at": view.minute(done.at),
        "why": done.why,
        "strategy": done.strategy,
        "tokens": f"{done.tokens:,} freed, {done.before:,} before, {done.after:,} after",
    }
    yield details(rows)
    yield table(done.cuts, SPANS, view)


def describe_pruning(*done: Pruning) -> str:
    """Return in a sentence that messages left the view, and why (requirement R7.2)."""
    count = pluralize(sum(each.messages for each in done), "message")
    return f"{count} left the view {REASONS.get(done[-1].trigger, SAVES)}"


def describe_usage(usage: ContextUsage) -> Text:
    """Return a line that says how full the context window is."""
    use = f"{usage.tokens:,} of {usage.limit:,} tokens"
    line = f"context {usage.percent:.0f} % full ({use}): older messages leave the view soon"
    return Text(line, alert_of(usage.tokens / usage.limit)[0])


# Messages in a list


def _text(line: ExplainedMessage, view: Display) -> Text:
    """Return what a message says and calls: its beginning on a terminal, elsewhere all of it."""
    message = line.message
    images = (image.label for image in message.images)
    said = join(*images, message.content, *map(format_call, message.tool_calls))
    return safe_text(view.brief(said, LONGEST))


def _with_reason(line: ExplainedMessage, view: Display) -> Text:
    return _text(line, view).append_text(safe_text(f"\n{line.state}: {one_line(line.why)}", "dim"))


MESSAGES = (
    Column("#", "message.position", "dim", number=True),
    Column("time", lambda line, view: view.minute(line.message.timestamp)[5:], "dim", whole=True),
    Column("role", "message.role", "cyan", whole=True),
    Column("state", "state", "yellow", whole=True),
    Column("tokens", "tokens", number=True),
    Column("text", _text),
)
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
    yield from _show_heading(found, view)
    for text in found.told.splitlines() if explain else ():
        yield safe_text(text, "dim")
    if found.info.system:
        yield safe_text(f"system prompt: {found.info.system}", "dim")
    hidden = {MessageState.CLEARED} if explain else {*MessageState} - SHOWN - {MessageState.WAITING}
    lines = [line for line in found.lines if everything or line.state not in hidden]
    yield Text()
    yield table(lines, EXPLAINED if explain else MESSAGES, view, empty="no messages")
    if found.markers:
        yield Text()
        yield Text(f"out of view; {EXPAND} ID PLACE shows them", "dim")
        yield table(found.markers, SPANS, view)
    yield Text()
    yield from show_figures(found, view)


def _show_heading(found: ViewExplanation, view: Display) -> Iterator[Text]:
    info, figures = found.info, found.figures
    about = join(info.id, info.model or "", f"since {view.minute(info.created_at)}")
    ended = "" if info.ended_at is None else f", ended {view.minute(info.ended_at)}"
    yield safe_text(one_line(f"{about}{ended}"), "bold")
    use = _format_use(figures.total_tokens, found.budget, exact=figures.exact)
    yield use.append(f" · window {figures.token_limit:,}", "dim")
    by_role = figures.tokens_by_role.items()
    yield Text(join(*(f"{role} {tokens:,}" for role, tokens in by_role if tokens)))


def show_figures(found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
    """Yield what is in memory: counts, the oldest message, the strategy (R7.2 to R7.4)."""
    figures, states = found.figures, Counter(line.state for line in found.lines)
    missing = [f"{count:,} {state}" for state, count in states.items() if state not in SHOWN]
    held = Text(f"Memory: {pluralize(figures.messages_in_context, 'message')}", "bold")
    yield held.append(f" ({', '.join(missing)})" if missing else "", "not bold")
    oldest = next((line.message for line in found.lines if line.state in SHOWN), None)
    rows = {
        "in all": pluralize(figures.total_messages, "message"),
        "oldest in view": oldest and f"#{oldest.position}, {view.minute(oldest.timestamp)}",
        "strategy": found.strategy,
        "last pruning": figures.last_prune and view.minute(figures.last_prune),
        "tokens": f"exact, by {found.counter}" if figures.exact else found.counter,
    }
    yield details(rows)

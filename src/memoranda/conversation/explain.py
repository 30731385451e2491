"""Why each message of a conversation is in its view or not, and the view in figures.

The reasons are those of the parts that make the decision, in the order in which they make it:
what must stay, what belongs together, and then the strategy. A provider's own counts correct the
figures.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memoranda.conversation.ledger import ConversationState, Ledger, start_of, unit_of
from memoranda.conversation.scoring import Score, scores
from memoranda.conversation.segments import LONGEST_TITLE
from memoranda.conversation.selection import TaskReader
from memoranda.conversation.signals import Signals
from memoranda.conversation.transcript import place_of, prunings_since
from memoranda.conversation.view import ORPHAN, ConversationView, Policy, essentials, last_request
from memoranda.model.models import ConversationInfo, Marker, Message, Pruning

PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (R10, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that stay out, though not cleared.
        total_tokens: tokens of that context, with all that it carries beside messages.
        token_limit: the model's context window.
        percent_used: of that limit.
        tokens_by_role: these by role; what is no message of the conversation is ``system``.
        oldest_message: when the oldest message in view was said.
        last_prune: when messages last left the view; ``None`` if they never did.
        exact: whether tokens are the model's own count rather than an estimate.
        limit_known: whether the limit is the model's; otherwise it is one that is assumed.
    """

    total_messages: int
    messages_in_context: int
    pruned_messages: int
    total_tokens: int
    token_limit: int
    percent_used: float
    tokens_by_role: Mapping[str, int]
    oldest_message: datetime | None
    last_prune: datetime | None
    exact: bool
    limit_known: bool = True


def conversation_stats(
    state: ConversationState, shown: ConversationView, tokens: int, prunings: Sequence[Pruning]
) -> ConversationStats:
    """Return the figures of a conversation that a context of ``tokens`` shows as ``shown``."""
    messages = shown.messages
    start = state.info.start
    pruned = [item.at for item in prunings if item.cuts and item.cuts[-1].last >= start]
    if shown.pruned and messages:
        # Out by the limits of this moment alone, without a receipt.
        pruned.append(max(message.timestamp for message in messages))
    return ConversationStats(
        total_messages=state.info.messages,
        messages_in_context=len(messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=tokens,
        token_limit=state.window,
        percent_used=round(tokens / state.window * PERCENT, 1),
        tokens_by_role=_tokens_by_role(state, shown, tokens),
        oldest_message=messages[0].timestamp if messages else None,
        last_prune=max(pruned, default=None),
        exact=state.meter.counter.exact,
        limit_known=state.window_known,
    )


def _tokens_by_role(
    state: ConversationState, shown: ConversationView, tokens: int
) -> dict[str, int]:
    """Return the tokens by role, as the provider is taken to count; the rest is system."""
    by_role: dict[str, int] = {}
    for entry in shown.entries:
        if isinstance(entry, Marker):  # It counts for the role that it is sent in.
            role, cost = "user" if entry.quotes else "system", entry.cost
        else:
            role, cost = entry.role, entry.tokens
        by_role[role] = by_role.get(role, 0) + cost
    by_role.pop("system", None)
    counts = {role: state.billed(cost) for role, cost in by_role.items()}
    return {"system": tokens - sum(counts.values())} | counts


class MessageState(StrEnum):
    """Where a message is: in the view, or why not."""

    IN = "in"
    PINNED = "pinned"
    SHORTENED = "shortened"
    WAITING = "waiting"
    OUT = "out"
    ORPHAN = "orphan"
    PRUNED = "pruned"
    CLEARED = "cleared"


SHOWN = frozenset({MessageState.IN, MessageState.PINNED, MessageState.SHORTENED})
# Where a marker stands for a message.
OUTSIDE = frozenset({MessageState.OUT, MessageState.ORPHAN, MessageState.PRUNED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedMessage:
    """One message of the transcript, and what the view does with it.

    Attributes:
        message: as it was said, whole.
        state: ``in``, ``pinned`` or ``shortened`` are in the view; ``waiting`` is a call whose
            results are to come; ``out`` does not fit; ``orphan`` is half of a call; ``pruned``
            and ``cleared`` were taken out before.
        why: why, in words.
        tokens: that it takes in the view, or would take.
        score: its importance, 0 to 1; of a pruned or cleared message that of its content alone.
        score_why: what the score is made of, where it is worked out now.
        task: the number of the task it belongs to, from 1; ``None`` where it is cleared.
        marker: id of the marker that stands for it in the view.
        pruning: id of the receipt of what took it out.
    """

    message: Message
    state: MessageState
    why: str
    tokens: int
    score: float | None = None
    score_why: str | None = None
    task: int | None = None
    marker: str | None = None
    pruning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTask:
    """A task among the messages since the last ``clear``.

    Attributes:
        number: from 1.
        title: as it was given, else how its first request begins.
        first: position of its first message.
        last: position of its last message.
        completed: whether it is done.
        why: what shows that it begins here.
    """

    number: int
    title: str
    first: int
    last: int
    completed: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewExplanation:
    """A conversation as a model sees it within a budget, and why.

    Attributes:
        info: the conversation.
        now: when this was found.
        budget: most tokens of a context.
        tokens: that it takes, as the provider is taken to count them.
        system: of these the system prompt's.
        window: the model's context window, in tokens.
        counter: what counts the tokens.
        figures: messages and tokens by role.
        strategy: how messages are chosen.
        told: two sentences on that (R7.5).
        cleared: how many messages were cleared from view.
        expired: how many messages since then have expired, and are shown nowhere.
        lines: the messages, in order; those that were cleared only if asked for.
        tasks: the tasks since the last ``clear``, in order.
        markers: what stands in the view for what is left out.
        prunings: the receipts since the last ``clear``, oldest first.
    """

    info: ConversationInfo
    now: datetime
    budget: int
    tokens: int
    system: int
    window: int
    counter: str
    figures: ConversationStats
    strategy: str
    told: tuple[str, str]
    cleared: int
    expired: int
    lines: tuple[ExplainedMessage, ...]
    tasks: tuple[ExplainedTask, ...]
    markers: tuple[Marker, ...]
    prunings: tuple[Pruning, ...]


def explain_view(
    state: ConversationState,
    shown: ConversationView,
    policy: Policy,
    *,
    tokens: int,
    budget: int,
    now: datetime,
    prunings: Sequence[Pruning],
    messages: Sequence[Message],
    expired: int,
) -> ViewExplanation:
    """Return why each message of a conversation is in its view or not.

    Args:
        state: the conversation.
        shown: its view in a context within ``budget`` tokens.
        policy: by which that was chosen.
        tokens: of that context.
        budget: most tokens of it.
        now: the present moment.
        prunings: the receipts, oldest first.
        messages: the messages to explain, in order.
        expired: how many messages since the last ``clear`` have expired.
    """
    start, figures = state.info.start, conversation_stats(state, shown, tokens, prunings)
    since = prunings_since(prunings, start)
    receipts: dict[int, Pruning] = {}  # what took out the message at a position: the first that did
    for item in reversed(since):
        for cut in item.cuts:
            receipts.update(dict.fromkeys(range(cut.first, cut.last + 1), item))
    said = [message for message in messages if place_of(message) >= start]
    tasks = _tasks(said, state.ledger.signals)
    starts = [task.first for task in tasks]
    views = {message.id: message for message in shown.messages}
    live, ranked = _live_states(state, shown, policy, budget), _live_scores(state.ledger)
    lines = []
    for message in messages:
        place, score, receipt = place_of(message), ranked.get(message.id), None
        if place < start:
            where, why = MessageState.CLEARED, "said before the conversation was cleared"
        elif message.id in live:
            where, why = live[message.id]
        else:
            where, receipt = MessageState.PRUNED, receipts.get(place)
            why = f"{receipt.trigger} pruning: {receipt.why}" if receipt else "pruned"
        at = bisect_right(shown.markers, place, key=start_of) - 1
        line = ExplainedMessage(
            message=message,
            state=where,
            why=why,
            tokens=views.get(message.id, message).tokens,
            score=score.value if score else message.importance,
            score_why=str(score) if score else None,
            task=bisect_right(starts, place) or None,
            marker=shown.markers[at].id if at >= 0 and where in OUTSIDE else None,
            pruning=receipt.id if receipt else None,
        )
        lines.append(line)
    return ViewExplanation(
        info=state.info,
        now=now,
        budget=budget,
        tokens=tokens,
        system=state.system,
        window=state.window,
        counter=state.meter.counter.name,
        figures=figures,
        strategy=policy.strategy.name,
        told=_describe(policy, budget),
        cleared=max(0, state.info.messages - len(said) - expired),
        expired=expired,
        lines=tuple(lines),
        tasks=tuple(tasks),
        markers=shown.markers,
        prunings=tuple(since),
    )


def _describe(policy: Policy, budget: int) -> tuple[str, str]:
    """Return two sentences: what the strategy keeps, and what stays whatever it says (R7.5)."""
    newest = f"{policy.keep_recent} newest messages"
    always = ["system messages", "pins"]
    always.append("the newest message" if policy.keep_recent == 1 else f"the {newest}")
    if policy.pairs:
        always.append("the last request")
    most = f"{budget:,} tokens"
    if policy.pairs:
        most += f" and {policy.max_messages} messages"
    kept = f"{policy.strategy.name} keeps {policy.strategy.description}"
    if policy.stable:
        kept += "; it prunes rarely and in large steps, so that the start of the view stays"
    rest = (
        f"Always in: {', '.join(always[:-1])} and {always[-1]}; at most {most}. "
        "What is left out stays in the transcript: it can be searched and expanded."
    )
    return f"{kept}.", rest


def _live_scores(ledger: Ledger) -> dict[str, Score]:
    """Return the scores of the messages that no pruning took out, by their ids."""
    finished = (ledger.units[index] for index in ledger.selection_input().finished)
    completed = {ledger.index[item.id] for unit in finished for item in unit.messages}
    found = scores(ledger.messages, completed=completed, read=ledger.signals)
    return {item.id: score for item, score in zip(ledger.messages, found, strict=True)}


def _live_states(
    state: ConversationState, shown: ConversationView, policy: Policy, budget: int
) -> dict[str, tuple[MessageState, str]]:
    """Return where each message is that no pruning took out, and why, by their ids."""
    ledger = state.ledger
    views = {item.id: item for item in shown.messages}
    found = {item.id: (MessageState.ORPHAN, ORPHAN) for item in shown.orphans}
    for item in shown.waiting:
        found[item.id] = (MessageState.WAITING, "its results are still to come")
    must, request = essentials(ledger, policy), last_request(ledger.units)
    for index, unit in enumerate(ledger.units):
        why = shown.reasons.get(index, "everything fits")
        if unit.head.id not in views:
            why = _why_out(ledger, policy, budget, unit.tokens, new=index in must)
        elif unit.fixed:
            other = next(item for item in unit.messages if item.pinned or item.role == "system")
            why = f"belongs to #{other.position}, which is pinned"
        elif index == request and policy.pairs:
            why = "the last request"
        elif index in must:
            why = f"among the {policy.keep_recent} newest"
        for item in unit.messages:
            always = "system message, always in" if item.role == "system" else "always in"
            stays = item.pinned or item.role == "system"
            found[item.id] = (_state(item, views.get(item.id)), always if stays else why)
    return found


def _state(message: Message, shown: Message | None) -> MessageState:
    if shown is None:
        return MessageState.OUT
    if shown.tokens != message.tokens:
        return MessageState.SHORTENED
    return MessageState.PINNED if message.pinned else MessageState.IN


def _why_out(ledger: Ledger, policy: Policy, budget: int, tokens: int, *, new: bool) -> str:
    """Return why a unit of so many tokens is not in view."""
    if new:
        return "new, but what must stay leaves no room for it"
    many = ledger.tokens <= budget and ledger.count > policy.messages
    limit = f"{policy.max_messages} messages" if many else f"{budget:,} tokens"
    if policy.strategy.name in {"rolling_window", "recency"}:
        return f"older than what fits: {limit}"
    return f"no room for its {tokens:,} tokens beside what comes first: {limit}"


def _tasks(said: Sequence[Message], read: Callable[[Message], Signals]) -> list[ExplainedTask]:
    """Return the tasks of messages."""
    tasks = TaskReader(read).tasks([unit_of([item]) for item in said])
    return [
        ExplainedTask(
            number=number,
            title=task.boundary.title or _title(said[task.start : task.end], read),
            first=place_of(said[task.start]),
            last=place_of(said[task.end - 1]),
            completed=task.completed,
            why=task.boundary.why,
        )
        for number, task in enumerate(tasks, 1)
    ]


def _title(said: Sequence[Message], read: Callable[[Message], Signals]) -> str:
    spoken = [item for item in said if item.content.strip()]
    asked = [item for item in spoken if item.role == "user"]
    first = next((item for item in asked if not read(item).casual), (asked or spoken or said)[0])
    line = first.content.strip().partition("\n")[0]
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"

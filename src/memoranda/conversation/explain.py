"""Why each message of a conversation is in its view or not, and the view in figures.

The reasons are asked of the parts that make the decision, in the order in which they make it:
what must stay, what belongs together, and then the strategy. A provider's own counts correct the
figures.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import groupby, pairwise
from typing import TypeGuard

from memoranda.conversation.ledger import ConversationState, reference
from memoranda.conversation.scoring import scores
from memoranda.conversation.segments import segments
from memoranda.conversation.signals import Signals
from memoranda.conversation.view import ORPHAN, ConversationView, Policy, essentials, last_request
from memoranda.errors import InvalidInput
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    Marker,
    Message,
    PrunedSpan,
    Pruning,
)

PERCENT = 100
NAMES = ("prompt_tokens", "input_tokens")
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
LEAST, MOST = 0.5, 3.0  # beyond these it is not the same text that was counted
NEWEST = 0.5  # weight of the newest count against all before


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (R10, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that stay out, though not cleared.
        total_tokens: tokens of the view.
        token_limit: the model's context window.
        percent_used: of that limit.
        tokens_by_role: tokens of the view by role.
        oldest_message: when the oldest message in view was said.
        last_prune: when messages last left the view; ``None`` if they never did.
        exact: whether tokens are the model's own count rather than an estimate.
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


def conversation_stats(
    state: ConversationState, shown: ConversationView, prunings: Sequence[Pruning]
) -> ConversationStats:
    """Return the figures of a conversation that a context shows as ``shown``."""
    by_role = _tokens_by_role(state, shown)
    total = sum(by_role.values())
    start = state.info.start
    pruned = [item.at for item in prunings if item.cuts and item.cuts[-1].last >= start]
    if shown.pruned and shown.messages:
        # Out by the limits of this moment alone, without a receipt.
        pruned.append(max(message.timestamp for message in shown.messages))
    return ConversationStats(
        total_messages=state.info.messages,
        messages_in_context=len(shown.messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=total,
        token_limit=state.window,
        percent_used=round(total / state.window * PERCENT, 1),
        tokens_by_role=by_role,
        oldest_message=shown.messages[0].timestamp if shown.messages else None,
        last_prune=max(pruned, default=None),
        exact=state.meter.counter.exact,
    )


def _tokens_by_role(state: ConversationState, shown: ConversationView) -> dict[str, int]:
    """Return the tokens by role, as the provider is taken to count; what comes on top is system."""
    by_role: dict[str, int] = {}
    if state.info.system:
        by_role["system"] = state.system
    if shown.markers:
        # A marker is sent as a system message, and so it counts as one.
        markers = shown.tokens - sum(message.tokens for message in shown.messages)
        by_role["system"] = by_role.get("system", 0) + markers
    for message in shown.messages:
        by_role[message.role] = by_role.get(message.role, 0) + message.tokens
    learned = state.info.calibration
    counts = {role: round(tokens * learned.scale) for role, tokens in by_role.items()}
    if learned.overhead:
        counts["system"] = counts.get("system", 0) + learned.overhead
    return counts


def read_usage(usage: object) -> int:
    """Return the tokens of a prompt: a number, or from the ``usage`` of a reply.

    Of Anthropic's usage the cached tokens count too, which it gives apart.

    Raises:
        InvalidInput: there is no such number in it.
    """
    given = [number for name in NAMES if (number := _number(usage, name)) is not None]
    cached = [_number(usage, name) or 0 for name in CACHED]
    parts = [usage] if _is_count(usage) else [*given[:1], *cached] if given else []
    if not parts or min(parts) < 0 or sum(parts) < 1:
        raise InvalidInput(
            f"actual={usage!r:.80} must be the tokens of the prompt, or the reply's usage"
        )
    return sum(parts)


def _number(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
    return value if _is_count(value) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def learn(before: Calibration, *, counted: int, actual: int, exact: bool) -> Calibration:
    """Return the calibration that follows when ``counted`` tokens were billed as ``actual``.

    Exact counts miss only what is sent beside the messages, such as the definitions of
    tools; an estimate is off in proportion.
    """
    if exact:
        return Calibration(overhead=max(0, actual - counted))
    scale = min(max(actual / max(counted, 1), LEAST), MOST)
    first = before == Calibration()
    return Calibration(scale=scale if first else before.scale + NEWEST * (scale - before.scale))


LONGEST_TITLE = 80  # characters of a task's title


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
class FoldedMessages:
    """Messages in a row that are shown as one line.

    Attributes:
        id: ``Conversation.expand`` takes it.
        first: position of the first.
        last: position of the last.
        messages: how many they are.
        tokens: how many tokens they take.
        since: when the first was said.
        until: when the last was said.
        states: how many of them are out for which reason.
        prunings: the receipts of what took them out, oldest first.
        task: the number of the task that the first belongs to.
        score: the highest among them when they were pruned.
        summary: what they said in short, where that is known.
    """

    id: str
    first: int
    last: int
    messages: int
    tokens: int
    since: datetime
    until: datetime
    states: Mapping[MessageState, int]
    prunings: tuple[Pruning, ...]
    task: int | None
    score: float | None
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewExplanation:
    """A conversation as a model sees it within a budget, and why.

    Attributes:
        info: the conversation.
        now: when this was found.
        budget: most tokens of the view.
        tokens: that it takes, as the provider is taken to count them.
        system: of these the system prompt's.
        window: the model's context window, in tokens.
        counter: what counts the tokens.
        figures: messages and tokens by role.
        strategy: how messages are chosen.
        told: two sentences on that (R7.5).
        cleared: how many messages were cleared from view.
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
    lines: tuple[ExplainedMessage, ...]
    tasks: tuple[ExplainedTask, ...]
    markers: tuple[Marker, ...]
    prunings: tuple[Pruning, ...]


def explain_view(
    state: ConversationState,
    shown: ConversationView,
    policy: Policy,
    *,
    budget: int,
    now: datetime,
    prunings: Sequence[Pruning],
    messages: Sequence[Message],
) -> ViewExplanation:
    """Return why each message of a conversation is in its view or not.

    Args:
        state: the conversation.
        shown: its view within ``budget`` tokens.
        policy: by which that was chosen.
        budget: most tokens of the view.
        now: the present moment.
        prunings: the receipts, oldest first.
        messages: the messages to explain, in order.
    """
    since = _uncleared(prunings, state.info.start)
    lines = dict(_live_lines(state, shown, ViewReasons(state, shown, policy, budget)))
    lines |= _past_lines(state, shown, messages, since)
    said = [item for item in messages if (item.position or 0) >= state.info.start]
    tasks = _tasks(said, state.ledger.reader.signals)
    starts = [task.first for task in tasks]
    for item in said:
        lines[item.id] = replace(lines[item.id], task=bisect_right(starts, item.position or 0))
    figures = conversation_stats(state, shown, prunings)
    return ViewExplanation(
        info=state.info,
        now=now,
        budget=budget,
        tokens=figures.total_tokens,
        system=state.system,
        window=state.window,
        counter=state.meter.counter.name,
        figures=figures,
        strategy=policy.chosen.name,
        told=_describe(policy, budget),
        cleared=max(0, state.info.messages - len(said)),
        lines=tuple(lines[item.id] for item in messages),
        tasks=tuple(tasks),
        markers=shown.markers,
        prunings=since,
    )


def fold(
    found: ViewExplanation, apart: Callable[[ExplainedMessage], bool]
) -> Iterator[ExplainedMessage | FoldedMessages]:
    """Yield the lines in order; neighbours for which ``apart`` is false are joined into one."""
    for alone, run in groupby(found.lines, key=apart):
        if alone:
            yield from run
        else:
            for _, same in groupby(run, key=lambda line: line.state is MessageState.CLEARED):
                yield _fold(list(same), found)


def marker_of(span: PrunedSpan) -> str:
    """Return the id under which ``Conversation.expand`` gives back what a pruning took out."""
    return reference(span.first, span.last)


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
    kept = f"{policy.chosen.name} keeps {policy.chosen.description}"
    if policy.stable:
        kept += "; it prunes rarely and in large steps, so that the start of the view stays"
    rest = (
        f"Always in: {', '.join(always[:-1])} and {always[-1]}; at most {most}. "
        "What is left out stays in the transcript: it can be searched and expanded."
    )
    return f"{kept}.", rest


class ViewReasons:
    """Why the units of a ledger are in a view, or are not.

    A unit is a message, or a tool call with its results.
    """

    def __init__(
        self, state: ConversationState, shown: ConversationView, policy: Policy, budget: int
    ) -> None:
        """Explain ``shown``, the view of a conversation within ``budget`` tokens."""
        self._units = state.ledger.units
        self._policy = policy
        self._name = policy.chosen.name
        self._budget = budget
        self._shown = {message.id for message in shown.messages}
        self._complete = not shown.pruned
        self._must = essentials(state.ledger.grouping, policy)
        self._request = last_request(self._units)
        self.given = state.ledger.selection_input()

    def kept(self, index: int, message: Message) -> str:
        """Return why a message of the unit ``index`` is in the view."""
        unit = self._units[index]
        if message.role == "system":
            return "system message, always in"
        if message.pinned:
            return "always in"
        if unit.fixed:
            other = next(item for item in unit.messages if item.pinned or item.role == "system")
            return f"belongs to #{other.position}, which is pinned"
        if index == self._request and self._policy.pairs:
            return "the last request"
        if index in self._must:
            return f"among the {self._policy.keep_recent} newest"
        return "everything fits" if self._complete else self._preferred(index)

    def _preferred(self, index: int) -> str:
        if self._policy.pairs:
            mates = [mate for mate in self.given.mates(index) if mate != index]
            sure = next((mate for mate in mates if mate in self._must), None)
            if sure is not None:
                return f"question and answer stay together: #{self._units[sure].position}"
            if index < self._window and index in self._old:
                return self._old[index]
        if self._name in {"rolling_window", "recency"}:
            return "among the newest that fit"
        if index >= self.given.current and len(self.given.tasks) > 1:
            return "current task"
        return "of an earlier task that fits" if self._name == "hybrid" else "scores enough"

    def left(self, index: int) -> str:
        """Return why the unit ``index`` is not in the view."""
        tokens = self._units[index].tokens
        if index in self._must:
            return "new, but what must stay leaves no room for it"
        if self._name in {"rolling_window", "recency"}:
            return f"older than what fits: {self._limit}"
        if index >= self.given.current:
            return f"no room for its {tokens:,} tokens beside what comes first: {self._limit}"
        if self._name == "hybrid":
            return f"of an earlier task, and no room for all of that: {self._limit}"
        return f"no room for its {tokens:,} tokens beside the current task and what scores more"

    @cached_property
    def _limit(self) -> str:
        count = sum(len(unit.messages) for unit in self._units)
        tokens = sum(unit.tokens for unit in self._units)
        if tokens <= self._budget and count > self._policy.messages:
            return f"{self._policy.max_messages} messages"
        return f"{self._budget:,} tokens"

    @cached_property
    def _window(self) -> int:
        """The first of the units that are in view without a gap up to the newest."""
        for index in reversed(range(len(self._units))):
            if self._units[index].head.id not in self._shown:
                return index + 1
        return 0

    @cached_property
    def _old(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for group in self.given.kept_when_old:
            said = [self.given.signals(index) for index in group]
            rule = any(each.constraint for each in said)
            mistake = any(each.error or each.correction for each in said)
            why = (
                "a standing rule"
                if rule and not mistake
                else "an old mistake and what corrected it"
            )
            found.update(dict.fromkeys(group, why))
        return found


def _uncleared(prunings: Sequence[Pruning], start: int) -> tuple[Pruning, ...]:
    found = [
        replace(item, cuts=tuple(cut for cut in item.cuts if cut.first >= start))
        for item in prunings
    ]
    return tuple(item for item in found if item.cuts)


def _live_lines(
    state: ConversationState, shown: ConversationView, reasons: ViewReasons
) -> Iterator[tuple[str, ExplainedMessage]]:
    """Yield the ids and lines of the messages that no pruning took out."""
    ledger, given = state.ledger, reasons.given
    owner = {item.id: at for at, unit in enumerate(ledger.units) for item in unit.messages}
    done = {at for part in given.tasks if part.completed for at in range(part.start, part.end)}
    completed = {place for place, item in enumerate(ledger.messages) if owner.get(item.id) in done}
    views = {item.id: item for item in shown.messages}
    halves = {item.id for item in shown.orphans}
    ranked = scores(ledger.messages, completed=completed, read=ledger.reader.signals)
    for item, score in zip(ledger.messages, ranked, strict=True):
        at = owner.get(item.id)
        if at is None and item.id in halves:
            where, why = MessageState.ORPHAN, ORPHAN
        elif at is None:
            where, why = MessageState.WAITING, "its results are still to come"
        elif item.id in views:
            where, why = _state_in_view(item, views[item.id]), reasons.kept(at, item)
        else:
            where, why = MessageState.OUT, reasons.left(at)
        line = ExplainedMessage(
            message=item,
            state=where,
            why=why,
            tokens=views.get(item.id, item).tokens,
            score=score.value,
            score_why=str(score),
            marker=_marker(item, where, shown.markers),
        )
        yield item.id, line


def _state_in_view(message: Message, shown: Message) -> MessageState:
    if shown.tokens != message.tokens:
        return MessageState.SHORTENED
    return MessageState.PINNED if message.pinned else MessageState.IN


def _marker(message: Message, state: MessageState, markers: Sequence[Marker]) -> str | None:
    if state in SHOWN or state in {MessageState.WAITING, MessageState.CLEARED}:
        return None
    at = bisect_right(markers, message.position or 0, key=_first) - 1
    return markers[at].id if at >= 0 else None


def _first(part: Marker | PrunedSpan) -> int:
    return part.first


def _past_lines(
    state: ConversationState,
    shown: ConversationView,
    messages: Sequence[Message],
    prunings: Sequence[Pruning],
) -> dict[str, ExplainedMessage]:
    """Return the lines of the messages that were pruned or cleared, by their ids."""
    live = {item.id for item in state.ledger.messages}
    receipts = _receipts(prunings, [item.position or 0 for item in messages])
    found: dict[str, ExplainedMessage] = {}
    for item in messages:
        if item.id in live:
            continue
        receipt = receipts.get(item.position or 0)
        where = MessageState.PRUNED
        why = "pruned" if receipt is None else f"{receipt.trigger} pruning: {receipt.why}"
        if (item.position or 0) < state.info.start:
            where, why = MessageState.CLEARED, "said before the conversation was cleared"
        found[item.id] = ExplainedMessage(
            message=item,
            state=where,
            why=why,
            tokens=item.tokens,
            score=item.importance,
            marker=_marker(item, where, shown.markers),
            pruning=receipt.id if receipt else None,
        )
    return found


def _receipts(prunings: Sequence[Pruning], positions: Sequence[int]) -> dict[int, Pruning]:
    """Return which pruning took out the message at each position: the first that did."""
    found: dict[int, Pruning] = {}
    for item in reversed(prunings):
        for cut in item.cuts:
            start, end = bisect_left(positions, cut.first), bisect_right(positions, cut.last)
            found.update(dict.fromkeys(positions[start:end], item))
    return found


def _tasks(said: Sequence[Message], read: Callable[[Message], Signals]) -> list[ExplainedTask]:
    """Return the tasks of messages. Only where somebody said so does one end (R5.1)."""
    parts = segments(said, read=read)
    starts = [at for at, part in enumerate(parts) if at == 0 or part.boundary.strong]
    found = []
    for number, (start, end) in enumerate(pairwise([*starts, len(parts)]), 1):
        first, last = parts[start], parts[end - 1]
        task = ExplainedTask(
            number=number,
            title=first.title or _title(said[first.start : last.end], read),
            first=said[first.start].position or 0,
            last=said[last.end - 1].position or 0,
            completed=last.completed,
            why="; ".join(first.boundary.reasons),
        )
        found.append(task)
    return found


def _title(said: Sequence[Message], read: Callable[[Message], Signals]) -> str:
    spoken = [item for item in said if item.content.strip()]
    asked = [item for item in spoken if item.role == "user"]
    first = next((item for item in asked if not read(item).casual), (asked or spoken or said)[0])
    line = first.content.strip().partition("\n")[0]
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _fold(lines: Sequence[ExplainedMessage], found: ViewExplanation) -> FoldedMessages:
    first, last = lines[0].message, lines[-1].message
    start, end = first.position or 0, last.position or 0
    receipts = {line.pruning for line in lines}
    prunings = tuple(item for item in found.prunings if item.id in receipts)
    cuts = [cut for item in prunings for cut in item.cuts if start <= cut.last and cut.first <= end]
    # A message that was pinned later parts a span: its summary stands at the first part.
    told = [cut.summary for cut in sorted(cuts, key=_first) if cut.summary and cut.first >= start]
    return FoldedMessages(
        id=reference(start, end),
        first=start,
        last=end,
        messages=len(lines),
        tokens=sum(line.tokens for line in lines),
        since=first.timestamp,
        until=last.timestamp,
        states=Counter(line.state for line in lines),
        prunings=prunings,
        task=lines[0].task,
        score=max((cut.score for cut in cuts if cut.score is not None), default=None),
        summary="\n".join(told) or None,
    )

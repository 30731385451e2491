"""Why each message of a conversation is in its view or not, for people who look at it.

To look changes nothing: no setting, no receipt, no count of recalls.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby, pairwise

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.limits import Limits
from memoranda.conversation.markers import reference
from memoranda.conversation.pruner import State as Moment
from memoranda.conversation.reasons import Reasons, told
from memoranda.conversation.scoring import scores
from memoranda.conversation.segments import segments
from memoranda.conversation.signals import Signals
from memoranda.conversation.talk_stats import ConversationStats, stats
from memoranda.conversation.view import ORPHAN, View
from memoranda.model.models import ConversationInfo, Cut, Marker, Message, Pruning
from memoranda.model.times import require_aware

LONGEST_TITLE = 80  # characters of a task's title


class State(StrEnum):
    """Where a message is: in the view, or why not."""

    IN = "in"
    PINNED = "pinned"
    SHORTENED = "shortened"
    WAITING = "waiting"
    OUT = "out"
    ORPHAN = "orphan"
    PRUNED = "pruned"
    CLEARED = "cleared"


SHOWN = frozenset({State.IN, State.PINNED, State.SHORTENED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
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
    state: State
    why: str
    tokens: int
    score: float | None = None
    score_why: str | None = None
    task: int | None = None
    marker: str | None = None
    pruning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
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
class Fold:
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
    states: Mapping[State, int]
    prunings: tuple[Pruning, ...]
    task: int | None
    score: float | None
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
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
        told: two sentences on that (seed 000, R7.5).
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
    lines: tuple[Line, ...]
    tasks: tuple[Task, ...]
    markers: tuple[Marker, ...]
    prunings: tuple[Pruning, ...]


def explained(
    conversation: Conversation, *, budget: int | None = None, cleared: bool = False
) -> Explained:
    """Return why each message of a conversation is in its view or not.

    Args:
        conversation: which one; it is only read.
        budget: of the view, in tokens; as for ``Conversation.view``, if not given.
        cleared: also the messages before the last ``clear``.

    Raises:
        InvalidInput: the budget is no number of at least 1.
    """
    with conversation._lock:  # noqa: SLF001 - it sees inside, so that no door has to
        return _explained(_seen(conversation, budget, cleared=cleared))


def _explained(seen: _Seen) -> Explained:
    state, shown = seen.state, seen.shown
    reasons = Reasons(state.ledger, shown, seen.limits, budget=seen.budget)
    since = _uncleared(seen.prunings, state.info.start)
    lines = dict(_live_lines(seen, reasons)) | dict(_past_lines(seen, since))
    said = [item for item in seen.messages if (item.position or 0) >= state.info.start]
    tasks = _tasks(said, state.ledger.reading.signals)
    starts = [task.first for task in tasks]
    for item in said:
        lines[item.id] = replace(lines[item.id], task=bisect_right(starts, item.position or 0))
    figures = stats(state.info, shown, seen.prunings, limit=state.window, meter=state.meter)
    return Explained(
        info=state.info,
        now=seen.now,
        budget=seen.budget,
        tokens=figures.total_tokens,
        system=state.system,
        window=state.window,
        counter=state.meter.counter.name,
        figures=figures,
        strategy=seen.limits.policy.strategy,
        told=told(seen.limits, seen.budget),
        cleared=max(0, state.info.messages - len(said)),
        lines=tuple(lines[item.id] for item in seen.messages),
        tasks=tuple(tasks),
        markers=shown.markers,
        prunings=since,
    )


def folded(found: Explained, apart: Callable[[Line], bool]) -> Iterator[Line | Fold]:
    """Yield the lines in order, those for which ``apart`` is false joined where they meet."""
    for alone, run in groupby(found.lines, key=apart):
        lines = list(run)
        if alone:
            yield from lines
        else:
            yield from (_fold(list(same), found) for _, same in groupby(lines, key=_is_cleared))


def marker_of(cut: Cut) -> str:
    """Return the id under which ``Conversation.expand`` gives back what a pruning took out."""
    return reference(cut.first, cut.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a conversation is made of, at one moment."""

    state: Moment
    limits: Limits
    shown: View
    budget: int
    now: datetime
    prunings: Sequence[Pruning]
    messages: Sequence[Message]


def _seen(conversation: Conversation, budget: int | None, *, cleared: bool) -> _Seen:
    # It sees inside, so that no door has to.
    state = conversation._state()  # noqa: SLF001 - as said
    most = conversation._budget(budget, state)  # noqa: SLF001 - as said
    transcript = conversation._transcript  # noqa: SLF001 - as said
    clock = conversation._parts.clock  # noqa: SLF001 - as said
    return _Seen(
        state=state,
        limits=conversation._limits,  # noqa: SLF001 - as said
        shown=conversation._view(state, most, state.meter.reply),  # noqa: SLF001 - as said
        budget=most,
        now=require_aware(clock.now(), "clock"),
        prunings=transcript.prunings(),
        messages=transcript.messages(cleared=cleared),
    )


def _uncleared(prunings: Sequence[Pruning], start: int) -> tuple[Pruning, ...]:
    found = [
        replace(item, cuts=tuple(cut for cut in item.cuts if cut.first >= start))
        for item in prunings
    ]
    return tuple(item for item in found if item.cuts)


def _live_lines(seen: _Seen, reasons: Reasons) -> Iterator[tuple[str, Line]]:
    """Yield the ids and lines of the messages that no pruning took out."""
    ledger, scene = seen.state.ledger, reasons.scene
    owner = {item.id: at for at, unit in enumerate(ledger.units) for item in unit.messages}
    done = {at for part in scene.tasks if part.completed for at in range(part.start, part.end)}
    completed = {place for place, item in enumerate(ledger.messages) if owner.get(item.id) in done}
    shown = {item.id: item for item in seen.shown.messages}
    halves = {item.id for item in seen.shown.orphans}
    ranked = scores(ledger.messages, completed=completed, read=ledger.reading.signals)
    for item, score in zip(ledger.messages, ranked, strict=True):
        at = owner.get(item.id)
        if at is None:
            orphan = item.id in halves
            state = State.ORPHAN if orphan else State.WAITING
            why = ORPHAN if orphan else "its results are still to come"
        elif item.id in shown:
            state, why = _kept(item, shown[item.id]), reasons.kept(at, item)
        else:
            state, why = State.OUT, reasons.left(at)
        yield (
            item.id,
            Line(
                message=item,
                state=state,
                why=why,
                tokens=shown.get(item.id, item).tokens,
                score=score.value,
                score_why=str(score),
                marker=_marker(item, state, seen.shown.markers),
            ),
        )


def _kept(message: Message, shown: Message) -> State:
    if shown.tokens != message.tokens:
        return State.SHORTENED
    return State.PINNED if message.pinned else State.IN


def _marker(message: Message, state: State, markers: Sequence[Marker]) -> str | None:
    if state in SHOWN or state is State.WAITING:
        return None
    at = bisect_right(markers, message.position or 0, key=_first) - 1
    return markers[at].id if at >= 0 else None


def _first(part: Marker | Cut) -> int:
    return part.first


def _past_lines(seen: _Seen, prunings: Sequence[Pruning]) -> Iterator[tuple[str, Line]]:
    """Yield the ids and lines of the messages that were pruned or cleared."""
    live = {item.id for item in seen.state.ledger.messages}
    receipts = _receipts(prunings, [item.position or 0 for item in seen.messages])
    for item in seen.messages:
        if item.id in live:
            continue
        cleared = (item.position or 0) < seen.state.info.start
        receipt = receipts.get(item.position or 0)
        state = State.CLEARED if cleared else State.PRUNED
        why = "said before the conversation was cleared"
        if not cleared:
            why = "pruned" if receipt is None else f"{receipt.trigger} pruning: {receipt.why}"
        marker = None if cleared else _marker(item, state, seen.shown.markers)
        yield (
            item.id,
            Line(
                message=item,
                state=state,
                why=why,
                tokens=item.tokens,
                score=item.importance,
                marker=marker,
                pruning=receipt.id if receipt else None,
            ),
        )


def _receipts(prunings: Sequence[Pruning], positions: Sequence[int]) -> dict[int, Pruning]:
    """Return which pruning took out the message at each position: the first that did."""
    found: dict[int, Pruning] = {}
    for item in reversed(prunings):
        for cut in item.cuts:
            start, end = bisect_left(positions, cut.first), bisect_right(positions, cut.last)
            found.update(dict.fromkeys(positions[start:end], item))
    return found


def _tasks(said: Sequence[Message], read: Callable[[Message], Signals]) -> list[Task]:
    """Return the tasks of messages. Only where somebody said so does one end (R5.1)."""
    parts = segments(said, read=read)
    starts = [at for at, part in enumerate(parts) if at == 0 or part.boundary.strong]
    found = []
    for number, (start, end) in enumerate(pairwise([*starts, len(parts)]), 1):
        first, last = parts[start], parts[end - 1]
        task = Task(
            number=number,
            title=first.title or _opening(said[first.start : last.end], read),
            first=said[first.start].position or 0,
            last=said[last.end - 1].position or 0,
            completed=last.completed,
            why="; ".join(first.boundary.reasons),
        )
        found.append(task)
    return found


def _opening(said: Sequence[Message], read: Callable[[Message], Signals]) -> str:
    spoken = [item for item in said if item.content.strip()]
    asked = [item for item in spoken if item.role == "user"]
    telling = (item for item in asked if not read(item).casual)
    first = next(telling, (asked or spoken or said)[0])
    line = first.content.strip().partition("\n")[0]
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _is_cleared(line: Line) -> bool:
    return line.state is State.CLEARED


def _fold(lines: Sequence[Line], found: Explained) -> Fold:
    first, last = lines[0].message, lines[-1].message
    start, end = first.position or 0, last.position or 0
    receipts = {line.pruning for line in lines}
    prunings = tuple(item for item in found.prunings if item.id in receipts)
    cuts = [cut for item in prunings for cut in item.cuts if start <= cut.last and cut.first <= end]
    # A message that was pinned later parts a cut: its summary stands at the first part.
    told = [cut.summary for cut in sorted(cuts, key=_first) if cut.summary and cut.first >= start]
    return Fold(
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

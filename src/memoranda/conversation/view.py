"""The view: which messages a model sees, as a pure function of transcript and budget.

System messages and pins stay always, the newest messages and the last request before the
rest. Where these do not fit together, long tool results among them are shortened, to their head
and tail, and then the oldest of them go (law 1 of the views).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil

from memoranda.conversation.ledger import Ledger, join_spans, make_marker, message_span, reference
from memoranda.conversation.strategies.hybrid import Hybrid
from memoranda.conversation.strategies.importance import Importance
from memoranda.conversation.strategies.recency import Recency
from memoranda.conversation.strategies.rolling_window import RollingWindow
from memoranda.conversation.strategies.task_boundary import CurrentTask
from memoranda.conversation.units import Grouping, Selection, SelectionInput, Strategy, Unit
from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter

KeptUnits = dict[int, Unit]
"""What stays, by the number of the unit: the unit itself, or a shortened copy."""

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (RollingWindow(), Recency(), Importance(), Hybrid())
}
FINISHED_TASKS = CurrentTask()
STABLE_TO = 0.4  # share of a budget that a pruning leaves where prefixes are to be stable
SHORTEST = 80  # tokens that a shortened tool result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: ``rolling_window``, ``recency``, ``importance``, ``hybrid`` or one's own.
        max_messages: most messages in a view, beside those that must stay (R8.1).
        keep_recent: how many of the newest stay while they fit (R3.3, R8.4).
        stable: prune in large steps, so that the start of the view rarely changes.
    """

    strategy: str | Strategy = "rolling_window"
    max_messages: int = 50
    keep_recent: int = 10
    stable: bool = False

    def check(self) -> None:
        """Refuse a strategy that cannot be used.

        Raises:
            InvalidInput: there is none of that name, and it is no object that selects.
        """
        if isinstance(self.strategy, str):
            known = self.strategy in STRATEGIES
        else:
            known = isinstance(self.strategy, Strategy)
        if not known:
            raise InvalidInput(
                f"strategy={self.strategy!r:.80} is unknown; use one of {', '.join(STRATEGIES)}"
            )

    @property
    def chosen(self) -> Strategy:
        """The strategy itself."""
        return STRATEGIES[self.strategy] if isinstance(self.strategy, str) else self.strategy

    @property
    def messages(self) -> float:
        """Most messages in a view; a strategy without pairs counts tokens alone."""
        return self.max_messages if self.pairs else float("inf")

    @property
    def pairs(self) -> bool:
        """Whether question and answer go together."""
        return self.chosen.pairs


def choose(ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter) -> KeptUnits:
    """Return which units stay within ``budget`` tokens; fixed ones even beyond it."""
    grouping = ledger.grouping
    step = _last_step(grouping, budget, policy) if policy.stable else None
    if step is not None:
        fewer = replace(policy, max_messages=max(1, int(policy.max_messages * STABLE_TO)))
        low = int(budget * STABLE_TO)
        kept = choose_once(ledger.selection_input(step), grouping.first(step), low, fewer, meter)
        kept.update(enumerate(grouping.units[step:], step))
        request = last_request(grouping.units)
        fits = sum(unit.tokens for unit in kept.values()) <= budget
        if fits and (request is None or request in kept):
            return kept
    return choose_once(ledger.selection_input(), grouping, budget, policy, meter)


def _last_step(grouping: Grouping, budget: int, policy: Policy) -> int | None:
    # The view was pruned when its units first exceeded the limits, and again each time that
    # as much was added as a pruning frees. Which units that were follows from their sizes
    # alone: between two prunings the view only grows at its end.
    by_tokens = _step(grouping.tokens_before, budget)
    by_count = _step(grouping.messages_before, policy.messages)
    return max(by_tokens, by_count) or None


def _step(before: Sequence[int], limit: float) -> int:
    total, freed = before[-1], limit * (1 - STABLE_TO)
    if total <= limit or freed <= 0:
        return 0
    mark = limit + (ceil((total - limit) / freed) - 1) * freed
    return bisect_right(before, mark)


def choose_once(
    given: SelectionInput, grouping: Grouping, budget: int, policy: Policy, meter: MessageMeter
) -> KeptUnits:
    """Return which units stay, regardless of earlier views."""
    units = grouping.units
    fits = grouping.tokens <= budget and grouping.messages <= policy.messages
    if fits and policy.strategy is not FINISHED_TASKS:
        return dict(enumerate(units))
    must = essentials(grouping, policy)
    left = budget - sum(units[index].tokens for index in must)
    if left < 0:
        last = last_request(units) if policy.pairs else None
        return squeeze(grouping, must, last, budget, meter)
    held = sum(len(units[index].messages) for index in must)
    selection = Selection(units, must, left, max(policy.messages - held, 0))
    if policy.pairs:
        for index in sorted(must, reverse=True):
            selection.take(given.mates(index))
    policy.chosen.select(given, selection)
    return {index: units[index] for index in selection.kept}


def essentials(grouping: Grouping, policy: Policy) -> set[int]:
    """Return the units that come first: fixed ones, the newest, and the last request."""
    units = grouping.units
    must = set(grouping.fixed)
    left = policy.keep_recent
    for index in reversed(range(len(units))):
        if left <= 0:
            break
        must.add(index)
        left -= len(units[index].messages)
    request = last_request(units)
    if request is not None and policy.pairs and policy.keep_recent:
        must.add(request)
    return must


def last_request(units: Sequence[Unit]) -> int | None:
    """Return the unit of the user's last message."""
    for index in reversed(range(len(units))):
        if units[index].head.role == "user":
            return index
    return None


def least_tokens(grouping: Grouping, budget: int, policy: Policy) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there
    is room for that. In a strategy without pairs whatever it keeps does: it knows no markers.
    """
    if not policy.pairs:
        return budget
    units = grouping.units
    whole = sum(units[index].tokens for index in essentials(grouping, policy))
    if whole <= budget:
        return whole
    fixed = grouping.fixed_tokens
    request = last_request(units)
    asked = 0 if request is None or units[request].fixed else units[request].tokens
    return fixed + asked if fixed + asked <= budget else fixed


def squeeze(
    grouping: Grouping, must: Iterable[int], request: int | None, budget: int, meter: MessageMeter
) -> KeptUnits:
    """Return which units stay, and how shortened, where not even the essential ones fit."""
    units = grouping.units
    kept = {index: units[index] for index in grouping.fixed}
    # The last request goes last, however long ago it was.
    order = sorted(set(must) - kept.keys(), key=lambda index: (index == request, index))
    left = budget - grouping.fixed_tokens
    if request in order and units[request].tokens > left:
        order.remove(request)  # No room for it, whatever else goes.
    needed = sum(shortest(units[index]) for index in order)
    while order and needed > left:
        needed -= shortest(units[order.pop(0)])
    stay = sorted(order)
    kept.update(zip(stay, shorten([units[index] for index in stay], left, meter), strict=True))
    return kept


# Shortening


def shortest(unit: Unit) -> int:
    """Return the tokens of a unit after all that can be shortened in it was."""
    return sum(min(item.tokens, SHORTEST) if _can(item) else item.tokens for item in unit.messages)


def shorten(units: Sequence[Unit], budget: int, meter: MessageMeter) -> list[Unit]:
    """Return the units with their longest tool results cut to one length, so that they fit.

    ``budget`` is at least the sum of their :func:`shortest`.
    """
    cap = _longest_kept(units, budget)
    return [
        Unit.of(*(_shortened(item, cap, meter) for item in unit.messages))
        if any(_can(item) and item.tokens > cap for item in unit.messages)
        else unit
        for unit in units
    ]


def _can(message: Message) -> bool:
    return message.tool_result is not None and not message.pinned and not message.images


def _longest_kept(units: Sequence[Unit], budget: int) -> int:
    # The largest length to which the results must be cut, found from the shortest up.
    left = budget - sum(i.tokens for unit in units for i in unit.messages if not _can(i))
    sizes = sorted(i.tokens for unit in units for i in unit.messages if _can(i))
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return max(share, SHORTEST)
        left -= size
    return max(sizes, default=0)


def _shortened(message: Message, cap: int, meter: MessageMeter) -> Message:
    if not _can(message) or message.tokens <= cap:
        return message
    text = message.content
    kept = len(text) * cap // message.tokens
    while True:
        content = _head_and_tail(text, kept, message.position or 0)
        tokens = meter.message(content)
        if tokens <= cap or kept == 0:
            return replace(message, content=content, tokens=tokens)
        kept = min(kept - 1, kept * cap // tokens)


def _head_and_tail(text: str, kept: int, place: int) -> str:
    head = int(kept * HEAD_SHARE)
    tail = kept - head
    cut = len(text) - kept
    end = text[len(text) - tail :] if tail else ""
    whole = reference(place, place)
    return f"{text[:head]}\n... [{cut} characters removed] ... (expand {whole})\n{end}"


NO_ROOM = "older or less important than what fits"
SUMMARIES = 0.2  # most of a budget that what markers tell in short may take
SHORTEST_SUMMARY = 20  # characters; less tells nothing
ORPHAN = "tool call or result without its counterpart"


@dataclass(frozen=True, slots=True)
class ConversationView:
    """What a model sees of a conversation, and what it does not.

    Every message of the transcript is in ``messages``, in ``waiting`` or under exactly one
    of the ``markers``.

    Attributes:
        entries: messages and markers in order.
        markers: one for each run of messages that are left out. Those that stand for orphans
            alone are not among ``entries``: a model is not told of what it was never shown.
        pruned: those of the left out messages that no pruning took out before, in order.
        orphans: tool calls without all their results, and results without a call; left out.
        waiting: the newest call whose results are still to come; left out, without a marker.
        shortened: messages of which head and tail are shown; their ids with the tokens of
            the whole.
        tokens: the tokens of ``entries``.
    """

    entries: tuple[Message | Marker, ...]
    markers: tuple[Marker, ...]
    pruned: tuple[Message, ...]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]
    shortened: tuple[tuple[str, int], ...]
    tokens: int
    messages: tuple[Message, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Gather the messages."""
        said = tuple(entry for entry in self.entries if isinstance(entry, Message))
        object.__setattr__(self, "messages", said)


def view(
    transcript: Iterable[Message],
    budget: int,
    policy: Policy,
    meter: MessageMeter,
    prunings: Iterable[Pruning] = (),
) -> ConversationView:
    """Return the view of a transcript within ``budget`` tokens.

    Fixed messages stay even where they alone exceed the budget; the caller, who knows what
    else must fit, judges that.
    """
    return view_of(Ledger(prunings, transcript), budget, policy, meter)


def view_of(ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter) -> ConversationView:
    """Return the view of the transcript that ``ledger`` holds."""
    room, floor = budget, least_tokens(ledger.grouping, budget, policy)
    while True:
        kept = choose(ledger, room, policy, meter)
        found = _assemble(ledger, kept, meter, 0)
        over = found.tokens - budget
        if over <= 0:
            # Summaries take what the messages leave.
            summarized = any(gap.summary for gap in ledger.gaps)
            most = min(-over, int(budget * SUMMARIES))
            return _assemble(ledger, kept, meter, most) if summarized else found
        if room <= floor:
            # Not even the markers fit beside what must stay: they are not shown.
            return _without_markers(found)
        marked = sum(item.cost for item in found.markers)
        room = max(min(room - over, budget - marked), floor)


def _without_markers(found: ConversationView) -> ConversationView:
    tokens = sum(message.tokens for message in found.messages)
    return replace(found, entries=found.messages, tokens=tokens)


def _assemble(ledger: Ledger, kept: KeptUnits, meter: MessageMeter, room: int) -> ConversationView:
    places = sorted(kept)
    stay = [kept[place] for place in places]
    orphans, waiting = _unpaired(ledger)
    pruned, gaps = _left_out(ledger, places, stay, waiting)
    markers = _markers(gaps, meter, room)
    shown = [item for item in markers if item.why != ORPHAN]
    entries: list[Message | Marker] = []
    rest = iter(shown)
    upcoming = next(rest, None)
    for unit in stay:
        while upcoming is not None and upcoming.first < unit.position:
            entries.append(upcoming)
            upcoming = next(rest, None)
        entries += unit.messages
    if upcoming is not None:
        entries += [upcoming, *rest]
    return ConversationView(
        entries=tuple(entries),
        markers=tuple(markers),
        pruned=tuple(pruned),
        orphans=orphans,
        waiting=waiting,
        shortened=tuple(_list_shortened(ledger, kept)),
        tokens=sum(unit.tokens for unit in stay) + sum(item.cost for item in shown),
    )


def _markers(gaps: Sequence[PrunedSpan], meter: MessageMeter, room: int) -> list[Marker]:
    # The newest summaries first, while there is room for them.
    found: list[Marker] = []
    for gap in reversed(gaps):
        bare = make_marker(replace(gap, summary=None), meter)
        full = _with_summary(gap, bare, meter, room) if gap.summary else bare
        room -= full.cost - bare.cost
        found.append(full)
    return found[::-1]


def _with_summary(gap: PrunedSpan, bare: Marker, meter: MessageMeter, most: int) -> Marker:
    """Return the marker with as much of its summary as ``most`` tokens hold."""
    text = gap.summary or ""
    while text:
        full = make_marker(replace(gap, summary=text), meter)
        more = full.cost - bare.cost
        if more <= most:
            return full
        kept = min(len(text) - 1, len(text) * most // more - 1)
        text = f"{text[:kept].rstrip()}…" if kept >= SHORTEST_SUMMARY else ""
    return bare


def _unpaired(ledger: Ledger) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    if ledger.grouping.regular:
        return (), ()
    return tuple(ledger.grouping.orphans()), tuple(ledger.grouping.waiting())


def _list_shortened(ledger: Ledger, kept: KeptUnits) -> Iterator[tuple[str, int]]:
    for place, unit in kept.items():
        whole = ledger.units[place]
        if unit is not whole:
            for before, after in zip(whole.messages, unit.messages, strict=True):
                if before.tokens != after.tokens:
                    yield before.id, before.tokens


def _left_out(
    ledger: Ledger, places: Sequence[int], stay: Sequence[Unit], waiting: Sequence[Message]
) -> tuple[list[Message], list[PrunedSpan]]:
    """Return the live messages that are left out, and all gaps of the view with them."""
    if ledger.grouping.regular:
        pruned, gaps = _out_by_units(ledger, places)
    else:
        pruned, gaps = _out_by_messages(ledger, stay, waiting)
    shown = [message.position or 0 for unit in stay for message in unit.messages]
    shown += [message.position or 0 for message in waiting]
    return pruned, _join_gaps(sorted([*ledger.gaps, *gaps], key=_start), sorted(shown))


def _out_by_units(ledger: Ledger, places: Sequence[int]) -> tuple[list[Message], list[PrunedSpan]]:
    # Units stand in the order of their messages: a run of them is a run of messages.
    grouping = ledger.grouping
    pruned: list[Message] = []
    gaps: list[PrunedSpan] = []
    for before, after in pairwise([-1, *places, len(grouping.units)]):
        for first, end in _runs(ledger, before + 1, after):
            out = ledger.messages[grouping.messages_before[first] : grouping.messages_before[end]]
            pruned += out
            gaps.append(
                PrunedSpan(
                    first=out[0].position or 0,
                    last=out[-1].position or 0,
                    messages=len(out),
                    tokens=grouping.tokens_before[end] - grouping.tokens_before[first],
                    since=out[0].timestamp,
                    until=out[-1].timestamp,
                    why=NO_ROOM,
                )
            )
    return pruned, gaps


def _runs(ledger: Ledger, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs into which the gaps of prunings part the units from ``first`` to ``end``."""
    units, edges = ledger.units, {first, end}
    start = bisect_right(ledger.gaps, units[first].position, key=_start) if first < end else 0
    for gap in ledger.gaps[start:] if first < end else ():
        edge = bisect_right(units, gap.first, first, end, key=_place)
        if edge == end:
            break
        edges.add(edge)
    yield from (pair for pair in pairwise(sorted(edges)) if pair[0] < pair[1])


def _out_by_messages(
    ledger: Ledger, stay: Sequence[Unit], waiting: Sequence[Message]
) -> tuple[list[Message], list[PrunedSpan]]:
    # Something stands apart from its counterpart: each message is looked at.
    away = {message.id for unit in stay for message in unit.messages}
    away.update(message.id for message in waiting)
    alone = {message.id for message in ledger.grouping.orphans()}
    out = [message for message in ledger.messages if message.id not in away]
    gaps = [message_span(item, ORPHAN if item.id in alone else NO_ROOM) for item in out]
    return [message for message in out if message.id not in alone], gaps


def _join_gaps(gaps: Iterable[PrunedSpan], shown: Sequence[int]) -> list[PrunedSpan]:
    # Gaps are one where nothing that is shown parts them.
    joined: list[PrunedSpan] = []
    for gap in gaps:
        before = joined[-1] if joined else None
        if before is not None and _none_between(shown, before.last, gap.first):
            joined[-1] = join_spans(before, gap)
        else:
            joined.append(gap)
    return joined


def _none_between(shown: Sequence[int], last: int, first: int) -> bool:
    index = bisect_right(shown, last)
    return index == len(shown) or shown[index] > first


def _start(gap: PrunedSpan) -> int:
    return gap.first


def _place(unit: Unit) -> int:
    return unit.position

"""The view: which messages a model sees, as a pure function of transcript and budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from memoranda.conversation.gaps import join_spans, make_marker, message_span
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.selection import KeptUnits, Policy, choose, least_tokens
from memoranda.conversation.units import Unit
from memoranda.model.models import Marker, Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter

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
        shortened=tuple(_shortened(ledger, kept)),
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


def _shortened(ledger: Ledger, kept: KeptUnits) -> Iterator[tuple[str, int]]:
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

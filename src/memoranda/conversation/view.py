"""The view: which messages a model sees, as a pure function of transcript and budget.

System messages and pins stay always, the newest messages and the last request before the rest.
Where these do not fit together, long tool results among them are shortened to head and tail; then
the oldest go, with the question or answer that they belong to.

What does not fit leaves in blocks: a view holds what was kept when its messages last exceeded the
budget, and all that came since. So a request begins as the one before it did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

from memoranda.conversation.formats.parse import replace_result
from memoranda.conversation.live import NO_ROOM, LiveMessages, merge_spans
from memoranda.conversation.markers import mark_gaps
from memoranda.conversation.selection import NEWEST, Policy, Selection, SelectionInput
from memoranda.conversation.transcript import place_of
from memoranda.conversation.units import Unit, unit_of
from memoranda.model.models import Marker, Message, PrunedSpan
from memoranda.model.spans import runs_of, span_of
from memoranda.tokens.catalog import ChatMeter

SHORTEST = 80  # tokens that a shortened tool result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand
ORPHAN = "tool call or result without its counterpart"
WAITING = "its results are still to come"

# The units that stay in a view, or shortened copies, and why each does, by their numbers.
Kept = dict[int, tuple[Unit, str]]


def select_units(given: SelectionInput, room: int, meter: ChatMeter) -> Kept:
    """Return which units stay within ``room`` tokens; fixed ones even beyond it."""
    chosen = Selection(given, room)
    if chosen.tokens < 0:
        return _squeeze(given, room, meter)
    given.policy.strategy.select(given, chosen)
    return {index: (given.units[index], why) for index, why in chosen.kept.items()}


def choose_units(given: SelectionInput, room: int, meter: ChatMeter) -> Kept:
    """Return which units a view of ``room`` tokens shows: all, or what is left block by block."""
    units, policy = given.units, given.policy
    if sum(unit.tokens for unit in units) <= room and not policy.always:
        return {index: (unit, "everything fits") for index, unit in enumerate(units)}
    block = _block_end(units, room, policy) if policy.strategy.pairs else 0
    if block:
        earlier = SelectionInput(given.live, policy, block)
        kept = select_units(earlier, int(room * policy.prune_to), meter)
        kept.update((index, (units[index], NEWEST)) for index in range(block, len(units)))
        held = sum(len(unit.messages) for unit, _ in kept.values())
        must = given.essential
        if (
            _tokens_of(kept) <= room
            and held <= max(policy.messages, policy.keep_recent)
            and all(index in kept and kept[index][0] is units[index] for index in must)
        ):
            return kept | {index: (units[index], why) for index, why in must.items()}
    return select_units(given, room, meter)


def _tokens_of(kept: Kept) -> int:
    return sum(unit.tokens for unit, _ in kept.values())


def _block_end(units: Sequence[Unit], room: int, policy: Policy) -> int:
    """Return how many units there were when the messages last exceeded what a view holds.

    They first did when they exceeded a limit, and again each time that as much was added as then
    is freed. Which units that were follows from their sizes alone.
    """
    ends = [0]
    for limit, sizes in (
        (room, [unit.tokens for unit in units]),
        (policy.messages, [len(unit.messages) for unit in units]),
    ):
        total, freed = sum(sizes), limit * (1 - policy.prune_to)
        if total > limit and freed > 0:
            mark = limit + max(0, -(-(total - limit) // freed) - 1) * freed
            ends.append(bisect_right(list(accumulate(sizes, initial=0)), mark))
    return max(ends)


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
        shortened: how many tokens the whole of each shortened message takes, by its id.
        tokens: the tokens of ``entries``.
        messages: those among ``entries``.
        reasons: why each of these messages is in view, by its id.
    """

    entries: tuple[Message | Marker, ...]
    markers: tuple[Marker, ...]
    pruned: tuple[Message, ...]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]
    shortened: Mapping[str, int]
    tokens: int
    messages: tuple[Message, ...]
    reasons: Mapping[str, str] = field(compare=False)

    @property
    def left_out(self) -> list[tuple[Message, str]]:
        """The messages that it leaves out and no pruning took out before, each with why."""
        groups = (self.pruned, NO_ROOM), (self.orphans, ORPHAN), (self.waiting, WAITING)
        return [(message, why) for messages, why in groups for message in messages]


def view_of(given: SelectionInput, most: int, meter: ChatMeter, told: int = 0) -> ConversationView:
    """Return the view of live messages within ``most`` tokens.

    Fixed messages stay even where they alone exceed that; the caller, who knows what
    else must fit, judges that. Markers tell as much as in a view of ``told`` tokens.
    """
    live, room = given.live, most
    while True:
        kept = choose_units(given, room, meter)
        view = _assemble(live, kept, meter, told or most)
        over = view.tokens - most
        if over <= 0:
            return view
        least = _least_tokens(given, most)
        if room <= least:
            # There is no room for what markers tell, or not even for markers.
            bare = _assemble(live, kept, meter, 0)
            tokens = sum(item.tokens for item in bare.messages)
            fits = bare.tokens <= most
            return bare if fits else replace(bare, entries=bare.messages, tokens=tokens)
        room = max(room - over, least)


def _least_tokens(given: SelectionInput, budget: int) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there is
    room for that. In a strategy without pairs whatever it keeps does: it knows no markers.
    """
    if not given.policy.strategy.pairs:
        return budget
    fixed = {index for index, unit in enumerate(given.units) if unit.fixed}
    asked = fixed if given.last_request is None else {*fixed, given.last_request}
    sums = [sum(given.units[index].tokens for index in g) for g in (given.essential, asked, fixed)]
    return next((tokens for tokens in sums if tokens <= budget), sums[-1])


def _assemble(live: LiveMessages, kept: Kept, meter: ChatMeter, budget: int) -> ConversationView:
    """Return the view that shows the units that are kept, with markers for the rest."""
    grouping = live.group()
    shown = [message for place in sorted(kept) for message in kept[place][0].messages]
    here = {item.id for item in (*shown, *grouping.waiting)}
    out, gaps = _left_out(live, here, {item.id for item in grouping.orphans})
    markers = mark_gaps(gaps, meter, budget) if gaps else []
    told = [item for item in markers if item.why != ORPHAN]
    parts: list[tuple[int, tuple[Message | Marker, ...]]] = [
        *((unit.position, unit.messages) for unit, _ in kept.values()),
        *((item.first, (item,)) for item in told),
    ]
    parts.sort(key=lambda part: part[0])
    whole = [message for place in sorted(kept) for message in grouping.units[place].messages]
    return ConversationView(
        entries=tuple(entry for _, entries in parts for entry in entries),
        markers=tuple(markers),
        pruned=tuple(out),
        orphans=grouping.orphans,
        waiting=grouping.waiting,
        shortened={a.id: a.tokens for a, b in zip(whole, shown, strict=True) if a is not b},
        tokens=sum(item.tokens for item in shown) + sum(item.cost for item in told),
        messages=tuple(shown),
        reasons={item.id: why for unit, why in kept.values() for item in unit.messages},
    )


def _left_out(
    live: LiveMessages, shown: set[str], orphans: set[str]
) -> tuple[list[Message], list[PrunedSpan]]:
    """Return the live messages that are left out, and all gaps of the view with them."""
    if len(shown) == len(live.messages):
        return [], live.gaps
    out = [item for item in live.messages if item.id not in shown]
    runs = runs_of(out, lambda item: item.id in orphans)
    spans = [span_of(run, ORPHAN) for run in runs if run[0].id in orphans]
    spans += live.describe([run for run in runs if run[0].id not in orphans])
    places = [place_of(item) for item in live.messages if item.id in shown]
    # Gaps are one where nothing that is shown parts them.
    gaps = merge_spans(
        [*live.gaps, *spans],
        lambda last, first: bisect_right(places, last) != bisect_right(places, first),
    )
    return [item for item in out if item.id not in orphans], gaps


# Shortening


def _squeeze(given: SelectionInput, room: int, meter: ChatMeter) -> Kept:
    """Return which units stay, and how shortened, where not even the essential ones fit."""
    units, must = given.units, given.essential
    kept = {index: (units[index], must[index]) for index in must if units[index].fixed}
    left = room - _tokens_of(kept)

    def least(group: Iterable[int]) -> int:
        return _tokens_within((units[index] for index in group), SHORTEST)

    groups = [[index for index in group if index not in kept] for group in _leaving_order(given)]
    if given.last_request is not None and least(groups[-1]) > left:
        groups.pop()  # No room for the last request, whatever else goes.
    while groups and sum(map(least, groups)) > left:
        groups.pop(0)
    going = [index for group in groups for index in group]
    shortened = partial(_tokens_within, [units[index] for index in going])
    cap = SHORTEST + bisect_right(range(SHORTEST + 1, left + 1), left, key=shortened)
    for index in going:
        short = unit_of(_shorten(item, cap, meter) for item in units[index].messages)
        kept[index] = short, must[index]
    return kept


def _leaving_order(given: SelectionInput) -> list[tuple[int, ...]]:
    """Return the essential units as the groups in which they leave, the first to go first.

    The oldest go first; of a turn its work with tools, and then question and answer together. The
    last request goes last, however long ago it was.
    """
    if not given.policy.strategy.pairs:
        return [(index,) for index in sorted(given.essential)]
    found = list[tuple[int, ...]]()
    for turn in given.turns:
        groups = [*((index,) for index in turn.work), turn.pair]
        found += [group for group in groups if given.essential.keys() >= set(group) and group]
    return sorted(found, key=lambda group: given.last_request in group)


def _can_shorten(message: Message) -> bool:
    if message.tool_result is None or message.pinned or message.images:
        return False
    return message.raw is None or replace_result(message.raw, "") is not None


def _tokens_within(units: Iterable[Unit], cap: int) -> int:
    """Return the tokens of units after all tool results in them that can be were cut to ``cap``."""
    every = (item for unit in units for item in unit.messages)
    return sum(min(item.tokens, cap) if _can_shorten(item) else item.tokens for item in every)


def _shorten(message: Message, cap: int, meter: ChatMeter) -> Message:
    """Return a message as it is, or a long tool result's head and tail in ``cap`` tokens."""
    if message.tokens <= cap or not _can_shorten(message):
        return message
    text, place = message.content, place_of(message)
    kept = len(text) * cap // message.tokens
    while True:
        head = int(kept * HEAD_SHARE)
        end = text[len(text) - kept + head :]
        cut = f"... [{len(text) - kept} characters removed] ... (expand cut_{place})"
        content = f"{text[:head]}\n{cut}\n{end}"
        tokens = meter.message(content)
        if tokens <= cap or kept == 0:
            raw = message.raw and replace_result(message.raw, content)
            return replace(message, content=content, tokens=tokens, raw=raw)
        kept = min(kept - 1, kept * cap // tokens)

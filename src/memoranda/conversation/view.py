"""The view: which messages a model sees, as a pure function of transcript and budget.

System messages and pins stay always, the newest messages and the last request before the rest.
Where these do not fit together, long tool results among them are shortened to head and tail, and
so is the question that the oldest of them answers; then the oldest go, with the question
or answer that they belong to (law 1 of the views).

What does not fit leaves in blocks: a view holds what was kept when its messages last exceeded the
budget, and all that came since. So a request begins as the one before it did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from memoranda.conversation.formats.parse import replace_result
from memoranda.conversation.live import LiveMessages, merge_spans, runs_of, span_of
from memoranda.conversation.markers import PARTICULARS, SUMMARIES, mark_gaps, reference
from memoranda.conversation.selection import NEWEST, Selection, SelectionInput, Strategy
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.transcript import place_of
from memoranda.conversation.units import Unit, unit_of
from memoranda.model.models import Marker, Message, PrunedSpan
from memoranda.tokens.catalog import ChatMeter

SHORTEST = 80  # tokens that a shortened tool result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand
NO_ROOM = "older or less important than what fits"
ORPHAN = "tool call or result without its counterpart"
MATES = "question and answer stay together"
LAST_REQUEST = "the last request"
FITS = "everything fits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: one of ``STRATEGIES``, or a caller's own.
        max_messages: most messages in a view of which some are out, beside those that must stay
            (R8.1).
        keep_recent: how many of the newest stay while they fit (R3.3, R8.4).
        prune_to: share of a budget that is filled again where it is exceeded.
        always: whether the strategy also chooses where everything fits.
    """

    strategy: Strategy = STRATEGIES["rolling_window"]
    max_messages: int = 50
    keep_recent: int = 10
    prune_to: float = 0.5
    always: bool = False

    @property
    def messages(self) -> float:
        """Most messages in a view; a strategy without pairs counts tokens alone."""
        return self.max_messages if self.pairs else float("inf")

    @property
    def pairs(self) -> bool:
        """Whether question and answer go together."""
        return self.strategy.pairs


@dataclass(frozen=True, slots=True)
class KeptUnits:
    """The units that stay in a view.

    Attributes:
        units: them, or shortened copies, by their numbers.
        reasons: why each stays, by its number.
    """

    units: dict[int, Unit]
    reasons: dict[int, str]

    @property
    def tokens(self) -> int:
        """The tokens of all of them."""
        return sum(unit.tokens for unit in self.units.values())


def essential_units(given: SelectionInput, policy: Policy) -> dict[int, str]:
    """Return the units that come first, each with why: fixed ones, the newest, the last request.

    With those that they belong to, where the strategy keeps question and answer together.
    """
    units = given.units
    must = {index: "always in" for index, unit in enumerate(units) if unit.fixed}
    left = policy.keep_recent
    for index in reversed(range(len(units))):
        if left <= 0:
            break
        must.setdefault(index, f"among the {policy.keep_recent} newest")
        left -= len(units[index].messages)
    if not policy.pairs:
        return must
    request = last_request(units)
    if request is not None and policy.keep_recent:
        must.setdefault(request, LAST_REQUEST)
    for index in list(must):
        for mate in given.mates(index):
            why = f"{MATES}: #{units[index].position}"
            must.setdefault(mate, why)
    return must


def last_request(units: Sequence[Unit]) -> int | None:
    """Return the unit of the user's last message."""
    places = reversed(range(len(units)))
    return next((index for index in places if units[index].head.role == "user"), None)


def select_units(given: SelectionInput, room: int, policy: Policy, meter: ChatMeter) -> KeptUnits:
    """Return which units stay within ``room`` tokens; fixed ones even beyond it."""
    units, must = given.units, essential_units(given, policy)
    left = room - sum(units[index].tokens for index in must)
    if left < 0:
        return _squeeze(given, must, room, policy, meter)
    held = sum(len(units[index].messages) for index in must)
    chosen = Selection(units, must, left, max(policy.messages - held, 0))
    policy.strategy.select(given, chosen)
    # What it took is taken once more: so no strategy exceeds a limit or parts question and answer.
    checked = Selection(units, must, left, max(policy.messages - held, 0))
    for index, why in chosen.kept.items():
        if index in range(len(units)):
            checked.take(given.mates(index) if policy.pairs else (index,), why)
    return KeptUnits({index: units[index] for index in checked.kept}, checked.kept)


def choose_units(
    live: LiveMessages, given: SelectionInput, room: int, policy: Policy, meter: ChatMeter
) -> KeptUnits:
    """Return which units a view of ``room`` tokens shows: all, or what is left block by block."""
    units = given.units
    if live.group().tokens <= room and not policy.always:
        return KeptUnits(dict(enumerate(units)), dict.fromkeys(range(len(units)), FITS))
    block = _block_end(units, room, policy) if policy.pairs else 0
    if block:
        kept = select_units(
            SelectionInput(units[:block], live), int(room * policy.prune_to), policy, meter
        )
        kept.units.update(enumerate(units[block:], block))
        must = essential_units(given, policy)
        why = dict.fromkeys(range(block, len(units)), NEWEST) | must
        kept.reasons.update((index, why[index]) for index in kept.units if index in why)
        held = sum(len(unit.messages) for unit in kept.units.values())
        fits = kept.tokens <= room and held <= max(policy.messages, policy.keep_recent)
        if fits and all(kept.units.get(index) is units[index] for index in must):
            return kept
    return select_units(given, room, policy, meter)


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
        shortened: messages of which head and tail are shown; their ids with the tokens of
            the whole.
        tokens: the tokens of ``entries``.
        messages: those among ``entries``.
        reasons: why each of these messages is in view, by its id.
    """

    entries: tuple[Message | Marker, ...]
    markers: tuple[Marker, ...]
    pruned: tuple[Message, ...]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]
    shortened: tuple[tuple[str, int], ...]
    tokens: int
    messages: tuple[Message, ...]
    reasons: dict[str, str] = field(compare=False)


def view_of(live: LiveMessages, budget: int, policy: Policy, meter: ChatMeter) -> ConversationView:
    """Return the view of the live messages within ``budget`` tokens.

    Fixed messages stay even where they alone exceed the budget; the caller, who knows what
    else must fit, judges that.
    """
    given = SelectionInput(live.group().units, live)
    room, floor = budget, 0
    while True:
        kept = choose_units(live, given, room, policy, meter)
        view = _assemble(live, kept, meter, budget)
        over = view.tokens - budget
        if over <= 0:
            return view
        floor = floor or _least_tokens(given, budget, policy)
        if room <= floor:
            return _without_markers(live, kept, meter, budget)
        room = max(room - over, floor)


def _least_tokens(given: SelectionInput, budget: int, policy: Policy) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there is
    room for that. In a strategy without pairs whatever it keeps does: it knows no markers.
    """
    if not policy.pairs:
        return budget
    units, must = given.units, essential_units(given, policy)
    fixed = {index for index, unit in enumerate(units) if unit.fixed}
    request = last_request(units)
    for group in (must, fixed if request is None else fixed | {request}, fixed):
        tokens = sum(units[index].tokens for index in group)
        if tokens <= budget:
            break
    return tokens


def _without_markers(
    live: LiveMessages, kept: KeptUnits, meter: ChatMeter, budget: int
) -> ConversationView:
    """Return the view where there is no room for what markers tell, or not even for markers."""
    bare = _assemble(live, kept, meter, 0)
    if bare.tokens <= budget:
        shares = PARTICULARS + SUMMARIES
        told = _assemble(live, kept, meter, min(int((budget - bare.tokens) / shares), budget))
        return told if told.tokens <= budget else bare
    tokens = sum(message.tokens for message in bare.messages)
    return replace(bare, entries=bare.messages, tokens=tokens)


def _assemble(
    live: LiveMessages, kept: KeptUnits, meter: ChatMeter, budget: int
) -> ConversationView:
    """Return the view that shows the units that are kept, with markers for the rest."""
    grouping = live.group()
    stay = [kept.units[place] for place in sorted(kept.units)]
    shown = [message for unit in stay for message in unit.messages]
    here = {item.id for item in (*shown, *grouping.waiting)}
    out, gaps = _left_out(live, here, {item.id for item in grouping.orphans})
    markers = mark_gaps(gaps, meter, budget) if gaps else []
    told = [item for item in markers if item.why != ORPHAN]
    parts: list[tuple[int, tuple[Message | Marker, ...]]] = [
        *((unit.position, unit.messages) for unit in stay),
        *((item.first, (item,)) for item in told),
    ]
    parts.sort(key=lambda part: part[0])
    return ConversationView(
        entries=tuple(entry for _, entries in parts for entry in entries),
        markers=tuple(markers),
        pruned=tuple(out),
        orphans=grouping.orphans,
        waiting=grouping.waiting,
        shortened=tuple(
            (before.id, before.tokens)
            for place, unit in kept.units.items()
            if unit is not grouping.units[place]
            for before, after in zip(grouping.units[place].messages, unit.messages, strict=True)
            if before is not after
        ),
        tokens=sum(item.tokens for item in shown) + sum(item.cost for item in told),
        messages=tuple(shown),
        reasons={
            item.id: kept.reasons[place]
            for place, unit in kept.units.items()
            for item in unit.messages
        },
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
    spans += live.describe([run for run in runs if run[0].id not in orphans], NO_ROOM)
    places = [place_of(item) for item in live.messages if item.id in shown]
    # Gaps are one where nothing that is shown parts them.
    gaps = merge_spans(
        [*live.gaps, *spans],
        lambda last, first: bisect_right(places, last) != bisect_right(places, first),
    )
    return [item for item in out if item.id not in orphans], gaps


# Shortening


def _squeeze(
    given: SelectionInput, must: dict[int, str], room: int, policy: Policy, meter: ChatMeter
) -> KeptUnits:
    """Return which units stay, and how shortened, where not even the essential ones fit.

    Long tool results are shortened, and what is there only as the question or answer of others.
    """
    units = given.units
    mates = {
        item.id
        for index, why in must.items()
        if why.startswith(MATES)
        for item in units[index].messages
    }
    kept = {index: units[index] for index in must if units[index].fixed}
    left = room - sum(unit.tokens for unit in kept.values())
    groups = [
        [index for index in group if index not in kept]
        for group in _leaving_order(given, must, policy)
    ]
    request = last_request(units) if policy.pairs else None
    if (
        request is not None
        and sum(shortest_tokens(units[each], mates) for each in groups[-1]) > left
    ):
        groups.pop()  # No room for the last request, whatever else goes.
    needed = sum(shortest_tokens(units[index], mates) for group in groups for index in group)
    while groups and needed > left:
        needed -= sum(shortest_tokens(units[index], mates) for index in groups.pop(0))
    order = sorted(index for group in groups for index in group)
    cap = _longest_kept([units[index] for index in order], left, mates)
    for index in order:
        messages = units[index].messages
        kept[index] = unit_of(
            _shorten(item, cap, meter) if _can_shorten(item, mates) else item for item in messages
        )
    return KeptUnits(kept, {index: must[index] for index in kept})


def _leaving_order(
    given: SelectionInput, must: Iterable[int], policy: Policy
) -> list[tuple[int, ...]]:
    """Return the essential units as the groups in which they leave, the first to go first.

    The oldest go first; of a turn its work with tools, and then question and answer together. The
    last request goes last, however long ago it was.
    """
    if not policy.pairs:
        return [(index,) for index in sorted(must)]
    wanted, found = set(must), list[tuple[int, ...]]()
    for turn in given.turns:
        groups = [*((index,) for index in turn.work), turn.pair]
        found += [group for group in groups if wanted.issuperset(group) and group]
    request = last_request(given.units)
    return sorted(found, key=lambda group: request in group)


def _can_shorten(message: Message, mates: Container[str]) -> bool:
    if message.pinned or message.images or message.tool_calls:
        return False
    plain = message.raw is None or _replace_text(message, "") is not None
    return plain and (message.tool_result is not None or message.id in mates)


def _replace_text(message: Message, text: str) -> dict[str, Any] | None:
    """Return the item of a message with another text; ``None`` where it cannot be replaced."""
    raw = message.raw or {}
    if message.tool_result is not None:
        return replace_result(raw, text)
    plain = isinstance(raw.get("content"), str) and raw.keys() <= {"role", "content", "name"}
    return {**raw, "content": text} if plain else None


def shortest_tokens(unit: Unit, mates: Container[str] = ()) -> int:
    """Return the tokens of a unit after all that can be shortened in it was.

    Args:
        unit: the unit.
        mates: the ids of messages that can be shortened beside tool results.
    """
    return sum(
        min(item.tokens, SHORTEST) if _can_shorten(item, mates) else item.tokens
        for item in unit.messages
    )


def _longest_kept(units: Iterable[Unit], budget: int, mates: Container[str]) -> int:
    """Return the largest length to which messages must be cut so that all fits."""
    messages = [item for unit in units for item in unit.messages]
    left = budget - sum(item.tokens for item in messages if not _can_shorten(item, mates))
    sizes = sorted(item.tokens for item in messages if _can_shorten(item, mates))
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return max(share, SHORTEST)
        left -= size
    return max(sizes, default=0)


def _shorten(message: Message, cap: int, meter: ChatMeter) -> Message:
    """Return a message that is no longer than ``cap`` tokens: its head and its tail."""
    if message.tokens <= cap:
        return message
    text, place = message.content, place_of(message)
    kept = len(text) * cap // message.tokens
    while True:
        head = int(kept * HEAD_SHARE)
        end = text[len(text) - kept + head :]
        cut = f"... [{len(text) - kept} characters removed] ... (expand {reference(place, place)})"
        content = f"{text[:head]}\n{cut}\n{end}"
        tokens = meter.message(content)
        if tokens <= cap or kept == 0:
            raw = None if message.raw is None else _replace_text(message, content)
            return replace(message, content=content, tokens=tokens, raw=raw)
        kept = min(kept - 1, kept * cap // tokens)

"""The view: which messages a model sees, as a pure function of transcript and budget.

System messages and pins stay always, the newest messages and the last request before the
rest. Where these do not fit together, long tool results among them are shortened, to their head
and tail, and then the oldest of them go (law 1 of the views).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import ceil

from memoranda.conversation.formats.raw import replace_result
from memoranda.conversation.ledger import Ledger, merge_spans, runs_of, span_of, unit_of
from memoranda.conversation.markers import (
    PARTICULARS,
    SUMMARIES,
    fit_particulars,
    fit_summaries,
    reference,
)
from memoranda.conversation.particulars import names_in
from memoranda.conversation.selection import NEWEST, Selection, Strategy, Unit
from memoranda.conversation.strategies import FINISHED_TASKS, STRATEGIES
from memoranda.conversation.transcript import place_of
from memoranda.model.models import Marker, Message, PrunedSpan
from memoranda.tokens.catalog import ChatMeter

# What stays, by the number of the unit: the unit itself, or a shortened copy.
KeptUnits = dict[int, Unit]
# Why a strategy kept a unit, by its number; nothing where all fit.
Reasons = Mapping[int, str]

STABLE_TO = 0.4  # share of a budget that a pruning leaves where prefixes are to be stable
SHORTEST = 80  # tokens that a shortened tool result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: one of ``STRATEGIES``, or a caller's own.
        max_messages: most messages in a view, beside those that must stay (R8.1).
        keep_recent: how many of the newest stay while they fit (R3.3, R8.4).
        stable: prune in large steps, so that the start of the view rarely changes.
    """

    strategy: Strategy = STRATEGIES["rolling_window"]
    max_messages: int = 50
    keep_recent: int = 10
    stable: bool = False

    @property
    def messages(self) -> float:
        """Most messages in a view; a strategy without pairs counts tokens alone."""
        return self.max_messages if self.pairs else float("inf")

    @property
    def pairs(self) -> bool:
        """Whether question and answer go together."""
        return self.strategy.pairs


def choose(
    ledger: Ledger, budget: int, policy: Policy, meter: ChatMeter
) -> tuple[KeptUnits, Reasons]:
    """Return which units stay within ``budget`` tokens, and why; fixed ones even beyond it."""
    units = ledger.units
    fits = ledger.tokens <= budget and ledger.count <= policy.messages
    if fits and policy.strategy is not FINISHED_TASKS:
        return dict(enumerate(units)), {}
    step = _last_step(units, budget, policy) if policy.stable else 0
    if step:
        fewer = replace(policy, max_messages=max(1, int(policy.max_messages * STABLE_TO)))
        kept, why = choose_once(ledger.first(step), int(budget * STABLE_TO), fewer, meter)
        kept.update(enumerate(units[step:], step))
        request = last_request(units)
        fits = sum(unit.tokens for unit in kept.values()) <= budget
        if fits and (request is None or request in kept):
            return kept, {**dict.fromkeys(range(step, len(units)), NEWEST), **why}
    return choose_once(ledger, budget, policy, meter)


def _last_step(units: Sequence[Unit], budget: int, policy: Policy) -> int:
    # The view was pruned when its units first exceeded the limits, and again each time that
    # as much was added as a pruning frees. Which units that were follows from their sizes
    # alone: between two prunings the view only grows at its end.
    steps = [0]
    for limit, sizes in (
        (budget, [unit.tokens for unit in units]),
        (policy.messages, [len(unit.messages) for unit in units]),
    ):
        total, freed = sum(sizes), limit * (1 - STABLE_TO)
        if total > limit and freed > 0:
            mark = limit + (ceil((total - limit) / freed) - 1) * freed
            steps.append(bisect_right(list(accumulate(sizes, initial=0)), mark))
    return max(steps)


def choose_once(
    ledger: Ledger, budget: int, policy: Policy, meter: ChatMeter
) -> tuple[KeptUnits, Reasons]:
    """Return which units stay, and why, regardless of earlier views."""
    units, must = ledger.units, essentials(ledger, policy)
    left = budget - ledger.tokens_of(must)
    if left < 0:
        return squeeze(ledger, must, budget, policy, meter), {}
    held = sum(len(units[index].messages) for index in must)
    given = ledger.selection_input()
    selection = Selection(units, dict.fromkeys(must, NEWEST), left, max(policy.messages - held, 0))
    if policy.pairs:
        for index in sorted(must, reverse=True):
            why = f"question and answer stay together: #{units[index].position}"
            selection.take(given.mates(index), why)
    start = copy(selection)
    start.kept = dict(selection.kept)
    policy.strategy.select(given, selection)
    # What it took is taken once more: so no strategy exceeds a limit or parts question and answer.
    for index, why in selection.kept.items():
        if index in range(len(units)):
            start.take(given.mates(index) if policy.pairs else (index,), why)
    return {index: units[index] for index in start.kept}, start.kept


def essentials(ledger: Ledger, policy: Policy) -> set[int]:
    """Return the units that come first: fixed ones, the newest, and the last request."""
    units = ledger.units
    must = set(ledger.fixed)
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
    places = reversed(range(len(units)))
    return next((index for index in places if units[index].head.role == "user"), None)


def least_tokens(ledger: Ledger, budget: int, policy: Policy) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there
    is room for that. In a strategy without pairs whatever it keeps does: it knows no markers.
    """
    if not policy.pairs:
        return budget
    fixed, request = set(ledger.fixed), last_request(ledger.units)
    asked = fixed if request is None else fixed | {request}
    for group in (essentials(ledger, policy), asked):
        if ledger.tokens_of(group) <= budget:
            return ledger.tokens_of(group)
    return ledger.fixed_tokens


def squeeze(
    ledger: Ledger, must: Iterable[int], budget: int, policy: Policy, meter: ChatMeter
) -> KeptUnits:
    """Return which units stay, and how shortened, where not even the essential ones fit."""
    units = ledger.units
    kept = {index: units[index] for index in ledger.fixed}
    # The last request goes last, however long ago it was.
    request = last_request(units) if policy.pairs else None
    order = sorted(set(must) - kept.keys(), key=lambda index: (index == request, index))
    left = budget - ledger.fixed_tokens
    if request in order and units[request].tokens > left:
        order.remove(request)  # No room for it, whatever else goes.
    needed = sum(shortest(units[index]) for index in order)
    while order and needed > left:
        needed -= shortest(units[order.pop(0)])
    cap = _longest_kept([units[index] for index in order], left)
    for index in sorted(order):
        kept[index] = unit_of(_shorten(item, cap, meter) for item in units[index].messages)
    return kept


# Shortening


def _can_shorten(message: Message) -> bool:
    if message.tool_result is None or message.pinned or message.images:
        return False
    return message.raw is None or replace_result(message.raw, "") is not None


def shortest(unit: Unit) -> int:
    """Return the tokens of a unit after all that can be shortened in it was."""
    return sum(
        min(item.tokens, SHORTEST) if _can_shorten(item) else item.tokens for item in unit.messages
    )


def _longest_kept(units: Iterable[Unit], budget: int) -> int:
    # The largest length to which tool results must be cut so that all fits.
    messages = [item for unit in units for item in unit.messages]
    left = budget - sum(item.tokens for item in messages if not _can_shorten(item))
    sizes = sorted(item.tokens for item in messages if _can_shorten(item))
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return max(share, SHORTEST)
        left -= size
    return max(sizes, default=0)


def _shorten(message: Message, cap: int, meter: ChatMeter) -> Message:
    """Return a message of which a tool result is no longer than ``cap`` tokens: head and tail."""
    if not _can_shorten(message) or message.tokens <= cap:
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
            raw = None if message.raw is None else replace_result(message.raw, content)
            return replace(message, content=content, tokens=tokens, raw=raw)
        kept = min(kept - 1, kept * cap // tokens)


NO_ROOM = "older or less important than what fits"
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
        messages: those among ``entries``.
        reasons: why a strategy kept a unit, by its number.
    """

    entries: tuple[Message | Marker, ...]
    markers: tuple[Marker, ...]
    pruned: tuple[Message, ...]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]
    shortened: tuple[tuple[str, int], ...]
    tokens: int
    messages: tuple[Message, ...]
    reasons: Reasons = field(compare=False)


def view_of(ledger: Ledger, budget: int, policy: Policy, meter: ChatMeter) -> ConversationView:
    """Return the view of the transcript that ``ledger`` holds within ``budget`` tokens.

    Fixed messages stay even where they alone exceed the budget; the caller, who knows what
    else must fit, judges that.
    """
    room, floor = budget, least_tokens(ledger, budget, policy)
    most = int(budget * PARTICULARS)
    while True:
        kept, reasons = choose(ledger, room, policy, meter)
        parts = _ViewParts(ledger, kept, reasons, stable=policy.stable)
        gaps = parts.told(meter, most)
        found = parts.assemble(fit_summaries(gaps, meter, 0))
        over = found.tokens - budget
        if over <= 0:
            # Summaries take what the messages leave.
            left = min(-over, int(budget * SUMMARIES))
            summarized = any(gap.summary for gap in gaps)
            return parts.assemble(fit_summaries(gaps, meter, left)) if summarized else found
        if room <= floor:
            return _with_fewer_marked(parts, budget, meter)
        marked = sum(item.cost for item in found.markers)
        room = max(min(room - over, budget - marked), floor)


def _with_fewer_marked(parts: _ViewParts, budget: int, meter: ChatMeter) -> ConversationView:
    """Return the view where not all particulars fit beside what must stay, or not even markers."""
    found = parts.assemble(fit_summaries(parts.told(meter, 0), meter, 0))
    if found.tokens <= budget:
        most = min(budget - found.tokens, int(budget * PARTICULARS))
        return parts.assemble(fit_summaries(parts.told(meter, most), meter, 0))
    tokens = sum(message.tokens for message in found.messages)
    return replace(found, entries=found.messages, tokens=tokens)


class _ViewParts:
    """What a view is put together from, once it is chosen which units stay."""

    def __init__(self, ledger: Ledger, kept: KeptUnits, reasons: Reasons, *, stable: bool) -> None:
        self._ledger, self._kept, self._reasons, self._stable = ledger, kept, reasons, stable
        self._stay = [kept[place] for place in sorted(kept)]
        self._orphans, self._waiting = ledger.orphans(), ledger.waiting()
        self._shown = [message for unit in self._stay for message in unit.messages]
        here = [*self._shown, *self._waiting]
        self._out, self._gaps = _left_out(ledger, here, {item.id for item in self._orphans})

    def told(self, meter: ChatMeter, most: int) -> list[PrunedSpan]:
        """Return the gaps with the particulars that their markers tell in ``most`` tokens."""
        known: set[str] = set()
        # A stable view tells what it told before, whatever is said now.
        if most > 0 and not self._stable and any(gap.named for gap in self._gaps):
            known.update(*map(self._names_in, self._shown))
        return fit_particulars(self._gaps, known, meter, most) if self._gaps else []

    def _names_in(self, message: Message) -> set[str]:
        whole = self._ledger.messages[self._ledger.index[message.id]] is message
        return self._ledger.names_in(message) if whole else names_in(message)

    def assemble(self, markers: Sequence[Marker]) -> ConversationView:
        """Return the view with these markers."""
        units, shown = self._ledger.units, self._shown
        told = [item for item in markers if item.why != ORPHAN]
        parts: list[tuple[int, tuple[Message | Marker, ...]]] = [
            *((unit.position, unit.messages) for unit in self._stay),
            *((item.first, (item,)) for item in told),
        ]
        parts.sort(key=lambda part: part[0])
        return ConversationView(
            entries=tuple(entry for _, entries in parts for entry in entries),
            markers=tuple(markers),
            pruned=tuple(self._out),
            orphans=tuple(self._orphans),
            waiting=tuple(self._waiting),
            shortened=tuple(
                (before.id, before.tokens)
                for place, unit in self._kept.items()
                if unit is not units[place]
                for before, after in zip(units[place].messages, unit.messages, strict=True)
                if before is not after
            ),
            tokens=sum(item.tokens for item in shown) + sum(item.cost for item in told),
            messages=tuple(shown),
            reasons=self._reasons,
        )


def _left_out(
    ledger: Ledger, shown: Iterable[Message], orphans: set[str]
) -> tuple[list[Message], list[PrunedSpan]]:
    """Return the live messages that are left out, and all gaps of the view with them."""
    live = ledger.messages
    here = sorted(ledger.index[message.id] for message in shown)
    spans, out = list(ledger.gaps), list[Message]()
    for before, after in pairwise([-1, *here, len(live)]):
        if after - before == 1:
            continue
        run = live[before + 1 : after]
        if not orphans and place_of(run[-1]) - place_of(run[0]) == len(run) - 1:
            out += run
            spans.append(_told_span(ledger, run))
            continue
        # Where a pruning parted the run, or something in it stands alone, it is several spans.
        for part in runs_of(run, lambda item: item.id in orphans):
            alone = part[0].id in orphans
            out += [] if alone else part
            spans.append(span_of(part, ORPHAN) if alone else _told_span(ledger, part))
    places = [place_of(live[at]) for at in here]
    # Gaps are one where nothing that is shown parts them.
    return out, merge_spans(
        spans, lambda last, first: bisect_right(places, last) != bisect_right(places, first)
    )


def _told_span(ledger: Ledger, run: Sequence[Message]) -> PrunedSpan:
    return replace(span_of(run, NO_ROOM), named=ledger.particulars(run))

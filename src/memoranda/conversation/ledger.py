"""What a view is made from: the messages that no pruning took out, grouped as they come.

It grows with the conversation: one more message costs the same at any length. What it says
is a pure function of the messages and the receipts, however they were fed in. A conversation's
state is its ledger with its settings and what measures it; it is kept in step with the transcript
by reading what changed.

Gaps are runs of messages that are out of a view; markers stand for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby

from memoranda.conversation.formats.raw import continues, is_opening, is_reasoning
from memoranda.conversation.markers import PARTICULARS, make_marker, particulars_cost
from memoranda.conversation.particulars import (
    MOST,
    Particulars,
    merge_ranked,
    names_in,
    particulars,
    rank,
)
from memoranda.conversation.selection import SelectionInput, TaskReader, Unit
from memoranda.conversation.signals import Signals, signals
from memoranda.conversation.transcript import Transcript, place_of, prunings_since
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    Message,
    MessageSpan,
    PrunedSpan,
    Pruning,
)
from memoranda.store.sql.database import read_again
from memoranda.tokens.calibration import limit_to_tools
from memoranda.tokens.catalog import Catalog, ChatMeter

LONGEST_SUMMARY = 1_200  # characters, of all the cuts in whose place one marker stands
RECENT = 200  # messages of a run whose particulars are looked for


def room_of(calibration: Calibration, budget: int) -> int:
    """Return how many tokens, as they are counted here, ``budget`` of the provider's hold."""
    return int((budget - calibration.overhead) / calibration.scale)


def start_of(span: MessageSpan) -> int:
    """Return the position of the first message of a span."""
    return span.first


def unit_of(messages: Iterable[Message]) -> Unit:
    """Return the unit of these messages."""
    every = tuple(messages)
    tokens = sum(message.tokens for message in every)
    fixed = any(message.pinned or message.role == "system" for message in every)
    calling = (message for message in every if message.tool_calls)
    saying = (message for message in every if not is_opening(message))
    head = every[0] if len(every) == 1 else next(calling, None) or next(saying, every[0])
    return Unit(head, every, place_of(every[0]), tokens, fixed)


def runs_of(
    messages: Iterable[Message], kind: Callable[[Message], object] = lambda _: None
) -> Iterator[list[Message]]:
    """Yield messages in order as runs without gaps, each of one ``kind``."""
    keyed = ((place_of(item) - at, kind(item), item) for at, item in enumerate(messages))
    for _, run in groupby(keyed, key=lambda each: each[:2]):
        yield [item for _, _, item in run]


def span_of(run: Sequence[Message], why: str) -> PrunedSpan:
    """Return the span of a run of messages."""
    return PrunedSpan(
        first=place_of(run[0]),
        last=place_of(run[-1]),
        messages=len(run),
        tokens=sum(message.tokens for message in run),
        since=run[0].timestamp,
        until=run[-1].timestamp,
        why=why,
    )


def join_spans(before: PrunedSpan, after: PrunedSpan) -> PrunedSpan:
    """Return two spans as one; two writers may have pruned the same messages."""
    new = after.messages - max(0, before.last + 1 - after.first)
    lines = "\n".join(text for text in (before.summary, after.summary) if text).splitlines()
    whys = dict.fromkeys([*before.why.split("; "), *after.why.split("; ")])
    return PrunedSpan(
        first=before.first,
        last=max(before.last, after.last),
        messages=before.messages + new,
        tokens=before.tokens + after.tokens * new // after.messages,
        since=before.since,
        until=after.until,
        why="; ".join(whys),
        summary=_newest(lines) or None,
        named=merge_ranked([after.named, before.named])[:MOST],
    )


def _newest(lines: Sequence[str]) -> str:
    """Return as many of the last lines as there is room for."""
    kept: list[str] = []
    left = LONGEST_SUMMARY
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0 and kept:
            break
        kept.append(line[:LONGEST_SUMMARY])
    return "\n".join(reversed(kept))


def split_span(span: PrunedSpan, message: Message) -> list[PrunedSpan]:
    """Return what is left of a span beside a message: two spans, one, none, or all of it."""
    place, said = place_of(message), message.timestamp
    if not span.first <= place <= span.last:
        return [span]
    tokens = max(0, span.tokens - message.tokens)
    before, after = place - span.first, span.last - place
    share = tokens * before // max(1, before + after)
    parts = [
        replace(span, last=place - 1, messages=before, tokens=share, until=said),
        replace(span, first=place + 1, messages=after, tokens=tokens - share, since=said),
    ]
    return [part for part in parts if part.messages > 0]


def merge_spans(
    spans: Iterable[PrunedSpan],
    parted: Callable[[int, int], bool] = lambda last, first: first > last + 1,
) -> list[PrunedSpan]:
    """Return spans in order, those that overlap or follow each other as one.

    ``parted`` says whether something stands between two, by the end of one and the start of the
    next.
    """
    found: list[PrunedSpan] = []
    for span in sorted(spans, key=start_of):
        if not found or parted(found[-1].last, span.first):
            found.append(span)
        elif span.last > found[-1].last:
            found[-1] = join_spans(found[-1], span)
    return found


class Ledger:
    """Live messages, their units and the gaps between them. Not thread-safe.

    A result finds its call by the call's id, also when something was said in between or
    other calls were made within: the unit then stands where the call does. The items of one
    answer are one unit, and reasoning is in that of what it led to. What fits nowhere is left
    out, and never holds up the rest.

    Attributes:
        messages: the messages that no pruning took out, in order.
        index: where each of them stands, by its id.
        units: the same in units, in order.
        fixed: which of these stay whatever happens.
        tokens: the tokens of all units.
        count: how many messages all units have.
        given: what a strategy selects from, once it was asked for.
        gaps: what prunings took out, in order, each as long as no live message parts it.
        next: the position after that of the newest message.
    """

    def __init__(
        self, prunings: Iterable[Pruning] = (), messages: Iterable[Message] = (), *, start: int = 0
    ) -> None:
        """Start with the receipts of all prunings so far and messages in order.

        Messages that a pruning took out may be among them or not. The first message that
        has no position gets ``start``.
        """
        self.gaps: list[PrunedSpan] = []
        self.next = start
        self._cuts: list[PrunedSpan] = []  # the gaps as each pruning made them
        self._back: list[Message] = []  # what was pinned after it left, and so is live again
        self._signals: dict[str, Signals] = {}
        self._tasks = TaskReader(self.signals)
        self._marked: tuple[list[PrunedSpan], int, int] | None = None  # what the gaps cost
        self._known: dict[str, Particulars] = {}
        self._names: dict[str, set[str]] = {}
        self._empty()
        self._take_out([cut for item in prunings for cut in item.cuts])
        if self.gaps:
            self.next = max(self.next, self.gaps[-1].last + 1)
        self.extend(messages)

    def _empty(self) -> None:
        self.messages: list[Message] = []
        self.index: dict[str, int] = {}
        self.units: list[Unit] = []
        self.fixed: list[int] = []
        self.tokens = self.count = 0
        self._called: dict[str, list[Message]] = {}  # calls by the ids of results to come
        self._pending: list[list[Message]] = []  # the same calls, with the results that came
        self._strays: list[Message] = []
        self._answer: list[Message] = []  # the newest messages, where these are of one answer
        self._thoughts: list[Message] = []  # the reasoning at its end, which leads to what comes
        self.given: SelectionInput | None = None

    # Reading

    @property
    def fixed_tokens(self) -> int:
        """The tokens of the units that stay whatever happens."""
        return self.tokens_of(self.fixed)

    def tokens_of(self, units: Iterable[int]) -> int:
        """Return the tokens of some of the units, by their numbers."""
        return sum(self.units[index].tokens for index in units)

    def signals(self, message: Message) -> Signals:
        """Return the signals of a message, each read once."""
        known = self._signals.get(message.id)
        if known is None:
            known = self._signals[message.id] = signals(message)
        return known

    def marked(self, meter: ChatMeter, budget: int) -> int:
        """Return the tokens of the markers that stand for the gaps in a view of ``budget``."""
        if self._marked is None or self._marked[0] != self.gaps:
            plain = sum(make_marker(replace(gap, named=()), meter).cost for gap in self.gaps)
            self._marked = (list(self.gaps), plain, particulars_cost(self.gaps, meter))
        return self._marked[1] + min(self._marked[2], int(budget * PARTICULARS))

    def particulars(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Return the particulars of messages, the most telling first; each is read once."""
        return rank(messages[-RECENT:], self._particulars_of)

    def _particulars_of(self, message: Message) -> Particulars:
        known = self._known.get(message.id)
        if known is None:
            known = self._known[message.id] = particulars(message)
        return known

    def names_in(self, message: Message) -> set[str]:
        """Return all that looks like a particular in a live message; it is read once."""
        known = self._names.get(message.id)
        if known is None:
            known = self._names[message.id] = names_in(message)
        return known

    def selection_input(self) -> SelectionInput:
        """Return what a strategy selects from."""
        if self.given is None:
            self.given = SelectionInput(self.units, self._tasks)
        return self.given

    def waiting(self) -> list[Message]:
        """Return the newest call whose results are still to come, with those that are there.

        So does reasoning wait for what it leads to.
        """
        return [*self._open_exchange(), *self._thoughts]

    def _open_exchange(self) -> list[Message]:
        last = self._pending[-1] if self._pending else []
        newest = self.units[-1].messages[-1] if self.units else None
        passed = last and newest is not None and place_of(newest) > place_of(last[0])
        return [] if passed else list(last)

    def orphans(self) -> list[Message]:
        """Return calls without all their results and results without a call, in order.

        And reasoning that led to nothing.
        """
        waits = self._open_exchange()
        halves = [exchange for exchange in self._pending if exchange != waits]
        return sorted([*self._strays, *(item for each in halves for item in each)], key=place_of)

    def between(self, first: int, last: int) -> list[Message]:
        """Return the live messages from one position to another."""
        return [item for item in self.messages if first <= place_of(item) <= last]

    def first(self, count: int) -> Ledger:
        """Return the ledger with its first ``count`` units alone; it is not to be extended."""
        fewer = copy(self)
        fewer.units = self.units[:count]
        fewer.fixed = [index for index in self.fixed if index < count]
        fewer.tokens = sum(unit.tokens for unit in fewer.units)
        fewer.count = sum(len(unit.messages) for unit in fewer.units)
        fewer.given = None
        return fewer

    def but_last(self) -> Ledger:
        """Return the ledger without the newest message, which is the user's."""
        fewer = self.first(len(self.units) - 1)
        fewer.messages = self.messages[:-1]
        return fewer

    # Changing

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages that come after those before. One without a position gets the next."""
        for item in messages:
            message = item if item.position is not None else replace(item, position=self.next)
            place = place_of(message)
            self.next = max(self.next, place + 1)
            gap = bisect_right(self.gaps, place, key=start_of) - 1
            if gap >= 0 and place <= self.gaps[gap].last:
                if not message.pinned:
                    continue
                self._back.append(message)
                self.gaps = self._part()
            self.index[message.id] = len(self.messages)
            self.messages.append(message)
            self._group(message)

    def prune(self, pruning: Pruning) -> None:
        """Remove the messages that a pruning receipt names."""
        self._take_out(pruning.cuts)
        before = self.messages
        self._empty()
        self.extend(before)
        self._signals = {key: said for key, said in self._signals.items() if key in self.index}
        self._known = {key: named for key, named in self._known.items() if key in self.index}
        self._names = {key: named for key, named in self._names.items() if key in self.index}

    def remove(self, ids: Collection[str]) -> bool:
        """Forget messages that were removed from the end; whether they were all live."""
        left = [message for message in self.messages if message.id not in ids]
        if len(left) + len(ids) != len(self.messages) or self._back:
            return False
        self._empty()
        self.extend(left)
        return True

    def _take_out(self, cuts: Iterable[PrunedSpan]) -> None:
        new = list(cuts)
        self._cuts += new
        self.gaps = self._part() if self._back else merge_spans([*self.gaps, *new])

    def _part(self) -> list[PrunedSpan]:
        """Return the gaps, parted where a message is live again."""
        parts = self._cuts
        for message in self._back:
            parts = [part for gap in parts for part in split_span(gap, message)]
        return merge_spans(parts)

    def _group(self, message: Message) -> None:
        """Put a message where it belongs: into a unit of its own, or to what it is a part of."""
        if message.role == "assistant" and self._continues(message):
            self._take_back(self._answer)
            self._answer = [*self._answer, message]
        else:
            self._strays += self._thoughts
            self._answer = [message]
        settled = list(self._answer)
        while settled and settled[-1].raw is not None and is_reasoning(settled[-1]):
            settled.pop()
        self._thoughts = self._answer[len(settled) :]
        if any(item.tool_calls for item in settled):
            self._call(settled)
        elif message.tool_result is not None or message.role == "tool":
            self._give_result(message)
        elif settled:
            self._keep(unit_of(settled))

    def _continues(self, message: Message) -> bool:
        if not self._answer or not continues(self._answer[-1], message):
            return False
        # Two calls under one id cannot both be answered in a way that a provider takes.
        ids = [call.id for item in (*self._answer, message) for call in item.tool_calls]
        return len(set(ids)) == len(ids)

    def _take_back(self, answer: Sequence[Message]) -> None:
        """Take out what came of an answer that goes on."""
        self._pending = [each for each in self._pending if each[0].id != answer[0].id]
        if self.units and self.units[-1].messages[0].id == answer[0].id:
            unit = self.units.pop()
            self.fixed = [index for index in self.fixed if index < len(self.units)]
            self.tokens -= unit.tokens
            self.count -= len(unit.messages)

    def _call(self, answer: Sequence[Message]) -> None:
        calls = [call.id for item in answer for call in item.tool_calls]
        if len(set(calls)) < len(calls):
            self._strays += answer
            return
        exchange = list(answer)
        self._pending.append(exchange)
        self._called.update(dict.fromkeys(calls, exchange))

    def _give_result(self, message: Message) -> None:
        result = message.tool_result
        exchange = self._called.pop(result.call_id, None) if result is not None else None
        if exchange is None:
            self._strays.append(message)
            return
        exchange.append(message)
        calls = sum(len(item.tool_calls) for item in exchange)
        if calls == sum(item.role == "tool" for item in exchange):
            self._pending.remove(exchange)
            self._keep(unit_of(exchange))

    def _keep(self, unit: Unit) -> None:
        late = bool(self.units) and self.units[-1].position > unit.position
        self.units.append(unit)
        self.tokens += unit.tokens
        self.count += len(unit.messages)
        self.given = None
        if late:
            self.units.sort(key=lambda each: each.position)
            self.fixed = [index for index, each in enumerate(self.units) if each.fixed]
        elif unit.fixed:
            self.fixed.append(len(self.units) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """The token counts of a conversation at one moment, from which pruning is decided.

    Attributes:
        ledger: the live messages.
        info: the settings of the conversation.
        meter: measures messages.
        window: the model's context window, in tokens.
        window_known: whether that is the model's, and not one that is assumed.
        expired_through: the position of the message that expired last; -1, if none has.
        carried: tokens of what a request carries beside system prompt and messages, such as
            definitions of tools.
    """

    ledger: Ledger
    info: ConversationInfo
    meter: ChatMeter
    window: int
    window_known: bool
    expired_through: int = -1
    carried: int = 0

    @property
    def system(self) -> int:
        """Tokens of the system prompt."""
        return self.meter.message(self.info.system) if self.info.system else 0

    @property
    def used(self) -> int:
        """Tokens of a context with all that is live, as the provider is taken to count."""
        return self.without(())

    @property
    def full(self) -> int:
        """Tokens in use, with those of the markers for what prunings took out."""
        return self.used + self.billed(self.ledger.marked(self.meter, self.window))

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for ``tokens`` of messages."""
        return int(tokens * self.info.calibration.scale)

    def without(self, messages: Iterable[Message]) -> int:
        """Return the tokens that are in use when these messages are gone."""
        orphans = {item.id for item in self.ledger.orphans()}
        gone = sum(item.tokens for item in messages if item.id not in orphans)
        left = self.system + self.carried + self.ledger.tokens + self.meter.format.reply - gone
        return self.billed(left) + self.info.calibration.overhead

    def counted(self, tokens: int) -> int:
        """Return what the messages may take of what the provider counts as ``tokens``."""
        return max(0, room_of(self.info.calibration, tokens) - self.system - self.carried)


# The context window where no model is named; and of one whose name is not known: local servers
# often run with no more than that, and too small a view is better than a request that is refused.
WINDOW, UNKNOWN_WINDOW = 128_000, 8_192


class StateReader:
    """Keeps the ledger of one transcript in step with it.

    Not thread-safe: its conversation holds the lock.

    Args:
        transcript: what is read.
        catalog: what is known of models.
        context_limit: the context window as the caller gave it.
        default_limit: that of all models, as the settings say.
    """

    def __init__(
        self,
        transcript: Transcript,
        catalog: Catalog,
        *,
        context_limit: int | None,
        default_limit: int | None,
    ) -> None:
        """Read nothing yet."""
        self._transcript = transcript
        self._catalog = catalog
        self._context_limit = context_limit
        self._default_limit = default_limit
        self._revision: int | None = None
        self._count = 0
        self._expired = -1
        self._removed: set[str] = set()  # of messages that the ledger has still
        self.ledger = Ledger()
        self.carried = 0
        self.tools = 0  # tokens of their definitions

    def read(self) -> ConversationState:
        """Return the current state of the conversation."""
        return read_again(self._read)

    def _read(self) -> ConversationState:
        with self._transcript.snapshot():
            info, expired = self._transcript.info(), self._transcript.expired_through()
            removed = self._removed
            known = (info.revision, expired) == (self._revision, self._expired)
            if not known or (removed and not self.ledger.remove(removed)):
                self.ledger = self._read_all(info, expired)
                self._revision, self._expired = info.revision, expired
            elif info.messages != self._count:
                # Where none has expired, that need not be asked again.
                new = self._transcript.messages(after=self.ledger.next - 1, expired=expired < 0)
                self.ledger.extend(new)
            self._count, self._removed = info.messages, set()
        usual = self._catalog.window(info.model, self._default_limit)
        given = self._context_limit or info.context_limit or usual
        return ConversationState(
            ledger=self.ledger,
            info=replace(info, calibration=limit_to_tools(info.calibration, self.tools)),
            meter=self._catalog.meter(info.model),
            window=given or (UNKNOWN_WINDOW if info.model else WINDOW),
            window_known=given is not None or info.model is None,
            expired_through=expired,
            carried=self.carried,
        )

    def apply(self, pruning: Pruning) -> None:
        """Take out what a pruning names that was just written, without reading again."""
        self.ledger.prune(pruning)
        if self._revision is not None:
            self._revision += 1

    def remove(self, ids: Collection[str]) -> None:
        """Forget messages that were just removed: when it is read next, and in one go."""
        if self._revision is not None:
            self._revision += 1
            self._count -= len(ids)
            self._removed.update(ids)

    def _read_all(self, info: ConversationInfo, expired: int) -> Ledger:
        found = prunings_since(self._transcript.prunings(), info.start)
        # No marker stands for what has expired as a whole.
        prunings = [
            replace(item, cuts=tuple(cut for cut in item.cuts if cut.last > expired))
            for item in found
        ]
        ledger = Ledger(prunings, start=info.start)
        after = info.start - 1
        if ledger.gaps and ledger.gaps[0].first <= info.start:
            # A long conversation begins with what is out of view: that need not be read, but for
            # what was pinned after it left and so is back.
            after = ledger.gaps[0].last
            pinned = self._transcript.messages(pinned=True)
            ledger.extend(item for item in pinned if place_of(item) <= after)
        ledger.extend(self._transcript.messages(after=after))
        return ledger

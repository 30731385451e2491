"""What a view is made from: the messages that no pruning took out, grouped as they come.

It grows with the conversation: one more message costs the same at any length. What it says
is a pure function of the messages and the receipts, however they were fed in. A conversation's
state is its ledger with its settings and what measures it; it is kept in step with the transcript
by reading what changed.

Gaps are runs of messages that are out of a view; markers stand for them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memoranda.conversation.transcript import Transcript
from memoranda.conversation.units import Grouping, SelectionInput, SignalReader, Unit
from memoranda.errors import InvalidInput
from memoranda.model.models import ConversationInfo, Marker, Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter
from memoranda.tokens.catalog import Catalog

LONGEST_SUMMARY = 1_200  # characters, of all the cuts in whose place one marker stands


def message_span(message: Message, why: str) -> PrunedSpan:
    """Return the span of one message."""
    place, said = message.position or 0, message.timestamp
    return PrunedSpan(
        first=place, last=place, messages=1, tokens=message.tokens, since=said, until=said, why=why
    )


def join_spans(before: PrunedSpan, after: PrunedSpan) -> PrunedSpan:
    """Return two spans as one; two writers may have pruned the same messages."""
    twice = max(0, before.last + 1 - after.first)
    summaries = [text for text in (before.summary, after.summary) if text]
    whys = dict.fromkeys([*before.why.split("; "), *after.why.split("; ")])
    return PrunedSpan(
        first=before.first,
        last=max(before.last, after.last),
        messages=before.messages + after.messages - twice,
        tokens=before.tokens + after.tokens * (after.messages - twice) // after.messages,
        since=before.since,
        until=after.until,
        why="; ".join(whys),
        summary=_newest("\n".join(summaries).splitlines()) or None,
    )


def split_span(span: PrunedSpan, message: Message) -> list[PrunedSpan]:
    """Return what is left of a span beside one message in it: two spans, one or none."""
    place, said = message.position or 0, message.timestamp
    tokens = max(0, span.tokens - message.tokens)
    before, after = place - span.first, span.last - place
    share = tokens * before // max(1, before + after)
    parts = [
        replace(span, last=place - 1, messages=before, tokens=share, until=said),
        replace(span, first=place + 1, messages=after, tokens=tokens - share, since=said),
    ]
    return [part for part in parts if part.messages > 0]


def _newest(lines: list[str]) -> str:
    """Return as many of the last lines as there is room for."""
    kept: list[str] = []
    left = LONGEST_SUMMARY
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0 and kept:
            break
        kept.append(line[:LONGEST_SUMMARY])
    return "\n".join(reversed(kept))


REFERENCE = re.compile(r"cut_(\d+)(?:-(\d+))?")


def reference(first: int, last: int) -> str:
    """Return the id of a marker: ``cut_12-26``, or ``cut_12`` for one message."""
    return f"cut_{first}" if first == last else f"cut_{first}-{last}"


def marked_positions(marker: object) -> tuple[int, int]:
    """Return the first and last position that a marker, its id or a text with it stands for.

    Raises:
        InvalidInput: there is no such id in it.
    """
    if isinstance(marker, Marker):
        return marker.first, marker.last
    found = REFERENCE.search(marker) if isinstance(marker, str) else None
    if found is None:
        raise InvalidInput(
            f"marker={marker!r:.80} names no part of the conversation; "
            f"pass a marker of a view, its id such as cut_12-26, or its text"
        )
    return int(found[1]), int(found[2] or found[1])


def make_marker(gap: PrunedSpan, meter: MessageMeter) -> Marker:
    """Return the marker of a gap, with what it costs."""
    name = reference(gap.first, gap.last)
    noun = "message" if gap.messages == 1 else "messages"
    text = f"... [{gap.messages} {noun} removed] ... ({_when(gap)} UTC; expand {name})"
    if gap.summary:
        text += f"\nIn short: {gap.summary}"
    return Marker(
        id=name,
        first=gap.first,
        last=gap.last,
        messages=gap.messages,
        tokens=gap.tokens,
        since=gap.since,
        until=gap.until,
        why=gap.why,
        text=text,
        cost=meter.message(text),
        quotes=gap.summary is not None,
    )


def _when(gap: PrunedSpan) -> str:
    first, last = _minute(gap.since), _minute(gap.until)
    if first == last:
        return first
    day, _, time = last.partition(" ")
    return f"{first} to {time if first.startswith(day) else last}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


class Ledger:
    """Live messages, their units and the gaps between them. Not thread-safe.

    Attributes:
        messages: the messages that no pruning took out, in order.
        grouping: the same, as units.
        gaps: what prunings took out, in order, each as long as no live message parts it.
        next: the position after that of the newest message.
        reader: what was read out of the messages so far.
    """

    def __init__(
        self, prunings: Iterable[Pruning] = (), messages: Iterable[Message] = (), *, start: int = 0
    ) -> None:
        """Start with the receipts of all prunings so far and messages in order.

        Messages that a pruning took out may be among them or not. The first message that
        has no position gets ``start``.
        """
        self.messages: list[Message] = []
        self.grouping = Grouping()
        self.gaps: list[PrunedSpan] = []
        self._cuts: list[PrunedSpan] = []  # the gaps as each pruning made them
        self._back: list[Message] = []  # what was pinned after it left, and so is live again
        self.next = start
        self.reader = SignalReader()
        self._marked: tuple[list[PrunedSpan], int] | None = None  # the gaps that were measured
        self._input: SelectionInput | None = None
        self._start: SelectionInput | None = None
        self._of: Sequence[Unit] = ()  # the units of which that is the start
        self._take_out([cut for item in prunings for cut in item.cuts])
        if self.gaps:
            self.next = max(self.next, self.gaps[-1].last + 1)
        self.extend(messages)

    @property
    def units(self) -> Sequence[Unit]:
        """The live units, in order."""
        return self.grouping.units

    @property
    def tokens(self) -> int:
        """The tokens of the live units."""
        return self.grouping.tokens

    def marked(self, meter: MessageMeter) -> int:
        """Return the tokens of the markers that stand for the gaps."""
        if self._marked is None or self._marked[0] != self.gaps:
            cost = sum(make_marker(gap, meter).cost for gap in self.gaps)
            self._marked = (list(self.gaps), cost)
        return self._marked[1]

    def selection_input(self, count: int | None = None) -> SelectionInput:
        """Return what a strategy selects from: the live units, or the first ``count``."""
        units = self.grouping.units
        if count is not None:
            if self._start is None or self._of is not units or len(self._start.units) != count:
                self._start, self._of = SelectionInput(units[:count], self.reader), units
            return self._start
        if self._input is None or self._input.units is not units:
            self._input = SelectionInput(units, self.reader)
        self._input.grow()
        return self._input

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages that come after those before. One without a position gets the next."""
        live: list[Message] = []
        for item in messages:
            message = item if item.position is not None else replace(item, position=self.next)
            place = message.position or 0
            self.next = max(self.next, place + 1)
            index = self._gap_at(place)
            if index is None:
                live.append(message)
            elif message.pinned:
                live.append(message)
                self._back.append(message)
                self.gaps = self._split_gaps()
        self.messages += live
        self.grouping.extend(live)

    def but_last(self) -> Ledger:
        """Return the ledger without the newest message, which is the user's."""
        fewer = copy(self)
        fewer.messages = self.messages[:-1]
        fewer.grouping = self.grouping.first(len(self.grouping.units) - 1)
        return fewer

    def prune(self, pruning: Pruning) -> None:
        """Remove the messages that a pruning receipt names."""
        self._take_out(pruning.cuts)
        before, self.messages, self.grouping = self.messages, [], Grouping()
        self.extend(before)
        self._input = self._start = None
        self.reader.keep(self.messages)

    def between(self, first: int, last: int) -> list[Message]:
        """Return the live messages from one position to another."""
        return [item for item in self.messages if first <= (item.position or 0) <= last]

    def _gap_at(self, place: int) -> int | None:
        index = bisect_right(self.gaps, place, key=_start) - 1
        return index if index >= 0 and place <= self.gaps[index].last else None

    def _take_out(self, cuts: Iterable[PrunedSpan]) -> None:
        new = list(cuts)
        self._cuts += new
        self.gaps = self._split_gaps() if self._back else _merge_spans([*self.gaps, *new])

    def _split_gaps(self) -> list[PrunedSpan]:
        """Return the gaps, parted where a message is live again."""
        parts: list[PrunedSpan] = []
        for cut in self._cuts:
            rest = [cut]
            for message in self._back:
                place = message.position or 0
                rest = [
                    part
                    for gap in rest
                    for part in (
                        split_span(gap, message) if gap.first <= place <= gap.last else [gap]
                    )
                ]
            parts += rest
        return _merge_spans(parts)


def _merge_spans(gaps: Iterable[PrunedSpan]) -> list[PrunedSpan]:
    found: list[PrunedSpan] = []
    for gap in sorted(gaps, key=_start):
        if not found or gap.first > found[-1].last + 1:
            found.append(gap)
        elif gap.last > found[-1].last:
            found[-1] = join_spans(found[-1], gap)
    return found


def _start(gap: PrunedSpan) -> int:
    return gap.first


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """The token counts of a conversation at one moment, from which pruning is decided.

    Attributes:
        ledger: the live messages.
        info: the settings of the conversation.
        meter: measures messages.
        window: the model's context window, in tokens.
    """

    ledger: Ledger
    info: ConversationInfo
    meter: MessageMeter
    window: int

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
        return self.used + self.billed(self.ledger.marked(self.meter))

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for ``tokens`` of messages."""
        return int(tokens * self.info.calibration.scale)

    def without(self, messages: Iterable[Message]) -> int:
        """Return the tokens that are in use when these messages are gone."""
        orphans = {item.id for item in self.ledger.grouping.orphans()}
        gone = sum(item.tokens for item in messages if item.id not in orphans)
        left = self.system + self.ledger.tokens + self.meter.reply - gone
        return self.billed(left) + self.info.calibration.overhead

    def counted(self, tokens: int) -> int:
        """Return the messages' share of what the provider counts as ``tokens``."""
        return max(0, self.info.calibration.room(tokens) - self.system)


class StateReader:
    """Keeps the ledger of one transcript in step with it.

    Not thread-safe: its conversation holds the lock.

    Args:
        transcript: what is read.
        catalog: what is known of models.
        context_limit: the context window as the caller gave it.
        default_limit: that of a model that is not known.
    """

    def __init__(
        self,
        transcript: Transcript,
        catalog: Catalog,
        *,
        context_limit: int | None,
        default_limit: int,
    ) -> None:
        """Read nothing yet."""
        self._transcript = transcript
        self._catalog = catalog
        self._context_limit = context_limit
        self._default_limit = default_limit
        self._revision: int | None = None
        self._count = 0
        self.ledger = Ledger()

    def read(self) -> ConversationState:
        """Return the current state of the conversation."""
        info = self._transcript.info()
        if info.revision != self._revision:
            self.ledger = self._read_all(info)
            self._revision = info.revision
        elif info.messages != self._count:
            self.ledger.extend(self._transcript.messages(after=self.ledger.next - 1))
        self._count = info.messages
        known = self._catalog.context_limit(info.model)
        chosen = self._context_limit or info.context_limit or known
        return ConversationState(
            ledger=self.ledger,
            info=info,
            meter=self._catalog.meter(info.model),
            window=chosen or self._default_limit,
        )

    def apply(self, pruning: Pruning) -> None:
        """Take out what a pruning names that was just written, without reading again."""
        self.ledger.prune(pruning)
        if self._revision is not None:
            self._revision += 1

    def _read_all(self, info: ConversationInfo) -> Ledger:
        prunings = [
            replace(item, cuts=tuple(cut for cut in item.cuts if cut.first >= info.start))
            for item in self._transcript.prunings()
        ]
        ledger = Ledger(prunings, start=info.start)
        # A long conversation begins with what is out of view: that need not be read.
        first = ledger.gaps[0] if ledger.gaps else None
        after = info.start - 1
        if first is not None and first.first <= info.start:
            after = first.last
            # But for what was pinned after it left: that is back.
            pinned = self._transcript.messages(pinned=True)
            ledger.extend(item for item in pinned if (item.position or 0) <= after)
        ledger.extend(self._transcript.messages(after=after))
        return ledger

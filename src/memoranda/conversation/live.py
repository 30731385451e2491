"""The live messages of a conversation, those that no pruning took out, in step with the transcript.

Gaps are the runs of messages that prunings took out, each as long as no live message parts it;
markers stand for them in a view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from operator import attrgetter

from memoranda.conversation.markers import mark_gaps
from memoranda.conversation.particulars import MOST, merge_ranked, rank_particulars
from memoranda.conversation.signals import Signals, signals
from memoranda.conversation.summary import find_binding, limit_lines, quote_binding
from memoranda.conversation.transcript import Transcript, place_of
from memoranda.conversation.units import Grouping, group_units
from memoranda.model.models import ConversationInfo, Message, PrunedSpan, Pruning
from memoranda.model.spans import span_of
from memoranda.tokens.calibration import limit_to_tools
from memoranda.tokens.catalog import Catalog, ChatMeter

start_of = attrgetter("first")  # the position of the first message of a span
NO_ROOM = "older or less important than what fits"
RECENT = 40  # messages of a run whose particulars are looked for


def join_spans(before: PrunedSpan, after: PrunedSpan) -> PrunedSpan:
    """Return two spans as one; two writers may have pruned the same messages."""
    new = after.messages - max(0, before.last + 1 - after.first)
    lines = "\n".join(text for text in (before.summary, after.summary) if text).splitlines()
    return replace(
        before,
        last=max(before.last, after.last),
        messages=before.messages + new,
        tokens=before.tokens + after.tokens * new // after.messages,
        until=after.until,
        why="; ".join(dict.fromkeys(f"{before.why}; {after.why}".split("; "))),
        summary="\n".join(limit_lines(lines)) or None,
        named=merge_ranked([after.named, before.named])[:MOST],
    )


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


class LiveMessages:
    """The messages that no pruning took out, and the gaps between them. Not thread-safe.

    Attributes:
        messages: the live messages, in order.
        tokens: of these, also of those that are no part of a unit.
        gaps: what prunings took out, in order.
        pruned_at: when the last pruning was.
    """

    def __init__(self, prunings: Sequence[Pruning] = (), messages: Sequence[Message] = ()) -> None:
        """Start with the receipts of all prunings so far and messages in order.

        Messages that a pruning took out may be among them or not; one that is pinned is live again.
        """
        cuts = [cut for item in prunings for cut in item.cuts]
        for message in messages:
            if message.pinned:
                cuts = [part for cut in cuts for part in split_span(cut, message)]
        self.messages: list[Message] = []
        self.gaps = merge_spans(cuts)
        self.pruned_at = prunings[-1].at if prunings else None
        self.tokens = 0
        self._grouping: Grouping | None = None
        self._signals: dict[str, Signals] = {}
        self._described: dict[tuple[str, int, int], PrunedSpan] = {}  # by first id, length, read
        self._marked: tuple[object, int] = None, 0  # what markers of the gaps cost
        self.extend(messages)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages that come after those before."""
        for message in messages:
            gap = bisect_right(self.gaps, place_of(message), key=start_of) - 1
            if gap < 0 or self.gaps[gap].last < place_of(message):
                self.messages.append(message)
                self.tokens += message.tokens
                self._grouping = None

    def take_out(self, pruning: Pruning) -> None:
        """Remove the messages that a pruning took out just now."""
        gone = {place for cut in pruning.cuts for place in range(cut.first, cut.last + 1)}
        self.gaps = merge_spans([*self.gaps, *pruning.cuts])
        self.pruned_at = pruning.at
        self.messages = [item for item in self.messages if place_of(item) not in gone]
        self.tokens = sum(item.tokens for item in self.messages)
        self._grouping = None
        self._described.clear()
        live = {item.id for item in self.messages}
        self._signals = {key: said for key, said in self._signals.items() if key in live}

    @property
    def newest(self) -> int:
        """The position of the newest message, live or not; -1 if there is none."""
        ends = [gap.last for gap in self.gaps[-1:]]
        return max([*ends, *map(place_of, self.messages[-1:])], default=-1)

    def group(self) -> Grouping:
        """Return the live messages as units."""
        if self._grouping is None:
            self._grouping = group_units(self.messages)
        return self._grouping

    def signals(self, message: Message) -> Signals:
        """Return the signals of a message, each read once."""
        known = self._signals.get(message.id)
        if known is None:
            known = self._signals[message.id] = signals(message)
            if message.role == "user":
                find_binding(message.content)  # It is kept: a pruning has no time for it.
        return known

    def describe(self, runs: Sequence[Sequence[Message]]) -> list[PrunedSpan]:
        """Return the spans of runs of live messages that go, with what their markers are to tell.

        The particulars of the newest messages are looked for; older ones have no room in a view.
        """
        left, found = RECENT, list[PrunedSpan]()
        for run in reversed(runs):
            # A pruning asks for what its view asked for just before: most of its time goes here.
            key = run[0].id, len(run), max(left, 0)
            if key not in self._described:
                binding = quote_binding([(each, self.signals(each)) for each in run])
                named = rank_particulars(run[-left:]) if left > 0 else ()
                span = replace(span_of(run, NO_ROOM), named=named, summary=binding or None)
                self._described[key] = span
            found.append(self._described[key])
            left -= len(run)
        return found[::-1]

    def marked(self, meter: ChatMeter, budget: int) -> int:
        """Return the tokens of the markers that stand for the gaps in a view of ``budget``."""
        if self._marked[0] is not self.gaps:
            cost = sum(marker.cost for marker in mark_gaps(self.gaps, meter, budget))
            self._marked = self.gaps, cost
        return self._marked[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """What a conversation holds at one moment, from which views and prunings are decided.

    Attributes:
        live: the live messages.
        info: the settings of the conversation.
        meter: measures messages.
        window: the model's context window, in tokens.
        window_known: whether that is the model's, and not one that is assumed.
        expired_through: the position of the message that expired last; -1, if none has.
        carried: tokens of what a request carries beside system prompt and messages, such as
            definitions of tools and notes.
    """

    live: LiveMessages
    info: ConversationInfo
    meter: ChatMeter
    window: int
    window_known: bool
    expired_through: int = -1
    carried: int = 0

    @property
    def head(self) -> int:
        """Tokens of all that a request carries beside the messages, as they are counted here."""
        system = self.meter.message(self.info.system) if self.info.system else 0
        return system + self.carried + self.meter.format.reply

    @property
    def used(self) -> int:
        """Tokens of a context with all that is live, as the provider is taken to count."""
        return self.billed(self.head + self.live.tokens + self.live.marked(self.meter, self.window))

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for a context of ``tokens``."""
        exactly = round(tokens * self.info.calibration.scale, 6)  # 50 is 50, and not 50.000000001
        return ceil(exactly) + self.info.calibration.overhead

    def counted(self, billed: int) -> int:
        """Return how many tokens, as they are counted here, make ``billed`` of the provider's."""
        return int((billed - self.info.calibration.overhead) / self.info.calibration.scale)

    def room(self, tokens: int) -> int:
        """Return what messages may take of what the provider counts as ``tokens``."""
        return max(0, self.counted(tokens) - self.head)


# The context window where no model is named; and of one whose name is not known: local servers
# often run with no more than that, and too small a view is better than a request that is refused.
WINDOW, UNKNOWN_WINDOW = 128_000, 8_192


class StateReader:
    """Keeps the live messages of one transcript in step with it.

    Not thread-safe: its conversation holds the lock.

    Args:
        transcript: what is read.
        catalog: what is known of models.
        default_limit: the context window of all models, as the settings say.

    Attributes:
        carried: tokens of what the last request carried beside system prompt and messages.
        tools: of these the definitions of tools.
    """

    def __init__(self, transcript: Transcript, catalog: Catalog, default_limit: int | None) -> None:
        """Read nothing yet."""
        self._transcript, self._catalog = transcript, catalog
        self._default_limit = default_limit
        self._seen = -1, -1  # the revision, and what had expired
        self._count = 0
        self.live = LiveMessages()
        self.carried = self.tools = 0

    def read(self) -> ConversationState:
        """Return the current state of the conversation."""
        with self._transcript.store.snapshot():
            info, expired = self._transcript.info(), self._transcript.expired_through()
            if self._seen != (info.revision, expired):
                self._read_all(info, expired)
            elif info.messages != self._count:
                self.live.extend(self._transcript.messages(after=self.live.newest))
            self._seen, self._count = (info.revision, expired), info.messages
        usual = info.context_limit or self._catalog.window(info.model, self._default_limit)
        return ConversationState(
            live=self.live,
            info=replace(info, calibration=limit_to_tools(info.calibration, self.tools)),
            meter=self._catalog.meter(info.model),
            window=usual or (UNKNOWN_WINDOW if info.model else WINDOW),
            window_known=usual is not None or info.model is None,
            expired_through=expired,
            carried=self.carried,
        )

    def extend(self, added: Sequence[Message]) -> bool:
        """Add messages that were just stored; return whether nobody stored others before them."""
        follows = added[0].position == self.live.newest + 1
        if follows:
            self.live.extend(added)
            self._count += len(added)
        return follows

    def apply(self, pruning: Pruning) -> None:
        """Take out what a pruning names that was just written, without reading again."""
        self.live.take_out(pruning)
        self._seen = self._seen[0] + 1, self._seen[1]

    def _read_all(self, info: ConversationInfo, expired: int) -> None:
        # No marker stands for what was cleared, or has expired as a whole.
        prunings = [
            replace(item, cuts=cuts)
            for item in self._transcript.prunings()
            if (cuts := tuple(c for c in item.cuts if c.first >= info.start and c.last > expired))
        ]
        after, back = info.start - 1, list[Message]()
        gaps = merge_spans(cut for item in prunings for cut in item.cuts)
        if gaps and gaps[0].first <= info.start:
            # A long conversation begins with what is out of view: that need not be read, but for
            # what was pinned after it left and so is back.
            after, pinned = gaps[0].last, self._transcript.messages(pinned=True)
            back = [message for message in pinned if place_of(message) <= after]
        self.live = LiveMessages(prunings, [*back, *self._transcript.messages(after=after)])

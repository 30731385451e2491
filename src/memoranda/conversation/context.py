"""Builds what a model is sent: system prompt, memory, the view and the prompt, in a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from memoranda.conversation.choosing import Policy, essentials
from memoranda.conversation.extras import Extra, Joined, joined
from memoranda.conversation.formats.render import render
from memoranda.conversation.gaps import Gap
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.markers import reference
from memoranda.conversation.view import NO_ROOM, ORPHAN, View, view_of
from memoranda.errors import BudgetTooSmall
from memoranda.model.models import (
    NO_RECALL,
    Calibration,
    Context,
    ContextReceipt,
    Item,
    Message,
    Recall,
)
from memoranda.model.ports import MessageMeter, TokenCounter

RECALL_SHARE = 0.3  # of what is left beside system prompt, pins and prompt
GRAIN = 16  # with stable prefixes a prompt is taken to need a whole number of such parts
UNCALIBRATED = Calibration()


@dataclass(frozen=True, slots=True)
class Question:
    """What memory may be asked for a context.

    Attributes:
        budget: most tokens of its answer.
        seen: the ids of episodes that are in the view anyway.
    """

    budget: int
    seen: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a context is to hold beside the conversation.

    Attributes:
        system: the system prompt.
        prompt: what the user says now.
        budget: most tokens it may take, as the provider counts them.
        form: ``openai``, ``responses`` or ``anthropic``.
        calibration: how counts become what the provider bills.
        recalls: whether memory is asked.
        extras: what joins the system prompt; see :meth:`ContextBuilder.joined`.
    """

    system: str | None
    prompt: str | None
    budget: int
    form: str = "openai"
    calibration: Calibration = UNCALIBRATED
    recalls: bool = False
    extras: tuple[Joined, ...] = ()

    @property
    def head(self) -> str | None:
        """The system prompt with what joins it."""
        return joined(self.system, self.extras)

    @property
    def room(self) -> int:
        """The budget in tokens as they are counted here."""
        return self.calibration.room(self.budget)

    def counted(self, tokens: int) -> int:
        """Return the tokens as they are counted here, of what is billed as ``tokens``."""
        return round((tokens - self.calibration.overhead) / self.calibration.scale)

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for ``tokens``."""
        exactly = round(tokens * self.calibration.scale, 6)  # 50 is 50, and not 50.000000001
        return ceil(exactly) + self.calibration.overhead


class ContextBuilder:
    """Builds contexts that never exceed their budget (R9.1 to R9.5, N2.5)."""

    def __init__(self, meter: MessageMeter, policy: Policy) -> None:
        """Measure with ``meter``, choose messages by ``policy``."""
        self._meter = meter
        self._policy = policy

    @property
    def counter(self) -> TokenCounter:
        """What measures text."""
        return self._meter.counter

    def joined(self, ledger: Ledger, order: Order, extras: Sequence[Extra]) -> Order:
        """Return the order with as much of ``extras`` in the system prompt as there is room for.

        Each gets its share of what the fixed parts and the newest messages leave; one of which
        nothing fits stays out.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt do not fit.
        """
        newest = essentials(ledger.grouping, self._policy)
        stays = max(pinned(ledger), sum(ledger.units[index].tokens for index in newest))
        room = self._room(ledger, order) - stays
        for extra in extras:
            text = extra.fitting(int(room * extra.share), self.counter)
            if text is None:
                continue
            more = replace(order, extras=(*order.extras, Joined(extra.name, text, extra.why)))
            if self._head(more) - self._head(order) <= room:
                order = more
        return order

    def question(self, ledger: Ledger, order: Order) -> Question | None:
        """Return what memory may be asked; ``None`` if there is no room for an answer.

        Of what the fixed parts leave, memory gets ``RECALL_SHARE``, and what the conversation
        does not need; what it does not use goes to the conversation.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt do not fit.
        """
        room = self._room(ledger, order)
        share = self._share(ledger, order)
        # What the conversation does not need is memory's, too.
        share = max(share, room - ledger.tokens - ledger.marked(self._meter))
        around = self._meter.message("")
        if share <= around:
            return None
        first = self._view(ledger, room - share)
        seen = frozenset(item.record_id for item in first.messages if item.record_id)
        return Question(share - around, seen)

    def build(self, ledger: Ledger, order: Order, memory: Recall = NO_RECALL) -> Context:
        """Return the context of a conversation, with what memory said.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt do not fit.
        """
        room = self._room(ledger, order)
        block = self._meter.message(memory.text) if memory.text else 0
        if self._policy.stable:
            room = min(room - block, self._stable(order))
        else:
            room -= block
        built = self._assemble(ledger, room, order, memory)
        if built.tokens > order.budget and memory.text:
            return self.build(ledger, order)  # R9.5: memory gives way.
        return built

    def _room(self, ledger: Ledger, order: Order) -> int:
        """Return what is there for messages and memory."""
        spoken = self._head(order) + self._asked(order)
        fixed = spoken + pinned(ledger) + (0 if order.prompt else unanswered(ledger))
        if fixed > order.room:
            raise BudgetTooSmall(needed=order.billed(fixed), budget=order.budget)
        return order.room - spoken

    def _share(self, ledger: Ledger, order: Order) -> int:
        """Return memory's share of it."""
        if self._policy.stable:
            return self._room(ledger, order) - self._stable(order)
        return int((self._room(ledger, order) - pinned(ledger)) * RECALL_SHARE)

    def _stable(self, order: Order) -> int:
        """Return the room of the conversation where it is not to change with each prompt.

        The prompt is charged to memory's share, or where there is no memory rounded up.
        """
        room = order.room - self._head(order)
        if order.recalls:
            return room - int(room * RECALL_SHARE)
        grain = max(1, room // GRAIN)
        return room - -(-self._asked(order) // grain) * grain

    def _head(self, order: Order) -> int:
        said = self._meter.message(order.head) if order.head else 0
        return said + self._meter.reply

    def _asked(self, order: Order) -> int:
        return self._meter.message(order.prompt) if order.prompt else 0

    def view(self, ledger: Ledger, *, system: str | None, budget: int) -> View:
        """Return the messages that fit ``budget`` tokens beside the system prompt.

        System messages and pins stay even where they do not fit.
        """
        said = self._meter.message(system) if system else 0
        return view_of(ledger, budget - said, self._policy, self._meter)

    def _view(self, ledger: Ledger, room: int) -> View:
        return view_of(ledger, max(room, pinned(ledger)), self._policy, self._meter)

    def _assemble(self, ledger: Ledger, room: int, order: Order, memory: Recall) -> Context:
        chosen = self._view(ledger, room)
        rendered = render(
            chosen.entries,
            form=order.form,
            system=order.head,
            recalled=memory.text or None,
            prompt=order.prompt,
            recalled_last=self._policy.stable,
        )
        included = self._included(chosen, order, memory)
        counted = sum(item.tokens for item in included)
        tokens = order.billed(counted)
        if tokens != counted:
            taught = "the provider's own counts, see calibrate"
            included.append(Item("calibration", tokens - counted, taught))
        out = [_gap(gap) for gap in ledger.gaps]
        out += [_item(message, NO_ROOM) for message in chosen.pruned]
        out += [_item(message, ORPHAN) for message in chosen.orphans]
        out += [_item(message, "its results are still to come") for message in chosen.waiting]
        receipt = ContextReceipt(
            budget=order.budget,
            tokens=tokens,
            exact=self._meter.counter.exact,
            included=tuple(included),
            left_out=tuple(out),
            markers=chosen.markers,
        )
        return Context(rendered.messages, tokens, receipt, memory, rendered.system)

    def _included(self, chosen: View, order: Order, memory: Recall) -> list[Item]:
        included: list[Item] = []
        included += self._spoken(order)
        found = f"{len(memory.hits)} records that answer the prompt"
        recalled = Item("memory", self._recalled(order, memory), found)
        if memory.text and not self._policy.stable:
            included.append(recalled)
        whole = dict(chosen.shortened)
        for entry in chosen.entries:
            if not isinstance(entry, Message):
                stands = f"stands for {entry.tokens:,} tokens"
                included.append(Item("marker", entry.cost, stands))
            elif entry.id in whole:
                cut = f"shortened from {whole[entry.id]:,} tokens"
                included.append(_item(entry, cut))
            else:
                included.append(_item(entry, _reason(entry)))
        if memory.text and self._policy.stable:
            included.append(recalled)
        if order.prompt:
            included.append(Item("prompt", self._meter.message(order.prompt), "always kept"))
        included.append(Item("reply", self._meter.reply, "opens the model's answer"))
        return included

    def _recalled(self, order: Order, memory: Recall) -> int:
        if not memory.text:
            return 0
        head = order.head
        if self._policy.stable or not head:
            return self._meter.message(memory.text)
        # Memory shares the message of the system prompt.
        return self._meter.message(f"{head}\n\n{memory.text}") - self._meter.message(head)

    def _spoken(self, order: Order) -> list[Item]:
        """Return what the system prompt is made of; their tokens are those of one message."""
        items: list[Item] = []
        before, taken = order.system, 0
        if before:
            taken = self._meter.message(before)
            items.append(Item("system prompt", taken, "always kept"))
        for extra in order.extras:
            before = joined(before, [extra])
            whole = self._meter.message(before or "")
            items.append(Item(extra.name, whole - taken, extra.why))
            taken = whole
        return items


def pinned(ledger: Ledger) -> int:
    """Return the tokens of what stays whatever happens.

    Of whole units: with a pinned result comes its call. An orphan is never sent.
    """
    return ledger.grouping.fixed_tokens


def unanswered(ledger: Ledger) -> int:
    """Return the tokens of what the user said last, if nobody answered it.

    It is the prompt then, though nobody said so.
    """
    last = ledger.messages[-1] if ledger.messages else None
    if last is None or last.role != "user" or last.pinned:
        return 0
    return last.tokens


def _gap(gap: Gap) -> Item:
    many = f"{gap.messages} messages" if gap.messages != 1 else "1 message"
    return Item(many, gap.tokens, f"pruned: {gap.why}", reference(gap.first, gap.last))


def _reason(message: Message) -> str:
    return "pinned" if message.pinned else "system" if message.role == "system" else "recent"


def _item(message: Message, why: str) -> Item:
    return Item(f"{message.role} message", message.tokens, why, message.id)

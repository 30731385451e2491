"""Whole lives of conversations: each is a list, and its view a function of what is stored."""

from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from dialogues import METER, view
from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from talks import ALL, PICTURE, STRATEGIES, accounted, alone, remembering, sized, tombstones

from memoranda import errors
from memoranda.conversation import strategies
from memoranda.conversation.selection import Policy
from memoranda.model.models import ToolCall

WINDOW = 800
SYSTEM = "You plan trips."
SIZES = st.one_of(st.integers(6, 60), st.integers(6, 300))
ROLES = st.sampled_from(["user", "user", "assistant", "assistant", "system"])
TEXTS = st.sampled_from(
    [
        "Task complete. Refactored 3 files.",
        "Now let's work on the tests",
        "Error: no such file (404).",
        "No, I meant the other one.",
        "Always answer in French, never in English.",
        "haha",
        "日本語",
    ]
)


class Lives(RuleBasedStateMachine):
    """A conversation that is written, pruned, pinned, edited and cleared in any order.

    It is compared with a plain list of the messages that are in it.
    """

    def __init__(self):
        """Start without a conversation."""
        super().__init__()
        self.stack = ExitStack()
        self.hands = []
        self.calls = 0
        self.due = []
        self.listed = []  # the ids of what a list would hold
        self.removed = []  # of what was taken out of it
        self.seen = {}  # by position, what was said and not removed, cleared or not
        self.highest = -1

    @property
    def chat(self):
        """The conversation, in the hand whose turn it is."""
        return self.hands[0]

    @initialize(
        strategy=st.sampled_from(STRATEGIES), keep=st.integers(1, 5), most=st.integers(6, 20)
    )
    def begin(self, strategy, keep, most):
        """Start the conversation with these settings."""
        self.arguments = {"strategy": strategy, "keep_recent": keep, "max_messages": most}
        self.arguments |= {"system": SYSTEM, "context_limit": WINDOW}
        self.policy = Policy(
            strategy=strategies.STRATEGIES[strategy],
            keep_recent=keep,
            max_messages=max(keep, most),
            prune_to=1.0,
        )
        self.start()

    def start(self):
        """Begin in memory alone."""
        self.hands = [alone(**self.arguments)]

    def said(self, messages):
        """Take note of messages that were added; no place is used twice."""
        for message in messages:
            assert message.position > self.highest
            self.highest = message.position
            self.listed.append(message.id)

    @rule(role=ROLES, text=TEXTS | SIZES.map(sized), shows=st.booleans())
    def add(self, role, text, shows):
        """Add a message, perhaps with a picture; system messages are short, so that they fit."""
        images = [PICTURE] if shows and role == "user" else ()
        self.said([self.chat.add(role, "A rule." if role == "system" else text, images=images)])

    @rule(sizes=st.lists(SIZES, max_size=6))
    def extend(self, sizes):
        """Add several messages at once."""
        roles = ("user", "assistant") * 3
        new = [{"role": role, "content": sized(n)} for role, n in zip(roles, sizes, strict=False)]
        self.said(self.chat.extend(new))

    @rule(count=st.integers(1, 3))
    def call(self, count):
        """Call tools; the results come later, or never."""
        names = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        self.due += names
        calls = [ToolCall(name, "look_up") for name in names]
        self.said([self.chat.add("assistant", "", tool_calls=calls)])

    @precondition(lambda self: self.due)
    @rule(data=st.data(), size=SIZES, again=st.booleans())
    def answer(self, data, size, again):
        """Answer one of the calls, perhaps not the newest, perhaps not for the last time."""
        name = data.draw(st.sampled_from(self.due))
        if not again:
            self.due.remove(name)
        self.said([self.chat.add("tool", sized(size), tool_result=name)])

    @rule(most=st.integers(40, 700))
    def prune(self, most):
        """Prune to so many tokens, if what is fixed fits."""
        with suppress(errors.BudgetTooSmall):
            self.chat.prune(most)

    @rule()
    def start_session(self):
        """Start a new session."""
        self.chat.start_session()

    @rule(number=st.integers(0, 100), pinned=st.booleans())
    def pin(self, number, pinned):
        """Pin a message, in view or not, or stop keeping it."""
        messages = self.chat.messages
        fixed = sum(message.tokens for message in messages if message.pinned)
        if messages and fixed < WINDOW // 3:
            self.chat.pin(messages[number % len(messages)].id, pinned=pinned)

    @rule()
    def clear(self):
        """Start afresh."""
        self.chat.clear()
        self.due, self.listed = [], []

    @rule(count=st.integers(1, 4))
    def pop(self, count):
        """Take the newest messages out."""
        expected = self.listed[-count:]
        self.take(self.chat.pop(count))
        assert self.removed[len(self.removed) - len(expected) :] == expected

    def take(self, gone):
        """Take note of messages that were taken out."""
        names = [message.id for message in gone]
        self.removed += names
        self.listed = [name for name in self.listed if name not in names]
        self.seen = {place: kept for place, kept in self.seen.items() if kept.id not in names}

    @precondition(lambda self: self.listed)
    @rule(places=st.lists(st.integers(0, 40), min_size=1, max_size=4), sizes=st.lists(SIZES))
    def replace(self, places, sizes):
        """Put messages in the place of others; what stands behind them moves."""
        there = self.chat.messages
        chosen = sorted({place % len(there) for place in places})
        old = [there[place] for place in chosen]
        new = [{"role": "user", "content": sized(size)} for size in sizes]
        made = self.chat.replace([there[place % len(there)].id for place in places], new)
        self.listed[chosen[0] : chosen[0]] = [message.id for message in made]
        self.take(old)
        live = {message.id for message in there}
        self.seen = {place: kept for place, kept in self.seen.items() if kept.id not in live}

    @invariant()
    def view_is_pure(self):
        """What the hand whose turn it is holds is what any other would read in the transcript."""
        for chat in self.hands[:1]:
            start, messages = chat._transcript.info().start, chat.messages
            prunings = [
                receipt
                for receipt in chat.prunings
                if receipt.cuts and receipt.cuts[-1].first >= start
            ]
            for budget in (ALL, int(WINDOW * 0.8), 200):
                with suppress(errors.BudgetTooSmall):
                    shown, left = chat.view(budget), budget - METER.message(SYSTEM)
                    assert shown == view(messages, left, self.policy, METER, prunings)
                    assert shown.tokens <= budget
                    known = (*shown.messages, *shown.orphans, *shown.waiting)
                    assert all(message in known for message in messages if message.pinned)
                    assert accounted(chat, shown) == sorted(message.id for message in messages)

    @invariant()
    def nothing_is_lost(self):
        """A conversation is a list; and all that was said and not removed expands to itself."""
        for chat in self.hands[:1]:
            assert [message.id for message in chat.messages] == self.listed
            left = [message.id for one in tombstones(chat) for message in one.messages]
            assert left == self.removed
            self.highest = max([self.highest, *(message.position for message in chat.messages)])
            self.seen |= {message.position: message for message in chat.messages}
            found = chat.expand(f"cut_0-{max(self.seen)}") if self.seen else ()
            assert [bare(message) for message in found] == [
                bare(message) for _, message in sorted(self.seen.items())
            ]

    def teardown(self):
        """Close what is open."""
        self.stack.close()


def bare(message):
    """Return a message without its pin, which may change."""
    return replace(message, pinned=False)


def knowledge(chat):
    """Return all that is known of a conversation."""
    return (chat.messages, chat.prunings, chat.view(ALL), chat.stats())


class StoredLives(Lives):
    """The same in a file, in two hands that take turns and are opened anew."""

    def start(self):
        """Begin in a file, in two hands."""
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.hands = [self.open(), self.open()]

    def open(self):
        """Open the file once more; the memory is closed when the test ends."""
        memory = self.stack.enter_context(remembering(self.folder / "m.db"))
        return memory.conversation("c", **self.arguments)

    @rule()
    def change_hands(self):
        """Go on with the other hand."""
        self.hands.reverse()

    @rule()
    def reopen(self):
        """Go on with a new holder, which knows what the one before knew."""
        before = knowledge(self.hands.pop())
        self.hands.append(self.open())
        assert knowledge(self.hands[-1]) == before

    @invariant()
    def hands_are_one(self):
        """Both hands know the same."""
        if self.hands:
            one, two = map(knowledge, self.hands)
            assert one == two


def test_a_view_is_what_the_transcript_gives_and_nothing_is_lost():
    """Whatever is done, and in whatever order, of a conversation in memory alone."""
    run_state_machine_as_test(Lives, settings=settings(stateful_step_count=30))


@pytest.mark.slow
def test_a_stored_conversation_is_one_in_every_hand_and_after_a_restart():
    """The store changes nothing: the same views, markers, receipts and figures for everybody."""
    fewer = settings(max_examples=examples(6), stateful_step_count=25)
    run_state_machine_as_test(StoredLives, settings=fewer)

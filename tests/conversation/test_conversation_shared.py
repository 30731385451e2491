"""One conversation in several hands: two memories, or two processes, on one file."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row
from talks import ALL, PATIENCE, chosen, fill, heard, lawful, places, remembering, sized

from memoranda import Conversation
from memoranda.conversation.pruning import check_limits
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.model.clock import SystemClock
from memoranda.model.models import ConversationInfo

WINDOW = 1_000
HANDS = st.integers(0, 1)
STEP = st.one_of(
    st.tuples(st.just("add"), HANDS, st.integers(6, 200)),
    st.tuples(st.just("add"), HANDS, st.integers(6, 60)),
    st.tuples(st.just("extend"), HANDS, st.integers(1, 6)),
    st.tuples(st.just("prune"), HANDS, st.integers(60, 600)),
    st.tuples(st.just("pin"), HANDS, st.integers(0, 30)),
    st.tuples(st.just("clear"), HANDS, st.just(0)),
    st.tuples(st.just("look"), HANDS, st.just(0)),
)
CHILD = """
import sys
sys.path[:0] = sys.argv[2:]
from talks import remembering, fill
with remembering(sys.argv[1]) as memory:
    chat = memory.conversation("c", context_limit=1_000, keep_recent=3)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(40):
        chat.add("user", f"child {number} " + "word " * 20)
    print(len(chat.view().messages), flush=True)
"""


def act(chat, verb, number):
    """Do one step with one hand."""
    match verb:
        case "add":
            fill(chat, [number])
        case "extend":
            chat.extend([{"role": "assistant", "content": sized(30 + n)} for n in range(number)])
        case "prune":
            pinned = sum(message.tokens for message in chat.messages if message.pinned)
            chat.prune(number + pinned)
        case "pin":
            messages = chat.messages
            if messages:
                message = messages[number % len(messages)]
                chat.pin(message.id, pinned=not message.pinned)
        case "clear":
            chat.clear()
        case "look":
            chat.stats()


@pytest.mark.slow
@given(steps=st.lists(STEP, max_size=25))
@settings(max_examples=examples(10))
def test_two_hands_see_one_conversation(steps):
    """After every step both have the same messages, receipts, pins, figures and lawful views."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "m.db"
        hands = [
            stack.enter_context(remembering(path)).conversation(
                "c", context_limit=WINDOW, keep_recent=3, max_messages=12
            )
            for _ in range(2)
        ]
        one, two = hands
        for verb, hand, number in steps:
            act(hands[hand], verb, number)
            assert one.view(ALL) == two.view(ALL)
            assert one.prunings == two.prunings
        for chat in hands:
            lawful(chat, ALL)
        assert one.messages == two.messages
        assert one.stats() == two.stats()
        assert one.context("And now?") == two.context("And now?")


def test_a_hand_hears_of_its_own_prunings_alone(tmp_path):
    """Events are of the object that did it; receipts are of the conversation."""
    with remembering(tmp_path / "m.db") as memory:
        one, two = (
            memory.conversation("c", context_limit=WINDOW, max_messages=99) for _ in range(2)
        )
        first, second = heard(one, "pruned"), heard(two, "pruned")
        fill(one, [60] * 14)
        fill(two, [60] * 8)
        assert [event.subject for event in (*first, *second)] == list(one.prunings)
        assert first
        assert second


class Interrupted(MemoryTranscript):
    """A transcript on which another hand acts right after a message, or before a pruning."""

    then = None

    def append(self, messages):
        """Add messages, and let the other hand act, once."""
        super().append(messages)
        self.act()

    def prune(self, pruning):
        """Keep a receipt, after what the other hand does, once."""
        self.act()
        super().prune(pruning)

    def act(self):
        """Let the other hand act."""
        act, self.then = self.then, None
        if act is not None:
            act()


@pytest.mark.slow
@each_row("pinned", [0, 8])
@each_row(("mine", "other"), [(400, 250), (250, 400), (300, 300)])
def test_two_prunings_at_one_instant_are_one_gap(mine, other, pinned):
    """Two hands that cut the same messages count them once, and expand to them."""
    limits = check_limits(chosen().conversation, context_limit=WINDOW, keep_recent=1)
    transcript = Interrupted(ConversationInfo(id="c", created_at=SystemClock().now()))
    one, two = (Conversation.over(transcript, limits) for _ in range(2))
    said = fill(one, [30] * 20)
    one.pin(said[pinned].id)
    transcript.then = lambda: two.prune(other)
    one.prune(mine)
    assert len(one.prunings) == 2
    for chat in (one, two):
        shown = lawful(chat, 800)
        assert [len(chat.expand(marker)) for marker in shown.markers] == [
            marker.messages for marker in shown.markers
        ]
        assert [sum(m.tokens for m in chat.expand(marker)) for marker in shown.markers] == [
            marker.tokens for marker in shown.markers
        ]
    assert one.view() == two.view()


def test_two_processes_add_and_prune_at_once(tmp_path):
    """Nothing is lost, each writer's order is kept, and every view accounts for all messages."""
    path, folders = tmp_path / "m.db", ["tests/memory", "tests/conversation"]
    here = [str(Path(__file__).parents[2] / folder) for folder in folders]
    with remembering(path) as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=3, max_messages=99)
        child = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", CHILD, path, *here],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("go\n")
            child.stdin.flush()
            for number in range(40):
                chat.add("user", f"parent {number} " + "word " * 20)
                seen = places(chat.view(ALL))
                assert seen == list(range(len(seen)))
                assert len(seen) > number
            said, _ = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
            child.communicate()
        assert child.returncode == 0
        assert int(said) > 3
        contents = [message.content for message in chat.messages]
        for name in ("parent", "child"):
            own = [int(text.split()[1]) for text in contents if text.startswith(name)]
            assert own == list(range(40))
        assert len(chat.prunings) > 2
        lawful(chat, 800)

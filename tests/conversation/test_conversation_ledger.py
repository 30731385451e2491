"""Law 3 of whole lives: the view of a conversation is the pure function of what is stored."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from dialogues import view
from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from talks import ALL, STRATEGIES, alone, chosen, meter, places, remembering, sized

from memoranda import errors
from memoranda.conversation import strategies
from memoranda.conversation.view import Policy
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
    """A conversation that is written, pruned, pinned, cleared and reopened in any order."""

    stored = False

    def __init__(self):
        """Start without a conversation."""
        super().__init__()
        self.stack = ExitStack()
        self.calls = 0
        self.due = []
        self.seen = {}

    @initialize(
        strategy=st.sampled_from(STRATEGIES),
        stable=st.booleans(),
        summaries=st.sampled_from(["off", "extractive"]),
        keep=st.integers(1, 5),
        most=st.integers(6, 20),
    )
    def begin(self, strategy, stable, summaries, keep, most):
        """Start the conversation with these settings."""
        self.arguments = {"strategy": strategy, "keep_recent": keep, "max_messages": most}
        self.options = {"stable_prefix": stable, "summaries": summaries}
        self.policy = Policy(
            strategy=strategies.STRATEGIES[strategy],
            keep_recent=keep,
            max_messages=max(keep, most),
            stable=stable,
        )
        self.meter = meter()
        if self.stored:
            self.path = Path(self.stack.enter_context(TemporaryDirectory())) / "m.db"
            self.open()
        else:
            self.chat = alone(
                system=SYSTEM,
                context_limit=WINDOW,
                settings=chosen(**self.options),
                **self.arguments,
            )

    def open(self):
        """Open the file once more; the former holder is closed when the test ends."""
        memory = self.stack.enter_context(remembering(self.path, **self.options))
        self.chat = memory.conversation("c", system=SYSTEM, context_limit=WINDOW, **self.arguments)

    @rule(role=ROLES, size=SIZES)
    def add(self, role, size):
        """Add a message; system messages are short, so that they fit."""
        self.chat.add(role, "A rule." if role == "system" else sized(size))

    @rule(text=TEXTS, role=st.sampled_from(["user", "assistant"]))
    def say(self, text, role):
        """Add a message that says something."""
        self.chat.add(role, text)

    @rule(sizes=st.lists(SIZES, max_size=6))
    def extend(self, sizes):
        """Add several messages at once."""
        self.chat.extend(
            [
                {"role": ("user", "assistant")[n % 2], "content": sized(s)}
                for n, s in enumerate(sizes)
            ]
        )

    @rule(count=st.integers(1, 3))
    def call(self, count):
        """Call tools; the results come later, or never."""
        names = [f"call_{self.calls + n}" for n in range(count)]
        self.calls += count
        self.due += names
        self.chat.add("assistant", "", tool_calls=[ToolCall(name, "look_up") for name in names])

    @precondition(lambda self: self.due)
    @rule(data=st.data(), size=SIZES, again=st.booleans())
    def answer(self, data, size, again):
        """Answer one of the calls, perhaps not the newest, perhaps not for the last time."""
        name = data.draw(st.sampled_from(self.due))
        if not again:
            self.due.remove(name)
        self.chat.add("tool", sized(size), tool_result=name)

    @rule(most=st.integers(40, 700))
    def prune(self, most):
        """Prune to so many tokens, if what is fixed fits."""
        try:
            self.chat.prune(most)
        except errors.BudgetTooSmall:
            return

    @rule()
    def start_session(self):
        """Start a new session."""
        self.chat.start_session()

    @rule(number=st.integers(0, 100), pinned=st.booleans())
    def pin(self, number, pinned):
        """Pin a message, in view or not, or stop keeping it."""
        messages = self.chat.messages
        if messages and self.fixed() < WINDOW // 3:
            self.chat.pin(messages[number % len(messages)].id, pinned=pinned)

    def fixed(self):
        """Return the tokens of what is pinned."""
        return sum(message.tokens for message in self.chat.messages if message.pinned)

    @rule()
    def clear(self):
        """Start afresh."""
        self.chat.clear()
        self.due.clear()

    @precondition(lambda self: self.stored)
    @rule()
    def reopen(self):
        """Go on with a new holder."""
        self.open()

    @invariant()
    def view_is_pure(self):
        """What is live in this process is what any other would read from the transcript."""
        if not hasattr(self, "chat"):
            return
        start = self.chat._transcript.info().start
        messages, system = self.chat.messages, self.meter.message(SYSTEM)
        prunings = [
            receipt
            for receipt in self.chat.prunings
            if receipt.cuts and receipt.cuts[-1].first >= start
        ]
        for budget in (ALL, int(WINDOW * 0.8), 200):
            try:
                shown = self.chat.view(budget)
            except errors.BudgetTooSmall:
                continue
            expected = view(messages, budget - system, self.policy, self.meter, prunings)
            assert shown == expected
            assert places(shown) == [message.position for message in messages]
            assert shown.tokens <= budget

    @invariant()
    def nothing_is_lost(self):
        """Every message ever seen is where it was, and expands to itself."""
        if not hasattr(self, "chat"):
            return
        for message in self.chat.messages:
            self.seen.setdefault(message.position, message.id)
        if self.seen:
            found = self.chat.expand(f"cut_0-{max(self.seen)}")
            assert {message.position: message.id for message in found} == self.seen

    def teardown(self):
        """Close what is open."""
        self.stack.close()


class StoredLives(Lives):
    """The same on SQLite, with reopening."""

    stored = True


TestLives = Lives.TestCase
TestLives.settings = settings(stateful_step_count=30)
TestStoredLives = StoredLives.TestCase
TestStoredLives.settings = settings(max_examples=examples(15), stateful_step_count=25)

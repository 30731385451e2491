"""Generated dialogues: every shape a transcript can have, the broken ones of importers too."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

from memoranda.conversation import segments
from memoranda.conversation.live import LiveMessages
from memoranda.conversation.selection import Policy, SelectionInput
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.view import view_of
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.tokens.catalog import Catalog

METER = Catalog(limits={}, tokenizers={"*": "estimate"}).meter("any")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PICTURE = Image("https://example.org/plan.png", "low")
WORDS = st.sampled_from(
    [
        "Book the flight to Lisbon.",
        "Always answer in French, never in English.",
        "Error: reservation EHGLP3 was not found (404).",
        "No, I meant the second file.",
        "Thanks!",
        "Done: all 12 tests pass.",
        "Now let's work on the tests.",
        "New task: write the changelog",
        "Task complete. Refactored 3 files.",
        "重构已完成。现在写测试吧。",
        "日本語の返事もできます。",
        "ok",
        "   ",
        "{}",
    ]
)
TEXTS = st.builds(lambda text, times: text * times, WORDS, st.sampled_from([0, 1, 1, 1, 3, 30]))


class Segment(NamedTuple):
    """The messages from one boundary to the next."""

    start: int
    end: int
    title: str
    completed: bool


def tasks(messages):
    """Return the tasks of a transcript, in order; together they are all of it."""
    befores = (messages[max(0, end - segments.LOOK_BACK) : end] for end in range(len(messages)))
    titles = [segments.start_of_task(*each) for each in zip(messages, befores, strict=True)]
    starts = dict.fromkeys([0] * bool(titles), "")
    starts |= {place: title for place, title in enumerate(titles) if title is not None}
    return [
        Segment(start, end, starts[start], end < len(messages) or segments.is_completed(messages))
        for start, end in pairwise([*starts, len(messages)])
    ]


def view(messages, budget, policy, meter, prunings=()):
    """Return the view of a whole transcript."""
    return view_of(SelectionInput(LiveMessages(prunings, messages), policy), budget, meter)


@st.composite
def exchanges(draw, number):
    """Draw a call with its results: whole, out of order, interrupted, torn or made up."""
    count = draw(st.integers(1, 3))
    calls = tuple(ToolCall(f"call_{number}_{i}", "find", '{"id": 7}') for i in range(count))
    asked = ("assistant", draw(st.sampled_from(["", "Let me look."])), {"tool_calls": calls})
    results = [
        ("tool", draw(TEXTS), {"tool_result": ToolResult(call.id, draw(st.booleans()))})
        for call in draw(st.permutations(calls))
    ]
    match draw(st.sampled_from(["whole"] * 8 + ["late", "torn", "nested", "twice", "orphan"])):
        case "late":
            return [asked, ("user", "Are you there?", {}), *results]
        case "torn":
            return [asked, *results[1:]]
        case "nested":
            inner = ToolCall(f"inner_{number}", "find", "{}")
            within = ("assistant", "", {"tool_calls": (inner,)})
            return [
                asked,
                within,
                ("tool", "found", {"tool_result": ToolResult(inner.id)}),
                *results,
            ]
        case "twice":
            return [asked, *results, results[0]]
        case "orphan":
            return results
    return [asked, *results]


@st.composite
def dialogues(draw, longest=24):
    """Draw a transcript with positions, times, token counts and a few pins."""
    said = []
    for number in range(draw(st.integers(0, longest))):
        match draw(st.sampled_from(["user", "user", "assistant", "assistant", "tools", "system"])):
            case "tools":
                said += draw(exchanges(number))
            case "user":
                pictures = draw(st.sampled_from([(), (), (), (PICTURE,)]))
                said.append(("user", draw(TEXTS), {"images": pictures}))
            case role:
                said.append((role, draw(TEXTS), {}))
    if said and draw(st.booleans()):  # One text that is larger than most budgets.
        place = draw(st.integers(0, len(said) - 1))
        role, content, fields = said[place]
        said[place] = (role, content * 10, fields)
    return transcript(said, pins=draw(st.sets(st.integers(0, 200), max_size=2)))


def transcript(said, pins=()):
    """Make messages of ``(role, content, fields)``."""
    messages = []
    moment = START
    for place, (role, content, fields) in enumerate(said):
        moment += timedelta(minutes=3)
        message = Message(
            id=f"msg_{place:04}",
            role=role,
            content=content,
            timestamp=moment,
            tokens=0,
            position=place,
            pinned=place in pins and role in {"user", "assistant"},
            **fields,
        )
        counted = METER.message(content, message.tool_calls, message.images)
        messages.append(replace(message, tokens=counted))
    return messages


def talk(*lines):
    """Make a transcript of ``user: …`` and ``assistant: …`` lines."""
    return transcript([(*line.split(": ", 1), {}) for line in lines])


class AnyStrategy:
    """Takes what it was made with: a strategy of no sense."""

    name = "random"
    description = "anything"

    def __init__(self, groups, *, pairs):
        """Take these ``groups`` of units."""
        self.groups, self.pairs = groups, pairs

    def select(self, given, selection):
        """Take the groups that are there."""
        for group in self.groups:
            selection.take([index for index in group if index < len(given.units)], "by chance")


GROUPS = st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=8)
POLICIES = st.builds(
    Policy,
    strategy=st.sampled_from([STRATEGIES[name] for name in sorted(STRATEGIES)])
    | st.builds(AnyStrategy, GROUPS, pairs=st.booleans()),
    max_messages=st.sampled_from([10, 20, 500]),
    keep_recent=st.sampled_from([1, 4, 10]),
    prune_to=st.sampled_from([0.3, 0.5, 1.0]),
)

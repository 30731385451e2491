"""Scoring: the algorithm of seed 000, every part of it, and what the same talk is worth twice."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.conversation.scoring import redundant, score, scores
from memoranda.conversation.signals import NONE, Signals, signals
from memoranda.model.models import Image, Message, ToolCall, ToolResult

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def at(from_end, days=0, *, completed=False, repeated=False):
    """Return where a message stands, as arguments of score()."""
    return {"from_end": from_end, "days": days, "completed": completed, "repeated": repeated}


FAR = at(100)


def message(role="user", content="", *, days=0.0, **fields):
    """Make a message said some days before noon."""
    moment = NOON - timedelta(days=days)
    return Message(id="1", role=role, content=content, timestamp=moment, tokens=1, **fields)


def call(arguments, *, name="read", id="c", content=""):
    """Make an assistant's tool call."""
    return message("assistant", content, tool_calls=(ToolCall(id, name, arguments),))


def result(content, *, id="c"):
    """Make a tool's result."""
    return message("tool", content, tool_result=ToolResult(id))


SIGNALS = st.builds(
    Signals,
    **dict.fromkeys(
        ["tool_call", "tool_result", "directive", "error", "correction", "casual"], st.booleans()
    ),
    references=st.integers(0, 5),
)
PLACES = st.builds(
    at, st.integers(0, 200), st.integers(0, 4000), completed=st.booleans(), repeated=st.booleans()
)


@each_row(
    ("found", "place", "value"),
    [
        (NONE, FAR, 0.5),
        (Signals(tool_call=True), FAR, 0.8),
        (Signals(tool_result=True), FAR, 0.7),
        (Signals(directive=True), FAR, 0.7),
        (Signals(directive=True, constraint=True), FAR, 0.7),
        (Signals(error=True), FAR, 0.8),
        (Signals(correction=True), FAR, 0.7),
        (Signals(references=1), FAR, 0.6),
        (Signals(references=3), FAR, 0.8),
        (Signals(casual=True), FAR, 0.3),
        (Signals(completion=True, opening=True, explicit=True), FAR, 0.5),
        (NONE, at(100, days=1), 0.4),
        (NONE, at(100, days=3), 0.2),
        (NONE, at(100, completed=True), 0.2),
        (NONE, at(100, repeated=True), 0.2),
        (NONE, at(0), 0.9),
        (NONE, at(4), 0.9),
        (NONE, at(5), 0.7),
        (NONE, at(9), 0.7),
        (NONE, at(10), 0.6),
        (NONE, at(19), 0.6),
        (NONE, at(20), 0.5),
        (Signals(tool_result=True, error=True), FAR, 1.0),
        (Signals(tool_call=True, error=True, references=9), at(0), 1.0),
        (Signals(casual=True), at(100, 5, completed=True, repeated=True), 0.0),
    ],
)
def test_each_modifier_is_that_of_the_specification(found, place, value):
    """Seed 000: base 0.5, each modifier as written, the result from 0 to 1."""
    assert score(message(), found, **place).value == value


@given(SIGNALS, PLACES)
def test_a_system_prompt_is_worth_one(found, place):
    """Seed 000: the system prompt is never pruned, whatever is said about it."""
    assert score(message("system"), found, **place).value == 1.0
    assert score(message("system"), found).value == 1.0


@given(SIGNALS, PLACES)
def test_a_score_lies_between_zero_and_one_and_adds_up(found, place):
    """The parts add up to the value, unless it is limited to 0 or 1."""
    made = score(message(), found, **place)
    total = round(sum(add for _, add in made.why), 6)
    assert made.value == min(1.0, max(0.0, total))
    assert made.why[0] == ("base", 0.5)
    assert all(name and add for name, add in made.why)


@given(SIGNALS, PLACES, st.integers(0, 50))
def test_nearer_to_the_end_is_worth_no_less(found, place, nearer):
    """A message is worth the more, the fewer messages follow, all else being equal."""
    closer = place | {"from_end": max(0, place["from_end"] - nearer)}
    assert score(message(), found, **closer).value >= score(message(), found, **place).value


@given(SIGNALS, PLACES, st.integers(1, 10))
def test_older_or_finished_or_said_again_is_worth_no_more(found, place, days):
    """R4.3: age, a finished task and a repetition never add anything."""
    fresh = score(message(), found, **at(place["from_end"], place["days"])).value
    older = at(place["from_end"], place["days"] + days)
    assert score(message(), found, **older).value <= fresh
    assert (
        score(message(), found, **at(place["from_end"], place["days"], completed=True)).value
        <= fresh
    )
    assert (
        score(message(), found, **at(place["from_end"], place["days"], repeated=True)).value
        <= fresh
    )


@given(SIGNALS)
def test_what_is_stored_is_the_score_far_from_the_end(found):
    """The stored importance is the score without place, age and completion."""
    assert score(message(), found).value == score(message(), found, **at(from_end=20)).value


@each_row(
    ("found", "place", "line"),
    [
        (
            Signals(tool_call=True),
            at(30, days=1),
            "0.5 base · +0.3 tool call · -0.1 1 day old = 0.70",
        ),
        (
            Signals(constraint=True, directive=True),
            at(4),
            "0.5 base · +0.2 constraint · +0.4 in the last 5 = 1.10, limited to 1.00",
        ),
        (Signals(references=2), at(30), "0.5 base · +0.2 2 references = 0.70"),
        (
            NONE,
            at(40, completed=True, repeated=True),
            "0.5 base · -0.3 task complete · -0.3 said again later = -0.10, limited to 0.00",
        ),
    ],
)
def test_a_score_explains_itself_in_a_line(found, place, line):
    """Each part is named with what it adds, and the limits are shown where they apply."""
    assert str(score(message(), found, **place)) == line


def test_the_system_prompt_explains_itself():
    """Its only part is that it is the system prompt."""
    assert str(score(message("system"), NONE, **FAR)) == "1.0 system prompt = 1.00"


def test_many_scores_agree_with_one_by_one():
    """scores() finds age, place, completion and repetition by itself."""
    talk = [
        message("system", "You help.", days=9),
        message("user", "Never fly before nine in the morning, please.", days=3.9),
        message("assistant", "ok", days=2),
        message("user", "Never fly before nine in the morning, please!"),
    ]
    found = scores(talk, completed={2})
    places = [at(3, 9), at(2, 3, repeated=True), at(1, 2, completed=True), at(0)]
    expected = [score(m, signals(m), **place) for m, place in zip(talk, places, strict=True)]
    assert found == expected
    assert scores([]) == []


def test_signals_that_are_known_are_not_read_again():
    """scores() asks the given reader once for each message, and no other."""
    asked = []
    talk = [message("user", "hello"), message("user", "Error: x")]

    def read(one):
        asked.append(one)
        return NONE

    assert [one.value for one in scores(talk, read=read)] == [0.9, 0.9]
    assert asked == talk


def test_age_is_counted_from_the_newest_message():
    """The same conversation has the same scores whenever it is scored, in whole days."""
    talk = [message(days=2.5), message(days=1.99), message(days=0.99), message()]
    ages = [dict(map(reversed, one.why)) for one in scores(talk)]
    assert [[name for name in age.values() if "old" in name] for age in ages] == [
        ["2 days old"],
        ["1 day old"],
        [],
        [],
    ]
    later = [message(days=days + 500) for days in (2.5, 1.99, 0.99, 0)]
    assert scores(later) == scores(talk)


@given(st.permutations(range(6)))
def test_what_a_message_says_does_not_depend_on_the_order(order):
    """Whatever the order, a message has the same parts but for its place."""
    texts = ["hi", "Never do that.", "Error: x", "No, I meant Rome.", "What is it?", "thanks"]
    talk = [message("user", texts[number]) for number in order]
    for one, made in zip(talk, scores(talk), strict=True):
        own = [part for part in made.why if "last" not in part[0]]
        assert own == list(score(one, signals(one), **FAR).why)


@each_row(
    ("talk", "again"),
    [
        ([call('{"a": 1, "b": 2}'), call('{"b":2,"a":1}', id="d")], [True, False]),
        ([call('{"a": 1}'), call('{"a": 2}', id="d")], [False, False]),
        ([call("{}"), call("{}", name="write", id="d")], [False, False]),
        ([call("not json"), call("not json", id="d")], [True, False]),
        (
            [call("{}"), result("1 row"), call("{}", id="d"), result("1 row", id="d")],
            [True, True, False, False],
        ),
        (
            [call("{}"), result("1 row"), call("{}", id="d"), result("2 rows", id="d")],
            [True, False, False, False],
        ),
        (
            [call("{}"), result("no"), call("[]", id="d"), result("no", id="d")],
            [False, False, False, False],
        ),
        ([result("an orphan of some length"), result("an orphan of some length")], [True, False]),
        ([call("{}", content="I will look at it in detail."), call("{}", id="d")], [False, False]),
        ([call("{}", content="Sure."), call("{}", id="d")], [True, False]),
    ],
)
def test_what_is_called_again_is_redundant(talk, again):
    """R4.3: of the same calls and results the older is redundant, not what differs."""
    assert redundant(talk) == again


@each_row(
    ("first", "second", "again"),
    [
        ("I need a refund for flight 12.", "i need a refund for flight 12", True),
        ("I need  a refund\nfor flight 12.", "I need a refund for flight 12!", True),
        ("I need a refund for flight 12.", "I need a refund for flight 13.", False),
        ("yes", "yes", False),
        ("", "", False),
        ("x" * 20_000, "x" * 20_000, True),
    ],
)
def test_the_same_text_is_redundant_when_it_says_enough(first, second, again):
    """Writing does not matter, content does; a bare "yes" answers another question each time."""
    assert redundant([message("user", first), message("user", second)]) == [again, False]
    assert redundant([message("user", first), message("assistant", second)]) == [False, False]


def test_pictures_and_parallel_calls_are_part_of_what_is_said():
    """A message is redundant only when everything in it comes again."""
    one, two = ToolCall("1", "read", "{}"), ToolCall("2", "read", "[]")
    both = message("assistant", tool_calls=(one, two))
    assert redundant([both, message("assistant", tool_calls=(one,))]) == [False, False]
    assert redundant([message("assistant", tool_calls=(one,)), both]) == [True, False]
    text = "Look at this picture of the table."
    shown = message("user", text, images=(Image("https://example.com/a.png"),))
    assert redundant([shown, message("user", text)]) == [False, False]
    assert redundant([message("user", text), shown]) == [True, False]


@given(st.lists(st.text(max_size=30)), st.sampled_from(["user", "assistant", "tool"]))
def test_any_conversation_can_be_scored(texts, role):
    """No text raises, and each message has its score."""
    talk = [message(role, text, tool_calls=(ToolCall("c", "f", text),)) for text in texts]
    found = scores(talk)
    assert len(found) == len(talk)
    assert all(0 <= one.value <= 1 for one in found)


def test_scoring_takes_time_in_proportion():
    """Ten times the messages take about ten times the time, not a hundred."""

    def seconds(count):
        talk = [
            call(json.dumps({"n": n}), content=f"Here is row number {n} of it.")
            for n in range(count)
        ]
        start = process_time()
        scores(talk, read=lambda _: NONE)
        return process_time() - start

    seconds(100)
    assert seconds(20_000) < 30 * max(seconds(2_000), 0.005)


def test_the_last_of_a_row_is_never_worth_less_than_the_one_before():
    """Of equal messages the newer is worth at least as much: recency and repetition agree."""
    talk = [message("user", "What is the weather like in Porto today?") for _ in range(40)]
    values = [one.value for one in scores(talk)]
    assert all(older <= newer for older, newer in pairwise(values))
    assert values[0] == pytest.approx(0.2)
    assert values[-1] == pytest.approx(0.9)

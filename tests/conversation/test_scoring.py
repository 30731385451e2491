"""Scoring: the algorithm of seed 000, every part of it, and what the same talk is worth twice."""

from datetime import timedelta
from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from message_samples import NOON, call, message, result
from tables import each_row

from memoranda.conversation.scoring import rank_values, redundant, score
from memoranda.conversation.signals import NONE, Signals
from memoranda.model.models import Image, ToolCall


def old(days, role="user", content="", **fields):
    """Make a message said some days before noon."""
    return message(role, content, timestamp=NOON - timedelta(days=days), **fields)


SIGNALS = st.builds(
    Signals,
    **dict.fromkeys(["directive", "error", "correction", "casual"], st.booleans()),
    references=st.integers(0, 9),
)


@each_row(
    ("found", "value"),
    [
        (NONE, 0.5),
        (Signals(directive=True), 0.7),
        (Signals(directive=True, constraint=True), 0.7),
        (Signals(error=True), 0.8),
        (Signals(correction=True), 0.7),
        (Signals(references=1), 0.6),
        (Signals(references=3), 0.8),
        (Signals(casual=True), 0.3),
        (Signals(finished=True, opening=True, explicit=True), 0.5),
        (Signals(error=True, references=9), 1.0),
    ],
)
def test_each_modifier_is_that_of_the_specification(found, value):
    """Seed 000: base 0.5, each modifier as written, the result from 0 to 1."""
    assert score(message(), found) == value


def test_calls_and_results_are_worth_more():
    """R4.2: a tool call adds 0.3 and a tool's result 0.2."""
    assert (score(call(), NONE), score(result("fine"), NONE)) == (0.8, 0.7)


@given(SIGNALS)
def test_a_score_lies_between_zero_and_one(found):
    """Whatever is said about it; a system prompt is worth 1 (seed 000)."""
    assert 0 <= score(message(), found) <= 1
    assert score(message("system"), found) == 1.0


def test_where_a_message_stands_decides_with_what_it_says():
    """Seed 000: the newest are worth more; a day, a finished task and a repetition less (R4.3)."""
    talk = [
        old(1.9, content="Plain, and of a finished task.", importance=0.5),
        old(0.9, content="I said this long ago already.", importance=0.5),
        *(old(0, content=f"{number}", importance=0.5) for number in range(19)),
        old(0, content="I said this long ago already.", importance=0.7),
        old(0, "assistant", "Understood.", importance=None),
    ]
    found = rank_values(talk, completed=1)
    assert found[:3] == [0.1, 0.2, 0.5]
    assert found[3:] == [0.6] * 10 + [0.7] * 5 + [0.9] * 3 + [1.1, 0.9]
    assert rank_values([], 0) == []


REFUND = "I need a refund for flight 12."


def again(name="read", arguments="{}", answer=None, id="d", content=""):
    """Make a call with these arguments, and its result."""
    made = [call(name, arguments, id=id, content=content)]
    return [*made, result(answer, id=id)] if answer else made


@each_row(
    ("first", "second", "redundant_"),
    [
        (again(arguments='{"a": 1}', id="c"), again(arguments='{"a": 1}'), [1, 0]),
        (again(arguments='{"a": 1}', id="c"), again(arguments='{"a": 2}'), [0, 0]),
        (again(id="c"), again("write"), [0, 0]),
        (again(arguments="not json", id="c"), again(arguments="not json"), [1, 0]),
        (again(answer="1 row", id="c"), again(answer="1 row"), [1, 1, 0, 0]),
        (again(answer="1 row", id="c"), again(answer="2 rows"), [1, 0, 0, 0]),
        (again(answer="no", id="c"), again(arguments="[]", answer="no"), [0, 0, 0, 0]),
        ([result("an orphan of some length")], [result("an orphan of some length")], [1, 0]),
        (again(content="I will look at it in detail.", id="c"), again(), [0, 0]),
        (again(content="Sure.", id="c"), again(), [1, 0]),
        # A text, if it says enough: a bare "yes" answers another question.
        ([message("user", REFUND)], [message("user", REFUND)], [1, 0]),
        ([message("user", REFUND)], [message("user", "I need a refund for flight 13.")], [0, 0]),
        ([message("user", REFUND)], [message("assistant", REFUND)], [0, 0]),
        ([message("user", "yes")], [message("user", "yes")], [0, 0]),
        ([message("user", "x" * 20_000)] * 2, [message("user", "x" * 20_000)], [1, 1, 0]),
    ],
)
def test_what_is_called_again_is_redundant(first, second, redundant_):
    """R4.3: of the same calls and results the older is redundant, not what differs."""
    assert redundant([*first, *second]) == redundant_


def test_pictures_and_parallel_calls_are_part_of_what_is_said():
    """A message is redundant only when everything in it comes again."""
    one, two = ToolCall("1", "read", "{}"), ToolCall("2", "read", "[]")
    both = message("assistant", tool_calls=(one, two))
    assert redundant([both, message("assistant", tool_calls=(one,))]) == [False, False]
    assert redundant([both, both]) == [True, False]
    text = "Look at this picture of the table."
    shown = message("user", text, images=(Image("https://example.com/a.png"),))
    assert redundant([shown, message("user", text)]) == [False, False]
    assert redundant([shown, shown]) == [True, False]


@given(st.lists(st.text(max_size=30)), st.sampled_from(["user", "assistant", "tool"]))
def test_any_conversation_can_be_ranked(texts, role):
    """No text raises, and each message has its value."""
    talk = [message(role, text, tool_calls=(ToolCall("c", "f", text),)) for text in texts]
    assert len(rank_values(talk, 0)) == len(talk)


def test_ranking_takes_time_in_proportion():
    """Ten times the messages take about ten times the time, not a hundred."""

    def seconds(count):
        texts = [f"Here is row number {n} of it." for n in range(count)]
        talk = [call(arguments=f'{{"n": {n}}}', content=text) for n, text in enumerate(texts)]
        start = process_time()
        rank_values(talk, 0)
        return process_time() - start

    seconds(100)
    assert seconds(10_000) < 30 * max(seconds(1_000), 0.005)

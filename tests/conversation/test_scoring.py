"""Scoring: the algorithm of seed 000, every part of it, and what the same talk is worth twice."""

from datetime import timedelta
from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from message_samples import NOON, call, message, result
from tables import each_row

from memoranda.conversation.scoring import redundant, score, scores
from memoranda.conversation.signals import NONE, Signals, signals
from memoranda.model.models import Image, ToolCall


def at(from_end, days=0, *, completed=False, repeated=False):
    """Return where a message stands, as arguments of score()."""
    return {"from_end": from_end, "days": days, "completed": completed, "repeated": repeated}


FAR = at(100)


def old(days, role="user", content=""):
    """Make a message said some days before noon."""
    return message(role, content, timestamp=NOON - timedelta(days=days))


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
def test_older_or_finished_or_said_again_is_worth_no_more(found, place, more):
    """R4.3: age, a finished task and a repetition never add anything."""
    end, days = place["from_end"], place["days"]
    fresh = score(message(), found, **at(end, days)).value
    for worse in (
        at(end, days + more),
        at(end, days, completed=True),
        at(end, days, repeated=True),
    ):
        assert score(message(), found, **worse).value <= fresh


@given(SIGNALS)
def test_what_is_stored_is_the_score_far_from_the_end(found):
    """The stored importance is the score without place, age and completion."""
    assert score(message(), found).value == score(message(), found, **at(from_end=20)).value


@each_row(
    ("found", "place", "line"),
    [
        ({"tool_call": True}, at(30, 1), "0.5 base · +0.3 tool call · -0.1 1 day old = 0.70"),
        (
            {"constraint": True, "directive": True},
            at(4),
            "0.5 base · +0.2 constraint · +0.4 in the last 5 = 1.10, limited to 1.00",
        ),
        ({"references": 2}, at(30), "0.5 base · +0.2 2 references = 0.70"),
        (
            {},
            at(40, completed=True, repeated=True),
            "0.5 base · -0.3 task complete · -0.3 said again later = -0.10, limited to 0.00",
        ),
    ],
)
def test_a_score_explains_itself_in_a_line(found, place, line):
    """Each part is named with what it adds, and the limits are shown where they apply."""
    assert str(score(message(), Signals(**found), **place)) == line
    system = score(message("system"), Signals(**found), **place)
    assert str(system) == "1.0 system prompt = 1.00"


def test_many_scores_agree_with_one_by_one():
    """scores() finds age, place, completion and repetition itself, and reads each message once."""
    talk = [
        old(9, "system", "You help."),
        old(3.9, "user", "Never fly before nine in the morning, please."),
        old(2, "assistant", "ok"),
        message("user", "Never fly before nine in the morning, please!"),
    ]
    asked = []
    found = scores(talk, completed={2}, read=lambda one: asked.append(one) or signals(one))
    places = [at(3, 9), at(2, 3, repeated=True), at(1, 2, completed=True), at(0)]
    assert found == [score(m, signals(m), **place) for m, place in zip(talk, places, strict=True)]
    assert asked == talk
    assert scores([]) == []


def test_age_is_counted_from_the_newest_message():
    """The same conversation has the same scores whenever it is scored, in whole days."""
    talk = [old(days) for days in (2.5, 1.99, 0.99, 0)]
    ages = [[name for name, _ in one.why if "old" in name] for one in scores(talk)]
    assert ages == [["2 days old"], ["1 day old"], [], []]
    assert scores([old(days + 500) for days in (2.5, 1.99, 0.99, 0)]) == scores(talk)


REFUND = "I need a refund for flight 12."


def again(name="read", arguments="{}", answer=None, id="d", content=""):
    """Make a call with these arguments, and its result."""
    made = [call(name, arguments, id=id, content=content)]
    return [*made, result(answer, id=id)] if answer else made


@each_row(
    ("first", "second", "redundant_"),
    [
        (again(arguments='{"a": 1, "b": 2}', id="c"), again(arguments='{"b":2,"a":1}'), [1, 0]),
        (again(arguments='{"a": 1}', id="c"), again(arguments='{"a": 2}'), [0, 0]),
        (again(id="c"), again("write"), [0, 0]),
        (again(arguments="not json", id="c"), again(arguments="not json"), [1, 0]),
        (again(answer="1 row", id="c"), again(answer="1 row"), [1, 1, 0, 0]),
        (again(answer="1 row", id="c"), again(answer="2 rows"), [1, 0, 0, 0]),
        (again(answer="no", id="c"), again(arguments="[]", answer="no"), [0, 0, 0, 0]),
        ([result("an orphan of some length")], [result("an orphan of some length")], [1, 0]),
        (again(content="I will look at it in detail.", id="c"), again(), [0, 0]),
        (again(content="Sure.", id="c"), again(), [1, 0]),
        # A text, however it is written, if it says enough: a bare "yes" answers another question.
        ([message("user", REFUND)], [message("user", REFUND.lower())], [1, 0]),
        ([message("user", REFUND)], [message("user", "I need  a refund\nfor flight 12!")], [1, 0]),
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
        texts = [f"Here is row number {n} of it." for n in range(count)]
        talk = [call(arguments=f'{{"n": {n}}}', content=text) for n, text in enumerate(texts)]
        start = process_time()
        scores(talk, read=lambda _: NONE)
        return process_time() - start

    seconds(100)
    assert seconds(10_000) < 30 * max(seconds(1_000), 0.005)

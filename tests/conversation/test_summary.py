"""What markers quote of the messages that they stand for: what binds, word for word (R3.6)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from message_samples import call, message, result

from memoranda.conversation.signals import signals
from memoranda.conversation.summary import LONGEST, MOST, quote_binding


def lines(messages, requests=()):
    """Return the lines that quote messages."""
    placed = [replace(each, position=place) for place, each in enumerate(messages)]
    return quote_binding([(each, signals(each)) for each in placed], requests).splitlines()


def test_what_binds_later_turns_is_quoted_in_order():
    """The request of the task, rules and decisions; no small talk, error or other request."""
    asked = message("user", "Hi! Book me a table for two.", id="asked")
    messages = [
        asked,
        message("assistant", "Which day?"),
        message("user", "I'm vegetarian. Never book outside."),
        message("user", "We decided on Rosa's at 19:30."),
        call("book", '{"place": "ROSA-7"}'),
        result("Error: no table at 19:30"),
        message("user", "Try 20:15."),
    ]
    binding = ["rule: I'm vegetarian.", "rule: Never book outside."]
    decided = ["decided: We decided on Rosa's at 19:30."]
    assert lines(messages) == [*binding, *decided]
    assert lines(messages, {asked.id}) == ["asked: Book me a table for two.", *binding, *decided]


def test_of_many_rules_the_newest_are_quoted():
    """A marker stays short, however much was laid down."""
    rules = [message("user", f"Never use port {number} here.") for number in range(30)]
    assert lines(rules) == [f"rule: {each.content}" for each in rules[-MOST:]]


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=400))))
def test_every_line_is_quoted(turns):
    """Of any text each line stands in a message, but for spaces and where it was cut."""
    said = " ".join(" ".join(text.split()) for _, text in turns)
    for line in lines([message(role, text) for role, text in turns]):
        label, _, quoted = line.partition(": ")
        assert label in {"rule", "decided"}
        assert len(quoted) <= LONGEST
        assert quoted.removesuffix("…").strip() in said

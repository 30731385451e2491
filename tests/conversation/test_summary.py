"""What markers quote of the messages that they stand for: what binds, word for word (R3.6)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from message_samples import call, message, result

from memoranda.conversation.signals import signals
from memoranda.conversation.summary import LONGEST, MOST, quote_binding


def lines(messages):
    """Return the lines that quote messages."""
    placed = [replace(each, position=place) for place, each in enumerate(messages)]
    return quote_binding([(each, signals(each)) for each in placed]).splitlines()


def test_what_binds_later_turns_is_quoted_in_order():
    """Requests, rules and decisions; no small talk, error or question."""
    messages = [
        message("user", "Book a table for two."),
        message("assistant", "Which day?"),
        message("user", "I'm vegetarian. Never book outside."),
        message("user", "We decided on Rosa's at 19:30."),
        call("book", '{"place": "ROSA-7"}'),
        result("Error: no table at 19:30"),
        message("user", "Try 20:15."),
    ]
    binding = ["rule: I'm vegetarian. Never book outside."]
    decided = ["decided: We decided on Rosa's at 19:30.", "said: Try 20:15."]
    assert lines(messages) == ["said: Book a table for two.", *binding, *decided]


def test_what_looks_binding_is_quoted_too():
    """In words that no form knows; not small talk, a secret, or what the assistant says."""
    talk = [
        ("user", "if a test fails, show me the failure before you try to fix anything"),
        ("user", "Wow, that was such a lovely evening!"),
        ("user", "Our key is sk-proj-abcdefgh12345678abcdefgh."),
        ("assistant", "The release moves to the 3rd."),
        ("user", "The kitchen gets oak worktops."),
    ]
    quoted = ["said: " + talk[at][1] for at in (0, 4)]
    assert lines([message(*each) for each in talk]) == quoted


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
        assert label in {"rule", "decided", "said"}
        assert len(quoted) <= LONGEST
        assert quoted.removesuffix("…").strip() in said

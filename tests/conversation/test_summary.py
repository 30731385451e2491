"""Summaries: word for word, short, the most important first, and nothing where nothing matters."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.conversation.summary import LABELS, ExtractiveSummarizer
from memoranda.errors import InvalidInput
from memoranda.model.models import Message, ToolCall, ToolResult

LINE = re.compile(r"(?P<label>[a-z]+|error in \S+): (?P<said>.+?)(?: ×\d+)?")


def message(role, content="", **fields):
    """Make a message of a role."""
    return Message(
        id="1",
        role=role,
        content=content,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        tokens=1,
        **fields,
    )


def talk(*turns):
    """Make messages of pairs: who, and what they say."""
    return [message(role, content) for role, content in turns]


def call(name, arguments="{}", id="c"):
    """Make an assistant's tool call."""
    return message("assistant", tool_calls=(ToolCall(id, name, arguments),))


def result(content, id="c"):
    """Make a tool's result."""
    return message("tool", content, tool_result=ToolResult(id))


def lines(messages, **options):
    """Return the lines of a summary."""
    return ExtractiveSummarizer(**options).summarize(messages).splitlines()


def test_the_most_important_comes_first():
    """Rules, corrections, decisions, errors, the newest request, names, what was done, tools."""
    messages = [
        *talk(
            ("user", "Book me a table for two."),
            ("assistant", "Which day?"),
            ("user", "I'm vegetarian. Never book outside."),
            ("user", "No, I meant for three."),
            ("user", "We decided on Rosa's at 19:30."),
        ),
        call("book", '{"place": "ROSA-7"}'),
        result("Error: no table at 19:30"),
        *talk(
            ("user", "Try 20:15."), ("assistant", "Your table has been booked for 20:15. Enjoy!")
        ),
    ]
    assert lines(messages) == [
        "rule: I'm vegetarian.",
        "rule: Never book outside.",
        "corrected: No, I meant for three.",
        "decided: We decided on Rosa's at 19:30.",
        "error in book: Error: no table at 19:30",
        "asked: Try 20:15.",
        "named: ROSA-7",
        "done: Your table has been booked for 20:15.",
        "tools: book",
        "asked: Book me a table for two.",
    ]


@each_row(
    "turns",
    [
        [],
        [("user", "Hi!"), ("assistant", "Hello! How can I help you today?")],
        [("user", "Thanks!"), ("assistant", "You're welcome! Have a great day!")],
        [("system", "You plan trips. Never lie.")],
        [("user", ""), ("assistant", "")],
        [("user", "👍")],
    ],
)
def test_nothing_is_said_where_nothing_matters(turns):
    """Small talk and system prompts need no summary."""
    assert ExtractiveSummarizer().summarize(talk(*turns)) == ""


def test_small_talk_around_a_request_is_left_out():
    """Of a message only the sentences that matter are quoted."""
    turns = [("user", "Hi Ana! How are you? Please cancel order 4471. Thanks a lot!")]
    assert lines(talk(*turns)) == ["asked: Please cancel order 4471."]


@each_row(
    ("text", "line"),
    [
        ("Wo ist der Schlüssel von Haus Nr. 12?", "said: Wo ist der Schlüssel von Haus Nr. 12?"),
        ("Ng'ombe wangu ni mgonjwa. Nifanye nini?", "said: Ng'ombe wangu ni mgonjwa."),
        ("我的订单号是 A2231。谢谢。", "said: 我的订单号是 A2231。"),
        ("मेरा ऑर्डर कहाँ है", "said: मेरा ऑर्डर कहाँ है"),
    ],
)
def test_a_language_without_cues_is_quoted_by_its_first_sentence(text, line):
    """No language is passed over: what a user says is told, in their own words."""
    assert line in lines(talk(("user", text)))


def test_names_and_figures_are_found_by_their_form():
    """Files, ids, dates, sums and addresses that were used are listed, whatever the language."""
    text = "src/app.py XEHM4B 2026-05-17 14 June $1,204.50 ana@example.com v2.3.1 19:30"
    (named,) = lines([call("f", json.dumps({"a": text}))])[:1]
    assert named.startswith("named: ")
    assert set(named.removeprefix("named: ").split(", ")) == {
        "src/app.py",
        "XEHM4B",
        "2026-05-17",
        "14 June",
        "$1,204.50",
        "ana@example.com",
        "v2.3.1",
        "19:30",
    }


def test_what_only_a_tool_said_is_not_listed():
    """Hundreds of ids in a result that nobody used say nothing."""
    messages = [call("search", '{"to": "LIS8"}'), result('["HAT001", "HAT002", "LIS8"]')]
    assert lines(messages) == ["named: LIS8", "tools: search"]


def test_repetitions_are_counted():
    """What is said again, and what is called again, is told once with its number."""
    turn = [call("pay"), result("Error: card declined")]
    assert lines([*turn, *turn, *turn]) == [
        "error in pay: Error: card declined ×3",
        "tools: pay ×3",
    ]


def test_of_a_traceback_the_last_line_is_told():
    """It is the one that names the error."""
    trace = "Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'id'"
    assert lines([result(trace)]) == ["error: KeyError: 'id'"]


def test_the_newest_survive_where_there_is_little_room():
    """Of rules that do not fit all, the newer are kept; the order is that of the talk."""
    turns = [("user", f"Never use method number {n}.") for n in range(9)]
    assert lines(talk(*turns), max_characters=70) == [
        "rule: Never use method number 7.",
        "rule: Never use method number 8.",
    ]


def test_too_little_room_is_refused():
    """The error names the value and what to do."""
    with pytest.raises(InvalidInput, match=r"max_characters=10 is too small.*give it 40"):
        ExtractiveSummarizer(max_characters=10)


ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
WORDS = st.sampled_from(
    [
        "Never do that.",
        "Error: x",
        "thanks",
        "Fix app.py",
        "我们决定用",
        "12:30",
        "\ud800",
        "a" * 300,
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=6).map(" ".join))


@given(st.lists(st.tuples(ROLES, TEXTS), max_size=8), st.integers(40, 400))
def test_it_never_exceeds_its_room(turns, most):
    """Whatever was said, the summary has its length and is the same every time."""
    summarizer = ExtractiveSummarizer(max_characters=most)
    made = summarizer.summarize(talk(*turns))
    assert len(made) <= most
    assert made == summarizer.summarize(talk(*turns))


def quoted_in(line, messages):
    """Return whether what a line says stands in the messages, word for word."""
    found = LINE.fullmatch(line)
    assert found, line
    texts = [m.content for m in messages]
    texts += [
        part for m in messages for each in m.tool_calls for part in (each.name, each.arguments)
    ]
    names = [found["said"]]
    if found["label"] in {"named", "tools"}:
        names = re.split(r", (?!20\d\d(?:,|$))", re.sub(r" ×\d+", "", found["said"]))
    return all(
        any(name.removesuffix("…") in text for text in texts) for name in names if name != "…"
    )


@given(st.lists(st.tuples(ROLES, st.text(max_size=60).filter(lambda t: "×" not in t)), max_size=6))
def test_every_line_is_quoted(turns):
    """No word of a line but its label is invented."""
    messages = talk(*turns)
    made = ExtractiveSummarizer().summarize(messages)
    for line in made.split("\n") if made else []:
        assert quoted_in(line, messages)


def test_labels_are_plain_words():
    """A reader needs no legend."""
    assert all(label.isalpha() for label in LABELS)

"""Summaries: word for word and short; in the place of bare markers, never waited for (R3.6)."""

import logging
import re
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_samples import call, message, result
from tables import each_row
from talks import PATIENCE, alone, chatter, chosen, fill, heard, lawful, meter, named, remembering

from memoranda.conversation.summary import ExtractiveSummarizer
from memoranda.errors import InvalidInput

LINE = re.compile(r"(?P<label>[a-z]+): (?P<said>.+)")


def talk(*turns):
    """Make messages of pairs: who, and what they say."""
    return [message(role, content) for role, content in turns]


def lines(messages, **options):
    """Return the lines of a summary."""
    return ExtractiveSummarizer(**options).summarize(messages).splitlines()


def test_what_matters_is_quoted_in_order():
    """Rules, corrections, decisions, errors, requests, and what was done."""
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
        *talk(("user", "Try 20:15."), ("assistant", "Your table has been booked for 20:15.")),
    ]
    assert lines(messages) == [
        "asked: Book me a table for two.",
        "rule: I'm vegetarian.",
        "rule: Never book outside.",
        "corrected: No, I meant for three.",
        "decided: We decided on Rosa's at 19:30.",
        "error: Error: no table at 19:30",
        "asked: Try 20:15.",
        "done: Your table has been booked for 20:15.",
    ]


TRACE = "Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'id'"


@each_row(
    ("messages", "told"),
    [
        ([], []),
        (talk(("user", "Hi!"), ("assistant", "Hello! How can I help you today?")), []),
        (talk(("user", "Thanks!"), ("assistant", "You're welcome! Have a great day!")), []),
        (talk(("system", "You plan trips. Never lie.")), []),
        (talk(("user", ""), ("assistant", ""), ("user", "👍")), []),
        (
            talk(("user", "Hi Ana! How are you? Please cancel order 4471. Thanks a lot!")),
            ["asked: Please cancel order 4471."],
        ),
        # In a language without cues the first sentence stands for what a user said.
        (
            talk(("user", "Wo ist der Schlüssel von Haus Nr. 12?")),
            ["said: Wo ist der Schlüssel von Haus Nr. 12?"],
        ),
        (
            talk(("user", "Ng'ombe wangu ni mgonjwa. Nifanye nini?")),
            ["said: Ng'ombe wangu ni mgonjwa."],
        ),
        (talk(("user", "मेरा ऑर्डर कहाँ है")), ["said: मेरा ऑर्डर कहाँ है"]),
        # What a tool said is quoted where it failed; of a traceback the last line names the error.
        ([call("search", '{"to": "LIS8"}'), result('["HAT001", "HAT002", "LIS8"]')], []),
        ([call("pay"), result("Error: card declined")] * 3, ["error: Error: card declined"]),
        ([result(TRACE)], ["error: KeyError: 'id'"]),
    ],
)
def test_what_matters_is_told_once_and_small_talk_is_not(messages, told):
    """Small talk and system prompts need no summary; what is repeated is told once."""
    assert lines(messages) == told


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
    said = found["said"].removesuffix("…")
    return any(said in " ".join(text.split()) for text in texts)


@given(st.lists(st.tuples(ROLES, st.text(max_size=60).filter(lambda t: "×" not in t)), max_size=6))
def test_every_line_is_quoted(turns):
    """No word of a line but its label is invented."""
    messages = talk(*turns)
    made = ExtractiveSummarizer().summarize(messages)
    for line in made.split("\n") if made else []:
        assert quoted_in(line, messages)


WINDOW = 1_000
SAID = "Use PostgreSQL 16 for the ledger, please, with a budget of 4,000 EUR."


class Held:
    """A summarizer that works when it is let go."""

    def __init__(self, text="They spoke of the ledger."):
        """Answer with ``text``, or fail with it if it is an exception."""
        self.text = text
        self.begun = threading.Event()
        self.go = threading.Event()
        self.asked = []

    def summarize(self, messages):
        """Wait to be let go, then answer."""
        self.asked.append(tuple(messages))
        self.begun.set()
        assert self.go.wait(PATIENCE)
        if isinstance(self.text, Exception):
            raise self.text
        return self.text


@contextmanager
def summarized(chat):
    """Wait at the end of the block until the next summary is there."""
    done = threading.Event()
    chat.on("summarized", lambda _: done.set())
    yield
    assert done.wait(PATIENCE)


def settled():
    """Wait until no summary is being made."""
    for thread in threading.enumerate():
        if thread.name == "memoranda-summary":
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture(params=["alone", "stored"])
def start(request, tmp_path):
    """Start a conversation: ``start(summarizer=…)``, in memory alone or in a file."""
    if request.param == "alone":
        yield lambda **arguments: alone(context_limit=WINDOW, **arguments)
    else:
        with remembering(tmp_path / "m.db") as memory:
            yield lambda **arguments: memory.conversation(
                "c", context_limit=WINDOW, max_messages=10_000, **arguments
            )


def test_an_extractive_summary_stands_in_the_marker_and_is_counted(tmp_path):
    """``summaries = "extractive"``: at once, in few words, within the budget, and kept."""
    path, limits = tmp_path / "m.db", {"keep_recent": 2, "context_limit": WINDOW}
    with remembering(path, summaries="extractive") as memory:
        stored = memory.conversation("c", **limits)
        for chat in (alone(settings=chosen(summaries="extractive"), **limits), stored):
            chatter(chat, 2)
            chat.add("user", SAID)
            fill(chat, [60] * 14)
            [marker] = lawful(chat, 800).markers
            head, _, summary = marker.text.partition("\nIn short: ")
            assert "messages removed" in head
            assert "PostgreSQL 16" in summary
            assert len(summary) < 700
            assert marker.cost > meter().message(head)
            assert [cut.summary for cut in chat.prunings[0].cuts] == [summary]
            context = chat.context("And now?", budget=760)
            assert context.tokens == sum(item.tokens for item in context.receipt.included) <= 760
            assert any(summary in message["content"] for message in context.messages)
        kept = stored.view().markers
    with remembering(path) as memory:
        assert memory.conversation("c", keep_recent=2).view().markers == kept


def test_adding_does_not_wait_for_a_summary(start):
    """The marker is bare at first; the summary stands in it when it is ready, and is told."""
    summarizer = Held()
    chat = start(summarizer=summarizer, keep_recent=2)
    events = heard(chat, "pruned", "summarized")
    said = fill(chat, [60] * 14)  # returns although the summarizer still waits
    [receipt] = named(events, "pruned")
    assert summarizer.begun.wait(PATIENCE)
    assert named(events, "summarized") == []
    [marker] = lawful(chat, 800).markers
    assert "In short" not in marker.text
    chat.context("And now?")
    chat.add("assistant", "All goes on.")
    with summarized(chat):
        summarizer.go.set()
    assert named(events, "summarized") == [receipt.id]
    [cut] = receipt.cuts
    gone = said[cut.first : cut.last + 1]
    assert [[m.id for m in asked] for asked in summarizer.asked] == [[m.id for m in gone]]
    [told] = lawful(chat, 800).markers
    assert told.text == f"{marker.text}\nIn short: They spoke of the ledger."
    assert told.cost > marker.cost
    assert (told.id, told.messages, told.tokens) == (marker.id, marker.messages, marker.tokens)
    assert [cut.summary for cut in chat.prunings[0].cuts] == ["They spoke of the ledger."]
    assert chat.expand(told) == tuple(gone)


@pytest.mark.parametrize("answer", [RuntimeError("no model"), 5, "", "half \ud800 a letter \x00"])
def test_a_summarizer_that_fails_leaves_the_bare_marker(start, answer, caplog):
    """What it raises, or an answer that cannot be stored, is logged; nothing else changes."""
    summarizer = Held(answer)
    summarizer.go.set()
    chat = start(summarizer=summarizer, keep_recent=2)
    with caplog.at_level(logging.ERROR, logger="memoranda.conversation"):
        fill(chat, [60] * 14)
        settled()
    assert len(caplog.records) == (answer != "")
    [marker] = lawful(chat, 800).markers
    assert "In short" not in marker.text
    fill(chat, [60] * 8)
    settled()
    assert len(chat.prunings) == 2
    lawful(chat, 800)


def test_a_long_summary_does_not_push_out_the_messages(start):
    """A summary of any length leaves the view its messages: it is cut, not they."""
    summarizer = Held("They spoke at length of the ledger. " * 500)
    summarizer.go.set()
    chat = start(summarizer=summarizer, keep_recent=2)
    with summarized(chat):
        fill(chat, [60] * 14)
    shown = lawful(chat, 800)
    assert len(shown.messages) >= 4
    [marker] = shown.markers
    assert marker in shown.entries
    assert "In short: They spoke at length" in marker.text
    assert marker.cost < 400


def test_each_cut_has_the_summary_of_its_own_messages(start):
    """Each cut is summed up for itself; two side by side are one marker with both, oldest first."""
    summarizer = Held()
    summarizer.summarize = lambda messages: f"{len(messages)} from {messages[0].position}"
    chat = start(summarizer=summarizer, keep_recent=1)
    said = chatter(chat, 9)
    chat.pin(said[3].id)
    for size, texts in ((60, ["2 from 0", "4 from 4"]), (75, ["2 from 0", "4 from 4\n5 from 8"])):
        with summarized(chat):
            chat.prune(size)
        settled()
        markers = lawful(chat).markers
        assert [marker.text.rpartition("In short: ")[2] for marker in markers] == texts
        chatter(chat, 6)


def test_a_memory_that_closes_while_a_summary_is_made(tmp_path, caplog):
    """The summary is lost, the marker stays bare, and nobody is hurt."""
    summarizer = Held()
    with (
        caplog.at_level(logging.CRITICAL, logger="memoranda.conversation"),
        remembering(tmp_path / "m.db") as memory,
    ):
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2, summarizer=summarizer)
        fill(chat, [60] * 14)
        assert summarizer.begun.wait(PATIENCE)
    summarizer.go.set()
    settled()
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", keep_recent=2)
        assert "In short" not in chat.view().markers[0].text
        assert memory.verify() == []

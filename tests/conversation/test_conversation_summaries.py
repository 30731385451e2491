"""Summaries in the place of bare markers: counted, never waited for, never needed (R3.6)."""

import logging
import threading
from contextlib import contextmanager

import pytest
from talks import PATIENCE, alone, chatter, chosen, fill, heard, lawful, named, remembering

WINDOW = 1_000
SAID = "Decision: we use PostgreSQL 16 for the ledger, budget 4,000 EUR. Error 404 in ledger.py."


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
    path = tmp_path / "m.db"
    bare = alone(keep_recent=2, context_limit=WINDOW)
    with remembering(path, summaries="extractive") as memory:
        telling = alone(
            keep_recent=2, context_limit=WINDOW, settings=chosen(summaries="extractive")
        )
        stored = memory.conversation("c", keep_recent=2, context_limit=WINDOW)
        for chat in (bare, telling, stored):
            chat.add("user", SAID)
            fill(chat, [60] * 14)
        for chat in (telling, stored):
            [marker], [without] = lawful(chat, 800).markers, bare.view().markers
            head, _, summary = marker.text.partition("\nIn short: ")
            assert head.split(" (")[0] == without.text.split(" (")[0]
            assert "PostgreSQL 16" in summary
            assert len(summary) < 700
            assert marker.cost > without.cost
            [cut] = chat.prunings[0].cuts
            assert cut.summary == summary
            context = chat.context("And now?", budget=760)
            assert context.tokens == sum(item.tokens for item in context.receipt.included) <= 760
            assert any(summary in message["content"] for message in context.messages)
            assert len(lawful(chat, 650).messages) == 15 - chat.prunings[0].messages
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
    assert [[m.id for m in asked] for asked in summarizer.asked] == [
        [m.id for m in said[: receipt.messages]]
    ]
    [told] = lawful(chat, 800).markers
    assert told.text == f"{marker.text}\nIn short: They spoke of the ledger."
    assert told.cost > marker.cost
    assert (told.id, told.messages, told.tokens) == (marker.id, marker.messages, marker.tokens)
    assert [cut.summary for cut in chat.prunings[0].cuts] == ["They spoke of the ledger."]
    assert chat.expand(told) == tuple(said[: receipt.messages])


@pytest.mark.parametrize("answer", [RuntimeError("no model"), None, 5, ""])
def test_a_summarizer_that_fails_leaves_the_bare_marker(start, answer, caplog):
    """What it raises, or an answer that is no text, is logged; nothing else changes."""
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


def test_a_text_that_cannot_be_stored_leaves_the_bare_marker(start, caplog):
    """A summary is a model's text: half a character in it harms nobody."""
    summarizer = Held("half \ud800 a character \x00")
    summarizer.go.set()
    chat = start(summarizer=summarizer, keep_recent=2)
    with caplog.at_level(logging.CRITICAL):
        fill(chat, [60] * 14)
        settled()
    [marker] = lawful(chat, 800).markers
    assert "\ud800" not in marker.text
    assert "\x00" not in marker.text


def test_a_long_summary_does_not_push_out_the_messages(start):
    """A summary of any length leaves the view its messages: it is cut, not they."""
    summarizer = Held("They spoke at length of the ledger. " * 500)
    summarizer.go.set()
    chat = start(summarizer=summarizer, keep_recent=2)
    with summarized(chat):
        fill(chat, [60] * 14)
    shown = lawful(chat, 800)
    assert len(shown.messages) >= 7
    [marker] = shown.markers
    assert marker in shown.entries
    assert "In short: They spoke at length" in marker.text
    assert marker.cost < 400


def test_each_cut_has_the_summary_of_its_own_messages(start):
    """Of a pruning with several cuts each is summed up for itself."""
    summarizer = Held()
    summarizer.summarize = lambda messages: f"{len(messages)} from {messages[0].position}"
    chat = start(summarizer=summarizer, keep_recent=1)
    said = chatter(chat, 9)
    chat.pin(said[3].id)
    with summarized(chat):
        chat.prune(60)
    texts = [marker.text.rpartition("In short: ")[2] for marker in lawful(chat).markers]
    assert texts == ["3 from 0", "4 from 4"]


def test_summaries_of_joined_markers_are_told_together(start):
    """Two prunings side by side are one marker; it holds both summaries, oldest first."""
    summarizer = Held()
    summarizer.summarize = lambda messages: f"{len(messages)} from {messages[0].position}"
    chat = start(summarizer=summarizer, keep_recent=1)
    with summarized(chat):
        fill(chat, [60] * 14)
    with summarized(chat):
        fill(chat, [60] * 8)
    settled()
    [marker] = lawful(chat).markers
    first, second = chat.prunings[:2]
    assert f"{first.messages} from 0\n{second.messages} from {first.messages}" in marker.text


@pytest.mark.parametrize("when", ["before", "while"])
def test_erasing_a_message_removes_the_summaries_of_it(tmp_path, when):
    """Law 7: no summary repeats what was erased, nor one that is being made at that moment."""
    summarizer = Held("The secret is xyzzy-42.")
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2, summarizer=summarizer)
        secret = chat.add("user", "The secret is xyzzy-42.")
        fill(chat, [60] * 14)
        assert summarizer.begun.wait(PATIENCE)
        if when == "before":
            with summarized(chat):
                summarizer.go.set()
            assert "xyzzy" in chat.view().markers[0].text
        memory.forget(secret.record_id, erase=True)
        summarizer.go.set()
        settled()
        assert "xyzzy" not in str(chat.prunings)
        assert "xyzzy" not in str(chat.view())
        assert "xyzzy" not in str(chat.context("And now?"))
        assert memory.verify() == []
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"xyzzy" not in stored


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

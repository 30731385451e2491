"""Consolidation into notes without a store (seed 002): results, order, time-out, fallback."""

import asyncio
import time
from contextlib import closing
from threading import Event, Thread

import pytest
from tables import each_row

from memoranda import Settings, errors
from memoranda.errors import LLMError
from memoranda.model.usage import Reply, Usage
from memoranda.notes import Notes
from memoranda.notes.consolidation import ConsolidationResult, ConsolidationService
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ScriptedLLM

PATIENCE = 30.0
SAID = [
    {"role": "user", "content": "I live in Porto. My sister Rosa is a nurse."},
    {"role": "assistant", "content": "Noted."},
]
MOVED = "I moved to Porto."
UTC = Settings(timezone="UTC")


def service(*script, **given):
    """Return a service whose model says what ``script`` says."""
    return closing(ConsolidationService(ScriptedLLM(script), settings=UTC, **given))


def test_without_a_model_both_parts_come_from_rules(tmp_path):
    """An entry that quotes what was said, and its facts as lines of MEMORY.md, by topic."""
    notes = Notes(tmp_path)
    with closing(ConsolidationService(settings=UTC)) as rules:
        result = rules.consolidate_into(notes, SAID)
    assert result.memory_update == notes.read_memory()
    assert "- The user lives in Porto.\n" in notes.read_memory()
    assert "## People\n\n- The user's sister Rosa is a nurse.\n" in notes.read_memory()
    (entry,) = notes.search("porto")
    assert entry.text == result.history_entry


def test_a_new_value_takes_the_place_of_the_old_line(tmp_path):
    """What is said anew adds no second line, and what a person wrote stays as it is."""
    notes = Notes(tmp_path)
    notes.write_memory("# Mine\n\n- The user lives in Porto.\n- Feed the cat at six\n")
    with closing(ConsolidationService(settings=UTC)) as rules:
        rules.consolidate_into(notes, [{"role": "user", "content": "I moved to Lisbon."}])
        after = notes.read_memory()
        rules.consolidate_into(notes, [{"role": "user", "content": "I moved to Lisbon."}])
    assert after == "# Mine\n\n- The user moved to Lisbon.\n- Feed the cat at six\n"
    assert notes.read_memory() == after


@pytest.mark.parametrize("apart", [True, False])
def test_of_one_talk_the_last_word_counts(tmp_path, apart):
    """What a later message makes untrue has no line, in the same talk as in the next."""
    notes = Notes(tmp_path)
    said = [{"role": "user", "content": text} for text in ("I live in Lisbon.", MOVED)]
    with closing(ConsolidationService(settings=UTC)) as rules:
        for talk in [[said[0]], [said[1]]] if apart else [said]:
            rules.consolidate_into(notes, talk)
    assert "The user moved to Porto." in notes.read_memory()
    assert "Lisbon" not in notes.read_memory()


def test_a_time_without_a_zone_is_refused():
    """As everywhere else: nobody could say when it was."""
    said = {"role": "user", "content": MOVED, "timestamp": "2026-05-01T10:00:00"}
    with (
        closing(ConsolidationService(settings=UTC)) as rules,
        pytest.raises(errors.InvalidInput, match="timestamp=2026-05-01T10:00:00 has no time zone"),
    ):
        rules.consolidate([said], "")


@each_row("messages", ["x", b"x", 7, {"role": "user", "content": "x"}])
def test_what_is_no_list_of_messages_is_refused(messages):
    """The message says what is wanted."""
    with (
        closing(ConsolidationService(settings=UTC)) as rules,
        pytest.raises(errors.InvalidInput, match="messages must be a list"),
    ):
        rules.consolidate(messages, "")


def test_nothing_new_is_no_update(tmp_path):
    """Both parts are optional: small talk makes no entry, and leaves MEMORY.md untouched."""
    notes = Notes(tmp_path)
    with closing(ConsolidationService(settings=UTC)) as rules:
        result = rules.consolidate_into(notes, [{"role": "user", "content": "Hi!"}])
    assert result == ConsolidationResult()
    assert list(tmp_path.iterdir()) == []


def test_a_models_answer_is_written(tmp_path):
    """Its entry goes to the history under the time of the talk, its update to MEMORY.md."""
    notes = Notes(tmp_path)
    with service(Consolidation("They spoke of Porto.", "# Memory\n\n- Lives in Porto\n")) as made:
        result = made.consolidate_into(notes, SAID)
    assert notes.read_memory().strip() == "# Memory\n\n- Lives in Porto"
    assert result.history_entry.endswith("They spoke of Porto.")
    assert notes.history()[0].text == result.history_entry


def test_a_model_that_fails_leaves_the_last_words(tmp_path):
    """The last ten messages, 200 characters of each, are kept; MEMORY.md stays as it was."""
    notes = Notes(tmp_path)
    notes.write_memory("- mine\n")
    said = [{"role": "user", "content": f"word{number} " + "x" * 500} for number in range(14)]
    with service(LLMError("overloaded")) as failing:
        failing.consolidate_into(notes, said)
    text = notes.history()[0].text
    assert "[raw-fallback]" in text
    assert [f"word{number} " in text for number in range(14)] == [False] * 4 + [True] * 10
    assert max(map(len, text.splitlines())) <= 200 + len("- user: ")
    assert notes.read_memory() == "- mine\n"


class Held:
    """A model that answers one at a time, when it is told to."""

    name = "held"

    def __init__(self):
        """Wait for the word."""
        self.arrived, self.go = Event(), Event()
        self.heard = []

    async def ask(self, _instructions, prompt, answer):
        """Wait for the word, on a thread of its own."""
        self.heard.append(prompt)
        self.arrived.set()
        await asyncio.to_thread(self.go.wait, PATIENCE)
        return Reply(answer("Said.", ""), Usage(requests=1))


def test_callers_wait_in_the_order_in_which_they_came(tmp_path):
    """One consolidation at a time: the model never hears two talks at once, and none is lost."""
    notes, model = Notes(tmp_path), Held()
    with closing(ConsolidationService(model, settings=UTC)) as slow:
        threads = []
        for number in range(4):
            said = [{"role": "user", "content": f"talk number {number} of ours"}]
            threads.append(Thread(target=slow.consolidate_into, args=(notes, said)))
            threads[-1].start()
            assert model.arrived.wait(PATIENCE)
            deadline = time.monotonic() + PATIENCE
            while slow._queue._work_queue.qsize() < number and time.monotonic() < deadline:
                time.sleep(0.001)
        assert len(model.heard) == 1
        model.go.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert [f"talk number {number}" in prompt for number, prompt in enumerate(model.heard)] == [
        True
    ] * 4
    assert len(notes.history()) == 4


def test_the_time_out_ends_the_waiting(tmp_path):
    """A model that stalls costs the time-out and no more; the last words are kept."""
    notes, model = Notes(tmp_path), Held()
    with closing(ConsolidationService(model, timeout=0.05, settings=UTC)) as slow:
        slow.consolidate_into(notes, SAID)
        with pytest.raises(LLMError, match="no answer within"):
            slow.consolidate(SAID, "")
        model.go.set()
    assert "[raw-fallback]" in notes.history()[0].text


@each_row("said", [[], [{"role": "user", "content": " "}], [{"no": "role"}]])
def test_a_talk_of_nothing_is_refused(said):
    """Messages that say nothing are an error of ours, and no entry."""
    with closing(ConsolidationService(settings=UTC)) as rules, pytest.raises(errors.InvalidInput):
        rules.consolidate(said, "")

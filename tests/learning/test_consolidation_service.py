"""Consolidation into notes without a store (seed 002): results, order, time-out, fallback."""

import asyncio
import time
from contextlib import closing
from threading import Event, Thread

import pytest
from model_server import said as answering
from tables import each_row

from memoranda import Memory, Settings, errors
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
PLAIN = Settings(timezone="UTC", embedding={"model": "none"})


def user(*texts):
    """Return messages of the user."""
    return [{"role": "user", "content": text} for text in texts]


def rules():
    """Return a service without a model, which is closed when the block ends."""
    return closing(ConsolidationService(settings=UTC))


def service(*script, **given):
    """Return a service whose model says what ``script`` says."""
    return closing(ConsolidationService(ScriptedLLM(script), settings=UTC, **given))


def test_without_a_model_both_parts_come_from_rules(tmp_path):
    """An entry that quotes what was said, and its facts as lines of MEMORY.md, by topic."""
    notes = Notes(tmp_path)
    with rules() as made:
        result = made.consolidate_into(notes, SAID)
    assert result.memory_update == notes.read_memory()
    assert "- The user lives in Porto.\n" in notes.read_memory()
    assert "\n- The user's sister Rosa works as a nurse.\n" in notes.read_memory()
    (entry,) = notes.search("porto")
    assert entry.text == result.history_entry


def test_a_new_value_takes_the_place_of_the_old_line(tmp_path):
    """What is said anew adds no second line, and what a person wrote stays as it is."""
    notes = Notes(tmp_path)
    notes.write_memory("# Mine\n\n- The user lives in Porto.\n- Feed the cat at six\n")
    with rules() as made:
        made.consolidate_into(notes, user("I moved to Lisbon."))
        after = notes.read_memory()
        made.consolidate_into(notes, user("I moved to Lisbon."))
    assert after == "# Mine\n\n- The user lives in Lisbon.\n- Feed the cat at six\n"
    assert notes.read_memory() == after


def test_of_one_talk_the_last_word_counts(tmp_path):
    """What a later message makes untrue has no line, in the same talk as in the next."""
    said = user("I live in Lisbon.", MOVED)
    for number, talks in enumerate(([said], [said[:1], said[1:]])):
        notes = Notes(tmp_path / str(number))
        with rules() as made:
            for talk in talks:
                made.consolidate_into(notes, talk)
        assert "The user lives in Porto." in notes.read_memory()
        assert "Lisbon" not in notes.read_memory()


@each_row(
    ("messages", "why"),
    [
        *((each, "messages must be a list") for each in ("x", b"x", 7, user("x")[0])),
        *((each, None) for each in ([], user(" "), [{"no": "role"}])),
        (
            [user(MOVED)[0] | {"timestamp": "2026-05-01T10:00:00"}],
            "2026-05-01T10:00:00 has no time zone",
        ),
    ],
)
def test_what_is_no_talk_is_refused(messages, why):
    """Messages that say nothing, or nobody knows when, are an error of ours, and no entry."""
    with rules() as made, pytest.raises(errors.InvalidInput, match=why):
        made.consolidate(messages, "")


def test_nothing_new_is_no_update(tmp_path):
    """Both parts are optional: small talk makes no entry, and leaves MEMORY.md untouched."""
    notes = Notes(tmp_path)
    with rules() as made:
        result = made.consolidate_into(notes, user("Hi!"))
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
    said = user(*(f"word{number} " + "x" * 500 for number in range(14)))
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
            said = user(f"talk number {number} of ours")
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
    assert all(f"talk number {n}" in prompt for n, prompt in enumerate(model.heard))
    assert len(model.heard) == 4
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


HAND = "# Mine\n\n- Feed the cat at six\n- Water the plants\n- Call Zoe on Sundays\n"
NOT_NOTES = [
    "No changes.", "...", " ", "(empty)", "# Memory", "The notes are up to date.", "- nothing new",
    "```\n```", "# Mine\n\n- Feed the cat at six\n",
]  # fmt: skip


@each_row("update", NOT_NOTES)
def test_only_a_whole_text_takes_the_place_of_the_notes(tmp_path, update):
    """No placeholder, no word about the notes, and nothing that drops most of the lines."""
    notes = Notes(tmp_path / str(NOT_NOTES.index(update)))
    notes.write_memory(HAND)
    with service(Consolidation("They talked.", update)) as made:
        result = made.consolidate_into(notes, SAID)
    assert (notes.read_memory(), result.memory_update) == (HAND, None)
    assert "They talked." in notes.history()[0].text


def test_a_changed_line_is_written_and_the_former_text_is_kept(tmp_path):
    """What most old lines are still in replaces the file, secrets masked; the old one stays."""
    notes = Notes(tmp_path)
    notes.write_memory(HAND)
    new = HAND.replace("at six", "at seven") + "- The password is hunter22!\n"
    with service(Consolidation("They talked.", new)) as made:
        made.consolidate_into(notes, SAID)
    assert "- Feed the cat at seven\n" in notes.read_memory()
    assert "hunter22" not in notes.read_memory()
    (copy,) = tmp_path.glob("MEMORY-*.md")
    assert copy.read_text() == HAND


def test_notes_that_are_too_long_are_shortened(tmp_path):
    """S2.06: above the size one old line is enough; a placeholder is still none."""
    long = HAND + "".join(f"- Shelf {n} holds jar number {n}\n" for n in range(400))
    for update, done in (("# Mine\n\n- Feed the cat at six\n", True), ("No changes.", False)):
        notes = Notes(tmp_path / str(done))
        notes.write_memory(long)
        with service(Consolidation("They talked.", update)) as made:
            made.consolidate_into(notes, SAID)
        assert notes.read_memory() == (update if done else long)
        assert [each.read_text() for each in notes.folder.glob("MEMORY-*.md")] == [long] * done


class Editing:
    """A model during whose first answer somebody changes the file."""

    name = "editing"

    def __init__(self, change):
        """Have ``change`` called once."""
        self.changes, self.prompts = [change], []

    async def ask(self, _instructions, prompt, answer):
        """Answer with a line more than it was shown."""
        self.prompts.append(prompt)
        if self.changes:
            self.changes.pop()()
        lines = [x for x in HAND.splitlines() if x.startswith("- ") and x[2:] in prompt]
        lines += ["- Buy a kite"] if "Buy a kite" in prompt else []
        return Reply(answer("Said.", "\n".join([*lines, "- Lives in Porto", ""])), Usage())


def test_an_edit_made_while_the_model_thinks_is_kept(tmp_path):
    """The file is compared before it is replaced: the model is asked about the new text."""
    notes = Notes(tmp_path)
    notes.write_memory(HAND)
    model = Editing(lambda: notes.write_memory(f"{HAND}- Buy a kite\n"))
    with closing(ConsolidationService(model, settings=UTC)) as made:
        made.consolidate_into(notes, SAID)
    assert "- Buy a kite\n" in notes.read_memory()
    assert "- Lives in Porto\n" in notes.read_memory()
    assert len(model.prompts) == 2
    assert len(notes.history()) == 1


def test_two_services_on_one_folder_lose_no_update(tmp_path):
    """By the lock of the folder, and by comparing: what one wrote the other reads."""
    said = ("I live in Porto.", "My sister Rosa is a nurse.", "I work at Tidepool.")
    talks = [user(text) for text in said]
    services = [ConsolidationService(settings=UTC) for _ in talks]
    threads = [
        Thread(target=each.consolidate_into, args=(Notes(tmp_path), talk))
        for each, talk in zip(services, talks, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for each in services:
        each.close()
    text = Notes(tmp_path).read_memory()
    assert [word in text for word in ("Porto", "Rosa", "Tidepool")] == [True] * 3
    assert len(Notes(tmp_path).history()) == 3


class Broken:
    """A model that somebody injected, and that does not what a model does."""

    name = "broken"

    def __init__(self, deed):
        """Do ``deed`` when asked."""
        self.deed = deed

    async def ask(self, _instructions, _prompt, _answer):
        """Raise or return something."""
        if isinstance(self.deed, BaseException):
            raise self.deed
        return self.deed


BROKEN = [ValueError("odd"), KeyError("x"), SystemExit(3), None, {}, "text",
          Reply("text", Usage()), Reply({"history_entry": "x"}, Usage())]  # fmt: skip


@each_row("deed", BROKEN)
def test_whatever_a_model_raises_or_gives_the_last_words_are_kept(tmp_path, deed):
    """Without a store and with one: a raw entry, and the session waits for the model."""
    folder = tmp_path / str(BROKEN.index(deed))
    notes = Notes(folder / "notes")
    with closing(ConsolidationService(Broken(deed), settings=UTC)) as made:
        made.consolidate_into(notes, SAID)
    with Memory(folder / "memory.db", llm=Broken(deed), settings=PLAIN) as memory:
        chat = memory.conversation("one")
        chat.add("user", "I live in Porto.")
        chat.end()
        raw = [entry.text for entry in (*notes.history(), *memory.notes.history())]
    assert ["[raw-fallback]" in text for text in raw] == [True, True]


ANSWERS = ["{}", '{"error": "model overloaded"}', '{"summary": "They spoke of Porto."}', "[]",
           '{"result": {"history_entry": "x", "memory_update": "y"}}',
           '{"history_entry": "...", "memory_update": "..."}', "I cannot do that."]  # fmt: skip


@each_row("answer", ANSWERS)
def test_an_object_without_its_fields_is_no_success(tmp_path, server, answer):
    """Whatever JSON a server sends: without an entry the last messages are kept as they were."""
    chosen = Settings(timezone="UTC", llm={"api_key": "k", "retries": 0})
    server.play(answering(answer))
    notes = Notes(tmp_path / str(ANSWERS.index(answer)))
    notes.write_memory(HAND)
    with closing(ConsolidationService(server.openai, settings=chosen)) as made:
        made.consolidate_into(notes, SAID)
    assert ["[raw-fallback]" in entry.text for entry in notes.history()] == [True]
    assert notes.read_memory() == HAND

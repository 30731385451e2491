"""Requirements on notes and their agent (seed 002) that no test elsewhere proves by itself."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise

from bare_environment import run_python
from noting import (
    HISTORY,
    agent_of,
    chosen,
    facts,
    history,
    items,
    memory_file,
    noting,
    system_of,
    talking,
)
from tables import each_row

from memoranda import Settings
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.model.chat import ChatReply
from memoranda.model.usage import Reply, Usage
from memoranda.notes.model_summarizer import Consolidation
from memoranda.notes.sync import MOST_FACTS
from memoranda.testing.models import ScriptedLLM

# What a process may load and do that has notes and nothing else.
ALONE = """
import sys

def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        raise SystemExit(f"{event} {arguments}")

sys.addaudithook(watch)
from memoranda.notes import Notes

notes = Notes(sys.argv[1])
notes.write_memory("- Ana likes tea\\n")
notes.append_history_rotated("They spoke of tea.")
assert notes.read_memory() == "- Ana likes tea\\n" and notes.search("tea") and not notes.is_over()
print(*sys.modules)
"""


def asking(path, model, **notes):
    """Return a memory with this model, which consolidates only when it is told to."""
    settings = chosen(consolidation={"automatic": False}, notes=notes)
    return noting(path, llm=model, settings=settings)


def silent():
    """Return a model that says the same to everything, and costs nothing."""
    return ScriptedLLM({ChatReply: ChatReply("I see.", (), Usage())})


def summaries(model):
    """Return the instructions with which a model was asked for entries of the history."""
    return [asked.instructions for asked in model.asked if asked.answer is Consolidation]


def test_notes_alone_ask_no_model_and_no_network(tmp_path):
    """S2.10: who writes and reads files opens no socket and loads nothing that talks to models."""
    done = run_python("-c", ALONE, tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "memoranda.notes.files" in loaded
    assert not loaded & {"pydantic_ai", "openai", "anthropic", "httpx", "onnxruntime"}


def test_the_history_only_grows_and_is_in_no_context(tmp_path):
    """S2.02, S2.07: sessions are added behind what is there; contexts quote MEMORY.md alone."""
    told = "They agreed on the zinc roof."
    model = talking(entry=told)
    grown = [b""]
    with noting(tmp_path / "a.db", llm=model) as memory:
        memory.remember("Ana lives in Porto")
        for session in ("monday", "tuesday", "wednesday"):
            chat = memory.conversation(session)
            chat.add("user", f"Let us talk about the {session} roof.")
            chat.end()
            grown.append((memory.notes.folder / HISTORY).read_bytes())
        asked = memory.conversation("thursday").context("What about the zinc roof?")
        entries = history(memory)
    assert all(after.startswith(before) for before, after in pairwise(grown))
    assert len(set(grown)) == len(grown)
    assert len(entries) == 3
    assert "Ana lives in Porto" in system_of(asked)
    assert told not in "\n".join(str(message["content"]) for message in asked.messages)


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


@each_row("deed", [ValueError("odd"), SystemExit(3), None, {}, "text", Reply("text", Usage())])
def test_whatever_a_model_raises_or_gives_the_last_words_are_kept(tmp_path, deed):
    """S2.32: the history gets a raw entry, and the session waits for the model."""
    with noting(tmp_path / f"{deed!r:.5}.db", llm=Broken(deed)) as memory:
        chat = memory.conversation("one")
        chat.add("user", "I live in Porto.")
        chat.end()
        assert ["[raw-fallback]" in entry.text for entry in memory.notes.history()] == [True]


def test_the_three_settings_of_the_specification(tmp_path):
    """S2.34: maxMemorySize, consolidationTimeout and memoryWindow, with the seed's defaults."""
    default = Settings()
    assert default.notes.max_memory_size == 8192
    assert default.consolidation.timeout == 30.0
    assert default.agent.memory_window == 50
    settings = chosen(notes={"max_memory_size": 400}, agent={"memory_window": 4})
    with noting(tmp_path / "a.db", settings=settings) as memory:
        assert memory.notes.max_memory_size == 400
        memory.remember_many(
            [f"Fact number {n} is about the harbour of town {n}" for n in range(20)]
        )
        assert len(memory.notes.read_memory().encode()) <= 400
        agent = agent_of(memory, silent())
        for number in range(3):
            agent.process(f"Good evening number {number}.")
        assert len(memory.notes.history()) == 1


def test_a_line_says_the_fact_that_says_the_same(tmp_path):
    """However many facts are worth more: written by a crashed process or by hand, it adds none."""
    with noting(tmp_path / "a.db") as memory:
        memory.remember("Shelf 0 holds jam.", confidence=0.5)
        memory.remember_many(f"Ana owns boat {number}." for number in range(MOST_FACTS))
        memory.notes.sync()
        file = memory_file(memory)
        text = file.read_text()
        assert "Shelf 0" not in text
        file.write_text(f"{text}\n- Shelf 0 holds jam.\n")
        assert memory.notes.sync().added == ()
        said = [each.content for each in memory.records(kind="fact", limit=2 * MOST_FACTS)]
        assert said.count("Shelf 0 holds jam.") == 1


LEARNED = [f"Ana keeps jar number {n} of plum jam on shelf {n}" for n in range(50)]
SHORT = "# Memory\n\n## Facts\n\n- Feed the cat at six\n- Ana keeps plum jam on her shelves\n"


def shortening(tmp_path, update, *, meanwhile=str):
    """Return what a memory of many facts and a hand-written line is after a model shortened it."""

    def answer(_request):
        meanwhile(memory.notes)
        return Consolidation("They talked.", update)

    model = ScriptedLLM({ClaimsAnswer: ClaimsAnswer([]), Consolidation: answer})
    memory = asking(tmp_path / "a.db", model, max_memory_size=1_500)
    memory.notes.write_memory("Mind the gap.\n\n## Facts\n\n- Feed the cat at six in the morning\n")
    memory.remember_many(LEARNED)
    memory.notes.sync()
    memory.conversation("monday").add("user", "Hello there, how are you?")
    memory.consolidate()
    return memory, model


def test_a_models_compression_reaches_the_file(tmp_path):
    """S2.06: also hand-written lines are shortened; the old text stays beside, and every fact."""
    memory, model = shortening(tmp_path, f"{SHORT}- Ana owns 3 yachts in Monaco\n- Bob sails\n")
    with closing(memory):
        assert "shorter than 1500 bytes" in summaries(model)[0]
        notes = memory.notes
        assert items(memory) == ["Feed the cat at six", "Ana keeps plum jam on her shelves"]
        (copy,) = notes.folder.glob("MEMORY-*.md")
        assert "Mind the gap." in copy.read_text()
        assert "Feed the cat at six in the morning" in copy.read_text()
        believed = {record.content for record in memory.records(kind="fact", limit=100)}
        assert believed == {*LEARNED, "Feed the cat at six in the morning"}
        # It is in step, new facts join, and nothing that was left out comes back.
        assert not notes.sync().written
        memory.remember("Ana plays the cello")
        notes.sync()
        assert items(memory)[2:] == ["Ana plays the cello"]
        # Who changes the shortened line corrects its fact; who removes it forgets what it says.
        text = notes.read_file().replace("at six\n", "at seven\n")
        memory_file(memory).write_text(text)
        assert [each.content for each in notes.sync().corrected] == ["Feed the cat at seven"]
        assert memory.verify() == []


def test_what_changed_while_the_model_was_thinking_stays(tmp_path):
    """An edit by hand is never written over by a compression."""
    edited = []

    def edit_once(notes):
        if not edited:
            edited.append(notes.append_history("now"))
            path = notes.folder / "MEMORY.md"
            path.write_text(f"{path.read_text()}- Buy a kite\n")

    memory, _ = shortening(tmp_path, SHORT, meanwhile=edit_once)
    with closing(memory):
        memory.notes.sync()
        assert "Buy a kite" in items(memory)
        assert "Feed the cat at six in the morning" in items(memory)
        assert not list(memory.notes.folder.glob("MEMORY-*.md"))


def test_the_base_of_version_0_2_is_understood(tmp_path):
    """Its lines have a number more: nothing is taken for new or gone, also in a paragraph."""
    with asking(tmp_path / "a.db", silent()) as memory:
        ids = [each.id for each in memory.remember_many(["Ana sails", "Bob runs", "Eve sings"])]
        memory.notes.sync()
        memory_file(memory).write_text("# M\n\nAna\nsails\n\n- Bob runs\n1. Eve sings\n")
        (kept,) = memory._services.store.notes_bases(memory._scope).values()
        assert {each.id for each in kept.lines} == set(ids)
        rows = [[each.id, each.digest, 3] for each in kept.lines]
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("UPDATE notes_bases SET lines = ?", (json.dumps(rows),))
    with asking(tmp_path / "a.db", silent()) as memory:
        report = memory.notes.sync()
        assert (report.changes, report.written, report.restored) == (0, False, ())
        assert sorted(facts(memory)) == ["Ana sails", "Bob runs", "Eve sings"]

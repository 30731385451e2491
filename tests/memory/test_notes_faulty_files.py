"""Files and folders that are wrong: memory goes on, says what is wrong once, and loses nothing."""

from contextlib import contextmanager

import pytest
from learning_talks import talk
from noting import MEMORY, agent_of, by_hand, edit, facts, history, items, system_of, talking

from memoranda.errors import StoreBusy, StoreError

FACTS = [f"Ana has read {name}." for name in ("Emma", "Persuasion", "Middlemarch", "Dubliners")]


@pytest.fixture
def memory(tmp_path):
    """Ana's memory with four facts in MEMORY.md."""
    with by_hand(tmp_path / "a.db") as made:
        made.remember_many(FACTS)
        made.notes.sync()
        yield made


# An editor that writes at the same moment


def written_at(memory, step, text):
    """Have an editor write once, just before or just after the file is replaced.

    Returns the notes of which this is so.
    """
    notes = memory.notes
    swap, left = notes._files.swap, [text]

    def swapped(name, old, new):
        if step == "before" and left:
            path = notes.folder / name
            path.write_text(path.read_text() + left.pop())
        done = swap(name, old, new)
        if step == "after" and left:
            path = notes.folder / name
            path.write_text(path.read_text() + left.pop())
        return done

    notes._files.swap = swapped
    return notes


@pytest.mark.parametrize(("step", "verb"), [("before", "sync"), ("after", "context_text")])
def test_what_an_editor_saves_meanwhile_is_merged(memory, step, verb):
    """A line that is saved just before or after memory writes is kept, and read with the next."""
    memory.remember("Ana has read Ulysses.")
    notes = written_at(memory, step, "- Ana owns a kite.\n")
    getattr(notes, verb)()
    assert "Ana owns a kite." in items(memory)
    memory.notes.context_text()  # The next look sees it, though nothing in the store has changed.
    wanted = sorted([*FACTS, "Ana has read Ulysses.", "Ana owns a kite."])
    assert facts(memory) == sorted(items(memory)) == wanted


def test_what_an_editor_saves_before_a_whole_new_text_is_read(memory):
    """``write_memory``: what somebody saved just before is a fact, and in the history of it."""
    remembered, corrected, forgotten = [], [], []
    memory.on("remembered", lambda event: remembered.append(event.subject.content))
    memory.on("corrected", lambda event: corrected.append(event.subject.content))
    memory.on("forgotten", lambda event: forgotten.append(event.subject.id))
    notes = written_at(memory, "before", "- Ana owns a kite.\n")
    assert notes.write_memory("# Memory\n\n- Ana sails.\n")
    assert items(memory) == facts(memory) == ["Ana sails."]
    assert (remembered[0], corrected) == ("Ana owns a kite.", ["Ana sails."])
    assert len(forgotten) == len(FACTS)
    assert not notes.write_memory("# Memory\n\n- Ana sails.\n")


def test_a_file_that_never_rests_is_told(memory):
    """An editor that saves before every attempt: an error that says so, and nothing is lost."""
    notes = memory.notes
    memory.remember("Ana has read Ulysses.")
    swap, number = notes._files.swap, iter(range(100))

    def swapped(name, old, new):
        path = notes.folder / name
        path.write_text(path.read_text() + f"- Ana owns kite {next(number)}.\n")
        return swap(name, old, new)

    notes._files.swap = swapped
    with pytest.raises(StoreBusy, match="changes all the time"):
        notes.sync()
    notes._files.swap = swap
    notes.sync()
    assert len([text for text in facts(memory) if "kite" in text]) == next(number)
    assert facts(memory) == sorted(items(memory))


# Files that are damaged


def test_a_mass_removal_is_undone_beside_what_else_was_changed(memory):
    """Most lines gone at once are written again, and what a person added is known."""
    gone = {f"- {text}" for text in items(memory)[:3]}

    def changed(text):
        return "\n".join(line for line in text.splitlines() if line not in gone)

    edit(memory, lambda text: f"{changed(text)}\n- Ana sails.\n")
    report = memory.notes.sync()
    assert (len(report.restored), len(report.added), report.forgotten) == (3, 1, ())
    assert facts(memory) == sorted([*FACTS, "Ana sails."])


def test_a_line_that_a_person_changed_never_fades(memory):
    """It stands for good, however its fact had come."""
    memory.remember("Ana lives in Porto", decay_rate=0.1)
    memory.notes.sync()
    edit(memory, lambda text: text.replace("in Porto", "in Braga"))
    (changed,) = memory.notes.sync().corrected
    assert (changed.content, changed.decay_rate) == ("Ana lives in Braga", 0.0)


def test_a_line_that_is_removed_brings_nothing_back(tmp_path):
    """Neither a former value that was written by hand, nor one that was learned, is found again."""
    with by_hand(tmp_path / "a.db") as memory:
        talk(memory, "one", "I live in Leeds.")
        memory.consolidate()
        edit(memory, lambda text: text.replace("in Leeds", "in York"))
        memory.notes.sync()
        talk(memory, "two", "I moved to Madrid last week.")
        memory.consolidate()
        edit(memory, lambda text: text.replace("- The user lives in Madrid.\n", ""))
        assert len(memory.notes.sync(accept_removals=True).forgotten) == 1
        assert memory.records(kind="fact") == []
        assert items(memory) == []


# Files that cannot be used


@contextmanager
def a_folder(folder):
    """Have a folder in the place of MEMORY.md."""
    (folder / MEMORY).rename(folder / "aside")
    (folder / MEMORY).mkdir()
    yield
    (folder / MEMORY).rmdir()
    (folder / "aside").rename(folder / MEMORY)


def test_memory_goes_on_without_its_notes(memory, caplog):
    """Context, agent and consolidation work, one line says what is wrong, and all comes back."""
    why = "not a regular file"
    with a_folder(memory.notes.folder):
        caplog.clear()
        agent = agent_of(memory, talking(always="I see."))
        memory.remember("Ana has read Ulysses.")
        for text in ("I live in Porto.", "I have a dog named Rex.", "What have I read?"):
            assert agent.process(text).text == "I see."
            assert memory.conversation("other").context(text).messages
        assert len([r.message for r in caplog.records if why in r.message]) == 1
        with pytest.raises(StoreError, match=why):
            memory.notes.sync()
        assert agent.process("/new").text.startswith("Session ended")
        assert not memory.consolidate().failed
    learned = ["The user lives in Porto.", "The user's dog is called Rex."]
    wanted = sorted([*FACTS, "Ana has read Ulysses.", *learned])
    assert facts(memory) == wanted
    memory.consolidate()
    assert sorted(items(memory)) == wanted
    assert any("Porto" in entry for entry in history(memory))
    system = system_of(agent.context("Hello"))
    assert all(text in system for text in wanted)
    assert memory.verify() == []

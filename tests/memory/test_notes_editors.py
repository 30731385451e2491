"""An editor that was open while memory wrote: what it did not know of is not taken for removed."""

import pytest

from memoranda import Memory, Settings
from memoranda.testing.embedders import HashEmbedder


@pytest.fixture
def memory(tmp_path):
    """Return a memory with one fact in its MEMORY.md."""
    chosen = Settings(timezone="UTC", decay={"threshold": 0.05})
    with Memory(tmp_path / "m.db", settings=chosen, embedder=HashEmbedder()) as opened:
        opened.remember("Ana plays chess")
        opened.notes.sync()
        yield opened


def file_of(memory):
    """Return the path of MEMORY.md."""
    return memory.notes.folder / "MEMORY.md"


def said(memory):
    """Return what is believed."""
    return {record.content for record in memory.records(kind="fact")}


def test_a_stale_buffer_forgets_nothing(memory):
    """A save from before memory's last writes, with an edit of its own: both are kept."""
    buffer = file_of(memory).read_text()
    memory.remember("Ana's sister lives in Porto")
    memory.notes.sync()
    memory.remember("The cat is called Miso")
    memory.notes.sync()
    file_of(memory).write_text(f"{buffer}- Ana sings in a choir\n")
    report = memory.notes.sync()
    assert [record.content for record in report.added] == ["Ana sings in a choir"]
    assert (report.corrected, report.forgotten) == ((), ())
    assert any(line.startswith("! 2 lines") for line in report.lines)
    everything = {"Ana plays chess", "Ana's sister lives in Porto", "The cat is called Miso"}
    assert said(memory) == everything | {"Ana sings in a choir"}
    assert all(f"- {content}\n" in file_of(memory).read_text() for content in said(memory))


def test_an_edit_in_the_place_of_an_unseen_line_is_no_correction(memory):
    """What stands where memory had written is a new line, and the unseen one comes back."""
    buffer = file_of(memory).read_text()
    memory.remember("Ana's sister lives in Porto")
    memory.notes.sync()
    file_of(memory).write_text(buffer.replace("plays chess", "plays go") + "- Buy milk\n")
    report = memory.notes.sync()
    assert [record.content for record in report.corrected] == ["Ana plays go"]
    assert said(memory) == {"Ana plays go", "Buy milk", "Ana's sister lives in Porto"}


def test_taking_out_just_what_memory_wrote_is_meant(memory):
    """Who only removes the newest lines has seen them: they are forgotten at once."""
    memory.remember("Ana hates jazz")
    memory.notes.sync()
    text = file_of(memory).read_text()
    file_of(memory).write_text(text.replace("- Ana hates jazz\n", ""))
    assert len(memory.notes.sync().forgotten) == 1
    assert said(memory) == {"Ana plays chess"}


def test_what_came_back_can_be_taken_out_again(memory):
    """The second removal counts, whatever else was changed with the first."""
    buffer = file_of(memory).read_text()
    memory.remember("Ana hates jazz")
    memory.notes.sync()
    file_of(memory).write_text(f"{buffer}- Buy milk\n")
    memory.notes.sync()
    text = file_of(memory).read_text()
    file_of(memory).write_text(text.replace("- Ana hates jazz\n", ""))
    memory.notes.sync()
    assert said(memory) == {"Ana plays chess", "Buy milk"}
    assert "jazz" not in memory.notes.read_memory()


def test_a_line_that_a_person_has_saved_is_seen(memory):
    """After a save that has it, its removal counts beside any other edit."""
    memory.remember("Ana hates jazz")
    memory.notes.sync()
    text = file_of(memory).read_text()
    file_of(memory).write_text(f"{text}- Buy milk\n")
    memory.notes.sync()
    text = file_of(memory).read_text()
    file_of(memory).write_text(text.replace("- Ana hates jazz\n", "") + "- Buy bread\n")
    memory.notes.sync()
    assert said(memory) == {"Ana plays chess", "Buy milk", "Buy bread"}


def test_write_memory_means_the_whole_text(memory):
    """A program that writes MEMORY.md has read it: what it leaves out is forgotten."""
    memory.remember("Ana hates jazz")
    memory.notes.write_memory("# Mine\n\n- Buy milk\n")
    assert memory.notes.read_memory() == "# Mine\n\n- Buy milk\n"
    assert said(memory) == {"Buy milk"}


def test_what_a_person_changed_never_fades(memory):
    """A line that was changed by hand stands for good, however its fact had come."""
    memory.remember("Ana lives in Porto", decay_rate=0.1)
    memory.notes.sync()
    text = file_of(memory).read_text()
    file_of(memory).write_text(text.replace("in Porto", "in Braga"))
    (changed,) = memory.notes.sync().corrected
    assert changed.decay_rate == 0.0

"""What a person does to MEMORY.md in an editor, and what a program does that writes it whole."""

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

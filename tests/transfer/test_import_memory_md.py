"""The Markdown memories of other agents, imported into a memory."""

import dataclasses
from datetime import UTC, datetime

import pytest

from memoranda import Settings
from memoranda.errors import InvalidInput
from memoranda.model.models import Kind, Trust


@pytest.fixture
def folder(tmp_path):
    """A workspace with facts, a day's log, a history and a link that leads out."""
    inner = tmp_path / "workspace" / "memory"
    inner.mkdir(parents=True)
    (inner.parent / "MEMORY.md").write_text(
        "## Food\n- Ana is vegetarian\n- Ana dislikes celery\n\n## Travel\n- Ana sails\n"
    )
    (inner / "2026-07-03.md").write_text("- Ana chose the ferry to Setúbal\n- Ana sails\n")
    (inner / "HISTORY.md").write_text(
        "[2026-07-02 14:30] Talked of lighthouses.\n\n"
        "## 2026-07-04T10:00:00.000Z\n\nBooked a cabin at Cabo da Roca.\n"
    )
    (tmp_path / "private.md").write_text("- a private thing\n")
    (inner / "elsewhere.md").symlink_to(tmp_path / "private.md")
    return inner.parent


@pytest.fixture
def memory(opened):
    """Ana's memory; she lives in Lisbon."""
    return opened(settings=Settings(timezone="Europe/Lisbon"))


def contents(memory, **conditions):
    """What is stored and believed, in order."""
    return [record.content for record in memory.records(**conditions)]


def test_facts_and_history_come_in_as_what_they_are(memory, folder):
    """Facts stand on a person's word and never fade; what happened is an agent's, with its time."""
    report = memory.import_(folder)
    assert dataclasses.asdict(report) == {
        "format": "memory-md",
        "users": ("ana",),
        "records": 6,
        "messages": 0,
        "skipped": 1,
        "left_out": ("memory/elsewhere.md: leads out of the folder",),
    }
    food, celery, sails, ferry, talk, cabin = memory.records()
    assert {record.origin for record in memory.records()} == {"import:memory-md"}
    for fact in (food, celery, sails, ferry):
        assert (fact.kind, fact.trust, fact.source_role) == (Kind.FACT, Trust.PERSON, None)
        assert (fact.decay_rate, fact.tags, fact.session_id) == (0.0, (), None)
    assert dict(food.metadata) == {"section": "Food", "file": "MEMORY.md"}
    assert dict(ferry.metadata) == {"file": "memory/2026-07-03.md"}
    assert ferry.event_time == datetime(2026, 7, 2, 23, tzinfo=UTC)
    assert food.event_time == food.created_at
    for entry in (talk, cabin):
        assert (entry.kind, entry.trust, entry.source_role) == (
            Kind.EPISODE,
            Trust.AGENT,
            "assistant",
        )
        assert entry.session_id is None
    assert talk.event_time == datetime(2026, 7, 2, 13, 30, tzinfo=UTC)
    assert dict(cabin.metadata) == {"file": "memory/HISTORY.md"}


def test_importing_again_adds_nothing(memory, folder):
    """Twice the same folder, or a part of it, adds nothing; only what is new is added."""
    memory.import_(folder)
    before = memory.records()
    again = memory.import_(folder)
    assert (again.records, again.skipped) == (0, 7)
    assert memory.import_(folder / "memory" / "HISTORY.md").records == 0
    (folder / "MEMORY.md").write_text("- Ana is vegetarian\n- Ana has a dog\n")
    assert memory.import_(folder, "memory-md").records == 1
    assert memory.records()[:-1] == before
    assert contents(memory)[-1] == "Ana has a dog"


def test_what_was_forgotten_stays_forgotten(memory, folder):
    """What the person forgot or corrected does not come back with the next import."""
    memory.import_(folder)
    food, celery, *_ = memory.records()
    memory.forget(food.id)
    memory.correct(celery.id, "Ana loves celery")
    entry = memory.records(kind="episode")[0]
    memory.forget(entry.id)
    assert memory.import_(folder).records == 0
    assert "Ana is vegetarian" not in contents(memory)
    assert "Ana dislikes celery" not in contents(memory)
    assert "Talked of lighthouses." not in contents(memory)


def test_what_is_known_already_is_not_doubled(memory, folder):
    """A fact that was remembered or learned before is the same fact; another user's is not."""
    memory.remember("Ana is vegetarian")
    memory.remember("Ana sails", session="trip")
    assert memory.import_(folder).records == 4
    assert contents(memory).count("Ana is vegetarian") == 1
    assert contents(memory).count("Ana sails") == 1


def test_a_folder_or_markdown_is_known_without_a_format(memory, folder, tmp_path):
    """A folder and a name that ends in .md are memory-md; any other file only if told so."""
    (tmp_path / "NOTES.MD").write_text("- one\n")
    (tmp_path / "notes.txt").write_text("- two\n")
    assert memory.import_(tmp_path / "NOTES.MD").format == "memory-md"
    with pytest.raises(InvalidInput, match="memory-md"):
        memory.import_(tmp_path / "notes.txt")
    assert memory.import_(tmp_path / "notes.txt", "memory-md").records == 1
    assert memory.import_(str(folder / "memory")).format == "memory-md"


def test_secrets_are_left_out(memory, tmp_path):
    """Lines that look like secrets stay where they are; how many is said."""
    (tmp_path / "own").mkdir()
    key = "sk-" + "proj-" + "Ab3" * 12
    (tmp_path / "own" / "MEMORY.md").write_text(
        f"- Ana is vegetarian\n- The key is {key}\n- password: hunter2hunter2\n"
    )
    (tmp_path / "own" / "HISTORY.md").write_text(
        f"[2026-02-27 14:30] Chose Lisbon.\nUsed {key} for it.\n"
    )
    report = memory.import_(tmp_path / "own")
    assert contents(memory, kind="fact") == ["Ana is vegetarian"]
    assert contents(memory, kind="episode") == []
    assert report.left_out == ("records that hold secrets: 3",)


def test_an_empty_memory_is_refused(memory, tmp_path):
    """No memory there: the error says what was looked for."""
    (tmp_path / "empty" / "memory").mkdir(parents=True)
    (tmp_path / "empty" / "memory" / "x.md").write_bytes(b"\0")
    (tmp_path / "empty" / "README.md").write_text("- no memory\n")
    complaint = r"holds no memory to import; looked for MEMORY\.md, CLAUDE\.md"
    with pytest.raises(InvalidInput, match=complaint):
        memory.import_(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="there is no file"):
        memory.import_(tmp_path / "none.md")
    assert memory.records() == []

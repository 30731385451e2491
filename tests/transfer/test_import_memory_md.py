"""The Markdown memories of other agents, imported into a memory."""

import os
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Settings
from memoranda.errors import InvalidInput
from memoranda.model.models import Kind, Trust
from memoranda.transfer.foreign_records import entries, statements

LISBON = ZoneInfo("Europe/Lisbon")
MEMORY = """\
---
name: x
---
# Memory

<!-- kept by an agent -->
(Facts about the user)
*This file stores important information that should persist across sessions.*

## Food
- Ana is vegetarian
  and likes figs
* [x] she cooks on Sundays
1. no celery

A paragraph about tea
on two lines.

| a | table |
> a quote
```
- code is no fact
```

## People ##
- **Rita**
  - birthday: 3 May
  - Her dog is called Rex, a very old one
    - eats: everything
- Bob:
  - sails
- [Travel](travel.md) where she went
@docs/style.md
"""


def test_bullets_and_paragraphs_are_facts_and_their_frame_is_not():
    """A bullet goes on over its indented lines, and below a name it begins with it."""
    assert list(statements(MEMORY)) == [
        ("Ana is vegetarian and likes figs", "Food"),
        ("she cooks on Sundays", "Food"),
        ("no celery", "Food"),
        ("A paragraph about tea on two lines.", "Food"),
        ("**Rita**", "People"),
        ("Rita: birthday: 3 May", "People"),
        ("Rita: Her dog is called Rex, a very old one", "People"),
        ("Rita: eats: everything", "People"),
        ("Bob:", "People"),
        ("Bob: sails", "People"),
    ]


def test_histories_are_entries_with_their_times():
    """Entries start with a stamp, in brackets or as a heading; a time without a zone is local."""
    text = (
        "# History\n\nOnce there was nothing.\n\n"
        "[2026-07-02 14:30] Talked of lighthouses.\nAnd of ferries.\n\n"
        "## 2026-07-04T10:00:00.000Z\n\nBooked a cabin.\n\n### 2026-07-05\nSailed.\n"
        "[2026-02-31 10:00] is no day\n"
    )
    assert list(entries(text, LISBON)) == [
        (None, "Once there was nothing."),
        (datetime(2026, 7, 2, 13, 30, tzinfo=UTC), "Talked of lighthouses.\nAnd of ferries."),
        (datetime(2026, 7, 4, 10, tzinfo=UTC), "Booked a cabin."),
        (datetime(2026, 7, 4, 23, tzinfo=UTC), "Sailed.\n[2026-02-31 10:00] is no day"),
    ]


@given(st.text())
def test_any_text_can_be_read(text):
    """No text is a crash, and what is read is not blank."""
    assert all(said.strip() for said, _ in statements(text))
    assert all(said.strip() for _, said in entries(text, UTC))


@pytest.fixture
def folder(tmp_path):
    """A workspace with facts, a day's log and a history, and with what is none of its memory."""
    (tmp_path / "private.md").write_text("- a private thing\n")
    root = tmp_path / "workspace"
    inner = root / "memory"
    inner.mkdir(parents=True)
    (root / "MEMORY.md").write_text(
        "## Food\n- Ana is vegetarian\n- Ana dislikes celery\n\n## Travel\n- Ana sails\n"
    )
    (inner / "2026-07-03.md").write_text("- Ana chose the ferry to Setúbal\n- Ana sails\n")
    (inner / "HISTORY.md").write_text(
        "[2026-07-02 14:30] Talked of lighthouses.\n\n"
        "## 2026-07-04T10:00:00.000Z\n\nBooked a cabin at Cabo da Roca.\n"
    )
    for name in ("README.md", ".hidden.md"):
        (root / name).write_text(f"- from {name}\n")
    (inner / "raw.md").write_bytes(b"\xff\xfe")
    (inner / "link.md").symlink_to(tmp_path / "private.md")
    (root / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(inner / "pipe.md")
    return root


@pytest.fixture
def memory(opened):
    """Ana's memory; she lives in Lisbon."""
    return opened(settings=Settings(timezone="Europe/Lisbon"))


def contents(memory, **conditions):
    """What is stored and believed, in order."""
    return [record.content for record in memory.records(**conditions)]


def test_facts_and_history_come_in_as_what_they_are(memory, folder):
    """Both are the word of an agent; facts never fade, and what happened has its time.

    What leads out of the folder, is no file or no text stays out, and is named.
    """
    report = memory.import_(folder)
    assert (report.format, report.records, report.skipped) == ("memory-md", 6, 1)
    assert sorted(report.left_out)[2:] == ["files that were not read: 2", "links and devices: 3"]
    assert [line.split("/")[-1][:20] for line in sorted(report.left_out)[:2]] == [
        "README.md has no nam",
        "raw.md cannot be rea",
    ]
    food, celery, sails, ferry, talk, cabin = memory.records()
    assert {record.origin for record in memory.records()} == {"import:memory-md"}
    for fact in (food, celery, sails, ferry):
        assert (fact.kind, fact.trust, fact.source_role) == (Kind.FACT, Trust.AGENT, None)
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
    memory.forget(talk.id)
    memory.correct(celery.id, "Ana loves celery")
    again = memory.import_(folder)
    assert (again.records, again.skipped) == (0, 7)


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
    with pytest.raises(InvalidInput, match="name another format"):
        memory.import_(tmp_path / "notes.txt")
    assert memory.import_(tmp_path / "notes.txt", "memory-md").records == 1
    assert memory.import_(str(folder / "memory")).format == "memory-md"


def test_what_people_write_for_agents_is_their_word(opened, tmp_path):
    """A ``CLAUDE.md`` is a person's; what an agent noted beside it is the agent's."""
    for name in ("CLAUDE.md", "CLAUDE.local.md", "MEMORY.md"):
        (tmp_path / name).write_text(f"- Ana keeps {name}\n")
    memory = opened()
    memory.import_(tmp_path)
    trusts = {each.metadata["file"]: each.trust for each in memory.records()}
    people = dict.fromkeys(("CLAUDE.md", "CLAUDE.local.md"), Trust.PERSON)
    assert trusts == people | {"MEMORY.md": Trust.AGENT}

"""What is read of the Markdown memories of other agents, as their files are on a disk."""

import os
from datetime import UTC, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.model.models import Scope
from memoranda.transfer.markdown_memory import entries, read_records, statements
from memoranda.transfer.sources import ImportCounts

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


def read(path, zone=UTC):
    """Return what is read at a path, by kind and text, with what was left out."""
    counts = ImportCounts()
    target = SimpleNamespace(zone=zone, scope=Scope("ana"))
    drafts = [placed.draft for placed in read_records(path, target, counts)]
    return drafts, counts.report("memory-md", target.scope).left_out


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


def test_only_memories_of_the_folder_are_read(tmp_path):
    """Files that are named as memories are, and all in memory/; nothing that is elsewhere."""
    (tmp_path / "secret.md").write_text("- what is in the cellar\n")
    root = tmp_path / "project"
    inner = root / "memory" / "topics"
    inner.mkdir(parents=True)
    for name in ("CLAUDE.md", "MEMORY.md", "README.md", "2026-07-03.md", ".hidden.md"):
        (root / name).write_text(f"- from {name}\n")
    (inner / "tea.md").write_text("- from tea\n")
    (root / "memory" / "raw.md").write_bytes(b"\xff\xfe")
    (root / "memory" / "link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(root / "memory" / "pipe.md")
    drafts, left_out = read(root, LISBON)
    assert [each.content for each in drafts] == [
        "from 2026-07-03.md",
        "from CLAUDE.md",
        "from MEMORY.md",
        "from tea",
    ]
    assert drafts[0].event_time == datetime(2026, 7, 2, 23, tzinfo=UTC)
    assert sorted(line.partition(": ")[2][:12] for line in left_out) == [
        "'utf-8' code",
        "is no file o",
        "leads out of",
    ]
    (root / "elsewhere").symlink_to(tmp_path)
    assert len(read(root)[0]) == 4
    with pytest.raises(InvalidInput, match="there is no file"):
        read(tmp_path / "none.md")

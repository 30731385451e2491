"""The demo: what it shows is true and short."""

import json
from datetime import datetime
from importlib.resources import files

import pytest

from memoranda import Memory
from memoranda.cli.demo import HITS
from memoranda.testing.clocks import FrozenClock

STORY = json.loads((files("memoranda.cli") / "demo.json").read_text("utf-8"))


@pytest.fixture
def prefix():
    """All commands here are ``memoranda demo``."""
    return ("demo",)


def test_it_is_short_and_leaves_a_file_that_answers_well(run, monkeypatch):
    """At most 100 lines of 80 columns; with the model that ships, most answers come first."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "auto")
    out = run("--db", "tryme.db").stdout
    lines = out.splitlines()
    assert len(lines) <= 100
    assert all(len(line) <= 80 for line in lines)
    command = next(line for line in lines if "memoranda search" in line)
    assert "--db tryme.db --user noa" in command
    assert "already" in run("--db", "tryme.db", code=1).stderr  # It adds nothing.
    clock = FrozenClock(datetime.fromisoformat(STORY["asked"]))
    with Memory("tryme.db", user="noa", clock=clock) as memory:
        assert len(memory.conversations()) == 8  # The new one, too.
        assert memory.verify() == []
        if memory.stats().vectors.startswith("off"):
            pytest.skip(memory.stats().vectors)
        found = [
            [each["expect"] in hit.record.content for hit in memory.search(each["ask"], limit=HITS)]
            for each in STORY["questions"]
        ]
    assert sum(each[:1] == [True] for each in found) >= 7
    assert sum(map(any, found)) >= 9

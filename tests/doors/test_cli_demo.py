"""The demo: what it shows is true and short."""

import json

import pytest

from memoranda import Memory


@pytest.fixture
def prefix():
    """All commands here are ``memoranda demo``."""
    return ("demo",)


def test_it_is_short_and_leaves_a_file_to_try_things_on(run):
    """Fewer than 100 lines of at most 80 columns tell what it did and how to go on with it."""
    out = run("--db", "tryme.db").stdout
    lines = out.splitlines()
    assert len(lines) < 100
    assert all(len(line) <= 80 for line in lines)
    assert "Vectors off: switched off (embedding.model = none)" in out
    command = next(line for line in lines if "memoranda search" in line)
    assert "--db tryme.db --user noa" in command
    assert "already" in run("--db", "tryme.db", code=1).stderr  # It adds nothing.
    with Memory("tryme.db", user="noa") as memory:
        assert len(memory.conversations()) == 7
        assert memory.verify() == []


def test_with_the_local_model_it_answers_well(run, monkeypatch):
    """With the model that ships as a package, most questions are answered by the first hit."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "auto")
    told = json.loads(run("--json").stdout)
    if told["vectors"].startswith("off"):
        pytest.skip(told["vectors"])
    places = [
        [place for place, hit in enumerate(each["hits"]) if each["expect"] in hit["content"]]
        for each in told["answers"]
    ]
    assert sum(0 in found for found in places) >= 7
    assert sum(map(bool, places)) >= 9

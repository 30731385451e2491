"""The demo: what it shows is true, short, and the same every time."""

import json
import os
import re

import pytest
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app

TIMING = re.compile(r"\d+\.\d+ s\b")
ID = re.compile(r"\b(?:fact|ep|ref)_[0-9A-Z]{26}\b")


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "Europe/Brussels")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def demo(*arguments, code=0):
    """Run the demo."""
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exit_code == code, result.output
    return result


def untimed(text):
    """Return the lines without ids and times, and the blanks that a longer time takes away."""
    return [line.rstrip() for line in ID.sub("…", TIMING.sub("… s", text)).splitlines()]


@pytest.fixture
def wordless(monkeypatch):
    """The demo without a model, which is fast."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")


@pytest.mark.usefixtures("wordless")
def test_it_is_short_and_leaves_a_file_to_try_things_on():
    """Fewer than 100 lines of at most 80 columns tell what it did and how to go on with it."""
    out = demo("--db", "tryme.db").stdout
    lines = out.splitlines()
    assert len(lines) < 100
    assert all(len(line) <= 80 for line in lines)
    assert "Vectors off: switched off (embedding.model = none)" in out
    command = next(line for line in lines if "memoranda search" in line)
    assert "--db tryme.db --user noa" in command
    assert "already" in demo("--db", "tryme.db", code=1).stderr  # It adds nothing.
    with Memory("tryme.db", user="noa") as memory:
        assert len(memory.conversations()) == 7
        assert memory.verify() == []
    again = demo("--db", "again.db").stdout.replace("again.db", "tryme.db")
    assert untimed(again) == untimed(out)


def test_with_the_local_model_it_answers_well():
    """With the model that ships as a package, most questions are answered by the first hit."""
    pytest.importorskip("onnxruntime")
    told = json.loads(demo("--json").stdout)
    if told["vectors"].startswith("off"):
        pytest.skip(told["vectors"])
    first = [a["expect"] in a["hits"][0]["content"] for a in told["answers"]]
    among = [any(a["expect"] in h["content"] for h in a["hits"]) for a in told["answers"]]
    assert sum(first) >= 7
    assert sum(among) >= 9

"""The demo: what it shows is true, short, and the same every time."""

import json
import os
import re

import pytest
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app

TIMING = re.compile(r"\d+\.\d+ s\b")


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


@pytest.fixture
def wordless(monkeypatch):
    """The demo without a model, which is fast."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")


@pytest.mark.usefixtures("wordless")
def test_it_fits_on_two_screens():
    """The demo prints fewer than 100 lines of at most 80 columns, save its last commands."""
    lines = demo().stdout.splitlines()
    assert len(lines) < 100
    assert all(len(line) <= 80 for line in lines if "memoranda-demo-" not in line)


@pytest.mark.usefixtures("wordless")
def test_it_says_that_vectors_are_off():
    """Without a model the demo works, and tells why there are no vectors."""
    assert "Vectors off: switched off (embedding.model = none)" in demo().stdout


@pytest.mark.usefixtures("wordless")
def test_it_is_the_same_every_time():
    """Two runs differ in their timings alone."""
    first, second = (
        TIMING.sub("… s", demo("--db", name).stdout).replace(name, "demo.db")
        for name in ("a.db", "b.db")
    )
    assert first == second


@pytest.mark.usefixtures("wordless")
def test_it_leaves_a_file_to_try_things_on():
    """The memory of the demo can be searched afterwards, by the commands it prints."""
    out = demo("--db", "tryme.db").stdout
    command = next(line for line in out.splitlines() if "memoranda search" in line)
    assert "--db tryme.db --user noa" in command
    with Memory("tryme.db", user="noa") as memory:
        assert len(memory.conversations()) == 7
        assert memory.verify() == []


@pytest.mark.usefixtures("wordless")
def test_it_is_never_told_twice_into_one_file():
    """A second demo in the same file is refused, and adds nothing."""
    demo("--db", "once.db")
    assert "already" in demo("--db", "once.db", code=1).stderr


@pytest.mark.usefixtures("wordless")
def test_its_json_holds_all_it_did():
    """With --json the demo is one document: sessions, answers, correction, context."""
    told = json.loads(demo("--json").stdout)
    assert {"sessions", "facts", "answers", "correction", "context", "file"} <= set(told)
    old, new = told["correction"]["old"], told["correction"]["new"]
    assert told["correction"]["believed_before"][0]["record"]["id"] == old["id"]
    assert told["correction"]["believed_now"][0]["record"]["id"] == new["id"]
    assert told["context"]["tokens"] <= told["context"]["receipt"]["budget"]
    assert told["context"]["receipt"]["left_out"]


def test_with_the_local_model_it_answers_well():
    """With the model that ships as a package, most questions are answered by the first hit."""
    pytest.importorskip("onnxruntime")
    told = json.loads(demo("--json").stdout)
    if told["vectors"].startswith("off"):
        pytest.skip(told["vectors"])
    first = [a["expect"] in a["hits"][0]["record"]["content"] for a in told["answers"]]
    among = [any(a["expect"] in h["record"]["content"] for h in a["hits"]) for a in told["answers"]]
    assert sum(first) >= 7
    assert sum(among) >= 9

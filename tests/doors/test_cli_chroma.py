"""The command line on a folder of Chroma."""

import json
import shutil
from pathlib import Path

import pytest
from import_samples import chatgpt, node

pytest.importorskip("chromadb", reason="the extra chroma is not installed")


@pytest.fixture(autouse=True)
def _folder(own_machine, tmp_path, monkeypatch):
    """A memory in a folder, which is not there yet."""
    del own_machine  # Which comes first.
    monkeypatch.setenv("MEMORANDA_LOCATION", "chroma://memory")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_talks_and_their_upkeep_on_a_folder(run, told, tmp_path):
    """Chat, conversations, contexts, notes, stages and imports work on a folder."""
    chat = run("chat", stdin="I am allergic to peanuts.\n/memory\n/new\n").stdout
    assert f"{tmp_path}/memory/notes/default/MEMORY.md" in chat.replace("\n", "")
    talk = chatgpt(node("a", None, "My sister Marta lives in Berlin."), current="a")
    (tmp_path / "chatgpt.json").write_text(json.dumps([talk]))
    assert told("import", "chatgpt.json")["format"] == "chatgpt"
    assert {each["id"] for each in told("conversations")} == {"chat", "chat-2", "c1"}
    assert "Marta" in run("context", "Where does Marta live?").stdout
    assert "Marta" in run("consolidate").stdout
    assert "- The user is allergic to peanuts." in run("notes", "show").stdout
    assert "reflect" in run("maintain").stdout
    assert "failed" not in run("worker", "--once").stderr


def test_a_folder_is_moved_and_looked_after(run, told, tmp_path):
    """Stats and doctor speak of the folder; a copy of its files is a backup, as the error says."""
    run("remember", "Ana lives in Lisbon")
    assert f"{tmp_path}/memory" in "".join(run("stats").stdout.split())
    checks = {each["name"]: each for each in told("doctor", "--rebuild", "--purge")}
    assert checks["folder"]["ok"]
    assert f"{tmp_path}/memory, " in checks["folder"]["detail"]
    assert f"cp -r {tmp_path}/memory" in run("backup", "copy", code=1).stderr.replace("\n", " ")
    shutil.copytree(tmp_path / "memory", tmp_path / "copy")
    assert told("list", "--db", "chroma://copy")[0]["content"] == "Ana lives in Lisbon"
    assert told("export", "out.jsonl")["records"] == 1
    assert told("import", "out.jsonl", "--db", "agent.db")["records"] == 1
    assert "chroma://memory" in run("config").stdout


def test_the_doctor_finds_the_shipped_configuration_well(run, told, monkeypatch, tmp_path):
    """Before there is a memory, with one, and after a chat: nothing is wrong or to be done."""
    pytest.importorskip("onnxruntime", reason="the extra local is not installed")
    shipped = Path(__file__).parents[2] / "config" / "reachy.yaml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(shipped))
    for name in ("MEMORANDA_LOCATION", "MEMORANDA_EMBEDDING__MODEL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))

    def faults():
        checks = told("doctor")
        assert {"vector arm", "entity arm"} <= {each["name"] for each in checks if each["ok"]}
        return [each for each in checks if each["ok"] is False or each["remedy"]]

    assert faults() == []
    assert not (tmp_path / ".reachy").exists()
    run("remember", "Ana lives in Lisbon")
    assert faults() == []
    run("chat", stdin="I live in Porto\n")
    assert faults() == []
    assert (tmp_path / ".reachy" / "memory").is_dir()

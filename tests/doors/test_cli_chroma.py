"""The command line on a folder of Chroma."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import anyio
import pytest
from import_samples import chatgpt, node
from mcp_clients import command, environment, stdio, value

from memoranda import Memory, Settings

pytest.importorskip("chromadb", reason="the extra chroma is not installed")

from mcp import Client

LINE = {
    "type": "user",
    "uuid": "u0",
    "sessionId": "s-1",
    "timestamp": "2026-03-02T10:00:00Z",
    "message": {"role": "user", "content": "I moved to Lisbon."},
}


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, a folder of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", "chroma://memory")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def test_records_are_kept_found_and_corrected_on_a_folder(run, told, tmp_path):
    """Commands that write and find do on ``chroma://`` what they do on a file."""
    assert f"there is no memory at {tmp_path}/memory" in run("stats", code=1).stderr
    assert not (tmp_path / "memory").exists()
    first = told("remember", "Ana lives in Lisbon", "--tag", "home")["id"]
    second = told("remember", "Rex is Ana's dog")["id"]
    assert told("search", "where does Ana live?")[0]["id"] == first
    assert "Ana lives in Lisbon" in run("recall", "where does Ana live?").stdout
    new = told("correct", first, "Ana lives in Porto")["id"]
    assert [each["action"] for each in told("history", first)] == [*("insert", "close", "insert")]
    assert told("confirm", new)["content"] == "Ana lives in Porto"
    assert {each["id"] for each in told("list")} == {second, new}
    assert told("show", new)["user"] == "default"
    assert "Porto" in run("facts").stdout
    assert [each["name"] for each in told("entities")] == ["Ana", "Porto", "Rex"]
    assert "Rex is Ana's dog" in run("entity", "Rex").stdout
    erased = run("forget", second, "--erase", "--yes")
    assert (erased.stdout, erased.stderr) == (f"erased {second}\n", "")
    assert "0 faults found" in run("audit").stdout


def test_talks_and_their_upkeep_on_a_folder(run, told, tmp_path):
    """Chat, conversations, contexts, notes, stages, imports and hooks work on a folder."""
    chat = run("chat", stdin="I am allergic to peanuts.\n/memory\n/new\n").stdout
    assert f"{tmp_path}/memory/notes/default/MEMORY.md" in chat.replace("\n", "")
    (tmp_path / "s-1.jsonl").write_text(json.dumps(LINE) + "\n")
    event = {"session_id": "s-1", "transcript_path": str(tmp_path / "s-1.jsonl")}
    assert "saved 1 new message" in run("hook", "claude-code", stdin=json.dumps(event)).stderr
    talk = chatgpt(node("a", None, "My sister Marta lives in Berlin."), current="a")
    (tmp_path / "chatgpt.json").write_text(json.dumps([talk]))
    assert told("import", "chatgpt.json")["format"] == "chatgpt"
    assert {each["id"] for each in told("conversations")} == {"chat", "chat-2", "c1", "s-1"}
    assert "Marta" in run("context", "Where does Marta live?").stdout
    assert "Marta" in run("consolidate").stdout
    assert "- The user is allergic to peanuts." in run("notes", "show").stdout
    added = run("notes", "add", "Chose Lisbon").stdout
    assert "memory/notes/default/HISTORY.md" in added.replace("\n", "")
    assert "reflect" in run("maintain").stdout


def test_a_folder_is_moved_and_looked_after(run, told, tmp_path):
    """Stats and doctor speak of the folder; a copy of its files is a backup, as the error says."""
    run("remember", "Ana lives in Lisbon")
    assert f"folder          {tmp_path}/memory"[:60] in run("stats").stdout
    checks = {each["name"]: each for each in told("doctor", "--rebuild", "--purge")}
    assert checks["folder"]["ok"]
    assert f"{tmp_path}/memory, " in checks["folder"]["detail"]
    assert f"cp -r {tmp_path}/memory" in run("backup", "copy", code=1).stderr.replace("\n", " ")
    shutil.copytree(tmp_path / "memory", tmp_path / "copy")
    assert told("list", "--db", "chroma://copy")[0]["content"] == "Ana lives in Lisbon"
    assert told("export", "out.jsonl")["records"] == 1
    assert told("import", "out.jsonl", "--db", "agent.db")["records"] == 1
    assert "chroma://memory" in run("config").stdout


def test_a_model_is_served_from_chroma(tmp_path):
    """The MCP server works on a folder as a process of its own."""

    async def work():
        async with Client(stdio(tmp_path, "--db", "chroma://memory")) as client:
            await value(client, "store_memory", content="Ana lives in Lisbon")
            found = await value(client, "search_memories", query="Where does Ana live?")
            return [each["content"] for each in found["result"]]

    assert anyio.run(work) == ["Ana lives in Lisbon"]
    with Memory("chroma://memory", settings=Settings(timezone="UTC")) as memory:
        assert memory.admin.users() == ["default"]


def test_upkeep_on_a_folder_ends_when_it_is_asked_to(run, tmp_path):
    """``maintain --watch`` works, ends by a signal, and leaves the folder to others."""
    run("remember", "Ana lives in Lisbon")
    with (
        subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
            [*command()[:-1], "maintain", "--watch", "--json"],
            env=environment(tmp_path, MEMORANDA_LOCATION="chroma://memory"),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as watch
    ):
        try:
            assert json.loads(watch.stdout.readline())["next"]
            assert json.loads(watch.stdout.readline())["user"] == "default"
            watch.send_signal(signal.SIGTERM)
            _, said = watch.communicate(timeout=60)
        finally:
            watch.kill()
    assert (watch.returncode, said) == (0, "")
    assert run("stats").stderr == ""


def test_the_doctor_finds_the_shipped_configuration_well(run, told, monkeypatch, tmp_path):
    """Before there is a memory, with one, and after a chat: nothing is wrong or to be done."""
    pytest.importorskip("onnxruntime", reason="the extra local is not installed")
    shipped = Path(__file__).parents[2] / "config" / "reachy.yaml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(shipped))
    for name in ("MEMORANDA_LOCATION", "MEMORANDA_EMBEDDING__MODEL"):
        monkeypatch.delenv(name, raising=False)
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

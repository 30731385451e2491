"""The hook that saves sessions of Claude Code, as the documents show it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memoranda import Memory, Settings

PAGE = Path(__file__).parents[2] / "docs" / "capture.md"
SESSION = "5b1f0c1e-3333-4000-8000-000000000001"


def line(number, role, content):
    """A line of a transcript."""
    return {
        "type": role,
        "uuid": f"u{number}",
        "sessionId": SESSION,
        "timestamp": f"2026-03-02T10:00:{number:02d}Z",
        "message": {"role": role, "content": content},
    }


LINES = [line(0, "user", "I moved to Lisbon."), line(1, "assistant", "How nice!")]


@pytest.fixture
def event(tmp_path, monkeypatch):
    """What Claude Code gives to a hook, as JSON; the transcript is there."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in LINES))

    def given(name="SessionEnd", **changes):
        fields = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(tmp_path)}
        return json.dumps(fields | {"hook_event_name": name, "reason": "exit"} | changes)

    return given


def kept(tmp_path):
    """What was said, and what was learned."""
    settings = Settings(embedding={"model": "none"}, timezone="UTC")
    with Memory(tmp_path / "memory.db", settings=settings) as memory:
        said = [each.content for each in memory.conversation(SESSION).messages]
        return said, [each.content for each in memory.records(kind="fact")]


def test_the_documented_hooks_save_a_session(event, tmp_path):
    """The settings of the document are valid; their command, run by a shell, saves each once."""
    (block,) = re.findall(r"```text\n(\{\n.*?\n\})\n```", PAGE.read_text("utf-8"), re.DOTALL)
    hooks = json.loads(block)["hooks"]
    assert hooks.keys() == {"SessionEnd", "PreCompact"}
    commands = {
        name: each["command"] for name, (group,) in hooks.items() for each in group["hooks"]
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = []
    for name, command in commands.items():
        done = subprocess.run(  # noqa: S602 - as Claude Code runs it: by a shell
            command,
            shell=True,
            input=event(name),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PATH": path, "NO_COLOR": "1"},
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        said.append(done.stderr)
    assert said == [
        f"memoranda: saved 2 new messages of session {SESSION}\n",
        f"memoranda: saved 0 new messages of session {SESSION}\n",
    ]
    assert kept(tmp_path) == (["I moved to Lisbon.", "How nice!"], [])


def test_a_hook_can_learn_at_once(run, event, tmp_path):
    """With --learn the session becomes facts; what was said since then is added."""
    assert "learned 1 fact" in run("hook", "claude-code", "--learn", stdin=event("Stop")).stderr
    assert kept(tmp_path)[1] == ["The user moved to Lisbon."]
    with (tmp_path / f"{SESSION}.jsonl").open("a") as file:
        file.write(json.dumps(line(2, "user", "Thanks.")) + "\n")
    assert "saved 1 new message of" in run("hook", "claude-code", stdin=event()).stderr


def test_a_session_without_a_word_is_no_error(run, event, tmp_path):
    """A transcript that is not there, or empty, means that nothing was said."""
    (tmp_path / "empty.jsonl").touch()
    for name in ("none.jsonl", "empty.jsonl"):
        given = event(transcript_path=str(tmp_path / name))
        assert "nothing to save" in run("hook", "claude-code", "--learn", stdin=given).stderr


@pytest.mark.parametrize(
    ("stdin", "complaint"),
    [
        ("", "standard input is no event of a hook: not valid JSON"),
        ("[]", "expected an object with session_id and transcript_path, got '[]'"),
        ('{"session_id": "x"}', "expected an object with session_id and transcript_path"),
    ],
)
def test_bad_input_is_a_line_and_exit_code_1(run, event, stdin, complaint):
    """What is no event is said in a line; nothing is written to standard output."""
    assert event
    result = run("hook", "claude-code", stdin=stdin, code=1)
    assert complaint in result.stderr
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)


def test_a_hook_never_exits_with_2(run, event, tmp_path):
    """Code 2 would block Claude Code: not for wrong options either, nor a broken transcript."""
    for arguments in (("claude-code", "--bad"), ("nothing",), ("--bad",), ("claude-code", "--db")):
        run("hook", *arguments, code=1)
    (tmp_path / f"{SESSION}.jsonl").write_text("{broken\n")
    result = run("hook", "claude-code", stdin=event(), code=1)
    assert "is no transcript of Claude Code" in result.stderr

"""The hook that saves sessions of Claude Code, as the documents show it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memoranda import Memory

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
def event(tmp_path):
    """What Claude Code gives to a hook, as JSON; the transcript is there."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in LINES))

    def given(name="SessionEnd", **changes):
        fields = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(tmp_path)}
        return json.dumps(fields | {"hook_event_name": name, "reason": "exit"} | changes)

    return given


@pytest.fixture
def hook(run):
    """Run the hook; return what it says, which is never said on standard output."""

    def start(*options, stdin="", code=0):
        result = run("hook", "claude-code", *options, stdin=stdin, code=code)
        assert result.stdout == ""
        return result.stderr

    return start


def kept():
    """What was said, and what was learned."""
    with Memory() as memory:
        said = [each.content for each in memory.conversation(SESSION).messages]
        return said, [each.content for each in memory.records(kind="fact")]


def test_the_documented_hooks_save_a_session(event, hook):
    """The settings of the document are valid; their command, run by a shell, saves each once."""
    (block,) = re.findall(r"```text\n(\{\n.*?\n\})\n```", PAGE.read_text("utf-8"), re.DOTALL)
    hooks = json.loads(block)["hooks"]
    assert hooks.keys() == {"SessionStart", "SessionEnd"}
    (command,) = {each["command"] for (group,) in hooks.values() for each in group["hooks"]}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S602 - as Claude Code runs it: by a shell
        command,
        shell=True,
        input=event(),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path, "NO_COLOR": "1"},
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == f"note: memoranda saved 2 new messages of session {SESSION}\n"
    saved = hook(stdin=event("PreCompact"))
    assert saved == f"note: memoranda saved 0 new messages of session {SESSION}\n"
    assert kept() == (["I moved to Lisbon.", "How nice!"], [])


def test_a_session_without_a_word_is_no_error(hook, event, tmp_path):
    """A transcript that is not there, or empty, means that nothing was said."""
    (tmp_path / "empty.jsonl").touch()
    for name in ("none.jsonl", "empty.jsonl"):
        given = event(transcript_path=str(tmp_path / name))
        assert "nothing to save" in hook(stdin=given)


def test_a_hook_fails_with_one_line_and_never_exits_with_2(run, hook, event, tmp_path):
    """Code 2 would block Claude Code: not for wrong options either, nor a broken transcript."""
    for stdin in ("", "[]", '{"session_id": "x"}', '{"session_id": "x", "transcript_path": 1}'):
        (told,) = hook(stdin=stdin, code=1).splitlines()
        assert "is not an event of a hook: expected JSON with session_id" in told
    for arguments in (("claude-code", "--bad"), ("nothing",), ("--bad",), ("claude-code", "--db")):
        run("hook", *arguments, code=1)
    given = event()
    (tmp_path / f"{SESSION}.jsonl").write_text("{broken\n")
    assert "is not a transcript of Claude Code" in hook(stdin=given, code=1)


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_model_is_told_what_is_known(run, client):
    """The notes when a session begins, and again after a compaction; memories with a prompt."""
    with Memory() as memory:
        chat = memory.conversation("other")
        chat.add("user", "I live in Kraków 🦫. Always answer in French.")
        chat.end()
        memory.maintain()

    def told(name, **fields):
        event = {"session_id": SESSION, "hook_event_name": name, **fields}
        done = run("hook", client, stdin=json.dumps(event, ensure_ascii=False))
        if not done.stdout:
            return ""
        answer = json.loads(done.stdout)["hookSpecificOutput"]
        assert answer["hookEventName"] == name
        return answer["additionalContext"]

    for source in ("startup", "compact"):
        notes = told("SessionStart", source=source)
        assert "Kraków" in notes
        assert "Always answer in French." in notes
    assert "Kraków 🦫" in told("UserPromptSubmit", prompt="Where do I live? 🦫")
    assert told("UserPromptSubmit", prompt="2+2") == ""
    assert told("UserPromptSubmit", prompt=" ") == ""
    event = {"session_id": "other", "hook_event_name": "UserPromptSubmit"}
    done = run("hook", client, stdin=json.dumps(event | {"prompt": "Where do I live?"}))
    assert "Always answer" not in done.stdout

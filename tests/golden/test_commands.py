"""What the commands print with ``--json``, and the demo, compared with golden files.

``MEMORANDA_REGENERATE_GOLDENS=1 pytest tests/golden`` writes the files anew; see
``test_sessions.py``.
"""

from __future__ import annotations

import json
import re

import pytest
from goldens import check_golden
from session_script import export_lines

from memoranda import Memory

pytestmark = pytest.mark.usefixtures("plain_environment")

SIZES = re.compile(r"\b[\d.,]+ (?:bytes|KiB|MiB|GiB)\b")
TALK = (
    ("user", "My name is Ana Ferreira and I live in Lisbon with my sister Rita."),
    ("assistant", "Nice to meet you, Ana."),
    ("user", "I work at Tidepool. I'm vegetarian and allergic to hazelnuts."),
    ("assistant", "Noted."),
    ("user", "We decided to fly to the Azores on 3 May 2026. My cat is called Miso."),
    ("assistant", "See you there."),
    ("user", "I moved to Porto last week."),
    ("assistant", "Congratulations."),
)
MEMORY_MD = "# Memory\n\n- Ana's locker is number 88.\n- Ana's shoe size is 39.\n"
PLAIN = '{"content": "Ana reads Saramago"}\n{"content": "Ana runs on Sundays"}\n'
EVENT = '{"session_id": "code", "transcript_path": "code.jsonl", "hook_event_name": "Stop"}'
CODE = {
    "type": "user",
    "uuid": "0f1e2d3c-0000-4000-8000-000000000001",
    "sessionId": "code",
    "timestamp": "2026-01-05T08:00:00Z",
    "message": {"role": "user", "content": "Please use tabs in this repository."},
}

# Each line is a command; {name} stands for the id that an earlier line kept under that name.
COMMANDS = (
    ("config", "explain", "conversation.strategy"),
    ("config", "set", "conversation.keep_recent", "4"),
    ("config", "set", "tokens.limits.my-model", "32000"),
    ("config", "show"),
    ("config", "explain", "conversation.keep_recent"),
    ("config", "unset", "tokens.limits.my-model"),
    ("config", "set", "conversation.strategy", "nonsense"),
    ("stats",),
    ("list",),
    ("list", "--kind", "fact", "--limit", "2"),
    ("list", "--session", "january", "--limit", "3"),
    ("remember", "Ana likes tea", "--tag", "drink", "--metadata", '{"n": 1}', "bicycle="),
    ("remember", "Ana saw whales", "--kind", "episode", "--event-time", "2025-07-01T00:30"),
    ("remember", "", "--kind", "fact"),
    ("search", "what does Ana drink?", "--limit", "3"),
    ("search", "tea", "--why", "--tag", "drink"),
    ("search", "whales", "--since", "2025-06-01", "--until", "2025-08-01", "--min-score", "0.1"),
    ("recall", "where does Ana live?", "--budget", "120"),
    ("show", "{bicycle}"),
    ("correct", "{bicycle}", "Ana likes green tea", "green="),
    ("history", "{bicycle}"),
    ("confirm", "{green}"),
    ("show", "fact_01KE6HHSG00000000000000000"),
    ("context", "What should I cook?", "--conversation", "january", "--budget", "300"),
    ("context", "What should I cook?"),
    ("consolidate", "january", "--dry-run"),
    ("consolidate",),
    ("facts",),
    ("facts", "list", "Porto", "--all"),
    ("facts", "show", "{green}"),
    ("entities",),
    ("entities", "--type", "person", "--limit", "2"),
    ("entity", "Rita"),
    ("conversations",),
    ("conversations", "show", "january"),
    ("conversations", "show", "january", "--explain", "--budget", "120"),
    ("conversations", "prune", "january", "--to", "90", "--dry-run"),
    ("conversations", "prune", "january", "--to", "90"),
    ("conversations", "show", "january", "--all"),
    ("conversations", "expand", "january", "cut_0-3"),
    ("conversations", "clear", "january", "--yes"),
    ("notes",),
    ("notes", "show"),
    ("notes", "history", "--limit", "2"),
    ("notes", "history", "Tidepool"),
    ("notes", "sync"),
    ("audit",),
    ("maintain", "--dry-run"),
    ("maintain", "decay"),
    ("maintain",),
    ("import", "plain.jsonl"),
    ("import", "memory.md"),
    ("import", "memory.md"),
    ("hook", "claude-code"),
    ("chat", "--session", "talk"),
    ("export", "all.jsonl"),
    ("export", "january.jsonl", "--conversation", "january"),
    ("import", "all.jsonl", "--user", "carla"),
    ("list", "--user", "carla", "--limit", "2"),
    ("import", "all.jsonl", "--db", "other.db"),
    ("list", "--kind", "fact", "--db", "other.db"),
    ("backup", "copy.db"),
    ("forget", "{green}"),
    ("forget", "{green}", "--erase", "--yes"),
    ("forget", "{green}"),
    ("doctor",),
    ("doctor", "--rebuild", "--purge"),
    ("stats",),
)
STDIN = {"hook": EVENT, "chat": "what is my cat called?\nI play the cello.\n/cost Miso\n"}


@pytest.mark.usefixtures("anas_file")
def test_the_json_of_each_command_is_as_ever(tmp_path, frozen_clock, run_command):
    """Over a prepared memory each command prints the JSON that it always printed."""
    prepare(tmp_path, frozen_clock)
    ids, answers = {}, []
    for line in COMMANDS:
        words = [ids.get(word, word) for word in line]
        keeps = words.pop()[:-1] if words[-1].endswith("=") else None
        code, out, err = run_command(*words, "--json", stdin=STDIN.get(words[0], ""))
        answer = documents(out)
        if words[0] == "doctor":  # What it tells in detail is of this machine.
            answer = [[check["name"], check["ok"]] for checks in answer for check in checks]
        if keeps:
            ids[f"{{{keeps}}}"] = answer[0]["id"]
        failed = {"error": err.strip().removeprefix("error: ")} if code else {}
        answers.append({"command": " ".join(words), "code": code, "answer": answer} | failed)
    check_golden("commands", answers, {str(tmp_path.resolve()): "<folder>"})


def test_the_demo_is_as_ever(tmp_path, run_command):
    """The demo prints the JSON that it always printed, and leaves the memory it always left."""
    code, out, _ = run_command("demo", "--db", "demo.db", "--json")
    assert code == 0
    with Memory(tmp_path / "demo.db", user="noa") as memory:
        left = {"export": export_lines(memory, tmp_path / "noa"), "problems": memory.verify()}
    told = documents(out)[0]
    check_golden("demo", {"told": told} | left, {str(tmp_path.resolve()): "<folder>"})


def prepare(folder, clock):
    """Make the memory and the files that the commands are given."""
    with Memory(folder / "agent.db", user="ana") as memory:
        chat = memory.conversation("january", system="You help Ana.")
        for role, text in TALK:
            chat.add(role, text)
            clock.set(clock.now().replace(minute=clock.now().minute + 1))
        chat.end()
        memory.remember("Ana's bicycle is a green Brompton", tags=["things"])
        memory.set_context("room", "kitchen")
    (folder / "memory.md").write_text(MEMORY_MD, encoding="utf-8")
    (folder / "plain.jsonl").write_text(PLAIN, encoding="utf-8")
    (folder / "code.jsonl").write_text(json.dumps(CODE) + "\n", encoding="utf-8")


def documents(text):
    """Return the JSON documents that were printed one after another, without what is of files."""
    decoder, found, place = json.JSONDecoder(), [], 0
    text = text.strip()
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        found.append(unmeasured(value))
        place += len(text[place:]) - len(text[place:].lstrip())
    return found


def unmeasured(value):
    """Return ``value`` without sizes and times of files, which no clock of ours decides."""
    if isinstance(value, dict):
        if isinstance(value.get("changed"), str):  # When MEMORY.md was written.
            value = value | {"changed": None}
        return {name: 0 if name == "size" else unmeasured(value[name]) for name in value}
    if isinstance(value, list):
        return [unmeasured(item) for item in value]
    return SIZES.sub("<size>", value) if isinstance(value, str) else value

"""Folders and archives of files: each is judged by itself, and so is each line of a file."""

import json
import sqlite3
import zipfile
from contextlib import closing

import pytest
from file_samples import every, exported, opened, written
from import_samples import chatgpt, node, person, transcript

from memoranda.errors import InvalidInput

TALK = chatgpt(node("1", None, "I sail."), current="1")
MORE = chatgpt(node("2", None, "I row."), current="2", conversation_id="c2")
HEAD = {"_type": "metadata", "key": "telegram:42", "createdAt": "2026-02-27T14:30:00.123Z"}
HI = {"role": "user", "content": "Hi", "timestamp": "2026-02-27T14:31:00.000Z"}


@pytest.fixture
def folder(tmp_path):
    """A folder with files of many kinds, some of which cannot be read."""
    root = tmp_path / "downloads"
    (root / "a" / "b" / "c").mkdir(parents=True)
    written(root, "a/b/c/conversations-000.json", [TALK])
    written(root, "mem0.json", [{"id": "a", "memory": "Likes tea"}])
    written(root, "graph.jsonl", {"type": "entity", "name": "Ana", "observations": ["sings"]})
    transcript(root, [person(1, "I moved to Lisbon.")])
    (root / "MEMORY.md").write_text("- Ana likes green tea\n")
    with zipfile.ZipFile(root / "more.zip", "w") as archive:
        archive.writestr("x/conversations (1).json", json.dumps([MORE]))
        archive.writestr("__MACOSX/x/._conversations (1).json", b"\0\5\x16\7")
        archive.writestr("x/torn.json", "[{")
    (root / "broken.json").write_text('{"a": ')
    written(root, "odd.json", {"colour": "red"})
    (root / "empty.json").write_text("")
    (root / "README.md").write_text("# A thing\n")
    (root / "photo.png").write_bytes(b"x")
    (root / ".hidden.json").write_text("{")
    with closing(sqlite3.connect(root / "agent.db")) as database, database:
        database.execute("CREATE TABLE x (y)")
    return root


def test_each_file_of_a_folder_is_judged_by_itself(folder):
    """The report has what was imported of each, and a line on each that was not read."""
    with opened() as memory:
        report = memory.import_(folder)
        assert (report.conversations, report.messages, report.facts) == (3, 3, 3)
        assert {each.format: each.moved["skipped"] for each in report.files} == dict.fromkeys(
            ("memory-md", "chatgpt", "mem0", "mcp-memory", "claude-code"), 0
        )
        told = "\n".join(report.left_out)
        for name in ("broken.json", "odd.json", "empty.json", "README.md", "torn.json", "agent.db"):
            assert f"{name}" in told, name
        assert "files that are not read (.png): 1" in told
        assert "hidden" not in told
        again = memory.import_(folder)
        assert (again.records, again.messages, again.skipped) == (0, 0, 6)
        assert memory.import_(folder, "mem0").format == "mem0"


def test_a_strict_import_of_a_folder_is_all_or_nothing(folder):
    """One file that cannot be read keeps out all the others."""
    with opened() as memory:
        with pytest.raises(InvalidInput, match="json"):
            memory.import_(folder, strict=True)
        assert every(memory) == []
        for path in folder.iterdir():
            if path.is_file() and path.name not in {"mem0.json", "graph.jsonl"}:
                path.unlink()
        assert memory.import_(folder, strict=True).records == 2


def test_a_folder_with_nothing_to_import_names_its_files(tmp_path):
    """The error says of each what is wrong with it."""
    written(tmp_path, "odd.json", {"colour": "red"})
    (tmp_path / "torn.json").write_text("[{")
    with opened() as memory, pytest.raises(InvalidInput, match=r"odd\.json.*torn\.json"):
        memory.import_(tmp_path)


def test_a_bad_line_is_named_and_all_others_come_in(tmp_path):
    """Of an export, plain lines, conversations and sessions; the first lines are named."""
    with opened() as memory:
        for text in ("Ana keeps bees", "Ana sails", "Ana sings"):
            memory.remember(text)
        talk = memory.conversation("trip")
        talk.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
        whole = exported(memory, tmp_path / "e.jsonl")
    torn = [each if each.get("content") not in {"Ana sails", "Ho"} else "{" for each in whole]
    nowhere = [
        each if each.get("content") != "Ho" else {**each, "conversation": 3} for each in whole
    ]
    headless = [each if each.get("type") != "conversation" else "{" for each in whole]
    chat = {"messages": [{"role": "user", "content": "Hi"}]}
    for lines, records, messages, bad in (
        (torn, 3, 1, 3),
        (headless, 5, 2, 1),
        (nowhere, 5, 1, 1),
        ([{"content": "x"}, "{", {"content": "y"}, {"content": "z", "kin": 1}], 2, 0, 2),
        ([chat, "{", chat], 0, 2, 1),
        ([{"role": "user", "content": "Hi"}, 3, {"role": "assistant", "content": "Ho"}], 0, 2, 1),
        ([HEAD, HI, "{", {"role": "assistant", "content": "Ho"}], 0, 2, 1),
        (["{", {"content": "x"}], 1, 0, 1),
        ([{"content": "x"}, *["{"] * 29], 1, 0, 29),
    ):
        path = written(tmp_path, "lines.jsonl", *lines)
        with opened() as memory:
            report = memory.import_(path)
            assert (report.records, report.messages) == (records, messages), lines
            assert f"lines that cannot be read: {bad}" in report.left_out
            assert sum("passed over" in line for line in report.left_out) == min(bad, 20)

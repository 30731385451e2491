"""Law 7: what was erased is nowhere any more, all copies are found, and what stays is listed."""

import json
import os
from pathlib import Path

import pytest
from kept_bytes import coded, holding

from memoranda import Agent, Settings, errors
from memoranda.agent.commands import NEW
from memoranda.model.models import PlaceKind, ToolCall, ToolResult

WORD = "quokkalith"
SAID = f"Ana keeps the {WORD} under floorboard 81723 of the attic"
SIGNED = {"type": "thinking", "thinking": SAID, "signature": "c2lnbmVk"}


@pytest.fixture(autouse=True)
def at_home(tmp_path, monkeypatch):
    """Keep the prompt history in the folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def memory(tmp_path, opened):
    """Ana's memory in a file."""
    return opened(tmp_path / "m.db")


# Chroma saves them with whatever was in the memory of the process; they are cleaned at the end.
INDEX = frozenset({"data_level0.bin", "length.bin"})


def held(folder, *, but=INDEX):
    """Return the files under a folder that hold the word, whatever its case, or in base64."""
    return holding(folder, *coded(WORD), but=but)


def call_tool(memory, name, **arguments):
    """Return what a tool of memory says."""
    (tool,) = (each for each in memory.tools() if each.name == name)
    return tool(**arguments)


def spread(memory, *, tell=True):
    """Let memory, the agent and the application write what was said wherever something is kept."""
    chat = memory.conversation("tour", system=f"You know: {SAID}.")
    chat.add("system", f"Mind that {SAID.upper()}!")
    recalled = memory.recall("what is under the floorboard of the attic?").text
    chat.add("user", f"{recalled}\n\nWhere was it again?")
    found = call_tool(memory, "search_memories", query="floorboard of the attic")
    call = ToolCall("c1", "store_memory", json.dumps({"content": SAID, "tags": ["home"]}))
    chat.add("assistant", "", tool_calls=[call])
    chat.add("tool", str(found), tool_result=ToolResult("c1"))
    chat.add("assistant", f"From memory: {SAID}.")
    chat.add("assistant", f"To repeat it:\n> {SAID}")
    chat.pop()
    items = [SIGNED, {"type": "text", "text": "It is safe."}]
    chat.extend([{"role": "assistant", "content": items}])
    if tell:
        memory.notes.append_history(f"By hand: {SAID}. A second sentence of mine.")
    return chat


@pytest.mark.parametrize("store", ["file", "chroma"])
def test_nothing_of_it_is_left_in_any_place(store, opened, tmp_path):
    """Prompts, blocks of recall, tools, answers, reasoning, notes: each goes whole."""
    memory = opened(tmp_path / "m.db" if store == "file" else f"chroma://{tmp_path}/place")
    fact = memory.remember(SAID, tags=[f"the {WORD}"], metadata={"x": WORD})
    assert memory.search(SAID)[0].record.id == fact.id
    spread(memory)
    assert held(tmp_path) != []
    receipt = memory.forget(fact.id, erase=True)
    assert (receipt.purged, receipt.unpurged, held(tmp_path)) == (True, None, [])
    assert (memory.get(fact.id), memory.records(kind="fact")) == (None, [])
    assert [change.reason for change in memory.history(fact.id)] == ["erased on request"]
    kinds = {place.kind for place in receipt.places}
    assert kinds == set(PlaceKind) - {PlaceKind.SUMMARY}
    (info,) = memory.conversations()
    assert (info.id, info.system) == ("tour", "[erased]")
    chat = memory.conversation(info.id)
    assert [message.content for message in chat.messages] == ["[erased]"] * 6
    assert chat.messages[2].tool_calls == (ToolCall("c1", "store_memory"),)
    assert chat.messages[3].tool_result == ToolResult("c1")
    assert chat.messages[-1].raw is None
    (entry,) = memory.notes.history()
    assert entry.text == "[erased]"
    assert memory.verify() == []
    counted = [each.tokens for each in chat.messages]
    chat.recount()
    assert [each.tokens for each in chat.messages] == counted
    memory.close()
    assert held(tmp_path, but=()) == []


def test_a_conversation_goes_from_all_others(memory, tmp_path):
    """Deleting a conversation takes its words out of what others recalled, and nothing else."""
    memory.conversation("a").add("user", SAID)
    memory.conversation("c").add("user", SAID)
    memory.conversation("d").add("assistant", "Let me know if you need anything else.")
    memory.conversation("a").add("assistant", "Let me know if you need anything else.")
    spread(memory, tell=False)
    receipt = memory.delete_conversation("a", erase=True)
    assert (receipt.conversations, receipt.purged) == (1, True)
    (own, again) = memory.records(session="c") + memory.records(session="d")
    assert set(receipt.independent) == {own.id, again.id}
    assert own.content == SAID
    assert memory.forget(own.id, erase=True).purged
    assert held(tmp_path) == []


def test_a_deleted_user_leaves_no_word(tmp_path, opened):
    """Nor the user's own name; what another says alike, and the notes of others, stay."""
    memory = opened(tmp_path / "m.db", user=f"ana-{WORD}")
    ben = memory.as_user("ben")
    ben.remember("Ben lives in quite another town")
    ben.notes.append_history("Ben had tea")
    before = (ben.records(), ben.notes.read_memory(), ben.notes.history())
    memory.remember("Ben lives in quite another town")
    memory.remember(SAID)
    spread(memory)
    assert ben.admin.users() == [f"ana-{WORD}", "ben"]
    receipt = ben.admin.delete_user(f"ana-{WORD}")
    assert (receipt.purged, receipt.unpurged, held(tmp_path)) == (True, None, [])
    assert (receipt.conversations, receipt.notes >= 1) == (1, True)
    assert [path for path in tmp_path.rglob("*") if WORD in path.name and path.stat().st_size] == []
    assert ben.admin.users() == ["ben"]
    assert (ben.records(), ben.notes.read_memory(), ben.notes.history()) == before
    assert ben.verify() == []


def test_a_short_text_goes_where_memory_wrote_it(memory, tmp_path):
    """Two words are erased from recall and tools, and nowhere else."""
    fact = memory.remember(f"PIN {WORD}")
    chat = memory.conversation("a")
    chat.add("user", f"{memory.recall('which PIN').text}\nSo what?")
    chat.add("assistant", "", tool_calls=[ToolCall("c1", "search_memories", "{}")])
    found = call_tool(memory, "search_memories", query="which PIN")
    chat.add("tool", str(found), tool_result=ToolResult("c1"))
    receipt = memory.forget(fact.id, erase=True)
    assert receipt.purged
    assert [message.content for message in chat.messages] == ["[erased]", "", "[erased]"]
    assert held(tmp_path) == []


def test_no_answer_of_an_agent_without_a_model_tells_it(memory, tmp_path):
    """What it noted, quoted, listed and forgot goes, in this session and in later ones."""
    agent = Agent(memory)
    for said in (
        *(f"I take {WORD}.", "what do I take?", "what do you know about me?", NEW),
        *("what do I take?", "what do you know about me?", f"Forget that I take {WORD}."),
    ):
        agent.process(said)
    chats = [memory.conversation(name) for name in ("chat", "chat-2")]
    told = [each for chat in chats for each in chat.messages if WORD in each.content]
    assert [each.role for each in told].count("assistant") >= 5
    for each in told:
        if each.role == "user":
            assert memory.forget(each.record_id, erase=True).independent == ()
    assert held(tmp_path) == []


def test_what_it_came_from_is_named(opened):
    """Sources in other words are for a person to decide."""
    memory = opened()
    memory.conversation("a").add("user", "Remember that the key is under the blue pot.")
    (fact,) = memory.records(kind="fact")
    (turn,) = memory.records(kind="episode")
    receipt = memory.forget(fact.id, erase=True)
    assert turn.id in {*receipt.likely, *receipt.copies, *receipt.independent}
    assert all(memory.get(each) is not None for each in receipt.likely)


# Users and conversations that are deleted: nowhere listed, and not brought back by anybody


def test_whatever_was_open_raises_and_brings_nobody_back(opened):
    """Memory, conversation and notes of before raise, for good; who opens anew begins empty."""
    owner = opened(user="root")
    memory, agent = owner.as_user("ana"), owner.as_user("ana", agent="planner")
    memory.remember(SAID)
    chat, notes = memory.conversation("trip"), memory.notes
    owner.admin.delete_user("ana")
    anew = owner.as_user("ana")
    for _ in range(2):
        for use in (
            lambda: memory.remember("back"),
            memory.stats,
            memory.consolidate,
            lambda: memory.search("floorboard"),
            lambda: memory.recall("floorboard"),
            lambda: memory.conversation("new"),
            lambda: agent.remember("back"),
            lambda: chat.add("user", "back"),
            lambda: chat.messages,
            lambda: chat.context("floorboard"),
            notes.read_memory,
            lambda: notes.write_memory("- back"),
            lambda: notes.append_history("back"),
            notes.history,
        ):
            with pytest.raises(errors.UserDeleted, match="'ana' was deleted"):
                use()
        anew.remember("new")
    assert [record.content for record in anew.records()] == ["new"]
    assert {hit.record.content for hit in anew.search("what is under the floorboard")} <= {"new"}
    assert anew.conversations() == []
    assert owner.admin.users() == ["ana"]


def test_the_notes_of_others_stay_in_a_shared_folder(tmp_path, opened):
    """Only files of memoranda are removed, and whatever else is in the folder stays."""
    shared = tmp_path / "project"
    chosen = Settings(timezone="UTC", notes={"folder": str(shared)}, user="ana")
    memory = opened(tmp_path / "m.db", settings=chosen)
    memory.remember(SAID)
    memory.notes.append_history_rotated(SAID)
    assert memory.notes.read_memory()
    (shared / "README.md").write_text("mine")
    assert memory.admin.delete_user("ana").notes == 3
    assert sorted(path.name for path in shared.iterdir() if path.suffix) == ["README.md"]


def test_what_stands_in_the_place_of_notes_keeps_nobody_from_deletion(memory, tmp_path):
    """A link, a circle or a pipe goes; a folder stays, and so does what is linked outside."""
    outside = tmp_path / "outside.md"
    outside.write_text("mine")
    for make in (
        lambda path: path.symlink_to(outside),
        lambda path: path.symlink_to(path.name),
        os.mkfifo,
        Path.mkdir,
    ):
        ben = memory.as_user("ben")
        ben.remember(SAID)
        ben.notes.sync()
        (file := ben.notes.folder / "MEMORY.md").unlink()
        make(file)
        memory.admin.delete_user("ben")
        assert "ben" not in memory.admin.users()
        assert os.path.lexists(file) == file.is_dir()
    assert outside.read_text() == "mine"

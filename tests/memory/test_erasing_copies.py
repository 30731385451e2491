"""Law 7: an erasure finds all copies, lists what stays, and leaves nothing."""

import json
from pathlib import Path

import pytest
from byte_search import ByteSearch

from memoranda.model.models import PlaceKind, ToolCall, ToolResult
from memoranda.notes.prompt_history import history_file

WORD = "quokkalith"
SAID = f"Ana keeps the {WORD} under floorboard 81723 of the attic"
SIGNED = {"type": "thinking", "thinking": SAID, "signature": "c2lnbmVk"}


@pytest.fixture(autouse=True)
def at_home(tmp_path, monkeypatch):
    """Keep the prompt history in the folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture(params=["file", "chroma"])
def memory(request, tmp_path, opened):
    """Ana's memory in a file, and in a folder of Chroma's; Ben says the same in it."""
    if request.param == "chroma":
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    place = {"file": tmp_path / "m.db", "chroma": f"chroma://{tmp_path}/place"}[request.param]
    memory = opened(place)
    memory.as_user("ben").remember("Ben lives in quite another town")
    return memory


# Chroma saves them with whatever was in the memory of the process; they are cleaned at the end.
INDEX = frozenset({"data_level0.bin", "length.bin"})


def held(folder, text=WORD, *, but=INDEX):
    """Return the files under a folder that hold a text, as it is or in base64."""
    found = (path for path in sorted(Path(folder).rglob("*")) if path.name not in but)
    paths = [path for path in found if path.is_file()]
    files = [(path.name, path.open("rb")) for path in paths]
    found = ByteSearch([text], coded=True).files(files)
    for _, file in files:
        file.close()
    return sorted(found.get(text, ()))


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
    history_file("ana").parent.mkdir(parents=True, exist_ok=True)
    history_file("ana").write_text(f"\n# 2026-03-01 10:00:00.000000\n+remember that {SAID}\n")
    return chat


def test_nothing_of_it_is_left_in_any_place(memory, tmp_path):
    """Prompts, blocks of recall, tools, answers, reasoning, notes: each goes whole."""
    fact = memory.remember(SAID)
    spread(memory)
    assert held(tmp_path) != []
    receipt = memory.forget(fact.id, erase=True)
    assert (receipt.purged, receipt.unpurged, held(tmp_path)) == (True, None, [])
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
    assert history_file("ana").read_text() == "\n# 2026-03-01 10:00:00.000000\n[erased]\n"
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


def test_a_user_leaves_no_word(memory, tmp_path):
    """After a deletion no file has a word of the user; what another says alike stays."""
    memory.remember(SAID)
    memory.remember("Ben lives in quite another town")
    spread(memory)
    receipt = memory.admin.delete_user("ana")
    assert (receipt.purged, receipt.unpurged, held(tmp_path)) == (True, None, [])
    assert not history_file("ana").exists() or history_file("ana").read_bytes() == b""
    (left,) = memory.as_user("ben").records()
    assert left.content == "Ben lives in quite another town"


def test_many_erasures_leave_nothing_behind(memory, tmp_path):
    """Every erasure is as thorough as the first one: nothing of names or tags is left in rows."""
    for number in range(3):
        fact = memory.remember(f"Zebulon{number} hides the {WORD}{number}", tags=[WORD])
        memory.derive()
        assert memory.forget(fact.id, erase=True).purged
        assert (held(tmp_path), held(tmp_path, f"zebulon{number}")) == ([], [])


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


def test_what_it_came_from_is_named(opened):
    """Sources in other words are for a person to decide."""
    memory = opened()
    memory.conversation("a").add("user", "Remember that the key is under the blue pot.")
    (fact,) = memory.records(kind="fact")
    (turn,) = memory.records(kind="episode")
    receipt = memory.forget(fact.id, erase=True)
    assert turn.id in {*receipt.likely, *receipt.copies, *receipt.independent}
    assert all(memory.get(each) is not None for each in receipt.likely)


def test_a_summary_that_tells_it_goes(tmp_path, opened):
    """A summary in other places than the message is torn, so that nobody makes it again."""
    memory = opened(tmp_path / "m.db")
    fact = memory.remember(SAID)
    chat = memory.conversation("a", summarizer=_Telling(), max_messages=4, keep_recent=2)
    for number in range(12):
        chat.add("user", f"Something else, number {number}")
    chat.prune(60)
    chat.stats()
    receipt = memory.forget(fact.id, erase=True)
    assert {place.kind for place in receipt.places} <= {PlaceKind.SUMMARY}
    assert held(tmp_path) == []


class _Telling:
    """Summarizes everything in one sentence that no message has."""

    def summarize(self, messages):
        del messages
        return f"They said that {SAID}."

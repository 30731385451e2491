"""The command line and MCP give every result in one form."""

import pytest
from mcp_clients import asked, served, value

from memoranda import Memory

DOORS = (
    (("remember", "Ben Ruiz is vegan"), "store_memory", {"content": "Ben Ruiz is vegan"}),
    (("search", "what does Ana eat?"), "search_memories", {"query": "what does Ana eat?"}),
    (
        ("search", "Ana Silva", "--tag", "diet", "--metadata", "n>=1", "--since", "2020-01-01"),
        "search_memories",
        {"query": "Ana Silva", "tags": ["diet"], "metadata": {"n": {"gte": 1}}}
        | {"since": "2020-01-01"},
    ),
    (("recall", "what does Ana eat?"), "recall_context", {"query": "what does Ana eat?"}),
    (("entity", "Ana Silva"), "get_entity_info", {"name": "Ana Silva"}),
    (("notes", "search", "offsite"), "search_history", {"query": "offsite"}),
    (("conversations", "expand", "trip", "cut_0-1"), "expand_messages", {"marker": "cut_0-1"}),
    (("stats",), "memory_stats", {}),
    (("confirm", "FACT"), "confirm_fact", {"memory_id": "FACT"}),
    (
        ("correct", "FACT", "Ana Silva is vegan"),
        "correct_fact",
        {"memory_id": "FACT", "content": "Ana Silva is vegan"},
    ),
    (("forget", "FACT"), "forget_memory", {"memory_id": "FACT"}),
)
LISTS = ("result", "entries", "messages")
"""Under which names lists stand in structured content, which is always an object."""
OWN = {"id", "created_at", "event_time", "at", "newest", "timestamp", "access_count", "score"}
"""What differs between two stores, or from one call to the next."""
WORD = {"last_accessed", "source_role", "origin", "trust", "source_ids", "decay_rate"}
"""Whose word it is: a person's on the command line, an agent's through a tool."""
KEPT_BACK = {"memory_stats": {"vectors"}, "expand_messages": set()}
"""Of whom a model sees a part, and what in it has another value."""


@pytest.fixture
def facts(tmp_path, monkeypatch):
    """Two memories that hold the same, one for each door; return the id of a fact in each."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    found = []
    for door in ("cli", "mcp"):
        (tmp_path / door).mkdir()
        with Memory(tmp_path / door / "agent.db", user="ana") as memory:
            fact = memory.remember("Ana Silva is vegetarian", tags=["diet"], metadata={"n": 1})
            chat = memory.conversation("trip")
            chat.add("user", "Book me something.")
            chat.add("assistant", "Where to?")
            memory.notes.append_history("Chose Lisbon for the offsite.")
            memory.entities()
            found.append(fact.id)
    return found


def neutral(form, fact, left_out=frozenset()):
    """Return a form without what differs between two stores, or by whose word it is."""
    if isinstance(form, list):
        return [neutral(each, fact, left_out) for each in form]
    if isinstance(form, dict):
        return {
            name: "…" if name in OWN else neutral(each, fact, left_out)
            for name, each in form.items()
            if name not in left_out
        }
    return form.replace(fact, "FACT") if isinstance(form, str) else form


@pytest.mark.parametrize(("command", "tool", "arguments"), DOORS, ids=[each[1] for each in DOORS])
def test_both_doors_give_one_form(  # noqa: PLR0917 - its parameters and its memories
    command, tool, arguments, facts, tmp_path, told
):
    """What a tool returns as structured content is what its command prints with --json."""
    ours, theirs = facts
    words = [ours if each == "FACT" else each for each in command]
    given = {name: theirs if each == "FACT" else each for name, each in arguments.items()}
    printed = told("--db", str(tmp_path / "cli" / "agent.db"), "--user", "ana", *words)
    memory = served(tmp_path / "mcp" / "agent.db")
    returned = asked(lambda client: value(client, tool, **given), memory=memory)
    returned = next((each for each in map(returned.get, LISTS) if isinstance(each, list)), returned)
    left_out = WORD | KEPT_BACK.get(tool, set())
    ours, theirs = neutral(printed, ours, left_out), neutral(returned, theirs, left_out)
    assert theirs
    if tool not in KEPT_BACK:
        assert ours == theirs
        return
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, list) else [(ours, theirs)]
    for whole, part in pairs:
        assert part == neutral({name: whole[name] for name in part}, "FACT", {"item"})

"""The command line and MCP give every result in one form."""

from datetime import UTC, datetime

import pytest
from mcp_clients import asked, served, value
from tables import each_row

from memoranda import Memory
from memoranda.testing.clocks import FrozenClock

DOORS = (
    (("remember", "Ben Ruiz is vegan"), "store_memory", {"content": "Ben Ruiz is vegan"}),
    (("search", "what does Ana eat?"), "search_memories", {"query": "what does Ana eat?"}),
    (
        (
            "search",
            "Ana Silva",
            "--tag",
            "diet",
            "--metadata",
            '{"n": {"gte": 1}}',
            "--since",
            "2020-01-01",
        ),
        "search_memories",
        {"query": "Ana Silva", "tags": ["diet"], "metadata": {"n": {"gte": 1}}}
        | {"since": "2020-01-01"},
    ),
    (("recall", "what does Ana eat?"), "recall_context", {"query": "what does Ana eat?"}),
    (("entity", "Ana Silva"), "get_entity_info", {"name": "Ana Silva"}),
    (("notes", "history", "offsite"), "search_history", {"query": "offsite"}),
    (("conversations", "expand", "trip", "cut_0-1"), "expand_messages", {"marker": "cut_0-1"}),
    (("stats",), "memory_stats", {}),
    (("confirm", "FACT"), "confirm_fact", {"memory_id": "FACT"}),
    (
        ("correct", "FACT", "Ana Silva is vegan"),
        "correct_fact",
        {"memory_id": "FACT", "content": "Ana Silva is vegan"},
    ),
    (("forget", "OTHER"), "forget_memory", {"memory_id": "OTHER"}),
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
def ids(tmp_path):
    """Two memories that hold the same, one for each door; return the ids of two facts in each."""
    found = []
    for door in ("cli", "mcp"):
        (tmp_path / door).mkdir()
        # At one moment: of two facts alike the newer is told first.
        clock = FrozenClock(datetime.now(UTC))
        with Memory(tmp_path / door / "agent.db", user="ana", clock=clock) as memory:
            fact = memory.remember("Ana Silva is vegetarian", tags=["diet"], metadata={"n": 1})
            other = memory.remember("Ana Silva is tall")
            chat = memory.conversation("trip")
            chat.add("user", "Book me something.")
            chat.add("assistant", "Where to?")
            memory.notes.append_history("Chose Lisbon for the offsite.")
            memory.entities()
            found.append({"FACT": fact.id, "OTHER": other.id})
    return found


def neutral(form, ids, left_out=frozenset()):
    """Return a form without what differs between two stores, or by whose word it is."""
    if isinstance(form, list):
        return [neutral(each, ids, left_out) for each in form]
    if isinstance(form, dict):
        return {
            name: "…" if name in OWN else neutral(each, ids, left_out)
            for name, each in form.items()
            if name not in left_out
        }
    for name, id_ in ids.items() if isinstance(form, str) else ():
        form = form.replace(id_, name)
    return form


@each_row(("command", "tool", "arguments"), DOORS)
def test_both_doors_give_one_form(command, tool, arguments, *, ids, tmp_path, told):
    """What a tool returns as structured content is what its command prints with --json."""
    ours, theirs = ids
    words = [ours.get(each, each) for each in command]
    given = {
        name: theirs.get(each, each) if isinstance(each, str) else each
        for name, each in arguments.items()
    }
    printed = told("--db", str(tmp_path / "cli" / "agent.db"), "--user", "ana", *words)
    memory = served(tmp_path / "mcp" / "agent.db")
    returned = asked(lambda client: value(client, tool, **given), memory=memory)
    returned = next((each for each in map(returned.get, LISTS) if isinstance(each, list)), returned)
    left_out = WORD | KEPT_BACK.get(tool, set())
    whole, part = neutral(printed, ours, left_out), neutral(returned, theirs, left_out)
    assert part
    if tool not in KEPT_BACK:
        assert whole == part
        return
    pairs = zip(whole, part, strict=True) if isinstance(whole, list) else [(whole, part)]
    for ours, theirs in pairs:
        assert theirs == neutral({name: ours[name] for name in theirs}, {}, {"item"})

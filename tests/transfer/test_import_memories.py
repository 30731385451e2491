"""The memories of mem0 and the graph of the MCP memory server, imported into a memory."""

import json
from datetime import UTC, datetime

import pytest
from file_samples import every
from import_samples import written

from memoranda import Settings
from memoranda.errors import InvalidInput

KEY = "sk-" + "proj-" + "Ab3" * 12
MEMORIES = [
    {
        "id": "m1",
        "memory": "Is vegetarian",
        "hash": "h",
        "metadata": {"source": "chat"},
        "categories": ["food"],
        "created_at": "2026-02-01T08:00:00-08:00",
        "updated_at": None,
        "user_id": "ana",
        "run_id": "r1",
        "score": None,
    },
    {"id": "m2", "memory": "Likes Porto", "user_id": "bob", "created_at": "2026-02-02T08:00:00"},
    {"id": "m3", "memory": "Answers in rhyme", "agent_id": "poet", "role": "assistant"},
    {"id": "m4", "memory": f"The key is {KEY}"},
    {"id": "m1", "memory": "Is vegetarian", "user_id": "ana"},
]
GRAPH = [
    {"type": "relation", "from": "Ana Prado", "to": "Acme", "relationType": "works_at"},
    {
        "type": "entity",
        "name": "Ana Prado",
        "entityType": "person",
        "observations": ["lives in Lisbon", "has a dog", "has a dog"],
    },
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "comment", "text": "x"},
]
FACTS = {"Ana Prado works at Acme", "Ana Prado: lives in Lisbon", "Ana Prado: has a dog"}


def test_a_memory_of_mem0_keeps_its_end(plain, opened, tmp_path):
    """A day ends with the day of the user, a moment at once; then it is found no more."""
    noon, midnight = datetime(2026, 2, 1, 12, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC)
    ends = [
        ({"expiration_date": "2026-02-01"}, midnight),
        ({"expiration_date": "2026-02-01T12:00:00Z"}, noon),
        ({"expiration_date": "2026-02-01T12:00:00"}, noon),
        ({"expiration_date": noon.timestamp()}, noon),
        ({"metadata": {"expiration_date": "2026-02-01"}}, midnight),
        ({"expires_at": "2026-02-01"}, midnight),
        ({"expiration_date": None}, None),
        ({"expiration_date": ""}, None),
    ]
    made = [{"id": n, "memory": f"holiday {n}", **end} for n, (end, _) in enumerate(ends)]
    gone = [{"id": n, "memory": n, "state": n} for n in ("deleted", "archived")]
    report = plain.import_(written(tmp_path / "mem0.json", {"memories": made + gone}))
    assert report.left_out == ("memories that were deleted: 2",)
    found = {each.content: each.valid_until for each in every(plain)}
    assert found == {f"holiday {n}": end for n, (_, end) in enumerate(ends)}
    west = opened(embedder=None, settings=Settings(timezone="America/Los_Angeles"))
    west.import_(written(tmp_path / "mem0.json", made[:1]))
    assert every(west)[0].valid_until == datetime(2026, 2, 2, 8, tzinfo=UTC)


def test_a_knowledge_graph_becomes_facts_with_entities(plain, tmp_path):
    """Observations and relations are sentences; entities keep name and type.

    What ``read_graph`` returns, the whole graph as one object, gives the same facts.
    """
    path = tmp_path / "memory.jsonl"
    path.write_text("\n".join(map(json.dumps, [*GRAPH[1:], GRAPH[0]])))
    report = plain.import_(path)
    assert (report.format, report.records) == ("mcp-memory", 3)
    assert {each.content for each in plain.records(kind="fact")} == FACTS
    assert {each.trust for each in plain.records(kind="fact")} == {"agent"}
    assert report.left_out == ("lines that are neither entity nor relation: 1",)
    ana, acme = plain.entity("Ana Prado"), plain.entity("Acme")
    assert (ana.type, acme.type) == ("person", "organization")
    assert {each.content for each in ana.records} == FACTS
    assert [each.content for each in acme.records] == ["Ana Prado works at Acme"]
    whole = {"entities": GRAPH[1:3], "relations": GRAPH[:1]}
    ben = plain.as_user("ben")
    assert ben.import_(written(tmp_path / "graph.json", whole)).format == "mcp-memory"
    assert {each.content for each in ben.records(kind="fact")} == FACTS


def test_a_bad_item_is_named_and_passed_over(opened, tmp_path, wordless):
    """The report says which item is wrong and why, and all others come in."""
    null = {**GRAPH[1], "name": "Bo", "observations": ["sings", None]}
    for form, good, bad, complaint in (
        ("mem0", 1, [MEMORIES[0], {"id": "x"}], "item 2: memory must be text"),
        ("mem0", 1, [MEMORIES[0], {"id": "x", "memory": " "}], "item 2: memory is empty"),
        ("mem0", 1, [MEMORIES[0], {**MEMORIES[1], "created_at": "then"}], "is not a time"),
        (
            "mem0",
            1,
            [MEMORIES[0], {**MEMORIES[1], "expiration_date": "2026-02-31"}],
            "is not a time",
        ),
        ("mem0", 1, {"results": [MEMORIES[0], 3]}, "results 2: expected an object"),
        (
            "mcp-memory",
            1,
            [GRAPH[0], {"type": "entity", "observations": ["x"]}],
            "item 2: name must be text",
        ),
        ("mcp-memory", 1, [GRAPH[0], {**GRAPH[0], "relationType": None}], "relationType must be"),
        ("mcp-memory", 2, [GRAPH[0], null], "entity Bo: an observation must be text"),
        ("mcp-memory", 1, {"entities": [3], "relations": [GRAPH[0]]}, "entities 1: expected"),
    ):
        memory = opened(embedder=None, settings=wordless)
        report = memory.import_(written(tmp_path / "bad.json", bad), form)
        assert report.records == good, complaint
        assert any(complaint in line for line in report.left_out), (complaint, report.left_out)
    with pytest.raises(InvalidInput, match="item 1: memory must be text"):
        memory.import_(written(tmp_path / "no.json", [{"id": "x"}]), "mem0")

"""The Memory Interchange Format: round trips, foreign documents, and its own converter."""

import json
from datetime import UTC, datetime

import pytest

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput

WORDLESS = Settings(embedding={"model": "none"}, timezone="UTC")
END = datetime(2999, 1, 1, tzinfo=UTC)
FOREIGN = {
    "mif_version": "2.1",
    "generator": {"name": "other", "version": "1"},
    "memories": [
        {
            "id": "123e4567-e89b-42d3-a456-426614174000",
            "content": "Prefers dark mode",
            "memory_type": "decision",
            "created_at": "2026-01-15T10:30:00+01:00",
            "tags": ["ui", " "],
            "entities": [{"name": "dark mode", "entity_type": "concept", "confidence": 1.0}],
            "metadata": {"importance": 0.85},
            "embeddings": {"model": "m", "dimensions": 2, "vector": [0.1, 0.2]},
            "source": {"source_type": "user", "session_id": "s"},
            "parent_id": None,
            "version": 3,
            "mood": {"of": "theirs"},
        },
        {
            "id": "234e4567-e89b-42d3-a456-426614174000",
            "content": "user: is it late?",
            "memory_type": "conversation",
            "created_at": "2026-01-16T10:30:00Z",
            "agent_id": "clock",
        },
        {"id": "x", "content": " ", "created_at": "2026-01-16T10:30:00Z"},
        {"id": "y", "content": "Soon", "created_at": "then"},
    ],
    "knowledge_graph": {"entities": [{"id": "e", "name": "Rust"}], "relationships": []},
    "vendor_extensions": {"other": {"activation": 0.7}},
    "theirs": 1,
}


@pytest.fixture
def opened():
    """Open memories in RAM."""
    memories = []

    def start(user="ana"):
        memories.append(Memory(":memory:", user=user, settings=WORDLESS))
        return memories[-1]

    yield start
    for memory in memories:
        memory.close()


def exported(memory, path):
    """Export a memory as MIF; return the document and what was left out."""
    report = memory.export(path, format="mif")
    assert report.format == "mif"
    return json.loads(path.read_text("utf-8")), report.left_out


def fill(memory):
    """Remember something of each kind."""
    memory.remember("Ana is vegetarian", tags=["diet"], metadata={"n": [1]}, confidence=0.7)
    memory.remember("Works in Zürich", role="assistant", valid_until=END, decay_rate=0.1)
    memory.as_user(memory.user, agent="bot").remember("Answers in rhyme")
    memory.remember("Ana likes trains", kind="reflection")
    memory.set_context("mood", "good")
    memory.remember("{}", kind="item", key="k")
    memory.conversation("c").add("user", "hello there")
    memory.correct(memory.remember("Has a cat").id, "Has a dog")


def shown(memory):
    """Return what is known, without ids."""
    names = ("kind", "content", "tags", "agent", "event_time", "valid_until", "confidence")
    names += ("decay_rate", "trust", "source_role")
    rows = []
    for record in memory.records():
        if record.kind not in {"item", "episode"}:
            metadata = {name: it for name, it in record.metadata.items() if name != "mif"}
            # MIF has milliseconds, as a store has.
            rows.append((*(getattr(record, name) for name in names), repr(metadata)))
    return sorted(rows, key=repr)


def test_a_round_trip_keeps_what_is_known(opened, tmp_path):
    """Another memory says the same, and writes the same document; a second import adds nothing."""
    one, other = opened(), opened("eva")
    fill(one)
    document, left_out = exported(one, tmp_path / "one.json")
    assert set(left_out) == {
        f"records of the kind {kind} left out: 1" for kind in ("item", "episode")
    }
    assert [each["content"] for each in document["memories"]].count("Has a cat") == 0
    report = other.import_(tmp_path / "one.json")
    assert (report.format, report.records) == ("mif", 6)
    assert shown(other) == shown(one)
    for memory in (one, other):
        again = memory.import_(tmp_path / "one.json")
        assert (again.records, again.skipped) == (0, 6)
    second, _ = exported(other, tmp_path / "two.json")
    same = ("mif_version", "generator", "memories", "vendor_extensions")
    assert {name: second[name] for name in same} == {name: document[name] for name in same}


def test_a_foreign_document_is_kept_as_it_is(opened, tmp_path):
    """What nobody here knows is written again; what cannot be read keeps out nothing else."""
    memory, path = opened(), tmp_path / "foreign.json"
    path.write_text(json.dumps(FOREIGN))
    report = memory.import_(path)
    assert (report.format, report.facts) == ("mif", 1)
    assert "lines that cannot be read: 2" in report.left_out
    (fact,) = memory.records(kind="fact")
    assert (fact.content, fact.tags, fact.trust) == ("Prefers dark mode", ("ui",), "agent")
    assert fact.event_time == datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
    (episode,) = memory.records(kind="episode")
    assert (episode.content, episode.agent) == ("user: is it late?", "clock")
    written, _ = exported(memory, tmp_path / "again.json")
    (again,) = written["memories"]
    told = FOREIGN["memories"][0]
    assert again == {n: v for n, v in told.items() if n != "embeddings"} | {"tags": ["ui"]} | {
        "agent_id": None,
        "external_id": fact.id,
    }
    assert written["knowledge_graph"] == FOREIGN["knowledge_graph"]
    assert written["vendor_extensions"]["other"] == FOREIGN["vendor_extensions"]["other"]
    assert written["theirs"] == 1
    assert memory.import_(path).records == 0


def test_what_cannot_be_is_refused(opened, tmp_path):
    """Another version, another format, and one conversation as MIF."""
    memory, path = opened(), tmp_path / "old.json"
    path.write_text(json.dumps({"mif_version": "1.0", "memories": [{"content": "x"}]}))
    with pytest.raises(InvalidInput, match=r"old\.json.*MIF of version '1\.0'"):
        memory.import_(path)
    with pytest.raises(InvalidInput, match="format"):
        memory.export(tmp_path / "x", format="xml")
    memory.conversation("c").add("user", "hello there")
    with pytest.raises(InvalidInput, match="format"):
        memory.export(tmp_path / "x", conversation="c", format="mif")
    assert not (tmp_path / "x").exists()


def test_the_converter_of_the_format_reads_our_file(opened, tmp_path):
    """It is valid by the schema, and nothing of it is lost there; its conversions are read here."""
    mif = pytest.importorskip("mif", reason="not installed: pip install 'mif-tools[validate]'")
    memory = opened()
    fill(memory)
    document, _ = exported(memory, tmp_path / "ours.json")
    text = (tmp_path / "ours.json").read_text("utf-8")
    assert mif.validate(text) == (True, [])
    read = mif.load(text)
    assert [each.content for each in read.memories] == [
        each["content"] for each in document["memories"]
    ]
    theirs = json.loads(mif.dump(read, format="shodh"))
    assert theirs["vendor_extensions"] == document["vendor_extensions"]
    other = opened("eva")
    (tmp_path / "theirs.json").write_text(json.dumps(theirs))
    assert other.import_(tmp_path / "theirs.json").records == 6
    assert shown(other) == shown(memory)
    (tmp_path / "mem0.json").write_text(mif.convert(text, to_format="mem0"))
    last = opened("bob")
    assert last.import_(tmp_path / "mem0.json").format == "mem0"
    held = {each.content for each in last.as_user("ana").records(kind="fact")}
    assert held >= {"Ana is vegetarian", "Works in Zürich"}

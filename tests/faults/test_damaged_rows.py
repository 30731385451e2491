"""Rows that cannot be read: every read goes on without them, and ``verify`` names them."""

import logging
import shutil
from contextlib import ExitStack, closing, suppress

import apsw
import pytest

from memoranda import Memory
from memoranda.errors import MemorandaError
from memoranda.testing.embedders import HashEmbedder

NO_UTF8 = "CAST(x'ff41' AS TEXT)"
FAR = "9000000000000000000"
# How a record is damaged, each in another way.
OF_RECORDS = {
    "content": NO_UTF8,
    "id": NO_UTF8,
    "tags": "'['",
    "metadata": "'[1]'",
    "source_ids": "'{'",
    "kind": "'nonsense'",
    "trust": "'nobody'",
    "event_time": FAR,
    "created_at": "'yesterday'",
    "confidence": "'much'",
}
OF_MESSAGES = {"content": NO_UTF8, "tool_calls": "'['", "timestamp": FAR}
# Bytes in the place of text, each in the newest row of a table.
BYTES = {
    "records": ("id", "agent", "content", "session_id", "origin", "reason", "subject", "closed_at"),
    "messages": ("id", "role", "content", "task", "tokens"),
    "conversations": ("id", "agent", "system", "model", "token_scale"),
    "entities": ("id", "name", "type"),
    "entity_names": ("folded", "name"),
    "sessions": ("session_id", "agent", "noted"),
    "notes_bases": ("agent", "folder"),
    "users": ("name", "revision", "vector_seq"),
    "history": ("reason", "agent"),
}
# What is damaged once each in all rows of the table.
OF_OTHERS = {
    "conversations": f"created_at = {FAR}",
    "history": "detail = '{'",
    "vectors": "embedding = x'0102'",
    "sessions": f"first_seen_at = {FAR}",
    "prunings": "spans = '['",
    "tombstones": "at = 'then'",
    "notes_bases": "lines = '[['",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A database with something in every table, and the facts in it."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(path, user="ana", embedder=HashEmbedder()) as memory:
        return path, fill(memory)


@pytest.fixture
def damage(template, tmp_path):
    """Change the database behind memoranda's back, and open a memory on it; closed in the end."""
    path = tmp_path / "memory.db"
    with ExitStack() as stack:

        def change(*statements):
            shutil.copy(template[0], path)
            with closing(apsw.Connection(str(path))) as connection:
                connection.execute("PRAGMA ignore_check_constraints = ON")
                for sql in statements:
                    connection.execute(sql)
            return stack.enter_context(Memory(path, user="ana", embedder=HashEmbedder()))

        yield change


@pytest.fixture
def kept(template):
    """The facts in the database, of which the last three are never damaged."""
    return template[1]


def fill(memory):
    """Leave something in every table; return the facts."""
    kept = [
        memory.remember(f"Zoe Lund likes tea of kind {number}", tags=["tea"], metadata={"n": 1})
        for number in range(len(OF_RECORDS) + 3)
    ]
    memory.confirm(kept[0].id)
    chat = memory.conversation("trip", system="You plan.")
    for number in range(6):
        chat.add("user", f"We go to Porto on day {number}.")
        chat.add("assistant", f"Day {number} is noted.")
    chat.remove(chat.messages[-1].id)
    chat.prune(max_tokens=60)
    memory.maintain(["consolidate"])
    memory.embed_pending()
    memory.entities()
    return kept


def read_all(memory, folder):
    """Call every verb that reads; return what it gave."""
    for path in folder.glob("*.jsonl"):
        path.unlink()
    return {
        "records": memory.records(),
        "tagged": memory.records(tags=["tea"], metadata={"n": {"gte": 1}}),
        "search": memory.search("Zoe Lund tea", limit=50),
        "search tagged": memory.search("tea", tags=["tea"], metadata={"n": 1}, limit=50),
        "recall": memory.recall("Which tea does Zoe Lund like?"),
        "count": memory.count(),
        "stats": memory.stats(),
        "facts": memory.facts(),
        "sessions": memory.sessions(),
        "entities": memory.entities(),
        "entity": memory.entity("Zoe Lund"),
        "conversations": memory.conversations(),
        "context": memory.conversation("trip").context("Which tea?").messages,
        "export": memory.export(folder / "all.jsonl"),
        "users": memory.admin.users(),
        "usage": memory.usage(),
        "verify": memory.verify(),
    }


def test_every_verb_goes_on_without_damaged_records(kept, damage, tmp_path):
    """Ten records, each damaged in another column, take nothing from the three sound ones."""
    memory = damage(
        *(
            f"UPDATE records SET {column} = {value} WHERE id = '{record.id}'"  # noqa: S608 - a test
            for record, (column, value) in zip(kept, OF_RECORDS.items(), strict=False)
        )
    )
    sound = {record.id for record in kept[-3:]}
    found = read_all(memory, tmp_path) | {"audit": memory.audit(), "upkeep": memory.maintain()}
    for verb in ("records", "tagged"):
        facts = {record.id for record in found[verb] if "tea" in record.tags}
        assert facts == sound, verb
    for verb in ("search", "search tagged"):
        assert {hit.record.id for hit in found[verb] if "tea" in hit.record.tags} == sound, verb
    assert [record.id for record in memory.records(tags=["tea"], limit=2)] == sorted(sound)[:2]
    assert [memory.get(it.id).content for it in kept[-3:]] == [it.content for it in kept[-3:]]
    (line,) = [line for line in found["verify"] if line.startswith("rows of records that cannot")]
    assert f"left out: {len(OF_RECORDS)} (" in line
    assert all(record.id in line for record in kept[2 : len(OF_RECORDS)])
    assert all(f": {column}" in line for column in OF_RECORDS if column not in {"content", "id"})
    assert any("rows of records that" in (check.detail or "") for check in memory.doctor())
    memory.rebuild()  # It derives, and mends nothing else: what cannot be read stays where it is.
    assert line in memory.verify()


def test_damaged_messages_leave_the_others(damage, tmp_path):
    """A transcript is read without its damaged messages, and goes on."""
    memory = damage(
        *(
            f"UPDATE messages SET {column} = {value} WHERE position = {place}"  # noqa: S608 - a test
            for place, (column, value) in enumerate(OF_MESSAGES.items())
        )
    )
    before = memory.stored_conversations.open_existing("trip").messages
    assert min(message.position for message in before if message.position >= 0) == len(OF_MESSAGES)
    read_all(memory, tmp_path)
    memory.conversation("trip").add("user", "And home.")


def test_any_damaged_table_is_read(kept, damage, tmp_path):
    """With every row of a table damaged each verb answers, and ``verify`` tells of the table."""
    for table, change in OF_OTHERS.items():
        memory = damage(f"UPDATE {table} SET {change}")  # noqa: S608 - a test
        if table != "conversations":  # Nothing else is called so meanwhile.
            read_all(memory, tmp_path)
        assert {record.id for record in kept} <= {it.id for it in memory.records()}, table
        found = [line for line in memory.verify() if "erased" not in line]
        assert any(table in line for line in found), table
        memory.close()


def test_one_warning(kept, damage, caplog):
    """However many rows are damaged and however often they are read, they are told of once."""
    memory = damage("UPDATE records SET metadata = '{' WHERE kind = 'fact'")
    with caplog.at_level(logging.WARNING, "memoranda.store"):
        for _ in range(3):
            assert not memory.records(tags=["tea"])
            assert memory.get(kept[0].id) is None
            memory.search("Zoe Lund tea")
    told = [entry.getMessage() for entry in caplog.records if entry.name == "memoranda.store"]
    assert len(told) == 1
    assert "damaged rows are left out; memoranda doctor lists them" in told[0]


def test_bytes_in_the_place_of_text_are_left_out(kept, damage, tmp_path):
    """Whatever column has them: each verb answers, or says in an error of ours what is damaged."""
    for table, columns in BYTES.items():
        for column in columns:
            last = f"WHERE rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608 - a test
            last = "" if table in {"sessions", "notes_bases", "entity_names"} else last
            memory = damage(f"UPDATE OR IGNORE {table} SET {column} = x'ff00' {last}")  # noqa: S608
            found = memory.verify()
            assert any(f"rows of {table} that cannot be read" in line for line in found), column
            with suppress(MemorandaError):
                read_all(memory, tmp_path)
            if table != "users":
                assert len(memory.search("Zoe Lund tea", limit=50)) >= len(kept) - 1, column
            memory.close()


def test_vectors_of_no_possible_length_are_made_anew(damage):
    """Whatever stands in the place of the number of their dimensions."""
    for number in ("0", "-1", "9" * 24, "1e3", "none"):
        name = "name = 'embedding_dimensions'"
        memory = damage(f"UPDATE meta SET value = '{number}' WHERE {name}")  # noqa: S608 - a test
        assert memory.search("Zoe Lund tea", limit=50)
        memory.embed_pending()
        assert not any("vectors" in line for line in memory.verify())
        memory.close()

"""Checking and rebuilding: damage that was planted is found, named and repaired."""

import pytest
from samples import ALL, ANA, BEN, DIMENSIONS, MODEL, User, cut, moment, noted, rows_of, vectors_of
from steps import carry_out, do

from memoranda.errors import NotADatabase, StoreError
from memoranda.model.changes import Retire
from memoranda.model.models import Scope
from memoranda.model.query import IndexVersion
from memoranda.store.sql.database import tables
from memoranda.store.sql.health import MOST_NAMED

# The tables of which each row is made of rows of others.
DERIVED = {
    *("derivations", "vectors", "token_vectors", "record_sources"),
    *("entities", "entity_names", "entity_name_keys", "record_entities"),
}
# What makes the rows of a table unreadable.
UNREADABLE = (
    ("records", "metadata = '{'"),
    ("records", "tags = '['"),
    ("records", "kind = 'nonsense'"),
    ("conversations", "created_at = 'then'"),
    ("messages", "tool_calls = '['"),
    ("prunings", "spans = '['"),
    ("sessions", "first_seen_at = 'then'"),
    ("history", "detail = '{'"),
    ("notes_bases", "lines = '[['"),
)
# Wrong derived rows by what ``verify`` says of them: ``rebuild`` makes these anew.
WRONG = {
    "full-text rows without a record": (
        "INSERT INTO records_fts (rowid, terms) VALUES (9999, '1qghost')"
    ),
    "records missing from the full-text index": "DELETE FROM records_fts WHERE rowid = 1",
    "records neither embedded nor waiting": "DELETE FROM derivations",
    "vectors of the wrong length": "UPDATE vectors SET embedding = x'0102' WHERE record_key = 1",
    "entities that no record mentions": "DELETE FROM record_entities",
    "rows filed under another user": (
        "UPDATE vectors SET user_key = 2, seq = 99 WHERE record_key = 1; "
        "UPDATE record_entities SET entity_key = (SELECT key FROM entities WHERE user_key = 2) "
        "WHERE record_key = 1"
    ),
    "conversations with a wrong number of messages": (
        "UPDATE conversations SET message_count = 7, next_position = 0"
    ),
    "broken foreign keys": (
        "INSERT INTO derivations (record_key, work, user_key) VALUES (9999, 'vectors', 1)"
    ),
    "full-text index": "DELETE FROM records_fts_data WHERE id > 10",
}


@pytest.fixture(autouse=True)
def _index_at_once(monkeypatch):
    """Let no text wait to be indexed, as these tests change the index."""
    monkeypatch.setattr("memoranda.store.sql.record_writes.MOST_WAITING", 1)


@pytest.fixture
def filled(store):
    """A store in which each table holds something, of two users."""
    store.reset_vectors(MODEL, DIMENSIONS)
    one, _ = User(store).remember("Zoe drinks tea", "Dan eats cake")
    User(store, BEN).remember("Zoe cooks")
    User(store).embed([one])
    User(store).open_conversation("trip")
    User(store).say("trip", "Zoe drinks tea", record_id=one.id)
    User(store).prune("trip", cut(0, 0))
    live(store, one.id)
    for agent in (None, "cook"):
        carry_out(store, Scope("ana", agent), [do.keep_notes_base(noted(one))])
    assert store.verify() == []
    return store


def live(store, recalled):
    """Leave a trace of each thing that upkeep and persons do to a memory."""
    (gone,) = User(store).remember("Zoe left", valid_until=moment(1), source_ids=(recalled,))
    User(store).turns("talk", "Eve met Fay")
    carry_out(
        store,
        ANA,
        [
            Retire(gone.id, moment(2), "expired"),
            do.RecordAccess((recalled,), moment(2), "trip"),
            do.merge_entities("Fay", "Eve"),
        ],
    )


def plant(store, sql):
    """Change the database behind the store's back."""
    writer = store._writer.raw
    writer.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
    writer.execute(sql)
    writer.execute("PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF")


def test_wrong_derived_rows_are_found_and_made_anew(path, filled, open_store):
    """Each kind of difference is named by ``verify`` and ``rebuild``, and is gone after it."""
    before = [User(filled, scope).visible()[:4] for scope in (ANA, BEN)]
    filled.close()
    sound = path.read_bytes()
    for problem, sql in WRONG.items():
        path.write_bytes(sound)
        store = open_store()
        plant(store, sql)
        found = store.verify()
        assert any(problem in line for line in found), problem
        assert any(problem in line for line in store.rebuild()), problem
        assert store.verify() == [], problem
        assert store.rebuild() == [], problem
        User(store).link()
        User(store, BEN).link()
        assert [User(store, scope).visible()[:4] for scope in (ANA, BEN)] == before, problem
        for scope, frequency in ((ANA, 1), (BEN, 0)):
            assert len(User(store, scope).holders("tea")[0]) == frequency
            assert User(store, scope).profile("Zoe").mention_count == 1, problem
        fay = User(store).profile("Fay")
        assert (fay.name, fay.aliases) == ("Fay", ("Eve",))
        store.close()


def count_rows(store):
    """Return how many rows the tables hold of which no row is derived."""
    names = [name for name in tables() if name not in DERIVED]
    return {name: store._writer.value(f"SELECT count(*) FROM {name}") for name in names}  # noqa: S608 - a test


def test_a_rebuild_keeps_every_row(filled):
    """A file with one more column is sound: a rebuild loses no row of it."""
    plant(filled, "ALTER TABLE records ADD COLUMN colour TEXT DEFAULT 'red'")
    before = count_rows(filled)
    assert before["records"] == 5
    assert filled.verify() == []
    assert filled.rebuild() == []
    assert count_rows(filled) == before


def test_a_table_that_lacks_something_is_told_with_the_remedy(filled):
    """No read makes up what another program dropped, and a rebuild loses nothing beside it."""
    before = count_rows(filled)
    plant(filled, "ALTER TABLE records DROP COLUMN origin")
    with pytest.raises(StoreError, match=r"no such column: .*origin.* restore a backup"):
        filled.records(ANA, ALL)
    filled.rebuild()
    assert count_rows(filled) == before


def test_rows_that_cannot_be_read_are_named(path, filled, open_store):
    """Each with its table, its id and what is wrong with it."""
    filled.close()
    sound = path.read_bytes()
    for table, change in UNREADABLE:
        path.write_bytes(sound)
        store = open_store()
        plant(store, f"UPDATE {table} SET {change}")  # noqa: S608 - a test
        told = [line for line in store.verify() if line.startswith(f"rows of {table} that cannot")]
        assert [f": {change.partition(' ')[0]} cannot be read" in line for line in told] == [True]
        store.close()


def test_a_read_of_a_damaged_row_says_what_to_do(path, filled, open_store):
    """No row is passed over in silence; taken out, the others are read again."""
    filled.close()
    sound = path.read_bytes()
    for change in ("content = CAST(x'ff' AS TEXT)", "metadata = '{'", "source_ids = '{'"):
        path.write_bytes(sound)
        store = open_store()
        plant(store, f"UPDATE records SET {change} WHERE key = 1")  # noqa: S608 - a test
        with pytest.raises(StoreError, match=r"cannot be read.*memoranda doctor.*reliability\.md"):
            store.records(ANA, ALL)
        assert any("cannot be" in line for line in store.verify())
        plant(store, "DELETE FROM records WHERE key = 1")
        assert len(store.records(ANA, ALL)) == 3
        store.close()


def test_a_rebuild_finds_records_by_sources_and_names_by_keys(filled):
    """What only speeds up a look-up is not checked, and made anew all the same."""
    queries = (
        "SELECT user_key, source_id, record_key FROM record_sources",
        "SELECT user_key, name_key, folded FROM entity_name_keys",
    )

    def read():
        return [sorted(filled._writer.all(sql)) for sql in queries]

    before = read()
    plant(filled, "DELETE FROM record_sources; DELETE FROM entity_name_keys")
    filled.rebuild()
    User(filled).link()
    User(filled, BEN).link()
    assert read() == before
    assert all(before)


def test_a_text_changed_by_hand_is_told(filled):
    """By its hash; what it says is found after a rebuild, which makes up no other hash."""
    plant(filled, "UPDATE records SET content = 'Carl likes juice' WHERE key = 1")
    (line,) = [line for line in filled.verify() if "is not the one that was stored" in line]
    filled.rebuild()
    assert line in filled.verify()
    assert [*map(len, User(filled).holders("juice", "tea"))] == [1, 0]


def test_damage_of_the_file_itself_is_told(path, filled, open_store):
    """Whatever page is overwritten or missing: checking or opening says so; no rebuild helps."""
    filled.purge()  # A free page holds nothing that could be damaged.
    filled.close()
    sound = path.read_bytes()
    pages = range(4096, len(sound), 4096)
    damaged = [sound[:page] + b"\xa5" * 4096 + sound[page + 4096 :] for page in pages]
    damaged += [sound[: int(len(sound) * part)] for part in (0.02, 0.3, 0.6, 0.95)]
    for number, data in enumerate(damaged):
        place = path.with_name(f"{number}.db")
        place.write_bytes(data)
        try:
            store = open_store(place)
            found = store.verify()
            assert found != [], number
            if any(line.startswith("SQLite: ") for line in found):
                with pytest.raises(NotADatabase, match=r"\.recover.*reliability\.md"):
                    store.rebuild()
        except NotADatabase as error:
            assert ".recover" in str(error)  # noqa: PT017 - either way is right


def test_a_backup_opens_as_a_store(path, filled, open_store):
    """A backup is a whole, sound store in one file, equal to the one it was made of.

    The remains of one that was interrupted neither hinder it nor stay.
    """
    target = path.with_name("copy.db")
    path.with_name("copy.db.partial").write_bytes(b"half")
    filled.backup(str(target))
    User(filled).remember("later")
    assert list(path.parent.glob("copy*")) == [target]
    copy = open_store(target)
    assert copy.verify() == []
    assert User(copy).page() == [text for text in User(filled).page() if text != "later"]
    assert User(copy, BEN).everything() == User(filled, BEN).everything()


def test_a_long_list_is_cut(store):
    """A problem names a few examples and says that there are more."""
    User(store).remember(*["tea"] * (MOST_NAMED + 1))
    plant(store, "DELETE FROM records_fts")
    lines = [line for line in store.verify() if "missing" in line]
    assert len(lines) == 1
    assert f"{MOST_NAMED + 1} (" in lines[0]
    assert lines[0].endswith(", …)")


def test_erasing_works_in_a_damaged_store(filled):
    """Erasing does not need the names of entities to be in order."""
    User(filled).remember("Zoe sleeps")
    plant(filled, "DELETE FROM entity_names")
    item = filled.records(ANA, ALL, limit=1)[0]
    User(filled).erase(item)
    assert filled.get(ANA, [item.id]) == {}
    filled.rebuild()
    User(filled).link()
    assert User(filled).profile("Zoe").mention_count == 1


def test_a_check_and_an_index_read_are_of_one_moment(filled, open_store):
    """What is written meanwhile is no problem, and no vector comes without its row."""
    other = User(open_store())
    reader = filled._idle[-1].raw
    seen = []

    def write_meanwhile(_cursor, sql, _values):
        if "SELECT" in sql:
            seen.extend(other.remember(f"Zoe did {len(seen)}"))
            other.embed(seen[-1:])
        return True

    reader.exec_trace = write_meanwhile
    assert filled.verify() == []
    checked = len(seen)
    changes = filled.index_changes(ANA, IndexVersion())
    reader.exec_trace = None
    assert len(seen) > checked > len(WRONG)
    assert vectors_of(changes).keys() <= rows_of(changes).keys()
    later = filled.index_changes(ANA, changes.version)
    assert len(later.rows) == len(vectors_of(later)) > 0

"""Checking and rebuilding: damage that was planted is found, named and repaired."""

import pytest
from former_schema import take_back
from samples import ACTIVE, ALL, ANA, BEN, DIMENSIONS, EXTRACTOR, MODEL, User, cut, moment, placed

from memoranda.errors import NotADatabase
from memoranda.model.actions import (
    Erase,
    KeepNotes,
    MergeEntities,
    ReplaceMessages,
    Retire,
    SplitEntity,
    Touch,
)
from memoranda.model.checks import content_hash
from memoranda.model.models import Scope
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.query import IndexVersion
from memoranda.store.sqlite import salvage

DAMAGE = {
    "full-text rows without a record": (
        "INSERT INTO records_fts (rowid, terms) VALUES (9999, '1qghost')"
    ),
    "records missing from the full-text index": "DELETE FROM records_fts WHERE rowid = 1",
    "vectors without a record": "UPDATE vectors SET record_key = 9999 WHERE record_key = 1",
    "records neither embedded nor waiting": "DELETE FROM derivations",
    "vectors of the wrong length": "UPDATE vectors SET embedding = x'0102' WHERE record_key = 1",
    "vectors filed under another user": (
        "UPDATE vectors SET user_key = 2, seq = 99 WHERE record_key = 1"
    ),
    "entities that no record mentions": "DELETE FROM record_entities WHERE record_key = 1",
    "names that no record uses": (
        "INSERT INTO entity_names SELECT user_key, 'ghost', key, 'Ghost' FROM entities LIMIT 1"
    ),
    "links between two users": (
        "UPDATE record_entities SET entity_key = (SELECT key FROM entities WHERE user_key = 2) "
        "WHERE record_key = 1"
    ),
    "entities without a name": "DELETE FROM entity_names",
    "rows filed under another user": (
        "UPDATE messages SET user_key = 2; UPDATE prunings SET user_key = 2; "
        "UPDATE record_entities SET user_key = 3 - user_key"
    ),
    "messages whose episode is gone": "UPDATE messages SET record_id = 'ep_gone'",
    "records waiting under another user": "UPDATE derivations SET user_key = 2",
    "conversations with a wrong number of messages": "UPDATE conversations SET message_count = 7",
    "conversations whose next place is taken": "UPDATE conversations SET next_position = 0",
    "prunings whose conversation is gone": (
        "INSERT INTO prunings SELECT 99, 'prn_gone', 9999, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, through, spans, 1 FROM prunings LIMIT 1"
    ),
    "tombstones whose conversation is gone": (
        "INSERT INTO tombstones VALUES (99, 'tmb_gone', 9999, 0, 1, 1)"
    ),
    "removed messages whose tombstone is gone": (
        "INSERT INTO removed_messages VALUES (9999, 0, NULL, '{}', 1)"
    ),
    "retired records with vectors": (
        "INSERT INTO derivations (record_key, work, user_key) "
        "SELECT key, 'vectors', user_key FROM records WHERE indexed = 0"
    ),
    "retired records with links": (
        "INSERT INTO record_entities SELECT r.key, e.key, 'zoe', 1 FROM records r, entities e "
        "WHERE r.indexed = 0 AND e.name = 'Zoe' AND e.user_key = r.user_key"
    ),
    "retired records without an end": "UPDATE records SET indexed = 0 WHERE key = 1",
    "records of an impossible strength": "UPDATE records SET strength = 1.5 WHERE key = 2",
    "recalls of what another user has": "UPDATE recalls SET user_key = 2",
    "or nobody": "UPDATE recalls SET record_key = 9999",
    "sessions without episodes": (
        "INSERT INTO sessions (user_key, session_id, agent, first_seen_at) "
        "VALUES (1, 'ghost', '', 1)"
    ),
    "sessions that nothing will consolidate": "DELETE FROM sessions",
    "decisions that lead to other decisions": (
        "INSERT INTO entity_decisions VALUES (1, 'ghost', 'eve')"
    ),
    "names apart that were decided to be one": (
        "UPDATE entity_names SET entity_key = (SELECT key FROM entities WHERE name = 'Dan') "
        "WHERE folded = 'eve'; UPDATE record_entities SET entity_key = "
        "(SELECT key FROM entities WHERE name = 'Dan') WHERE folded = 'eve'"
    ),
    "names together that were decided to stand alone": (
        "UPDATE entity_names SET entity_key = (SELECT key FROM entities WHERE name = 'Dan') "
        "WHERE folded = 'gil'; UPDATE record_entities SET entity_key = "
        "(SELECT key FROM entities WHERE name = 'Dan') WHERE folded = 'gil'; "
        "DELETE FROM entities WHERE name = 'Gil'"
    ),
    "sources filed under another record": "DELETE FROM record_sources",
    "names that are not found under their keys": "DELETE FROM entity_name_keys",
    "damaged row in notes_bases": "UPDATE notes_bases SET lines = '[[' WHERE agent = 'cook'",
    "broken foreign keys": (
        "INSERT INTO derivations (record_key, work, user_key) VALUES (9999, 'vectors', 1)"
    ),
    "records indexed under other terms": (
        "DELETE FROM records_fts WHERE rowid = 1; INSERT INTO records_fts (rowid, terms) "
        "VALUES (1, '1qwrong')"
    ),
    "indexed under other terms": "UPDATE records SET term_count = 77 WHERE key = 1",
    "full-text index": "DELETE FROM records_fts_data WHERE id > 10",
}


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
        store.apply(Scope("ana", agent), [KeepNotes(base_of(one))])
    assert store.verify() == []
    return store


def base_of(*items):
    """Return what is kept of a file with these records."""
    return NotesBase("/notes", tuple(NotedLine(item.id, item.content_hash) for item in items))


def live(store, recalled):
    """Leave a trace of each thing that upkeep and persons do to a memory."""
    (gone,) = User(store).remember("Zoe left", valid_until=moment(1), source_ids=(recalled,))
    User(store).turns("talk", "Eve met Fay", "Gil Moss and Gil")
    store.apply(
        ANA,
        [
            Retire(gone.id, moment(2), "expired"),
            Touch((recalled,), moment(2), "trip"),
            MergeEntities(User(store).entity_id("Fay"), User(store).entity_id("Eve")),
            SplitEntity(User(store).entity_id("Gil"), "Gil"),
        ],
    )


def plant(store, sql):
    """Change the database behind the store's back."""
    writer = store._writer.raw
    writer.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
    writer.execute(sql)
    writer.execute("PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF")


@pytest.mark.parametrize("problem", DAMAGE)
def test_planted_damage_is_found_and_repaired(filled, problem):
    """Each kind of difference is named by ``verify`` and ``rebuild``, which mends it."""
    before = [User(filled, scope).visible()[:4] for scope in (ANA, BEN)]
    plant(filled, DAMAGE[problem])
    assert any(problem in line for line in filled.verify())
    assert any(problem in line for line in filled.rebuild(EXTRACTOR))
    assert filled.verify() == []
    assert filled.rebuild(EXTRACTOR) == []
    assert [User(filled, scope).visible()[:4] for scope in (ANA, BEN)] == before
    for scope, frequency in ((ANA, 1), (BEN, 0)):
        assert list(filled.match_terms(scope, ["tea"], limit=5).frequencies) == [frequency]
        assert User(filled, scope).profile("Zoe").mention_count == 1
    fay, gil = User(filled).profile("Fay"), User(filled).profile("gil")
    assert (fay.name, fay.aliases, gil.name, gil.aliases) == ("Fay", ("Eve",), "Gil", ())


@pytest.mark.parametrize("lost", [False, True])
def test_files_of_before_open(path, filled, open_store, lost):
    """A file of the first schema is brought to the newest, also where it has to be salvaged."""
    chat = User(filled).say("trip", "Book it", "Done")
    filled.apply(ANA, [ReplaceMessages("trip", "tmb_1", moment(3), (chat[0].id,))])
    before = filled.messages(ANA, "trip"), filled.tombstones(ANA, "trip")
    take_back(filled._writer.raw, tables=True)
    filled.close()
    if lost:
        salvage(str(path))
    store = open_store()
    assert not any("filed under another user" in line for line in store.verify())
    assert lost or store.verify() == []
    assert (store.messages(ANA, "trip"), store.tombstones(ANA, "trip")) == before
    assert store.rebuild(EXTRACTOR) == [] or lost
    assert store.verify() == []


def test_counts_are_mended(filled):
    """After a rebuild a conversation has as many messages as it has, and goes on after them."""
    plant(filled, "UPDATE conversations SET message_count = 0, next_position = 0")
    filled.rebuild(EXTRACTOR)
    assert filled.conversations(ANA)["trip"].messages == 1
    said = User(filled).say("trip", "more")
    assert filled.messages(ANA, "trip", last=1) == placed(*said, start=1)
    assert len(filled.prunings(ANA, "trip")) == 1


def test_a_text_changed_by_hand_becomes_the_truth(filled):
    """The text of a record is canonical: index, entities, hash and vector follow it."""
    plant(filled, "UPDATE records SET content = 'Carl likes juice' WHERE key = 1")
    assert any("behind memoranda's back" in line for line in filled.verify())
    filled.rebuild(EXTRACTOR)
    assert filled.verify() == []
    item = filled.records(ANA, ALL, limit=1)[0]
    assert item.content_hash == content_hash("Carl likes juice")
    assert item.content in User(filled).pending()
    assert list(filled.match_terms(ANA, ["juice", "tea"], limit=5).frequencies) == [1, 0]
    assert filled.entities(ANA, ACTIVE, name="Zoe", limit=1) == []
    assert User(filled).profile("Carl").mention_count == 1


def test_damage_of_the_file_itself_is_reported(path, filled, open_store):
    """Whichever page of the file is overwritten, checking says so, or that the file is damaged."""
    filled.close()
    sound = path.read_bytes()
    for page_start in range(4096, len(sound), 4096):
        path.write_bytes(sound[:page_start] + b"\xa5" * 4096 + sound[page_start + 4096 :])
        try:
            store = open_store()
            assert store.verify() != []
            store.close()
        except NotADatabase:
            continue


def test_a_backup_opens_as_a_store(path, filled, open_store):
    """A backup is a whole, sound store in one file, equal to the one it was made of."""
    target = path.with_name("copy.db")
    filled.backup(str(target))
    User(filled).remember("later")
    assert not path.with_name("copy.db-wal").exists()
    copy = open_store(target)
    assert copy.verify() == []
    assert User(copy).page() == [text for text in User(filled).page() if text != "later"]
    assert User(copy, BEN).everything() == User(filled, BEN).everything()


def test_a_backup_left_half_is_made_anew(path, filled):
    """The remains of a backup that was interrupted neither hinder the next nor stay."""
    path.with_name("copy.db.partial").write_bytes(b"half")
    filled.backup(str(path.with_name("copy.db")))
    assert sorted(file.name for file in path.parent.glob("copy*")) == ["copy.db"]


def test_a_rebuild_does_not_touch_what_a_file_says(filled):
    """A line of what was erased stays known through a rebuild: the file may still have it."""
    gone, kept = User(filled).remember("secret", "known")
    filled.apply(ANA, [KeepNotes(base_of(gone, kept)), Erase((gone.id,), moment(1), "asked")])
    filled.purge()
    lines = filled.verify()
    assert [line for line in lines if "/notes" in line and "erased" in line] == lines
    assert filled.rebuild(EXTRACTOR) == lines
    assert filled.notes_bases(ANA)[ANA, "/notes"] == base_of(gone, kept)
    filled.apply(ANA, [KeepNotes(base_of(kept))])
    filled.purge()
    assert filled.verify() == []


def test_a_long_list_is_cut(store):
    """A problem names a few examples and says that there are more."""
    User(store).remember(*["tea"] * 9)
    plant(store, "DELETE FROM records_fts")
    lines = [line for line in store.verify() if "missing" in line]
    assert len(lines) == 1
    assert "9 (" in lines[0]
    assert lines[0].endswith(", …)")


def test_erasing_works_in_a_damaged_store(filled):
    """Erasing does not need the names of entities to be in order."""
    User(filled).remember("Zoe sleeps")
    plant(filled, "DELETE FROM entity_names")
    item = filled.records(ANA, ALL, limit=1)[0]
    filled.apply(ANA, [Erase((item.id,), moment(1), "asked")])
    assert filled.get(ANA, [item.id]) == {}
    filled.rebuild(EXTRACTOR)
    assert User(filled).profile("Zoe").mention_count == 1


def test_a_check_is_of_one_moment(filled, open_store):
    """What is written while a check runs is no problem."""
    other = open_store()
    reader = filled._idle[-1].raw
    turns = iter(range(1_000))

    def write_meanwhile(_cursor, sql, _values):
        if "SELECT" in sql:
            User(other).remember(f"Zoe did {next(turns)}")
        return True

    reader.exec_trace = write_meanwhile
    assert filled.verify() == []
    reader.exec_trace = None
    assert next(turns) > len(DAMAGE)


def test_an_index_read_is_of_one_moment(filled, open_store):
    """A vector that is made while rows are read does not come without its row."""
    other = open_store()
    reader = filled._idle[-1].raw

    def write_meanwhile(_cursor, sql, _values):
        if "FROM vectors" in sql:
            User(other).embed(User(other).remember("Zoe came"))
        return True

    reader.exec_trace = write_meanwhile
    changes = filled.index_changes(ANA, IndexVersion())
    reader.exec_trace = None
    assert set(changes.ordinals) <= {row.ordinal for row in changes.rows}
    later = filled.index_changes(ANA, changes.version)
    assert len(later.rows) == len(later.ordinals) == 1

"""Law 7: after an erasure and a purge the text is nowhere in the files."""

import threading
from types import MappingProxyType

import pytest
from samples import ANA, DIMENSIONS, MODEL, User, cut, insert, moment, record
from steps import carry_out, do

from memoranda.model.changes import Close, Insert, Reinforce, Retire
from memoranda.model.models import Image, Mention, ToolCall
from memoranda.model.notes import NotedLine, NotesBase

WORD = "xylophonquark"
TRACES = (WORD.encode(), WORD.upper().encode(), WORD.capitalize().encode())


def confess(store, *, times=1):
    """Store the secret in every place that holds text; return the ids of its records."""
    if store.vector_model() is None:
        store.reset_vectors(MODEL, DIMENSIONS)
    ids = []
    for number in range(times):
        item = record(
            f"{WORD} {number} is the word of {WORD.capitalize()}",
            tags=(WORD,),
            session_id="s",
            metadata=MappingProxyType({WORD: WORD.upper()}),
            source_role=WORD,
        )
        carry_out(store, ANA, [insert(item)])
        User(store).embed([item])
        User(store).open_conversation("trip")
        User(store).say(
            "trip",
            f"{WORD} again",
            record_id=item.id,
            task=f"About {WORD}",
            images=(Image(f"https://example.org/{WORD}.png"),),
            tool_calls=(ToolCall("c1", "look", WORD.upper()),),
        )
        receipt = User(store).prune("trip", cut(number, number, summary=f"they spoke of {WORD}"))
        carry_out(
            store,
            ANA,
            [do.add_summaries("trip", receipt.id, {number: f"{WORD.capitalize()} again"})],
        )
        carry_out(store, ANA, [Close(item.id, moment(1), f"because of {WORD}")])
        ids.append(item.id)
    return ids


def held(data):
    """Return which traces of the word are in ``data``."""
    return [trace for trace in TRACES if trace in data]


def test_the_look_at_the_files_sees_the_text(store, on_disk):
    """Before an erasure the text is in the files, so that looking there means something."""
    confess(store)
    assert held(on_disk()) == list(TRACES)


@pytest.mark.parametrize("others", [0, 1, 400])
@pytest.mark.parametrize("times", [1, 30])
def test_nothing_is_left_in_the_files(store, on_disk, others, times):
    """Text, terms, tags, names, metadata and messages of what was erased are in no file."""
    User(store).remember(*[f"other text {number} by Dan" for number in range(others)])
    ids = confess(store, times=times)
    User(store).remember(*[f"later text {number} by Dan" for number in range(others)])
    carry_out(store, ANA, [do.erase(tuple(ids), at=moment(2), reason="asked")])
    assert any("erased text may remain" in line for line in store.verify())
    assert store.purge() is None
    assert held(on_disk()) == []
    assert store.verify() == []
    assert store._writer.raw.pragma("freelist_count") == 0
    assert len(User(store).page()) == 2 * others
    store.close()
    assert held(on_disk()) == []


@pytest.mark.parametrize("size", [10, 3_000, 50_000])
def test_nothing_is_left_of_a_summary(store, on_disk, size):
    """A summary that covers an erased message is in no file, nor is one that comes afterwards."""
    item, other = User(store).remember("secret", "known")
    User(store).open_conversation("trip")
    User(store).say("trip", "secret", record_id=item.id)
    User(store).say("trip", "known", record_id=other.id)
    filling = "tea " * size
    User(store).prune("trip", cut(0, 1, summary=f"{filling}{WORD}"), cut(1, 1, summary="known"))
    late = User(store).prune("trip", cut(0, 0))
    assert WORD.encode() in on_disk()
    carry_out(store, ANA, [do.erase((item.id,), at=moment(2), reason="asked")])
    carry_out(store, ANA, [do.add_summaries("trip", late.id, {0: f"{filling}{WORD}"})])
    User(store).prune("trip", cut(0, 1, summary=WORD))
    assert store.purge() is None
    assert held(on_disk()) == []
    told = [[part.summary for part in item.cuts] for item in store.prunings(ANA, "trip")]
    assert told == [[None, "known"], [], [None]]


def test_nothing_is_left_of_a_term_that_others_share_letters_with(store, on_disk):
    """The index keeps no prefix of an erased term that its neighbours would reveal."""
    User(store).remember(f"{WORD[:5]} {WORD[:5]}zz")
    ids = confess(store)
    carry_out(store, ANA, [do.erase(tuple(ids), at=moment(2), reason="asked")])
    store.purge()
    data = on_disk()
    assert held(data) == []
    assert WORD[5:].encode() not in data


def test_a_reader_delays_the_purge(open_store, on_disk):
    """While a reader still sees the old state, purging says no, and so does ``verify``."""
    store = open_store(busy_timeout=0.1)
    ids = confess(store)
    reader = open_store()
    with reader.snapshot():
        assert len(User(reader).page()) == 1
        carry_out(store, ANA, [do.erase(tuple(ids), at=moment(2), reason="asked")])
        assert store.purge() is not None
        assert any("erased text may remain" in line for line in store.verify())
        assert len(User(reader).page()) == 1
    assert store.purge() is None
    assert store.verify() == []
    assert held(on_disk()) == []


def test_an_erasure_during_a_purge_waits_for_the_next(open_store):
    """A purge answers only for what was erased before it began."""
    store, other = open_store(), open_store()
    ids = confess(store, times=2)
    carry_out(store, ANA, [do.erase((ids[0],), at=moment(2), reason="asked")])
    done = threading.Event()

    def erase_meanwhile(_cursor, sql, _values):
        if sql.startswith("VACUUM") and not done.is_set():
            done.set()
            carry_out(other, ANA, [do.erase((ids[1],), at=moment(3), reason="asked")])
        return True

    store._writer.raw.exec_trace = erase_meanwhile
    store.purge()
    store._writer.raw.exec_trace = None
    assert done.is_set()
    assert any("erased text may remain" in line for line in store.verify())
    assert store.purge() is None
    assert store.verify() == []


def test_a_purge_in_memory(open_store):
    """A database in memory is purged, too."""
    store = open_store(":memory:")
    ids = confess(store)
    carry_out(store, ANA, [do.erase(tuple(ids), at=moment(2), reason="asked")])
    assert store.purge() is None
    assert store.verify() == []
    assert WORD.encode() not in bytes(store._writer.raw.serialize("main"))


def test_a_backup_after_the_purge_holds_nothing(path, store, on_disk):
    """A backup made after a purge holds no trace either."""
    ids = confess(store)
    carry_out(store, ANA, [do.erase(tuple(ids), at=moment(2), reason="asked")])
    store.purge()
    target = path.with_name("memory.db.copy")
    store.backup(str(target))
    assert held(on_disk()) == []


def test_a_name_that_only_the_erased_record_had(store, on_disk):
    """The spelling of a name goes with the last record that used it."""
    User(store).remember("Zoe sings")
    gone = record("about her")
    mention = Mention(f"Zoe {WORD}", "other", 0, 5)
    carry_out(store, ANA, [Insert(gone, (mention,))])
    carry_out(store, ANA, [do.erase((gone.id,), at=moment(1), reason="asked")])
    store.purge()
    assert held(on_disk()) == []
    assert User(store).profile("zoe").name == "Zoe"


@pytest.mark.parametrize("retired", [False, True])
def test_a_name_on_which_a_person_decided(store, on_disk, retired):
    """A name that only the erased record had goes from decisions, too, as alias and as target."""
    gone, other, _ = User(store).remember(f"Zoe {WORD.capitalize()}", "Dan Moss", "Eve Moss")
    whole, part = (User(store).entity_id(name) for name in (f"zoe {WORD}", "dan moss"))
    carry_out(
        store, ANA, [do.merge_entities(whole, part), do.RecordAccess((gone.id,), moment(1), "trip")]
    )
    carry_out(store, ANA, [do.merge_entities(whole, User(store).entity_id("eve moss"))])
    carry_out(store, ANA, [Reinforce(other.id, moment(1), (gone.id,))])
    if retired:
        carry_out(store, ANA, [Retire(gone.id, moment(1), "faded away")])
    carry_out(store, ANA, [do.erase((gone.id,), at=moment(2), reason="asked")])
    assert store.purge() is None
    assert held(on_disk()) == []
    assert User(store).found(other).source_ids == ()
    assert store.verify() == []
    assert User(store).entity_id("dan moss") == User(store).entity_id("eve moss")


def test_a_digest_goes_with_the_line_of_the_notes(store, on_disk):
    """By a digest a guess can be tested: once the notes are written anew, none is in any file."""
    gone, kept = User(store).remember(WORD, "tea")
    digest = gone.content_hash.encode()
    lines = [NotedLine(item.id, item.content_hash) for item in (gone, kept)]
    carry_out(store, ANA, [do.keep_notes_base(NotesBase("/notes", tuple(lines)))])
    carry_out(store, ANA, [do.erase((gone.id,), at=moment(1), reason="asked")])
    assert store.purge() is None
    assert digest in on_disk()
    carry_out(store, ANA, [do.keep_notes_base(NotesBase("/notes", (lines[1],)))])
    assert any("erased text may remain" in line for line in store.verify())
    assert store.purge() is None
    assert digest not in on_disk()
    assert store.verify() == []


def test_notes_written_anew_ask_for_no_purge_in_vain(store):
    """Lines that go while their records stay leave nothing to clean."""
    one, two = User(store).remember("one", "two")
    lines = [NotedLine(item.id, item.content_hash) for item in (one, two)]
    carry_out(store, ANA, [do.keep_notes_base(NotesBase("/notes", tuple(lines)))])
    carry_out(store, ANA, [Close(one.id, moment(1), "forgotten")])
    carry_out(store, ANA, [do.keep_notes_base(NotesBase("/notes", (lines[1],)))])
    assert store.verify() == []

"""Law 7: after an erasure and a purge the text is nowhere in the files."""

import threading
from types import MappingProxyType

import pytest
from samples import DIMENSIONS, MODEL, User, cut, moment, noted
from steps import do

from memoranda.model.changes import Close, Reinforce, Retire
from memoranda.model.models import Image, ToolCall

WORD = "xylophonquark"
TRACES = (WORD.encode(), WORD.upper().encode(), WORD.capitalize().encode())


def confess(store, *, times=1, filling=""):
    """Store the secret in every place that holds text; return the ids of its records."""
    if store.vector_model() is None:
        store.reset_vectors(MODEL, DIMENSIONS)
    ana, ids = User(store), []
    ana.open_conversation("trip")
    for number in range(times):
        (item,) = ana.remember(
            f"{WORD} {number} is the word of {WORD.capitalize()}",
            tags=(WORD,),
            session_id="s",
            metadata=MappingProxyType({WORD: WORD.upper()}),
            source_role=WORD,
        )
        ana.embed([item])
        ana.say(
            "trip",
            f"{WORD} again",
            record_id=item.id,
            task=f"About {WORD}",
            images=(Image(f"https://example.org/{WORD}.png"),),
            tool_calls=(ToolCall("c1", "look", WORD.upper()),),
        )
        ana.prune("trip", cut(number, number, summary=f"{filling}they spoke of {WORD}"))
        ana.apply(Close(item.id, moment(1), f"because of {WORD}"))
        ids.append(item.id)
    return ids


def erase(store, *ids, at=2):
    """Erase records."""
    User(store).apply(do.erase(ids, at=moment(at), reason="asked"))


def held(data):
    """Return which traces of the word are in ``data``."""
    return [trace for trace in TRACES if trace in data]


def unclean(store):
    """Return whether ``verify`` tells that a purge is due."""
    return any("erased text may remain" in line for line in store.verify())


@pytest.mark.parametrize(("others", "times"), [(0, 1), (1, 30), (400, 1), (400, 30)])
def test_nothing_is_left_in_the_files(path, store, on_disk, others, times):
    """Text, terms, tags, names, metadata, messages, summaries: no byte is in a file or a backup.

    Nor does the full-text index keep the rest of a term whose beginning others share.
    """
    ana = User(store)
    ana.remember(*[f"other text {number} by Dan" for number in range(others)])
    ana.remember(f"{WORD[:5]} {WORD[:5]}zz")
    ids = confess(store, times=times, filling="tea " * (50_000 if times == 1 else 10))
    ana.remember(*[f"later text {number} by Dan" for number in range(others)])
    assert held(on_disk()) == list(TRACES)
    erase(store, *ids)
    assert unclean(store)
    assert store.purge() is None
    store.backup(str(path.with_name("memory.db.copy")))
    data = on_disk()
    assert (held(data), WORD[5:].encode() in data) == ([], False)
    assert store.verify() == []
    assert store._writer.raw.pragma("freelist_count") == 0
    assert len(ana.page()) == 2 * others + 1
    store.close()
    assert held(on_disk()) == []


def test_a_reader_delays_the_purge(open_store, on_disk):
    """While a reader still sees the old state, purging says no, and so does ``verify``."""
    store = open_store(busy_timeout=0.1)
    ids = confess(store)
    reader = open_store()
    with reader.snapshot():
        assert len(User(reader).page()) == 1
        erase(store, *ids)
        assert store.purge() is not None
        assert unclean(store)
        assert len(User(reader).page()) == 1
    assert store.purge() is None
    assert store.verify() == []
    assert held(on_disk()) == []


def test_an_erasure_during_a_purge_waits_for_the_next(open_store):
    """A purge answers only for what was erased before it began."""
    store, other = open_store(), open_store()
    ids = confess(store, times=2)
    erase(store, ids[0])
    done = threading.Event()

    def erase_meanwhile(_cursor, sql, _values):
        if sql.startswith("VACUUM") and not done.is_set():
            done.set()
            erase(other, ids[1], at=3)
        return True

    store._writer.raw.exec_trace = erase_meanwhile
    store.purge()
    store._writer.raw.exec_trace = None
    assert done.is_set()
    assert unclean(store)
    assert store.purge() is None
    assert store.verify() == []


def test_a_purge_in_memory(open_store):
    """A database in memory is purged, too."""
    store = open_store(":memory:")
    erase(store, *confess(store))
    assert store.purge() is None
    assert store.verify() == []
    assert WORD.encode() not in bytes(store._writer.raw.serialize("main"))


@pytest.mark.parametrize("retired", [False, True])
def test_a_name_on_which_a_person_decided(store, on_disk, retired):
    """A name that only the erased record had goes from decisions, too, as alias and as target."""
    ana = User(store)
    gone, other, _ = ana.remember(f"Zoe {WORD.capitalize()}", "Dan Moss", "Eve Moss")
    ana.apply(
        do.merge_entities(f"zoe {WORD}", "dan moss"),
        do.RecordAccess((gone.id,), moment(1), "trip"),
        do.merge_entities(f"zoe {WORD}", "eve moss"),
    )
    ana.apply(Reinforce(other.id, moment(1), (gone.id,)))
    if retired:
        ana.apply(Retire(gone.id, moment(1), "faded away"))
    erase(store, gone.id)
    assert store.purge() is None
    assert held(on_disk()) == []
    assert ana.found(other).source_ids == ()
    assert store.verify() == []
    assert ana.entity_id("dan moss") == ana.entity_id("eve moss")


def test_a_digest_goes_with_the_line_of_the_notes(store, on_disk):
    """By a digest a guess can be tested: purged once the notes are written anew, none is left."""
    ana = User(store)
    gone, kept, closed = ana.remember(WORD, "tea", "cake")
    digest = gone.content_hash.encode()
    ana.apply(do.keep_notes_base(noted(gone, kept, closed)))
    ana.close(closed)
    ana.apply(do.keep_notes_base(noted(gone, kept)))
    erase(store, gone.id)
    assert store.purge() is None
    assert digest in on_disk()
    ana.apply(do.keep_notes_base(noted(kept)))
    assert store.purge() is None
    assert digest not in on_disk()
    assert store.verify() == []

"""Checks and repairs of the Chroma store on bare rows: planted damage is found and mended."""

from dataclasses import replace

import pytest

from memoranda.model.actions import (
    Append,
    Erase,
    Insert,
    KeepNotes,
    OpenConversation,
    Prune,
    PutVectors,
)
from memoranda.model.models import ConversationInfo, Kind, Mention, Message
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.store.chroma import health, notes, queue, reading
from memoranda.store.chroma.actions import apply
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.rows import Decided, Facts, Progress, Thing
from memoranda.store.chroma.state import State
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    DIMENSIONS,
    EXTRACTOR,
    MODEL,
    PLANNER,
    cut,
    insert,
    moment,
    pruning,
    record,
    vector,
)

NAMES, ANALYZER = PlainNames(), WordAnalyzer()
FACTS = Facts(model=MODEL, dimensions=DIMENSIONS, generation=1)


class Rows:
    """The rows of Ana, which are changed, checked and mended."""

    def __init__(self):
        """Hold nothing."""
        self.state = State("ana", NAMES)
        self.changes = {}

    def _change(self, work):
        self.state.begin()
        found = work(Transaction(self.state, ANA, NAMES, ANALYZER, FACTS))
        self.changes = dict(self.state.changes())
        self.state.keep()
        return found

    def apply(self, *plan):
        """Carry out a plan."""
        self._change(lambda tx: apply(tx, plan))

    def plant(self, *rows):
        """Put rows behind everybody's back."""
        for row in rows:
            self.state.put(row)
        self.state.keep()

    def problems(self):
        """Return what is wrong."""
        return health.problems(self.state, analyzer=ANALYZER, generation=FACTS.generation)

    def rebuild(self):
        """Derive anew what can be derived; return what was wrong."""
        return self._change(lambda tx: health.rebuilt(tx, EXTRACTOR))


def filled():
    """Return rows of every kind, all of them sound."""
    rows = Rows()
    said = record("Zoe met Dan", kind=Kind.EPISODE, session_id="s")
    rows.apply(
        insert(said),
        OpenConversation(ConversationInfo(id="trip", created_at=moment(1))),
        Append(
            "trip",
            Message(
                id="msg_1",
                role="user",
                content=said.content,
                timestamp=moment(1),
                tokens=1,
                record_id=said.id,
            ),
        ),
        Prune("trip", pruning(cut(0, 0), id="prn_1")),
    )
    rows.apply(insert(record("Zoe Lopez sings")), insert(record("Eve")))
    rows.apply(PutVectors(MODEL, {said.id: vector(1, 0, 0, 0)}))
    assert rows.problems() == []
    return rows


def _first(rows):
    return next(iter(rows.state.records.values()))


def _item(rows, **fields):
    row = _first(rows)
    return replace(row, record=replace(row.record, **fields))


def _elsewhere(rows, table, **fields):
    (row,) = table(rows.state).values()
    return replace(row, **fields)


DAMAGE = {
    "entities that no record mentions": lambda _: Thing(
        id="ent_x", number=99, name="Bob", type="other", names=(("bob", "Bob"),)
    ),
    "names that no record uses": lambda rows: replace(
        thing := next(iter(rows.state.things.values())), names=(*thing.names, ("bob", "Bob"))
    ),
    "links to entities that are not there": lambda rows: replace(
        _first(rows), links=(*_first(rows).links, ("ent_gone", "zoe"))
    ),
    "messages whose episode is gone": lambda rows: replace(
        said := next(iter(rows.state.messages.values())),
        message=replace(said.message, record_id="ep_gone"),
    ),
    "entities without a name": lambda rows: replace(
        next(iter(rows.state.things.values())), names=()
    ),
    "conversations whose next place is taken": lambda rows: _elsewhere(
        rows, lambda state: state.talks, next_position=0
    ),
    "messages whose conversation is gone": lambda rows: _elsewhere(
        rows, lambda state: state.messages, conversation="gone"
    ),
    "prunings whose conversation is gone": lambda rows: _elsewhere(
        rows, lambda state: state.receipts, conversation="gone"
    ),
    "retired records with vectors": lambda rows: replace(
        _item(rows, valid_until=moment(1)), indexed=False, links=()
    ),
    "retired records with links": lambda rows: replace(
        _item(rows, valid_until=moment(1)), indexed=False, generation=-1
    ),
    "retired records without an end": lambda rows: replace(_first(rows), indexed=False),
    "records of an impossible strength": lambda rows: _item(rows, strength=1.5),
    "sessions without episodes": lambda _: Progress(
        session="x", agent=None, first_seen_at=moment(1)
    ),
    "decisions that lead to other decisions": lambda _: (
        Decided(folded="ann", target="bea"),
        Decided(folded="bea", target="cat"),
    ),
    "names apart that were decided to be one": lambda _: Decided(folded="eve", target="dan"),
    "names together that were decided to stand alone": lambda _: Decided(
        folded="zoe", target="zoe"
    ),
    "vectors of a model that was never named": lambda rows: replace(_first(rows), generation=9),
    "records changed behind memoranda's back": lambda rows: _item(rows, content="Carl left"),
    "records indexed under other terms": lambda rows: replace(_first(rows), terms=77),
}


@pytest.mark.parametrize("problem", DAMAGE)
def test_planted_damage_is_found_and_repaired(problem):
    """Each kind of difference is named, named again by a rebuild, and gone after it."""
    rows = filled()
    planted = DAMAGE[problem](rows)
    rows.plant(*(planted if isinstance(planted, tuple) else (planted,)))
    assert any(line.startswith(f"{problem}: ") for line in rows.problems())
    before = rows.state.counters.epoch
    assert any(line.startswith(f"{problem}: ") for line in rows.rebuild())
    assert rows.problems() == []
    assert rows.rebuild() == []
    touched = isinstance(planted, type(_first(rows)))
    assert (rows.state.counters.epoch > before) or not touched


def test_a_session_that_nobody_knows_waits_again():
    """Episodes whose session is not known are registered, from when the first was recorded."""
    rows = filled()
    (known,) = rows.state.sessions.values()
    rows.state.drop(known)
    assert rows.problems() == ["sessions that nothing will consolidate: 1 (s)"]
    rows.rebuild()
    assert list(rows.state.sessions.values()) == [known]


def test_a_text_changed_by_hand_becomes_the_truth():
    """Hash, terms, entities and the waiting for a vector follow the text of a record."""
    rows = filled()
    key = _first(rows).key
    rows.plant(_item(rows, content="Carl likes juice"))
    wrong = rows.rebuild()
    assert wrong[-1] == f"records linked to other entities: 1 ({key})"
    assert queue.pending(rows.state, ANA, 1, limit=1)[0].id == key
    assert reading.profile(rows.state, ANA, "dan", ALL) is None
    assert reading.profile(rows.state, ANA, "carl", ALL).mention_count == 1


def test_a_rebuild_of_what_is_sound_changes_nothing():
    """Without a difference not one row is another, and nobody has to read anew."""
    rows = filled()
    assert rows.rebuild() == []
    assert rows.changes == {}


def test_what_a_slower_extractor_found_stays():
    """Links of an enriched record that this extractor cannot find again are kept."""
    rows = Rows()
    item = record("Zoe has her", attributes={"enriched_at": "2026-01-01T00:00:00Z"})
    mentions = (Mention("Zoe", "other", 0, 3), Mention("her", "other", 8, 11))
    rows.apply(Insert(item, mentions))
    assert rows.rebuild() == []
    assert reading.profile(rows.state, ANA, "her", ALL).mention_count == 1


def test_a_long_list_is_cut():
    """A problem names a few examples, and says how many there are."""
    assert health.report("odd", ["a", "b", "c", "d"]) == ["odd: 4 (a, b, c, …)"]
    assert health.report("odd", []) == []


def test_an_erasure_is_told_until_it_is_purged_and_cleaned():
    """Erased text may be in free space and in notes; each has its line, until it is not."""
    rows, item = Rows(), record("secret")
    rows.apply(insert(item))
    assert notes.base(rows.state, ANA, "/n") is None
    from_notes = NotesBase("/n", (NotedLine(item.id, item.content_hash),))
    rows.apply(KeepNotes(from_notes), Erase((item.id,), moment(1), "asked"))
    assert rows.problems() == [f"/n {health.STILL_NOTED}", health.UNPURGED]
    assert notes.base(rows.state, ANA, "/n") == from_notes
    assert notes.kept(rows.state, ANA) == [(ANA, "/n")]
    assert notes.kept(rows.state, PLANNER) == []
    assert list(rows.state.records) == []

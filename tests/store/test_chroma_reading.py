"""The reads of the Chroma store on bare rows: each equals what a walk through all rows finds."""

import json
from collections import Counter
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import NotFound
from memoranda.model.actions import (
    Append,
    Close,
    Erase,
    OpenConversation,
    Prune,
    PutVectors,
)
from memoranda.model.life import SessionInfo, believed
from memoranda.model.models import ConversationInfo, Kind, Message
from memoranda.model.query import Filter, IndexVersion
from memoranda.model.times import to_ms
from memoranda.store.chroma import life, notes, queue, reading, search, transcripts
from memoranda.store.chroma.actions import apply
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.filters import matching, sees
from memoranda.store.chroma.lexical import Postings, match_terms
from memoranda.store.chroma.rows import Decided, Facts, Progress
from memoranda.store.chroma.state import State
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    DIMENSIONS,
    LATER,
    MODEL,
    PLANNER,
    WRITER,
    cut,
    insert,
    moment,
    pruning,
    record,
    vector,
)

NAMES, ANALYZER = PlainNames(), WordAnalyzer()
FACTS = Facts(model=MODEL, dimensions=DIMENSIONS, generation=1)
SCOPES = (ANA, PLANNER, WRITER)
WORDS = ("tea", "cake", "rum", "milk", "rye")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
EXAMPLES = settings(deadline=None, max_examples=60)


class Rows:
    """The rows of Ana, changed as the store does it, and her vectors."""

    def __init__(self):
        """Hold nothing."""
        self.state = State("ana", NAMES)
        self.vectors = {}

    def apply(self, *plan, scope=ANA):
        """Carry out a plan."""
        with self.transaction(scope) as tx:
            apply(tx, plan)

    def transaction(self, scope=ANA):
        """Open a transaction, which is kept when the block ends."""
        return Open(self, scope)

    def remember(self, *contents, scope=ANA, **fields):
        """Store a record for each text, and return them as they are stored."""
        items = [record(content, scope=scope, **fields) for content in contents]
        self.apply(*map(insert, items), scope=scope)
        return [self.state.records[item.id].record for item in items]

    def plant(self, *rows):
        """Put rows behind everybody's back."""
        for row in rows:
            self.state.put(row)
        self.state.keep()

    def fetch(self, ids):
        """Return the vectors of records, as the collection does."""
        return np.stack([self.vectors[each] for each in ids])


class Open:
    """A transaction on rows."""

    def __init__(self, rows, scope):
        """Of a scope."""
        self.rows = rows
        self.tx = Transaction(rows.state, scope, NAMES, ANALYZER, FACTS)

    def __enter__(self):
        """Begin."""
        self.rows.state.begin()
        return self.tx

    def __exit__(self, *error):
        """Keep all of it, or nothing."""
        if error[0]:
            self.rows.state.undo()
        else:
            self.rows.state.keep()
            self.rows.vectors.update(self.tx.vectors)


@pytest.fixture
def rows():
    """No rows yet."""
    return Rows()


# Filters

VALUES = st.sampled_from([0, 1, 1.0, True, False, None, "1", "", [1], [True], [1.0], {"a": [1]}])
ITEMS = st.fixed_dictionaries(
    {
        "content": TEXTS,
        "scope": st.sampled_from(SCOPES),
        "kind": st.sampled_from(Kind),
        "session_id": st.sampled_from(["s", "t", None]),
        "tags": st.sets(st.sampled_from("ab")).map(sorted).map(tuple),
        "attributes": st.dictionaries(st.sampled_from("xy"), VALUES).map(MappingProxyType),
        "event_time": st.integers(0, 9).map(moment),
        "created_at": st.integers(0, 9).map(moment),
        "valid_until": st.none() | st.integers(0, 9).map(moment),
    }
)
TIMES = st.integers(0, 9_000).map(lambda number: moment(number / 1_000))
FILTERS = st.builds(
    Filter,
    now=TIMES,
    as_of=st.none() | TIMES,
    retired=st.booleans(),
    kinds=st.sets(st.sampled_from(Kind), max_size=2).map(tuple),
    session=st.sampled_from([None, None, "s", "gone"]),
    exclude_session=st.sampled_from([None, None, "t"]),
    tags=st.sets(st.sampled_from("ab"), max_size=1).map(tuple),
    metadata=st.dictionaries(st.sampled_from("xy"), VALUES, max_size=1),
    since=st.none() | TIMES,
    until=st.none() | TIMES,
)


def same(held, asked):
    """Return whether two values are equal as JSON; structures by their text."""
    if isinstance(held, list | dict) or isinstance(asked, list | dict):
        return json.dumps(held, sort_keys=True) == json.dumps(asked, sort_keys=True)
    return held == asked and isinstance(held, bool) == isinstance(asked, bool)


def let_through(item, scope, where):
    """Say as plainly as can be whether a record counts."""
    at = where.as_of or where.now
    known = where.as_of is None or to_ms(item.created_at) <= to_ms(at)
    held = where.retired and where.as_of is None
    return (
        sees(scope, item.agent)
        and known
        and (held or item.valid_until is None or to_ms(item.valid_until) > to_ms(at))
        and (not where.kinds or item.kind in where.kinds)
        and (where.session is None or item.session_id == where.session)
        and (where.exclude_session is None or item.session_id != where.exclude_session)
        and set(where.tags) <= set(item.tags)
        and all(
            name in item.attributes and same(item.attributes[name], value)
            for name, value in where.metadata.items()
        )
        and (where.since is None or to_ms(item.event_time) >= to_ms(where.since))
        and (where.until is None or to_ms(item.event_time) < to_ms(where.until))
    )


@given(st.lists(ITEMS, max_size=8), FILTERS, st.sampled_from(SCOPES))
@settings(EXAMPLES, max_examples=200)
def test_a_filter_lets_through_what_it_describes(items, where, scope):
    """All reads with a filter agree with a walk through all records, in order of recording."""
    rows = Rows()
    for item in items:
        rows.remember(item["content"], **{name: item[name] for name in item if name != "content"})
    expected = [row for row in rows.state.records.values() if let_through(row.record, scope, where)]
    assert list(matching(rows.state, scope, where)) == expected
    found = [row.record for row in expected]
    state = rows.state
    assert reading.passing(state, scope, where) == [row.ordinal for row in expected]
    assert reading.latest(state, scope, where) == (found[-1] if found else None)
    assert reading.count(state, scope, where) == Counter(item.kind for item in found)
    assert reading.page(state, scope, where, limit=3, after=None) == found[:3]
    if found:
        after = reading.page(state, scope, where, limit=99, after=found[0].id)
        assert after == found[1:]


def test_a_page_starts_after_what_the_scope_sees(rows):
    """A page after another agent's record is refused, as if there was none."""
    (planned,) = rows.remember("planned", scope=PLANNER)
    for unknown in (planned.id, "fact_nothing"):
        with pytest.raises(NotFound, match=unknown):
            reading.page(rows.state, WRITER, ALL, limit=1, after=unknown)


def test_a_session_is_found_in_order_after_an_undone_erasure(rows):
    """What a failed transaction removed stands again where it stood."""
    items = rows.remember("one", "two", "three", session_id="s", kind=Kind.EPISODE)
    with pytest.raises(NotFound):
        rows.apply(Erase((items[0].id,), moment(1), "asked"), Close("gone", moment(1), "asked"))
    where = Filter(now=LATER, session="s")
    assert [row.record for row in matching(rows.state, ANA, where)] == items
    assert life.episodes(rows.state, ANA, "s", after=-1, limit=9) == items


# Words

QUERIES = st.lists(st.sampled_from((*WORDS, "absent")), max_size=5)


def counted(state):
    """Return the terms of every record, counted."""
    texts = {row.ordinal: row.record.content for row in state.records.values()}
    return {ordinal: Counter(ANALYZER.terms(text)) for ordinal, text in texts.items()}


def by_rarity(held, terms, limit):
    """Return the records to keep: those with the rarest terms, of these the oldest."""
    frequency = {term: sum(term in counts for counts in held.values()) for term in terms}
    kept = []
    for term in sorted(terms, key=lambda term: (frequency[term], term)):
        kept += [ordinal for ordinal in held if term in held[ordinal] and ordinal not in kept]
    return sorted(kept[:limit])


@given(st.lists(TEXTS, max_size=12), QUERIES, st.integers(0, 14))
@EXAMPLES
def test_matches_are_what_counting_gives(texts, terms, limit):
    """Counts, lengths, frequencies and the choice at the limit are those of a plain count."""
    rows = Rows()
    rows.remember(*texts)
    held = counted(rows.state)
    found = match_terms(Postings(rows.state, ANALYZER), terms, limit=limit)
    assert list(found.ordinals) == by_rarity(held, terms, limit)
    assert list(map(list, found.counts)) == [
        [held[ordinal][term] for term in terms] for ordinal in found.ordinals
    ]
    assert list(found.lengths) == [held[ordinal].total() for ordinal in found.ordinals]
    assert list(found.frequencies) == [
        sum(term in counts for counts in held.values()) for term in terms
    ]


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "erase", "close", "undo"]), TEXTS, st.integers(0, 9)),
    max_size=12,
)


@given(STEPS)
@EXAMPLES
def test_postings_that_follow_are_those_made_anew(steps):
    """Whatever comes and goes between two looks, the index is as if it was made just now."""
    rows = Rows()
    followed = Postings(rows.state, ANALYZER)
    for step, text, choice in steps:
        known = list(rows.state.records)
        one = known[choice % len(known)] if known else None
        if step == "add" or one is None:
            rows.remember(text, text)
        elif step == "erase":
            rows.apply(Erase((one,), moment(1), "asked"))
        elif step == "close":
            rows.apply(Close(one, moment(1), "forgotten"))
        else:
            with pytest.raises(NotFound):
                rows.apply(insert(record(text)), Close("gone", moment(1), "asked"))
        if choice % 2:
            followed.follow()
    fresh = Postings(rows.state, ANALYZER)
    answers = [match_terms(each, WORDS, limit=99) for each in (followed, fresh)]
    assert answers[0] == answers[1]
    assert len(answers[0].ordinals) == len(rows.state.records)


def test_counts_stop_at_a_byte(rows):
    """A term that occurs more often than a byte holds counts 255 times; lengths are whole."""
    rows.remember("tea " * 300)
    found = match_terms(Postings(rows.state, ANALYZER), ["tea"], limit=1)
    assert (found.counts, found.lengths) == ([b"\xff"], [300])


# The index of ranking


class Reader:
    """Follows the changes of the index."""

    def __init__(self):
        """Know nothing."""
        self.version, self.rows, self.vectors = IndexVersion(), {}, {}

    def read(self, rows, generation=1):
        """Take in what came."""
        came = search.changes(rows.state, self.version, generation=generation, vectors=rows.fetch)
        if came.reset:
            self.rows, self.vectors = {}, {}
        self.version = came.version
        self.rows.update((row.ordinal, row) for row in came.rows)
        self.vectors.update(zip(came.ordinals, came.vectors.tolist(), strict=True))
        assert set(self.vectors) <= set(self.rows)
        return came


@given(st.lists(st.tuples(st.sampled_from("aecv"), st.integers(0, 9)), max_size=14))
@EXAMPLES
def test_following_the_index_is_reading_it_anew(steps):
    """A reader of changes has the rows and vectors of one that reads all, after any step."""
    rows, reader = Rows(), Reader()
    for step, choice in steps:
        known = list(rows.state.records)
        one = known[choice % len(known)] if known else None
        if step == "a" or one is None:
            rows.remember("tea")
        elif step == "e":
            rows.apply(Erase((one,), moment(1), "asked"))
        elif step == "c":
            rows.apply(Close(one, moment(1), "forgotten"))
        else:
            rows.apply(PutVectors(MODEL, {one: vector(1, 2, 3, choice)}))
        if choice % 2:
            reader.read(rows)
    reader.read(rows)
    fresh = Reader()
    fresh.read(rows)
    assert (reader.rows, reader.vectors) == (fresh.rows, fresh.vectors)
    assert len(reader.rows) == len(rows.state.records)
    again = reader.read(rows)
    assert (list(again.rows), list(again.ordinals)) == ([], [])


def test_another_model_brings_all_anew(rows):
    """Vectors of a former model do not count, and those of the new one come, whatever they had."""
    one, two = rows.remember("one", "two")
    reader = Reader()
    assert search.changes(
        State("ana", NAMES), reader.version, generation=1, vectors=rows.fetch
    ) == (search.NOTHING)
    rows.apply(PutVectors(MODEL, {one.id: vector(1, 0, 0, 0), two.id: vector(0, 1, 0, 0)}))
    assert len(reader.read(rows).ordinals) == 2
    changed = reader.read(rows, generation=2)
    assert (changed.reset, list(changed.ordinals), changed.vectors.shape) == (True, [], (0, 0))
    row = rows.state.records[one.id]
    with rows.transaction() as tx:
        tx.count(vector=tx.counters.vector + 1)
        tx.put(replace(row, vector=tx.counters.vector, generation=2))
    assert list(reader.read(rows, generation=2).ordinals) == [row.ordinal]


def test_who_waits_for_a_vector(rows):
    """Records wait, oldest first, until they have a vector of this very model."""
    items = rows.remember("one", "two", scope=PLANNER) + rows.remember("three", scope=WRITER)
    rows.apply(PutVectors(MODEL, {items[0].id: vector(1, 0, 0, 0)}))
    assert queue.pending(rows.state, ANA, 1, limit=9) == items[1:]
    assert queue.pending(rows.state, WRITER, 1, limit=9) == items[2:]
    assert queue.pending_count(rows.state, PLANNER, 1) == 1
    assert queue.pending(rows.state, ANA, 2, limit=2) == items[:2]


# Entities


def test_entities_are_told_as_far_as_they_are_seen(rows):
    """Counts, aliases and records are those of what the scope sees; so are decisions."""
    rows.remember("Zoe Lopez sings", scope=PLANNER)
    rows.remember("Zoe dances", scope=WRITER)
    rows.plant(Decided(folded="zoe lopez", target="zoe lopez"))
    state = rows.state
    (whole,) = reading.ranked(state, ANA, ALL, type=None, limit=9)
    assert (whole.name, whole.aliases, whole.mention_count) == ("Zoe Lopez", ("Zoe",), 2)
    mine = reading.profile(state, WRITER, "zoe", ALL)
    assert (mine.id, mine.aliases, mine.mention_count) == (whole.id, ("Zoe",), 1)
    assert [item.content for item in mine.records] == ["Zoe dances"]
    assert len(reading.mentioning(state, ANA, ["zoe", "zoe lopez"])) == 2
    assert reading.decisions(state, WRITER) == {}
    assert reading.decisions(state, PLANNER) == {"zoe lopez": "zoe lopez"}


def test_a_profile_has_the_newest_records(rows):
    """Of many records those that happened last are told, and the rest counted."""
    for number in range(30):
        rows.remember(f"Zoe did {number}", event_time=moment(number % 7))
    profile = reading.profile(rows.state, ANA, "zoe", ALL)
    assert profile.mention_count == 30
    stamps = [(item.event_time, item.id) for item in profile.records]
    assert stamps == sorted(stamps, reverse=True)
    assert len(stamps) == reading.PROFILE_RECORDS


# Life


def progress(rows, *values):
    """Plant the progress of agents in one session."""
    rows.plant(
        *(
            Progress(
                session="s",
                agent=agent,
                first_seen_at=moment(seen),
                consolidated_at=None if read else moment(5),
                through=through,
                noted=noted,
            )
            for agent, seen, read, through, noted in values
        )
    )


def test_a_session_waits_for_all_of_its_agents(rows):
    """A session is read as far as the last of those that wait, and pending while one does."""
    progress(rows, (None, 3, False, 7, 2), ("planner", 1, True, 4, 2), ("writer", 2, True, 5, 2))
    every = SessionInfo(id="s", first_seen_at=moment(1), through=4, noted=2)
    assert life.sessions(rows.state, ANA, pending=True) == [every]
    assert life.sessions(rows.state, ANA, exclude="s") == []
    assert life.progress(rows.state, WRITER, "s").through == 5
    assert life.progress(rows.state, ANA, "t") is None
    progress(rows, ("planner", 1, False, 4, 2), ("writer", 2, False, 5, 2))
    done = replace(every, consolidated_at=moment(5), through=7)
    assert life.sessions(rows.state, ANA) == [done]
    assert life.sessions(rows.state, ANA, pending=True) == []


def test_a_session_is_told_as_far_as_of_who_has_more(rows):
    """Only an agent with episodes beyond what is told of it holds back what is told."""
    (hers,) = rows.remember("planned", scope=PLANNER, kind=Kind.EPISODE, session_id="s")
    rows.remember("written", scope=WRITER, kind=Kind.EPISODE, session_id="s")
    progress(rows, ("planner", 1, True, -1, -1), ("writer", 2, True, -1, 1))
    assert life.progress(rows.state, ANA, "s").noted == -1
    rows.apply(Close(hers.id, moment(1), "forgotten"))
    assert life.progress(rows.state, ANA, "s").noted == 1


@given(st.lists(ITEMS, max_size=8), st.sampled_from(SCOPES), st.integers(0, 12))
@EXAMPLES
def test_a_version_tells_sets_of_standing_facts_apart(items, scope, minute):
    """With other facts standing the version is another, also when time alone passed."""
    rows, seen = Rows(), {}
    for item in items:
        rows.remember(item["content"], **{name: item[name] for name in item if name != "content"})
        for now in (moment(minute), moment(minute + 3)):
            found = notes.standing(rows.state, scope, now, 99)
            assert all(believed(each, now) for each in found)
            version = notes.version(rows.state, scope, now)
            assert seen.setdefault(version, found) == found


# Transcripts


def test_a_conversation_is_made_of_its_messages(rows):
    """What is cleared, how many there are and where the view starts follow from the messages."""
    rows.apply(OpenConversation(ConversationInfo(id="trip", created_at=moment(1))))
    said = [
        Message(id=f"msg_{number}", role="user", content="tea", timestamp=moment(number), tokens=1)
        for number in range(4)
    ]
    rows.apply(*(Append("trip", message) for message in said))
    late, early = pruning(cut(0, 0), at=moment(9)), pruning(cut(1, 1), at=moment(8))
    rows.apply(Prune("trip", late), Prune("trip", early))
    rows.plant(replace(rows.state.talks["trip"], cleared=1))
    info = transcripts.conversation(rows.state, ANA, "trip")
    assert (info.messages, info.start, info.cleared_through) == (4, 2, "msg_1")
    for options, ids in (
        ({}, "23"),
        ({"cleared": True}, "0123"),
        ({"cleared": True, "last": 3}, "123"),
        ({"last": 0}, ""),
        ({"after": 2}, "3"),
        ({"cleared": True, "pinned": True}, ""),
    ):
        found = transcripts.messages(rows.state, ANA, "trip", **options)
        assert [message.id for message in found] == [f"msg_{each}" for each in ids]
    assert transcripts.prunings(rows.state, ANA, "trip") == [early, late]
    assert transcripts.conversation(rows.state, ANA, "nothing") is None

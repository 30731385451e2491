"""Replicas of the Chroma store: what is recorded of any plan makes the same rows elsewhere."""

from dataclasses import replace
from datetime import timedelta

import pytest
from analyzers import PlainNames, WordAnalyzer
from effort import examples
from former_schema import take_back
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import (
    ALL,
    ANA,
    DIMENSIONS,
    MODEL,
    cut,
    insert,
    insert_with_message,
    moment,
    named,
    pruning,
    record,
    vector,
)

from memoranda.errors import MemorandaError
from memoranda.model import actions as do
from memoranda.model.models import Calibration, ConversationInfo, Kind, Message, Scope
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.usage import Usage
from memoranda.store.chroma.journal import JournalEntry
from memoranda.store.chroma.replica import MirrorChange, Replica, stamp
from memoranda.store.sql.store import DatabaseStore

NAMES = PlainNames()
SCOPES = (ANA, ANA, Scope("ana", "planner"), Scope("ana", "writer"))
TEXTS = ("Zoe Lopez met Dan", "Zoe sings", "Dan Brown", "tea", "Zoe Moss", "Dan met Eve", "met Eve")
WORDS = ("Zoe", "Dan", "Zoe Lopez", "Eve", "Dan Brown", "Bob")
KINDS = (Kind.FACT, Kind.EPISODE, Kind.CONTEXT)
SESSIONS = ("s", "t", None)
TALKS = ("one", "two")


class Journaled:
    """A replica, and what a journal would keep of it."""

    def __init__(self, replica=None):
        """Hold nothing, with the model of the tests."""
        self.entries, self.touched = [], []
        self.replica = replica or new_replica()
        self._lost = False

    def _keep(self, _replica, entry, touched, _erases):
        """Keep what a transaction changed, unless another was first."""
        if self._lost:
            raise Lost
        self.entries.append(JournalEntry(len(self.entries) + 1, entry.patch, "token"))
        self.touched.append(touched)

    def apply(self, scope, plan, *, lost=False):
        """Carry out a plan, or nothing of it."""
        self._lost, self.replica.keep = lost, self._keep
        try:
            self.replica.apply(scope, plan)
        finally:
            self.replica.keep = None

    def entity(self, name):
        """Return the id of an entity with a name."""
        found = self.replica.entities(ANA, ALL, name=name, limit=1)
        return found[0].id if found else "ent_0"


class ReplicaStore(Replica, DatabaseStore):
    """A replica that is a store of its own."""


class Lost(Exception):
    """Another process was first."""


def new_replica():
    """Return a replica without rows, of the model of the tests."""
    replica = ReplicaStore("ana")
    replica._begin_with(WordAnalyzer(), NAMES)
    with replica.write() as connection:
        stamp(connection, {"embedding_model": MODEL, "embedding_dimensions": str(DIMENSIONS)})
    return replica


def follow(entries, *, mirrored=0):
    """Return a replica that has read entries of a journal."""
    replica = new_replica()
    replica.follow(entries, mirrored=mirrored)
    return replica


def whole(replica):
    """Return everything that a replica holds, in no order, and what is found by words."""
    found = replica.match_terms(ANA, ["zoe", "met", "dan", "tea"], limit=1_000)
    matches = sorted(zip(found.ordinals, found.counts.tolist(), strict=True))
    return sorted(replica.whole()), matches, list(found.frequencies)


# A plan is made of steps (kind, number, number, number); what they mean is the same in each store.


class _Steps:
    """Makes actions of numbers, on the ids that were used before."""

    def __init__(self):
        """Know no id but one that is not there."""
        self.records = ["fact_nothing"]
        self.messages = [("msg_nothing", "one")]
        self.prunings = [("prn_nothing", "one", 0)]
        self.at = 0

    def plan(self, steps):
        """Return functions from the look-up of an entity to an action."""
        made = [getattr(self, kind)(*numbers) for kind, *numbers in steps]
        return [each if callable(each) else lambda _, each=each: each for each in made]

    def _record(self, number):  # The newest first: they shrink to those.
        return self.records[-1 - number % len(self.records)]

    def _at(self, number):
        self.at += 1
        return moment(10_000_000 + 10 * (self.at + number % 5)) + timedelta(microseconds=number)

    def insert(self, a, b, c):
        source = (self._record(b),) if c % 3 == 0 else ()
        item = record(
            TEXTS[a % len(TEXTS)],
            kind=KINDS[b % 3],
            session_id=SESSIONS[c % 3],
            agent=(None, "planner", "writer")[(a + c) % 3 if b % 2 else 0],
            source_ids=source,
            decay_rate=0.1 * (b % 2),
            confidence=1 - 0.5 * (c % 2),
            created_at=self._at(a),
            metadata={"supersedes": 1} if a % 4 == 0 else {},
        )
        if c % 11 == 0:
            item = replace(item, id=self._record(a))
        self.records.append(item.id)
        return insert(item)

    def close(self, a, b, c):
        by = self._record(b) if c % 2 else None
        return do.Close(self._record(a), self._at(b), "x", superseded_by=by)

    def reweigh(self, a, b, c):
        return do.Reweigh(self._record(a), self._at(b), (0.0, 0.5, 1.5)[c % 3], 0.1, "x")

    def touch(self, a, b, c):
        ids = (self._record(a), self._record(b), self._record(a))
        return do.Touch(ids, self._at(c), SESSIONS[c % 3])

    def fade(self, a, b, c):
        item, at = self._record(a), self._at(b)
        return do.Retire(item, at, "x") if c % 3 == 0 else do.Fade(item, at, (0.25, 1.0)[c % 2])

    def credit(self, a, b, c):
        return do.Reinforce(self._record(a), self._at(0), (self._record(b), self._record(c)))

    def supersede(self, a, b, c):
        return do.Supersede(self._record(a), self._record(b), self._at(c), 0.5, "x")

    def enrich(self, a, b, c):
        words = WORDS[b % len(WORDS)], WORDS[c % len(WORDS)]
        return do.Enrich(self._record(a), self._at(b), named(" ".join(words), *words))

    def name(self, a, b, c):
        one, two = WORDS[a % len(WORDS)], WORDS[b % len(WORDS)]
        if c % 3:
            return lambda entity: do.MergeEntities(entity(one), entity(two))
        return lambda entity: do.SplitEntity(entity(one), two)

    def decide(self, a, b, _):
        return do.KeepNameDecision(WORDS[a % len(WORDS)], (*WORDS, " ")[b % 7])

    def consolidated(self, a, b, c):
        if c % 4 == 0:
            return do.AdvanceNotes("st"[a % 2], b % 4)
        after = None if c % 3 else a % 3
        return do.AdvanceSession("st"[a % 2], b % 4, self._at(c), finished=c % 2 == 0, after=after)

    def keep_notes(self, a, b, c):
        lines = tuple(NotedLine(self._record(it), "d", it) for it in (a % 5, b % 5))
        return do.KeepNotes(NotesBase(f"/{c % 2}", lines[: c % 3]))

    def spend(self, a, b, c):
        usage = Usage(requests=a, failures=b, cost=(None, 0.5)[c % 2])
        return do.Spend("reflect", "m", usage, self._at(0))

    def erase(self, a, b, c):
        ids = (self._record(a), self._record(b)) if c % 3 == 0 else (self._record(a),)
        return do.Erase(ids, self._at(c), "asked")

    def put_vectors(self, a, b, c):
        row = vector(1, 0) if c % 9 == 0 else vector(1, 2, 3, 4)
        return do.PutVectors(MODEL, {self._record(a): row, self._record(b): row})

    def open(self, a, b, _):
        info = ConversationInfo(id=TALKS[a % 2], created_at=self._at(b), system=str(b))
        return do.OpenConversation(info)

    def append(self, a, b, c):
        message = Message(
            id=f"msg_{len(self.messages)}",
            role="user",
            content="x",
            timestamp=self._at(c),
            tokens=3,
            record_id=self._record(b) if c % 2 else None,
        )
        self.messages.append((message.id, TALKS[a % 2]))
        return do.Append(TALKS[a % 2], message)

    def mark(self, a, b, c):
        message, talk = self.messages[-1 - b % len(self.messages)]
        chosen = talk if a else "one"
        if c % 3:
            return do.Pin(chosen, message, pinned=bool(c % 2))
        return do.Recount(chosen, {message: c % 5, "msg_nothing": 3})

    def prune(self, a, b, c):
        first, other = b % 4, b % 4 + c % 3 + 1
        cuts = (cut(first, other - 1, summary="sum"), cut(other, other + 1))
        receipt = pruning(*cuts, at=self._at(c))
        self.prunings.append((receipt.id, TALKS[a % 2], first))
        return do.Prune(TALKS[a % 2], receipt)

    def summarize(self, _, b, c):
        chosen, talk, first = self.prunings[-1 - b % len(self.prunings)]
        return do.Summarize(talk, chosen, {first: "told", c % 5: "so"})

    def settle(self, a, b, c):
        talk, learnt = TALKS[a % 2], Calibration(1 + b % 3, b)
        end = do.UpdateConversation(talk, ended_at=self._at(b))
        return (
            do.UpdateConversation(talk, clear=True),
            do.UpdateConversation(talk, calibration=learnt),
            end,
        )[c % 3]


OFTEN = ("insert", "insert", "insert", "open", "append", "append", "erase", "prune", "enrich")
ALL_STEPS = [name for name in vars(_Steps) if not name.startswith("_") and name != "plan"]
NUMBER = st.integers(0, 40)
STEP = st.tuples(st.sampled_from((*ALL_STEPS, *OFTEN)), NUMBER, NUMBER, NUMBER)
PLANS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(STEP, min_size=1, max_size=4)), min_size=1, max_size=25
)
SETUP = [
    ("open", 0, 0, 0),
    ("open", 1, 0, 0),
    *[("insert", number, number + 1, number // 2 + 1) for number in range(4)],
    *[("append", number, number + 1, 1) for number in range(6)],
]
FAILURE = do.Close("fact_nowhere", moment(1), "never")


def carried_out(memory, scope, plan):
    """Return whether a plan could be carried out."""
    try:
        memory.apply(scope, plan)
    except MemorandaError:
        return False
    return True


@settings(max_examples=examples(10))
@given(PLANS)
def test_a_plan_is_carried_out_whole_or_not_at_all(plans):
    """What is refused or lost leaves all as it was; what is kept makes the same rows elsewhere."""
    memory, steps, other = Journaled(), _Steps(), new_replica()
    try:
        for who, step in [(0, SETUP), *plans]:
            plan = [make(memory.entity) for make in steps.plan(step)]
            before, number = whole(memory.replica), len(memory.entries)
            with pytest.raises(MemorandaError):
                memory.apply(SCOPES[who], [*plan, FAILURE])
            assert whole(memory.replica) == before
            with_suppress(memory, SCOPES[who], plan)
            assert whole(memory.replica) == before
            if not carried_out(memory, SCOPES[who], plan):
                assert whole(memory.replica) == before
            other.follow(memory.entries[number:], mirrored=0)
            assert whole(other) == whole(memory.replica)
        anew = follow(memory.entries)
        assert whole(anew) == whole(memory.replica)
        base = follow([JournalEntry(len(memory.entries), memory.replica.whole(), "token")])
        assert whole(base) == whole(memory.replica)
        for replica in (anew, base):
            replica.close()
    finally:
        other.close()
        memory.replica.close()


def with_suppress(memory, scope, plan):
    """Carry out a plan of which another process turns out to be first."""
    try:
        memory.apply(scope, plan, lost=True)
    except (Lost, MemorandaError):
        return


def test_the_number_of_an_erased_record_is_never_given_again():
    """Also in a process that reads the journal later, the next record has a higher ordinal."""
    memory, item = Journaled(), record("tea")
    memory.apply(ANA, [insert(item)])
    (ordinal,) = memory.replica.ordinals(ANA, ALL)
    memory.apply(ANA, [do.Erase((item.id,), moment(1), "asked")])
    base = JournalEntry(2, memory.replica.whole(), "token")
    for entries in (memory.entries, [base]):
        other = Journaled(follow(entries))
        other.apply(ANA, [insert(record("milk"))])
        assert other.replica.ordinals(ANA, ALL)[0] > ordinal


def test_a_journal_of_before_is_read():
    """What an older version has written lacks what migrations added, and is as if it did not."""
    memory, said = Journaled(), record("Zoe met Dan")
    talk = do.OpenConversation(ConversationInfo(id="one", created_at=moment(0)))
    memory.apply(ANA, [talk, *insert_with_message(said, "one")])
    newest = follow([JournalEntry(1, memory.replica.whole(), "token")])
    take_back(memory.replica._writer.raw)
    entry = JournalEntry(1, memory.replica.whole(), "token")
    for mirrored in (0, 1):
        assert whole(follow([entry], mirrored=mirrored)) == whole(newest)


def test_what_other_readers_have_to_be_told():
    """Of each record a plan tells whether it is new, changed, moved or gone; nothing of others."""
    memory, one, two = Journaled(), record("Zoe drinks tea"), record("milk")
    memory.apply(ANA, [insert(one), insert(two)])
    memory.apply(ANA, [do.Touch((one.id,), moment(1), None)])
    memory.apply(ANA, [do.PutVectors(MODEL, {one.id: vector(1, 2, 3, 4)})])
    memory.apply(ANA, [do.Close(two.id, moment(2), "forgotten")])
    memory.apply(ANA, [do.Erase((one.id,), moment(3), "asked")])
    assert memory.touched == [
        {one.id: MirrorChange.NEW, two.id: MirrorChange.NEW},
        {},
        {one.id: MirrorChange.REPLACED},
        {two.id: MirrorChange.CHANGED},
        {one.id: MirrorChange.REPLACED},
    ]
    other = follow(memory.entries[:2], mirrored=2)
    assert other.touched == {}
    other.follow(memory.entries[2:], mirrored=2)
    assert other.touched == {one.id: MirrorChange.REPLACED, two.id: MirrorChange.REPLACED}

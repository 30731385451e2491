"""The actions of the Chroma store on bare rows: all or nothing, and what SQLite does."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput, MemorandaError, NotFound
from memoranda.model import actions as do
from memoranda.model.life import Usage
from memoranda.model.models import Calibration, ConversationInfo, Kind, Message
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.times import to_ms
from memoranda.store.chroma import decisions
from memoranda.store.chroma.actions import apply
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.derivation import copies, derived, resting, versions
from memoranda.store.chroma.rows import Facts, decode, encode
from memoranda.store.chroma.state import State
from memoranda.store.sqlite.store import SqliteStore
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    DIMENSIONS,
    MODEL,
    PLANNER,
    WRITER,
    cut,
    insert,
    moment,
    named,
    pruning,
    record,
    vector,
)

NAMES = PlainNames()
FACTS = Facts(model=MODEL, dimensions=DIMENSIONS, generation=1, analyzer="words-1")
SCOPES = (ANA, ANA, PLANNER, WRITER)
TEXTS = ("Zoe Lopez met Dan", "Zoe sings", "Dan Brown", "tea", "Zoe Moss", "Dan met Eve", "met Eve")
WORDS = ("Zoe", "Dan", "Zoe Lopez", "Eve", "Dan Brown", "Bob")
KINDS = (Kind.FACT, Kind.EPISODE, Kind.CONTEXT)
SESSIONS = ("s", "t", None)
TALKS = ("one", "two")


class Memory:
    """The rows of a user, changed as the store does it."""

    def __init__(self):
        """Hold nothing."""
        self.state = State("ana", NAMES)
        self.other = State("ana", NAMES)  # of another process, which follows

    def apply(self, scope, plan):
        """Carry out a plan, or nothing of it."""
        state = self.state
        state.begin()
        tx = Transaction(state, scope, NAMES, WordAnalyzer(), FACTS)
        try:
            apply(tx, plan)
        except MemorandaError:
            state.undo()
            raise
        self.other.follow(state.changes())
        state.keep()

    def entity(self, name):
        """Return the id of the oldest entity with a name."""
        return decisions.first(self.state, self.state.indexes.things[NAMES.fold(name)]) or "ent_0"


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
            attributes={"supersedes": 1} if a % 4 == 0 else {},
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
        return do.Credit(self._record(a), self._at(0), (self._record(b), self._record(c)))

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
        return do.Decide(WORDS[a % len(WORDS)], (*WORDS, " ")[b % 7])

    def consolidated(self, a, b, c):
        if c % 4 == 0:
            return do.Noted("st"[a % 2], b % 4)
        after = None if c % 3 else a % 3
        return do.Consolidated("st"[a % 2], b % 4, self._at(c), finished=c % 2 == 0, after=after)

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
        end = do.EndConversation(talk, self._at(b))
        return (do.ClearView(talk), do.Calibrate(talk, learnt), end)[c % 3]


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


def tables(state):
    """Return all rows in order, by table."""
    found = defaultdict(list)
    for row in state.rows():
        found[row.table].append(row)
    for table in ("decisions", "sessions", "history", "usage", "notes"):
        found[table].sort(key=lambda row: row.key)  # Their order means nothing.
    found["messages"].sort(key=lambda row: row.conversation)
    return dict(found)


def indexes(state):
    """Return what the indexes hold; of groups whose order counts, in their order."""
    found = state.indexes
    groups = {
        name: {key: sorted(group[key]) for key in group}
        for name, group in vars(found).items()
        if hasattr(group, "add")
    }
    groups |= {
        name: {key: list(vars(found)[name][key]) for key in vars(found)[name]}
        for name in ("talks", "receipts")
    }
    places = {session: found.place(session) for session in found.sessions}
    return groups, dict(sorted(found.ordinals.items())), places


def whole(state):
    """Return everything that a state holds."""
    return tables(state), indexes(state)


def anew(state):
    """Return a state made of the stored text of the rows of another, in no order."""
    rows = sorted(((row.table, encode(row)) for row in state.rows()), key=lambda it: it[1])
    return State(state.user, NAMES, [decode(*each) for each in rows])


def carried_out(store, scope, plan):
    """Return the kind of error that a plan raised, if it did."""
    try:
        store.apply(scope, plan)
    except NotFound:
        return "not found"
    except MemorandaError:
        return "refused"
    return None


@given(PLANS)
@settings(max_examples=60, deadline=None)
def test_a_plan_is_carried_out_whole_or_not_at_all(plans):
    """What is undone is as it was; what is kept is what the rows tell, here and elsewhere."""
    memory, steps = Memory(), _Steps()
    for who, step in [(0, SETUP), *plans]:
        plan = [make(memory.entity) for make in steps.plan(step)]
        before = whole(memory.state)
        with pytest.raises(MemorandaError):
            memory.apply(SCOPES[who], [*plan, FAILURE])
        assert whole(memory.state) == before
        if carried_out(memory, SCOPES[who], plan):
            assert whole(memory.state) == before
        assert whole(memory.state) == whole(anew(memory.state)) == whole(anew(memory.other))
        assert indexes(memory.state) == indexes(memory.other)


PROGRESS = "SELECT session_id, agent, first_seen_at, consolidated_at, through, noted"


class Sqlite:
    """A SQLite store, and a look at its tables."""

    def __init__(self):
        """Open one in memory, with the model of the tests."""
        self.store = SqliteStore(":memory:", analyzer=WordAnalyzer(), names=NAMES)
        self.store.reset_vectors(MODEL, DIMENSIONS)
        self.apply = self.store.apply

    def rows(self, sql):
        """Return what a query gives."""
        with self.store._connections.read() as connection:
            return connection.execute(sql).fetchall()

    def signs(self):
        """Return by what readers know that something changed: of the index, of the notes."""
        standing = self.rows("SELECT agent, epoch FROM standing_epochs ORDER BY 1")
        return self.rows("SELECT sum(index_epoch) FROM users")[0][0] or 0, standing

    def entity(self, name):
        """Return the id of the oldest entity with a name."""
        sql = "SELECT e.id, n.folded FROM entity_names n JOIN entities e ON e.key = n.entity_key"
        rows = self.rows(f"{sql} ORDER BY e.key")
        return next((it for it, folded in rows if folded == NAMES.fold(name)), "ent_0")


def told_by_sqlite(sqlite):
    """Return what SQLite holds of the user."""
    rows, store = sqlite.rows, sqlite.store
    names = defaultdict(set)
    for entity, folded, name in rows("SELECT entity_key, folded, name FROM entity_names"):
        names[entity].add((folded, name))
    ids = [it for (it,) in rows("SELECT DISTINCT record_id FROM history ORDER BY 1")]
    recalls = "SELECT id, c.session_id, at FROM recalls c JOIN records ON key = record_key"
    links = "SELECT id, entity_key, folded FROM record_entities JOIN records ON key = record_key"
    return {
        "records": store.page(ANA, ALL, limit=1_000, after=None),
        "rows": rows("SELECT id, term_count, closed_at, indexed FROM records ORDER BY key"),
        "recalls": sorted(rows(recalls)),
        "links": sorted((it, sorted(names[key]), folded) for it, key, folded in rows(links)),
        "entities": sorted(
            (name, kind, sorted(names[key]))
            for key, name, kind in rows("SELECT key, name, type FROM entities")
        ),
        "decisions": sorted(rows("SELECT folded, target FROM entity_decisions")),
        "sessions": sorted(rows(f"{PROGRESS} FROM consolidations")),
        "history": [(it, store.history(ANA, it)) for it in ids],
        "usage": sum((each.usage for each in store.usage(ANA)), Usage()),
        "notes": sorted(
            (scope.agent or "", folder, store.notes_base(scope, folder))
            for scope, folder in store.notes_kept(ANA)
        ),
        "vectors": sorted(rows("SELECT id FROM vectors JOIN records r ON r.key = record_key")),
        "talks": [
            replace(info, cleared_through=None)
            for info in sorted(store.conversations(ANA), key=lambda info: info.id)
        ],
        "next": rows("SELECT id, agent, next_position FROM conversations ORDER BY id"),
        "messages": [store.messages(ANA, talk, cleared=True) for talk in TALKS],
        "prunings": [store.prunings(ANA, talk) for talk in TALKS],
        "erasures": int(dict(rows("SELECT key, value FROM meta")).get("purge_pending", 0)),
    }


def _kept(value):
    return to_ms(value) if isinstance(value, datetime) else value


def told_by(state):
    """Return the same of rows."""
    talks, held = sorted(state.talks.values(), key=lambda row: row.key), state.records.values()
    return {
        "records": [row.record for row in held],
        "rows": [(row.key, row.terms, _kept(row.closed_at), int(row.indexed)) for row in held],
        "recalls": sorted((row.key, name, to_ms(at)) for row in held for name, at in row.recalls),
        "links": sorted(
            (row.key, sorted(state.things[entity].names), folded)
            for row in held
            for entity, folded in row.links
        ),
        "entities": sorted((it.name, it.type, sorted(it.names)) for it in state.things.values()),
        "decisions": sorted((row.folded, row.target) for row in state.decisions.values()),
        "sessions": sorted(
            (row.session, row.agent or "", *map(_kept, attrgetter(*PROGRESS.split(", ")[2:])(row)))
            for row in state.sessions.values()
        ),
        "history": [(it, list(row.changes)) for it, row in sorted(state.logs.items())],
        "usage": sum((row.usage for row in state.usage.values()), Usage()),
        "notes": sorted(
            (row.agent or "", row.folder, NotesBase(row.folder, row.lines))
            for row in state.notes.values()
        ),
        "vectors": sorted((row.key,) for row in held if row.generation == FACTS.generation),
        "talks": [
            replace(row.info, start=row.cleared + 1, messages=len([*state.indexes.talks[row.key]]))
            for row in talks
        ],
        "next": [(row.key, row.agent, row.next_position) for row in talks],
        "messages": [
            [state.messages[key].message for key in state.indexes.talks[talk]] for talk in TALKS
        ],
        "prunings": [
            sorted(
                (state.receipts[key].pruning for key in state.indexes.receipts[talk]),
                key=lambda item: (item.at, item.id),
            )
            for talk in TALKS
        ],
        "erasures": state.counters.erasures,
    }


@given(PLANS)
@settings(max_examples=50, deadline=None)
def test_rows_are_changed_as_sqlite_changes_them(plans):
    """Any plans do on rows exactly what they do in SQLite, and fail where they fail there."""
    memory, sqlite, steps = Memory(), Sqlite(), _Steps()
    try:
        for who, step in [(0, SETUP), *plans]:
            for make in steps.plan(step):  # Each alone, so that entities are found again.
                before = memory.state.counters, sqlite.signs()
                here = carried_out(memory, SCOPES[who], [make(memory.entity)])
                there = carried_out(sqlite, SCOPES[who], [make(sqlite.entity)])
                assert here == there
                after = memory.state.counters, sqlite.signs()
                assert (before[0].epoch != after[0].epoch) == (before[1][0] != after[1][0])
                assert before[0].standing != after[0].standing or before[1][1] == after[1][1]
            assert told_by(memory.state) == told_by_sqlite(sqlite)
            ids = steps.records[-3:]
            for scope in (ANA, WRITER):
                assert versions(memory.state, scope, ids) == sqlite.store.versions(scope, ids)
                assert copies(memory.state, scope, ids) == sqlite.store.copies(scope, ids)
                assert derived(memory.state, scope, ids) == sqlite.store.derived(scope, ids)
                named = [item.id for item in sqlite.store.resting(scope, ids)]
                assert resting(memory.state, scope, ids) == named
                assert decisions.read(memory.state, scope) == sqlite.store.decisions(scope)
    finally:
        sqlite.store.close()


def test_what_readers_know_is_told_to_have_changed():
    """A vector in place of one raises the epoch, a first one does not; each has a new number."""
    memory = Memory()
    item = record("tea")
    memory.apply(ANA, [insert(item), do.PutVectors(MODEL, {item.id: vector(1, 2, 3, 4)})])
    first, epoch = memory.state.records[item.id], memory.state.counters.epoch
    assert (first.generation, epoch) == (FACTS.generation, 0)
    memory.apply(ANA, [do.PutVectors(MODEL, {item.id: vector(4, 3, 2, 1)})])
    assert memory.state.records[item.id].vector > first.vector
    assert memory.state.counters.epoch > epoch


def test_a_taken_id_is_refused():
    """No second record, message or receipt takes the place of one with its id."""
    memory, item, receipt = Memory(), record("tea"), pruning()
    said = Message(id="msg_1", role="user", content="x", timestamp=moment(1), tokens=3)
    opened = do.OpenConversation(ConversationInfo(id="one", created_at=moment(1)))
    plan = [insert(item), do.Append("one", said), do.Prune("one", receipt)]
    memory.apply(ANA, [opened, *plan])
    before = whole(memory.state)
    for again in plan:
        with pytest.raises(InvalidInput):
            memory.apply(ANA, [again])
        assert whole(memory.state) == before


def test_vectors_of_what_goes_are_not_stored():
    """What is erased or retired in the plan that embeds it leaves no vector to be stored."""
    state, items = State("ana", NAMES), [record("tea"), record("cake"), record("milk")]
    tx = Transaction(state, ANA, NAMES, WordAnalyzer(), FACTS)
    rows = {item.id: vector(1, 2, 3, 4) for item in items}
    gone, retired, kept = items
    apply(tx, [*map(insert, items), do.PutVectors(MODEL, rows)])
    apply(tx, [do.Erase((gone.id,), moment(1), "x"), do.Retire(retired.id, moment(1), "x")])
    assert tx.vectors.keys() == {kept.id}


def test_adding_costs_the_same_however_much_there_is():
    """An insert and an append take no longer with 5,000 others there than with few."""
    memory, steps = Memory(), _Steps()
    memory.apply(ANA, [make(memory.entity) for make in steps.plan(SETUP)])

    def add(number):
        plan = [
            action
            for _ in range(number)
            for action in (
                steps.append(0, 0, 0),
                insert(record("Zoe met Dan", kind=Kind.EPISODE, session_id="s")),
            )
        ]
        start = perf_counter()
        memory.apply(ANA, plan)
        return (perf_counter() - start) / number

    few = min(add(50) for _ in range(5))
    add(5_000)
    assert min(add(50) for _ in range(5)) < 4 * few

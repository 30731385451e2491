"""Laws 4 and 5 on Chroma: processes are killed, broken off and run at once; nothing is lost."""

import json
import os
import random
import signal
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from chroma_server import running
from samples import (
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    EXTRACTOR,
    MODEL,
    User,
    insert_with_message,
    moment,
    record,
    vector,
)

from memoranda.errors import InvalidInput, StoreBusy, StoreError
from memoranda.model.actions import Enrich, Erase, PutVectors, Touch
from memoranda.model.models import Scope
from memoranda.model.query import IndexVersion
from memoranda.store.chroma import client, replicas

CHILDREN = Path(__file__).parent / "chroma_children.py"
pytestmark = pytest.mark.usefixtures("no_settings")
ROUNDS = 2
WRITERS = 4
EACH = 12
NUMBERS = count(1)
PRECISION = 1e-3
"""Of vectors, which are kept in half the precision."""


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory):
    """Give host and port of a server for this file."""
    with running(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(params=["folder", "server"])
def location(request, tmp_path):
    """Give a new folder, and a new database of a server."""
    if request.param == "folder":
        return f"chroma://{tmp_path / 'memory'}"
    return f"chroma+http://{request.getfixturevalue('chroma_server')}/faults-{next(NUMBERS)}"


@pytest.fixture
def database(chroma_server):
    """Give a new database of a server."""
    return f"chroma+http://{chroma_server}/faults-{next(NUMBERS)}"


@pytest.fixture
def opened(children):
    """Open stores in this process; closed after the test."""
    stores = []

    def start(location):
        stores.append(children.open_store(location))
        return stores[-1]

    yield start
    for store in stores:
        store.close()


class Child:
    """Another process at work, and what it tells."""

    def __init__(self, parent, path, *task):
        """Have it started."""
        os.mkfifo(path)
        parent.stdin.write(json.dumps([str(path), *task]) + "\n")
        parent.stdin.flush()
        self._lines = path.open()
        self.pid = int(self.line())

    def line(self):
        """Return the next thing it tells."""
        line = self._lines.readline()
        assert line, "the child is gone"
        return line.strip()

    def rest(self):
        """Return all it tells until its end."""
        with self._lines:
            return self._lines.read().split("\n")[:-1]

    def kill(self):
        """Kill it, and return what it told before."""
        os.kill(self.pid, signal.SIGKILL)
        return self.rest()


@pytest.fixture
def child(parent, tmp_path):
    """Start another process: ``child(role, *arguments)``."""
    started = []

    def start(*task):
        started.append(Child(parent, tmp_path / f"fifo-{len(started)}", *task))
        return started[-1]

    yield start
    for each in started:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def balance(lines):
    """Return the ids that must be there, and those that may be there besides."""
    put = {line[1:] for line in lines if line[0] == "+"}
    asked = {line[1:] for line in lines if line[0] == "?"}
    gone = {line[1:] for line in lines if line[0] == "-"}
    return put - asked, asked - gone


def ids(store, scope=ANA):
    """Return the ids of all records of a user."""
    return [item.id for item in store.records(scope, ALL)]


def sound(store):
    """Return whether nothing is wrong, but that erased text was not purged yet."""
    return [line for line in store.verify() if "erased text" not in line] == []


def messages(store, scope=ANA):
    """Return how many messages a user has, those whose record was erased not among them."""
    talks = (store.messages(scope, name) for name in store.conversations(scope))
    return sum(message.record_id is not None for talk in talks for message in talk)


def test_acknowledged_writes_survive_a_kill(child, opened, location):
    """Killed at any instant, a writer loses nothing acknowledged, and writes nothing by half."""
    dice = random.Random(7)  # noqa: S311 - no secret
    told = []
    for turn in range(ROUNDS):
        writer = child("write", location, "ana", f"w{turn}", 100_000)
        writer.line()
        wanted = dice.randrange(1, 12)
        told += [writer.line() for _ in range(wanted)] + writer.kill()
        store = opened(location)
        must, may = balance(told)
        with store.snapshot():  # What the writer sent last may still be on its way.
            found, said = set(ids(store)), messages(store)
        assert must <= found
        assert len(found - must - may) <= turn + 1  # Stored, but the word of it came too late.
        assert said == len(found)
        assert sound(store)
        User(store).say(f"w{turn}", "the next process goes on")
        assert sound(store)
        store.close()
    store = opened(location)
    store.purge()
    assert store.rebuild(EXTRACTOR) == []


class Died(BaseException):
    """The process is gone."""


@contextmanager
def dying_at(store, step):
    """Let the process be gone at a request: nothing is asked for from there on."""
    collections = store._replicas.collections
    call, number = collections.call, count()

    def ask(*given, **arguments):
        if next(number) >= step:
            raise Died
        return call(*given, **arguments)

    collections.call = ask
    try:
        yield
    finally:
        collections.call = call


def fill(store, scope):
    """Store what a plan of every kind of request changes; return the plan."""
    one, two = User(store, scope).remember("tea with Zoe", "milk with Dan")
    new = record("more tea with Zoe", scope=scope)
    User(store, scope).open_conversation(scope.user)
    User(store, scope).say(scope.user, one.content, record_id=one.id)
    User(store, scope).embed([one])
    return [
        Touch((two.id,), moment(9), None),
        PutVectors(MODEL, {two.id: vector(4, 3, 2, 1)}),
        *insert_with_message(new, scope.user),
        Erase((one.id,), moment(9), "asked"),
    ]


def test_a_process_that_is_gone_at_any_request(opened, location):
    """The next process finds a plan carried out as a whole, or not at all, and goes on."""
    store = opened(location)
    store.reset_vectors(MODEL, DIMENSIONS)
    seen, died = set(), True
    for step in range(40):
        scope = Scope(f"user {step}")
        plan = fill(store, scope)
        before = User(store, scope).page()
        with suppress(Died), dying_at(store, step):
            store.apply(scope, plan)
            died = False
        store.close()
        store = opened(location)
        found = User(store, scope).page()
        whole = found == ["milk with Dan", "more tea with Zoe"]
        assert whole or found == before
        seen.add(whole)
        rows = np.asarray(store.index_changes(scope, IndexVersion()).vectors)
        wanted = vector(4, 3, 2, 1) if whole else vector(1, 2, 3, 4)
        assert rows == pytest.approx(np.array([wanted]), abs=PRECISION)
        assert messages(store, scope) == 1
        assert len(User(store, scope).pending()) == 1
        assert len(User(store).pending(of_all=True)) == step + 1
        User(store, scope).say(scope.user, "the next process goes on")
        if not died:
            break
    assert sound(store)
    assert (seen, died) == ({True, False}, False)


def test_the_first_write_of_a_user_is_known_at_once(opened, location):
    """Users, and what waits for vectors, are told of also where nobody came to write it."""
    seen = []
    for step in range(12):
        place = f"{location}-{step}"
        store = opened(place)
        with suppress(Died), dying_at(store, step):
            User(store, BEN).remember("tea")
        store.close()
        other = opened(place)
        seen.append((other.users(), len(User(other).pending(of_all=True))))
        assert User(other).pending(of_all=True) == User(other, BEN).page()
        other.close()
    assert seen == sorted(seen)
    assert {str(each) for each in seen} == {"([], 0)", "(['ben'], 1)"}


def test_an_item_that_another_was_first_to_store_is_brought_up_to_date(
    opened, database, monkeypatch
):
    """Its id is then known, and is not taken for that of something else."""
    far, near = opened(database), opened(database)
    mirror = near._replicas.mirror
    known, name = mirror.known, User(far, BEN).put("key", "of Ben").id.replace("0", "1")

    def after_the_other(ids):
        monkeypatch.setattr(mirror, "known", known)
        User(far).put("key", "first", id=name)
        return known(ids)

    monkeypatch.setattr(mirror, "known", after_the_other)
    item = User(near).put("key", "second", id=name)
    assert (item.id, item.content) == (name, "second")
    assert User(far).item("key").content == "second"
    with pytest.raises(InvalidInput, match="is taken"):
        User(near, BEN).put("another key", "of Ben", id=name)


def test_processes_write_through_one_server(child, opened, database):
    """Nothing is lost or stored twice, and all see the same: new, following and far behind."""
    far, near = opened(database), opened(database)
    far.reset_vectors(MODEL, DIMENSIONS)
    first = {scope.user: User(far, scope).everything() for scope in (ANA, BEN)}
    users = ["ana", "ana", "ana", "ben"]
    writers = [child("write", database, user, f"w{at}", EACH) for at, user in enumerate(users)]
    for writer in writers:
        writer.line()
        assert sound(near)
    for user, told in zip(users, [writer.rest() for writer in writers], strict=True):
        must, may = balance(told)
        assert (len(must), may) == (EACH - EACH // 6, set())
        assert must <= set(ids(near, Scope(user)))
    new = opened(database)
    for scope, number in ((ANA, 3), (BEN, 1)):
        views = [User(store, scope).everything() for store in (new, near, far)]
        assert views[0] == views[1] == views[2] != first[scope.user]
        assert len(ids(new, scope)) == len(set(ids(new, scope))) == number * (EACH - EACH // 6)
        rows = new.index_changes(scope, IndexVersion()).rows
        places = [row.position for row in rows]
        assert len({row.ordinal for row in rows}) == len(set(places)) == len(rows)
    vectors = [
        np.asarray(store.index_changes(ANA, IndexVersion()).vectors) for store in (new, near, far)
    ]
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[0] == vectors[2]).all()
    assert sound(new)


def test_one_process_takes_a_run_and_a_lease(child, opened, database):
    """Of processes that want the same run or lease at once, one gets it."""
    opened(database).close()
    claimers = [child("claim", database, f"c{at}", 6) for at in range(WRITERS)]
    taken = sorted(line for claimer in claimers for line in claimer.rest())
    assert taken.count("lease 0") == 1
    assert len(set(taken)) == len(taken)
    assert {line for line in taken if line.startswith("lease")} == {f"lease {n}" for n in range(6)}


def test_other_models_while_others_write(child, opened, database):
    """Nothing is lost when vectors get another length meanwhile, and no old vector counts."""
    store = opened(database)
    User(store, BEN).remember("tea")
    namer = child("models", database, 6)
    for turn in range(12):
        User(store).remember(f"said {turn}")
    namer.rest()
    assert User(store).page() == [f"said {turn}" for turn in range(12)]
    assert store.index_changes(ANA, IndexVersion()).ordinals == []
    assert len(User(store).pending(of_all=True)) == 13
    items = list(store.get(ANA, ids(store)).values())
    User(store).embed(items)
    other = opened(database)
    found = other.index_changes(ANA, IndexVersion())
    wanted = np.array([vector(1, 2, 3, 4)] * 12)
    assert np.asarray(found.vectors) == pytest.approx(wanted, abs=PRECISION)
    assert len(User(other).pending(of_all=True)) == 1
    assert sound(other)


def test_naming_a_model_broken_off_at_any_request(opened, location):
    """Opened anew, the store has the old model or the new one, and vectors of it alone."""
    store = opened(location)
    store.reset_vectors(MODEL, DIMENSIONS)
    fill(store, ANA)
    known, died, held = (MODEL, DIMENSIONS), True, 1
    for step in range(20):
        new = (f"wider {step}", 7 + step)
        with suppress(Died), dying_at(store, step):
            store.reset_vectors(*new)
            died = False
        store.close()
        store = opened(location)
        held = held if store.vector_model() == known else 0
        assert store.vector_model() in {known, new}
        known = store.vector_model()
        assert len(store.index_changes(ANA, IndexVersion()).ordinals) == held
        assert len(User(store).pending(of_all=True)) == 2 - held
        if not died:
            break
    assert (died, known, sound(store)) == (False, new, True)


@pytest.fixture
def rivals(opened, database):
    """Two stores on one server that know of each other through it alone."""
    one, two = opened(database), opened(database)
    User(one).remember("tea")
    assert User(two).page() == ["tea"]
    return one, two


def test_a_late_writer_does_not_undo_what_came_after(rivals, opened, database):
    """Who is slow to write to the memories leaves there what others have made of it meanwhile."""
    one, two = rivals
    (item,) = one.get(ANA, ids(one)).values()
    collections = one._replicas.collections
    call, late = collections.call, []

    def ask(collection, method, **arguments):
        if collection == "memories" and method != "get" and not late:
            late.append(method)
            two.apply(ANA, [Erase((item.id,), moment(3), "asked")])
        return call(collection, method, **arguments)

    collections.call = ask
    one.apply(ANA, [Enrich(item.id, moment(1), ())])
    User(one).remember("milk")
    assert late
    for store in (one, two, opened(database)):
        assert User(store).page() == ["milk"]
        assert sound(store)


def test_a_commit_that_arrives_late(rivals, opened, database):
    """What was sent without an answer may come after the next: each is stored once, or not."""
    one, two = rivals
    collections, late = one._replicas.collections, []
    call = collections.call

    def ask(collection, method, **arguments):
        if method == "add" and collection == "journal" and not late:
            late.append((collection, method, arguments))
            message = "no answer"
            raise StoreError(message)
        if method == "add" and collection == "journal" and len(late) == 1:
            call(*late[0][:2], **late[0][2])
            late.append(None)
        return call(collection, method, **arguments)

    collections.call = ask
    with pytest.raises(StoreError, match="no answer"):
        User(one).remember("late")
    User(one).remember("milk")
    for store in (one, two, opened(database)):
        assert User(store).page() == ["tea", "late", "milk"]
        assert sound(store)


def test_an_erasure_is_seen_by_those_who_did_not_follow(rivals):
    """With an erasure the journal begins anew: who has not read it reads all anew."""
    one, two = rivals
    User(one).remember("milk", "juice")
    (first, *_) = ids(one)
    one.apply(ANA, [Erase((first,), moment(1), "asked")])
    one.purge()
    assert User(two).page() == ["milk", "juice"]
    User(two).remember("water")
    assert User(one).page() == ["milk", "juice", "water"]


def test_who_is_far_behind_reads_anew(rivals, opened, database, monkeypatch):
    """The journal begins anew when it is long; who followed it before finds all the same."""
    one, two = rivals
    monkeypatch.setattr(replicas, "COMMITS", 4)
    for number in range(30):
        User(one).remember(f"tea {number}")
        if number % 9 == 0:
            User(two).remember(f"milk {number}")
    for store in (one, two, opened(database)):
        assert len(User(store).page()) == 35
        assert sound(store)
    kept = one._replicas.journal.load("ana").entries
    assert len(kept) < 20


def test_a_folder_is_of_one_process(child, opened, monkeypatch, tmp_path):
    """Opened twice in a process it is one; another process waits, and is told what to do."""
    monkeypatch.setattr(client, "PATIENCE", 0.1)
    location = f"chroma://{tmp_path / 'memory'}"
    one, two = opened(location), opened(location)
    User(one).remember("tea")
    assert User(two).page() == ["tea"]
    one.close()
    User(two).remember("milk")
    two.close()
    holder = child("hold", location)
    assert holder.line() == "open"
    with pytest.raises(StoreBusy, match=r"chroma run --path .*memory"):
        opened(location)
    holder.kill()
    assert User(opened(location)).page() == ["tea", "milk"]

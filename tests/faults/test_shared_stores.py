"""Several processes write one store: a file, a PostgreSQL database."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from postgres_server import empty
from samples import ALL, ANA, BEN, User, moment
from steps import carry_out, do

from memoranda.model.models import Kind
from memoranda.model.query import Filter, IndexVersion

from . import children
from .running import finish, go, ready

PLACES = ("sqlite", "postgres")
TURNS = 40
PROCESSES = {"sqlite": 4, "postgres": 3}


@pytest.fixture(params=PLACES)
def place(request):
    """Name what kind of store it is."""
    return request.param


@pytest.fixture
def path(place, request, tmp_path):
    """Return where the test's store is; it is empty."""
    if place == "sqlite":
        return str(tmp_path / "memory.db")
    address = request.getfixturevalue(place)
    empty(address)
    return address


@pytest.fixture
def store(path):
    """Give the store of the test, in this process."""
    opened = children.open_store(path)
    yield opened
    opened.close()


def run(processes):
    """Let processes begin at once; return what each acknowledged, all having ended well."""
    for process in processes:
        ready(process)
    for process in processes:
        go(process)
    with ThreadPoolExecutor(len(processes)) as pool:
        results = list(pool.map(finish, processes))
    assert [code for code, _ in results] == [0] * len(processes)
    return [lines for _, lines in results]


def test_processes_that_write_one_key_leave_one_item(start, store, place):
    """It has the id and the age that the first of them gave it, and the content of the last."""
    keepers = [start("keeper", f"k{number}", TURNS) for number in range(PROCESSES[place])]
    told = run(keepers)
    assert [len(lines) for lines in told] == [TURNS] * PROCESSES[place]
    (item,) = store.records(ANA, Filter.at_any_time(kinds=(Kind.ITEM,)))
    assert {line for lines in told for line in lines} == {
        f"{item.id}@{item.created_at.timestamp()}"
    }
    assert item.content in {f"k{number}-{TURNS - 1}" for number in range(PROCESSES[place])}
    assert len(store.index_changes(ANA, IndexVersion(), items=True).rows) == 1
    assert store.verify() == []


def test_processes_that_pop_take_each_message_once(start, store, place):
    """The newest go, each to one tombstone; those before stay, and the conversation of others."""
    taken = TURNS * PROCESSES[place]
    for user in (User(store), User(store, BEN)):
        user.open_conversation("trip")
        user.say("trip", *(f"message {number}" for number in range(taken + 5)))
    poppers = [start("popper", f"p{number}", TURNS) for number in range(PROCESSES[place])]
    told = run(poppers)
    left = [message.content for message in store.messages(ANA, "trip")]
    assert left == [f"message {number}" for number in range(5)]
    tombstones = store.tombstones(ANA, "trip")
    assert sorted(each.id for each in tombstones) == sorted(
        line for lines in told for line in lines
    )
    gone = [message.content for each in tombstones for message in each.messages]
    assert sorted(gone) == sorted(f"message {number}" for number in range(5, taken + 5))
    assert len(store.messages(BEN, "trip")) == taken + 5
    assert store.verify() == []


@pytest.mark.parametrize("erase", [True, False])
def test_a_user_that_another_process_deleted_is_refused(start, store, place, erase):
    """Every use of a memory that was open before raises, and leaves nothing of the user."""
    User(store).remember("tea")
    User(store).open_conversation("trip")
    User(store, BEN).remember("cake")
    holders = [start("holder", f"h{number}", 0) for number in range(PROCESSES[place])]
    for process in holders:
        ready(process)
    carry_out(store, ANA, [do.delete_user(at=moment(1), erase=erase)])
    for process in holders:
        go(process)
    uses = ["read", "list", "write", "put", "say"]
    assert [finish(process) for process in holders] == [(0, uses)] * PROCESSES[place]
    assert store.users() == [BEN.user]
    assert store.records(ANA, ALL if erase else Filter(now=moment(2))) == []
    assert User(store, BEN).page() == ["cake"]
    assert [line for line in store.verify() if "erased text may remain" not in line] == []

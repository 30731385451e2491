"""What ``make torture`` does, in short: every part runs, and every law holds that it has."""

import time

import pytest
from benchmarks.torture import crossing, kills, postgres_kills
from benchmarks.torture.checking import check_user
from benchmarks.torture.figures import Task, sandbox
from benchmarks.torture.runner import PARTS, run
from benchmarks.torture.writers import open_memory
from effort import examples

PATIENCE = 60
LONG = pytest.mark.skipif(examples(1) == 1, reason="it takes long; `make torture` has it")


def longer(test):
    """Leave a test to `make torture`: that killed processes lose nothing, tests/faults show."""
    return pytest.mark.torture(LONG(test))


@pytest.fixture
def task():
    """Give a part enough time for few calls, the same in each run."""

    def made(calls, seconds=PATIENCE):
        return Task(folder, 1, time.monotonic() + seconds, calls)

    with sandbox() as folder:
        yield made


def held(figures):
    """Return whether all laws held; what broke is told."""
    assert [each for each in figures if not each.held] == []
    return figures


@longer
def test_killed_writers_lose_nothing(task):
    """What several processes acknowledged is there, and was searched all the while."""
    writing, searching = held(kills.run(task(0, seconds=3)))
    assert "acknowledged" in writing.found
    assert "p99" in searching.found


@longer
def test_a_killed_server_loses_nothing(task):
    """What eight processes acknowledged is there once, though the server was killed, too."""
    writing, searching = held(postgres_kills.run(task(0, seconds=6)))
    assert "the server 1 times" in writing.what
    assert "acknowledged" in writing.found
    assert "p99" in searching.found


def test_a_lost_write_is_seen():
    """What a log acknowledges, and a memory does not have, counts as lost."""
    with open_memory(":memory:", "ana") as memory:
        kept = memory.remember("On page 1 the heron stands.")
        lines = [
            {"verb": "remember", "record": kept.id, "text": kept.content},
            {"verb": "remember", "record": "fact_gone", "text": "gone"},
            {"verb": "erase", "begun": kept.id},
            {"verb": "erase", "erased": kept.id, "text": kept.content},
            {"verb": "append_history", "entry": "never written"},
            {"verb": "item", "key": "k", "value": [0, 1]},
            {"verb": "add", "error": "StoreBusy: locked"},
        ]
        found = check_user(memory, [lines])
    assert [line.partition(":")[0] for line in found.lost] == [
        *("remember", "erase", "append_history", "item")
    ]
    assert found.errors == ["add: StoreBusy: locked"]
    assert found.acknowledged.total() == 5


def test_nobody_reaches_what_another_stored(task):
    """Hostile calls of every verb and tool return, raise and change nothing of Ana's."""
    (figure,) = held(crossing.run(task(200)))
    assert figure.reached


def test_a_leak_is_seen(task, monkeypatch):
    """A verb that looks into another's memory is counted as a leak."""
    planted = []
    plant = crossing.plant

    def planting(memory):
        planted.append(memory)
        return plant(memory)

    monkeypatch.setattr(crossing, "plant", planting)
    monkeypatch.setattr(crossing.Memory, "count", lambda *_, **__: planted[0].records())
    (figure,) = crossing.run(task(200))
    assert not figure.held


@longer
def test_every_part_is_listed(capsys):
    """The runner knows the parts that these tests try, and tells what each found."""
    assert {part.run for part in PARTS.values()} == {kills.run, postgres_kills.run, crossing.run}
    assert run(0.001, ["crossing"], seed=1)
    assert "cross-user calls" in capsys.readouterr().out

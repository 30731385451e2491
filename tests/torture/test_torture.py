"""What ``make torture`` does, in short: every part runs, and every law holds that it has."""

import random
import re
import time

import pytest
from benchmarks.torture import (
    corrupting,
    crossing,
    failing,
    fuzzing,
    kills,
    long_texts,
    postgres_kills,
    pumping,
    slow_sockets,
)
from benchmarks.torture.checking import check_user
from benchmarks.torture.figures import Task, sandbox
from benchmarks.torture.runner import PARTS, run
from benchmarks.torture.verbs import VERBS, Verb
from benchmarks.torture.writers import open_memory

PATIENCE = 60


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


def test_killed_writers_lose_nothing(task):
    """What eight processes acknowledged is there, and was searched all the while."""
    writing, searching = held(kills.on_sqlite(task(0, seconds=5)))
    assert "acknowledged" in writing.found
    assert "p99" in searching.found


def test_a_killed_server_loses_nothing(task):
    """What eight processes acknowledged is there once, though the server was killed, too."""
    writing, searching = held(postgres_kills.run(task(0, seconds=6)))
    assert "the server 1 times" in writing.what
    assert "acknowledged" in writing.found
    assert "p99" in searching.found


def test_damaged_files_lose_nothing_whole(task):
    """Damaged files are read, rebuilt and used again, and a line tells of it."""
    (figure,) = held(corrupting.run(task(2)))
    assert figure.found.startswith("2, 0 raw exceptions")


def test_a_lost_record_is_seen(tmp_path):
    """What stands on whole pages and is not read after a rebuild counts as lost."""
    sound = corrupting.make_sound(tmp_path / "sound.db")
    sound.texts[999], sound.pages[999] = "never stored", set()
    assert corrupting.survive(tmp_path / "memory.db", sound, 1) == {"never stored"}


def test_verbs_do_all_or_nothing(task):
    """Whatever write of the disk or statement fails, a verb is done whole or not at all."""
    chosen = [each for each in VERBS if each.name in {"remember", "replace", "correct", "recall"}]
    disk, statements = held(failing.run(task(40), chosen))
    assert not disk.found.startswith("0 of")
    assert not statements.found.startswith("0 of")


def test_half_a_write_is_seen(task):
    """A verb of two transactions that is said to be one does not hold the law."""
    halves = Verb("both", lambda memory: (memory.remember("A sails."), memory.remember("B rows.")))
    figures = failing.run(task(60), [halves])
    assert not any(each.held for each in figures)


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
    (figure,) = held(crossing.run(task(400)))
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
    (figure,) = crossing.run(task(400))
    assert not figure.held


@pytest.mark.parametrize("door", ["tools of agents", "MCP", "command line"])
def test_doors_answer_any_values(task, door):
    """Whatever a tool or a command is given, it answers, or refuses in our own words."""
    tally = fuzzing.Tally()
    few = task(0)
    nasty = fuzzing.Nasty(random.Random(1), few.folder)  # noqa: S311 - no secret
    fuzzing.DOORS[door][0](few, nasty, tally)
    assert tally.calls > 20
    assert tally.details() == ()


@pytest.mark.parametrize(
    "source", [r"a(?:b|c\s)+d", r"(?:[^\W\d]{1,4} ?)*\.", r"x(?P<y>\d+(?:-\d+)*)z", "(a+)+b"]
)
def test_a_pumped_text_fits_but_for_its_end(source):
    """A text that is made of a pattern fits it as often as a part may be repeated."""
    tree = pumping._parser.parse(source)
    rng = random.Random(1)  # noqa: S311 - no secret
    pumped = list(pumping._repeats(tree, rng))
    assert pumped
    for before, unit, after in pumped:
        assert re.fullmatch(source, before + unit * 3 + after)
        assert not re.fullmatch(source, before + unit * 3 + pumping.MISFIT)


@pytest.mark.parametrize("verb", long_texts.VERBS)
def test_verbs_take_any_text(verb):
    """Each verb of the measurement takes each of its texts."""
    for name in random.Random(verb).sample(list(long_texts.TEXTS), 2):  # noqa: S311 - no secret
        assert long_texts._seconds(verb, long_texts.make(name, 300)) < pumping.LIMIT


def test_every_part_is_listed():
    """The runner knows the parts that these tests try, and each has a share of the time."""
    assert {part.run for part in PARTS.values()} == {
        kills.run,
        postgres_kills.run,
        failing.run,
        crossing.run,
        fuzzing.run,
        corrupting.run,
        slow_sockets.run,
        pumping.run,
        long_texts.run,
    }
    assert all(part.minutes > 0 for part in PARTS.values())


def test_parts_run_in_processes_of_their_own(capsys):
    """What a part finds stands in the table; here, that a server answers beside slow clients."""
    assert run(0.01, ["sockets"], seed=1)
    assert "300 slow sockets" in capsys.readouterr().out

"""Every write of the disk, and every statement, made to fail in turn, for each verb.

As SQLite's own tests do it: a verb is run once to count its steps, and then once for each step,
on a fresh copy, with that step failing: the step alone, or it and all after it (until the disk is
mended). Afterwards a verb of one transaction has done all or nothing, to the byte of every row;
one of several comes to the same when it is run again. The memory that met the failure goes on.
"""

from __future__ import annotations

import logging
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import apsw

from benchmarks.torture.disks import Fault, faulty_disk, faulty_statements
from benchmarks.torture.figures import Figure, Tally, Task, place_of
from benchmarks.torture.verbs import FILE, VERBS, Verb, fill, opened
from memoranda import Memory
from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError

GOAL = "all or nothing, every verb"
AFTERWARDS = "Hal learns to juggle."
ID = re.compile(r"\b(ep|fact|ctx|ref|item|msg|tmb|prn|ent)_(?:[0-9A-Za-z]{26}|[0-9a-f]{20})\b")
# Lines of the notes, which follow the store.
FILES = ("MEMORY", "HISTORY")
# Made later from the others.
DERIVED = ("vectors", "derivations", "entit", "record_entities", "record_sources")
# Numbers that only join rows, and who holds a lease: they differ from run to run.
NUMBERS = re.compile(r"(^|_)(key|revision|seq|epoch|position)$")
# What MEMORY.md says is compared by itself.
VOLATILE = ("leases", "sqlite_stat1", "meta", "notes_bases")
TO_PURGE = "erased text may remain"
SHOWN = 8
Rows = Counter[str]


@dataclass(frozen=True, slots=True)
class _Place:
    """A step of a verb that fails."""

    verb: Verb
    means: str
    at: int
    lasting: bool
    error: type[apsw.Error]


MEANS: dict[str, Callable[[Fault], AbstractContextManager[None]]] = {
    "disk": faulty_disk,
    "statement": faulty_statements,
}


def run(task: Task, verbs: Sequence[Verb] = VERBS) -> list[Figure]:
    """Return what became of as many failures as the time allows, chosen at random."""
    seed, folder = task.folder / "seed", task.folder / "trial"
    folder.mkdir()
    fill(folder)  # Where it will be: the store knows the folder of its notes.
    folder.rename(seed)
    trial = _Trial(seed, folder)
    tallies = {means: Tally() for means in MEANS}
    places = [place for verb in verbs for means in MEANS for place in trial.places(verb, means)]
    order = random.Random(task.seed)  # noqa: S311 - no secret
    waiting = sorted(places, key=lambda _: order.random())
    logging.disable()  # Each failure is told in the log, too.
    for place in waiting[: task.calls]:
        if task.over:
            break
        tally = tallies[place.means]
        tally.calls += 1
        for wrong in trial.run(place):
            how = "and all after" if place.lasting else "alone"
            about = f"step {place.at} {how} ({place.error.__name__}): {wrong}"
            tally.add(f"{place.verb.name}, {place.means}", about)
    logging.disable(logging.NOTSET)
    told = f"{trial.raised_though_stored:,} verbs failed after all of it was stored"
    return [
        _figure(means, tally, sum(each.means == means for each in places), len(verbs), told)
        for means, tally in tallies.items()
    ]


def _figure(means: str, tally: Tally, known: int, verbs: int, told: str) -> Figure:
    what = {"disk": "each write of the disk fails", "statement": "each statement fails"}[means]
    return Figure(
        f"{what}, {verbs} verbs",
        GOAL,
        f"{tally.calls:,} of {known:,} failures, {tally.wrong.total():,} half done or not over",
        held=not tally.wrong,
        reached=tally.calls == known,
        details=(told, *tally.details()[:SHOWN]),
    )


class _Trial:
    """Runs a verb on a fresh copy of a memory, with a failure."""

    def __init__(self, seed: Path, folder: Path) -> None:
        self._seed, self._folder = seed, folder
        self._before = rows_of(seed / FILE)
        self._done: dict[str, Rows] = {}
        self.raised_though_stored = 0

    def places(self, verb: Verb, means: str) -> list[_Place]:
        """Return all steps of a verb that can fail, each in two ways."""
        fault = Fault()
        self._fresh()
        with MEANS[means](fault), opened(self._file) as memory:
            fault.seen = 0
            verb.run(memory)
            steps = fault.seen
            memory.notes.sync()
            _derive(memory)
        self._done.setdefault(verb.name, self._state())
        kinds = (apsw.IOError, apsw.FullError)
        return [
            _Place(verb, means, at, lasting, kinds[(at + lasting) % 2])
            for at in range(steps)
            for lasting in ((False, True) if means == "disk" else (False,))
        ]

    @property
    def _file(self) -> Path:
        return self._folder / FILE

    def _fresh(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._seed, self._folder)

    def _state(self) -> Rows:
        """Return what the files say, in rows without what only joins them."""
        lines = Counter(_nameless(row) for row in rows_of(self._file).elements())
        for file in sorted(self._folder.rglob("*.md")):
            lines.update(f"{file.name}: {line}" for line in file.read_text("utf-8").splitlines())
        return lines

    def run(self, place: _Place) -> list[str]:
        """Return what is wrong after a failure."""
        self._fresh()
        fault, raised, wrong = Fault(error=place.error, lasting=place.lasting), False, []
        name = place.verb.name
        with MEANS[place.means](fault):
            memory = opened(self._file)
            try:
                fault.seen, fault.at = 0, place.at
                place.verb.run(memory)
            except StoreError:
                raised = True
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                raised = True
                if not isinstance(error, MemorandaError):
                    wrong.append(f"{place_of(error)}: {error}")
            fault.mend()
            stored = self._stored(place.verb)
            wrong += ["half of it is stored"] if place.verb.whole and stored is None else []
            if place.verb.whole and stored and raised:
                self.raised_though_stored += 1
            try:
                memory.notes.sync()
                again = not stored if place.verb.whole else self._state() != self._done[name]
                if again:
                    # It was done, but for what comes after it.
                    with suppress(NotFound, InvalidInput):
                        place.verb.run(memory)
                    memory.notes.sync()
                _derive(memory)
                if any(TO_PURGE in line for line in memory.verify()):
                    memory.purge()
                wrong += self._finished(place.verb)
                memory.remember(AFTERWARDS)
                wrong += [line for line in memory.verify() if TO_PURGE not in line]
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                wrong.append(f"afterwards {place_of(error)}: {error}")
            with suppress(MemorandaError):
                memory.close()
        return wrong

    def _stored(self, verb: Verb) -> bool | None:
        """Return whether all that a verb does is stored, or nothing (False), or a part (None)."""
        if rows_of(self._file) == self._before:
            return self._done[verb.name] == self._state()
        stored, done = (
            {line for line in lines if not line.startswith((*DERIVED, *FILES))}
            for lines in (self._state(), self._done[verb.name])
        )
        return True if stored == done else None

    def _finished(self, verb: Verb) -> list[str]:
        """Return what is wrong once the verb was run to its end."""
        done, state = self._done[verb.name], self._state()
        if state == done:
            return []
        missing, more = (
            [line for line in lines.elements() if line.startswith(verb.compared)]
            for lines in (done - state, state - done)
        )
        if not missing and not more:
            return []
        lost, doubled = f"{len(missing)} are missing {missing[:1]}", f"{len(more)} more {more[:1]}"
        return [f"run again it is not the same: of its lines {lost}, and there are {doubled}"]


def _derive(memory: Memory) -> None:
    """Derive what waits of every user, as some verbs do for all of them."""
    for name in memory.admin.users():
        memory.as_user(name).derive()


def rows_of(file: Path) -> Rows:
    """Return every row of a database's tables, but those of its full-text index."""
    with apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE) as connection:
        connection.exec_trace = None
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'records_%'"
        tables = [name for (name,) in connection.execute(sql) if name not in VOLATILE]
        found: Rows = Counter()
        for table in [*tables, "records", "record_entities", "record_sources"]:
            cursor = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a name of the schema
            for row in cursor:
                names = [each[0] for each in cursor.getdescription()]
                pairs = dict(zip(names, row, strict=True))
                # The kind of a record first: by it they are chosen.
                kind = {"kind": pairs.pop("kind")} if "kind" in pairs else {}
                found[f"{table} {kind | pairs!r}"] += 1
    connection.close()
    return found


@lru_cache(100_000)  # Most rows are the same in every trial.
def _nameless(row: str) -> str:
    return ID.sub(r"\1", re.sub(r"'(\w+)': (\d+|None)", _without_number, row))


def _without_number(pair: re.Match[str]) -> str:
    return f"'{pair[1]}': #" if NUMBERS.search(pair[1]) else pair[0]

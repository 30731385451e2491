"""One user's records as arrays: what ranking needs, kept in step with the store.

Reading a scope from the store takes about a hundred times as long as ranking it. So the
arrays stay in memory, and each search first reads what came since the last one. That costs
about 0.6 kB for a record with a vector of 384 dimensions, one byte for each. Beyond a limit, those
of users asked the longest ago are dropped.

Evidence from neighbours: how much the turns around a turn add to its score.

A short turn is understood from those around it ("Yes, in June!"), a long one from itself.
So evidence spreads along a thread of talk, and fades with the distance in characters
between the middles of two texts: turns of a chat share it with several neighbours, texts of
thousands of characters with none. One constant serves both.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from memoranda.model.models import Kind, Scope
from memoranda.model.processes import follow_forks
from memoranda.model.query import (
    Candidates,
    IndexChanges,
    IndexRow,
    IndexVersion,
    Lineage,
    StoredFloats,
    Vector,
)
from memoranda.store.sql.store import Store

MEGABYTE = 2**20
# About what an index takes beside its arrays, and each name in it.
FIXED_BYTES = 8_192
NAME_BYTES = 200
NEVER = np.iinfo(np.int64).max
NO_NUMBER = -1
# Texts that stand in the table as numbers.
NUMBERED = ("session", "agent", "speaker", "subject", "attribute")
KINDS = {kind.value: number for number, kind in enumerate(Kind)}
ROW = np.dtype(
    [
        ("ordinal", np.int64),
        ("thread", np.int64),
        ("position", np.int64),
        ("length", np.float32),
        ("terms", np.float32),
        ("kind", np.int8),
        ("agent", np.int32),
        ("session", np.int32),
        ("speaker", np.int32),
        ("event", np.int64),
        ("created", np.int64),
        ("until", np.int64),
        ("confidence", np.float32),
        ("subject", np.int32),
        ("attribute", np.int32),
        ("over", np.int64),
        ("asks", np.bool_),
    ]
)

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Table = npt.NDArray[np.void]
FADE = 350.0  # characters over which evidence falls to 1/e
FAINTEST = 0.02  # weights below this are left out
# Places between two turns of a session beyond which candidates do not stand around each other.
FARTHEST_CANDIDATES = 3
FARTHEST = 8  # turns; farther ones add nothing that can be measured
LARGEST = np.float32(127)  # of a number of one byte
AT_ONCE = 1_024  # vectors that are unpacked at once
SOON_MS = 30 * 60_000  # between two episodes of one talk, where no session says so
NO_TALK = 0, -NEVER  # a thread, and when its last episode happened


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Weights between the records of a thread.

    Attributes:
        order: the records, thread by thread, in the order of talk.
        place: where each record stands in ``order``.
        middles: how many characters stand before the middle of each, in order.
        weights: ``weights[s - 1][i]`` is what the ``i``-th record in order and the one ``s``
            places before it share; 0 across threads.
        total: the sum of each record's weights, in order, itself (1) included.
    """

    order: npt.NDArray[np.intp]
    place: npt.NDArray[np.intp]
    middles: npt.NDArray[np.float64]
    weights: tuple[Floats, ...]
    total: Floats

    @classmethod
    def of(
        cls, thread: npt.NDArray[np.int64], position: npt.NDArray[np.int64], length: Floats
    ) -> Surroundings:
        """Weigh the neighbours of records with these threads, positions and lengths."""
        order = np.lexsort((position, thread))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        threads, lengths = thread[order], length[order].astype(np.float64)
        middles = np.cumsum(lengths) - lengths / 2
        weights = []
        total = np.ones(len(order), np.float32)
        for step in range(1, min(FARTHEST, len(order) - 1) + 1):
            weight = np.exp((middles[:-step] - middles[step:]) / FADE).astype(np.float32)
            weight[threads[:-step] != threads[step:]] = 0
            if not len(weight) or weight.max() < FAINTEST:
                break
            weights.append(weight)
            total[step:] += weight
            total[:-step] += weight
        return cls(order, place, middles, tuple(weights), total)

    def gathered(self, evidence: Floats) -> Floats:
        """Return each record's own evidence plus what its neighbours share.

        ``evidence`` has one row for each kind of it and one column for each record.
        """
        own = np.take(evidence, self.order, axis=-1)
        found = own.copy()
        shared = np.empty_like(own)  # One for all steps: new memory costs more than the sums.
        for step, weight in enumerate(self.weights, 1):
            part = shared[..., step:]
            found[..., step:] += np.multiply(weight, own[..., :-step], out=part)
            found[..., :-step] += np.multiply(weight, own[..., step:], out=part)
        return np.take(found, self.place, axis=-1)

    def mean(self, evidence: Floats, counts: Mask) -> Floats:
        """Return the weighted mean of the evidence around each record, over those that count."""
        if counts.all():
            whole: Floats = self.gathered(evidence) / self.total[self.place]
            return whole
        weights = self.gathered(counts.astype(np.float32))
        gathered = self.gathered(np.where(counts, evidence, 0).astype(np.float32))
        mean: Floats = (gathered / np.maximum(weights, FAINTEST)).astype(np.float32)
        return mean


@dataclass(frozen=True, slots=True)
class QuantizedVectors:
    """Vectors in one byte a number (scalar quantization), which hardly moves a cosine.

    Measured: by 0.002 at most with 384 random numbers, by 0.005 with 64.

    Attributes:
        codes: whole numbers from -127 to 127, shape (records, dimensions); zeros where there is
            none yet.
        scales: by what the codes of each record are multiplied.
    """

    codes: npt.NDArray[np.int8]
    scales: Floats

    @classmethod
    def zeros(cls, count: int, dimensions: int) -> QuantizedVectors:
        """Return room for so many."""
        return cls(np.zeros((count, dimensions), np.int8), np.zeros(count, np.float32))

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; 0 where nothing has one."""
        return int(self.codes.shape[1])

    def __len__(self) -> int:
        """Return how many records they are of."""
        return len(self.codes)

    @property
    def complete(self) -> bool:
        """Whether each record has one."""
        return bool(self.scales.all())

    def first(self, count: int) -> QuantizedVectors:
        """Return those of the first records, in the same memory."""
        return QuantizedVectors(self.codes[:count], self.scales[:count])

    def put(self, rows: Places, vectors: StoredFloats) -> None:
        """Store vectors of unit length, or any other, at these rows.

        In parts that stay in a processor's cache: of all at once it takes three times as long.
        """
        for start in range(0, len(rows), AT_ONCE):
            part = vectors[start : start + AT_ONCE].astype(np.float32)
            places = rows[start : start + AT_ONCE]
            largest = np.abs(part).max(axis=1, initial=0)
            self.scales[places] = largest / LARGEST
            part *= (LARGEST / np.maximum(largest, np.float32(1e-30)))[:, None]
            self.codes[places] = np.rint(part, out=part)

    def dequantize(self, row: int) -> Vector:
        """Return the vector of a record, nearly as it was."""
        vector: Vector = self.codes[row] * self.scales[row]
        return vector

    def dot(self, vector: Vector) -> Floats:
        """Return the product of each with one vector: the cosine, where lengths are 1."""
        found = np.empty(len(self.codes), np.float32)
        # In parts that stay in the processor's cache.
        part = np.empty((min(AT_ONCE, len(self.codes)), self.dimensions), np.float32)
        for start in range(0, len(self.codes), AT_ONCE):
            codes = self.codes[start : start + AT_ONCE]
            there = part[: len(codes)]
            there[...] = codes
            # Not `@`: on several cores it shares the work among threads, which takes half the
            # time on an idle machine and a hundred times as long, now and then, on a busy one.
            np.vecdot(there, vector, out=found[start : start + AT_ONCE])
        found *= self.scales
        return found


@dataclass(frozen=True, slots=True)
class Population:
    """All records of a user of whom only candidates are ranked.

    Attributes:
        records: how many there are.
        terms: how many terms one of them has, in the mean.
        answers: which of the candidates may answer; the others only stand around them.
    """

    records: int
    terms: float
    answers: Mask


NO_PAIRS: Places = np.empty((0, 2), np.intp)


@dataclass(frozen=True, slots=True)
class Rows:
    """A user's records at one moment, in the order of their ordinals.

    Attributes:
        table: one structured row (``ROW``) a record.
        vectors: of the records, as far as there are any.
        surroundings: how much each record's neighbours say about it.
        sessions: number of each session in ``table["session"]``.
        agents: number of each agent in ``table["agent"]``.
        speakers: number of each speaker in ``table["speaker"]``.
        subjects: number of each subject of facts in ``table["subject"]``.
        attributes: number of each attribute of facts in ``table["attribute"]``.
        sources: shape (pairs, 2): a fact, and an episode that it was drawn from and agrees with.
        replaced: shape (pairs, 2): a record, and one that took its place.
        population: all there are, where these are only candidates.
    """

    table: Table
    vectors: QuantizedVectors
    surroundings: Surroundings
    sessions: dict[str, int]
    agents: dict[str, int]
    speakers: dict[str, int]
    subjects: dict[str, int]
    attributes: dict[str, int]
    sources: Places
    replaced: Places
    population: Population | None = None

    @classmethod
    def of(cls, candidates: Candidates) -> Rows:
        """Return candidates as records to rank."""
        index = UserIndex()
        rows = index.extended(candidates.changes)
        table = rows.table
        order, thread = rows.surroundings.order, table["thread"].copy()
        # Others may stand between two candidates of a session.
        apart = np.diff(table["position"][order], prepend=0) > FARTHEST_CANDIDATES
        apart &= table["session"][order] != NO_NUMBER
        runs = np.cumsum(apart)
        thread[order] += runs * (1 + len(rows.sessions)) * (table["session"][order] != NO_NUMBER)
        table["thread"] = thread
        answers = np.isin(table["ordinal"], candidates.answers)
        return replace(
            rows,
            surroundings=Surroundings.of(thread, table["position"], table["length"]),
            population=Population(candidates.records, candidates.terms, answers),
        )

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.table)

    @property
    def total(self) -> int:
        """How many records the user has."""
        return len(self) if self.population is None else self.population.records

    def beside(self, row: int, step: int) -> int | None:
        """Return the record ``step`` turns after ``row`` in its thread (before, if negative)."""
        order = self.surroundings.order
        there = int(self.surroundings.place[row]) + step
        if not 0 <= there < len(order):
            return None
        other = int(order[there])
        return other if self.table["thread"][other] == self.table["thread"][row] else None

    def found(self, ordinals: Sequence[int]) -> tuple[Places, Mask]:
        """Return the row of each ordinal that is here, and of each ordinal whether it is here."""
        wanted = np.asarray(ordinals, np.int64)
        places = np.searchsorted(self.table["ordinal"], wanted)
        inside = places < len(self.table)
        inside[inside] = self.table["ordinal"][places[inside]] == wanted[inside]
        return places[inside], inside

    def with_lineage(self, lineage: Lineage) -> Rows:
        """Return the same rows with what rests on what, as far as both are here.

        A correction keeps the sources of what it corrects, but says something else than they
        do: it takes their place, too.
        """
        sources, replaced = self._pairs(lineage.sources), self._pairs(lineage.replaced)
        kinds = self.table["kind"][sources]
        drawn = (kinds[:, 0] == KINDS[Kind.FACT]) & (kinds[:, 1] == KINDS[Kind.EPISODE])
        said = set(map(tuple, sources[drawn].tolist()))
        before = dict(replaced[:, ::-1].tolist())
        corrected = {(new, said_in) for new, said_in in said if (before.get(new), said_in) in said}
        return replace(
            self,
            sources=_places(said - corrected),
            replaced=_places({*map(tuple, replaced.tolist()), *(c[::-1] for c in corrected)}),
        )

    def _pairs(self, ordinals: Sequence[tuple[int, int]]) -> Places:
        if not ordinals:
            return NO_PAIRS
        firsts, seconds = zip(*ordinals, strict=True)
        places, there = self.found(firsts)
        others, known = self.found(seconds)
        both: Places = np.stack([places[known[there]], others[there[known]]], axis=1)
        return both


def _places(pairs: Iterable[tuple[int, ...]]) -> Places:
    return np.array(sorted(pairs), np.intp).reshape(-1, 2)


class UserIndex:
    """The arrays of one user, brought up to date by :meth:`rows`. Thread-safe.

    Texts of one talk that came without a session are met, too: an application may remember what
    was said one text after another, and say nothing else of it.

    Attributes:
        model_checked: whether it was asked if the vectors are of the same model, since all of them
            were read.
    """

    model_checked = False

    def __init__(self, *, items: bool = False) -> None:
        """Start without any record; of memories, or of items."""
        self._lock = threading.Lock()
        self._items = items
        self._forget()

    def _forget(self) -> None:
        self._version = IndexVersion()
        self._table = np.empty(0, ROW)
        self._vectors = QuantizedVectors.zeros(0, 0)
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in NUMBERED}
        self._loose = NO_TALK
        self._rows: Rows | None = None
        self.model_checked = False

    def rows(self, store: Store, scope: Scope) -> Rows:
        """Return the user's records as the store has them now, or in the snapshot of a caller.

        That may be older than what another thread has read meanwhile, which nobody forgets for it:
        records that came later are there, too.
        """
        with self._lock:
            changes = store.index_changes(scope, self._version, items=self._items)
            if self._rows is not None and changes.version < self._version:
                return self._rows
            if changes.reset:
                self._forget()
            if changes.rows or changes.revised or changes.ordinals or self._rows is None:
                self._rows = self.extended(changes)
            self._version = changes.version
            return self._rows

    @property
    def version(self) -> IndexVersion:
        """That which was read last."""
        return self._version

    @property
    def size(self) -> int:
        """The bytes of the arrays, and about those of all else."""
        vectors, rows = self._vectors, self._rows
        arrays: list[npt.NDArray[Any]] = [vectors.codes, vectors.scales, self._table]
        if rows is not None:
            around = rows.surroundings
            arrays += [around.order, around.place, around.middles, around.total, *around.weights]
            arrays += [rows.sources, rows.replaced]
        names = sum(map(len, self._numbers.values()))
        return FIXED_BYTES + NAME_BYTES * names + sum(each.nbytes for each in arrays)

    def extended(self, changes: IndexChanges) -> Rows:
        """Return the records with those that came, and with what has changed."""
        before = self._rows
        start = 0 if before is None else len(before)
        count = start + len(changes.rows)
        dimensions = changes.vectors.shape[1] or self._vectors.dimensions
        self._reserve(count, dimensions)
        if changes.rows:
            self._table[start:count] = self._table_of(changes.rows)
        if changes.revised:
            self._table = self._table.copy()  # Whoever ranks by the rows of before goes on so.
            known = self._table[:start]
            places = np.searchsorted(known["ordinal"], [row.ordinal for row in changes.revised])
            threads = known["thread"][places].tolist()
            known[places] = self._table_of(changes.revised, threads)
            # What still has a vector comes with it.
            self._vectors.scales[places[~np.isin(known["ordinal"][places], changes.ordinals)]] = 0
        table = self._table[:count]
        if changes.ordinals:
            places = np.searchsorted(table["ordinal"], np.asarray(changes.ordinals))
            self._vectors.put(places, changes.vectors)
        numbered: Any = {f"{name}s": dict(numbers) for name, numbers in self._numbers.items()}
        rows = Rows(
            table,
            self._vectors.first(count),
            Surroundings.of(table["thread"], table["position"], table["length"]),
            **numbered,
            sources=NO_PAIRS if before is None else before.sources,
            replaced=NO_PAIRS if before is None else before.replaced,
        )
        return rows if changes.lineage is None else rows.with_lineage(changes.lineage)

    def _reserve(self, count: int, dimensions: int) -> None:
        # Room for twice as many: adding one record after another copies each only once or twice.
        # Rows handed out earlier keep the arrays they were made of.
        if count > len(self._table) or dimensions != self._vectors.dimensions:
            old, known = self._table, self._vectors
            self._table = np.zeros(max(64, count + count // 4), ROW)
            self._table[: len(old)] = old
            self._vectors = QuantizedVectors.zeros(len(self._table), dimensions)
            if known.dimensions == dimensions:
                self._vectors.codes[: len(known)] = known.codes
                self._vectors.scales[: len(known)] = known.scales

    def _table_of(self, rows: Sequence[IndexRow], threads: Sequence[int] = ()) -> Table:
        """Return rows of the table.

        Column by column, which takes a quarter of the time that row by row does.

        Args:
            rows: records, one at least.
            threads: the talk that each stands in, where that is known.
        """
        columns = zip(*rows, strict=True)
        given: dict[str, Any] = dict(zip(IndexRow._fields, columns, strict=True))
        sessions = self._number("session", given["session_id"])
        loose = zip(given["session_id"], given["ordinal"], given["position"], strict=True)
        over = zip(given["event_ms"], given["event_until_ms"], strict=True)
        table = np.empty(len(rows), ROW)
        table["ordinal"] = given["ordinal"]
        table["thread"] = threads or [*map(self._thread, rows, sessions)]
        table["position"] = [
            ordinal if session is None else position or 0 for session, ordinal, position in loose
        ]
        table["length"] = given["length"]
        table["terms"] = given["terms"]
        table["kind"] = [KINDS[kind] for kind in given["kind"]]
        table["session"] = sessions
        for name in ("agent", "speaker", "subject", "attribute"):
            table[name] = self._number(name, given[name])
        table["event"] = given["event_ms"]
        table["created"] = given["created_ms"]
        table["until"] = [NEVER if until is None else until for until in given["valid_until_ms"]]
        table["confidence"] = given["confidence"]
        table["over"] = [event + 1 if until is None else until for event, until in over]
        table["asks"] = given["asks"]
        return table

    def _thread(self, row: IndexRow, session: int) -> int:
        """Return which talk a record stands in.

        Episodes of a session do; of those without one, each that happened soon after the one that
        was recorded before it. Other records stand alone.
        """
        if row.kind != Kind.EPISODE:
            return -row.ordinal
        if row.session_id is not None:
            return session
        thread, before = self._loose
        if abs(row.event_ms - before) > SOON_MS:
            thread = -row.ordinal
        self._loose = thread, row.event_ms
        return thread

    def _number(self, column: str, values: Sequence[str | None]) -> list[int]:
        numbers = self._numbers[column]
        known: dict[str | None, int] = {
            value: NO_NUMBER if value is None else numbers.setdefault(value, len(numbers))
            for value in dict.fromkeys(values)
        }
        return [known[value] for value in values]


class IndexCache:
    """The indexes of the users asked last. Thread-safe."""

    def __init__(self, megabytes: float = 1_024) -> None:
        """Keep at most so much, but always the newest."""
        self._limit = megabytes * MEGABYTE
        self._indexes: OrderedDict[tuple[str, bool], UserIndex] = OrderedDict()
        self._sizes: dict[tuple[str, bool], int] = {}
        self._total = 0
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Forget all, in a process that was forked: a thread may have been changing it."""
        self._lock = threading.Lock()
        self.clear()

    @property
    def users(self) -> int:
        """How many indexes are in memory: of the memories of a user, or of their items."""
        return len(self._indexes)

    @property
    def size(self) -> int:
        """The bytes of all of them, as far as they were measured."""
        return self._total

    def of(self, user: str, *, items: bool = False) -> UserIndex:
        """Return the index of the user's memories or items, a new one if need be."""
        asked = user, items
        with self._lock:
            if self._indexes:
                self._measure(next(reversed(self._indexes)))  # It was filled since.
            index = self._indexes.setdefault(asked, UserIndex(items=items))
            self._indexes.move_to_end(asked)
            self._measure(asked)
            while self._total > self._limit and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._total -= self._sizes.pop(oldest)
            return index

    def clear(self) -> None:
        """Drop everything, for example after an erasure."""
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0

    def _measure(self, asked: tuple[str, bool]) -> None:
        size = self._indexes[asked].size
        self._total += size - self._sizes.get(asked, 0)
        self._sizes[asked] = size

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
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from memoranda.model.models import Kind, Scope
from memoranda.model.processes import follow_forks
from memoranda.model.query import (
    Candidates,
    IndexChanges,
    IndexVersion,
    Lineage,
    StoredFloats,
    Vector,
)
from memoranda.store.sql.index_reads import AT_ONCE, INDEX_ROW, KINDS, NAMED, NEVER
from memoranda.store.sql.store import Store

MEGABYTE = 2**20
# About what an index takes beside its records, each name in it, and what is known around a record.
FIXED_BYTES = 8_192
NAME_BYTES = 200
BYTES_AROUND = 64
NO_NUMBER = -1

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Ordinals = npt.NDArray[np.int64]
Table = npt.NDArray[np.void]
FADE = 350.0  # characters over which evidence falls to 1/e
FAINTEST = 0.02  # weights below this are left out
# Places between two turns of a session beyond which candidates do not stand around each other.
FARTHEST_CANDIDATES = 3
FARTHEST = 8  # turns; farther ones add nothing that can be measured
LARGEST = np.float32(127)  # of a number of one byte
# Of float16 the sign, and the exponent of what is no finite number; of the bits of one that were
# moved to where float32 has them, those that it has; and by what the number is smaller then.
SIGN, INFINITE = np.int16(-0x8000), np.int16(0x7C00)
FLOAT_BITS, REBASE = np.int32(-0x70000001), np.float32(2.0**112)
SOON_MS = 30 * 60_000  # between two episodes of one talk, where no session says so
NO_TALK = 0, -NEVER // 2  # a thread, and when its last episode happened


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
        """Store vectors of unit length, or any other, at these rows; none with no finite number.

        What fits into a processor's cache at once takes a third of the time. And so does changing
        float16 to float32 by its bits: the exponent's begin elsewhere, and count from elsewhere.
        """
        halves = vectors.view(np.int16)
        magnitude = (halves & ~SIGN).max(axis=1, initial=0)
        largest = np.where(magnitude < INFINITE, magnitude, 0).view(np.float16).astype(np.float32)
        bits = halves.astype(np.int32)  # In place from here: new memory costs more than the rest.
        bits <<= 13
        bits &= FLOAT_BITS
        part = bits.view(np.float32)
        part *= REBASE
        part *= ((largest > 0) * LARGEST / np.maximum(largest, np.float32(1e-30)))[:, None]
        self.scales[rows] = largest / LARGEST
        self.codes[rows] = np.rint(part, out=part)

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
        table: one structured row (``INDEX_ROW``) a record.
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

    def found(self, ordinals: Sequence[int] | Ordinals) -> tuple[Places, Mask]:
        """Return the row of each ordinal that is here, and of each ordinal whether it is here."""
        return find_rows(self.table["ordinal"], np.asarray(ordinals, np.int64))

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


def find_rows(known: Ordinals, wanted: Ordinals) -> tuple[Places, Mask]:
    """Return the row of each ordinal that is known, and of each ordinal whether it is known."""
    places = np.searchsorted(known, wanted)
    inside = places < len(known)
    inside[inside] = known[places[inside]] == wanted[inside]
    return places[inside], inside


def _places(pairs: Iterable[tuple[int, ...]]) -> Places:
    return np.array(sorted(pairs), np.intp).reshape(-1, 2)


class UserIndex:
    """The arrays of one user, brought up to date by :meth:`rows`. Thread-safe.

    Texts of one talk that came without a session are met, too: an application may remember what
    was said one text after another, and say nothing else of it.

    Attributes:
        version: the one that was read last.
        model_checked: whether it was asked if the vectors are of the same model, since all of them
            were read.
        reading: all of them, which a thread began to read.
    """

    model_checked = False
    reading: Future[IndexChanges] | None = None

    def __init__(self, *, items: bool = False) -> None:
        """Start without any record; of memories, or of items."""
        self._lock = threading.Lock()
        self._items = items
        self._forget()

    def _forget(self) -> None:
        self.version = IndexVersion()
        self._table = np.empty(0, INDEX_ROW)
        self._vectors = QuantizedVectors.zeros(0, 0)
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in NAMED}
        self._loose = NO_TALK
        self._rows: Rows | None = None
        self.model_checked = False

    def rows(self, store: Store, scope: Scope) -> Rows:
        """Return the user's records as the store has them now, or in the snapshot of a caller.

        That may be older than what another thread has read meanwhile, which nobody forgets for it:
        records that came later are there, too.
        """
        with self._lock:
            if self.reading is not None:
                reading, self.reading = self.reading, None
                self._apply(reading.result())
            return self._apply(store.index_changes(scope, self.version, items=self._items))

    def _apply(self, changes: IndexChanges) -> Rows:
        if self._rows is not None and changes.version < self.version:
            return self._rows
        if changes.reset:
            self._forget()
        came = changes.version.vector != self.version.vector
        if self._rows is None or came or len(changes.rows) or len(changes.revised):
            self._rows = self.extended(changes)
        self.version = changes.version
        return self._rows

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        names = sum(map(len, self._numbers.values()))
        record = self._table.itemsize + self._vectors.dimensions + BYTES_AROUND
        return FIXED_BYTES + NAME_BYTES * names + record * len(self._table)

    def extended(self, changes: IndexChanges) -> Rows:
        """Return the records with those that came, and with what has changed."""
        before = self._rows
        start = 0 if before is None else len(before)
        count = start + len(changes.rows)
        parts = [*changes.vectors] if len(changes.revised) else changes.vectors
        self._reserve(count)
        if len(changes.rows):
            self._table[start:count] = self._renumbered(changes.rows, changes.names)
            self._table["thread"][start:count] = self._threads(self._table[start:count])
        if len(changes.revised):
            self._table = self._table.copy()  # Whoever ranks by the rows of before goes on so.
            known = self._table[:start]
            places, there = find_rows(known["ordinal"], changes.revised["ordinal"])
            revised = self._renumbered(changes.revised[there], changes.names)
            revised["thread"] = known["thread"][places]
            known[places] = revised
            # What still has a vector comes with it.
            came = np.isin(revised["ordinal"], np.hstack([(), *(part[0] for part in parts)]))
            self._vectors.scales[places[~came]] = 0
        table = self._table[:count]
        held = np.ascontiguousarray(table["ordinal"])  # Found quicker where they lie together.
        for ordinals, vectors in parts:
            if vectors.shape[1] != self._vectors.dimensions:
                self._vectors = QuantizedVectors.zeros(len(self._table), vectors.shape[1])
            places, there = find_rows(held, ordinals)
            self._vectors.put(places, vectors if there.all() else vectors[there])
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

    def _reserve(self, count: int) -> None:
        # Room for twice as many: adding one record after another copies each only once or twice.
        # Rows handed out earlier keep the arrays they were made of.
        if count > len(self._table):
            old, known = self._table, self._vectors
            self._table = np.zeros(max(64, count + count // 4), INDEX_ROW)
            self._table[: len(old)] = old
            self._vectors = QuantizedVectors.zeros(len(self._table), known.dimensions)
            self._vectors.codes[: len(known)] = known.codes
            self._vectors.scales[: len(known)] = known.scales

    def _renumbered(self, rows: Table, names: Sequence[str | None]) -> Table:
        """Return records with our numbers for their names."""
        for column in NAMED:
            known, own = self._numbers[column], np.full(len(names), NO_NUMBER, np.int32)
            for number in np.flatnonzero(np.bincount(rows[column])).tolist():
                name = names[number]
                own[number] = NO_NUMBER if name is None else known.setdefault(name, len(known))
            rows[column] = own[rows[column]]
        return rows

    def _threads(self, table: Table) -> Places:
        """Return which talk each of the records stands in that came.

        Episodes of a session do; of those without one, each that happened soon after the one that
        was recorded before it. Other records stand alone.
        """
        episodes = table["kind"] == KINDS[Kind.EPISODE]
        loose = np.flatnonzero(episodes & (table["session"] == NO_NUMBER))
        threads = np.where(episodes, table["session"], -table["ordinal"])
        if len(loose):
            thread, before = self._loose
            events = table["event"][loose]
            begins = np.abs(np.diff(events, prepend=before)) > SOON_MS
            begun = np.maximum.accumulate(np.where(begins, np.arange(1, len(loose) + 1), 0))
            threads[loose] = np.append(thread, -table["ordinal"][loose])[begun]
            self._loose = threads[loose[-1]], events[-1]
        return threads


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

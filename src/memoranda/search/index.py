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
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from memoranda.model.models import ROLES, Kind, Scope
from memoranda.model.processes import follow_forks
from memoranda.model.query import (
    IndexChanges,
    IndexVersion,
    Lineage,
    Postings,
    StoredFloats,
    Vector,
)
from memoranda.store.sql.index_reads import INDEX_ROW, KINDS, NAMED, NEVER, NO_NUMBER
from memoranda.store.sql.store import Store
from memoranda.text.patterns import compile_pattern

K = TypeVar("K")
T = TypeVar("T")

MEGABYTE = 2**20
# About what an index takes beside its records, and what is known around each.
FIXED_BYTES = 8_192
BYTES_AROUND = 130
KEPT_BYTES = 1_000  # about, of a record or a text
MOST_KEPT = 4_096  # of each sort, and those of one search more
WORD = compile_pattern(r"\w+")

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Ordinals = npt.NDArray[np.int64]
Table = npt.NDArray[np.void]
FADE = 350.0  # characters over which evidence falls to 1/e
FAINTEST = 0.02  # weights below this are left out
FARTHEST = 5  # turns; farther ones add nothing that can be measured
TALK_FADE = 1000.0  # characters over which what a neighbour says falls to 1/e
UNREAD = 1e-30  # the scale of zeros
LARGEST = 127.0  # of a number of one byte
CACHED = 512  # vectors of which the processor's cache has room
SOON_MS = 30 * 60_000  # between two episodes of one talk, where no session says so


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Weights between the records of a talk.

    Attributes:
        order: the records, talk by talk, in the order of talk.
        place: where each record stands in ``order``.
        talks: the talk of each, in order.
        middles: how many characters stand before the middle of each, in order.
        weights: ``weights[s - 1][i]`` is what the ``i``-th record in order and the one ``s``
            places before it share; 0 across talks.
    """

    order: Places
    place: Places
    talks: Ordinals
    middles: npt.NDArray[np.float64]
    weights: tuple[Floats, ...]

    @classmethod
    def of(cls, talk: Ordinals, position: Ordinals, length: Floats) -> Surroundings:
        """Weigh the neighbours of records with these talks, positions and lengths."""
        order = np.lexsort((position, talk))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        talks, lengths = talk[order], length[order].astype(np.float64)
        middles = np.cumsum(lengths) - lengths / 2
        weights = []
        for step in range(1, min(FARTHEST, len(order) - 1) + 1):
            weight = np.exp((middles[:-step] - middles[step:]) / FADE).astype(np.float32)
            weight[talks[:-step] != talks[step:]] = 0
            if weight.max() < FAINTEST:
                break
            weights.append(weight)
        return cls(order, place, talks, middles, tuple(weights))

    def gathered(self, evidence: Floats) -> Floats:
        """Return each record's own evidence plus what its neighbours share.

        ``evidence`` has one row for each kind of it and one column for each record, in order.
        """
        found = evidence.copy()
        for step, weight in enumerate(self.weights, 1):
            found[:, step:] += weight * evidence[:, :-step]
            found[:, :-step] += weight * evidence[:, step:]
        return found


@dataclass(frozen=True, slots=True)
class QuantizedVectors:
    """Vectors in one byte a number (scalar quantization), which hardly moves a cosine.

    Measured: by 0.002 at most with 384 random numbers, by 0.005 with 64.

    Attributes:
        codes: whole numbers from -127 to 127, shape (records, dimensions); zeros where there is
            none yet.
        scales: by what the codes of each record are multiplied; ``UNREAD`` where the model cannot
            read the text.
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

    def extended(self, count: int) -> QuantizedVectors:
        """Return a copy with room for so many in all."""
        more = count - len(self.codes)
        codes = np.pad(self.codes, ((0, more), (0, 0)))
        return QuantizedVectors(codes, np.pad(self.scales, (0, more)))

    def put(self, rows: Places, vectors: StoredFloats) -> None:
        """Store vectors of unit length, or any other, at these rows; none with no finite number."""
        numbers = vectors.astype(np.float32)
        largest = np.abs(numbers).max(axis=1, initial=0)
        damaged = ~np.isfinite(largest)
        numbers[damaged], largest[damaged] = 0, 0
        numbers *= (LARGEST / np.maximum(largest, 1e-30))[:, None]
        self.scales[rows] = np.maximum(largest / LARGEST, UNREAD) * ~damaged
        self.codes[rows] = np.rint(numbers, out=numbers)

    def dot(self, vector: Vector) -> Floats:
        """Return the product of each with one vector: the cosine, where lengths are 1."""
        found = np.empty(len(self.codes), np.float32)
        for start in range(0, len(self.codes), CACHED):
            part = self.codes[start : start + CACHED].astype(np.float32)
            # Not `@`: on several cores it shares the work among threads, which takes half the
            # time on an idle machine and a hundred times as long, now and then, on a busy one.
            np.vecdot(part, vector, out=found[start : start + CACHED])
        found *= self.scales
        return found


def read_once(
    kept: dict[K, T | None], wanted: Sequence[K], read: Callable[[list[K]], Mapping[K, T]]
) -> dict[K, T]:
    """Return what is ``kept`` of these, and read and keep the others."""
    missing = [key for key in wanted if key not in kept]
    if missing:
        if len(kept) >= MOST_KEPT:
            kept = dict(kept)
        kept.update({**dict.fromkeys(missing), **read(missing)})
    return {key: value for key in wanted if (value := kept[key]) is not None}


@dataclass(frozen=True)
class Rows:
    """A user's records at one moment, in the order of their ordinals.

    Attributes:
        table: one structured row (``INDEX_ROW``) a record.
        vectors: of the records, as far as there are any.
        surroundings: how much each record's neighbours say about it.
        names: the number of each session, agent, speaker, subject and attribute, by column.
        sources: shape (pairs, 2): a fact, and an episode that it was drawn from and agrees with.
        replaced: shape (pairs, 2): a record, and one that took its place.
        model: name and dimensions of the model that the vectors are of.
        kept: what searches have read beside the index, each once a revision: ``records``,
            ``texts`` and ``tokens`` by row, and ``postings`` by term, with rows for keys; ``None``
            where the store has none.
        columns: of the table, as far as they were asked for.
    """

    table: Table
    vectors: QuantizedVectors
    surroundings: Surroundings
    names: Mapping[str, Mapping[str, int]]
    sources: Places
    replaced: Places
    model: tuple[str, int] | None = None
    kept: dict[str, dict[Any, Any]] = field(init=False, default_factory=partial(defaultdict, dict))
    columns: dict[str, npt.NDArray[Any]] = field(init=False, default_factory=dict)

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.table)

    def named(self, column: str, *names: str) -> Mask:
        """Return which records have one of these names in a column: "user" as their speaker."""
        known = self.names[column]
        held: Mask = np.isin(self[column], [known[name] for name in known.keys() & names])
        return held

    @cached_property
    def beside(self) -> Places:
        """Of each record the one before it in its talk, and the one after it; -1 without one."""
        around, found = self.surroundings, np.full((len(self), 2), -1, np.intp)
        first, second = around.order[:-1], around.order[1:]
        same = around.talks[:-1] == around.talks[1:]
        found[second[same], 0], found[first[same], 1] = first[same], second[same]
        return found

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """Return a column, of which the numbers stand side by side, unlike those of the table."""
        try:
            return self.columns[column]
        except KeyError:
            return self.columns.setdefault(column, np.ascontiguousarray(self.table[column]))

    @cached_property
    def lacking(self) -> Ordinals:
        """When each record that has no vector yet stops being believed."""
        lacking: Ordinals = self["until"][self.vectors.scales == 0]
        return lacking

    @cached_property
    def is_read(self) -> Mask | None:
        """Which records have a vector that says something; ``None`` where all do."""
        read: Mask = self.vectors.scales > UNREAD
        return None if read.all() else read

    @cached_property
    def from_person(self) -> Floats:
        """1 for each record that the user said, or of which nobody knows who did, else 0."""
        said: Mask = self.named("speaker", "user") | (self["speaker"] == NO_NUMBER)
        return said.astype(np.float32)

    @cached_property
    def stating(self) -> Floats:
        """1 for each record that asks nothing, else 0."""
        return (~self["asks"]).astype(np.float32)

    @cached_property
    def people(self) -> dict[int, list[str]]:
        """The words of the name of each speaker who has one, by the speaker's number."""
        speakers = self.names["speaker"].items()
        return {at: WORD.findall(name.casefold()) for name, at in speakers if name not in ROLES}

    @cached_property
    def answers(self) -> tuple[Places, Places, Floats]:
        """The turns that ask, the turn after each where another speaks, and what that shares."""
        after, speakers, around = self.beside[:, 1], self["speaker"], self.surroundings
        asked = np.flatnonzero(self["asks"] & (after >= 0) & are_others(speakers, speakers[after]))
        answer, places = after[asked], around.place[asked]
        fade = np.exp((around.middles[places] - around.middles[places + 1]) / TALK_FADE)
        return asked, answer, fade.astype(np.float32)

    def found(self, ordinals: Ordinals) -> tuple[Places, Mask]:
        """Return the row of each ordinal that is here, and of each ordinal whether it is here."""
        places = np.searchsorted(self["ordinal"], ordinals)
        inside = places < len(self)
        inside[inside] = self["ordinal"][places[inside]] == ordinals[inside]
        return places[inside], inside

    def placed(self, postings: Postings) -> Postings:
        """Return postings with the rows that are here for the keys of records."""
        places, known = self.found(postings.keys)
        return Postings(places, postings.times[known])

    def extended(self, changes: IndexChanges) -> Rows:
        """Return the records with those that came, and with what has changed."""
        table = np.concatenate([self.table, changes.rows])
        vectors = self.vectors.extended(len(table))
        places, there = self.found(changes.revised["ordinal"])
        table[places] = changes.revised[there]
        vectors.scales[places] = 0  # What still has a vector comes with it.
        around = Surroundings.of(talks_of(table), table["position"], table["length"])
        named, model = changes.names, changes.model
        rows = replace(self, table=table, surroundings=around, names=named, model=model)
        for ordinals, came in changes.vectors:
            if came.shape[1] != vectors.dimensions:
                vectors = QuantizedVectors.zeros(len(table), came.shape[1])
            places, there = rows.found(ordinals)
            vectors.put(places, came[there])
        rows = replace(rows, vectors=vectors)
        return rows if changes.lineage is None else rows.with_lineage(changes.lineage)

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
        pairs = np.array(ordinals, np.int64).reshape(-1, 2)
        there = np.isin(pairs, self["ordinal"]).all(axis=1)
        rows: Places = np.searchsorted(self["ordinal"], pairs[there])
        return rows


def _places(pairs: Iterable[tuple[int, ...]]) -> Places:
    return np.array(sorted(pairs), np.intp).reshape(-1, 2)


def talks_of(table: Table) -> Ordinals:
    """Return which talk each of a user's records stands in.

    Episodes of a session do; of those without one, each that happened soon after the one that was
    recorded before it: an application may remember what was said one text after another, and say
    nothing else of it. Other records stand alone.
    """
    episodes = table["kind"] == KINDS[Kind.EPISODE]
    alone = table["session"] == NO_NUMBER
    talks: Ordinals = np.where(episodes & ~alone, table["session"], -table["ordinal"])
    loose = np.flatnonzero(episodes & alone)
    begins = np.abs(np.diff(table["event"][loose], prepend=-NEVER // 2)) > SOON_MS
    talks[loose] = talks[loose[begins]][np.cumsum(begins) - 1]
    return talks


def are_others(speakers: Places, others: Places) -> Mask:
    """Return of each pair of turns whether two people said them, or nobody knows who did."""
    found: Mask = (speakers != others) | (speakers == NO_NUMBER)
    return found


_NONE = np.empty(0, np.int64)
NO_ROWS = Rows(
    np.empty(0, INDEX_ROW),
    QuantizedVectors.zeros(0, 0),
    Surroundings.of(_NONE, _NONE, np.empty(0, np.float32)),
    {column: {} for column in NAMED},
    sources=_places(()),
    replaced=_places(()),
)


@dataclass(eq=False)
class UserIndex:
    """The records of one user, brought up to date by :meth:`rows`. Thread-safe.

    What was handed out stays as it is: whoever ranks by older rows goes on so.

    Attributes:
        items: whether it is of items, and not of memories.
        version: the one that was read last.
    """

    items: bool = False
    version: IndexVersion = field(default_factory=IndexVersion)
    _rows: Rows = NO_ROWS
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rows(self, store: Store, scope: Scope) -> Rows:
        """Return the user's records as the store has them now, or in the snapshot of a caller.

        That may be older than what another thread has read meanwhile, which nobody forgets for it:
        records that came later are there, too.
        """
        with self._lock:
            names = self._rows.names
            changes = store.index_changes(scope, self.version, names, items=self.items)
            if changes.version >= self.version:
                known = NO_ROWS if changes.reset else self._rows
                came = changes.version.vector != self.version.vector
                came = came or bool(len(changes.rows) or len(changes.revised))
                rows = known.extended(changes) if came else known
                if changes.version != self.version:
                    self._rows, self.version = replace(rows), changes.version  # Nothing kept.
                return self._rows
            return replace(self._rows)  # What is read of these is of an older moment.

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        rows, kept = self._rows, self._rows.kept
        record = rows.table.itemsize + rows.vectors.dimensions + BYTES_AROUND
        tokens = sum(map(len, filter(None, [*kept["tokens"].values()])))
        texts = KEPT_BYTES * (len(kept["records"]) + len(kept["texts"]))
        return FIXED_BYTES + record * len(rows) + tokens + texts


class IndexCache:
    """The indexes of the users asked last. Thread-safe."""

    def __init__(self, megabytes: float = 1_024) -> None:
        """Keep at most so much, but always the newest."""
        self._limit = megabytes * MEGABYTE
        self._indexes: OrderedDict[tuple[str, bool], UserIndex] = OrderedDict()
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Forget all, in a process that was forked: a thread may have been changing it."""
        self._lock = threading.Lock()
        self.clear()

    def of(self, user: str, *, items: bool = False) -> UserIndex:
        """Return the index of the user's memories or items, a new one if need be.

        Only where one is new is it seen how much all of them take.
        """
        asked = user, items
        with self._lock:
            if asked not in self._indexes:
                self._indexes[asked] = UserIndex(items=items)
                size = sum(index.size for index in self._indexes.values())
                while size > self._limit and len(self._indexes) > 1:
                    size -= self._indexes.popitem(last=False)[1].size
            self._indexes.move_to_end(asked)
            return self._indexes[asked]

    def clear(self) -> None:
        """Drop everything, for example after an erasure."""
        with self._lock:
            self._indexes.clear()

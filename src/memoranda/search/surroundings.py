"""Evidence from neighbours: how much the turns around a turn add to its score.

A short turn is understood from those around it ("Yes, in June!"), a long one from itself.
So evidence spreads along a thread of talk, and fades with the distance in characters
between the middles of two texts: turns of a chat share it with several neighbours, texts of
thousands of characters with none. One constant serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

FADE = 350.0  # characters over which evidence falls to 1/e
FAINTEST = 0.02  # weights below this are left out
FARTHEST = 8  # turns; farther ones add nothing that can be measured


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Weights between the records of a thread.

    Attributes:
        order: the records, thread by thread, in the order of talk.
        place: where each record stands in ``order``.
        weights: ``weights[s - 1][i]`` is what the ``i``-th record in order and the one ``s``
            places before it share; 0 across threads.
        total: the sum of each record's weights, in order, itself (1) included.
    """

    order: npt.NDArray[np.intp]
    place: npt.NDArray[np.intp]
    weights: tuple[Floats, ...]
    total: Floats

    @classmethod
    def of(
        cls,
        thread: npt.NDArray[np.int64],
        position: npt.NDArray[np.int64],
        length: Floats,
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
        return cls(order, place, tuple(weights), total)

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

    def mean(self, evidence: Floats, counts: npt.NDArray[np.bool_]) -> Floats:
        """Return the weighted mean of the evidence around each record, over those that count."""
        if counts.all():
            whole: Floats = self.gathered(evidence) / self.total[self.place]
            return whole
        weights = self.gathered(counts.astype(np.float32))
        gathered = self.gathered(np.where(counts, evidence, 0).astype(np.float32))
        mean: Floats = (gathered / np.maximum(weights, FAINTEST)).astype(np.float32)
        return mean

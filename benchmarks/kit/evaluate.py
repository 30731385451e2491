"""How well a memory finds the turns that answer: recall, all and NDCG, each a mean of questions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.kit.adapter import Adapter, Embed
from benchmarks.kit.datasets import Corpus

METRICS = ("recall@5", "recall@10", "all@5", "ndcg@10")
DEEPEST = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """The means of a data set, and of how many turns and questions they are."""

    means: dict[str, float]
    turns: int
    questions: int


def evaluate(memory: type[Adapter], embed: Embed, corpora: Iterable[Corpus]) -> Outcome:
    """Ask every question of each conversation, which a new memory holds alone."""
    rows: list[dict[str, float]] = []
    turns = 0
    for corpus in corpora:
        with TemporaryDirectory(prefix="memory-", ignore_cleanup_errors=True) as folder:
            opened = memory(Path(folder), embed)
            opened.add(corpus.name, corpus.turns)
            for question in corpus.questions:
                found = opened.search(corpus.name, question.text, DEEPEST)
                rows.append(score(found, question.evidence))
            opened.close()
        turns += len(corpus.turns)
    means = {name: math.fsum(row[name] for row in rows) / len(rows) for name in METRICS if rows}
    return Outcome(means, turns, len(rows))


def score(found: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """Score what was found, best first.

    recall@k is the share of the evidence among the first k, all@k whether it is all of it, and
    ndcg@k discounts by ``log2(1 + rank)`` and is divided by what the best order would have.
    """
    order = list(dict.fromkeys(found))
    ranks = [rank for rank, id_ in enumerate(order[:DEEPEST], 1) if id_ in evidence]
    ideal = range(1, min(len(evidence), DEEPEST) + 1)
    share = {k: sum(rank <= k for rank in ranks) / len(evidence) for k in (5, 10)}
    return {
        "recall@5": share[5],
        "recall@10": share[10],
        "all@5": float(share[5] == 1),
        "ndcg@10": _gain(ranks) / _gain(ideal),
    }


def _gain(ranks: Iterable[int]) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)

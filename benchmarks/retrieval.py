"""Retrieval quality, arm by arm: what each part of the ranking is worth.

Scored by the evaluator that comes with the data (``retrieval_eval.py``), on LoCoMo by turn
and BEAM 100K by round. Each corpus is embedded once; the rankings share it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.kit.datasets import CORE
from benchmarks.measure import show
from benchmarks.retrieval_plugin import MemorandaArm
from memoranda import Memory
from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.search.evidence import WEIGHTS
from memoranda.search.search import Ranking, Retriever

METRICS = ("recall@5", "recall@10", "all@5", "all@10", "ndcg@10")
DEEPEST = 50  # no metric looks further down
ARMS = frozenset({*WEIGHTS, "entity", "precedence"})
RANKINGS: Mapping[str, Ranking] = {
    "lexical alone (BM25)": Ranking("rrf", without=ARMS - {"lexical"}),
    "vector alone": Ranking("rrf", without=ARMS - {"vector"}),
    "entity alone": Ranking("rrf", without=ARMS - {"entity"}),
    "rrf, k = 60": Ranking("rrf"),
    "rrf, k = 5": Ranking("rrf", rrf_k=5),
    "rrf, k = 5, lexical and vector": Ranking("rrf", rrf_k=5, without=ARMS - {"lexical", "vector"}),
    "default": Ranking(),
}
ABLATIONS: Mapping[str, Ranking] = {
    "default": Ranking(),
    **{f"without {arm}": Ranking(without=frozenset({arm})) for arm in (*WEIGHTS, "precedence")},
    "rrf": Ranking("rrf"),
}
Row = tuple[str, str, dict[str, float]]


def run(shared: Path, *, ablate: bool = False) -> None:
    """Print a table for each data set that is there; with ``ablate`` those of the parts."""
    script = shared / "eval" / "retrieval_eval.py"
    if not script.is_file():
        print(f"\nRetrieval: left out, {script} is not there (see docs/benchmarks.md).\n")
        return
    evaluator = evaluator_of(script)
    data = str(shared / "data")
    for title, corpora, categories in (
        ("LoCoMo, turns", lambda: evaluator.load_locomo(data, "turn"), None),
        ("BEAM 100K, rounds, core categories", lambda: evaluator.load_beam(data, "round"), CORE),
    ):
        try:
            loaded = list(corpora())
        except FileNotFoundError as error:
            print(f"\n{title}: left out, {error.filename} is not there.\n")
            continue
        if loaded and ablate:
            _ablated(evaluator, title, loaded, categories)
        elif loaded:
            arms = {name: Corpus(docs) for name, docs, _, _ in loaded}
            _table(evaluator, title, loaded, categories, (arms, RANKINGS))


def _ablated(
    evaluator: ModuleType, title: str, corpora: Sequence[Any], categories: frozenset[str] | None
) -> None:
    arms = {name: Corpus(docs) for name, docs, _, _ in corpora}
    _table(evaluator, f"{title}, part by part", corpora, categories, (arms, ABLATIONS))
    for arm in arms.values():
        arm.consolidate()
    with_facts = {"facts lend their evidence (default)": Ranking()}
    _table(evaluator, f"{title}, with facts", corpora, categories, (arms, with_facts))


def evaluator_of(script: Path) -> ModuleType:
    """Import the evaluator from its file, which is part of no package."""
    spec = importlib.util.spec_from_file_location("retrieval_eval", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["retrieval_eval"] = module
    spec.loader.exec_module(module)
    return module


def _table(
    evaluator: ModuleType,
    title: str,
    corpora: Sequence[Any],
    categories: frozenset[str] | None,
    asked: tuple[Mapping[str, Corpus], Mapping[str, Ranking]],
) -> None:
    arms, rankings = asked
    rows = []
    for name, ranking in rankings.items():
        order = iter([arms[corpus].under(ranking) for corpus, _, queries, _ in corpora if queries])
        scored, _ = evaluator.evaluate(corpora, lambda _, order=order: next(order))
        counted = _counted(scored, categories)
        rows.append((name, *_means(counted)))
    documents = sum(len(docs) for _, docs, _, _ in corpora)
    note = f"{documents:,} documents in {len(corpora)} corpora, {len(counted):,} questions."
    show(title, ("ranking", *METRICS), rows, note)


def _counted(rows: Iterable[Row], categories: frozenset[str] | None) -> list[Row]:
    return [row for row in rows if categories is None or row[1] in categories]


def _means(rows: Sequence[Row]) -> Iterator[str]:
    for metric in METRICS:
        yield f"{np.mean([row[2][metric] for row in rows]):.3f}"


class Corpus(MemorandaArm):
    """A corpus in memory, embedded once, that can be asked under any ranking."""

    def under(self, ranking: Ranking) -> Ranked:
        """Return the arm that ranks it so."""
        now = self._memory._services.clock.now()  # noqa: SLF001 - as in retriever
        scope = Scope(self._memory.user)
        return Ranked(retriever(self._memory, ranking), Filter(now=now), scope, self)


def retriever(memory: Memory, ranking: Ranking) -> Retriever:
    """Return what searches ``memory`` under a ranking of one's own."""
    parts = memory._services  # noqa: SLF001 - rankings are no part of the public face
    return Retriever(
        store=parts.store,
        extractor=parts.extractor,
        derivations=parts.derivations,
        zone=UTC,
        ranking=ranking,
    )


class Ranked:
    """What the evaluator asks."""

    def __init__(self, found: Retriever, where: Filter, scope: Scope, corpus: MemorandaArm) -> None:
        """Search ``corpus`` with the retriever ``found``."""
        self._retriever = found
        self._where = where
        self._scope = scope
        self._corpus = corpus

    def rank(self, query: str) -> list[int]:
        """Return the places of the best documents, then those of all others in order."""
        hits = self._retriever.search(self._scope, query, self._where, limit=DEEPEST)
        best = list(dict.fromkeys(place for hit in hits for place in self._corpus.places(hit)))
        found = set(best)
        return best + [place for place in range(self._corpus.count) if place not in found]

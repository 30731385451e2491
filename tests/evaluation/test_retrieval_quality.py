"""A bar of retrieval quality: a third of the questions about one conversation.

The figures of all development data are held by ``python -m benchmarks frozen``.
"""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from retrieving import LATE, retriever_of

from memoranda import errors
from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.providers.embedding.model_files import find

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"
DEEPEST = 10


def loaded(path):
    """Import a module from its file, or skip where that is not there."""
    if not path.exists():
        pytest.skip(f"{path} is not there")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def evaluator():
    """The evaluator that comes with the data."""
    return loaded(SHARED / "eval" / "retrieval_eval.py")


@pytest.fixture(scope="module")
def plugin():
    """The arm that the evaluator is given, with the real local model."""
    try:
        find(None)
    except errors.ModelUnavailable:
        pytest.skip("the local model is not installed: make setup")
    return loaded(ROOT / "benchmarks" / "retrieval_plugin.py")


def read(load):
    """Return the corpora; the evaluator leaves its files to the garbage collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        return list(load())


def ask(arm, **ranking):
    """Return the order of documents under another ranking of the same memory."""
    retriever = retriever_of(arm._memory, **ranking)
    scope, where = Scope(arm._memory.user), Filter(now=LATE)

    def rank(query):
        hits = retriever.search(scope, query, where, limit=DEEPEST)
        return [arm._place[hit.record.id] for hit in hits]

    return rank


def recalls(evaluator, rank, docs, queries):
    """Return mean recall@5 and recall@10 over the questions."""
    ids = [doc.id for doc in docs]
    rows = [evaluator.score(rank(query.text), ids, query.gold) for query in queries]
    return [float(np.mean([row[f"recall@{k}"] for row in rows])) for k in (5, 10)]


def test_turns_of_a_conversation_are_found_better_than_by_each_arm_alone(evaluator, plugin):
    """LoCoMo, turns: recall@5 of 0.70, recall@10 of 0.80, better than words or vectors alone."""
    if not (DATA / "locomo" / "locomo10.json").exists():
        pytest.skip("LoCoMo is not there")
    _, docs, queries, _ = read(lambda: evaluator.load_locomo(str(DATA), "turn"))[1]
    arm, queries = plugin.make(docs), queries[::3]
    at5, at10 = recalls(evaluator, ask(arm), docs, queries)
    assert at5 >= 0.70
    assert at10 >= 0.80
    for name in ("lexical", "vector"):
        alone = ask(arm, only=frozenset({name}))
        alone5, alone10 = recalls(evaluator, alone, docs, queries)
        assert at5 > alone5, f"{name} alone is as good"
        assert at10 > alone10, f"{name} alone is as good"

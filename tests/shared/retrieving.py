"""A retriever over the memory of a test, with a ranking of the test's own."""

from datetime import UTC, datetime

from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.search.search import Ranking, Retriever

LATE = datetime(2100, 1, 1, tzinfo=UTC)


def retriever_of(memory, *, derivations=None, **ranking):
    """Return a retriever over a memory with this ranking."""
    parts = memory._services
    return Retriever(
        store=parts.store,
        extractor=parts.extractor,
        derivations=derivations or parts.derivations,
        zone=UTC,
        ranking=Ranking(**ranking),
    )


def found(memory, question, limit=100, *, where=None, kinds=(), **ranking):
    """Return what a search of everything that Ana knows finds under this ranking."""
    asked = where or Filter(now=LATE, kinds=kinds)
    return retriever_of(memory, **ranking).search(Scope("ana"), question, asked, limit=limit)


def adds_up(hit):
    """Return whether a score is the sum of its shares times its factors."""
    shares = sum(arm.share for arm in hit.why.arms.values())
    factors = hit.why.confidence * hit.why.precedence
    return abs(hit.score - shares * factors) < 1e-6

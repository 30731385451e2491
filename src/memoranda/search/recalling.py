"""What memory says to a prompt, within a budget."""

from __future__ import annotations

from dataclasses import replace

from memoranda.model.checks import limited
from memoranda.model.models import Kind, Recall
from memoranda.model.ports import TokenCounter
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.model.text import clean, content_hash
from memoranda.parts import Parts
from memoranda.search.drawn import used
from memoranda.search.recall import pack
from memoranda.search.shown import for_model, is_small_talk, shown

RECALLED = 20  # hits that recall tries to fit into its budget
FACTS = 5  # where facts alone are wanted (seed 004)


def recalled(
    parts: Parts,
    scope: Scope,
    prompt: str,
    budget: int,
    where: Filter,
    *,
    session: str | None = None,
    skip: frozenset[str] = frozenset(),
    counter: TokenCounter | None = None,
) -> Recall:
    """Return the records that answer ``prompt`` and the newest insight.

    They count as accessed, and so do the facts that were drawn from a turn that is told.

    Args:
        parts, scope, prompt, budget: of the memory that is asked.
        where: which records may answer.
        session: the conversation that is held, if it is one.
        skip: ids of records that need not be told.
        counter: what measures the budget; that of an unknown model, if not given.

    Raises:
        InvalidInput: an argument cannot be used.
    """
    text, budget = clean(prompt, "prompt"), limited(budget, "budget")
    where, most = _asked(parts, where, session)
    hidden = skip | _same(parts, scope, text, where)
    quiet = is_small_talk(text)
    hits = [] if quiet else for_model(parts, scope, text, where, limit=most, skip=hidden)
    insight = parts.store.latest(scope, Filter(now=where.now, kinds=(Kind.REFLECTION,)))
    hits = [hit for hit in hits if insight is None or hit.record.id != insight.id]
    counter = counter or parts.catalog.meter(None).counter
    zone = parts.settings.zone
    found = pack(hits, budget=budget, counter=counter, zone=zone, insight=insight, shown=shown)
    used(parts, scope, found.hits, where, session)
    return found


def _asked(parts: Parts, where: Filter, session: str | None) -> tuple[Filter, int]:
    """Return which records are asked, and how many at most."""
    if parts.settings.retrieval.recall == "all":
        return where, RECALLED
    other = where.exclude_session or session
    return replace(where, kinds=(Kind.FACT,), exclude_session=other), FACTS


def _same(parts: Parts, scope: Scope, text: str, where: Filter) -> frozenset[str]:
    """Return the copies of a question: who asks it again is not to be told it."""
    asked = parts.store.with_hashes(scope, [content_hash(text)], now=where.now)
    return frozenset(record.id for record in asked if record.kind is Kind.EPISODE)

"""Search and recall for one user: filters what a model may see, and records accesses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import tzinfo

from memoranda.derivations.worker import LONGEST_WAIT, DerivationWorker
from memoranda.errors import EmbeddingError
from memoranda.model.actions import Touch
from memoranda.model.checks import clean, content_hash, limited, number
from memoranda.model.models import Hit, Kind, Recall, Record, Scope, is_active
from memoranda.model.ports import ENTITIES, VECTORS, Store, TokenCounter
from memoranda.model.query import Filter, Order
from memoranda.search.recall import pack
from memoranda.search.search import Retriever
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import looks_secret, without_secrets

# Hits that recall tries to fit into its budget.
RECALLED = 20
# The same where the setting ``retrieval.recall`` wants facts alone.
RECALLED_FACTS = 5
# The action in a record's history by which somebody, and not time, ended it.
CLOSED = "close"
GREETING = compile_pattern(
    r"(?:\W*(?:hi+|hello|hey+|yo|good (?:morning|afternoon|evening|night)|thanks?(?: you)?|thx|ty|"
    r"cheers|ok(?:ay)?|k|yes|yeah|yep|no|nope|sure|great|cool|nice|perfect|fine|bye|goodbye|hallo|"
    r"danke|bitte|ja|nein|merci|salut|bonjour|oui|non|hola|gracias|vale|si|sí|ola|olá|obrigad[oa]|"
    r"sim|there|again|all|everyone|you|so|very|much|a lot)\b)+\W*",
    re.IGNORECASE,
)

# By the id of a turn the facts that were drawn from it.
FactsByTurn = dict[str, list[Record]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchService:
    """Finds the records of one scope.

    Attributes:
        scope: whose records.
        store: where they are.
        retriever: ranks them.
        derivations: finishes what waits to be derived, so that nothing just said is missed.
        counter: what measures a budget, where the caller has no counter of a model.
        zone: the user's time zone.
        min_score: the least score of a hit that a model sees.
        facts_only: whether recall tells facts of other sessions alone.
    """

    scope: Scope
    store: Store
    retriever: Retriever
    derivations: DerivationWorker
    counter: TokenCounter
    zone: tzinfo
    min_score: float | None
    facts_only: bool

    def of(self, scope: Scope) -> SearchService:
        """Return the same service for another scope."""
        return replace(self, scope=scope)

    def search(
        self,
        query: str,
        where: Filter,
        *,
        limit: int,
        min_score: float | None = None,
        skip: frozenset[str] = frozenset(),
    ) -> list[Hit]:
        """Return the records that best answer ``query``, best first.

        Args:
            query: a question or words.
            where: which records count.
            limit: how many at most.
            min_score: none with a lower score.
            skip: ids of records to leave out.
        """
        with suppress(EmbeddingError):  # The problem shows in the status of the derivations.
            self.derivations.finish(self.scope, VECTORS, seconds=LONGEST_WAIT)
        if self.retriever.reads_entities:
            self.derivations.finish(self.scope, ENTITIES, seconds=LONGEST_WAIT)
        return self.retriever.search(
            self.scope,
            query,
            where,
            limit=limited(limit, "limit"),
            min_score=number(min_score, "min_score"),
            skip=skip,
        )

    def search_for_model(
        self, query: str, where: Filter, *, limit: int, skip: frozenset[str] = frozenset()
    ) -> list[Hit]:
        """Search, leaving out turns that are the source of a forgotten fact.

        What else they say is known by the facts that are left; what was to be forgotten is not
        told again in the very words it came from. They stay in the transcript, and searchable.
        """
        hits = self.search(query, where, limit=limit, min_score=self.min_score, skip=skip)
        turns = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
        facts = [
            fact
            for fact in self._citing(turns)
            if fact.kind is Kind.FACT and fact.superseded_by is None
        ]
        hidden = {
            turn
            for fact in facts
            if not is_active(fact, where.now) and self._is_forgotten(fact)
            for turn in fact.source_ids
        }
        left = [fact for fact in facts if is_active(fact, where.now)]
        return list(_replace_hidden(hits, hidden, left)) if hidden else hits

    def _is_forgotten(self, fact: Record) -> bool:
        return any(change.action == CLOSED for change in self.store.history(self.scope, fact.id))

    def recall(
        self,
        prompt: str,
        budget: int,
        where: Filter,
        *,
        session: str | None = None,
        skip: frozenset[str] = frozenset(),
        counter: TokenCounter | None = None,
    ) -> Recall:
        """Return the records that answer ``prompt`` and the newest insight, as a fenced block.

        They count as accessed, and so do the facts that were drawn from a turn that is told.

        Args:
            prompt: what is asked.
            budget: tokens of the block at most.
            where: which records may answer.
            session: the conversation that is held, if it is one.
            skip: ids of records that need not be told.
            counter: what measures the budget.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        text, budget = clean(prompt, "prompt"), limited(budget, "budget")
        hits: list[Hit] = []
        most = RECALLED
        if self.facts_only:
            other = where.exclude_session or session
            where, most = replace(where, kinds=(Kind.FACT,), exclude_session=other), RECALLED_FACTS
        hidden = skip | self._copies_of_question(text, where)
        if not is_small_talk(text):
            hits = self.search_for_model(text, where, limit=most, skip=hidden)
        insight = self._insight(Filter(now=where.now))
        found = pack(
            [hit for hit in hits if insight is None or hit.record.id != insight.id],
            budget=budget,
            counter=counter or self.counter,
            zone=self.zone,
            insight=insight,
            shown=mask_secrets,
        )
        self.record_access(found.hits, where, session)
        return found

    def _copies_of_question(self, text: str, where: Filter) -> frozenset[str]:
        """Return earlier turns with the very text of a question: they do not answer it."""
        asked = self.store.records(self.scope, Filter(now=where.now, hashes=[content_hash(text)]))
        return frozenset(record.id for record in asked if record.kind is Kind.EPISODE)

    def linked_facts(self, hits: Sequence[Hit], where: Filter) -> FactsByTurn:
        """Return the active facts extracted from the turns among ``hits``, by turn."""
        turns = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
        found: FactsByTurn = {}
        for record in self._citing(turns):
            active = is_active(record, where.now) and record.superseded_by is None
            if record.kind is Kind.FACT and active:
                for source in set(record.source_ids) & set(turns):
                    found.setdefault(source, []).append(record)
        return found

    def record_access(
        self, hits: Sequence[Hit], where: Filter, session: str | None = None
    ) -> FactsByTurn:
        """Count ``hits`` as accessed, with the facts extracted from them; return these, by turn."""
        facts = self.linked_facts(hits, where)
        accessed = [hit.record.id for hit in hits]
        accessed += [fact.id for each in facts.values() for fact in each]
        if accessed:
            touch = Touch(tuple(dict.fromkeys(accessed)), where.now, session)
            self.store.apply(self.scope, [touch])
        return facts

    def latest_insight(self, where: Filter) -> Record | None:
        """Return the newest weekly insight as a model may see it."""
        found = self._insight(where)
        return None if found is None else mask_secrets(found)

    def _insight(self, where: Filter) -> Record | None:
        insights = replace(where, kinds=(Kind.REFLECTION,))
        found = self.store.records(self.scope, insights, order=Order.LATEST, limit=1)
        return found[0] if found else None

    def _citing(self, turns: Sequence[str]) -> list[Record]:
        """Return the records that name one of ``turns`` as a source, active or not."""
        if not turns:
            return []
        return self.store.records(self.scope, Filter.at_any_time(citing=turns))


def mask_secrets(record: Record) -> Record:
    """Return a record without what seems to be secret in it: it may go to a model."""
    if not looks_secret(record.content):
        return record
    return replace(record, content=without_secrets(record.content))


def is_small_talk(text: str) -> bool:
    """Return whether a prompt only greets, thanks or agrees: memory has nothing to say to it."""
    return GREETING.fullmatch(text) is not None


def _replace_hidden(
    hits: Sequence[Hit], hidden: set[str], facts: Sequence[Record]
) -> Iterator[Hit]:
    """Yield hits with facts in the place of the hidden turns they were drawn from, each once."""
    there = {hit.record.id for hit in hits}
    for hit in hits:
        if hit.record.id not in hidden:
            yield hit
            continue
        for fact in facts:
            if hit.record.id in fact.source_ids and fact.id not in there:
                there.add(fact.id)
                yield replace(hit, record=fact)

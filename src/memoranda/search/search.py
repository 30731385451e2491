"""Search: from a question to the records that answer it, each with the reasons."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cached_property, partial, reduce
from itertools import compress
from typing import Any

import numpy as np

from memoranda.derivations import DerivationWorker
from memoranda.errors import EmbeddingError
from memoranda.facts.reader import INSTRUCTION
from memoranda.model.checks import to_ms
from memoranda.model.models import Hit, Kind, Record, Scope, Why
from memoranda.model.ports import ENTITIES, VECTORS, EntityExtractor
from memoranda.model.query import EmbeddedText, Filter, Postings, Vector
from memoranda.records.drafts import SecretPolicy, show_beginning, show_record
from memoranda.search import evidence
from memoranda.search.evidence import ANALYZER, WEIGHTS, WITHIN, QuestionTokens, ScoredRecords
from memoranda.search.index import UNREAD, Floats, IndexCache, Mask, Places, Rows, read_once
from memoranda.search.questions import (
    ParsedQuestion,
    UpdateReranker,
    asks,
    find_superseded,
    is_keyword,
    mixes_scripts,
    names_assistant,
)
from memoranda.store.sql.index_reads import KINDS, NO_NUMBER
from memoranda.store.sql.store import Store
from memoranda.text.dates.questions import question_range
from memoranda.text.dates.words import DATES
from memoranda.text.lines import shorten
from memoranda.text.terms import normalize

log = logging.getLogger("memoranda.search")

LEAST_WAIT = 1 / 3  # of the wait, what is left for new records however slow the query's vector is
MOST_TERMS = 256  # of a query; whoever pastes a book gets answers to its beginning
MOST_ASKED = 4_000  # characters of a question by which it is searched for
SHORT_TURN = 1_000  # characters; one vector of a longer turn blurs what it says
# Evidence that does not depend on the query.
PRIORS = frozenset({"user", "speaker", "statement"})


@dataclass(frozen=True, slots=True)
class Ranking:
    """How evidence becomes a score.

    Attributes:
        fusion: ``blend`` or ``rrf``; or ``cosine``, which is meaning alone, and of all else
            here takes nothing into account.
        rrf_k: the constant of ``rrf``.
        without: arms that are left out, to measure what each is worth; ``precedence`` is one of
            them, by which what is true now goes before what it brought up to date.
    """

    fusion: str = "blend"
    rrf_k: int = 60
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Retriever:
    """Ranks the records of a store for a query; by meaning, too, where it has vectors.

    Attributes:
        store: what is searched.
        extractor: finds the names in a query.
        derivations: gives the vector of a query, and finishes what waits to be derived, so that
            nothing just said is missed.
        zone: the user's time zone, for "yesterday".
        ranking: how evidence becomes a score.
        cache: the indexes of the users asked last.
        wait: seconds to wait for the vectors of the query and of the user's newest records.
    """

    store: Store
    extractor: EntityExtractor
    derivations: DerivationWorker
    zone: tzinfo
    ranking: Ranking
    cache: IndexCache = field(default_factory=IndexCache)
    wait: float = 0.3

    def search(
        self,
        scope: Scope,
        query: str,
        where: Filter,
        *,
        limit: int,
        offset: int = 0,
        min_score: float | None = None,
        skip: frozenset[str] = frozenset(),
        prompt: bool = False,
        secrets: SecretPolicy = "keep",
    ) -> list[Hit]:
        """Return the best ``limit`` records that pass the filter, best first.

        Only those of which some arm says that they answer the query, with equal scores in the
        order of recording. A turn that is the question itself is no evidence at all: no hit, and
        none for the turns around it.

        Args:
            scope: whose records.
            query: a question or words.
            where: which records count.
            limit: how many at most.
            offset: how many of the best to pass over before.
            min_score: none with a lower score.
            skip: ids of records to leave out.
            prompt: whether the query is what somebody says, be it a question or not.
            secrets: what is shown of them.
        """
        until = time.monotonic() + self.wait
        said = query if prompt or asks(query) else None
        if len(query) > MOST_ASKED:
            query = shorten(query, MOST_ASKED)
        terms, embedded = ANALYZER.query_terms(query)[:MOST_TERMS], self._embed(query)
        if self.ranking.fusion == "rrf":
            self.derivations.finish_soon(scope, ENTITIES, self.wait)

        index, patient = self.cache.of(scope.user, items=Kind.ITEM in where.kinds), True
        while True:
            with self.store.snapshot():
                rows = index.rows(self.store, scope)
                self.derivations.compare_model(rows.model)
                told = embedded if self.derivations.has_model else None
                # What has ended gets no vector any more.
                if not (patient and told and (rows.lacking > to_ms(where.now)).any()):
                    search = SingleSearch(
                        self, scope, query, terms, where, rows, told, said, secrets
                    )
                    hits = search.hits(limit=offset + limit, min_score=min_score, skip=skip)
                    return hits[offset:]
            # Some have no vectors yet; by what there is then, words find the others.
            patient, left = False, max(self.wait * LEAST_WAIT, until - time.monotonic())
            with suppress(EmbeddingError):  # The problem shows in the status of the derivations.
                self.derivations.finish_soon(scope, VECTORS, left)

    def _embed(self, query: str) -> EmbeddedText | None:
        try:
            return self.derivations.embed_question(query)
        except EmbeddingError as error:
            log.warning("searching without vectors: %s", error)
            return None


@dataclass
class SingleSearch:
    """One query against the records of a user.

    Attributes:
        parts: what searches.
        scope, query, where: whose records, what is asked, and which records count.
        terms: the distinct terms of the query.
        rows: the user's records.
        embedded: what the model says of the query; ``None`` without one.
        said: the query, if it may be a turn itself, which is no evidence then.
        secrets: what is shown of them.
    """

    parts: Retriever
    scope: Scope
    query: str
    terms: Sequence[str]
    where: Filter
    rows: Rows
    embedded: EmbeddedText | None
    said: str | None
    secrets: SecretPolicy

    @cached_property
    def postings(self) -> list[Postings]:
        """Which of the records hold each term."""

        def find(missing: list[str]) -> dict[str, Postings]:
            items = Kind.ITEM in self.where.kinds
            found = self.parts.store.postings(self.scope, missing, items=items)
            return {term: self.rows.placed(each) for term, each in found.items()}

        found = read_once(self.rows.kept["postings"], self.terms, find)
        return [found[term] for term in self.terms]

    @cached_property
    def visible(self) -> Mask:
        """Which records of the scope were active at the moment of asking."""
        rows, where = self.rows, self.where
        moment, until = to_ms(where.as_of or where.now), rows["until"]
        visible: Mask = until > moment
        if where.as_of is not None:
            visible &= rows["created"] <= moment
        elif where.retired:
            visible[:] = True
        if self.scope.agent is not None:
            visible &= (rows["agent"] == NO_NUMBER) | rows.named("agent", self.scope.agent)
        if self.said is not None:
            # A copy has its rarest word, too.
            held = [each.keys for each in self.postings if self.said == self.query]
            same: Places = min(held, key=len, default=np.arange(len(rows)))
            same = same[rows["length"][same] == len(self.said)]
            same = same[rows["kind"][same] == KINDS[Kind.EPISODE]]
            for row, text in self._texts(same.tolist()).items():
                visible[row] &= text != self.said
        return visible

    @cached_property
    def wanted(self) -> Mask:
        """Which of them pass the filter."""
        rows, where, wanted = self.rows, self.where, self.visible.copy()
        if where.kinds:
            wanted &= np.isin(rows["kind"], [KINDS[kind] for kind in where.kinds])
        if where.exclude_session is not None:
            wanted &= ~rows.named("session", where.exclude_session)
        by = where.namespace, where.session, where.since, where.until, where.tags, where.metadata
        if any(by):
            wanted &= np.isin(rows["ordinal"], self.parts.store.ordinals(self.scope, where))
        return wanted

    @cached_property
    def words(self) -> evidence.LexicalEvidence:
        """What the terms say about each record."""
        return evidence.LexicalEvidence(self.rows, self.postings, self.visible)

    @cached_property
    def named(self) -> tuple[int, ...] | None:
        """The half-open stretch of time that the query names, in milliseconds since 1970."""
        if DATES.trigger.search(normalize(self.query)) is None:
            return None
        found = question_range(self.query, self.where.now.astimezone(self.parts.zone))
        return None if found is None else tuple(map(to_ms, found))

    def hits(self, *, limit: int, min_score: float | None, skip: frozenset[str]) -> list[Hit]:
        """Return the best records, best first."""
        if not self.wanted.any():
            return []
        rank = self._by_all_arms if self.parts.ranking.fusion != "cosine" else self._by_meaning
        scored, shown = rank()
        if min_score is not None:
            shown &= scored.score >= np.float64(min_score)  # which may be beyond a float32
        order = evidence.best_rows(scored.score, shown, limit + len(skip))
        found = [(row, each) for row, each in self._records(order).items() if each.id not in skip]
        places = np.array([row for row, _ in found[:limit]], np.intp)
        told = zip(found, scored.arms(places), self._beside(places), strict=False)
        return [
            Hit(
                show_record(record, self.secrets),
                float(scored.score[row]),
                Why(
                    arms=arms,
                    confidence=float(scored.confidence[row]),
                    precedence=float(scored.precedence[row]),
                    when=record.event_time,
                    speaker=record.source_role,
                    before=before,
                    after=after,
                    unread=self._unread(row),
                ),
            )
            for (row, record), arms, (before, after) in told
        ]

    def _unread(self, row: int) -> str | None:
        """Return what the model cannot read, if that is why words stand for the meaning."""
        if self.embedded is not None:
            return "record" if self.rows.vectors.scales[row] == UNREAD else None
        derivations = self.parts.derivations
        return "question" if derivations.has_model and derivations.problem is None else None

    def _beside(self, rows: Places) -> list[list[str | None]]:
        """Return how the visible turns before and after each record begin."""
        beside = self.rows.beside[rows]
        there = beside[(beside >= 0) & self.visible[beside]].tolist()
        shown = {
            row: show_beginning(text, self.secrets) for row, text in self._texts(there).items()
        }
        return [[*map(shown.get, pair)] for pair in beside.tolist()]

    def _by_meaning(self) -> tuple[ScoredRecords, Mask]:
        """Return scores by the cosine alone, or by the words where there are no vectors now.

        The second value is which records to show.
        """
        likeness = evidence.likeness(self.rows, self.vector)
        found = {"lexical": self.words.coverage} if self.vector is None else {"vector": likeness}
        score = np.minimum(1, *found.values())
        same, shown = np.ones_like(score), self.wanted & _told(found)
        if not self.where.retired:
            shown[find_superseded(self.rows, self.visible)] = False
        return ScoredRecords(found, found, same, same, score), shown

    def _by_all_arms(self) -> tuple[ScoredRecords, Mask]:
        """Return scores by all arms, with what is true now first, and which records to show."""
        ranking, rows = self.parts.ranking, self.rows
        own = self._fused()
        found = self.wanted & _told(own.evidence)
        if "precedence" in ranking.without:
            return evidence.merge_facts(rows, own, found)
        telling = frozenset(compress(self.terms, self.words.weights))
        return UpdateReranker(
            question=ParsedQuestion(self.query, telling),
            rows=rows,
            visible=self.visible,
            wanted=self.wanted,
            one=not self.rows.people and self.named is None,
            texts=self._texts,
            records=self._records,
        ).rank(own, found)

    def _fused(self) -> ScoredRecords:
        """Return the evidence of all arms as one score, the surer facts first."""
        ranking, found = self.parts.ranking, self._evidence()
        if ranking.fusion == "rrf":
            arms = {arm: each for arm, each in found.items() if arm not in ranking.without}
            shares = evidence.rrf(arms, self.wanted, ranking.rrf_k)
        else:
            shares = evidence.blend(found, self._weights(by_tokens=False))
            found |= self._token_evidence(found, reduce(np.add, shares.values()))
            if "tokens" in found:
                shares = evidence.blend(found, self._weights(by_tokens=True))
        confidence: Floats = np.float32(0.5) * (1 + self.rows["confidence"])
        score: Floats = reduce(np.add, shares.values()) * confidence
        return ScoredRecords(found, shares, confidence, np.ones_like(score), score)

    def _evidence(self) -> dict[str, Floats]:
        """Return the evidence of each arm that takes no vectors of tokens."""
        rows, words = self.rows, self.words
        likeness = evidence.likeness(rows, self.vector)
        likeness = self._or_by_words(likeness, likeness)
        if self.parts.ranking.fusion == "rrf":
            names = [mention.text for mention in self.parts.extractor.extract(self.query)]
            mentions = self.parts.store.mentioning(self.scope, names)
            found = {"lexical": words.bm25(), "vector": likeness}
            found["entity"] = evidence.entities(rows, mentions, len(names))
        else:
            held, around = words.spread(likeness)
            if self._with_assistant:  # Whose turns stand more for themselves.
                held = 0.5 * (held + words.coverage)
            found = {"lexical": held, "vector": likeness, "context": around}
            found["user"] = rows.from_person * (not names_assistant(self.query))
            if INSTRUCTION in rows.names["attribute"]:
                found["instruction"] = evidence.like_instructions(rows, likeness, self.visible)
        if self.named is not None:
            found["temporal"] = evidence.temporal(rows, *self.named)
        return found

    def _or_by_words(self, likeness: Floats, best: Floats) -> Floats:
        """Return likeness where a record without a vector is at most as the ``best`` of others."""
        read = self.rows.is_read
        if read is None:
            return likeness
        return np.where(read, likeness, best.max(initial=0) * self.words.likeness())

    def _token_evidence(self, found: Mapping[str, Floats], score: Floats) -> dict[str, Floats]:
        """Return the evidence that takes the vectors of tokens, or goes with it.

        Of the best candidates by ``score`` alone, of which they are read from the store; nothing
        where there are none, or where the question has none.
        """
        rows, rarity = self.rows, dict(zip(self.terms, self.words.rarity.tolist(), strict=True))
        question = QuestionTokens.of(self.query, self.embedded, rarity)
        if question is None:
            return {}
        most = evidence.CANDIDATES[len(rows) > evidence.FEW_RECORDS]
        best = evidence.best_rows(score, self.wanted & _told(found), most)
        read = partial(self.parts.store.token_vectors, size=question.vectors.shape[1])
        tokens = self._read("tokens", read, best)
        if not tokens:
            return {}
        asked, alike = self.words.coverage.copy(), np.zeros_like(score)
        places, around, own = evidence.compare_tokens(question, rows, tokens)
        # What has no vectors of tokens is judged by that of its text, or by the words it holds.
        if len(tokens) < len(best):
            alike[best] = self._or_by_words(found["vector"], around)[best]
        alike[places] = around
        asked[places] = (asked[places] + own) / 2
        return {
            "tokens": alike,
            "question": evidence.weigh_question_before(rows, asked),
            "speaker": evidence.said_by_named(rows, self.query),
            "statement": rows.stating,
        }

    def _weights(self, *, by_tokens: bool) -> dict[str, float]:
        """Return the weights of the arms, where tokens are compared or not."""
        column, without = by_tokens * (1 + self._with_assistant), self.parts.ranking.without
        weights = {arm: each[column] for arm, each in WEIGHTS.items() if arm not in without}
        if by_tokens and (is_keyword(self.query) or mixes_scripts(self.query)):
            weights["lexical"] = evidence.EXACT_LEXICAL
        return weights

    @cached_property
    def _with_assistant(self) -> bool:
        """Whether it is known that one person talks with an assistant here, in short turns."""
        if not self.rows.names["speaker"] or self.rows.people:
            return False
        length: Floats = self.rows["length"][self.visible & (self.rows.from_person > 0)]
        return bool(length.sum() <= SHORT_TURN * len(length))

    @cached_property
    def vector(self) -> Vector | None:
        """The vector of the query; ``None`` where the records have none of its model."""
        if self.embedded is None or len(self.embedded.vector) != self.rows.vectors.dimensions:
            return None
        return self.embedded.vector

    def _records(self, rows: Sequence[int]) -> dict[int, Record]:
        """Return records by row."""
        return self._read("records", self.parts.store.get, rows)

    def _texts(self, rows: Sequence[int]) -> dict[int, str]:
        """Return what records say by row."""
        return self._read("texts", self.parts.store.texts, rows)

    def _read(
        self, kept: str, read: Callable[[Scope, list[int]], Mapping[int, Any]], rows: Sequence[int]
    ) -> dict[int, Any]:
        """Return by row what is read of records by their ordinals, as far as they exist."""

        def find(missing: list[int]) -> dict[int, Any]:
            ordinals = self.rows["ordinal"][missing].tolist()
            found = read(self.scope, ordinals)
            return {
                row: found[at] for row, at in zip(missing, ordinals, strict=True) if at in found
            }

        return read_once(self.rows.kept[kept], rows, find)


def _told(evidence: Mapping[str, Floats]) -> Mask:
    # What is true of a record whatever the query is no reason to show it.
    answers = [
        values >= WITHIN if name == "temporal" else values
        for name, values in evidence.items()
        if name not in PRIORS
    ]
    told: Mask = reduce(np.maximum, answers) > 0
    return told

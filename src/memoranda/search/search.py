"""Search: from a question to the records that answer it, each with the reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cached_property, partial
from typing import TypeVar

import numpy as np

from memoranda.derivations import DerivationWorker
from memoranda.errors import EmbeddingError
from memoranda.facts.reader import INSTRUCTION
from memoranda.model.checks import content_hash, to_ms
from memoranda.model.models import ArmEvidence, Hit, Kind, Record, Scope, TokenMatch, Why
from memoranda.model.ports import ENTITIES, VECTORS, Analyzer, EntityExtractor
from memoranda.model.query import (
    CandidateQuery,
    Candidates,
    EmbeddedText,
    Filter,
    TermMatches,
    TokenVectors,
    Vector,
)
from memoranda.search import evidence, precedence
from memoranda.search.answers import LONGEST, ExpectedAnswer, asks
from memoranda.search.attributes import (
    asked_attributes,
    choose_tellers,
    find_asked_facts,
    put_first,
)
from memoranda.search.evidence import WITHIN, ScoredRecords
from memoranda.search.index import NO_NUMBER, Floats, IndexCache, Mask, Rows, UserIndex
from memoranda.search.late_interaction import (
    FUNCTION_WORD,
    MOST_CANDIDATES,
    QuestionTokens,
    TokenMatches,
    compare_tokens,
    count_candidates,
    explain_match,
    weigh_question_before,
    words_at,
)
from memoranda.search.precedence import (
    ParsedQuestion,
    QuestionTense,
    competes,
    read_question,
    state_of,
)
from memoranda.search.read_ahead import read_ahead
from memoranda.store.sql.database import read_again
from memoranda.store.sql.index_reads import KINDS, NEVER
from memoranda.store.sql.store import Store
from memoranda.text.dates.questions import question_range
from memoranda.text.secrets import has_secret
from memoranda.text.small_talk import states_nothing
from memoranda.text.terms import TermAnalyzer, shorten_question

log = logging.getLogger("memoranda.search")
T = TypeVar("T")

MOST_MATCHES = 20_000
MOST_TERMS = 256  # of a query; whoever pastes a book gets answers to its beginning
EXCERPT = 120
FEW = 16  # records up to which counting the better ones is faster than sorting all
STATES_NOTHING = 0.95  # what is left of the score of a turn of questions and small talk alone
REPEATED = 0.7  # of that of a weekly insight, which repeats facts
REPEATED_TURN = 0.85  # of that of what the assistant said
ANSWERS = 0.9  # of that of an assistant's short answer to a statement
SHORT_ANSWER = 160  # characters of such an answer
FEWER_CANDIDATES = 50  # of a large user, where no tokens are compared
TWICE = 2  # candidates of a large user for each answer that is wanted, at least
FIRST_READ = 12  # the best records, of which is looked whether they state anything
FIRST_REORDERED = 5  # the best records, of which what the assistant said goes behind
MOST_CHANGES = 2  # of what is asked for that are followed
LEAST_LIKE = np.float32(0.05)  # nothing is compared with less
# From how well it fits a text is news of the best answer, and what beside its likeness to that
# counts: the share of its score, and another value of the kind asked.
NEWS, ABOUT_AS_WELL, FRESH = 1.0, 0.5, 0.2
# Share of the best score from which one of many instructions can be what is asked.
COMPARABLE = 0.6
SUPERSEDED = 0.9  # what is left of the score of a record whose replacement is found, too
# Evidence that does not depend on the query.
PRIORS = frozenset({"length", "user", "speaker", "statement"})
FADING = ("fact", "context")  # kinds of which the newer one is the truer one


@dataclass(frozen=True, slots=True)
class Ranking:
    """How evidence becomes a score.

    Attributes:
        fusion: ``blend`` or ``rrf``; or ``cosine``, which is meaning alone, and of all else
            here takes nothing into account.
        weights: of the arms, for ``blend``.
        token_weights: the same where tokens are compared.
        rrf_k: the constant of ``rrf``.
        recency: how much of its score a very old fact loses against a new one.
        recency_days: after so many days it has lost half of that.
        only: the arms to ask; empty is all of them.
        neighbours: whether what stands around a record counts for it.
        entity: whether the names in a query are looked for, where the entity arm has a weight.
        precedence: whether what is true now goes before what it brought up to date.
        facts: how a fact and the turns it was drawn from are shown when both are found:
            ``source``, the turns alone, with the evidence of the fact; ``better``, whichever
            scores higher; ``apart``, both; ``off``, the turns alone, as if there were no facts.
    """

    fusion: str = "blend"
    weights: evidence.Weights = field(default_factory=evidence.Weights)
    token_weights: evidence.Weights = evidence.TOKEN_WEIGHTS
    rrf_k: int = 60
    recency: float = 0.05
    recency_days: float = 30.0
    only: frozenset[str] = frozenset()
    neighbours: bool = True
    entity: bool = True
    precedence: bool = True
    facts: str = "source"


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
        wait: seconds to wait for what is still to be derived from the user's records.
        analyzer: makes the terms of a query, as it made those of the index.
    """

    store: Store
    extractor: EntityExtractor
    derivations: DerivationWorker
    zone: tzinfo
    ranking: Ranking
    cache: IndexCache = field(default_factory=IndexCache)
    wait: float = 0.3
    analyzer: Analyzer = field(default_factory=TermAnalyzer)

    @property
    def reads_entities(self) -> bool:
        """Whether the names in a query are looked for among the entities."""
        ranked = self.ranking.fusion == "rrf"
        return self.ranking.entity and (ranked or self.ranking.weights.entity > 0)

    def forget(self) -> None:
        """Drop what is held in memory, for example after an erasure."""
        self.cache.clear()

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
        """
        asked, query = query, shorten_question(query)
        items = of_items(where)
        large = not items and self.store.is_large(scope)
        index = self.cache.of(scope.user, items=items)
        # First: waits below do not count loading a model.
        if not items and not large and index.version.revision < 0:
            index.reading = index.reading or read_ahead(self.store, scope)
        embedded, words = (
            (self._embed(query), None)
            if index.reading is None
            else self._read_question(index, scope, query, where)
        )
        if self.reads_entities:
            self.derivations.finish_soon(scope, ENTITIES, self.wait)
        if large and embedded is not None:
            self._finish_vectors(scope)

        def read() -> list[Hit]:
            with ExitStack() as opened:
                opened.enter_context(self.store.snapshot())
                matches = words
                if large:
                    most = TWICE * (limit + offset + len(skip))
                    told = embedded if self.derivations.has_model else None
                    candidates = self._candidates(scope, query, where, told, most)
                    rows, matches = Rows.of(candidates), candidates.matches
                else:
                    rows = self._rows(index, scope, embedded, opened)
                    told = embedded if self.derivations.has_model else None
                copies = self._copies(scope, asked, where) if prompt or asks(asked) else ()
                search = self._ask(scope, query, where, rows, told, matches=matches, copies=copies)
                if search is None:
                    return []
                return search.hits(limit=offset + limit, min_score=min_score, skip=skip)[offset:]

        return read_again(read)

    def _copies(self, scope: Scope, text: str, where: Filter) -> Sequence[int]:
        """Return the ordinals of the turns that say a text and nothing else."""
        said = Filter(now=where.now, kinds=(Kind.EPISODE,), hashes=[content_hash(text)])
        return self.store.ordinals(scope, said)

    def _rows(
        self, index: UserIndex, scope: Scope, embedded: EmbeddedText | None, opened: ExitStack
    ) -> Rows:
        """Return the user's records, with the vectors of all unless that takes too long.

        Args:
            index: of the records that are asked for.
            scope: whose records.
            embedded: the query, if it has a vector, so that those of the records serve it.
            opened: a snapshot, which is left for a newer one where vectors have to be made, or
                their model is looked at.
        """
        rows = index.rows(self.store, scope)
        # Whoever makes all vectors anew has every reader begin anew.
        if index.version.vector and not index.model_checked:
            opened.close()
            self.derivations.check_model()
            index.model_checked = True
            opened.enter_context(self.store.snapshot())
            rows = index.rows(self.store, scope)
        if embedded is None or rows.vectors.complete or not self.derivations.has_model:
            return rows
        opened.close()
        self._finish_vectors(scope)
        opened.enter_context(self.store.snapshot())
        return index.rows(self.store, scope)  # Whoever made the missing ones meanwhile.

    def _finish_vectors(self, scope: Scope) -> None:
        """Make all vectors that can be made, unless that takes too long."""
        with suppress(EmbeddingError):  # The problem shows in the status of the derivations.
            self.derivations.finish_soon(scope, VECTORS, self.wait)

    def _candidates(
        self, scope: Scope, query: str, where: Filter, embedded: EmbeddedText | None, most: int
    ) -> Candidates:
        """Return what the query may be about, of a user with too many records to rank them all.

        Of these ``most`` may answer, or more: so many as are compared by their tokens.
        """
        by_tokens = embedded is not None and embedded.tokens is not None
        question = CandidateQuery(
            terms=self.analyzer.query_terms(query)[:MOST_TERMS],
            vector=None if embedded is None else embedded.vector,
            attributes=asked_attributes(query) | {INSTRUCTION},
            most=max(most, MOST_CANDIDATES if by_tokens else FEWER_CANDIDATES),
        )
        return self.store.candidates(scope, where, question)

    def _read_question(
        self, index: UserIndex, scope: Scope, query: str, where: Filter
    ) -> tuple[EmbeddedText | None, TermMatches | None]:
        """Embed a question and find its words while the user's rows are read for the first time.

        Loading the language data and the model, which a first search needs, takes about as long.
        """
        question_range(query, where.now.astimezone(self.zone))
        for read in (state_of, states_nothing, has_secret):
            read(query)
        ExpectedAnswer(query).held(query)
        terms = self.analyzer.query_terms(query)
        read_question(query, terms, [1.0] * len(terms))
        words = None
        with ThreadPoolExecutor(1, "memoranda-words") as beside:
            find = partial(self.find_words, scope, terms[:MOST_TERMS])
            with suppress(RuntimeError):  # The main thread has ended meanwhile.
                words = beside.submit(read_again, find)
            embedded = self._embed(query)
            read_again(partial(index.rows, self.store, scope))
        return embedded, None if words is None else words.result()

    def find_words(self, scope: Scope, terms: Sequence[str], *, items: bool = False) -> TermMatches:
        """Return which records hold which of these terms."""
        return self.store.match_terms(scope, terms, limit=MOST_MATCHES, items=items)

    def _embed(self, query: str) -> EmbeddedText | None:
        try:
            return self.derivations.embed_question(query)
        except EmbeddingError as error:
            log.warning("searching without vectors: %s", error)
            return None

    def _ask(
        self,
        scope: Scope,
        query: str,
        where: Filter,
        rows: Rows,
        embedded: EmbeddedText | None,
        *,
        matches: TermMatches | None,
        copies: Sequence[int],
    ) -> SingleSearch | None:
        """Return what searches the records that pass the filter; ``None`` where none does.

        The records with the ordinals ``copies`` count for nothing, as if they were not there.
        """
        visible = _visible(rows, scope, where)
        visible[rows.found(copies)[0]] = False
        wanted = visible & _filtered(rows, where)
        if rows.population is not None:
            wanted &= rows.population.answers
        if where.tags or where.metadata or where.namespace:
            passing = np.zeros(len(rows), bool)
            passing[rows.found(self.store.ordinals(scope, where))[0]] = True
            wanted &= passing
        if not wanted.any():
            return None
        return SingleSearch(self, scope, query, where, rows, visible, wanted, embedded, matches)


@dataclass(frozen=True)
class SingleSearch:
    """One query against the records of a user.

    Attributes:
        parts: what searches.
        scope, query, where: whose records, what is asked, and which records count.
        rows: the user's records.
        visible: those of the scope that were active at the moment of asking.
        wanted: those of them that pass the filter.
        embedded: what the model says of the query; ``None`` without one.
        matches: which of them hold which terms of the query, where that is known.
        read: the records that were read so far, by row.
        contents: what records say that were asked for that, by row.
        tokens: the vectors of the candidates' tokens, once they were read.
    """

    parts: Retriever
    scope: Scope
    query: str
    where: Filter
    rows: Rows
    visible: Mask
    wanted: Mask
    embedded: EmbeddedText | None
    matches: TermMatches | None = None
    read: dict[int, Record] = field(default_factory=dict)
    contents: dict[int, str] = field(default_factory=dict)
    tokens: list[Mapping[int, TokenVectors]] = field(default_factory=list)

    @cached_property
    def terms(self) -> list[str]:
        """The distinct terms of the query."""
        return self.parts.analyzer.query_terms(self.query)[:MOST_TERMS]

    @cached_property
    def words(self) -> evidence.LexicalEvidence:
        """What they say about each record."""
        matches = self.matches
        if matches is None:
            matches = self.parts.find_words(self.scope, self.terms, items=of_items(self.where))
        return evidence.LexicalEvidence(self.rows, matches, self.visible)

    @cached_property
    def named(self) -> tuple[int, int] | None:
        """The half-open stretch of time that the query names, in milliseconds since 1970."""
        found = question_range(self.query, self.where.now.astimezone(self.parts.zone))
        return None if found is None else (to_ms(found[0]), to_ms(found[1]))

    def hits(self, *, limit: int, min_score: float | None, skip: frozenset[str]) -> list[Hit]:
        """Return the best records, best first."""
        ranking = self.parts.ranking
        most = limit + len(skip)
        by_meaning = ranking.fusion == "cosine"
        scored, shown = self._by_meaning(most) if by_meaning else self._by_all_arms()
        order = _best(scored.score, shown, most)
        beside = _beside(self.rows, order, self.visible)
        self._records(order)
        self._texts(beside.values())
        picked = [
            row
            for row in order
            if row in self.read
            and self.read[row].id not in skip
            and (min_score is None or float(scored.score[row]) >= min_score)
        ][:limit]
        ranks = {name: _ranks(scored.evidence[name], picked) for name in scored.shares}
        hits = []
        for row in picked:
            record = self.read[row]
            arms = {
                name: ArmEvidence(
                    ranks[name][row], float(scored.evidence[name][row]), float(share[row])
                )
                for name, share in scored.shares.items()
                if share[row]
            }
            before, after = (self.contents.get(beside.get((row, step), -1)) for step in (-1, 1))
            why = Why(
                arms=arms,
                recency=float(scored.recency[row]),
                confidence=float(scored.confidence[row]),
                precedence=float(scored.precedence[row]),
                when=record.event_time,
                speaker=record.source_role,
                before=_excerpt(before),
                after=_excerpt(after),
                words=TokenMatches(self._matching(row)),
            )
            hits.append(Hit(record, float(scored.score[row]), why))
        return hits

    def _by_meaning(self, most: int) -> tuple[ScoredRecords, Mask]:
        """Return scores by the cosine alone, or by the words where there are no vectors now.

        The second value is which records to show.
        """
        likeness = evidence.likeness(self.rows, self._vector)
        if likeness is None:
            scored = evidence.score_alone("lexical", self.words.coverage(around=False))
        else:
            self._make_exact(likeness, _best(likeness, self.wanted, most + precedence.DEPTH))
            scored = evidence.score_alone("vector", likeness)
        shown = self.wanted & _told(scored.evidence)
        if not self.where.retired:
            shown[precedence.find_superseded(self.rows, self.visible)] = False
        return scored, shown

    def _make_exact(self, likeness: Floats, best: Sequence[int]) -> None:
        """Put into cosines those of the best records by their vectors as they are stored."""
        ordinals, vector = self.rows.table["ordinal"][best].tolist(), self._vector
        if vector is not None:
            for found, vectors in self.parts.store.vectors(self.scope, ordinals):
                places, _ = self.rows.found(found)
                likeness[places] = np.vecdot(vectors.astype(np.float32), vector)

    def _by_all_arms(self) -> tuple[ScoredRecords, Mask]:
        """Return scores by all arms, with the facts that are asked for first, and what to show."""
        ranking = self.parts.ranking
        own = self._fused()
        found = self.wanted & _told(own.evidence)
        if not ranking.precedence or ranking.only:
            return self._by_precedence(own, found)
        own = self._without_repetition(own, found)
        scored, shown = self._by_precedence(own, found)
        if ranking.facts != "off":
            scored, shown = self._with_asked_facts(own, scored, shown) or (scored, shown)
        return self._with_news_first(scored, shown), shown

    def _by_precedence(self, scored: ScoredRecords, found: Mask) -> tuple[ScoredRecords, Mask]:
        """Return scores with what is true now above what was, and what of ``found`` to show.

        Only so many candidates are looked at for that, the same whatever the limit.
        """
        rows, ranking, analyzer = self.rows, self.parts.ranking, self.parts.analyzer
        long_ago = self.named is not None and self.named[1] <= to_ms(self.where.now)
        tense = QuestionTense.THEN
        if ranking.precedence and not ranking.only and not long_ago:
            tense = state_of(self.query)
        told: list[int] = []
        if tense is not QuestionTense.THEN and len(rows.replaced):
            told = _best(scored.score, found, precedence.DEPTH)
            scored = scored.lowered(precedence.find_superseded(rows, found), SUPERSEDED)
        scored, shown = evidence.merge_facts(rows, scored, found, ranking.facts)
        if not ranking.only:
            scored = self._with_tellers_first(scored, shown)
        if tense is QuestionTense.THEN or not (told or tense is QuestionTense.NOW):
            return scored, shown
        question = self._parsed
        if tense is QuestionTense.NOW:
            # Who holds too little of the question is no answer, whatever the text is. What those
            # say again who only repeat what others said is none either.
            enough = self.words.share() >= precedence.LEAST
            enough &= ~np.isin(rows.table["speaker"], list(self._repeaters))
            best = _best(scored.score, shown, precedence.DEPTH)
            candidates = [
                precedence.PrecedenceCandidate(
                    row,
                    (int(rows.table["event"][row]), int(rows.table["ordinal"][row])),
                    float(scored.score[row]),
                    int(rows.table["speaker"][row]),
                    text,
                )
                for row, text in self._texts(row for row in best if enough[row]).items()
            ]
            scored = scored.moved(precedence.raise_updates(question, candidates, analyzer))
        if told:
            fits = partial(self._fits, question)
            scored = scored.moved(precedence.raise_successors(rows, scored, shown, told, fits))
        return scored, shown

    def _with_tellers_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which of the best few those that the assistant said go behind."""
        if self._asked.of_assistant:
            return scored
        best = _best(scored.score, shown, FIRST_REORDERED)
        places = [float(scored.score[row]) for row in best]
        likely = {
            row: place * (REPEATED_TURN if self._repeats(row) else 1)
            for row, place in zip(best, places, strict=True)
        }
        ranked = sorted(best, key=lambda row: -likely[row])
        return scored.moved(dict(zip(ranked, places, strict=True)))

    def _with_news_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which what says that the best answer has changed goes before it."""
        if state_of(self.query) is QuestionTense.THEN or self.named is not None:
            return scored
        question = self._parsed
        if question.many or question.experienced or not (question.own or self._asked.kind):
            return scored
        best = self._texts(_best(scored.score, shown, precedence.DEPTH))
        for _ in range(MOST_CHANGES):
            top = max(best, key=lambda row: scored.score[row], default=None)
            if top is None or self._repeats(top):
                break
            fits = self._news_of(top, best, scored)
            new = max(fits, key=lambda row: fits[row], default=None)
            if new is None or fits[new] < NEWS:
                break
            scored = scored.moved({new: float(np.nextafter(scored.score[top], np.float32(2)))})
        return scored

    def _news_of(
        self, top: int, best: Mapping[int, str], scored: ScoredRecords
    ) -> dict[int, float]:
        """Return how well each later turn that speaks of a change fits as news of the best one.

        It is like the best one, answers about as well, and holds another value of the kind asked.
        """
        rows, table, old = self.rows, self.rows.table, best[top]
        if "vector" not in scored.evidence or len(old) > LONGEST:
            return {}
        vector = rows.vectors.dequantize(top)
        later = (table["event"] > table["event"][top]) & _of_kinds(rows, [Kind.EPISODE])
        later &= table["speaker"] == table["speaker"][top]
        things = (*self._parsed.beginnings, *precedence.things_in(old))
        found: dict[int, float] = {}
        for row, text in best.items():
            if not later[row] or len(text) > LONGEST:
                continue
            sentences = precedence.stated_sentences(text)
            changed = [each for each in sentences if precedence.speaks_of_change(each, things)]
            if changed and self._fits(self._parsed, row):
                fresh = self._asked.held(" ".join(changed)) - self._asked.held(old)
                found[row] = (
                    float(np.vecdot(rows.vectors.dequantize(row), vector))
                    + ABOUT_AS_WELL * float(scored.score[row] / max(LEAST_LIKE, scored.score[top]))
                    + FRESH * bool(fresh)
                )
        return found

    def _without_repetition(self, scored: ScoredRecords, found: Mask) -> ScoredRecords:
        """Return scores in which who states something goes before who only says the same words.

        These are, of what was ``found``, weekly insights, which repeat facts, turns of questions
        and small talk, and the assistant's answers to what somebody told.
        """
        repeating = np.flatnonzero(_of_kinds(self.rows, [Kind.REFLECTION]))
        scored = scored.lowered(repeating, REPEATED)
        first = _best(scored.score, found, FIRST_READ)
        before = self._told_before(first)
        self._texts([*first, *before.values()])
        said = _of_kinds(self.rows, [Kind.EPISODE])
        empty = [
            row for row, text in self._texts(first).items() if said[row] and states_nothing(text)
        ]
        scored = scored.lowered(np.array(empty, np.intp), STATES_NOTHING)
        answers = [row for row, told in before.items() if "?" not in self.contents.get(told, "?")]
        return scored.lowered(np.array(answers, np.intp), ANSWERS)

    @cached_property
    def _repeaters(self) -> frozenset[int]:
        """The numbers of the speakers who say again what they were told."""
        speakers = self.rows.speakers
        return frozenset(speakers[role] for role in precedence.REPEATERS if role in speakers)

    def _repeats(self, row: int) -> bool:
        return int(self.rows.table["speaker"][row]) in self._repeaters

    def _told_before(self, rows: Iterable[int]) -> dict[int, int]:
        """Return of each turn that may only answer the one before it, by row."""
        return {
            row: told
            for row in rows
            if self._may_only_answer(row) and (told := self.rows.beside(row, -1)) is not None
        }

    def _may_only_answer(self, row: int) -> bool:
        """Return whether a turn is short and the assistant's."""
        return self._repeats(row) and self.rows.table["length"][row] <= SHORT_ANSWER

    def _with_asked_facts(
        self, own: ScoredRecords, scored: ScoredRecords, shown: Mask
    ) -> tuple[ScoredRecords, Mask] | None:
        """Return scores in which the facts that a question asks for come first, if any is known.

        Args:
            own: the scores of all records, each by itself.
            scored: the same, with what facts lend to turns.
            shown: which of them to show.
        """
        past = state_of(self.query) is QuestionTense.THEN
        analyzer, read = self.parts.analyzer, self._records
        facts = find_asked_facts(self.query, self.rows, self.visible, analyzer, read, past=past)
        if not facts:
            return None
        share = self.words.share()

        def fits(row: int) -> tuple[float, float]:
            return float(share[row]), float(own.score[row])

        facts = sorted(facts, key=fits, reverse=True)
        chosen = choose_tellers(self.rows, facts, self.wanted, fits, read)
        least = COMPARABLE * float(own.score[self.wanted].max())
        chosen = {
            row: told
            for row, told in chosen.items()
            if read([told[0]])[told[0]].attribute != INSTRUCTION
            or max(own.score[[row, *told]]) >= least
        }
        return put_first(scored, shown, chosen) if chosen else None

    def _fits(self, question: ParsedQuestion, row: int) -> bool:
        """Return whether a record speaks of what is asked, and not of a rival of it."""
        text = self._texts([row]).get(row)
        return text is not None and not competes(
            question, text, self._terms(row), self.parts.analyzer
        )

    def _terms(self, row: int) -> frozenset[str]:
        return frozenset(self.parts.analyzer.terms(self._texts([row])[row]))

    def _fused(self) -> ScoredRecords:
        """Return the evidence of all arms as one score, the newer and surer facts first."""
        ranking, table = self.parts.ranking, self.rows.table
        found = self._evidence()
        if ranking.fusion == "rrf":
            shares = evidence.rrf(found, self.wanted, ranking.rrf_k)
        else:
            shares = evidence.blend(found, ranking.weights)
            tokens = self._token_evidence(found, evidence.total(shares))
            if tokens:
                found |= tokens
                shares = evidence.blend(found, ranking.token_weights)
        fades = np.flatnonzero(_of_kinds(self.rows, FADING))
        age = np.maximum(0, to_ms(self.where.now) - table["event"][fades]) / evidence.DAY_MS
        recency = np.ones(len(self.rows), np.float32)
        recency[fades] = 1 - ranking.recency * (1 - 0.5 ** (age / ranking.recency_days))
        confidence = (0.5 + 0.5 * table["confidence"]).astype(np.float32)
        score: Floats = evidence.total(shares) * recency * confidence
        return ScoredRecords(found, shares, recency, confidence, np.ones_like(recency), score)

    def _token_evidence(self, found: Mapping[str, Floats], score: Floats) -> dict[str, Floats]:
        """Return the evidence that takes the vectors of tokens, or goes with it.

        Of the best candidates by ``score`` alone, which are read from the store; nothing where
        there are none, or where the question has none.
        """
        ranking = self.parts.ranking
        question = self.question if ranking.neighbours and not ranking.only else None
        if question is None:
            return {}
        rows = self.rows
        counted = int(self.visible.sum()) if rows.population is None else rows.total
        best = _best(score, self.wanted & _told(found), count_candidates(counted))
        ordinals = rows.table["ordinal"][best].tolist()
        tokens = self.parts.store.token_vectors(self.scope, ordinals)
        if not tokens:
            return {}
        self.tokens.append(tokens)
        # What has no vectors of its own yet is judged by that of the whole text.
        alike = np.zeros(len(rows), np.float32)
        alike[best] = found["vector"][best]
        asked = self.words.coverage(around=False)
        speaker = evidence.said_by_named(rows, self.query)
        compared = compare_tokens(question, rows, tokens)
        alike[compared.rows] = compared.around
        asked[compared.rows] = (asked[compared.rows] + compared.own) / 2
        return {
            "tokens": alike,
            "question": weigh_question_before(rows, asked),
            "speaker": speaker,
            "statement": (~rows.table["asks"]).astype(np.float32),
        }

    def _evidence(self) -> dict[str, Floats]:
        """Return the evidence of each arm that is asked."""
        rows, ranking = self.rows, self.parts.ranking
        ranked = ranking.fusion == "rrf"
        words = self.words.bm25() if ranked else self.words.coverage(around=ranking.neighbours)
        likeness = evidence.likeness(rows, self._vector)
        if likeness is not None and not rows.vectors.complete:
            # A record without a vector yet is as like as the share of the words that it holds.
            share = self.words.coverage(around=False) * likeness.max(initial=0)
            likeness = np.where(rows.vectors.scales > 0, likeness, share)
        nothing = np.zeros(len(rows), np.float32)
        found = {"lexical": words, "vector": nothing if likeness is None else likeness}
        if not ranked:
            found |= {"length": evidence.substance(rows), "user": evidence.said_by(rows, "user")}
            if ranking.neighbours:
                around = rows.surroundings.mean
                found["context"] = nothing if likeness is None else around(likeness, self.visible)
            if likeness is not None and INSTRUCTION in rows.attributes:
                found["instruction"] = evidence.like_instructions(rows, likeness, self.visible)
        if self.parts.reads_entities:
            names = [mention.text for mention in self.parts.extractor.extract(self.query)]
            mentions = self.parts.store.mentioning(self.scope, names) if names else ()
            if names or ranked:
                found["entity"] = evidence.entities(rows, mentions, len(names))
        if self.named is not None:
            found["temporal"] = evidence.temporal(rows, *self.named)
        asked = {arm: found[arm] for arm in found if not ranking.only or arm in ranking.only}
        return asked or {"lexical": nothing}

    @cached_property
    def _parsed(self) -> ParsedQuestion:
        return read_question(self.query, self.terms, self.words.weights.tolist())

    @cached_property
    def _asked(self) -> ExpectedAnswer:
        return ExpectedAnswer(self.query)

    @property
    def _vector(self) -> Vector | None:
        return None if self.embedded is None else self.embedded.vector

    @cached_property
    def question(self) -> QuestionTokens | None:
        """The tokens of the question; ``None`` where they are not compared."""
        if self.embedded is None:
            return None
        rarity = dict(zip(self.terms, self.words.rarity.tolist(), strict=True))
        terms = self.parts.analyzer.terms

        def weigh(word: str) -> float:
            return max((rarity.get(term, FUNCTION_WORD) for term in terms(word)), default=0.0)

        return QuestionTokens.of(self.query, self.embedded, weigh)

    def _matching(self, row: int) -> Callable[[], tuple[TokenMatch, ...]]:
        """Return what tells which words of a record answer which of the query."""
        ordinal = int(self.rows.table["ordinal"][row])
        tokens = next((read.get(ordinal) for read in self.tokens), None)
        question = None if tokens is None else self.question
        if tokens is None or question is None:
            return tuple
        content = self.read[row].content
        token_spans = self.parts.derivations.token_spans
        return lambda: explain_match(question, tokens, words_at(content, token_spans(content)))

    def _records(self, wanted: Iterable[int]) -> dict[int, Record]:
        """Return records by row."""
        return self._read(wanted, self.read, self.parts.store.get)

    def _texts(self, wanted: Iterable[int]) -> dict[int, str]:
        """Return what records say by row."""
        return self._read(wanted, self.contents, self.parts.store.texts)

    def _read(
        self, wanted: Iterable[int], known: dict[int, T], read: Callable[..., Mapping[int, T]]
    ) -> dict[int, T]:
        """Return something of each record by row; what is not known is read, by ordinals."""
        order = list(wanted)
        missing = sorted({row for row in order if row not in known})
        ordinals = self.rows.table["ordinal"][missing].tolist()
        found = read(self.scope, ordinals) if missing else {}
        known |= {row: found[o] for row, o in zip(missing, ordinals, strict=True) if o in found}
        return {row: known[row] for row in order if row in known}


def _beside(rows: Rows, order: Sequence[int], visible: Mask) -> dict[tuple[int, int], int]:
    """Return the visible turns before (-1) and after (1) each of these, by row and step."""
    return {
        (row, step): other
        for row in order
        for step in (-1, 1)
        if (other := rows.beside(row, step)) is not None and visible[other]
    }


def of_items(where: Filter) -> bool:
    """Return whether items are asked for, and not memories."""
    return Kind.ITEM in where.kinds


def _visible(rows: Rows, scope: Scope, where: Filter) -> Mask:
    table = rows.table
    moment = to_ms(where.as_of or where.now)
    visible: Mask = np.ones(len(rows), bool)
    if where.as_of is not None:
        visible &= (table["created"] <= moment) & (table["until"] > moment)
    elif not where.retired:
        visible &= (table["until"] == NEVER) | (table["until"] > moment)
    if scope.agent is not None:
        own = rows.agents.get(scope.agent, NO_NUMBER)
        visible &= (table["agent"] == NO_NUMBER) | (table["agent"] == own)
    return visible


def _filtered(rows: Rows, where: Filter) -> Mask:
    table = rows.table
    passing: Mask = np.ones(len(rows), bool)
    if where.kinds:
        passing &= _of_kinds(rows, where.kinds)
    if where.session is not None:
        passing &= table["session"] == rows.sessions.get(where.session, len(rows.sessions))
    if where.exclude_session is not None:
        passing &= table["session"] != rows.sessions.get(where.exclude_session, len(rows.sessions))
    if where.since is not None:
        passing &= table["over"] > to_ms(where.since)
    if where.until is not None:
        passing &= table["event"] < to_ms(where.until)
    return passing


def _of_kinds(rows: Rows, kinds: Sequence[str]) -> Mask:
    chosen = np.zeros(len(KINDS), bool)
    chosen[[KINDS[kind] for kind in kinds]] = True
    passing: Mask = chosen[rows.table["kind"]]
    return passing


def _told(evidence: Mapping[str, Floats]) -> Mask:
    # What is true of a record whatever the query is no reason to show it.
    answers = [
        values >= WITHIN if name == "temporal" else values != 0
        for name, values in evidence.items()
        if name not in PRIORS
    ]
    told: Mask = np.any(answers, axis=0)
    return told


def _best(score: Floats, wanted: Mask, limit: int) -> list[int]:
    rows = np.flatnonzero(wanted)
    if limit < len(rows):
        part = np.argpartition(-score[rows], limit - 1)
        edge = score[rows[part[limit - 1]]]
        rows = rows[score[rows] >= edge]
    ranked: list[int] = rows[np.argsort(-score[rows], kind="stable")][:limit].tolist()
    return ranked


def _ranks(values: Floats, rows: Sequence[int]) -> dict[int, int]:
    if len(rows) <= FEW:
        return {row: int(np.count_nonzero(values > values[row])) + 1 for row in rows}
    ordered = np.sort(-values)
    places = np.searchsorted(ordered, -values[list(rows)], side="left") + 1
    return dict(zip(rows, places.tolist(), strict=True))


def _excerpt(text: str | None) -> str | None:
    if text is None:
        return None
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"

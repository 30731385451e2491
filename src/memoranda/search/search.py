"""Search: from a question to the records that answer it, each with the reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

import numpy as np

from memoranda.errors import EmbeddingError
from memoranda.model.checks import to_ms
from memoranda.model.models import ArmEvidence, Hit, Record, Scope, Why
from memoranda.model.ports import Analyzer, EntityExtractor, SearchStore
from memoranda.model.query import Filter, Vector
from memoranda.search import cosine, evidence, fuse, lineage, precedence
from memoranda.search.evidence import AskedState, Mask, ParsedQuestion, read_question, state_of
from memoranda.search.fuse import Scored, SearchQuery
from memoranda.search.index import KINDS, NEVER, NO_NUMBER, Floats, IndexCache, Rows
from memoranda.search.precedence import competes

log = logging.getLogger("memoranda.search")

MOST_MATCHES = 20_000
MOST_TERMS = 256  # of a query; whoever pastes a book gets answers to its beginning
EXCERPT = 120
FEW = 16  # records up to which counting the better ones is faster than sorting all
DAY_MS = 86_400_000
PRIORS = frozenset({"length", "user"})  # evidence that does not depend on the query
FADING = ("fact", "context")  # kinds of which the newer one is the truer one


@dataclass(frozen=True, slots=True)
class Ranking:
    """How evidence becomes a score.

    Attributes:
        fusion: ``blend`` or ``rrf``; or ``cosine``, which is meaning alone, and of all else
            here takes nothing into account.
        weights: of the arms, for ``blend``.
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
    weights: fuse.Weights = field(default_factory=fuse.Weights)
    rrf_k: int = 60
    recency: float = 0.05
    recency_days: float = 30.0
    only: frozenset[str] = frozenset()
    neighbours: bool = True
    entity: bool = True
    precedence: bool = True
    facts: str = "source"


class Retriever:
    """Ranks the records of a store for a query; by meaning, too, where it has vectors.

    Args:
        store: what is searched.
        analyzer: makes the terms of a query, as it made those of the index.
        extractor: finds the names in a query.
        embed: gives the vector of a query; ``None`` where vectors are switched off.
        zone: the user's time zone, for "yesterday".
        times: from a question, and now in that zone, to the half-open stretch of time that
            the question speaks of.
        ranking: how evidence becomes a score.
    """

    def __init__(
        self,
        store: SearchStore,
        *,
        analyzer: Analyzer,
        extractor: EntityExtractor,
        embed: Callable[[str], Vector | None],
        zone: tzinfo,
        times: Callable[[str, datetime], tuple[datetime, datetime] | None],
        ranking: Ranking,
    ) -> None:
        """Start with no index in memory."""
        self._store = store
        self._analyzer = analyzer
        self._extractor = extractor
        self._embed = embed
        self._zone = zone
        self._times = times
        self._ranking = ranking
        self._cache = IndexCache()

    @property
    def reads_entities(self) -> bool:
        """Whether the names in a query are looked for among the entities."""
        ranked = self._ranking.fusion == "rrf"
        return self._ranking.entity and (ranked or self._ranking.weights.entity > 0)

    def forget(self) -> None:
        """Drop what is held in memory, for example after an erasure."""
        self._cache.clear()

    def search(
        self,
        scope: Scope,
        query: str,
        where: Filter,
        *,
        limit: int,
        min_score: float | None = None,
        skip: frozenset[str] = frozenset(),
    ) -> list[Hit]:
        """Return the best ``limit`` records that pass the filter, best first.

        Only those of which some arm says that they answer the query. ``skip`` names records
        that are not wanted though they pass. Equal scores are in the order of recording.
        """
        rows = self._cache.of(scope.user).rows(self._store, scope)
        visible = _visible(rows, scope, where)
        wanted = visible & self._passing(rows, scope, where)
        if not wanted.any():
            return []
        weighed = self._by_meaning if self._ranking.fusion == cosine.NAME else self._weighed
        scored, found, records = weighed(rows, scope, query, where, visible=visible, wanted=wanted)
        order = _best(scored.score, found, limit + len(skip))
        beside = _beside(rows, order, visible)
        # One read for both: each costs more than what it reads.
        records |= self._records(scope, rows, sorted({*order, *beside.values()} - records.keys()))
        picked = {
            row: records[row]
            for row in order
            if row in records
            and records[row].id not in skip
            and (min_score is None or scored.score[row] >= min_score)
        }
        best = dict(list(picked.items())[:limit])
        around = {key: records[other] for key, other in beside.items() if other in records}
        return self._hits(scored, best, around)

    def _weighed(
        self, rows: Rows, scope: Scope, query: str, where: Filter, *, visible: Mask, wanted: Mask
    ) -> tuple[Scored, Mask, dict[int, Record]]:
        """Return scores by all arms, which records to show, and those that were read for it."""
        asked = self._asked(scope, query, where)
        scored = self._scored(rows, scope, asked, visible=visible, wanted=wanted)
        found = wanted & _told(scored.evidence)
        return self._settled(rows, scope, asked, scored, found=found, visible=visible)

    def _by_meaning(
        self, rows: Rows, scope: Scope, query: str, where: Filter, *, visible: Mask, wanted: Mask
    ) -> tuple[Scored, Mask, dict[int, Record]]:
        """Return the same by the cosine alone; by the words where there are no vectors now."""
        likeness = evidence.likeness(rows, self._vector(query))
        if likeness is None:
            matches = self._asked(scope, query, where).matches
            words = evidence.lexical(rows, matches, visible, around=False)
            scored = cosine.scored("lexical", words.coverage)
        else:
            scored = cosine.scored("vector", likeness)
        found = wanted & _told(scored.evidence)
        return scored, found if where.retired else cosine.current(rows, found, visible), {}

    def _asked(self, scope: Scope, query: str, where: Filter) -> SearchQuery:
        terms = self._analyzer.query_terms(query)[:MOST_TERMS]
        matches = self._store.match_terms(scope, terms, limit=MOST_MATCHES)
        named = self._times(query, where.now.astimezone(self._zone))
        times = None if named is None else (to_ms(named[0]), to_ms(named[1]))
        return SearchQuery(query, terms, matches, times, to_ms(where.now))

    def _scored(
        self, rows: Rows, scope: Scope, asked: SearchQuery, *, visible: Mask, wanted: Mask
    ) -> Scored:
        found = self._evidence(rows, scope, asked, visible)
        fused = (
            fuse.rrf(found, wanted, self._ranking.rrf_k)
            if self._ranking.fusion == "rrf"
            else fuse.blend(found, self._ranking.weights)
        )
        recency, confidence = self._factors(rows, asked.now)
        score: Floats = fused.score * recency * confidence
        return Scored(found, fused, recency, confidence, np.ones(len(rows), np.float32), score)

    def _evidence(
        self, rows: Rows, scope: Scope, asked: SearchQuery, visible: Mask
    ) -> dict[str, Floats]:
        words = evidence.lexical(rows, asked.matches, visible, around=self._ranking.neighbours)
        meaning = evidence.semantic(rows, self._vector(asked.text), visible)
        ranked = self._ranking.fusion == "rrf"
        found = {"lexical": words.bm25 if ranked else words.coverage, "vector": meaning.likeness}
        if not ranked:
            found |= {"length": evidence.substance(rows), "user": evidence.said_by(rows, "user")}
            if self._ranking.neighbours:
                found["context"] = meaning.around
        names: list[str] = []
        asks_names = self.reads_entities
        if asks_names:
            names = [mention.text for mention in self._extractor.extract(asked.text)]
        if names or (ranked and asks_names):
            mentions = self._store.mentioning(scope, names) if names else ()
            found["entity"] = evidence.entities(rows, mentions, len(names))
        if asked.named is not None:
            found["temporal"] = evidence.temporal(rows, *asked.named)
        only = self._ranking.only
        heard = {name: values for name, values in found.items() if not only or name in only}
        return heard or {"lexical": np.zeros(len(rows), np.float32)}

    def _settled(
        self,
        rows: Rows,
        scope: Scope,
        asked: SearchQuery,
        scored: Scored,
        *,
        found: Mask,
        visible: Mask,
    ) -> tuple[Scored, Mask, dict[int, Record]]:
        """Return scores and which records to show, with what is true now above what was.

        Only so many candidates are looked at, the same whatever the limit. The third value
        are the records that were read for it.
        """
        ranking = self._ranking
        asks = AskedState.THEN
        if ranking.precedence and not ranking.only and not asked.long_ago:
            asks = state_of(asked.text)
        told: list[int] = []
        if asks is not AskedState.THEN and len(rows.replaced):
            told = _best(scored.score, found, precedence.DEPTH)
            scored = scored.lowered(lineage.superseded(rows, found), lineage.SUPERSEDED)
        scored, shown = lineage.folded(rows, scored, found, ranking.facts)
        if asks is AskedState.THEN or not (told or asks is AskedState.NOW):
            return scored, shown, {}
        weights = evidence.rarity(rows, asked.matches, visible)
        question = read_question(asked.text, asked.terms, weights.tolist())
        records: dict[int, Record] = {}
        if asks is AskedState.NOW:
            # Who holds too little of the question is no answer, whatever the text is.
            enough = evidence.held(rows, asked.matches, weights) >= precedence.LEAST
            best = _said(rows, _best(scored.score, shown, precedence.DEPTH))
            records = self._records(scope, rows, [row for row in best if enough[row]])
            candidates = _candidates(rows, scored, records)
            scored = scored.moved(precedence.raise_updates(question, candidates, self._analyzer))
        if told:
            fits = self._fitting(scope, rows, question)
            scored = scored.moved(lineage.raised(rows, scored, shown, told, fits))
        return scored, shown, records

    def _fitting(self, scope: Scope, rows: Rows, question: ParsedQuestion) -> Callable[[int], bool]:
        """Return whether a record speaks of what is asked, and not of a rival of it."""

        def fits(row: int) -> bool:
            record = self._records(scope, rows, [row]).get(row)
            if record is None:
                return False
            terms = frozenset(self._analyzer.terms(record.content))
            return not competes(question, record.content, terms, self._analyzer)

        return fits

    def _vector(self, query: str) -> Vector | None:
        try:
            return self._embed(query)
        except EmbeddingError as error:
            log.warning("searching without vectors: %s", error)
            return None

    def _passing(self, rows: Rows, scope: Scope, where: Filter) -> Mask:
        if where.tags or where.metadata:
            passing = np.zeros(len(rows), bool)
            passing[rows.places(self._store.passing(scope, where))] = True
            return passing
        return _filtered(rows, where)

    def _factors(self, rows: Rows, now: int) -> tuple[Floats, Floats]:
        fades = np.flatnonzero(_of_kinds(rows, FADING))
        age = np.maximum(0, now - rows.table["event"][fades]) / DAY_MS
        recency = np.ones(len(rows), np.float32)
        recency[fades] = 1 - self._ranking.recency * (1 - 0.5 ** (age / self._ranking.recency_days))
        confidence = (0.5 + 0.5 * rows.table["confidence"]).astype(np.float32)
        return recency, confidence

    def _records(self, scope: Scope, rows: Rows, order: Sequence[int]) -> dict[int, Record]:
        ordinals = rows.table["ordinal"][list(order)].tolist()
        found = self._store.by_ordinals(scope, ordinals)
        return {row: found[o] for row, o in zip(order, ordinals, strict=True) if o in found}

    def _hits(
        self, scored: Scored, best: Mapping[int, Record], around: Mapping[tuple[int, int], Record]
    ) -> list[Hit]:
        shares = scored.fused.shares
        ranks = {name: _ranks(scored.evidence[name], list(best)) for name in shares}
        hits = []
        for row, record in best.items():
            arms = {
                name: ArmEvidence(
                    ranks[name][row], float(scored.evidence[name][row]), float(share[row])
                )
                for name, share in shares.items()
                if share[row]
            }
            why = Why(
                arms=arms,
                recency=float(scored.recency[row]),
                confidence=float(scored.confidence[row]),
                precedence=float(scored.precedence[row]),
                when=record.event_time,
                speaker=record.source_role,
                before=_excerpt(around.get((row, -1))),
                after=_excerpt(around.get((row, 1))),
            )
            hits.append(Hit(record, float(scored.score[row]), why))
        return hits


def _said(rows: Rows, places: Sequence[int]) -> list[int]:
    """Return those of the records that nobody said who only repeats what others said."""
    repeat = {rows.speakers.get(role) for role in precedence.REPEATERS}
    told_by = rows.table["speaker"][list(places)].tolist()
    return [row for row, by in zip(places, told_by, strict=True) if by not in repeat]


def _candidates(
    rows: Rows, scored: Scored, records: Mapping[int, Record]
) -> list[precedence.PrecedenceCandidate]:
    table = rows.table
    return [
        precedence.PrecedenceCandidate(
            row,
            (int(table["event"][row]), int(table["ordinal"][row])),
            float(scored.score[row]),
            record,
        )
        for row, record in records.items()
    ]


def _beside(rows: Rows, order: Sequence[int], visible: Mask) -> dict[tuple[int, int], int]:
    """Return the visible turns before (-1) and after (1) each of these, by row and step."""
    return {
        (row, step): other
        for row in order
        for step in (-1, 1)
        if (other := rows.beside(row, step)) is not None and visible[other]
    }


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
        passing &= table["event"] >= to_ms(where.since)
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
    answers = [values != 0 for name, values in evidence.items() if name not in PRIORS]
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


def _excerpt(record: Record | None) -> str | None:
    if record is None:
        return None
    line = " ".join(record.content.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"

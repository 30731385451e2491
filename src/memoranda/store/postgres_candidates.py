"""What a question may be about, of a user with too many records on PostgreSQL to rank them all.

It comes from the index of vectors, the index of terms, and the lists of common terms. With what
stands around it, that is ranked as the records of any other user are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.model.query import (
    Candidates,
    IndexChanges,
    IndexVersion,
    Lineage,
    TermMatches,
    Vector,
)
from memoranda.store.postgres_nearest import LargeUser, literal_of, table_of
from memoranda.store.postgres_term_lists import ask_lists
from memoranda.store.postgres_terms import TermVectors
from memoranda.store.sql.database import Postings, SqlConnection
from memoranda.store.sql.reads import (
    CANDIDATE_ROWS,
    CANDIDATE_VECTORS,
    Where,
    read_index_rows,
    read_vectors,
)
from memoranda.store.sql.rows import dump
from memoranda.store.sql.store import join_postings

# Records that hold words of a question, the rarest first; where all are ranked, it is as many.
MOST_MATCHES = 20_000
# Of these, those in or around which most of it stands, and those that are most like it: so many
# are looked at.
MOST_WORDED = 600
MOST_LIKE = 200
MOST_LOOKED_AT = 800
# Of which more are looked at, where a filter lets few of them pass.
MOST_RANKED = 8_000
# Of the first of both, those with the keys around may answer, too: mostly the turns around.
MOST_BESIDE = 400
BESIDE_LIKE = 20
BESIDE_STEPS = (-1, 1, -2, 2)
# What a filter leaves, if that is little.
MOST_FILTERED = 2_000
# Facts with the attributes that a question asks for, the newest first.
MOST_FACTS = 100
# Places in a session, or keys, up to which records stand around a candidate.
AROUND = 8
AROUND_KEYS = 8
# As in the ranking, about: what a term counts that stands once, what the turns around a turn share
# with it, and what evidence of words, of who says it and of how much weighs beside likeness.
K1, B = 1.2, 0.75
SHARED = (0.7, 0.5, 0.35, 0.25, 0.17)
ALL_SHARED = 1 + 2 * sum(SHARED)
WORDS, SAID, LENGTH, FULL_LENGTH = 0.9, 0.1, 0.2, 200
Keys = NDArray[np.int64]
Shares = NDArray[np.float64]

PLAN = """
SELECT set_config('hnsw.ef_search', :most, TRUE),
    set_config('hnsw.iterative_scan', 'relaxed_order', TRUE),
    set_config('enable_seqscan', :other, TRUE), set_config('enable_sort', :other, TRUE),
    set_config('enable_hashjoin', :other, TRUE), set_config('enable_mergejoin', :other, TRUE)
"""
NEAREST = """
SELECT n.record_key FROM {table} n JOIN records r ON r.key = n.record_key
WHERE r.kind <> 'item' AND {where}
ORDER BY n.embedding <#> CAST(:vector AS halfvec) LIMIT :most
"""
LIKENESS = "coalesce(-(n.embedding <#> CAST(:vector AS halfvec)), 0)"
INDEXED = "LEFT JOIN {table} n ON n.record_key = r.key"
FEATURES = f"""
SELECT r.key, {LIKENESS}, CASE WHEN r.source_role = 'user' THEN 1 ELSE 0 END, length(r.content),
    r.term_count, CASE WHEN r.kind = 'episode' THEN 1 ELSE 0 END
FROM records r {INDEXED} WHERE r.kind <> 'item' AND r.key IN (@ints(:keys)) AND {{where}}
"""
# Where there is no vector to compare with.
PLAIN_FEATURES = FEATURES.replace(LIKENESS, "CAST(0 AS float8)").replace(INDEXED, "")
FACTS = """
SELECT r.key FROM records r WHERE r.user_key = :user AND r.attribute IN (@texts(:attributes))
    AND r.kind = 'fact' AND r.superseded_by IS NULL AND {where} ORDER BY r.key DESC LIMIT :most
"""
FILTERED = "SELECT r.key FROM records r WHERE r.kind <> 'item' AND {where}"
SOURCES = """
SELECT j.record_key, s.key FROM record_sources j JOIN records s
    ON s.user_key = :user AND s.id = j.source_id
WHERE j.user_key = :user AND j.record_key IN (@ints(:keys))
UNION
SELECT j.record_key, s.key FROM records s JOIN record_sources j
    ON j.user_key = :user AND j.source_id = s.id
WHERE s.user_key = :user AND s.key IN (@ints(:keys))
"""
REPLACED = """
SELECT r.key, s.key FROM records r JOIN records s
    ON s.user_key = :user AND s.id = r.superseded_by
WHERE r.user_key = :user AND r.key IN (@ints(:keys)) AND r.superseded_by IS NOT NULL
UNION
SELECT r.key, s.key FROM records s JOIN records r
    ON r.user_key = :user AND r.superseded_by = s.id
WHERE s.user_key = :user AND s.key IN (@ints(:keys))
"""
BESIDE_THEM = """
SELECT n.key FROM records c JOIN records n ON n.user_key = :user AND n.session_id = c.session_id
    AND n.position BETWEEN c.position - :around AND c.position + :around
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
UNION
SELECT n.key FROM records c JOIN records n ON n.user_key = :user AND n.session_id IS NULL
    AND n.kind = 'episode' AND n.key BETWEEN c.key - :around_keys AND c.key + :around_keys
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
    AND c.session_id IS NULL
"""


def _with_neighbours(keys: Keys, evidence: Shares) -> Shares:
    """Return evidence of records with what those with the next keys share: mostly the next turns.

    Args:
        keys: of the records, ascending.
        evidence: of each; or a row of it for each.
    """
    found = evidence.copy()
    for apart in range(1, min(len(SHARED), len(keys) - 1) + 1):
        steps = keys[apart:] - keys[:-apart]
        before = np.flatnonzero(steps <= len(SHARED))
        share = np.take(SHARED, steps[before] - 1)
        share = share.reshape(-1, *[1] * (evidence.ndim - 1))
        found[before + apart] += share * evidence[before]
        found[before] += share * evidence[before + apart]
    return found


def distinct(keys: Iterable[int]) -> Iterator[int]:
    """Yield keys in their order, each once."""
    seen: set[int] = set()
    for key in keys:
        if key not in seen:
            seen.add(key)
            yield key


class QuestionCoverage:
    """How much of a question stands in records and around them.

    Args:
        terms: of the question.
        postings: which of all records hold each.
        large: what is known of the user.
    """

    def __init__(
        self, terms: Sequence[str], postings: Sequence[Postings], large: LargeUser
    ) -> None:
        """Weigh the terms by how rare they are."""
        self._keys, self._counts = join_postings(terms, postings, limit=MOST_MATCHES)
        self._frequencies = [len(each.keys) for each in postings]
        self._mean_terms = max(large.terms, 1.0)
        held = np.array(self._frequencies, np.float64)
        rarity = np.log1p(np.maximum(large.records - held + 0.5, 0.5) / (held + 0.5))
        weights = np.where(held > 0, rarity, 0)
        self._weights = weights / max(weights.sum(), 1e-9)

    def cover(self, keys: Keys, lengths: Shares | None = None) -> Shares:
        """Return the share (0 to 1) of the question in each of these records and around it.

        Args:
            keys: of the records, ascending.
            lengths: how many terms each has, where that is known.
        """
        counts = np.zeros((len(keys), len(self._weights)), np.float32)
        if len(self._keys):
            places = np.searchsorted(self._keys, keys)
            known = np.flatnonzero(np.take(self._keys, places, mode="clip") == keys)
            counts[known] = self._counts[places[known]]
        return self._covered(keys, counts, lengths)

    def _covered(self, keys: Keys, counts: Any, lengths: Shares | None = None) -> Shares:
        longer = 1.0 if lengths is None else (lengths / self._mean_terms)[:, None]
        held = np.minimum(1, (K1 + 1) * counts / (counts + K1 * (1 - B + B * longer)))
        shares: Shares = np.minimum(1, _with_neighbours(keys, held)) @ self._weights
        return shares

    def best(self) -> list[int]:
        """Return records in or around which most stands, first those in and around the best.

        One may come twice.
        """
        if not len(self._keys):
            return []
        covered = self._covered(self._keys, self._counts.astype(np.float32))
        best = self._keys[np.argsort(-covered, kind="stable")]
        near = np.unique(best[:MOST_BESIDE, None] + np.array([0, *BESIDE_STEPS]))
        near = near[np.argsort(-self.cover(near), kind="stable")[:MOST_WORDED]]
        return [*near.tolist(), *best[:MOST_RANKED].tolist()]

    def matches(self, keys: Sequence[int]) -> TermMatches:
        """Return which of these records hold which terms."""
        places = np.flatnonzero(np.isin(self._keys, keys))
        return TermMatches(self._keys[places].tolist(), self._counts[places], self._frequencies)


class CandidateSearch:
    """Finds what a question may be about among the records of one large user.

    Args:
        connection: a snapshot.
        user: the key of the user.
        where: which records count.
        large: what is known of the user.
        full_text: the index of terms.
        most: how many records may answer.
    """

    def __init__(
        self,
        connection: SqlConnection,
        user: int,
        where: Where,
        large: LargeUser,
        full_text: TermVectors,
        *,
        most: int,
    ) -> None:
        """Ask nothing yet."""
        self._connection, self._user, self._large = connection, user, large
        self._where, self._full_text, self._most = where, full_text, most

    def find(
        self, terms: Sequence[str], vector: Vector | None, attributes: Collection[str]
    ) -> Candidates:
        """Return the candidates for a question, with what stands around them.

        Args:
            terms: of the question.
            vector: of it, float32, shape (dimensions,); ``None`` without a model.
            attributes: the attributes of facts that it may ask for.
        """
        if vector is not None and len(vector) != self._large.dimensions:
            vector = None
        literal = None if vector is None else literal_of(vector)
        lists = ask_lists(self._connection, self._user, terms)
        postings = self._postings(terms, lists())
        nearest = self._ask_nearest(literal)
        facts = self._ask(FACTS, attributes=dump(sorted(attributes)), most=MOST_FACTS)
        words = QuestionCoverage(terms, postings(), self._large)
        worded = words.best()  # While the server looks for the nearest.
        like = [key for (key,) in nearest()]
        keys = self._best(like, worded, words, literal) | {key for (key,) in facts()}
        if literal is not None and len(like) < MOST_LIKE // 2:
            newest = f"{FILTERED} ORDER BY r.key DESC LIMIT :most"
            keys |= self._keys(newest, most=MOST_FILTERED)
        lineage = self._lineage(keys)
        keys |= {key for each in lineage for pair in each for key in pair}
        beside = self._beside(keys)
        return self._read(sorted(keys), sorted(keys | beside), words, lineage)

    def _postings(
        self, terms: Sequence[str], listed: Mapping[str, Postings]
    ) -> Callable[[], list[Postings]]:
        """Ask which records hold which terms, those that are listed and all others."""
        ask = partial(self._full_text.ask_postings, self._connection, self._user)
        rare = [term for term in terms if term not in listed]
        rest, later = ask(rare), ask([*listed], after=self._large.listed)

        def read() -> list[Postings]:
            found = dict(zip(rare, rest(), strict=True))
            for (term, first), more in zip(listed.items(), later(), strict=True):
                found[term] = Postings(*map(np.concatenate, zip(first, more, strict=True)))
            return [found[term] for term in terms]

        return read

    def _ask(self, sql: str, **values: Any) -> Callable[[], Any]:
        given = self._where.values | {"user": self._user} | values
        sql = sql.format(where=self._where.sql, table=table_of(self._user))
        return self._connection.ask(sql, given)

    def _keys(self, sql: str, **values: Any) -> set[int]:
        return {key for (key,) in self._ask(sql, **values)()}

    def _lineage(self, keys: Collection[int]) -> list[list[tuple[int, int]]]:
        listed = dump(sorted(keys))
        return [read() for read in [self._ask(sql, keys=listed) for sql in (SOURCES, REPLACED)]]

    def _beside(self, keys: Collection[int]) -> set[int]:
        around = {"around": AROUND, "around_keys": AROUND_KEYS}
        return self._keys(BESIDE_THEM, keys=dump(sorted(keys)), **around)

    def _ask_nearest(self, literal: str | None) -> Callable[[], Any]:
        """Ask for the records that are most like the question."""
        if literal is None:
            return list
        plan = {"most": str(MOST_LIKE), "other": "off"}
        self._connection.run(PLAN, plan)  # The index gives them in order, if it is used.
        found = self._ask(NEAREST, vector=literal, most=MOST_LIKE)
        self._connection.run(PLAN, plan | {"other": "on"})
        return found

    def _best(
        self,
        like: Sequence[int],
        worded: Sequence[int],
        words: QuestionCoverage,
        literal: str | None,
    ) -> set[int]:
        """Return the records that pass the filter and may answer the question best.

        Args:
            like: those most like the question.
            worded: those with most of its words in and around them.
            words: how much stands in which.
            literal: the vector of the question.
        """
        sql, asked = PLAIN_FEATURES, {}
        if literal is not None:
            sql, asked = FEATURES, {"vector": literal}
        beside = (key + step for key in like[:BESIDE_LIKE] for step in BESIDE_STEPS)
        ranked = distinct(chain(like, beside, worded))
        rows: list[Any] = []
        while part := list(islice(ranked, MOST_LOOKED_AT)):
            rows += self._ask(sql, keys=dump(sorted(part)), **asked)()
            if len(rows) >= MOST_WORDED // 2:
                break
        if len(rows) <= self._most:
            return {row[0] for row in rows}
        columns = zip(*sorted(rows), strict=True)
        keys, likeness, said, length, terms, in_talk = map(np.array, columns)
        likeness = np.clip(likeness, 0, 1)
        # Of the turns around, those that are not looked at are hardly like it.
        around = np.where(in_talk, _with_neighbours(keys, likeness) / ALL_SHARED, likeness)
        score = likeness + around + WORDS * words.cover(keys, terms)
        score += SAID * said + LENGTH * np.minimum(1, length / FULL_LENGTH)
        return {*keys[np.argsort(-score, kind="stable")[: self._most]].tolist()}

    def _read(
        self,
        answers: Sequence[int],
        keys: Sequence[int],
        words: QuestionCoverage,
        lineage: Sequence[Sequence[tuple[int, int]]],
    ) -> Candidates:
        """Return these records as ranking reads them."""
        listed = dump(list(keys))
        records = self._ask(CANDIDATE_ROWS, keys=listed)
        embedded = self._ask(CANDIDATE_VECTORS, keys=listed)
        matches = words.matches(keys)
        rows = read_index_rows(self._connection, records())
        dimensions = self._large.dimensions
        ordinals, vectors = read_vectors(self._connection, embedded(), dimensions)
        changes = IndexChanges(
            IndexVersion(),
            reset=True,
            rows=rows,
            revised=[],
            ordinals=ordinals,
            vectors=vectors,
            lineage=Lineage(*lineage),
        )
        return Candidates(changes, matches, self._large.records, self._large.terms, answers)

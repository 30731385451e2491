"""The contract of :class:`memoranda.model.ports.SearchStore`, and of what waits for vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.model.checks import to_ms
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import VECTORS, Store
from memoranda.model.query import Filter, IndexChanges
from memoranda.testing.contracts.base import ONE_STORE, Contract, Reopen
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    MODEL,
    PLANNER,
    UNREAD,
    WRITER,
    close,
    contents,
    embed,
    erase,
    moment,
    on_record,
    pending,
    remember,
    seen,
    vector,
)

Step = tuple[str, int, int]
DEEDS = ["add", "add", "embed", "embed", "read", "reset", *map(str, range(len(on_record("", ""))))]
STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), *[st.integers(0, 50)] * 2), max_size=25)


class Reader:
    """Keeps up with the index of a user as ranking does, by changes alone."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.version = UNREAD
        self.rows: dict[int, Any] = {}
        self.vectors: dict[int, list[float]] = {}

    def read(self, store: Store, scope: Scope) -> IndexChanges:
        """Take in what is new."""
        changes = store.index_changes(scope, self.version)
        if changes.reset:
            self.rows.clear()
            self.vectors.clear()
        self.version = changes.version
        self.rows.update((row.ordinal, row) for row in changes.rows)
        self.vectors.update(zip(changes.ordinals, changes.vectors.tolist(), strict=True))
        assert set(self.vectors) <= set(self.rows)
        return changes


class IndexContract(Contract):
    """A reader that follows the changes knows what one that reads everything knows."""

    def test_a_row_tells_all_but_the_text(self, store: Store) -> None:
        """A row holds what ranking needs of a record, whoever asks, also of what has ended."""
        (item,) = remember(
            store,
            "Three little wörds",
            kind=Kind.EPISODE,
            scope=PLANNER,
            session_id="s",
            source_role="user",
            event_time=moment(-5),
            valid_until=moment(5),
            confidence=0.5,
        )
        text = ("s", 0, len("Three little wörds"), 3, "episode", "planner", "user")
        times = (to_ms(moment(-5)), to_ms(item.created_at), to_ms(moment(5)))
        for scope in (ANA, PLANNER, WRITER):
            (row,) = store.index_changes(scope, UNREAD).rows
            assert row[1:] == (*text, *times, 0.5)
        assert store.get(ANA, [row.ordinal, row.ordinal + 99]) == {row.ordinal: item}
        for scope in (BEN, WRITER):
            assert store.get(scope, [row.ordinal]) == {}
        assert store.get(ANA, []) == {}

    def test_only_what_is_new_comes(self, store: Store) -> None:
        """A reader gets new rows alone, in the order of ordinals, and vectors when made."""
        reader = Reader()
        changes = reader.read(store, ANA)
        assert (list(changes.rows), changes.vectors.shape) == ([], (0, 0))
        store.reset_vectors(MODEL, DIMENSIONS)
        one, _ = remember(store, "one", "two")
        reader.read(store, ANA)
        new = remember(store, "three", "four")
        changes = reader.read(store, ANA)
        ordinals = [row.ordinal for row in changes.rows]
        assert (changes.reset, ordinals) == (False, sorted(ordinals))
        assert [store.get(ANA, ordinals)[ordinal] for ordinal in ordinals] == new
        embed(store, ANA, [one], vector(1, -2, 3, 4))
        changes = reader.read(store, ANA)
        assert (changes.reset, list(changes.rows)) == (False, [])
        assert list(store.get(ANA, changes.ordinals).values()) == [one]
        assert changes.vectors.dtype == np.float32
        assert changes.vectors.shape == (1, DIMENSIONS)
        np.testing.assert_allclose(changes.vectors[0], vector(1, -2, 3, 4), atol=1e-3)
        again = reader.read(store, ANA)
        assert (again.reset, list(again.rows), list(again.ordinals)) == (False, [], [])

    @given(steps=STEPS)
    @ONE_STORE
    def test_reading_on_equals_reading_anew(self, store: Store, steps: list[Step]) -> None:
        """Whatever is done, changes lead to what is there, and others see none.

        Where what a reader knows has changed, it gets all anew; no ordinal is used again.
        """
        store.reset_vectors(MODEL, DIMENSIONS)
        remember(store, "his", scope=BEN)
        reader, his = Reader(), Reader()
        his.read(store, BEN)
        last = 0
        for step, first, second in steps:
            known = store.records(ANA, ALL, limit=50)
            if step == "read":
                reader.read(store, ANA)
            elif step == "reset":
                store.reset_vectors(MODEL, DIMENSIONS)
            elif step == "add" or not known:
                (new,) = remember(store, f"text {first}")
                ordinal = max(store.ordinals(ANA, ALL))
                assert store.get(ANA, [ordinal]) == {ordinal: new}
                assert ordinal > last
                last = ordinal
            else:
                one, other = (known[number % len(known)] for number in (first, second))
                if step == "embed":
                    embed(store, ANA, [one])
                elif one != other:
                    store.apply(ANA, [on_record(one.id, other.id)[int(step)]])
        reader.read(store, ANA)
        fresh = Reader()
        fresh.read(store, ANA)
        assert (reader.rows, reader.vectors) == (fresh.rows, fresh.vectors)
        assert his.read(store, BEN).reset == ("reset" in {step for step, *_ in steps})


class TermContract(Contract):
    """Full-text matches count what the user's own records hold."""

    def test_counts_and_frequencies(self, store: Store) -> None:
        """Each match has its counts of the terms, up to a byte; each term, its records."""
        for terms in ([], ["milk", "rum"]):
            nothing = store.match_terms(ANA, terms, limit=5)
            assert (list(nothing.ordinals), list(nothing.frequencies)) == ([], [0] * len(terms))
        remember(store, "tea and tea and cake", "coffee", "cake tea", "tea " * 300)
        matches = store.match_terms(ANA, ["tea", "cake", "milk"], limit=10)
        texts = store.get(ANA, matches.ordinals)
        rows = zip(matches.ordinals, matches.counts.tolist(), strict=True)
        assert {texts[row].content[:8]: counts for row, counts in rows} == {
            "tea and ": [2, 1, 0],
            "cake tea": [1, 1, 0],
            "tea tea ": [255, 0, 0],
        }
        assert list(matches.frequencies) == [3, 2, 0]
        assert list(store.match_terms(ANA, [], limit=5).ordinals) == []

    def test_the_records_of_the_user_count(self, store: Store) -> None:
        """Of all agents, also beyond the limit and retired; not what is erased or another's."""
        remember(store, *["tea"] * 20, scope=BEN)
        remember(store, "tea cake", scope=PLANNER)
        _, closed, gone = remember(store, "tea", "tea pie", "tea cup")
        store.apply(ANA, [*close(closed), *erase(gone)])
        for limit in (1, 5):
            matches = store.match_terms(WRITER, ["tea", "cake"], limit=limit)
            assert list(matches.frequencies) == [3, 1]
        assert seen(store, BEN, matches.ordinals) == set()
        assert seen(store, ANA, matches.ordinals) == {"tea", "tea cake", "tea pie"}

    def test_those_with_rarer_terms_are_kept(self, store: Store) -> None:
        """The limit is filled, first with those that hold the rarest terms, each once."""
        remember(store, *[f"common {number}" for number in range(30)])
        remember(store, *[f"seldom common {number}" for number in range(5)], "rare", "rare common")
        terms = ["common", "rare", "absent", "seldom"]
        for limit, kept in (
            (2, {"rare"}),
            (7, {"rare", "seldom"}),
            (40, {"rare", "seldom", "common"}),
        ):
            matches = store.match_terms(ANA, terms, limit=limit)
            texts = seen(store, ANA, matches.ordinals)
            assert {text.split()[0] for text in texts} == kept
            assert len(texts) == len(matches.ordinals) == min(limit, 37)
            assert {len(counts) for counts in matches.counts} == {len(terms)}
            assert list(matches.frequencies) == [36, 2, 0, 5]

    @pytest.mark.parametrize(
        "term",
        [
            *('tea"', '"', '""', "tea*", "^tea", "-tea", "(", ")", "%", "_", "a b"),
            *("OR", "AND", "NOT", "NEAR", "u1", "u2", "terms", "scope"),
            *('tea") OR scope : u2 OR ("tea', "' OR 1=1 --"),
        ],
    )
    def test_a_term_is_only_a_term(self, store: Store, term: str) -> None:
        """Nothing in a term acts as an operator of the query language, or leaves the user."""
        remember(store, "tea", "cake")
        remember(store, "tea his", "cake his", scope=BEN)
        matches = store.match_terms(ANA, [term], limit=5)
        assert seen(store, ANA, matches.ordinals) <= {"tea"}
        assert len(matches.ordinals) <= 1

    def test_many_terms_of_any_script(self, store: Store) -> None:
        """A word of any script is found under the term the analyzer gave it, among many others."""
        words = ["мир", "日本語", "ﷺ", "𞤀𞤁", "ñandú", "İstanbul", "\U0001d4b3", "word"]
        remember(store, *(f"{word} tea" for word in words), "tea")
        others = [f"word{number}" for number in range(1_000)]
        for word in words:
            terms = [word.lower()] if word.lower().isalnum() else []
            matches = store.match_terms(ANA, [*others, *terms], limit=5)
            assert seen(store, ANA, matches.ordinals) == ({f"{word} tea"} if terms else set())

    def test_most_entities_first_then_newest(self, store: Store) -> None:
        """Records that mention more of the entities, under any name, come first, then newer."""
        one, both, other = remember(store, "Ana ate", "Ana met Ben", "Ben left")
        remember(store, "nobody", "Ana Lopez is Ana")
        matches = store.mentioning(ANA, ["ANA", "ben", "nobody else", "ana lopez"])
        records = store.get(ANA, [ordinal for ordinal, _ in matches])
        texts = [(records[ordinal].content, number) for ordinal, number in matches]
        rest = [("Ana Lopez is Ana", 1), (other.content, 1), (one.content, 1)]
        assert texts == [(both.content, 2), *rest]
        assert [number for _, number in store.mentioning(ANA, ["Ana Lopez"])] == [1, 1, 1]
        assert store.mentioning(ANA, []) == store.mentioning(ANA, ["Carl"]) == []


class VectorContract(Contract):
    """Every record waits for its vector until it has one of the store's model."""

    def test_the_oldest_wait_first(self, store: Store) -> None:
        """Records wait in the order of recording, for a user, an agent or all, each whole."""
        one, *_ = remember(store, "one")
        (his,) = remember(store, "his", scope=BEN)
        (planned,) = remember(store, "planned", scope=PLANNER)
        (two,) = remember(store, "two", scope=WRITER)
        nobody = Scope("nobody")
        for scope, waiting in (
            (None, [one, his, planned, two]),
            (ANA, [one, planned, two]),
            (WRITER, [one, two]),
            (BEN, [his]),
            (nobody, []),
        ):
            where = Filter.at_any_time(waiting=VECTORS)
            assert store.records(scope, where, limit=10) == waiting
            assert store.records(scope, where, limit=2) == waiting[:2]
            assert pending(store, scope) == contents(waiting)

    def test_a_vector_ends_the_waiting(self, store: Store, reopen: Reopen) -> None:
        """Until another model is named, which drops all vectors and makes all records wait."""
        assert store.vector_model() is None
        one, two = remember(store, "one", "two")
        assert store.reset_vectors(MODEL, DIMENSIONS) == len([one, two])
        store = reopen(store)
        assert store.vector_model() == (MODEL, DIMENSIONS)
        embed(store, ANA, [one])
        assert pending(store, None) == ["two"]
        embed(store, ANA, [one, two])
        embed(store, BEN, remember(store, "his", scope=BEN))
        assert pending(store, None) == []
        changes = store.index_changes(ANA, UNREAD)
        assert sorted(changes.ordinals) == [row.ordinal for row in changes.rows]
        assert store.reset_vectors("other", 2) == len(["one", "two", "his"])
        assert pending(store, None) == ["one", "two", "his"]
        assert list(store.index_changes(ANA, UNREAD).ordinals) == []
        assert store.vector_model() == ("other", 2)

    def test_vectors_that_do_not_fit_are_refused(self, store: Store) -> None:
        """Vectors before a model is named, of another model or length, are never stored."""
        items = remember(store, "one")
        for model, row in ((None, None), ("other", None), (MODEL, vector(1, 0))):
            if model:
                store.reset_vectors(model, DIMENSIONS)
            with pytest.raises(InvalidInput):
                embed(store, ANA, items, row)
            assert pending(store, ANA) == ["one"]

    def test_vectors_of_what_is_gone_are_passed_over(self, store: Store) -> None:
        """A record erased meanwhile, or one of another user, gets no vector, nor does it wait."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two, three = remember(store, "one", "two", "three")
        (his,) = remember(store, "his", scope=BEN)
        embed(store, ANA, [three])
        store.apply(ANA, erase(one, three))
        embed(store, ANA, [one, two, his])
        assert pending(store, None) == ["his"]
        assert len(store.index_changes(ANA, UNREAD).ordinals) == 1
        assert len(store.index_changes(BEN, UNREAD).ordinals) == 0

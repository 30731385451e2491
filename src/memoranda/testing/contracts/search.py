"""The contract of :class:`memoranda.model.ports.SearchStore`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.actions import Close, Erase, Reweigh
from memoranda.model.checks import to_ms
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import Store
from memoranda.model.query import IndexChanges, IndexVersion
from memoranda.testing.contracts.base import ONE_STORE, Contract
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    MODEL,
    embed,
    moment,
    remember,
    seen,
    vector,
)

UNREAD = IndexVersion()


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
        arrays = zip(changes.ordinals, changes.vectors.tolist(), strict=True)
        self.vectors.update(arrays)
        assert set(self.vectors) <= set(self.rows)
        return changes


class IndexContract(Contract):
    """A reader that follows the changes knows what one that reads everything knows."""

    def test_a_row_tells_all_but_the_text(self, store: Store) -> None:
        """A row holds what ranking needs of a record, in milliseconds and numbers."""
        (item,) = remember(
            store,
            "Three little wörds",
            kind=Kind.EPISODE,
            scope=Scope("ana", "planner"),
            session_id="s",
            source_role="user",
            event_time=moment(-5),
            valid_until=moment(5),
            confidence=0.5,
        )
        (row,) = store.index_changes(ANA, UNREAD).rows
        assert row[1:] == (
            "s",
            0,
            len("Three little wörds"),
            3,
            "episode",
            "planner",
            "user",
            to_ms(moment(-5)),
            to_ms(item.created_at),
            to_ms(moment(5)),
            0.5,
        )
        assert store.by_ordinals(ANA, [row.ordinal]) == {row.ordinal: item}

    def test_nothing_is_there_at_first(self, store: Store) -> None:
        """A user without records has no rows; what comes later is not missed."""
        reader = Reader()
        changes = reader.read(store, ANA)
        assert (list(changes.rows), list(changes.ordinals)) == ([], [])
        assert changes.vectors.shape == (0, 0)
        remember(store, "tea")
        reader.read(store, ANA)
        assert seen(store, ANA, list(reader.rows)) == {"tea"}

    def test_only_what_is_new_comes(self, store: Store) -> None:
        """After inserts a reader gets the new rows alone, in the order of their ordinals."""
        store.reset_vectors(MODEL, DIMENSIONS)
        reader = Reader()
        remember(store, "one", "two")
        reader.read(store, ANA)
        three, four = remember(store, "three", "four")
        changes = reader.read(store, ANA)
        assert not changes.reset
        ordinals = [row.ordinal for row in changes.rows]
        assert ordinals == sorted(ordinals)
        found = store.by_ordinals(ANA, ordinals)
        assert [found[ordinal] for ordinal in ordinals] == [three, four]
        again = reader.read(store, ANA)
        assert (again.reset, list(again.rows), list(again.ordinals)) == (False, [], [])

    def test_vectors_come_when_they_are_made(self, store: Store) -> None:
        """A vector made after its row was read comes alone, as float32 near to what was stored."""
        store.reset_vectors(MODEL, DIMENSIONS)
        reader = Reader()
        one, two = remember(store, "one", "two")
        reader.read(store, ANA)
        embed(store, ANA, [two], vector(1, 0, 0, 0))
        changes = reader.read(store, ANA)
        assert (changes.reset, list(changes.rows)) == (False, [])
        assert store.by_ordinals(ANA, changes.ordinals)[changes.ordinals[0]] == two
        embed(store, ANA, [one], vector(1, -2, 3, 4))
        changes = reader.read(store, ANA)
        assert changes.vectors.dtype == np.float32
        assert changes.vectors.shape == (1, DIMENSIONS)
        np.testing.assert_allclose(changes.vectors[0], vector(1, -2, 3, 4), atol=1e-3)

    @pytest.mark.parametrize("change", ["close", "reweigh", "erase", "re-embed", "reset"])
    def test_a_change_of_known_rows_brings_all_anew(self, store: Store, change: str) -> None:
        """After a change of what a reader knows, it gets everything again, for that user alone."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two = remember(store, "one", "two")
        remember(store, "his", scope=BEN)
        embed(store, ANA, [one, two])
        hers, his = Reader(), Reader()
        hers.read(store, ANA)
        his.read(store, BEN)
        match change:
            case "close":
                store.apply(ANA, [Close(one.id, moment(1), "forgotten")])
            case "reweigh":
                store.apply(ANA, [Reweigh(one.id, moment(1), 0.5, 0.1, "conflict")])
            case "erase":
                store.apply(ANA, [Erase((one.id,), moment(1), "asked")])
            case "re-embed":
                embed(store, ANA, [one], vector(0, 0, 1, 0))
            case _:
                store.reset_vectors("other", 2)
        assert hers.read(store, ANA).reset
        fresh = Reader()
        fresh.read(store, ANA)
        assert (hers.rows, hers.vectors) == (fresh.rows, fresh.vectors)
        assert his.read(store, BEN).reset == (change == "reset")

    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["add", "close", "erase", "embed", "read"]), st.integers()),
            max_size=25,
        )
    )
    @ONE_STORE
    def test_reading_on_equals_reading_anew(
        self, store: Store, steps: list[tuple[str, int]]
    ) -> None:
        """Whatever happens, reading the changes leads to what reading everything gives."""
        if store.vector_model() is None:
            store.reset_vectors(MODEL, DIMENSIONS)
        reader = Reader()
        for step, choice in steps:
            known = store.page(ANA, ALL, limit=50, after=None)
            one = known[choice % len(known)] if known else None
            if step == "read":
                reader.read(store, ANA)
            elif step == "add" or one is None:
                remember(store, f"text {choice}")
            else:
                _change(store, step, one)
        reader.read(store, ANA)
        fresh = Reader()
        fresh.read(store, ANA)
        assert reader.rows == fresh.rows
        assert reader.vectors == fresh.vectors

    def test_ordinals_are_never_used_again(self, store: Store) -> None:
        """A record gets no ordinal that an erased one had: a search may still hold it."""
        one, two = remember(store, "one", "two")
        before = {row.ordinal for row in store.index_changes(ANA, UNREAD).rows}
        store.apply(ANA, [Erase((one.id, two.id), moment(1), "asked")])
        remember(store, "three")
        after = {row.ordinal for row in store.index_changes(ANA, UNREAD).rows}
        assert min(after) > max(before)

    def test_rows_of_all_agents_active_or_not(self, store: Store) -> None:
        """The index of a user holds all records, whatever agent asks; the filter comes later."""
        planner = Scope("ana", "planner")
        (closed,) = remember(store, "planned", scope=planner)
        remember(store, "shared")
        store.apply(ANA, [Close(closed.id, moment(1), "forgotten")])
        for scope in (ANA, planner, Scope("ana", "writer")):
            agents = [row.agent for row in store.index_changes(scope, UNREAD).rows]
            assert agents == ["planner", None]


def _change(store: Store, step: str, one: Record) -> None:
    if step == "close":
        store.apply(ANA, [Close(one.id, moment(1), "forgotten")])
    elif step == "erase":
        store.apply(ANA, [Erase((one.id,), moment(1), "asked")])
    else:
        embed(store, ANA, [one])


class TermContract(Contract):
    """Full-text matches count what the user's own records hold."""

    def test_counts_lengths_and_frequencies(self, store: Store) -> None:
        """Each match has its counts of the terms and its length; each term, its matches."""
        remember(store, "tea and tea and cake", "coffee", "cake tea", "water")
        found = store.match_terms(ANA, ["tea", "cake", "milk"], limit=10)
        texts = store.by_ordinals(ANA, found.ordinals)
        rows = {
            texts[ordinal].content: (list(counts), length)
            for ordinal, counts, length in zip(
                found.ordinals, found.counts, found.lengths, strict=True
            )
        }
        assert rows == {"tea and tea and cake": ([2, 1, 0], 5), "cake tea": ([1, 1, 0], 2)}
        assert list(found.frequencies) == [2, 2, 0]

    def test_counts_stop_at_a_byte(self, store: Store) -> None:
        """A term that occurs more than 255 times counts 255 times; the length is whole."""
        remember(store, "tea " * 300)
        found = store.match_terms(ANA, ["tea"], limit=1)
        assert [list(counts) for counts in found.counts] == [[255]]
        assert list(found.lengths) == [300]

    def test_no_terms_match_nothing(self, store: Store) -> None:
        """Without terms, and for a user without records, nothing matches."""
        for _ in range(2):
            found = store.match_terms(ANA, [], limit=5)
            assert (list(found.ordinals), list(found.frequencies)) == ([], [])
            found = store.match_terms(ANA, ["milk", "rum"], limit=5)
            assert (list(found.ordinals), list(found.frequencies)) == ([], [0, 0])
            remember(store, "tea")

    def test_only_the_users_own_records_count(self, store: Store) -> None:
        """Frequencies of another user change nothing, also beyond the limit."""
        remember(store, *["tea"] * 20, scope=BEN)
        remember(store, "tea", "tea cake")
        for limit in (1, 5):
            found = store.match_terms(ANA, ["tea", "cake"], limit=limit)
            assert list(found.frequencies) == [2, 1]
        others = store.by_ordinals(BEN, found.ordinals).values()
        assert {record.user for record in others} <= {BEN.user}

    def test_all_agents_of_the_user_count(self, store: Store) -> None:
        """Statistics are of the user; which records an agent sees is the filter's work."""
        remember(store, "tea", scope=Scope("ana", "planner"))
        remember(store, "tea", scope=Scope("ana", "writer"))
        found = store.match_terms(Scope("ana", "writer"), ["tea"], limit=5)
        assert list(found.frequencies) == [2]

    def test_those_with_rarer_terms_are_kept(self, store: Store) -> None:
        """Where more match than asked for, those that hold the rarest terms come before others."""
        remember(store, *[f"common {number}" for number in range(30)])
        remember(store, *[f"seldom common {number}" for number in range(5)])
        remember(store, "rare", "rare common")
        terms = ["common", "rare", "absent", "seldom"]
        texts = seen(store, ANA, store.match_terms(ANA, terms, limit=2).ordinals)
        assert texts == {"rare", "rare common"}
        found = store.match_terms(ANA, terms, limit=7)
        texts = seen(store, ANA, found.ordinals)
        assert {text.split()[0] for text in texts} == {"rare", "seldom"}
        assert list(found.frequencies) == [36, 2, 0, 5]

    def test_the_limit_is_filled(self, store: Store) -> None:
        """As many as asked for come where so many match, each once, with counts of every term."""
        remember(store, *[f"common {number}" for number in range(30)], "rare common")
        for terms in (["common"], ["absent", "common"], ["rare", "common"]):
            for limit in (1, 5, 30, 31, 40):
                found = store.match_terms(ANA, terms, limit=limit)
                expected = min(limit, 31)
                assert len(set(found.ordinals)) == len(found.ordinals) == expected
                assert {len(counts) for counts in found.counts} == {len(terms)}
        found = store.match_terms(ANA, ["rare", "common"], limit=5)
        assert sorted(map(list, found.counts)) == [[0, 1]] * 4 + [[1, 1]]

    def test_retired_records_match_and_erased_do_not(self, store: Store) -> None:
        """Matches include what is retired, which the filter leaves out, but not what is erased."""
        closed, erased = remember(store, "tea one", "tea two")
        store.apply(ANA, [Close(closed.id, moment(1), "forgotten")])
        store.apply(ANA, [Erase((erased.id,), moment(1), "asked")])
        found = store.match_terms(ANA, ["tea"], limit=5)
        assert seen(store, ANA, found.ordinals) == {"tea one"}
        assert list(found.frequencies) == [1]

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
        found = store.match_terms(ANA, [term], limit=5)
        assert seen(store, ANA, found.ordinals) <= {"tea"}
        assert len(found.ordinals) <= 1

    def test_a_thousand_terms(self, store: Store) -> None:
        """A long query works."""
        remember(store, "word777")
        terms = [f"word{number}" for number in range(1_000)]
        found = store.match_terms(ANA, terms, limit=5)
        assert seen(store, ANA, found.ordinals) == {"word777"}

    @pytest.mark.parametrize(
        "text", ["мир", "日本語", "ขนม", "ﷺ", "𞤀𞤁", "ñandú", "İstanbul", "\U0001d4b3"]
    )
    def test_terms_of_any_script(self, store: Store, text: str) -> None:
        """A word of any script is found under the term the analyzer gave it."""
        remember(store, f"{text} tea", "tea")
        (term,) = {text.lower()}
        words = [word for word in term.split() if word.isalnum()]
        for word in words:
            found = store.match_terms(ANA, [word], limit=5)
            assert seen(store, ANA, found.ordinals) == {f"{text} tea"}


class MentionContract(Contract):
    """Records are found by the entities they mention, and by their ordinals."""

    def test_most_entities_first_then_newest(self, store: Store) -> None:
        """Records that mention more of the names come first, among equals the newer."""
        one, both, other = remember(store, "Ana ate", "Ana met Ben", "Ben left")
        remember(store, "nobody")
        found = store.mentioning(ANA, ["ANA", "ben", "nobody else"])
        records = store.by_ordinals(ANA, [ordinal for ordinal, _ in found])
        assert [(records[ordinal], number) for ordinal, number in found] == [
            (both, 2),
            (other, 1),
            (one, 1),
        ]
        assert store.mentioning(ANA, []) == []
        assert store.mentioning(ANA, ["Carl"]) == []

    def test_an_alias_leads_to_all_mentions(self, store: Store) -> None:
        """Any name of an entity finds the records that mention it under another, counted once."""
        remember(store, "Ana Lopez called", "Ana wrote", "Ana Lopez is Ana")
        for name in ("ana", "Ana Lopez"):
            assert [number for _, number in store.mentioning(ANA, [name])] == [1, 1, 1]
        both = store.mentioning(ANA, ["ana", "ana lopez"])
        assert [number for _, number in both] == [1, 1, 1]

    def test_mentions_are_within_the_scope(self, store: Store) -> None:
        """Records of other users and of other agents are not found by their entities."""
        remember(store, "Zoe planned", scope=Scope("ana", "planner"))
        for scope in (BEN, Scope("ana", "writer")):
            assert store.mentioning(scope, ["Zoe"]) == []
        assert [number for _, number in store.mentioning(ANA, ["Zoe"])] == [1]

    def test_by_ordinals_is_within_the_scope(self, store: Store) -> None:
        """Ordinals of others and unknown ones give nothing."""
        (hers,) = remember(store, "hers", scope=Scope("ana", "planner"))
        (row,) = store.index_changes(ANA, UNREAD).rows
        assert store.by_ordinals(ANA, [row.ordinal, row.ordinal + 99]) == {row.ordinal: hers}
        for scope in (BEN, Scope("ana", "writer")):
            assert store.by_ordinals(scope, [row.ordinal]) == {}
        assert store.by_ordinals(ANA, []) == {}

"""The contract of :class:`memoranda.model.ports.SearchStore`, and of what waits for vectors."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ALL, DIMENSIONS, MODEL, moment, on_record, rows_of, vector, vectors_of
from steps import do

from laws.base import ONE_STORE, Contract
from memoranda.errors import InvalidInput
from memoranda.model.changes import Close
from memoranda.model.checks import to_ms
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import VECTORS
from memoranda.model.query import EmbeddedText, Filter, IndexVersion
from memoranda.store.sql import index_reads
from memoranda.store.sql.index_reads import KINDS
from memoranda.store.sql.record_writes import MOST_WAITING

DEEDS = ["add", "add", "embed", "embed", "read", "reset", *map(str, range(len(on_record("", ""))))]
STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), *[st.integers(0, 50)] * 2), max_size=25)


class Reader:
    """Keeps up with the index of a user as ranking does, by changes alone."""

    def __init__(self):
        """Know nothing yet."""
        self.version = IndexVersion()
        self.rows = {}
        self.vectors = {}

    def read(self, user):
        """Take in what is new."""
        changes = user.index_changes(self.version)
        if changes.reset:
            self.rows.clear()
            self.vectors.clear()
        self.version = changes.version
        revised = changes.revised["ordinal"].tolist()
        assert set(revised) <= set(self.rows)
        for ordinal in revised:
            self.vectors.pop(ordinal, None)
        self.rows.update(rows_of(changes))
        self.vectors.update(vectors_of(changes))
        assert set(self.vectors) <= set(self.rows)
        return changes


class IndexContract(Contract):
    """A reader that follows the changes knows what one that reads everything knows."""

    def test_a_row_tells_all_but_the_text(self, ana, ben):
        """A row holds what ranking needs of a record, whoever asks, also of what has ended."""
        (item,) = ana.planner.remember(
            "Three little wörds",
            kind=Kind.EPISODE,
            session_id="s",
            source_role="user",
            event_time=moment(-5),
            event_until=moment(-2),
            valid_until=moment(5),
            confidence=0.5,
        )
        times = map(to_ms, (moment(-5), moment(-2), item.created_at, moment(5)))
        expected = dict(zip(("event", "over", "created", "until"), times, strict=True))
        expected |= {"position": 0, "length": len("Three little wörds"), "terms": 3}
        expected |= {"kind": KINDS[Kind.EPISODE], "confidence": 0.5, "asks": False}
        names = {"session": "s", "agent": "planner", "speaker": "user"}
        names |= {"subject": None, "attribute": None}
        for user in (ana, ana.planner, ana.writer):
            (row,) = rows_of(user.index_changes(IndexVersion())).values()
            ordinal = row["ordinal"]
            assert row == {"ordinal": ordinal, **expected, **names}
        assert ana.get([ordinal, ordinal + 99]) == {ordinal: item}
        for user in (ben, ana.writer):
            assert user.get([ordinal]) == {}
        assert ana.get([]) == {}

    def test_a_row_tells_whether_its_text_ends_with_a_question(self, ana):
        """By a question mark among the last forty characters."""
        asking = ("Tea?", "Coffee. " * 9 + "Or tea?", "茶\N{FULLWIDTH QUESTION MARK}")
        ana.remember(*asking, "Tea? " + "No, coffee. " * 9, "Tea.")
        asks = ana.index_changes(IndexVersion()).rows["asks"].tolist()
        assert asks == [True, True, True, False, False]

    def test_only_what_is_new_comes(self, store, ana):
        """A reader gets new rows alone, in the order of ordinals, and vectors when made."""
        reader = Reader()
        changes = reader.read(ana)
        assert (list(changes.rows), list(changes.vectors)) == ([], [])
        store.reset_vectors(MODEL, DIMENSIONS)
        one, _ = ana.remember("one", "two")
        reader.read(ana)
        new = ana.remember("three", "four")
        changes = reader.read(ana)
        ordinals = changes.rows["ordinal"].tolist()
        assert (changes.reset, ordinals) == (False, sorted(ordinals))
        assert [ana.get(ordinals)[ordinal] for ordinal in ordinals] == new
        ana.embed([one], vector(1, -2, 3, 4))
        changes = reader.read(ana)
        assert (changes.reset, list(changes.rows)) == (False, [])
        ((ordinals, vectors),) = changes.vectors
        assert list(ana.get(ordinals.tolist()).values()) == [one]
        assert (vectors.dtype, vectors.shape) == (np.float16, (1, DIMENSIONS))
        np.testing.assert_allclose(vectors[0], vector(1, -2, 3, 4), atol=1e-3)
        again = reader.read(ana)
        assert (again.reset, list(again.rows), list(again.vectors)) == (False, [], [])

    def test_words_are_found_at_once(self, store, ana, ben):
        """Also where the newest texts wait to be indexed: whatever happens to these meanwhile."""
        kept = []
        for number in range(3 * MOST_WAITING):
            kept += ana.remember(f"tea {number}")
            ben.remember("tea tea")
            if number % 3 == 0:
                ana.erase(kept.pop())
            ana.put("k", f"tea cake {number}")
            tea, of_number = ana.holders("tea", str(number))
            assert (len(tea), len(of_number)) == (len(kept), number % 3 and 1), number
            assert ana.seen(tea) == {item.content for item in kept}
            assert [*map(len, ana.holders("cake", str(number), items=True))] == [1, 1], number
            assert {*ben.holders("tea")[0].values()} == {2}
        ana.remember(*(f"tea at {number}" for number in range(MOST_WAITING)))
        frequencies = [*map(len, ana.holders("tea", "at"))]
        assert frequencies == [len(kept) + MOST_WAITING, MOST_WAITING]
        store.purge()
        assert store.verify() == []

    def test_what_ended_comes_again_alone(self, store, ana, monkeypatch):
        """A reader is told which known rows have changed, with their vectors; the rest stays.

        However many they are, no part of their vectors is larger than a database can give.
        """
        store.reset_vectors(MODEL, DIMENSIONS)
        old, other = ana.remember("old", "other")
        ana.embed([old, other])
        reader = Reader()
        reader.read(ana)
        ana.apply(Close(old.id, moment(1), "ended"))
        changes = reader.read(ana)
        assert (changes.reset, list(changes.rows)) == (False, [])
        assert changes.revised["until"].tolist() == [to_ms(moment(1))]
        assert list(vectors_of(changes)) == changes.revised["ordinal"].tolist()
        ana.embed([other])  # The vector that it has.
        assert list(reader.read(ana).vectors) == []
        monkeypatch.setattr(index_reads, "AT_ONCE", 1)
        ana.apply(*(do.Reweigh(each.id, moment(2), 0.5, 0.0, "less sure") for each in (old, other)))
        changes = reader.read(ana)
        assert [len(ordinals) for ordinals, _ in changes.vectors] == [1, 1]
        assert [*vectors_of(changes)] == changes.revised["ordinal"].tolist()

    def test_what_records_say_comes_by_ordinal(self, store, ana, ben):
        """Of the user's own records alone, superseded ones too, whatever else is asked for."""
        old, other = ana.remember("Ana moved to Oslo", "\N{SNOWMAN} 100% 'quoted'")
        (his,) = ben.remember("his")
        ordinals = [*ana.ordinals(ALL), *ben.ordinals(ALL), 10**9]
        said = store.texts(ana.scope, ordinals)
        assert sorted(said.values()) == sorted([old.content, other.content])
        assert ana.get(list(said)).keys() == said.keys()
        assert list(store.texts(ben.scope, ordinals).values()) == [his.content]
        assert store.texts(ana.scope, []) == {}

    def test_the_vectors_of_tokens_come_as_they_were_put(self, store, ana, ben):
        """Only to their user, the first of each record, until the vectors are made anew."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two = ana.remember("one", "two")
        (his,) = ben.remember("his")
        made, again = (np.full((2, 3), number, np.int8) for number in (-127, 1))
        for tokens in (made, again):
            with_tokens = EmbeddedText(vector(1, 0, 0, 0), tokens)
            put = [(one, with_tokens), (two, EmbeddedText(vector(1, 0, 0, 0))), (his, with_tokens)]
            ana.apply(do.put_vectors(MODEL, put))
        ordinals = [*ana.ordinals(ALL), *ben.ordinals(ALL)]
        found = store.token_vectors(ana.scope, ordinals, size=3)
        assert [each.id for each in ana.get([*found]).values()] == [one.id]
        assert [*found.values()] == [made.tobytes()]
        # None of another size, of another user, or of vectors that are made anew.
        assert store.token_vectors(ana.scope, ordinals, size=2) == {}
        assert store.token_vectors(ben.scope, ordinals, size=3) == {}
        store.reset_vectors(MODEL, DIMENSIONS)
        assert store.token_vectors(ana.scope, ordinals, size=3) == {}

    @given(steps=STEPS)
    @ONE_STORE
    def test_reading_on_equals_reading_anew(self, store, ana, ben, steps):
        """Whatever is done, changes lead to what is there, and others see none.

        What a reader knows and has changed comes again; no ordinal is used again.
        """
        store.reset_vectors(MODEL, DIMENSIONS)
        ben.remember("his")
        reader, his = Reader(), Reader()
        his.read(ben)
        last = 0
        for step, first, second in steps:
            known = ana.records(ALL, limit=50)
            if step == "read":
                reader.read(ana)
            elif step == "reset":
                store.reset_vectors(MODEL, DIMENSIONS)
            elif step == "add" or not known:
                (new,) = ana.remember(f"text {first}")
                ordinal = max(ana.ordinals(ALL))
                assert ana.get([ordinal]) == {ordinal: new}
                assert ordinal > last
                last = ordinal
            else:
                one, other = (known[number % len(known)] for number in (first, second))
                if step == "embed":
                    ana.embed([one])
                elif one != other:
                    ana.apply(on_record(one.id, other.id)[int(step)])
        reader.read(ana)
        fresh = Reader()
        fresh.read(ana)
        assert (reader.rows, reader.vectors) == (fresh.rows, fresh.vectors)
        assert his.read(ben).reset == ("reset" in {step for step, *_ in steps})


class TermContract(Contract):
    """Full-text matches count what the user's own records hold."""

    def test_counts_and_frequencies(self, ana):
        """Each term has its records in order, and how often each holds it, up to a byte."""
        assert ana.holders() == []
        assert ana.holders("milk", "rum") == [{}, {}]
        made = ana.remember("tea and tea and cake", "coffee", "cake tea", "tea " * 300)
        both, _, one, many = ana.ordinals(ALL)
        assert [*ana.get([both, one, many]).values()] == [made[0], made[2], made[3]]
        found = ana.holders("tea", "cake", "milk")
        assert found == [{both: 2, one: 1, many: 255}, {both: 1, one: 1}, {}]
        assert [*map(list, found)] == [[both, one, many], [both, one], []]

    def test_the_records_of_the_user_count(self, ana, ben):
        """Of all agents, also retired; not what is erased or another's."""
        ben.remember(*["tea"] * 20)
        ana.planner.remember("tea cake")
        _, closed, gone = ana.remember("tea", "tea pie", "tea cup")
        ana.close(closed)
        ana.erase(gone)
        tea, cake = ana.writer.holders("tea", "cake")
        assert (len(tea), len(cake)) == (3, 1)
        assert ben.seen(tea) == set()
        assert ana.seen(tea) == {"tea", "tea cake", "tea pie"}

    def test_a_term_is_only_a_term(self, ana, ben):
        """Nothing in a term acts as an operator of the query language, or leaves the user."""
        ana.remember("tea", "cake")
        ben.remember("tea his", "cake his")
        for term in (
            *('tea"', '"', '""', "tea*", "^tea", "-tea", "(", ")", "%", "_", "a b"),
            *("OR", "AND", "NOT", "NEAR", "u1", "u2", "terms", "scope"),
            *('tea") OR scope : u2 OR ("tea', "' OR 1=1 --"),
        ):
            (found,) = ana.holders(term)
            assert ana.seen(found) <= {"tea"}, term
            assert len(found) <= 1, term

    def test_many_terms_of_any_script(self, ana):
        """A word of any script is found under the term the analyzer gave it, among many others."""
        words = ["мир", "日本語", "ﷺ", "𞤀𞤁", "ñandú", "İstanbul", "\U0001d4b3", "word"]
        ana.remember(*(f"{word} tea" for word in words), "tea")
        others = [f"word{number}" for number in range(1_000)]
        for word in words:
            terms = [word.lower()] if word.lower().isalnum() else []
            found = {row for each in ana.holders(*others, *terms) for row in each}
            assert ana.seen(found) == ({f"{word} tea"} if terms else set())

    def test_most_entities_first_then_newest(self, ana):
        """Records that mention more of the entities, under any name, come first, then newer."""
        one, both, other = ana.remember("Ana ate", "Ana met Ben", "Ben left")
        ana.remember("nobody", "Ana Lopez is Ana")
        matches = ana.mentioning(["ANA", "ben", "nobody else", "ana lopez"])
        records = ana.get([ordinal for ordinal, _ in matches])
        texts = [(records[ordinal].content, number) for ordinal, number in matches]
        rest = [("Ana Lopez is Ana", 1), (other.content, 1), (one.content, 1)]
        assert texts == [(both.content, 2), *rest]
        assert [number for _, number in ana.mentioning(["Ana Lopez"])] == [1, 1, 1]
        assert ana.mentioning([]) == ana.mentioning(["Carl"]) == []


class VectorContract(Contract):
    """Every record waits for its vector until it has one of the store's model."""

    def test_the_oldest_wait_first(self, store, ana, ben):
        """Records wait in the order of recording, for a user, an agent or all, each whole."""
        one, *_ = ana.remember("one")
        (his,) = ben.remember("his")
        (planned,) = ana.planner.remember("planned")
        (two,) = ana.writer.remember("two")
        store.queue_newest()
        for scope, waiting in (
            (None, [one, his, planned, two]),
            (ana.scope, [one, planned, two]),
            (ana.writer.scope, [one, two]),
            (ben.scope, [his]),
            (Scope("nobody"), []),
        ):
            where = Filter.at_any_time(waiting=VECTORS)
            assert store.records(scope, where, limit=10) == waiting
            assert store.records(scope, where, limit=2) == waiting[:2]
            assert store.count(scope, where) == Counter(item.kind for item in waiting)

    def test_a_vector_ends_the_waiting(self, store, ana, ben, reopen):
        """Until another model is named, which drops all vectors and makes all records wait."""
        assert store.vector_model() is None
        one, two = ana.remember("one", "two")
        store.reset_vectors(MODEL, DIMENSIONS)
        assert ana.pending(of_all=True) == ["one", "two"]
        ana.store = ben.store = store = reopen(store)
        assert store.vector_model() == (MODEL, DIMENSIONS)
        ana.embed([one])
        assert ana.pending(of_all=True) == ["two"]
        ana.embed([one, two])
        ben.embed(ben.remember("his"))
        assert ana.pending(of_all=True) == []
        changes = ana.index_changes(IndexVersion())
        assert sorted(vectors_of(changes)) == changes.rows["ordinal"].tolist()
        store.reset_vectors("other", 2)
        assert ana.pending(of_all=True) == ["one", "two", "his"]
        assert list(ana.index_changes(IndexVersion()).vectors) == []
        assert store.vector_model() == ("other", 2)

    def test_vectors_that_do_not_fit_are_refused(self, store, ana):
        """Vectors before a model is named, of another model or length, are never stored."""
        items = ana.remember("one")
        for model, row in ((None, None), ("other", None), (MODEL, vector(1, 0))):
            if model:
                store.reset_vectors(model, DIMENSIONS)
            with pytest.raises(InvalidInput):
                ana.embed(items, row)
            assert ana.pending() == ["one"]

    def test_vectors_of_what_is_gone_are_passed_over(self, store, ana, ben):
        """A record erased meanwhile, or one of another user, gets no vector, nor does it wait."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two, three = ana.remember("one", "two", "three")
        (his,) = ben.remember("his")
        ana.embed([three])
        ana.erase(one, three)
        ana.embed([one, two, his])
        assert ana.pending(of_all=True) == ["his"]
        assert len(vectors_of(ana.index_changes(IndexVersion()))) == 1
        assert len(ben.index_changes(IndexVersion()).vectors) == 0

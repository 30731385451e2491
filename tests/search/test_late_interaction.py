"""Late interaction: the vectors of tokens, from the store to the score and its reasons."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from steps import carry_out, do
from tables import each_row

from memoranda import Memory, Settings
from memoranda.model.models import Kind
from memoranda.model.query import EmbeddedText, Filter
from memoranda.providers.embedding.local_model import TOKEN_DIMENSIONS
from memoranda.search.evidence import (
    AROUND,
    FARTHEST,
    TALK_FADE,
    TILE,
    QuestionTokens,
    compare_tokens,
    weigh_question_before,
)
from memoranda.search.index import QuantizedVectors, Rows, Surroundings
from memoranda.store.sql.index_reads import INDEX_ROW
from memoranda.testing.clocks import FrozenClock

DIMENSIONS = 4
SAID = (
    ("user", "I'm allergic to sulfa drugs."),
    ("assistant", "I'll keep that in mind."),
    ("user", "We moved to Bremen in May, into a flat near the river."),
    ("assistant", "A nice town, and the river is a treat."),
)


def units(tokens):
    """Scale rows to length one."""
    vectors = tokens.astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def tokens_of(most):
    """Return tokens as a model gives them, all about as long, and so many at most."""
    shape = st.tuples(st.integers(1, most), st.just(DIMENSIONS))
    made = arrays.arrays(np.int8, shape, elements=st.integers(-127, 127))
    some = made.filter(lambda tokens: bool((tokens != 0).any(axis=1).all()))
    return some.map(lambda tokens: np.rint(127 * units(tokens)).astype(np.int8))


TURN = st.tuples(st.integers(0, 1), st.integers(1, 900), tokens_of(4))
TURNS = st.lists(TURN, min_size=1, max_size=9)


def rows_of(turns):
    """Make the rows of turns, each a talk, a length and tokens."""
    table = np.zeros(len(turns), INDEX_ROW)
    talk = np.array([each[0] for each in turns], np.int64)
    for place, (_, length, _) in enumerate(turns):
        table[place]["ordinal"] = 10 + place
        table[place]["position"], table[place]["length"] = place, length
    around = Surroundings.of(talk, table["position"], table["length"])
    none = np.empty((0, 2), np.intp)
    return Rows(table, QuantizedVectors.zeros(len(turns), 2), around, {}, none, none)


@settings(max_examples=examples(20), deadline=None)
@given(asked=tokens_of(2 * TILE), turns=TURNS, left_out=st.sets(st.integers(0, 8), max_size=3))
def test_a_score_is_what_the_definition_says(asked, turns, left_out):
    """Compared with loops over all pairs: own tokens, and those of neighbours, fading."""
    rows = rows_of(turns)
    candidates = [place for place in range(len(turns)) if place not in left_out] or [0]
    told = [turns[place][2].tobytes() for place in candidates]
    tokens = dict(zip(candidates, told, strict=True))
    weights = np.linspace(1, 2, len(asked))
    words = [f"w{place:x}" for place in range(len(asked))]
    spans = [(3 * place, 3 * place + 2) for place in range(len(asked))]
    question = QuestionTokens.of(
        " ".join(words),
        EmbeddedText(np.zeros(2, np.float32), asked, spans),
        dict(zip(words, weights.tolist(), strict=True)),
    )
    alike = compare_tokens(question, rows, tokens)
    order = sorted(range(len(turns)), key=lambda place: (turns[place][0], place))
    ends = np.cumsum([turns[place][1] for place in order])
    middle = {row: ends[at] - turns[row][1] / 2 for at, row in enumerate(order)}
    assert sorted(alike[0].tolist()) == candidates
    for row, value, by_itself in zip(*map(list, alike), strict=True):
        summed = alone = 0.0
        for weight, token in zip(weights, units(asked), strict=True):
            own = max(0.0, (units(turns[row][2]) @ token).max())
            best = own
            for other in candidates:
                steps = abs(order.index(other) - order.index(row))
                if turns[other][0] == turns[row][0] and 0 < steps <= FARTHEST:
                    fade = np.exp(-abs(middle[other] - middle[row]) / TALK_FADE)
                    best = max(best, fade * (units(turns[other][2]) @ token).max())
            summed += weight * (AROUND * best + (1 - AROUND) * own)
            alone += weight * own
        assert value == pytest.approx(summed / weights.sum(), abs=2e-2)
        assert by_itself == pytest.approx(alone / weights.sum(), abs=2e-2)


def test_an_answer_has_a_part_of_what_speaks_for_its_question():
    """Only right after it, in the same talk, and the less the farther apart their middles are."""
    rows = rows_of([(1, 100, None), (1, 100, None), (1, 100, None), (2, 100, None)])
    rows.table["asks"][[0, 2]] = True
    rows.table["speaker"] = [0, 1, 0, 1]
    evidence = np.array([0.5, 0.9, 0.8, 0], np.float32)
    found = weigh_question_before(rows, evidence)
    np.testing.assert_allclose(found, [0, 0.5 * np.exp(-100 / TALK_FADE), 0, 0], rtol=1e-5)
    rows = replace(rows)
    rows.table["speaker"] = 0  # Who goes on after a question of their own does not answer it.
    assert not weigh_question_before(rows, evidence).any()


def test_pieces_of_a_word_weigh_as_the_word():
    """What stands side by side is one word, whatever the model cut it into."""
    spans = [(0, 2), (2, 5), (6, 8), (9, 11)]
    embedded = EmbeddedText(np.zeros(2, np.float32), np.eye(4, dtype=np.int8), spans)
    question = QuestionTokens.of("gyuto is ok", embedded, {"gyuto": 5.0, "ok": 2.0})
    np.testing.assert_allclose(question.weights, np.array([5, 5, 1, 2]) / 13)


@pytest.fixture
def open_memory():
    """Open memories of one chat, embedded by the local model, each with a setting of its own."""
    with ExitStack() as opened:

        def make(**retrieval):
            chosen = Settings(retrieval=retrieval)
            made = opened.enter_context(Memory(":memory:", user="ana", settings=chosen))
            chat = made.conversation("one")
            for at, (role, text) in enumerate(SAID):
                chat.add(role, text, timestamp=datetime(2026, 1, 1, 12, at, tzinfo=UTC))
            made.embed_pending()
            return made

        yield make


def test_a_word_is_found_by_one_that_means_the_same(open_memory):
    """Where some records have no token vectors, they are judged by their whole vector."""
    memory = open_memory()
    hit = memory.search("Which medicine should I never be given?", limit=1)[0]
    assert hit.record.content == SAID[0][1]
    assert "tokens" in hit.why.arms
    model = memory._services.embedder
    (plain,) = memory.remember_many(["Ana keeps bees on the roof."])
    vector = model.embed([plain.content])[0].vector
    put = [do.put_vectors(model.name, [(plain, EmbeddedText(vector))])]
    carry_out(memory._services.store, memory._scope, put)
    assert memory.search("Who keeps bees?", limit=1)[0].record == plain
    assert memory.search("Which medicine should I never be given?", limit=1)[0].record == hit.record


CODES = ("Error E1047 means the valve is closed.", "Error E1074 means the filter is missing.")
SCRIPTS = (  # The first has "gen-itgc" between two Chinese words, and many more after it.
    "\u91cd\u8dd1gen-itgc\u540e50\u6761\u60ac\u7a7a\u5f15\u7528\u6e05\u96f6\u4fee\u590d\u5df2\u9a8c\u8bc1",
    "Kullan\u0131c\u0131 \u0131hlamur \u00e7ay\u0131 i\u00e7er",
    "Stra\u00dfe 7, Wei\u00df GmbH, M\u00fcller-L\u00fcdenscheidt",
)


@each_row("told, query", [(CODES, "E1047"), (CODES[::-1], "E1074"), (SCRIPTS, "itgc")])
def test_the_very_words_of_a_short_question_come_first(told, query):
    """Also of a long text that the model cannot read, where it takes others for much the same."""
    clock = FrozenClock(datetime(2026, 11, 27, tzinfo=UTC))
    with Memory(":memory:", settings=Settings(), clock=clock) as memory:
        for text in told:
            memory.remember(text)
            clock.advance(timedelta(minutes=1))
        memory.embed_pending()
        assert memory.search(query)[0].record.content == told[0]


@each_row("retrieval", [{"token_vectors": False}, {"fusion": "rrf"}, {"fusion": "cosine"}])
def test_without_them_none_are_kept_or_compared(open_memory, retrieval):
    """The setting turns them off, and so does a fusion that has no use for them."""
    memory = open_memory(**retrieval)
    hits = memory.search("Which medicine should I never be given?")
    assert hits
    assert all("tokens" not in hit.why.arms for hit in hits)
    assert "token vectors" not in memory.stats().vectors
    assert len(token_vectors(memory)) == 0


def token_vectors(memory):
    """Read what is stored of the tokens of records, by ordinal."""
    store, scope = memory._services.store, memory._scope
    ordinals = store.ordinals(scope, Filter.at_any_time(kinds=tuple(Kind)))
    assert len(ordinals) >= len(SAID) - 1
    return store.token_vectors(scope, ordinals, TOKEN_DIMENSIONS)


def test_what_is_forgotten_keeps_no_token_vectors(open_memory):
    """They go with the record, and with every vector when all are made anew."""
    memory = open_memory()
    first = memory.search("Which medicine should I never be given?", limit=1)[0].record
    assert len(token_vectors(memory)) == len(SAID)
    memory.forget(first.id, erase=True)
    assert len(token_vectors(memory)) == len(SAID) - 1
    memory._services.derivations.start_over()
    assert len(token_vectors(memory)) == 0
    memory.embed_pending()
    assert len(token_vectors(memory)) == len(SAID) - 1
    assert memory.verify() == []

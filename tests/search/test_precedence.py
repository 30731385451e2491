"""Precedence: what is true now goes before what was true, and nothing else moves."""

from datetime import UTC, datetime, timedelta

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Memory, Settings
from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.search.search import Ranking, Retriever

SCOPE = Scope("ana")
NOW = datetime(2026, 6, 1, tzinfo=UTC)
FIRST = datetime(2026, 1, 5, 9, tzinfo=UTC)
TALK = [
    ("user", "My monthly grocery budget is 400 euros for the two of us."),
    ("user", "The support queue stands at 42 open tickets, mostly login trouble."),
    ("user", "My sister Ana is 31 years old and works as a nurse."),
    ("user", "I live in Porto, in a small flat near the river."),
    ("user", "The flight to Oslo cost 210 euros in the end."),
    ("user", "The deadline of sprint 1 is on March 3, says the plan."),
    ("user", "The page load time of the shop is 3.2 seconds, can you help me find out why?"),
    ("assistant", "Your monthly grocery budget is 390 euros now, if I may round it."),
    ("user", "I visited Bologna, a city in Italy, on the first day."),
    ("user", "I visited Verona, a city in Italy, for the opera."),
    ("user", "I raised my monthly grocery budget to 460 euros."),
    ("user", "The support queue has dropped to 17 open tickets."),
    ("user", "My sister Berta is 27 years old now and studies law."),
    ("user", "We finally moved, I live in Braga now."),
    ("user", "The flight to Rome cost 95 euros now."),
    ("user", "The deadline of sprint 2 is now on March 24, says the plan."),
    ("user", "With lazy loading the page load time of the shop improved to 1.9 seconds."),
]
QUESTIONS = [
    "What is my monthly grocery budget?",
    "How many open tickets are in the support queue?",
    "Where do I live?",
    "What is the page load time of the shop?",
    "How old is my sister Ana?",
    "What was my monthly grocery budget originally?",
    "grocery budget",
]


def filled(talk):
    """Return a memory in which ``talk`` was said, a day apart, without vectors."""
    made = Memory(
        ":memory:", user="ana", settings=Settings(timezone="UTC", embedding={"model": "none"})
    )
    made.remember_many(
        [
            {
                "content": text,
                "kind": "episode",
                "session": "s",
                "role": role,
                "event_time": FIRST + timedelta(days=place),
            }
            for place, (role, text) in enumerate(talk)
        ]
    )
    return made


@pytest.fixture(scope="module")
def memory():
    """The talk, in order."""
    with filled(TALK) as made:
        yield made


def retriever(memory, **ranking):
    """Return a retriever over ``memory`` with a ranking of the test's own."""
    parts = memory._services
    return Retriever(
        store=parts.store,
        analyzer=parts.retriever.analyzer,
        extractor=parts.extractor,
        derivations=parts.derivations,
        zone=UTC,
        ranking=Ranking(**ranking),
    )


def found(memory, question, limit=100, where=None, **ranking):
    """Search everything."""
    now = memory._services.clock.now()
    asked = where or Filter(now=max(NOW, now))
    return retriever(memory, **ranking).search(SCOPE, question, asked, limit=limit)


def texts(hits):
    """Return what the hits say."""
    return [hit.record.content for hit in hits]


def first(hits, *parts):
    """Return which of the texts that hold one of ``parts`` comes first."""
    return next(part for text in texts(hits) for part in parts if part in text)


@pytest.mark.parametrize(
    ("question", "now", "before"),
    [
        ("What is my monthly grocery budget?", "460", "400"),
        ("Can you tell me what my monthly grocery budget is?", "460", "400"),
        ("How many open tickets are in the support queue?", "17", "42"),
        ("Where do I live?", "Braga", "Porto"),
        ("What is the page load time of the shop?", "1.9", "3.2"),
    ],
)
def test_the_newer_of_two_answers_goes_first(memory, question, now, before):
    """A question about the present is answered by the last word on it."""
    assert first(found(memory, question), now, before) == now


@pytest.mark.parametrize(
    ("question", "right", "other"),
    [
        ("How old is my sister Ana?", "31", "27"),
        ("How much does the flight to Oslo cost?", "210", "95"),
        ("When is the deadline of sprint 1?", "March 3", "March 24"),
    ],
)
def test_another_thing_of_the_same_sort_is_no_update(memory, question, right, other):
    """A later text about a sister, a flight, a sprint does not overtake one about another."""
    assert first(found(memory, question), right, other) == right


@pytest.mark.parametrize(
    "question",
    [
        "What was my monthly grocery budget originally?",
        "Where did I live before?",
        "What did I first say about my grocery budget?",
        "What is my monthly grocery budget in January 2026?",
        "Which cities in Italy do I know?",
        "How many tickets did I say were open?",
        "monthly grocery budget in euros",
    ],
)
def test_a_question_about_the_past_or_many_things_is_not_reordered(memory, question):
    """Precedence is for what is true now: the order and all scores are what they were."""
    with_it, without = found(memory, question), found(memory, question, precedence=False)
    assert [(h.record.id, h.score) for h in with_it] == [(h.record.id, h.score) for h in without]


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_else_moves(memory, question):
    """Without what was raised, the order is the one without precedence."""
    hits = found(memory, question)
    raised = {hit.record.id for hit in hits if hit.why.precedence != 1}
    plain = [h.record.id for h in found(memory, question, precedence=False)]
    assert [h.record.id for h in hits if h.record.id not in raised] == [
        each for each in plain if each not in raised
    ]
    assert {hit.record.id for hit in hits} == set(plain)


@pytest.mark.parametrize("question", QUESTIONS)
def test_scores_fall_and_are_explained(memory, question):
    """The list is in the order of the scores, and each is its shares times its factors."""
    hits = found(memory, question)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        shares = sum(arm.share for arm in hit.why.arms.values())
        factors = hit.why.recency * hit.why.confidence * hit.why.precedence
        assert hit.score == pytest.approx(shares * factors, abs=1e-6)


def test_what_was_raised_says_so(memory):
    """The factor of what brings another hit up to date is above 1, and no other."""
    hits = found(memory, "What is my monthly grocery budget?")
    moved = [hit.record.content for hit in hits if hit.why.precedence > 1]
    assert moved == ["I raised my monthly grocery budget to 460 euros."]


def test_an_assistant_brings_nothing_up_to_date(memory):
    """What an assistant says of the user is no evidence: it stays in its place."""
    for question in QUESTIONS:
        for hit in found(memory, question):
            assert hit.record.source_role != "assistant" or hit.why.precedence == 1


def test_who_says_the_old_again_brings_nothing_new():
    """A value that was known before is no news, whenever it is told once more."""
    talk = [
        ("user", "My accuracy in algebra is 70%, I did a few problems."),
        ("user", "My accuracy in algebra has improved to 95%."),
        ("user", "I wonder how my accuracy in algebra got from 70% in spring to this."),
    ]
    with filled(talk) as memory:
        hits = found(memory, "What is my accuracy in algebra?")
        assert first(hits, "95%", "is 70%") == "95%"
        moved = [
            text for text, hit in zip(texts(hits), hits, strict=True) if hit.why.precedence > 1
        ]
        assert not any("I wonder" in text for text in moved)


def test_who_says_the_same_again_is_not_moved():
    """The very same words, said later, bring nothing up to date."""
    with filled([("user", "I live in Porto now."), ("user", "I live in Porto now.")]) as memory:
        assert [hit.why.precedence for hit in found(memory, "Where do I live?")] == [1, 1]


def test_as_of_a_past_day_sees_only_what_was_known_then():
    """Law 11: what was said later neither answers nor moves anything."""
    with filled(TALK[:4]) as memory:
        then = memory._services.clock.now()
        told = memory.remember(
            "I raised my monthly grocery budget to 460 euros.",
            kind="episode",
            role="user",
            event_time=FIRST + timedelta(days=30),
        )
        question = "What is my monthly grocery budget?"
        later = then + timedelta(days=400)
        if told.created_at == then:  # The clock did not move on between the two.
            then -= timedelta(milliseconds=1)
        now = found(memory, question, where=Filter(now=later))
        assert first(now, "460", "400") == "460"
        past = found(memory, question, where=Filter(now=later, as_of=then))
        assert all("460" not in text for text in texts(past))
        assert all(hit.why.precedence == 1 for hit in past)


@settings(max_examples=examples(10))
@given(
    order=st.permutations(range(len(TALK))),
    question=st.sampled_from(QUESTIONS),
    facts=st.sampled_from(["source", "apart"]),
)
def test_a_shorter_list_is_the_beginning_of_a_longer_one(order, question, facts):
    """Whatever was said in whatever order: limit k is a prefix of limit k + 1, each time."""
    with filled([TALK[place] for place in order]) as memory:
        whole = found(memory, question, facts=facts)
        assert found(memory, question, facts=facts) == whole
        for limit in range(1, len(whole) + 1):
            assert texts(found(memory, question, limit, facts=facts)) == texts(whole)[:limit]

"""Lineage: a fact and its sources are one piece of evidence; what was replaced stands behind."""

import pytest
from retrieving import adds_up
from retrieving import found as find
from samples import ANA, LATER, record
from steps import carry_out

from memoranda import Memory, Settings
from memoranda.model.changes import Close, Insert, Supersede
from memoranda.model.models import Kind, Scope
from memoranda.model.query import Filter
from memoranda.search.index import UserIndex

QUESTION = "Where does Ana live?"


def turn(text, **fields):
    """Return an episode that the user said."""
    return record(text, kind=Kind.EPISODE, source_role="user", **fields)


@pytest.fixture
def memory():
    """An empty memory of Ana's, without vectors."""
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=chosen) as made:
        yield made


@pytest.fixture
def told(memory):
    """Two turns, with the fact that was drawn from each; the second fact replaced the first."""
    turns = [
        turn("Ana says that home is a flat in Porto, by the way, quite near the river."),
        turn("Ana has packed the boxes: it will be Braga."),
        turn("The weather was fine, said Ana."),
    ]
    facts = [
        record(f"Ana lives in {town}.", source_ids=(said.id,), source_role="user", confidence=0.8)
        for town, said in zip(("Porto", "Braga"), turns, strict=False)
    ]
    carry_out(memory._services.store, ANA, [Insert(each) for each in (*turns, *facts)])
    return turns, facts


def supersede(memory, facts):
    """Say that the second fact took the place of the first."""
    old, new = facts
    action = Supersede(old.id, new.id, LATER, 0.3, "a new value")
    carry_out(memory._services.store, ANA, [action])


def found(memory, *, kinds=(), question=QUESTION, **ranking):
    """Search everything under a ranking of the test's own."""
    return find(memory, question, where=Filter(now=LATER, kinds=kinds), **ranking)


def ids(hits):
    """Return which records were found, the best first."""
    return [hit.record.id for hit in hits]


def test_a_fact_lends_its_evidence_to_the_turn_it_was_drawn_from(memory, told):
    """One hit for both: the turn, with the fact as one more arm of its score."""
    turns, facts = told
    hits = found(memory)
    assert not set(ids(hits)) & {fact.id for fact in facts}
    lent = [hit for hit in hits if "fact" in hit.why.arms]
    assert {hit.record.id for hit in lent} <= {said.id for said in turns[:2]}
    assert lent
    assert all(hit.why.arms["fact"].share > 0 and adds_up(hit) for hit in lent)
    assert set(ids(found(memory, kinds=(Kind.FACT,)))) == {fact.id for fact in facts}


def test_a_fact_whose_source_is_not_shown_stands_for_itself(memory, told):
    """Only what is found stands for a fact: a source that is gone, or has expired, does not."""
    turns, facts = told
    alone = record("Ana lives in Lima.", source_ids=("ep_gone",), source_role="user")
    closed = [Close(said.id, LATER, "expired") for said in turns]
    carry_out(memory._services.store, ANA, [Insert(alone), *closed])
    hits = found(memory)
    assert set(ids(hits)) == {alone.id, *(fact.id for fact in facts)}
    assert all(hit.why.arms["lexical"].score > 0 for hit in hits)


def test_what_replaced_a_fact_goes_before_it_and_so_does_its_turn(memory, told):
    """The replaced one and its source stand behind."""
    (before, now, _), (old, new) = told
    supersede(memory, (old, new))
    order = ids(found(memory))
    assert order.index(now.id) < order.index(before.id)
    hits = found(memory, kinds=(Kind.FACT,))
    assert ids(hits) == [new.id, old.id]
    assert hits[1].record.superseded_by == new.id


def test_a_replacement_that_is_about_something_else_is_not_raised(memory):
    """A wrong verdict on two facts does not put the answer to another question first."""
    turns = [turn("My essay on Kafka is 2400 words long."), turn("My essay on Woolf is long.")]
    facts = [
        record(f"Ana's essay on {name} is long.", source_ids=(said.id,), source_role="user")
        for name, said in zip(("Kafka", "Woolf"), turns, strict=True)
    ]
    carry_out(memory._services.store, ANA, [Insert(each) for each in (*turns, *facts)])
    supersede(memory, facts)
    order = ids(found(memory, question="How many words is the essay on Kafka?"))
    assert order.index(turns[0].id) < order.index(turns[1].id)


def test_a_correction_goes_before_the_turn_it_corrects(memory, told):
    """It keeps the sources of what it corrects, yet never stands behind what they say."""
    turns, facts = told
    right = memory.correct(facts[0].id, "Ana lives in Faro.")
    assert right.source_ids == (turns[0].id,)
    order = ids(found(memory))
    assert order.index(right.id) < order.index(turns[0].id)
    before = found(memory, question="Ana, home, a flat in Porto, quite near the river")
    assert ids(before).index(right.id) < ids(before).index(turns[0].id)


def test_what_rests_on_facts_is_not_folded(memory, told):
    """A reflection is more than its facts: it stays a hit, and lends them nothing."""
    _, facts = told
    weekly = record(
        "Ana lives by a river.", kind=Kind.REFLECTION, source_ids=tuple(f.id for f in facts)
    )
    carry_out(memory._services.store, ANA, [Insert(weekly)])
    assert weekly.id in ids(found(memory))
    assert all(
        "fact" not in hit.why.arms for hit in found(memory, kinds=(Kind.FACT, Kind.REFLECTION))
    )


def test_the_index_knows_of_facts_that_came_after_it(memory):
    """Lineage is in step with the store: a new fact is folded into its source at once.

    Law 6: another user has no facts, no sources, no replacements.
    """
    store, index = memory._services.store, UserIndex()
    said = turn("Ana lives in Porto, she says.")
    carry_out(store, ANA, [Insert(said)])
    assert len(index.rows(store, ANA).sources) == 0
    facts = [record(f"Ana lives in {town}.", source_ids=(said.id,)) for town in ("Porto", "Faro")]
    carry_out(store, ANA, [Insert(facts[0]), Insert(turn("Something else was said."))])
    assert index.rows(store, ANA).sources.tolist() == [[1, 0]]
    carry_out(store, ANA, [Insert(facts[1])])
    supersede(memory, facts)
    assert len(index.rows(store, ANA).replaced)
    rows = UserIndex().rows(store, Scope("ben"))
    assert (len(rows), len(rows.sources), len(rows.replaced)) == (0, 0, 0)

"""What the Markdown layer asks before each answer costs the same, however much is stored."""

from itertools import count

import pytest
from samples import ANA, User, insert, moment, record
from steps import carry_out

from memoranda.model.changes import Close
from memoranda.model.models import Kind, Scope, Trust

FEW, MANY = 10, 400


def episode(session):
    """Return an episode of a session."""
    return record("hello", kind=Kind.EPISODE, session_id=session)


def steps_of(store, ask):
    """Return how many steps of SQLite's machine a question takes."""
    ask()
    reader = store._idle[-1].raw
    steps = count()
    reader.set_progress_handler(lambda: next(steps) < 0, 1)
    ask()
    reader.set_progress_handler(None)
    return next(steps)


def fill(store, number):
    """Store facts of all fates, and episodes."""
    for scope in (ANA, User(store).planner.scope):
        texts = [f"text {place}" for place in range(number)]
        for trust in (Trust.PERSON, Trust.EXTERNAL):
            facts = User(store, scope).remember(*texts, trust=trust)
        User(store, scope).remember(*texts, kind=Kind.EPISODE)
        ended = User(store, scope).remember(*texts)
        by = facts[0].id
        carry_out(store, scope, [Close(item.id, moment(1), "corrected", by) for item in ended])
    User(store).planner.remember(*texts, valid_until=moment(1_000))


@pytest.mark.parametrize("scope", [ANA, Scope("ana", "writer"), Scope("ana", "planner")])
def test_a_version_costs_the_same(store, scope):
    """With a hundred times the facts, it takes no more steps to see whether others stand."""
    User(store).remember("late", valid_until=moment(2_000))
    steps = []
    for number in (FEW, MANY):
        fill(store, number)
        steps.append(steps_of(store, lambda: store.noteworthy_version(scope, now=moment(0))))
    assert steps[1] <= steps[0] + 5


def test_the_first_facts_are_found_in_order(store):
    """The first few of many facts come without a look at the texts of the others, or a sort."""
    steps = []
    for number in (FEW, MANY):
        fill(store, number)
        steps.append(steps_of(store, lambda: User(store).noteworthy(now=moment(0), limit=10)))
    assert steps[1] < 2 * steps[0] + 200


def test_a_session_is_found_without_the_others(store):
    """One session of many is looked up by its name."""
    steps = []
    for number in (FEW, MANY):
        User(store).turns(f"s{number}", "hello")
        carry_out(store, ANA, [insert(episode(f"s{number}-{place}")) for place in range(number)])
        steps.append(steps_of(store, lambda: store.sessions(ANA, id=f"s{FEW}")))
    assert steps[1] <= steps[0] + 5

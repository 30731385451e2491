"""What the Markdown layer asks before each answer costs the same, however much is stored."""

from itertools import count

from samples import ANA, User, insert, record
from steps import carry_out

from memoranda.model.models import Kind

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


def test_a_session_is_found_without_the_others(store):
    """One session of many is looked up by its name."""
    steps = []
    for number in (FEW, MANY):
        User(store).turns(f"s{number}", "hello")
        carry_out(store, ANA, [insert(episode(f"s{number}-{place}")) for place in range(number)])
        steps.append(steps_of(store, lambda: store.sessions(ANA, id=f"s{FEW}")))
    assert steps[1] <= steps[0] + 5

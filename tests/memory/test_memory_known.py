"""A fact that is known already is returned, and not stored again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory

TEXTS = [f"fact {number}" for number in range(40)]


def test_what_is_known_is_returned(memory):
    """By each verb, with the tags of both; nobody is told of anything new."""
    told = []
    memory.on("remembered", told.append)
    known = memory.remember("Ana is vegetarian", tags=["diet"])
    again = memory.remember("Ana is vegetarian", tags=["food"])
    assert (again.id, again.tags, len(told)) == (known.id, ("diet", "food"), 1)
    many = memory.remember_many(
        ["new", "Ana is vegetarian", {"content": "new", "tags": ["x"]}, "new"]
    )
    assert [record.id for record in many] == [many[0].id, known.id, many[0].id, many[0].id]
    assert many[0] == many[2] == memory.get(many[0].id)
    assert (memory.count(), len(told), many[0].tags) == (2, 2, ("x",))


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"page": 2}},
        {"session": "s"},
        {"role": "ben", "trust": "person"},
        {"event_time": datetime(2020, 1, 1, tzinfo=UTC)},
        {"valid_until": datetime(2900, 1, 1, tzinfo=UTC)},
        {"kind": "episode"},
    ],
)
def test_what_says_something_else_is_stored(memory, more):
    """And then it is known, too."""
    known = memory.remember("Ana is vegetarian", metadata={"page": 1, "book": 2})
    other = memory.remember("Ana is vegetarian", **more)
    assert other.id != known.id
    assert (memory.remember("Ana is vegetarian", **more).id == other.id) is ("kind" not in more)
    assert memory.remember("Ana is vegetarian", metadata={"page": 1}).id == known.id
    assert memory.remember("Ana  is vegetarian").id not in {known.id, other.id}


def test_a_person_makes_what_is_known_sure(memory):
    """It fades no longer and lasts as long as said; an agent that repeats it changes neither."""
    end = datetime(2900, 1, 1, tzinfo=UTC)
    fading = memory.remember("tea", confidence=0.5, decay_rate=0.1, valid_until=end)
    repeated = memory.remember("tea", role="assistant", trust="agent", valid_until=end)
    assert repeated == fading
    longer = end + timedelta(days=1)
    sure = memory.remember("tea", valid_until=longer)
    assert (sure.id, sure.confidence, sure.decay_rate) == (fading.id, 1.0, 0.0)
    assert sure.valid_until == longer
    assert {change.reason for change in memory.history(sure.id)} == {"remembered", "said again"}


def test_what_is_not_believed_is_not_known(memory):
    """What was forgotten or corrected, or that nobody stands behind, is stored anew."""
    gone = memory.remember("tea")
    memory.forget(gone.id)
    outside = memory.remember("tea", trust="external")
    own = memory.remember("tea")
    assert len({gone.id, outside.id, own.id}) == 3
    assert memory.remember("tea", trust="external").id == outside.id
    assert memory.as_user("ben").remember("tea").id != own.id


def test_threads_leave_one(wordless, tmp_path):
    """Whoever remembers a new fact at the same moment gets the one record of it."""
    with (
        Memory(tmp_path / "m.db", user="ana", settings=wordless) as one,
        ThreadPoolExecutor(4) as threads,
    ):
        faces = [one, one.as_user("ana"), one.as_user("ana"), one]
        ids = list(threads.map(lambda face: [face.remember(t).id for t in TEXTS], faces))
        assert ids[0] == ids[1] == ids[2] == ids[3]
        assert one.count() == len(TEXTS)

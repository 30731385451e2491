"""Which facts stay when there is no room for all of them."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.models import Kind, Record, Trust
from memoranda.notes.projection import LineCandidate, choose

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def one(id, content, *, present=False, cost=10, heading=None, **more):
    """Return a fact that may stand in the file."""
    record = Record(id=id, kind=Kind.FACT, content=content, user="ana", event_time=NOW,
                    created_at=NOW, content_hash="", **more)  # fmt: skip
    return LineCandidate(record, cost, present, heading)


def test_of_near_duplicates_the_better_one_stays():
    """Of two that say nearly the same the first ranked stays, also beside a line by hand."""
    first = one("a", "Ana likes to drink green tea in the morning")
    again = one("b", "In the morning Ana likes to drink green tea.")
    assert choose([first, again], room=100)[0] == ["a"]
    assert choose([again], room=100, fixed=[first.record.content])[1] == {"b"}


def test_numbers_and_denials_make_another_statement():
    """One word decides: another number, or a not, is no duplicate."""
    texts = ["the door code of the house is 4711 now", "the door code of the house is 4712 now",
             "Ana does eat meat on every day", "Ana does not eat meat on every day"]  # fmt: skip
    found = choose([one(str(at), text) for at, text in enumerate(texts)], room=100)
    assert len(found[0]) == 4


def test_the_order_in_which_facts_go():
    """Superseded goes first, then what an agent says, what fades, and what is believed less."""
    facts = [
        one("old", "aa", superseded_by="x"),
        one("agent", "bb", trust=Trust.AGENT),
        one("faded", "cc", decay_rate=0.1, confidence=0.3),
        one("fading", "dd", decay_rate=0.1, confidence=0.8),
        one("asked", "ee"),
    ]
    assert choose(facts, room=50)[0] == ["asked", "fading", "faded", "agent", "old"]
    assert choose(facts, room=25)[0] == ["asked", "fading"]
    assert choose(facts, room=10, preferred=frozenset({"agent"}))[0] == ["agent"]


def test_what_is_in_the_file_stays_there():
    """Only what is clearly better takes the place of a fact in the file."""
    here = one("here", "aa", present=True, decay_rate=0.1, confidence=0.6)
    little = one("little", "bb", decay_rate=0.1, confidence=0.75)
    much = one("much", "cc", decay_rate=0.1, confidence=0.9)
    assert choose([little, here], room=10)[0] == ["here"]
    assert choose([much, here], room=10)[0] == ["much"]


def test_a_heading_is_paid_once():
    """A heading that has to be made takes room, for the first fact under it."""
    facts = [one("a", "aa", heading="Tea"), one("b", "bb", heading="Tea")]
    assert choose(facts, room=28)[0] == ["a"]
    assert choose(facts, room=29)[0] == ["a", "b"]


candidates = st.lists(
    st.builds(
        one,
        st.uuids().map(str),
        st.text("abcd ", min_size=3, max_size=12),
        present=st.booleans(),
        cost=st.integers(1, 30),
        heading=st.sampled_from([None, None, "Tea"]),
        confidence=st.integers(0, 10).map(lambda tenths: tenths / 10),
        trust=st.sampled_from(list(Trust)),
        decay_rate=st.sampled_from([0.0, 0.1]),
    ),
    max_size=12,
)


@given(candidates, st.integers(0, 150))
def test_choosing_again_changes_nothing(facts, room):
    """Once what was chosen is in the file, the same is chosen again, and it fits."""
    kept = set(choose(facts, room=room)[0])
    assert sum(each.cost for each in facts if each.record.id in kept) <= room
    again = [each._replace(present=each.record.id in kept) for each in facts]
    assert set(choose(again, room=room)[0]) == kept

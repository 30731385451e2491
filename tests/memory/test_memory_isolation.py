"""Law 6: nothing of one user is found, counted, recalled, changed or heard of by another."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Memory, Settings, errors
from memoranda.testing.embedders import HashEmbedder

SAID = "The vault code of Maria Santos is swordfish 4711."
NAMES = st.one_of(
    st.sampled_from(["ana", "Ana", "ana ", "an", "anaa", "a_a", "%", "*", "ANA", "ána", "u1", "1"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
).filter(lambda name: name.strip())
QUERIES = st.one_of(
    st.sampled_from([SAID, "swordfish", "Maria Santos", "u1", "scope : u1", "* OR *", "4711"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1),
).filter(lambda query: query.strip())
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["fact", "episode", "context"]),
        "session": st.sampled_from(["vault", "other"]),
        "tags": st.just(["secret"]),
        "metadata": st.just({"level": 1}),
        "as_of": st.just(datetime(2050, 1, 1, tzinfo=UTC)),
        "limit": st.integers(1, 1_000),
    },
)


@pytest.fixture(scope="module")
def house():
    """One store in which ana keeps a secret of every kind."""
    with Memory(
        ":memory:", user="ana", embedder=HashEmbedder(), settings=Settings(timezone="UTC")
    ) as memory:
        for kind in ("fact", "episode", "context", "reflection"):
            memory.remember(
                SAID, kind=kind, tags=["secret"], metadata={"level": 1}, session="vault"
            )
        memory.set_context("code", "swordfish")
        memory.conversation("vault", system="Guard it.").add("user", SAID)
        memory.embed_pending()
        yield memory


@given(name=NAMES, query=QUERIES, filters=FILTERS)
def test_no_name_query_or_filter_reaches_another_users_memory(house, name, query, filters):
    """Whatever a user is called and asks, only what is theirs is found, counted or recalled."""
    other = house.as_user(name)
    if name == "ana":
        return
    assert other.search(query, **filters) == []
    assert other.recall(query).hits == ()
    assert other.recall(query).text == ""
    assert other.records() == []
    assert sum(other.stats().records.values()) == 0
    assert other.stats().newest is None
    assert other.stats().pending_vectors == 0
    assert other.conversations() == []
    assert other.entity("Maria Santos") is None
    assert other.entities() == []
    assert other.get_context("code") is None


def test_an_agent_sees_its_own_records_and_those_of_no_agent(memory):
    """The agent bounds what is found, counted, listed, recalled and changed."""
    cook, pilot = memory.as_user("ana", agent="cook"), memory.as_user("ana", agent="pilot")
    shared = memory.remember("Ana drinks tea")
    tea = cook.remember("tea with lemon")
    flight = pilot.remember("tea on board")
    assert {hit.record.id for hit in cook.search("tea")} == {shared.id, tea.id}
    assert {hit.record.id for hit in pilot.search("tea")} == {shared.id, flight.id}
    assert {hit.record.id for hit in memory.search("tea")} == {shared.id, tea.id, flight.id}
    assert [record.id for record in cook.records()] == [shared.id, tea.id]
    assert cook.stats().records["fact"] == 2
    assert cook.get(flight.id) is None
    assert cook.history(flight.id) == []
    assert flight.id not in {hit.record.id for hit in cook.recall("tea").hits}
    pilot.remember("Maria Santos flies with Rui Costa")
    assert {"Maria Santos", "Rui Costa"} <= {each.name for each in pilot.entities()}
    for use in (
        lambda: cook.forget(flight.id),
        lambda: cook.merge_entities("Maria Santos", "Rui Costa"),
    ):
        with pytest.raises(errors.NotFound):
            use()


def test_a_conversation_of_one_agent_is_closed_to_another(memory):
    """An agent can neither read nor rename nor write another agent's conversation."""
    cook, pilot = memory.as_user("ana", agent="cook"), memory.as_user("ana", agent="pilot")
    cook.conversation("c", system="You cook.").add("user", "hello")
    with pytest.raises(errors.InvalidInput, match="conversation 'c' is another agent's"):
        pilot.conversation("c", system="You fly.")
    assert cook.conversation("c").system == "You cook."
    assert pilot.conversations() == []
    assert len(memory.conversations()) == 1


def test_a_conversation_that_another_process_starts_meanwhile_is_ones_own(memory, monkeypatch):
    """Started after one looked and found none: it is opened, and not taken for another agent's."""
    cook = memory.as_user("ana", agent="cook")
    store, reads = cook._services.store, []
    read = store.conversations

    def conversations(scope, id=None):
        found = read(scope, id)
        reads.append(scope)
        if len(reads) == 1:
            cook.conversation("c", system="You cook.").add("user", "hello")
        return found

    monkeypatch.setattr(store, "conversations", conversations)
    late = cook.conversation("c")
    assert (late.system, late.messages[0].content) == ("You cook.", "hello")

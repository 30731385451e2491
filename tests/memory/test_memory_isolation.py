"""Law 6: nothing of one user is found, counted, recalled, changed or heard of by another."""

import pytest

from memoranda import errors


def test_an_agent_changes_nothing_of_another(memory):
    """Neither by an id nor by a name that only the other has."""
    cook, pilot = memory.as_user("ana", agent="cook"), memory.as_user("ana", agent="pilot")
    flight = pilot.remember("Maria Santos flies with Rui Costa")
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

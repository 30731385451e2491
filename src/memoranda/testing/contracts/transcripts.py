"""The contract of :class:`memoranda.model.ports.TranscriptStore`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Append,
    Calibrate,
    ClearView,
    EndConversation,
    Erase,
    OpenConversation,
    Pin,
    Prune,
    Recount,
    Summarize,
)
from memoranda.model.models import Calibration, ConversationInfo, Image, Scope, ToolCall, ToolResult
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ANA,
    BEN,
    cut,
    moment,
    open_conversation,
    placed,
    pruning,
    remember,
    say,
)


def texts(store: Store, name: str, **which: Any) -> list[str]:
    """Return what ``messages`` gives, as texts."""
    return [message.content for message in store.messages(ANA, name, **which)]


def known(store: Store, name: str) -> ConversationInfo:
    """Return a conversation that is there."""
    info = store.conversation(ANA, name)
    assert info is not None
    return info


class TranscriptContract(Contract):
    """A transcript only grows; views of it may begin later."""

    def test_a_conversation_comes_back(self, store: Store, reopen: Reopen) -> None:
        """A conversation has the settings it was opened with; an unknown one is None."""
        assert store.conversation(ANA, "trip") is None
        info = open_conversation(store, "trip", system="Plan.", model="m", context_limit=1_000)
        bare = open_conversation(store, "bare", scope=BEN)
        store = reopen(store)
        assert store.conversation(ANA, "trip") == info
        assert store.conversation(BEN, "bare") == bare
        assert store.conversation(ANA, "bare") is None

    def test_opening_again_updates_the_settings_alone(self, store: Store) -> None:
        """A conversation opened again has the new settings; what was done in it remains."""
        first = open_conversation(store, "trip", system="old", model="m", context_limit=5)
        said = say(store, "trip", "a", "b")
        learnt = Calibration(1.25, 40)
        store.apply(
            ANA,
            [ClearView("trip"), EndConversation("trip", moment(7)), Calibrate("trip", learnt)],
        )
        before = known(store, "trip")
        open_conversation(store, "trip", system="new")
        assert known(store, "trip") == ConversationInfo(
            id="trip",
            system="new",
            created_at=first.created_at,
            ended_at=moment(7),
            cleared_through=said[-1].id,
            messages=len(said),
            start=len(said),
            revision=before.revision,
            calibration=learnt,
        )

    def test_the_newest_conversation_comes_first(self, store: Store) -> None:
        """Conversations are in the order of their creation, the newest first."""
        assert store.conversations(ANA) == []
        for name, minute in (("b", 10), ("c", 30), ("a", 20)):
            open_conversation(store, name, created_at=moment(minute))
        open_conversation(store, "his", scope=BEN)
        assert [info.id for info in store.conversations(ANA)] == ["c", "a", "b"]

    def test_messages_come_back_as_they_were(self, store: Store, reopen: Reopen) -> None:
        """Every field of a message survives; so does their order."""
        open_conversation(store, "trip")
        (plain,) = say(store, "trip", "hello 👋", importance=0.5, pinned=True, record_id="ep_1")
        calls = (ToolCall("c1", "search", '{"q": "ü"}'), ToolCall("c2", "stop"))
        (call,) = say(store, "trip", "", role="assistant", tool_calls=calls)
        (result,) = say(
            store, "trip", "42", role="tool", tool_result=ToolResult("c1", is_error=True)
        )
        images = (Image("https://example.org/ü.png"), Image("data:image/png;base64,AA==", "low"))
        (seen,) = say(store, "trip", "", images=images, task="Find the ferry")
        found = reopen(store).messages(ANA, "trip")
        assert found == placed(plain, call, result, seen)

    def test_the_store_gives_the_places(self, store: Store) -> None:
        """Positions count up from 0 in each conversation, whatever a message brings along."""
        for name in ("one", "two"):
            open_conversation(store, name)
        say(store, "one", "a", "b", position=77)
        say(store, "two", "c", position=0)
        say(store, "one", "d")
        assert [message.position for message in store.messages(ANA, "one")] == [0, 1, 2]
        assert [message.position for message in store.messages(ANA, "two")] == [0]

    def test_no_place_is_used_twice(self, store: Store) -> None:
        """What is said after the last messages were erased comes after where these were."""
        open_conversation(store, "trip")
        for number, erased in enumerate("abc"):
            (item,) = remember(store, erased)
            say(store, "trip", erased, record_id=item.id)
            store.apply(ANA, [Erase((item.id,), moment(1), "asked")])
            assert known(store, "trip").messages == number
            say(store, "trip", "kept")
        assert [message.position for message in store.messages(ANA, "trip")] == [1, 3, 5]

    def test_the_last_messages(self, store: Store) -> None:
        """``last`` gives so many from the end, in order; none of an unknown conversation."""
        open_conversation(store, "trip")
        say(store, "trip", "a", "b", "c")
        assert texts(store, "trip", last=2) == ["b", "c"]
        assert texts(store, "trip", last=0) == []
        assert texts(store, "trip", last=99) == ["a", "b", "c"]
        assert texts(store, "nothing") == []

    def test_the_pinned_ones_alone(self, store: Store) -> None:
        """``pinned`` gives those that are pinned now, in order, within the other limits."""
        open_conversation(store, "trip")
        say(store, "trip", *"abcde")
        ids = [item.id for item in store.messages(ANA, "trip")]
        assert store.messages(ANA, "trip", pinned=True) == []
        store.apply(ANA, [Pin("trip", ids[place], pinned=True) for place in (3, 0, 1)])
        store.apply(ANA, [Pin("trip", ids[1], pinned=False)])
        found = store.messages(ANA, "trip", pinned=True)
        assert [item.content for item in found] == ["a", "d"]
        assert store.messages(ANA, "trip", pinned=True, after=0) == found[1:]

    def test_what_came_after(self, store: Store) -> None:
        """``after`` gives what has a higher position, also together with the other limits."""
        open_conversation(store, "trip")
        say(store, "trip", *"abcde")
        assert texts(store, "trip", after=2) == ["d", "e"]
        assert texts(store, "trip", after=-1) == [*"abcde"]
        assert texts(store, "trip", after=4) == texts(store, "trip", after=99) == []
        assert texts(store, "trip", after=1, last=2) == ["d", "e"]
        assert texts(store, "trip", after=3, last=2) == ["e"]
        store.apply(ANA, [ClearView("trip")])
        say(store, "trip", "f")
        assert texts(store, "trip", after=2) == ["f"]
        assert texts(store, "trip", after=2, cleared=True) == ["d", "e", "f"]
        assert texts(store, "nothing", after=0) == []

    def test_cleared_messages_stay_in_the_transcript(self, store: Store) -> None:
        """What was cleared is out of later views, and there for whoever asks for it."""
        open_conversation(store, "trip")
        store.apply(ANA, [ClearView("trip")])
        said = say(store, "trip", "a", "b")
        store.apply(ANA, [ClearView("trip")])
        say(store, "trip", "c")
        assert texts(store, "trip") == ["c"]
        assert texts(store, "trip", last=2) == ["c"]
        assert texts(store, "trip", cleared=True) == ["a", "b", "c"]
        info = known(store, "trip")
        assert (info.cleared_through, info.messages, info.start) == (said[-1].id, 3, 2)

    def test_what_is_said_after_clearing_is_in_view(self, store: Store) -> None:
        """Also when the messages that were cleared last have been erased since."""
        open_conversation(store, "trip")
        one, two = remember(store, "a", "b")
        (kept,) = say(store, "trip", "a", record_id=one.id)
        say(store, "trip", "b", record_id=two.id)
        store.apply(ANA, [ClearView("trip")])
        store.apply(ANA, [Erase((two.id,), moment(1), "asked")])
        say(store, "trip", "c")
        assert texts(store, "trip") == ["c"]
        info = known(store, "trip")
        assert (info.cleared_through, info.start) == (kept.id, 2)

    def test_clearing_after_an_erasure(self, store: Store) -> None:
        """Everything said so far is cleared, however much was erased before."""
        open_conversation(store, "trip")
        (item,) = remember(store, "a")
        say(store, "trip", "a", record_id=item.id)
        kept = say(store, "trip", "b", "c")[-1]
        store.apply(ANA, [Erase((item.id,), moment(1), "asked"), ClearView("trip")])
        assert texts(store, "trip") == []
        info = known(store, "trip")
        assert (info.cleared_through, info.start, info.messages) == (kept.id, 3, 2)

    def test_pins(self, store: Store) -> None:
        """A message can be pinned and let go, as often as one likes."""
        open_conversation(store, "trip")
        first, second = say(store, "trip", "a", "b")
        store.apply(ANA, [Pin("trip", first.id, pinned=True), Pin("trip", first.id, pinned=True)])
        assert store.messages(ANA, "trip") == placed(replace(first, pinned=True), second)
        store.apply(ANA, [Pin("trip", first.id, pinned=False)])
        assert store.messages(ANA, "trip") == placed(first, second)

    def test_what_the_provider_taught(self, store: Store, reopen: Reopen) -> None:
        """A conversation keeps the last calibration, and has the neutral one until then."""
        open_conversation(store, "trip")
        open_conversation(store, "other")
        assert known(store, "trip").calibration == Calibration()
        for learnt in (Calibration(0.75, 10), Calibration(1.5, 0)):
            store.apply(ANA, [Calibrate("trip", learnt)])
            assert known(store, "trip").calibration == learnt
        store = reopen(store)
        assert known(store, "trip").calibration == Calibration(1.5, 0)
        assert known(store, "other").calibration == Calibration()

    def test_counting_again(self, store: Store) -> None:
        """Counts of the named messages are set; what is not in the conversation is passed over."""
        open_conversation(store, "trip")
        open_conversation(store, "other")
        first, second = say(store, "trip", "a", "b")
        (third,) = say(store, "other", "c")
        counts = {first.id: 70, third.id: 90, "msg_gone": 1}
        store.apply(ANA, [Recount("trip", counts)])
        assert store.messages(ANA, "trip") == placed(replace(first, tokens=70), second)
        assert store.messages(ANA, "other") == placed(third)

    def test_readers_learn_that_what_they_know_has_changed(self, store: Store) -> None:
        """Any change of what was there raises the revision; messages added leave it as it is."""
        (item,) = remember(store, "secret")
        open_conversation(store, "trip")
        (first,) = say(store, "trip", "hello")
        before = known(store, "trip").revision
        say(store, "trip", "more")
        say(store, "trip", "secret", record_id=item.id)
        assert known(store, "trip").revision == before
        receipt = pruning(cut(0, 1))
        for action in (
            Pin("trip", first.id, pinned=True),
            Recount("trip", {first.id: 99}),
            Prune("trip", receipt),
            Summarize("trip", receipt.id, {0: "in short"}),
            ClearView("trip"),
            Erase((item.id,), moment(1), "asked"),
        ):
            store.apply(ANA, [action])
            assert known(store, "trip").revision > before, action
            before = known(store, "trip").revision
            assert [info.revision for info in store.conversations(ANA)] == [before]

    def test_actions_need_what_they_name(self, store: Store) -> None:
        """Actions on a conversation or message that is not there raise, and change nothing."""
        open_conversation(store, "his", scope=BEN)
        (message,) = say(store, "his", "a", scope=BEN)
        open_conversation(store, "mine")
        for name in ("his", "nothing"):
            for action in (
                Append(name, replace(message, id="msg_new")),
                Pin(name, message.id, pinned=True),
                ClearView(name),
                Prune(name, pruning()),
                Summarize(name, "prn_any", {0: "in short"}),
                Calibrate(name, Calibration()),
                Recount(name, {message.id: 1}),
                EndConversation(name, moment(1)),
            ):
                with pytest.raises(NotFound):
                    store.apply(ANA, [action])
        for unknown in (message.id, "msg_nothing"):
            with pytest.raises(NotFound):
                store.apply(ANA, [Pin("mine", unknown, pinned=True)])
        assert store.messages(BEN, "his") == placed(message)
        assert store.prunings(BEN, "his") == []

    def test_two_users_may_use_one_name(self, store: Store) -> None:
        """Conversations of one name and two users are two."""
        open_conversation(store, "trip", system="hers")
        open_conversation(store, "trip", system="his", scope=BEN)
        say(store, "trip", "a", "b")
        say(store, "trip", "c", scope=BEN)
        store.apply(BEN, [ClearView("trip"), EndConversation("trip", moment(1))])
        info = known(store, "trip")
        assert (info.system, info.messages, info.ended_at) == ("hers", 2, None)
        assert texts(store, "trip") == ["a", "b"]

    def test_conversations_of_another_agent_do_not_exist(self, store: Store) -> None:
        """An agent neither sees nor changes another's; its name is taken all the same."""
        planner, writer = Scope("ana", "planner"), Scope("ana", "writer")
        open_conversation(store, "plan", scope=planner, system="hers")
        (message,) = say(store, "plan", "a", scope=planner)
        open_conversation(store, "shared")
        assert [info.id for info in store.conversations(writer)] == ["shared"]
        assert store.conversation(writer, "plan") is None
        assert store.messages(writer, "plan") == []
        store.apply(planner, [Prune("plan", pruning(cut(0, 0)))])
        assert store.prunings(writer, "plan") == []
        with pytest.raises(NotFound):
            store.apply(writer, [Pin("plan", message.id, pinned=True)])
        with pytest.raises(InvalidInput):
            store.apply(
                writer, [OpenConversation(ConversationInfo(id="plan", created_at=moment(1)))]
            )
        info = store.conversation(planner, "plan")
        assert info is not None
        assert info.system == "hers"
        assert [info.id for info in store.conversations(ANA)] == ["shared", "plan"]

    def test_quoting_counts_messages_of_records(self, store: Store) -> None:
        """Messages that hold the text of records are counted, within the scope."""
        one, two = remember(store, "a", "b")
        open_conversation(store, "trip")
        say(store, "trip", "a", record_id=one.id)
        say(store, "trip", "b", record_id=two.id)
        say(store, "trip", "b again", record_id=two.id)
        say(store, "trip", "c")
        assert store.quoting(ANA, [two.id]) == len(["b", "b again"])
        assert store.quoting(ANA, [one.id, two.id, "ep_nothing"]) == len(["a", "b", "b again"])
        assert store.quoting(ANA, []) == 0
        assert store.quoting(BEN, [one.id, two.id]) == 0

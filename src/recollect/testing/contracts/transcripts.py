"""The contract of :class:`recollect.core.ports.TranscriptStore`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.core.actions import Append, ClearView, EndConversation, Erase, OpenConversation, Pin
from recollect.core.errors import InvalidInput, NotFound
from recollect.core.models import ConversationInfo, ToolCall, ToolResult
from recollect.core.ports import Store
from recollect.core.scope import Scope
from recollect.testing.contracts.base import Contract, Reopen
from recollect.testing.contracts.samples import (
    ANA,
    BEN,
    moment,
    open_conversation,
    remember,
    say,
)


def texts(store: Store, name: str, *, last: int | None = None, cleared: bool = False) -> list[str]:
    """Return what ``messages`` gives, as texts."""
    found = store.messages(ANA, name, last=last, cleared=cleared)
    return [message.content for message in found]


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
        """A conversation opened again has the new settings; what was said in it remains."""
        first = open_conversation(store, "trip", system="old", model="m", context_limit=5)
        said = say(store, "trip", "a", "b")
        store.apply(ANA, [ClearView("trip"), EndConversation("trip", moment(7))])
        open_conversation(store, "trip", system="new")
        assert store.conversation(ANA, "trip") == ConversationInfo(
            id="trip",
            system="new",
            created_at=first.created_at,
            ended_at=moment(7),
            cleared_through=said[-1].id,
            messages=len(said),
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
        assert reopen(store).messages(ANA, "trip") == [plain, call, result]

    def test_the_last_messages(self, store: Store) -> None:
        """``last`` gives so many from the end, in order; none of an unknown conversation."""
        open_conversation(store, "trip")
        say(store, "trip", "a", "b", "c")
        assert texts(store, "trip", last=2) == ["b", "c"]
        assert texts(store, "trip", last=0) == []
        assert texts(store, "trip", last=99) == ["a", "b", "c"]
        assert texts(store, "nothing") == []

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
        info = store.conversation(ANA, "trip")
        assert info is not None
        assert (info.cleared_through, info.messages) == (said[-1].id, 3)

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
        info = store.conversation(ANA, "trip")
        assert info is not None
        assert info.cleared_through == kept.id

    def test_pins(self, store: Store) -> None:
        """A message can be pinned and let go, as often as one likes."""
        open_conversation(store, "trip")
        first, second = say(store, "trip", "a", "b")
        store.apply(ANA, [Pin("trip", first.id, pinned=True), Pin("trip", first.id, pinned=True)])
        assert store.messages(ANA, "trip") == [replace(first, pinned=True), second]
        store.apply(ANA, [Pin("trip", first.id, pinned=False)])
        assert store.messages(ANA, "trip") == [first, second]

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
                EndConversation(name, moment(1)),
            ):
                with pytest.raises(NotFound):
                    store.apply(ANA, [action])
        for unknown in (message.id, "msg_nothing"):
            with pytest.raises(NotFound):
                store.apply(ANA, [Pin("mine", unknown, pinned=True)])
        assert store.messages(BEN, "his") == [message]

    def test_two_users_may_use_one_name(self, store: Store) -> None:
        """Conversations of one name and two users are two."""
        open_conversation(store, "trip", system="hers")
        open_conversation(store, "trip", system="his", scope=BEN)
        say(store, "trip", "a", "b")
        say(store, "trip", "c", scope=BEN)
        store.apply(BEN, [ClearView("trip"), EndConversation("trip", moment(1))])
        info = store.conversation(ANA, "trip")
        assert info is not None
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

"""The contract of conversations, their messages, and the receipts of prunings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as do
from memoranda.model.models import Calibration, ConversationInfo, Image, ToolCall, ToolResult
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ANA,
    BEN,
    PLANNER,
    WRITER,
    cut,
    erase,
    moment,
    open_conversation,
    placed,
    prune,
    pruning,
    remember,
    say,
)


def texts(store: Store, name: str = "trip", **which: Any) -> str:
    """Return what ``messages`` gives, where each is of one letter."""
    return "".join(message.content for message in store.messages(ANA, name, **which))


def known(store: Store, name: str = "trip") -> ConversationInfo:
    """Return a conversation that is there."""
    return store.conversations(ANA, name)[name]


class TranscriptContract(Contract):
    """A transcript only grows; views of it may begin later."""

    def test_a_conversation_comes_back(self, store: Store, reopen: Reopen) -> None:
        """Each user's has its settings, old or new, and what was done in it; newest first."""
        assert store.conversations(ANA, "trip") == store.conversations(ANA) == {}
        settings: dict[str, Any] = {"system": "old", "model": "m", "context_limit": 1_000}
        info = open_conversation(store, "trip", created_at=moment(10), **settings)
        new = open_conversation(store, "new", created_at=moment(30))
        old = open_conversation(store, "old", created_at=moment(0))
        his = open_conversation(store, "trip", scope=BEN)
        for learned in (Calibration(0.75, 10), Calibration(1.5, 0)):
            store.apply(ANA, [do.UpdateConversation("trip", calibration=learned)])
        store = reopen(store)
        info = replace(info, calibration=learned)
        assert list(store.conversations(ANA).values()) == [new, info, old]
        said = say(store, "trip", "a", "b")
        store.apply(ANA, [do.UpdateConversation("trip", clear=True)])
        store.apply(ANA, [do.UpdateConversation("trip", ended_at=moment(7))])
        before = known(store)
        open_conversation(store, "trip", system="new")
        after: dict[str, Any] = {
            "ended_at": moment(7),
            "cleared_through": said[-1].id,
            "revision": before.revision,
        }
        counts: dict[str, Any] = {"messages": 2, "start": 2, "model": None, "context_limit": None}
        assert known(store) == replace(info, system="new", **after, **counts)
        assert store.conversations(BEN) == {"trip": his}

    def test_messages_come_back_as_they_were(self, store: Store, reopen: Reopen) -> None:
        """Every field of a message survives but its position, which the store gives, from 0."""
        open_conversation(store, "trip")
        open_conversation(store, "other")
        calls = (ToolCall("c1", "search", '{"q": "ü"}'), ToolCall("c2", "stop"))
        images = (Image("https://example.org/ü.png"), Image("data:image/png;base64,AA==", "low"))
        fields: list[tuple[str, dict[str, Any]]] = [
            ("hello 👋", {"importance": 0.5, "pinned": True, "record_id": "ep_1", "position": 77}),
            ("", {"role": "assistant", "tool_calls": calls}),
            ("42", {"role": "tool", "tool_result": ToolResult("c1", is_error=True)}),
            ("", {"images": images, "task": "Find the ferry"}),
        ]
        said = [message for text, more in fields for message in say(store, "trip", text, **more)]
        (other,) = say(store, "other", "c")
        store = reopen(store)
        assert store.messages(ANA, "trip") == placed(*said)
        assert store.messages(ANA, "other") == placed(other)

    def test_no_place_is_used_twice(self, store: Store) -> None:
        """What is said after the last messages were erased comes after where these were."""
        open_conversation(store, "trip")
        for number, erased in enumerate("abc"):
            (item,) = remember(store, erased)
            say(store, "trip", erased, record_id=item.id)
            store.apply(ANA, erase(item))
            assert known(store).messages == number
            say(store, "trip", "kept")
        assert [message.position for message in store.messages(ANA, "trip")] == [1, 3, 5]

    @pytest.mark.parametrize(
        ("which", "expected"),
        [
            ({}, "f"),
            ({"last": 2}, "f"),
            ({"after": 2}, "f"),
            ({"after": 5}, ""),
            ({"cleared": True}, "abcdef"),
            *(
                ({"cleared": True, "last": n}, text)
                for n, text in ((0, ""), (2, "ef"), (9, "abcdef"))
            ),
            *(({"cleared": True, "after": n}, text) for n, text in ((-1, "abcdef"), (3, "ef"))),
            ({"cleared": True, "after": 1, "last": 2}, "ef"),
            ({"cleared": True, "after": 4, "last": 2}, "f"),
            ({"pinned": True}, ""),
            ({"pinned": True, "cleared": True}, "ad"),
            ({"pinned": True, "cleared": True, "after": 0}, "d"),
        ],
    )
    def test_which_messages(self, store: Store, which: dict[str, Any], expected: str) -> None:
        """The last, those after a position, those pinned now; cleared ones for who asks."""
        open_conversation(store, "trip")
        ids = [message.id for message in say(store, "trip", *"abcde")]
        store.apply(ANA, [do.Pin("trip", ids[place], pinned=True) for place in (3, 3, 0, 1)])
        store.apply(
            ANA, [do.Pin("trip", ids[1], pinned=False), do.UpdateConversation("trip", clear=True)]
        )
        say(store, "trip", "f")
        assert texts(store, **which) == expected
        assert texts(store, "nothing", **which) == ""

    def test_clearing_and_erasing(self, store: Store) -> None:
        """All said so far is cleared, whatever was erased before; what is said later is in view."""
        open_conversation(store, "trip")
        one, two = remember(store, "a", "c")
        store.apply(ANA, [do.UpdateConversation("trip", clear=True)])
        say(store, "trip", "a", record_id=one.id)
        (kept,) = say(store, "trip", "b")
        (last,) = say(store, "trip", "c", record_id=two.id)
        store.apply(ANA, [*erase(one), do.UpdateConversation("trip", clear=True)])
        info = known(store)
        assert (texts(store), texts(store, cleared=True)) == ("", "bc")
        assert (info.cleared_through, info.messages, info.start) == (last.id, 2, 3)
        store.apply(ANA, erase(two))
        say(store, "trip", "d")
        info = known(store)
        assert (texts(store), texts(store, cleared=True)) == ("d", "bd")
        assert (info.cleared_through, info.messages, info.start) == (kept.id, 2, 3)

    def test_counting_again(self, store: Store) -> None:
        """Counts of the named messages are set; what is not in the conversation is passed over."""
        open_conversation(store, "trip")
        open_conversation(store, "other")
        first, second = say(store, "trip", "a", "b")
        (third,) = say(store, "other", "c")
        store.apply(ANA, [do.Recount("trip", {first.id: 70, third.id: 90, "msg_gone": 1})])
        assert store.messages(ANA, "trip") == placed(replace(first, tokens=70), second)
        assert store.messages(ANA, "other") == placed(third)

    def test_readers_learn_that_what_they_know_has_changed(self, store: Store) -> None:
        """Any change of what was there raises the revision; messages added leave it as it is."""
        (item,) = remember(store, "secret")
        open_conversation(store, "trip")
        (first,) = say(store, "trip", "hello")
        before = known(store).revision
        say(store, "trip", "secret", record_id=item.id)
        assert known(store).revision == before
        receipt = pruning(cut(0, 1))
        for action in (
            do.Pin("trip", first.id, pinned=True),
            do.Recount("trip", {first.id: 99}),
            do.Prune("trip", receipt),
            do.Summarize("trip", receipt.id, {0: "in short"}),
            do.UpdateConversation("trip", clear=True),
            *erase(item),
        ):
            store.apply(ANA, [action])
            assert known(store).revision > before, action
            before = known(store).revision
            assert [info.revision for info in store.conversations(ANA).values()] == [before]

    def test_actions_need_what_they_name(self, store: Store) -> None:
        """What is not there, of another user or agent cannot be changed; its name is taken."""
        open_conversation(store, "his", scope=BEN)
        open_conversation(store, "plan", scope=PLANNER, system="hers")
        open_conversation(store, "mine", scope=WRITER)
        (message,) = say(store, "his", "a", scope=BEN)
        for name in ("his", "plan", "nothing"):
            for action in (
                do.Append(name, replace(message, id="msg_new")),
                do.Pin(name, message.id, pinned=True),
                do.Prune(name, pruning()),
                do.Summarize(name, "prn_any", {0: "in short"}),
                do.Recount(name, {message.id: 1}),
                do.UpdateConversation(name, ended_at=moment(1)),
                do.Pin("mine", message.id, pinned=True),
            ):
                with pytest.raises(NotFound):
                    store.apply(WRITER, [action])
        assert (store.messages(BEN, "his"), store.prunings(BEN, "his")) == (placed(message), [])
        with pytest.raises(InvalidInput):
            open_conversation(store, "plan", scope=WRITER)
        assert known(store, "plan").system == "hers"

    def test_quoting_counts_messages_of_records(self, store: Store) -> None:
        """Messages that hold the text of records are counted, within the scope."""
        one, two = remember(store, "a", "b")
        open_conversation(store, "trip")
        for text, item in (("a", one), ("b", two), ("b again", two)):
            say(store, "trip", text, record_id=item.id)
        say(store, "trip", "c")
        for scope, ids, expected in (
            (ANA, [two.id], ["b", "b again"]),
            (ANA, [one.id, two.id, "ep_nothing"], ["a", "b", "b again"]),
            (ANA, [], []),
            (BEN, [one.id, two.id], []),
        ):
            assert [each.content for each in store.messages(scope, records=ids)] == expected


def summaries(store: Store) -> list[list[str | None]]:
    """Return the summaries of each pruning of the trip, by cut."""
    return [[part.summary for part in receipt.cuts] for receipt in store.prunings(ANA, "trip")]


class PruningContract(Contract):
    """What a pruning took out of view is on record, and stays in the transcript."""

    def test_receipts_come_back_as_they_were(self, store: Store, reopen: Reopen) -> None:
        """Every field of a receipt and of its cuts survives; the oldest pruning comes first."""
        for name, scope in (("trip", ANA), ("other", ANA), ("trip", BEN)):
            open_conversation(store, name, scope=scope)
        said = say(store, "trip", *"abcde")
        why = {"trigger": "task_boundary", "why": "a new task", "strategy": "hybrid"}
        one = cut(0, 1, score=0.25, summary="Ü: two lines\nof it", tokens=123, why="the oldest")
        cuts = (one, cut(3, 3, score=1.0))
        second = pruning(*cuts, before=1_000_000, after=0, at=moment(20), **why)
        first = pruning(at=moment(10))
        store.apply(ANA, [do.Prune("trip", second), do.Prune("trip", first)])
        his = prune(store, "trip", scope=BEN)
        store.apply(ANA, [do.Summarize("trip", his.id, {0: "hers"})])
        store = reopen(store)
        assert store.prunings(ANA, "trip") == [first, second]
        assert store.prunings(BEN, "trip") == [his]
        assert store.prunings(ANA, "other") == store.prunings(ANA, "nothing") == []
        assert store.messages(ANA, "trip") == placed(*said)

    def test_summaries_of_the_named_cuts_alone(self, store: Store) -> None:
        """A summary goes to the cut that begins there; what is not there is passed over."""
        open_conversation(store, "trip")
        say(store, "trip", *"abcdef")
        receipt = prune(store, "trip", cut(0, 1, summary="old"), cut(3, 3), cut(5, 5))
        other = prune(store, "trip", cut(3, 3))
        plan = [
            do.Summarize("trip", receipt.id, {0: "new", 3: "in short", 1: "lost", 9: "lost"}),
            do.Summarize("trip", receipt.id, {}),
            do.Summarize("trip", "prn_nothing", {0: "lost"}),
        ]
        store.apply(ANA, plan)
        one, two, three = receipt.cuts
        done = (replace(one, summary="new"), replace(two, summary="in short"), three)
        assert store.prunings(ANA, "trip") == [replace(receipt, cuts=done), other]

    def test_a_summary_goes_with_what_it_may_quote(self, store: Store) -> None:
        """Who of the user erases a message takes the summary of each cut that covers it."""
        one, two = remember(store, "secret", "other secret")
        ids = {1: one.id, 4: two.id}
        for scope in (PLANNER, BEN):
            open_conversation(store, "trip", scope=scope)
            for number in range(6):
                say(store, "trip", f"line {number}", scope=scope, record_id=ids.get(number))
            prune(store, "trip", cut(0, 2, summary="x"), cut(5, 5, summary="last"), scope=scope)
        more = (cut(0, 4, summary="all"), cut(1, 1), cut(3, 3, summary="three"))
        prune(store, "trip", *more, scope=PLANNER)
        store.apply(WRITER, erase(one))
        assert summaries(store) == [[None, "last"], [None, None, "three"]]
        store.apply(ANA, erase(two))
        assert summaries(store) == [[None, "last"], [None, None, "three"]]
        assert store.prunings(BEN, "trip")[0].cuts[0].summary == "x"

    @pytest.mark.parametrize("first", [False, True])
    def test_a_summary_that_comes_too_late(self, store: Store, *, first: bool) -> None:
        """A summary of messages of which one was erased meanwhile may quote it: it is refused."""
        (item,) = remember(store, "secret")
        open_conversation(store, "trip")
        for number in range(4):
            say(store, "trip", f"line {number}", record_id=item.id if number == 1 else None)
        late = pruning(cut(0, 2, summary="secret" if first else None), cut(3, 3, summary="three"))
        plan = [do.Prune("trip", late), *erase(item)]
        store.apply(ANA, plan[::-1] if first else plan)
        store.apply(ANA, [do.Summarize("trip", late.id, {0: "secret", 3: "new"})])
        bare, other = late.cuts
        expected = (replace(bare, summary=None), replace(other, summary="new"))
        assert store.prunings(ANA, "trip") == [replace(late, cuts=expected)]

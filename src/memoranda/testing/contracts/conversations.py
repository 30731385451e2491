"""The contract of conversations, their messages, and the receipts of prunings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memoranda.model import actions as do
from memoranda.model.models import Calibration, ConversationInfo, Image, ToolCall, ToolResult
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.samples import User, cut, moment, placed, pruning


def texts(ana: User, name: str = "trip", **which: Any) -> str:
    """Return what ``messages`` gives, where each is of one letter."""
    return "".join(message.content for message in ana.messages(name, **which))


def known(ana: User, name: str = "trip") -> ConversationInfo:
    """Return a conversation that is there."""
    info: ConversationInfo = ana.conversations(name)[name]
    return info


class TranscriptContract(Contract):
    """A transcript only grows; views of it may begin later."""

    def test_a_conversation_comes_back(self, ana: User, ben: User, reopen: Reopen) -> None:
        """Each user's has its settings, old or new, and what was done in it; newest first."""
        assert ana.conversations("trip") == ana.conversations() == {}
        settings: dict[str, Any] = {"system": "old", "model": "m", "context_limit": 1_000}
        info = ana.open_conversation("trip", created_at=moment(10), **settings)
        new = ana.open_conversation("new", created_at=moment(30))
        old = ana.open_conversation("old", created_at=moment(0))
        his = ben.open_conversation("trip")
        for learned in (Calibration(0.75, 10), Calibration(1.5, 0)):
            ana.apply(do.UpdateConversation("trip", calibration=learned))
        ana.store = ben.store = reopen(ana.store)
        info = replace(info, calibration=learned)
        assert list(ana.conversations().values()) == [new, info, old]
        said = ana.say("trip", "a", "b")
        ana.apply(do.UpdateConversation("trip", clear=True))
        ana.apply(do.UpdateConversation("trip", ended_at=moment(7)))
        before = known(ana)
        ana.open_conversation("trip", system="new")
        after: dict[str, Any] = {
            "ended_at": moment(7),
            "cleared_through": said[-1].id,
            "revision": before.revision,
        }
        counts: dict[str, Any] = {"messages": 2, "start": 2, "model": None, "context_limit": None}
        assert known(ana) == replace(info, system="new", **after, **counts)
        assert ben.conversations() == {"trip": his}

    def test_messages_come_back_as_they_were(self, ana: User, reopen: Reopen) -> None:
        """Every field of a message survives but its position, which the store gives, from 0."""
        ana.open_conversation("trip")
        ana.open_conversation("other")
        calls = (ToolCall("c1", "search", '{"q": "ü"}'), ToolCall("c2", "stop"))
        images = (Image("https://example.org/ü.png"), Image("data:image/png;base64,AA==", "low"))
        fields: list[tuple[str, dict[str, Any]]] = [
            ("hello 👋", {"importance": 0.5, "pinned": True, "record_id": "ep_1", "position": 77}),
            ("", {"role": "assistant", "tool_calls": calls}),
            ("42", {"role": "tool", "tool_result": ToolResult("c1", is_error=True)}),
            ("", {"images": images, "task": "Find the ferry"}),
            ("", {"role": "assistant", "raw": {"type": "ü", "b": [1, 1.5, None], "a": {}}}),
            ("", {"raw": {"role": "user", "content": []}, "part": 2}),
        ]
        said = [message for text, more in fields for message in ana.say("trip", text, **more)]
        (other,) = ana.say("other", "c")
        ana.store = reopen(ana.store)
        assert ana.messages("trip") == placed(*said)
        assert ana.messages("other") == placed(other)

    def test_no_place_is_used_twice(self, ana: User) -> None:
        """What is said after the last messages were erased comes after where these were."""
        ana.open_conversation("trip")
        for number, erased in enumerate("abc"):
            (item,) = ana.remember(erased)
            ana.say("trip", erased, record_id=item.id)
            ana.erase(item)
            assert known(ana).messages == number
            ana.say("trip", "kept")
        assert [message.position for message in ana.messages("trip")] == [1, 3, 5]

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
    def test_which_messages(self, ana: User, which: dict[str, Any], expected: str) -> None:
        """The last, those after a position, those pinned now; cleared ones for who asks."""
        ana.open_conversation("trip")
        ids = [message.id for message in ana.say("trip", *"abcde")]
        ana.apply(*[do.Pin("trip", ids[place], pinned=True) for place in (3, 3, 0, 1)])
        ana.apply(do.Pin("trip", ids[1], pinned=False), do.UpdateConversation("trip", clear=True))
        ana.say("trip", "f")
        assert texts(ana, **which) == expected
        assert texts(ana, "nothing", **which) == ""

    def test_clearing_and_erasing(self, ana: User) -> None:
        """All said so far is cleared, whatever was erased before; what is said later is in view."""
        ana.open_conversation("trip")
        one, two = ana.remember("a", "c")
        ana.apply(do.UpdateConversation("trip", clear=True))
        ana.say("trip", "a", record_id=one.id)
        (kept,) = ana.say("trip", "b")
        (last,) = ana.say("trip", "c", record_id=two.id)
        ana.erase(one)
        ana.apply(do.UpdateConversation("trip", clear=True))
        info = known(ana)
        assert (texts(ana), texts(ana, cleared=True)) == ("", "bc")
        assert (info.cleared_through, info.messages, info.start) == (last.id, 2, 3)
        ana.erase(two)
        ana.say("trip", "d")
        info = known(ana)
        assert (texts(ana), texts(ana, cleared=True)) == ("d", "bd")
        assert (info.cleared_through, info.messages, info.start) == (kept.id, 2, 3)

    def test_counting_again(self, ana: User) -> None:
        """Counts of the named messages are set; what is not in the conversation is passed over."""
        ana.open_conversation("trip")
        ana.open_conversation("other")
        first, second = ana.say("trip", "a", "b")
        (third,) = ana.say("other", "c")
        ana.apply(do.Recount("trip", {first.id: 70, third.id: 90, "msg_gone": 1}))
        assert ana.messages("trip") == placed(replace(first, tokens=70), second)
        assert ana.messages("other") == placed(third)

    def test_readers_learn_that_what_they_know_has_changed(self, ana: User) -> None:
        """Any change of what was there raises the revision; messages added leave it as it is."""
        (item,) = ana.remember("secret")
        ana.open_conversation("trip")
        (first,) = ana.say("trip", "hello")
        before = known(ana).revision
        ana.say("trip", "secret", record_id=item.id)
        assert known(ana).revision == before
        receipt = pruning(cut(0, 1))
        for action in (
            do.Pin("trip", first.id, pinned=True),
            do.Recount("trip", {first.id: 99}),
            do.Prune("trip", receipt),
            do.Summarize("trip", receipt.id, {0: "in short"}),
            do.UpdateConversation("trip", clear=True),
            do.Erase((item.id,), moment(1), "asked"),
        ):
            ana.apply(action)
            assert known(ana).revision > before, action
            before = known(ana).revision
            assert [info.revision for info in ana.conversations().values()] == [before]

    def test_quoting_counts_messages_of_records(self, ana: User, ben: User) -> None:
        """Messages that hold the text of records are counted, within the scope."""
        one, two = ana.remember("a", "b")
        ana.open_conversation("trip")
        for text, item in (("a", one), ("b", two), ("b again", two)):
            ana.say("trip", text, record_id=item.id)
        ana.say("trip", "c")
        for user, ids, expected in (
            (ana, [two.id], ["b", "b again"]),
            (ana, [one.id, two.id, "ep_nothing"], ["a", "b", "b again"]),
            (ana, [], []),
            (ben, [one.id, two.id], []),
        ):
            assert [each.content for each in user.messages(records=ids)] == expected


def summaries(ana: User) -> list[list[str | None]]:
    """Return the summaries of each pruning of the trip, by cut."""
    return [[part.summary for part in receipt.cuts] for receipt in ana.prunings("trip")]


class PruningContract(Contract):
    """What a pruning took out of view is on record, and stays in the transcript."""

    def test_receipts_come_back_as_they_were(self, ana: User, ben: User, reopen: Reopen) -> None:
        """Every field of a receipt and of its cuts survives; the oldest pruning comes first."""
        for name, user in (("trip", ana), ("other", ana), ("trip", ben)):
            user.open_conversation(name)
        said = ana.say("trip", *"abcde")
        why = {"trigger": "task_boundary", "why": "a new task", "strategy": "hybrid"}
        one = cut(0, 1, score=0.25, summary="Ü: two lines\nof it", tokens=123, why="the oldest")
        cuts = (one, cut(3, 3, score=1.0))
        second = pruning(*cuts, before=1_000_000, after=0, at=moment(20), **why)
        first = pruning(at=moment(10))
        ana.apply(do.Prune("trip", second), do.Prune("trip", first))
        his = ben.prune("trip")
        ana.apply(do.Summarize("trip", his.id, {0: "hers"}))
        ana.store = ben.store = reopen(ana.store)
        assert ana.prunings("trip") == [first, second]
        assert ben.prunings("trip") == [his]
        assert ana.prunings("other") == ana.prunings("nothing") == []
        assert ana.messages("trip") == placed(*said)

    def test_summaries_of_the_named_cuts_alone(self, ana: User) -> None:
        """A summary goes to the cut that begins there; what is not there is passed over."""
        ana.open_conversation("trip")
        ana.say("trip", *"abcdef")
        receipt = ana.prune("trip", cut(0, 1, summary="old"), cut(3, 3), cut(5, 5))
        other = ana.prune("trip", cut(3, 3))
        plan = [
            do.Summarize("trip", receipt.id, {0: "new", 3: "in short", 1: "lost", 9: "lost"}),
            do.Summarize("trip", receipt.id, {}),
            do.Summarize("trip", "prn_nothing", {0: "lost"}),
        ]
        ana.apply(*plan)
        one, two, three = receipt.cuts
        done = (replace(one, summary="new"), replace(two, summary="in short"), three)
        assert ana.prunings("trip") == [replace(receipt, cuts=done), other]

    def test_a_summary_goes_with_what_it_may_quote(self, ana: User, ben: User) -> None:
        """Who of the user erases a message takes the summary of each cut that covers it."""
        one, two = ana.remember("secret", "other secret")
        ids = {1: one.id, 4: two.id}
        for user in (ana.planner, ben):
            user.open_conversation("trip")
            for number in range(6):
                user.say("trip", f"line {number}", record_id=ids.get(number))
            user.prune("trip", cut(0, 2, summary="x"), cut(5, 5, summary="last"))
        more = (cut(0, 4, summary="all"), cut(1, 1), cut(3, 3, summary="three"))
        ana.planner.prune("trip", *more)
        ana.writer.erase(one)
        assert summaries(ana) == [[None, "last"], [None, None, "three"]]
        ana.erase(two)
        assert summaries(ana) == [[None, "last"], [None, None, "three"]]
        assert ben.prunings("trip")[0].cuts[0].summary == "x"

    @pytest.mark.parametrize("first", [False, True])
    def test_a_summary_that_comes_too_late(self, ana: User, *, first: bool) -> None:
        """A summary of messages of which one was erased meanwhile may quote it: it is refused."""
        (item,) = ana.remember("secret")
        ana.open_conversation("trip")
        for number in range(4):
            ana.say("trip", f"line {number}", record_id=item.id if number == 1 else None)
        late = pruning(cut(0, 2, summary="secret" if first else None), cut(3, 3, summary="three"))
        erasure = do.Erase((item.id,), moment(1), "asked")
        plan = [do.Prune("trip", late), erasure]
        ana.apply(*plan[::-1] if first else plan)
        ana.apply(do.Summarize("trip", late.id, {0: "secret", 3: "new"}))
        bare, other = late.cuts
        expected = (replace(bare, summary=None), replace(other, summary="new"))
        assert ana.prunings("trip") == [replace(late, cuts=expected)]

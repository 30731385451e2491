"""The contract of conversations, their messages, and the receipts of prunings."""

from dataclasses import replace

import pytest
from samples import cut, moment, placed, pruning
from steps import carry_out, do

from laws.base import Contract
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import content_hash
from memoranda.model.models import (
    Calibration,
    Image,
    Kind,
    Tombstone,
    ToolCall,
    ToolResult,
    is_active,
)
from memoranda.model.query import Filter


def texts(ana, name="trip", **which):
    """Return what ``messages`` gives, where each is of one letter."""
    return "".join(message.content for message in ana.messages(name, **which))


def known(ana, name="trip"):
    """Return a conversation that is there."""
    return ana.conversations(name)[name]


# What is asked of a transcript of ``abcde``, cleared before ``f``, and what comes.
WHICH = [
    ({}, "f"),
    ({"last": 2}, "f"),
    ({"after": 2}, "f"),
    ({"after": 5}, ""),
    ({"cleared": True}, "abcdef"),
    *(({"cleared": True, "last": n}, text) for n, text in ((0, ""), (2, "ef"), (9, "abcdef"))),
    *(({"cleared": True, "after": n}, text) for n, text in ((-1, "abcdef"), (3, "ef"))),
    ({"cleared": True, "after": 1, "last": 2}, "ef"),
    ({"cleared": True, "after": 4, "last": 2}, "f"),
    ({"pinned": True}, ""),
    ({"pinned": True, "cleared": True}, "ad"),
    ({"pinned": True, "cleared": True, "after": 0}, "d"),
]


class TranscriptContract(Contract):
    """What is said is added at the end; views of it may begin later."""

    def test_a_conversation_comes_back(self, ana, ben, reopen):
        """Each user's has its settings, old or new, and what was done in it; newest first."""
        assert ana.conversations("trip") == ana.conversations() == {}
        settings = {"system": "old", "model": "m", "context_limit": 1_000}
        info = ana.open_conversation("trip", created_at=moment(10), **settings)
        new = ana.open_conversation("new", created_at=moment(30))
        old = ana.open_conversation("old", created_at=moment(0))
        his = ben.open_conversation("trip")
        for learned in (Calibration(0.75, 10), Calibration(1.5, 0)):
            ana.apply(do.update_conversation("trip", calibration=learned))
        ana.store = ben.store = reopen(ana.store)
        info = replace(info, calibration=learned)
        assert list(ana.conversations().values()) == [new, info, old]
        said = ana.say("trip", "a", "b")
        ana.apply(do.update_conversation("trip", clear=True))
        ana.apply(do.update_conversation("trip", ended_at=moment(7)))
        before = known(ana)
        ana.open_conversation("trip", system="new")
        after = {"ended_at": moment(7), "cleared_through": said[-1].id, "revision": before.revision}
        counts = {"messages": 2, "start": 2, "model": None, "context_limit": None}
        assert known(ana) == replace(info, system="new", **after, **counts)
        assert ben.conversations() == {"trip": his}

    def test_messages_come_back_as_they_were(self, ana, reopen):
        """Every field of a message survives but its position, which the store gives, from 0."""
        ana.open_conversation("trip")
        ana.open_conversation("other")
        calls = (ToolCall("c1", "search", '{"q": "ü"}'), ToolCall("c2", "stop"))
        images = (Image("https://example.org/ü.png"), Image("data:image/png;base64,AA==", "low"))
        fields = [
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

    def test_reasoning_is_erased_with_its_answer(self, ana):
        """What led to an answer goes with it, and no more: no question and no other thoughts.

        Nor one that was removed by itself before.
        """
        ana.open_conversation("trip")
        thought = {"role": "assistant", "raw": {"type": "reasoning"}}
        (before, _) = ana.say("trip", "", "", **thought)
        ana.apply(do.replace_messages("trip", "tmb_1", at=moment(5), ids=(before.id,)))
        question, item = ana.remember("so?", "yes")
        asked = ana.say("trip", "so?", record_id=question.id)
        ana.say("trip", "", "", **thought)
        ana.say("trip", "yes", role="assistant", record_id=item.id)
        ana.say("trip", "", **thought)
        ana.erase(item)
        assert [message.position for message in ana.messages("trip")] == [1, 2, 6]
        assert ana.messages("trip")[1].id == asked[0].id
        ana.erase(question)
        assert [message.position for message in ana.messages("trip")] == [1, 6]
        # The reasoning of a call stays with the call.
        (item,) = ana.remember("done")
        ana.say("trip", "", **thought)
        call = {"tool_calls": (ToolCall("c1", "act", "{}"),)}
        ana.say("trip", "", role="assistant", **call)
        ana.say("trip", "", role="tool", tool_result=ToolResult("c1"))
        ana.say("trip", "done", role="assistant", record_id=item.id)
        ana.erase(item)
        assert [message.position for message in ana.messages("trip")] == [1, 6, 7, 8, 9]
        assert [each.id for each in ana.tombstones("trip")[0].messages] == [before.id]

    def test_what_expired_is_left_out(self, ana, ben):
        """It ends with its episode, or with that which came next; what was forgotten stays."""
        ana.open_conversation("trip")
        ben.open_conversation("trip")
        ends = {"a": moment(5), "c": moment(9), "d": None, "f": moment(7)}
        for text in "abcdefg":
            role = "system" if text == "b" else "user"
            if text in ends:
                named = {"session_id": "trip", "valid_until": ends[text]}
                (item,) = ana.remember(text, kind=Kind.EPISODE, **named)
                ana.say("trip", text, role=role, record_id=item.id)
            else:
                ana.say("trip", text, role=role)
        ben.say("trip", "x")

        def held(at, **which):
            said = ana.store.messages(ana.scope, "trip", now=moment(at), **which)
            return "".join(message.content for message in said)

        def through(at, user=ana):
            return user.store.expired_through(user.scope, "trip", now=moment(at))

        for at, last, left in ((4, -1, "abcdefg"), (5, 0, "bcdefg"), (7, 5, "bcdg"), (9, 2, "bdg")):
            assert (through(at), held(at)) == (last, left)
            assert held(at, last=2) == left[-2:]
        assert through(9, ben) == -1
        assert [message.content for message in ana.messages("trip")] == list("abcdefg")
        (c,) = ana.store.records(ana.scope, Filter.at_any_time(hashes=[content_hash("c")]))
        ana.close(c)
        assert (through(9), held(9)) == (5, "bcdg")
        carry_out(ana.store, ana.scope, [do.delete_conversation("trip", at=moment(9), erase=False)])
        assert through(9) == -1

    def test_which_messages(self, ana):
        """The last, those after a position, those pinned now; cleared ones for who asks."""
        ana.open_conversation("trip")
        ids = [message.id for message in ana.say("trip", *"abcde")]
        ana.apply(*[do.pin_message("trip", ids[place], pinned=True) for place in (3, 3, 0, 1)])
        ana.apply(
            do.pin_message("trip", ids[1], pinned=False), do.update_conversation("trip", clear=True)
        )
        ana.say("trip", "f")
        for which, expected in WHICH:
            assert texts(ana, **which) == expected, which
            assert texts(ana, "nothing", **which) == ""

    def test_clearing_and_erasing(self, ana):
        """All said so far is cleared, whatever was erased before; what is said later is in view."""
        ana.open_conversation("trip")
        one, two = ana.remember("a", "c")
        ana.apply(do.update_conversation("trip", clear=True))
        ana.say("trip", "a", record_id=one.id)
        (kept,) = ana.say("trip", "b")
        (last,) = ana.say("trip", "c", record_id=two.id)
        ana.erase(one)
        ana.apply(do.update_conversation("trip", clear=True))
        info = known(ana)
        assert (texts(ana), texts(ana, cleared=True)) == ("", "bc")
        assert (info.cleared_through, info.messages, info.start) == (last.id, 2, 3)
        ana.erase(two)
        ana.say("trip", "d")
        info = known(ana)
        assert (texts(ana), texts(ana, cleared=True)) == ("d", "bd")
        assert (info.cleared_through, info.messages, info.start) == (kept.id, 2, 3)

    def test_readers_learn_that_what_they_know_has_changed(self, ana):
        """Any change of what was there raises the revision; messages added leave it as it is."""
        (item,) = ana.remember("secret")
        ana.open_conversation("trip")
        (first,) = ana.say("trip", "hello")
        before = known(ana).revision
        ana.say("trip", "secret", record_id=item.id)
        assert known(ana).revision == before
        receipt = pruning(cut(0, 1))
        for action in (
            do.pin_message("trip", first.id, pinned=True),
            do.set_token_counts("trip", {first.id: 99, "msg_gone": 1}),  # What is there alone.
            do.add_pruning("trip", receipt),
            do.update_conversation("trip", clear=True),
            do.erase((item.id,), at=moment(1), reason="asked"),
        ):
            ana.apply(action)
            assert known(ana).revision > before, action
            before = known(ana).revision
            assert [info.revision for info in ana.conversations().values()] == [before]
        (kept,) = ana.messages("trip", cleared=True)
        assert (kept.id, kept.tokens, kept.pinned) == (first.id, 99, True)


class RemovalContract(Contract):
    """What is removed from a transcript is in no read of it, and leaves a tombstone."""

    def test_removed_messages_leave_a_tombstone(self, ana, ben, reopen):
        """It tells how many they were and when, and has them as they were until one is erased."""
        (item,) = ana.remember("b", kind=Kind.EPISODE)
        for user, name in ((ana, "trip"), (ana, "other"), (ben, "trip")):
            user.open_conversation(name)
        said = placed(*ana.say("trip", "a", pinned=True, importance=0.5))
        said += placed(*ana.say("trip", "b", record_id=item.id), start=1)
        said += placed(*ana.say("trip", "c", "d"), start=2)
        other, his = ana.say("other", "b"), ben.say("trip", "b")
        ana.apply(do.replace_messages("trip", "tmb_1", at=moment(5), newest=1))
        ids = (said[1].id, said[0].id)
        told = ana.apply(do.replace_messages("trip", "tmb_2", at=moment(6), ids=ids))
        ana.store = ben.store = reopen(ana.store)
        assert ana.messages("trip", cleared=True) == [said[2]]
        assert known(ana).messages == 1
        first = Tombstone(id="tmb_1", at=moment(5), count=1, messages=(said[3],))
        second = Tombstone(id="tmb_2", at=moment(6), count=2, messages=tuple(said[:2]))
        assert ana.tombstones("trip") == [first, second] == [first, *told]
        assert ana.tombstones("other") == []
        assert ben.tombstones("trip") == []
        assert (ana.messages("other"), ben.messages("trip")) == (placed(*other), placed(*his))
        assert not is_active(ana.found(item), moment(6))
        assert [change.reason for change in ana.history(item.id)][-1] == "its message was removed"
        assert ana.found(item).content == "b"
        ana.erase(item)
        assert ana.tombstones("trip") == [first, replace(second, messages=(said[0],))]

    def test_positions_are_never_used_again(self, ana):
        """Also after the newest messages were removed or erased."""
        ana.open_conversation("trip")
        (item,) = ana.remember("a")
        ana.say("trip", "a", record_id=item.id)
        ana.erase(item)
        assert known(ana).messages == 0
        ana.say("trip", *"bc")
        ana.apply(do.replace_messages("trip", "tmb_1", at=moment(1), newest=2))
        ana.say("trip", "d")
        ana.apply(do.replace_messages("trip", "tmb_2", at=moment(1), newest=9))
        ana.say("trip", "e")
        assert [(item.position, item.content) for item in ana.messages("trip")] == [(4, "e")]

    def test_what_replaces_messages_stands_in_their_place(self, ana):
        """In their positions as far as these reach; only where more come, what follows moves on."""
        for gone, new, left, places in (
            ((1, 2), "", "ade", (0, 3, 4)),
            ((1, 2), "x", "axde", (0, 1, 3, 4)),
            ((3, 1), "x", "axce", (0, 1, 2, 4)),
            ((1, 2), "xy", "axyde", (0, 1, 2, 3, 4)),
            ((3, 4), "xyz", "abcxyz", (0, 1, 2, 3, 4, 5)),
            ((2,), "xyz", "abxyzde", (0, 1, 2, 5, 6, 7, 8)),
            ((1, 3), "xy", "axyce", (0, 1, 5, 6, 8)),
        ):
            name = f"{gone} for {new}"
            ana.open_conversation(name)
            said = ana.say(name, *"abcde")
            fresh = [replace(said[0], id=f"{said[0].id}{text}", content=text) for text in new]
            ids = tuple(said[place].id for place in gone)
            removal = {"ids": ids, "messages": tuple(fresh)}
            ana.apply(do.replace_messages(name, f"tmb_{name}", at=moment(1), **removal))
            assert texts(ana, name) == left
            assert tuple(item.position for item in ana.messages(name)) == places, name
            (last,) = ana.say(name, "last")
            newest = ana.messages(name, last=1)[0]
            assert (newest.id, newest.position) == (last.id, max(4, *places) + 1)
            assert known(ana, name).messages == len(left) + 1

    def test_a_removal_is_done_whole_or_not_at_all(self, ana):
        """A message that is not there, or is another conversation's, leaves all as it was."""
        for name in ("trip", "other"):
            ana.open_conversation(name)
        first, second = ana.say("trip", "a", "b")
        (foreign,) = ana.say("other", "c")
        before = (known(ana), ana.messages("trip"))
        for ids in ((first.id, "msg_nothing"), (second.id, foreign.id)):
            with pytest.raises(NotFound, match="there is no message"):
                ana.apply(do.replace_messages("trip", "tmb_1", at=moment(1), ids=ids))
        with pytest.raises(NotFound, match="there is no conversation"):
            ana.apply(do.replace_messages("nothing", "tmb_1", at=moment(1), newest=1))
        assert (known(ana), ana.messages("trip"), ana.tombstones("trip")) == (*before, [])

    def test_what_was_cleared(self, ana):
        """The newest are those since then; what was cleared can be removed, and not replaced."""
        ana.open_conversation("trip")
        first, second = ana.say("trip", "a", "b")
        ana.apply(do.update_conversation("trip", clear=True))
        before = known(ana)
        ana.apply(do.replace_messages("trip", "tmb_1", at=moment(1), newest=1))
        assert (known(ana), ana.tombstones("trip")) == (before, [])
        more = {"ids": (first.id,), "messages": (replace(second, id="msg_new"),)}
        with pytest.raises(InvalidInput, match="left behind by clear"):
            ana.apply(do.replace_messages("trip", "tmb_1", at=moment(1), **more))
        ana.apply(do.replace_messages("trip", "tmb_1", at=moment(1), ids=(first.id,)))
        assert texts(ana, cleared=True) == "b"

    def test_prunings_follow(self, ana):
        """Of a cut the runs are left that are still there, where they are; and no summary of it."""
        ana.open_conversation("trip")
        said = ana.say("trip", *"abcdefgh")
        one, two, three = cut(0, 1, summary="ab"), cut(2, 4, summary="cde"), cut(6, 6, summary="g")
        ana.prune("trip", one, two, three)
        fresh = tuple(replace(said[0], id=f"{said[0].id}{text}", content=text) for text in "xy")
        before = known(ana).revision
        change = do.replace_messages(
            "trip", "tmb_1", at=moment(1), ids=(said[3].id,), messages=fresh
        )
        ana.apply(change)
        assert [(item.position, item.content) for item in ana.messages("trip")] == [
            *((0, "a"), (1, "b"), (2, "c"), (3, "x"), (8, "y"), (9, "e")),
            *((10, "f"), (11, "g"), (12, "h")),
        ]
        assert spans(ana) == [[(0, 1, 2), (2, 3, 2), (8, 9, 2), (11, 11, 1)]]
        assert summaries(ana) == [["ab", None, None, "g"]]
        ana.apply(do.replace_messages("trip", "tmb_2", at=moment(1), ids=(said[0].id, said[4].id)))
        assert spans(ana) == [[(1, 1, 1), (2, 3, 2), (8, 8, 1), (11, 11, 1)]]
        assert known(ana).revision > before


def summaries(ana):
    """Return the summaries of each pruning of the trip, by cut."""
    return [[part.summary for part in receipt.cuts] for receipt in ana.prunings("trip")]


def spans(ana):
    """Return for the cuts of each pruning where they begin and end, and how many they hold."""
    return [
        [(part.first, part.last, part.messages) for part in receipt.cuts]
        for receipt in ana.prunings("trip")
    ]


class PruningContract(Contract):
    """What a pruning took out of view is on record, and stays in the transcript."""

    def test_receipts_come_back_as_they_were(self, ana, ben, reopen):
        """Every field of a receipt and of its cuts survives; the oldest pruning comes first."""
        for name, user in (("trip", ana), ("other", ana), ("trip", ben)):
            user.open_conversation(name)
        said = ana.say("trip", *"abcde")
        why = {"trigger": "task_boundary", "why": "a new task", "strategy": "hybrid"}
        one = cut(0, 1, summary="Ü: two lines\nof it", tokens=123, why="the oldest")
        cuts = (one, cut(3, 3))
        second = pruning(*cuts, before=1_000_000, after=0, at=moment(20), **why)
        first = pruning(at=moment(10))
        ana.apply(do.add_pruning("trip", second), do.add_pruning("trip", first))
        his = ben.prune("trip")
        ana.store = ben.store = reopen(ana.store)
        assert ana.prunings("trip") == [first, second]
        assert ben.prunings("trip") == [his]
        assert ana.prunings("other") == ana.prunings("nothing") == []
        assert ana.messages("trip") == placed(*said)

    def test_a_summary_goes_with_what_it_may_quote(self, ana, ben):
        """Who of the user erases a message takes the summary of each cut that covers it.

        What is left of the cut are the runs before and after it.
        """
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
        assert summaries(ana) == [[None, None, "last"], [None, None, "three"]]
        ana.erase(two)
        assert summaries(ana) == [[None, None, "last"], [None, None, "three"]]
        assert spans(ana) == [[(0, 0, 1), (2, 2, 1), (5, 5, 1)], [(0, 0, 1), (2, 3, 2), (3, 3, 1)]]
        assert ben.prunings("trip")[0].cuts[0].summary == "x"

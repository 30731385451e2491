"""A transcript in the store: who holds it sees what changed, and one without a memory ends."""

import gc
import warnings

import apsw
from message_samples import NOON, message
from tables import each_row

from memoranda import Conversation
from memoranda.conversation.transcript import Transcript
from memoranda.model.models import Calibration, PrunedSpan, Pruning


def cut(first, last):
    """A span that a pruning took out."""
    figures = {"messages": last - first + 1, "tokens": 7, "since": NOON, "until": NOON}
    return PrunedSpan(first=first, last=last, why="old", **figures)


def pruning(*cuts, id="prn_1"):
    """The receipt of a pruning."""
    figures = {"strategy": "recency", "before": 90, "after": 40}
    return Pruning(id=id, at=NOON, trigger="manual", why="90 % “full”", cuts=cuts, **figures)


@each_row(
    "change, seen",
    [
        (lambda one: one.pin(["m1"], pinned=True), True),
        (lambda one: one.prune(pruning(cut(0, 1))), True),
        (lambda one: one.recount({"m1": 9, "unknown": 1}), True),
        (lambda one: one.update(clear=True), True),
        (lambda one: one.replace("t", NOON, ids=["m1"]), True),
        (lambda one: one.append([message("user", "more", id="m9")]), False),
        (lambda one: one.update(calibration=Calibration(2.0, 3)), False),
        (lambda one: one.end(NOON), False),
    ],
)
def test_a_change_of_what_was_there_raises_the_revision(change, seen):
    """By one; what is added at the end leaves it, so that a reader reads no more than that."""
    one = Transcript.alone("trip", NOON)
    one.append([message("user", f"{n}", id=f"m{n}") for n in range(4)])
    before = one.info().revision
    change(one)
    assert one.info().revision == before + seen


def test_two_conversations_without_a_memory_are_apart_and_end_with_their_holder():
    """Each has a store of its own, which is closed when nobody holds the conversation."""
    one, two = Conversation(), Conversation()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gc.collect()
        before = apsw.memory_used()
        one.extend([{"role": "user", "content": "x" * 100_000} for _ in range(50)])
        two.add("user", "Only here.")
        assert (len(one), len(two)) == (50, 1)
        assert apsw.memory_used() > before + 5_000_000
        del one
        assert apsw.memory_used() < before + 1_000_000
    assert told == []
    assert two.messages[0].content == "Only here."

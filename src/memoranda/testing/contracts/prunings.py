"""The contract of the receipts of prunings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoranda.model.actions import Erase, Prune, Summarize
from memoranda.model.models import PrunedSpan, Pruning, Scope
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ANA,
    BEN,
    cut,
    moment,
    open_conversation,
    placed,
    prune,
    pruning,
    remember,
    say,
)


def summaries(store: Store) -> list[list[str | None]]:
    """Return the summaries of each pruning of the trip, by cut."""
    return [[part.summary for part in receipt.cuts] for receipt in store.prunings(ANA, "trip")]


def confide(store: Store) -> tuple[str, str]:
    """Say six things, of which those at 1 and 4 have records; return these."""
    one, two = remember(store, "secret", "other secret")
    open_conversation(store, "trip")
    for number in range(6):
        record = {1: one.id, 4: two.id}.get(number)
        say(store, "trip", f"line {number}", record_id=record)
    return one.id, two.id


class PruningContract(Contract):
    """What a pruning took out of view is on record, and stays in the transcript."""

    def test_receipts_come_back_as_they_were(self, store: Store, reopen: Reopen) -> None:
        """Every field of a receipt and of its cuts survives; there may be no cuts at all."""
        open_conversation(store, "trip")
        open_conversation(store, "other")
        said = say(store, "trip", *"abcde")
        first = pruning(
            cut(0, 1, score=0.25, summary="Ü: two lines\nof it", tokens=123, why="the oldest"),
            cut(3, 3, score=1.0),
            trigger="task_boundary",
            why="a new task",
            strategy="hybrid",
            before=1_000_000,
            after=0,
        )
        second = pruning()
        store.apply(ANA, [Prune("trip", first), Prune("trip", second)])
        store = reopen(store)
        assert store.prunings(ANA, "trip") == [first, second]
        assert store.prunings(ANA, "other") == store.prunings(ANA, "nothing") == []
        assert store.messages(ANA, "trip") == placed(*said)

    def test_the_oldest_comes_first(self, store: Store) -> None:
        """Receipts are in the order in which the prunings were done."""
        open_conversation(store, "trip")
        receipts = [pruning(at=moment(minute)) for minute in (30, 10, 20)]
        store.apply(ANA, [Prune("trip", receipt) for receipt in receipts])
        found = [receipt.at for receipt in store.prunings(ANA, "trip")]
        assert found == [moment(minute) for minute in (10, 20, 30)]

    def test_receipts_of_another_user_do_not_exist(self, store: Store) -> None:
        """Of two conversations of one name, each has its own receipts."""
        for scope in (ANA, BEN):
            open_conversation(store, "trip", scope=scope)
        his = prune(store, "trip", scope=BEN)
        assert store.prunings(ANA, "trip") == []
        store.apply(ANA, [Summarize("trip", his.id, {0: "hers"})])
        assert store.prunings(BEN, "trip") == [his]

    def test_summaries_of_the_named_cuts_alone(self, store: Store) -> None:
        """A summary goes to the cut that begins there; the rest of the receipt stays."""
        open_conversation(store, "trip")
        say(store, "trip", *"abcdef")
        receipt = prune(store, "trip", cut(0, 1, summary="old"), cut(3, 3), cut(5, 5))
        other = prune(store, "trip", cut(3, 3))
        store.apply(ANA, [Summarize("trip", receipt.id, {0: "new", 3: "in short"})])
        one, two, three = receipt.cuts
        told = (replace(one, summary="new"), replace(two, summary="in short"), three)
        assert store.prunings(ANA, "trip") == [replace(receipt, cuts=told), other]

    def test_summaries_of_what_is_gone_are_passed_over(self, store: Store) -> None:
        """An unknown receipt or cut is no error, and nothing changes."""
        open_conversation(store, "trip")
        say(store, "trip", *"abc")
        receipt = prune(store, "trip", cut(0, 1))
        store.apply(
            ANA,
            [
                Summarize("trip", "prn_nothing", {0: "lost"}),
                Summarize("trip", receipt.id, {1: "lost", 9: "lost"}),
                Summarize("trip", receipt.id, {}),
            ],
        )
        assert store.prunings(ANA, "trip") == [receipt]

    def test_a_summary_goes_with_what_it_may_quote(self, store: Store) -> None:
        """Erasing a message takes the summary of each cut that covers it, and nothing else."""
        one, two = confide(store)
        first = prune(store, "trip", cut(0, 2, summary="secret"), cut(5, 5, summary="last"))
        prune(store, "trip", cut(0, 4, summary="all"), cut(1, 1), cut(3, 3, summary="three"))
        store.apply(ANA, [Erase((one,), moment(1), "asked")])
        assert summaries(store) == [[None, "last"], [None, None, "three"]]
        bare = replace(first.cuts[0], summary=None)
        assert store.prunings(ANA, "trip")[0] == replace(first, cuts=(bare, first.cuts[1]))
        store.apply(ANA, [Erase((two,), moment(2), "asked")])
        assert summaries(store) == [[None, "last"], [None, None, "three"]]

    def test_an_erasure_by_another_agent_takes_summaries(self, store: Store) -> None:
        """Whoever of the user erases a text erases the summaries, too; another user does not."""
        planner = Scope("ana", "planner")
        (item,) = remember(store, "secret")
        for scope in (planner, BEN):
            open_conversation(store, "plan", scope=scope)
            say(store, "plan", "secret", scope=scope, record_id=item.id)
            prune(store, "plan", cut(0, 0, summary="secret"), scope=scope)
        store.apply(Scope("ana", "writer"), [Erase((item.id,), moment(1), "asked")])
        assert store.prunings(planner, "plan")[0].cuts[0].summary is None
        assert store.prunings(BEN, "plan")[0].cuts[0].summary == "secret"

    @pytest.mark.parametrize("whole", [False, True])
    def test_a_summary_that_comes_too_late(self, store: Store, *, whole: bool) -> None:
        """A summary of messages of which one was erased meanwhile may quote it: it is refused."""
        one, _ = confide(store)
        late = pruning(cut(0, 2, summary="secret" if whole else None), cut(3, 3, summary="three"))
        erase = Erase((one,), moment(1), "asked")
        prune_it = Prune("trip", late)
        store.apply(ANA, [erase, prune_it] if whole else [prune_it, erase])
        store.apply(ANA, [Summarize("trip", late.id, {0: "secret", 3: "new"})])
        assert summaries(store) == [[None, "new"]]
        (receipt,) = store.prunings(ANA, "trip")
        assert without_summaries(receipt) == without_summaries(late)


def without_summaries(receipt: Pruning) -> Pruning:
    """Return the receipt with bare cuts."""

    def bare(part: PrunedSpan) -> PrunedSpan:
        return replace(part, summary=None)

    return replace(receipt, cuts=tuple(map(bare, receipt.cuts)))

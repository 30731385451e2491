"""The contract of what a store tells of a user for an export, and keeps of it."""

from dataclasses import replace

import pytest
from samples import SOON, START, moment, record
from steps import do

from laws.base import Contract
from memoranda.errors import NotFound
from memoranda.model.changes import AuditTrail, SessionRecall
from memoranda.model.models import Change, ChangeAction, Kind
from memoranda.model.sessions import AgentSession, ErasedRecord, UserMetadata


def trail_of(item, **fields):
    """Return a trail with something of everything."""
    change = Change(moment(5), ChangeAction.REWEIGH, "conflict", item.id, {"confidence": 0.5})
    ended = Change(moment(6), ChangeAction.CLOSE, "forgotten", item.id)
    recalls = (SessionRecall("trip", moment(3)), SessionRecall("talk", moment(4)))
    whole = AuditTrail(
        reason="heard", closed_at=moment(6), changes=(change, ended), recalls=recalls
    )
    return replace(whole, **fields)


class CopyContract(Contract):
    """A user can be in another store what they were in this one."""

    def test_a_record_is_kept_with_its_trail(self, store, ana):
        """It has its place, its end, its history and its recalls, and waits unless retired."""
        place = {"session_id": "s", "valid_until": moment(6)}
        turn = record("tea", kind=Kind.EPISODE, position=7, **place)
        next_turn = record("cake", kind=Kind.EPISODE, position=3, **place)
        item = record("secret", kind=Kind.ITEM, namespace=("a",), key="his", **place)
        trails = {each.id: trail_of(each) for each in (turn, next_turn)}
        trails[item.id] = trail_of(item, retired=True)
        kept = [turn, next_turn, item]
        told = zip(kept, trails.values(), strict=True)
        ana.apply(*(do.Insert(each, reason=trail.reason, trail=trail) for each, trail in told))
        assert ana.trails([each.id for each in kept]) == trails
        assert [ana.found(each).position for each in kept] == [7, 8, None]
        assert ana.history(turn.id)[1:] == list(trails[turn.id].changes)
        assert set(ana.recalled("trip")) == {turn.id, next_turn.id}
        assert ana.pending() == ["tea", "cake"]
        assert ana.put("his", "new", "a").id != item.id
        assert store.verify() == []

    def test_bookkeeping_comes_back_as_it_was(self, store, ana, ben):
        """It is kept once, however often, and no living record is erased.

        An agent sees its own and that of nobody.
        """
        (turn,) = ana.turns("s", "tea")
        ana.planner.turns("s", "cake")
        ana.planner.open_conversation("hers")
        ana.open_conversation("everybody's")
        sessions = (
            AgentSession(id="s", first_seen_at=START, through=3, noted=2),
            AgentSession(id="s", first_seen_at=SOON, consolidated_at=SOON, agent="planner"),
        )
        gone = ErasedRecord(id="fact_gone", at=SOON, reason="asked", agent="planner")
        kept = UserMetadata(sessions=sessions, erased=(gone,))
        living = replace(kept, erased=(gone, replace(gone, id=turn.id)))
        for each in (living, kept):
            ana.apply(do.keep_user_metadata(each))
        ana.apply(do.delete_conversation("everybody's", at=SOON, erase=False))
        told = replace(kept, owners={"hers": "planner"}, deleted=("everybody's",))
        assert ana.user_metadata() == told
        assert ana.writer.user_metadata() == UserMetadata(
            sessions=sessions[:1], deleted=("everybody's",)
        )
        assert ben.user_metadata() == UserMetadata()
        with pytest.raises(NotFound, match="fact_gone"):
            ana.apply(ana.insertion("of the secret", source_ids=("fact_gone",)))
        assert store.verify() == []

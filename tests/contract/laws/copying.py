"""The contract of what one store tells another of a user, and keeps of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from samples import ALL, DIMENSIONS, MODEL, SOON, START, User, cut, moment, named, record

from laws.base import Contract
from memoranda.errors import NotFound
from memoranda.model import actions as do
from memoranda.model.checks import content_hash
from memoranda.model.models import Change, ChangeAction, Kind, Record
from memoranda.model.ports import Store
from memoranda.model.traces import (
    AgentSession,
    AgentUsage,
    AuditTrail,
    ErasedRecord,
    SessionRecall,
    UserMetadata,
)
from memoranda.model.usage import Usage


def trail_of(item: Record, **fields: Any) -> AuditTrail:
    """Return a trail with something of everything."""
    change = Change(moment(5), ChangeAction.REWEIGH, "conflict", item.id, {"confidence": 0.5})
    ended = Change(moment(6), ChangeAction.CLOSE, "forgotten", item.id)
    recalls = (SessionRecall("trip", moment(3)), SessionRecall("talk", moment(4)))
    whole = AuditTrail(
        reason="heard", closed_at=moment(6), changes=(change, ended), recalls=recalls
    )
    return replace(whole, **fields)


class CopyContract(Contract):
    """A user can be in another store what they are in this one."""

    def test_a_record_is_kept_with_its_trail(self, store: Store, ana: User) -> None:
        """It has its place, its end, its history and its recalls, and waits unless retired."""
        place: dict[str, Any] = {"session_id": "s", "valid_until": moment(6)}
        turn = record("tea", kind=Kind.EPISODE, position=7, **place)
        next_turn = record("cake", kind=Kind.EPISODE, position=3, **place)
        item = record("secret", kind=Kind.ITEM, namespace=("a",), key="his", **place)
        trails = {each.id: trail_of(each) for each in (turn, next_turn)}
        trails[item.id] = trail_of(item, retired=True)
        kept = [turn, next_turn, item]
        ana.apply(*(do.Insert(each, None, trail=trails[each.id]) for each in kept))
        assert ana.trails([each.id for each in kept]) == trails
        assert [ana.found(each).position for each in kept] == [7, 8, None]
        assert ana.history(turn.id)[1:] == list(trails[turn.id].changes)
        assert set(ana.recalled("trip")) == {turn.id, next_turn.id}
        assert ana.pending() == ["tea", "cake"]
        assert ana.put("his", "new", "a").id != item.id
        assert store.verify() == []

    def test_trails_are_told_to_nobody_else(self, ana: User, ben: User) -> None:
        """Who does not see a record learns nothing of what was done to it."""
        (own,) = ana.remember("tea")
        (hers,) = ana.planner.remember("cake")
        assert list(ana.trails([own.id, hers.id, "fact_none"])) == [own.id, hers.id]
        assert list(ana.writer.trails([own.id, hers.id])) == [own.id]
        assert ben.trails([own.id]) == {}

    def test_a_record_becomes_what_it_is_elsewhere(self, store: Store, ana: User) -> None:
        """What another store has takes its place; what is derived follows a new text alone."""
        store.reset_vectors(MODEL, DIMENSIONS)
        same, other = ana.remember("Zoe drinks tea", "Zoe eats cake")
        ana.embed([same, other])
        one = replace(same, access_count=5, tags=("new",))
        two = replace(other, content="Dan sings", content_hash=content_hash("Dan sings"))
        for item in (one, two):
            ana.apply(do.ReplaceRecord(item, trail_of(item, closed_at=None)))
        assert ana.records(ALL) == [one, two]
        assert ana.trails([one.id]) == {one.id: trail_of(one, closed_at=None)}
        assert ana.pending() == ["Dan sings"]
        assert list(ana.match_terms(["cake", "sings"], limit=5).frequencies) == [0, 1]
        assert ana.profile("Zoe").mention_count == 1
        ended = replace(one, valid_until=moment(6))
        ana.apply(do.ReplaceRecord(ended, trail_of(ended, retired=True)))
        assert ana.vectors(ana.ordinals(ALL)) == {}
        assert store.verify() == []

    def test_only_an_own_record_is_replaced(self, ana: User, ben: User) -> None:
        """The id of another user's record, or of none, is refused."""
        (his,) = ben.remember("tea")
        for name in (his.id, "fact_none"):
            with pytest.raises(NotFound, match=name):
                ana.apply(do.ReplaceRecord(record("lie", id=name), trail_of(his)))
        assert ben.found(his) == his

    def test_bookkeeping_comes_back_as_it_was(self, store: Store, ana: User, ben: User) -> None:
        """It is kept once, however often; the larger usage stays, and no living record is erased.

        An agent sees its own and that of nobody.
        """
        (turn,) = ana.turns("s", "tea")
        ana.planner.turns("s", "cake")
        ana.planner.open_conversation("hers")
        ana.open_conversation("everybody's")
        sessions = (
            AgentSession(id="s", first_seen_at=START, through=3, noted=2, tries=1, unread=4),
            AgentSession(id="s", first_seen_at=SOON, consolidated_at=SOON, agent="planner"),
        )
        usage = AgentUsage("reflect", "m", Usage(requests=3, cost=0.5, seconds=1.5), "planner")
        gone = ErasedRecord(id="fact_gone", at=SOON, reason="asked", agent="planner")
        kept = UserMetadata(sessions=sessions, usage=(usage,), erased=(gone,))
        living = replace(kept, erased=(gone, replace(gone, id=turn.id)))
        for each in (living, replace(kept, usage=(replace(usage, usage=Usage(requests=2)),))):
            ana.apply(do.KeepUserMetadata(each))
        assert ana.user_metadata() == replace(kept, owners={"hers": "planner"})
        assert ana.writer.user_metadata() == UserMetadata(sessions=sessions[:1])
        assert ben.user_metadata() == UserMetadata()
        with pytest.raises(NotFound, match="fact_gone"):
            ana.apply(ana.insertion("of the secret", source_ids=("fact_gone",)))
        assert store.verify() == []

    def test_a_conversation_is_told_anew(self, store: Store, ana: User) -> None:
        """An emptied conversation keeps its settings, begins at 0, and may belong to an agent."""
        info = ana.open_conversation("trip", system="Plan.")
        said = ana.say("trip", "a", "b")
        ana.prune("trip", cut(0, 0))
        ana.apply(do.UpdateConversation("trip", clear=True))
        ana.apply(do.ReplaceMessages("trip", "tmb_1", SOON, ids=(said[1].id,)))
        ana.apply(do.ClearTranscript("trip"), do.Append("trip", said[1]))
        assert [item.position for item in ana.messages("trip")] == [0]
        assert ana.conversations()["trip"].system == info.system
        assert ana.prunings("trip") == ana.tombstones("trip") == []
        ana.apply(do.OpenConversation(replace(info, id="hers"), agent="planner"))
        assert "hers" in ana.planner.conversations()
        assert "hers" not in ana.writer.conversations()
        assert store.verify() == []

    def test_names_wait_for_the_copy_of_a_record(self, ana: User) -> None:
        """Entities that it mentions are looked for later, as those of any text."""
        item = record("Zoe drinks tea")
        ana.apply(do.Insert(item, None, trail=AuditTrail(reason="heard")))
        assert ana.entity_names() == []
        ana.apply(do.LinkEntities(item.id, named(item.content, "Zoe")))
        assert ana.entity_names() == ["Zoe"]

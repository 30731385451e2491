"""The contract of ``Store.apply``: each action on records, and all of a plan or nothing."""

from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
from samples import (
    ACTIVE,
    ALL,
    DIMENSIONS,
    LATER,
    MODEL,
    SOON,
    UNREAD,
    cut,
    moment,
    named,
    new_id,
    only,
    record,
    vector,
    whole_repr,
)
from steps import do

from laws.base import Contract
from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.changes import PROPOSED
from memoranda.model.checks import EPOCH, to_ms
from memoranda.model.erasure import erase_message
from memoranda.model.models import ForgetReceipt, Kind, PlaceKind, TextPlace, ToolCall, Trust
from memoranda.model.query import EmbeddedText, Filter, RecordRelation, Subset


def changed(ana, since):
    """Return whether readers are told that rows they know have changed since."""
    changes = ana.index_changes(since)
    return bool(changes.reset or len(changes.revised))


def touched(times):
    """Return what recalls just now leave on a record."""
    return {"access_count": times, "last_accessed": SOON, "strength_at": SOON}


# Places that are found by their ids alone, which are of one user.
OF_ONE_ID = {PlaceKind.RECORD, PlaceKind.MESSAGE, PlaceKind.SUMMARY}


class ApplyContract(Contract):
    """``apply`` is all or nothing, and keeps what it acknowledged."""

    def test_all_of_a_plan_is_carried_out(self, ana, reopen):
        """Every action of a plan is done, in order, and outlives the store that did it."""
        plan = ana.prepare()
        ana.apply(*plan)
        after = ana.everything()
        ana.store = reopen(ana.store)
        assert ana.everything() == after
        held = ["Zoe drinks tea", "[erased]", "said in hidden", "fading", "old", "turn"]
        others = [text for text in ana.page() if " met " not in text]
        assert others == [*held, "new Zoe tea", "Kim waits", "copied tea"]
        assert [(m.content, m.tokens) for m in ana.messages("trip")] == [("[erased]", 5)]
        assert [m.content for left in ana.tombstones("trip") for m in left.messages] == ["a"]
        cuts = [[part.summary for part in item.cuts] for item in ana.prunings("trip")]
        assert cuts == [[None], [None]]
        assert ana.pending() == ["said in hidden", "Kim waits"]

    def test_a_failure_at_any_step_leaves_nothing(self, store, ana):
        """Whatever step of a transaction the storage fails at, nothing of it remains."""
        plan = ana.prepare()
        before = ana.everything()
        for step in count():
            with self.failing_at(store, step):
                try:
                    ana.apply(*plan)
                    break
                except StoreError:
                    pass
            assert ana.everything() == before
        store.purge()  # Of what the plan erased, when it was carried out.
        assert store.verify() == []
        assert step > 0
        assert ana.everything() != before

    def test_what_fails_leaves_no_user(self, store, ana, ben):
        """Neither an empty plan, a failed one nor a record under a wrong name makes a user."""
        tea, planned = ana.insertion("tea"), ana.planner.insertion("tea")
        ana.apply()
        plans = [
            (ana, [tea, do.Close("fact_nothing", moment(1), "never")]),
            (ben, [tea]),
            (ana.writer, [planned]),
        ]
        for user, plan in plans:
            with pytest.raises(MemorandaError):
                user.apply(*plan)
        assert store.users() == []

    def test_an_id_is_given_once(self, ana, ben):
        """An id that is taken is refused; one that was erased is free.

        What another user gives the same id is refused, too, or a record of that user's own.
        """
        (hers,) = ana.remember("tea")
        with pytest.raises(MemorandaError):
            ana.apply(ana.insertion("other", id=hers.id))
        with suppress(MemorandaError):
            ben.apply(ben.insertion("his tea", id=hers.id))
        assert (ana.page(), ben.page()[1:]) == (["tea"], [])
        ana.erase(hers)
        if not ben.page():
            ben.apply(ben.insertion("his tea", id=hers.id))
        ben.apply(do.erase((hers.id,), at=moment(2), reason="his wish"))
        assert [change.reason for change in ana.history(hers.id)] == ["asked"]
        assert [change.reason for change in ben.history(hers.id)] == ["his wish"]


class BeliefContract(Contract):
    """Records fade from their strength, and are believed as before when they are used."""

    def test_fading_and_recalling(self, ana):
        """Fading leaves the strength, to which a recall restores; history is silent on both."""
        (item,) = ana.remember("tea", confidence=0.8, decay_rate=0.1)
        before = ana.index_changes(UNREAD).version
        same = [do.Fade(item.id, SOON, 0.8), do.RecordAccess((item.id, "no"), SOON)]
        ana.apply(*same)
        assert not changed(ana, before)  # Only a change is told to readers.
        ana.apply(do.Fade(item.id, SOON, 0.5))
        faded = ana.index_changes(before)
        assert ana.found(item) == replace(item, **touched(1), confidence=0.5)
        ana.apply(do.RecordAccess((item.id, item.id), SOON))
        assert len(faded.revised) == 1
        assert changed(ana, faded.version)
        ana.apply(do.Fade(item.id, moment(999_999), 0.1))  # Reckoned before the recall.
        assert ana.found(item) == replace(item, **touched(2))
        assert [change.action for change in ana.history(item.id)] == ["insert"]
        ana.apply(do.Reweigh(item.id, LATER, 0.9, 0.0, "confirmed"))  # It fades from there.
        weighed = {"confidence": 0.9, "strength": 0.9, "strength_at": LATER}
        assert replace(ana.found(item), access_count=0, last_accessed=None) == replace(
            item, decay_rate=0.0, **weighed
        )

    def test_recalls_into_a_conversation_are_known(self, ana):
        """Its records come once each, the last first, to whom they are visible."""
        one, two, other = ana.remember("one", "two", "other")
        (planned,) = ana.planner.remember("planned")
        both = (one.id, planned.id, "fact_nothing")
        ana.apply(do.RecordAccess(both, moment(1), "trip"), do.RecordAccess((other.id,), moment(2)))
        ana.writer.apply(do.RecordAccess((two.id, planned.id), moment(3), "trip"))
        assert ana.recalled("trip") == [two.id, planned.id, one.id]
        assert ana.found(planned).access_count == 1
        ana.apply(do.RecordAccess((one.id,), moment(4), "trip"))
        assert ana.writer.recalled("trip") == [one.id, two.id]
        assert ana.recalled("other") == []
        ana.erase(one)
        assert ana.writer.recalled("trip") == [two.id]

    def test_a_credit_adds_sources(self, ana):
        """New sources come after those it has, and it fades anew; known ones change nothing."""
        one, two = ana.remember("one", "two")
        (item,) = ana.remember("tea", confidence=0.8, decay_rate=0.1, source_ids=(one.id,))
        ana.apply(do.Fade(item.id, SOON, 0.2), do.Reinforce(item.id, SOON, (one.id,)))
        assert ana.found(item) == replace(item, confidence=0.2)
        ana.apply(do.Reinforce(item.id, SOON, (one.id, two.id, two.id, item.id)))
        credited = replace(item, strength_at=SOON, source_ids=(one.id, two.id))
        assert ana.found(item) == credited
        (change,) = ana.history(item.id)[1:]
        assert (change.action, change.reason) == ("credit", "said again")
        assert ana.related([two.id], RecordRelation.DERIVED) == [item.id]

    def test_what_is_superseded_stays_and_is_believed_less(self, ana):
        """It is valid and says what took its place; a person's correction outlasts that."""
        old, new, wrong = ana.remember("old", "new", "wrong", decay_rate=0.1)
        ana.apply(do.Supersede(old.id, new.id, SOON, 0.3, "moved"))
        weighed = {"confidence": 0.3, "strength": 0.3, "strength_at": SOON}
        assert ana.found(old) == replace(old, superseded_by=new.id, **weighed)
        assert ana.page(ACTIVE) == ["old", "new", "wrong"]
        change = ana.history(old.id)[-1]
        assert (change.action, change.reason) == ("supersede", "moved")
        assert change.detail == {"by": new.id, "confidence": 0.3}
        ana.apply(do.RecordAccess((old.id,), SOON))
        assert ana.found(old).confidence == weighed["confidence"]
        ana.apply(do.Close(wrong.id, moment(1), "corrected", superseded_by=new.id))
        ana.apply(do.Supersede(wrong.id, old.id, SOON, 0.3, "moved"))
        kept = ana.found(wrong)
        assert (kept.superseded_by, kept.valid_until) == (new.id, moment(1))
        for by, refused in ((new.id, InvalidInput), ("fact_nothing", NotFound)):
            with pytest.raises(refused):
                ana.apply(do.Supersede(new.id, by, SOON, 0.3, "x"))
        assert ana.found(new).superseded_by is None

    def test_lineage_names_what_is_there(self, ana):
        """Sources and replacements that exist come in pairs, whichever agent asks."""
        one, two = ana.remember("one", "two")
        (fact,) = ana.remember("fact", source_ids=(one.id, "ep_nothing", two.id))
        (planned,) = ana.planner.remember("planned", source_ids=(two.id,))
        plan = [
            do.Supersede(one.id, fact.id, SOON, 0.3, "x"),
            do.Close(two.id, moment(1), "corrected", superseded_by=planned.id),
            do.Close(fact.id, moment(1), "corrected", superseded_by="fact_nothing"),
        ]
        ana.apply(*plan)
        kept = ana.get(ana.ordinals(ALL))
        ordinals = {item.id: number for number, item in kept.items()}
        first, second, drawn, other = (ordinals[it.id] for it in (one, two, fact, planned))
        lineage = ana.writer.index_changes(UNREAD).lineage
        assert lineage is not None
        assert set(lineage.sources) == {(drawn, first), (drawn, second), (other, second)}
        assert set(lineage.replaced) == {(first, drawn), (second, other)}

    def test_a_known_fact_is_not_stored_again(self, ana, ben):
        """One of the plan, of nobody or of the same agent is known; another user's never is."""
        (hers,) = ana.planner.remember("tea")

        def learn(user, *texts, **fields):
            """Store texts; return the ids of what is stored for them, and of what was known."""
            plan = [
                do.Insert(record(text, scope=user.scope, **fields), unless_known=True)
                for text in texts
            ]
            stored = user.apply(*plan)
            known = [each.record.id for each in stored if not each.is_new]
            return [each.record.id for each in stored], known

        (own,), known = learn(ana, "tea")
        assert known == []
        (first, _, _), known = learn(ana, "cake", "cake", "tea")
        assert known == [first, own]
        _, known = learn(ana.planner, "tea", tags=("x",), trust=Trust.AGENT)
        assert known == [hers.id]
        assert ana.found(hers) == replace(hers, tags=("x",))
        assert learn(ben, "tea")[1] == learn(ana, "tea", kind=Kind.EPISODE)[1] == []
        ana.apply(do.Supersede(own, first, moment(1), 0.3, "moved on"))
        assert learn(ana, "tea")[1] == []
        ana.close(ana.found(first))
        assert [len(learn(ana, "cake", created_at=moment(2))[1]) for _ in range(2)] == [0, 1]
        assert learn(ana, "cake", metadata={"n": 1})[1] == []

    def test_a_proposal_waits_until_it_is_closed(self, ana):
        """It waits once, with all of its sources, and no subset of what has ended has it."""
        one, two = ana.remember("one", "two", kind=Kind.EPISODE)

        def propose(*sources):
            """Store a proposal; return its id, and whether it is new."""
            made = record("tea", scope=ana.scope, valid_until=EPOCH, source_ids=sources)
            ((stored, is_new),) = ana.apply(do.Insert(made, reason=PROPOSED, unless_known=True))
            return stored.id, is_new

        first, is_new = propose(one.id)
        assert is_new
        assert propose(two.id) == (first, False)
        assert ana.found(replace(one, id=first)).source_ids == (one.id, two.id)
        over = {"retired": True, "now": moment(9_000)}
        assert ana.passing(subset=Subset.PROPOSED, **over) == ["tea"]
        assert ana.passing(subset=Subset.ENDED, **over) == []
        assert ana.passing(subset=Subset.OVER, **over) == []
        assert ana.passing(now=moment(9_000)) == ["one", "two"]
        assert ana.store.verify() == []
        ana.close(ana.found(replace(one, id=first)))
        assert ana.passing(subset=Subset.PROPOSED, **over) == []
        assert propose(two.id)[1]

    def test_updating_changes_what_is_given(self, ana):
        """What is not given stays, nothing clears; readers and history learn of it, in place."""
        attached = {"tags": ("old",), "metadata": {"a": 1}}
        (item,) = ana.remember("tea", valid_until=moment(9_000), **attached)
        for given in ({"tags": ("new", "tea")}, {"metadata": {"b": [None]}}, {"valid_until": SOON}):
            item = replace(item, **given)
            ana.apply(do.update_record(item.id, at=moment(1), **given))
            assert ana.found(item) == item
        assert (ana.passing(tags=("new",), now=moment(0)), ana.passing(now=LATER)) == (["tea"], [])
        assert ana.index_changes(UNREAD).rows["until"].tolist() == [to_ms(SOON)]
        before, revision = ana.index_changes(UNREAD).version, ana.fact_revision()
        cleared = {"tags": (), "metadata": {}, "valid_until": None}
        ana.apply(do.update_record(item.id, at=moment(2), **cleared))
        assert ana.found(item) == replace(item, **cleared)
        assert changed(ana, before)
        assert ana.fact_revision() > revision
        ana.apply(do.update_record(item.id, at=moment(3)))
        changes = [change.detail["changed"] for change in ana.history(item.id)[1:]]
        assert changes == [["tags"], ["metadata"], ["valid_until"], sorted(cleared)]
        with pytest.raises(NotFound):
            ana.apply(do.update_record("fact_nothing", at=moment(1), tags=()))

    def test_retiring_ends_and_drops_what_is_derived(self, store, ana):
        """Vector and links go, for good; words find it as of before; twice is once."""
        store.reset_vectors(MODEL, DIMENSIONS)
        item, other = ana.remember("Zoe Lopez drinks tea", "Zoe sings")
        (ended,) = ana.remember("ended", valid_until=moment(5))
        ana.embed([item])
        plan = [do.Retire(each.id, SOON, "faded away") for each in (item, ended)]
        ana.apply(*plan)
        before = ana.index_changes(UNREAD).version
        ana.apply(replace(plan[0], at=LATER))
        assert not changed(ana, before)
        assert ana.found(ended) == ended
        assert ana.found(item) == replace(item, valid_until=SOON)
        assert ana.page(ACTIVE) == ["Zoe sings"]
        earlier = Filter(now=LATER, as_of=moment(999_999))
        assert ana.page(earlier) == [item.content, other.content]
        change = ana.history(item.id)[-1]
        assert (change.action, change.reason, change.at) == ("retire", "faded away", SOON)
        late = do.put_vectors(MODEL, [(item, EmbeddedText(vector(1, 0, 0, 0)))])
        ana.apply(late, do.Enrich(item.id, SOON, named("Dan", "Dan")))
        assert ana.pending() == [other.content]
        assert list(ana.index_changes(UNREAD).vectors) == []
        store.reset_vectors("other", DIMENSIONS)
        assert ana.pending() == [other.content]
        assert store.rebuild() == []
        ana.link()
        zoe = ana.profile("zoe", where=ALL)
        assert (zoe.name, zoe.aliases, zoe.mention_count) == ("Zoe", (), 1)
        assert ana.entities(ALL, name="Dan", limit=1) == []
        assert len(ana.holders("tea")[0]) == 1
        assert store.verify() == []

    def test_enriching_adds_links_and_stamps(self, store, ana):
        """New mentions are linked, known ones counted once, and a rebuild keeps both."""
        (item,) = ana.remember("Zoe met dan in oslo", metadata={"a": 1.5})
        mentions = named(item.content, "Zoe", "dan", "oslo")
        ana.apply(do.Enrich(item.id, SOON, mentions))
        kept = ana.found(item)
        assert kept == replace(item, enriched_at=SOON)
        change = ana.history(item.id)[-1]
        assert (change.action, change.detail) == ("enrich", {"links": 2})
        bare = record("Carl met eve")
        eve = do.Enrich(bare.id, SOON, named(bare.content, "eve"))
        ana.apply(do.Insert(bare), eve)
        assert ana.entity_names() == ["Zoe", "dan", "eve", "oslo"]
        assert store.rebuild() == store.verify() == []
        assert ana.found(item) == kept
        ana.link()
        assert sorted(ana.entity_names()) == ["Carl", "Zoe", "dan", "eve", "oslo"]


LIE = "the secret lies under the old floor"


class ForgetContract(Contract):
    """Forgotten and erased is what an action names."""

    def test_only_what_is_there_can_be_forgotten_and_erased(self, ana):
        """What the same plan adds before is there; what is gone already fails the whole plan."""
        one, two = ana.remember("one", "two")
        three = ana.insertion("three")
        outcome = ana.apply(three, do.forget((one.id, three.record.id), at=SOON, reason="asked"))
        assert only(outcome) == ForgetReceipt(id=one.id, records=2, erased=False)
        assert ana.page(ACTIVE) == ["two"]
        erasing = do.erase((one.id, three.record.id), at=LATER, reason="asked")
        assert only(ana.apply(erasing)) == ForgetReceipt(id=one.id, records=2, erased=True)
        for step in (erasing, do.forget((two.id, one.id), at=LATER, reason="asked")):
            with pytest.raises(NotFound, match=one.id):
                ana.apply(step)
        assert ana.page(ACTIVE) == ana.page(ALL) == ["two"]

    def test_what_was_closed_meanwhile_is_refused(self, ana):
        """Of two plans that were made at once the second fails, all of it; the first is named."""
        (old,) = ana.remember("old")
        plans = []
        for content in ("one", "two"):
            new = ana.insertion(content)
            closing = do.Close(old.id, SOON, "corrected", new.record.id, only_open=True)
            plans.append((new, closing))
        ana.apply(*plans[0])
        with pytest.raises(InvalidInput, match=f"{plans[0][0].record.id} took its place"):
            ana.apply(*plans[1])
        assert ana.page(ACTIVE) == ["one"]

    def test_what_takes_their_place_is_known(self, ana):
        """They are versions of the one that comes after them."""
        before = [each.id for each in ana.remember("one", "two")]
        new = ana.insertion("three")
        how = {"reason": "replaced", "superseded_by": new.record.id}
        ana.apply(do.forget(before, at=SOON, **how), new)
        assert ana.page(ACTIVE) == ["three"]
        assert {ana.found(each).superseded_by for each in before} == {new.record.id}
        assert before == ana.related([new.record.id], RecordRelation.VERSIONS)

    def test_all_versions_end(self, ana):
        """Of whichever version it is named by; what had ended keeps its end."""
        (old,), new = ana.remember("old"), ana.insertion("new")
        ana.apply(new, do.Close(old.id, SOON, "corrected", superseded_by=new.record.id))
        done = only(ana.apply(do.forget((old.id,), at=LATER, reason="asked")))
        assert done == ForgetReceipt(id=old.id, records=2, versions=(new.record.id,), erased=False)
        assert [each.valid_until for each in ana.records(ALL)] == [SOON, LATER]
        assert [each.reason for each in ana.history(old.id)][-1] == "asked"
        with pytest.raises(NotFound, match="fact_nothing"):
            ana.apply(do.forget((old.id, "fact_nothing"), at=LATER, reason="asked"))

    def test_what_was_believed_less_for_it_ends(self, ana):
        """Nothing that it took the place of is believed again; what took its own place stays."""
        one, two, three, four = ana.remember("one", "two", "three", "four")
        ana.apply(do.Close(one.id, SOON, "corrected", superseded_by=two.id))
        for old, new in ((two, three), (three, four)):
            ana.apply(do.Supersede(old.id, new.id, SOON, 0.3, "moved"))
        done = only(ana.apply(do.forget((three.id,), at=LATER, reason="asked")))
        assert done == ForgetReceipt(
            id=three.id, records=3, versions=(one.id, two.id), erased=False
        )
        assert ana.page(ACTIVE) == ["four"]


class EraseContract(Contract):
    """After an erasure a text is nowhere; what stands on a word of its own stays (law 7)."""

    @pytest.mark.parametrize("by", ["ana", "writer"])
    def test_what_goes_along(self, ana, ben, by):
        """Its versions, what rests on it and copies go, of all agents; of others nothing."""
        first, item, new = ana.remember("first", LIE, "new")
        replacing = [(first, item), (item, new)]
        ana.apply(*(do.Close(old.id, moment(1), "corrected", other.id) for old, other in replacing))
        (copy,) = ana.planner.remember(LIE, source_ids=("ep_nothing",))
        (drawn,) = ana.planner.remember("drawn", source_ids=(item.id,))
        (end,) = ana.writer.remember("end", source_ids=(drawn.id,))
        (resting,) = ana.remember("rests on the copy", source_ids=(copy.id,))
        ana.remember("secrets")
        ben.remember(LIE, source_ids=(item.id,))
        for user in (ana, ben):
            user.open_conversation("trip")
            user.say("trip", LIE, record_id=item.id)
            user.say("trip", "hello")
        assert ana.related([new.id], RecordRelation.VERSIONS) == [first.id, item.id]
        assert ana.related([first.id], RecordRelation.VERSIONS) == [item.id, new.id]
        assert ana.related([item.id], RecordRelation.DERIVED) == [drawn.id, end.id]
        erasing = do.erase(
            (item.id,), at=LATER, reason="asked", copies=(copy.id, new.id, "fact_gone")
        )
        receipt = only({"ana": ana, "writer": ana.writer}[by].apply(erasing))
        assert receipt == ForgetReceipt(
            id=item.id,
            erased=True,
            records=7,
            versions=(first.id, new.id),
            copies=(copy.id,),
            derived=(drawn.id, end.id, resting.id),
            messages=1,
        )
        assert (ana.page(), ben.page()) == (["secrets"], [LIE])
        assert [change.action for change in ana.history(end.id)] == ["erase"]
        assert [message.content for message in ana.messages("trip")] == ["hello"]
        assert [message.content for message in ben.messages("trip")] == [LIE, "hello"]

    def test_what_stays_is_replaced_whole(self, store, ana, ben):
        """A mark stands in its place, everywhere; what was derived from it goes."""
        store.reset_vectors(MODEL, DIMENSIONS)
        for user in (ana, ben):
            user.open_conversation("talk", system="Zoe likes tea")
            (turn,) = user.turns("talk", "Zoe likes tea. So be it.", tags=("tea",))
            user.embed([turn])
            user.say(
                "talk",
                "Zoe likes tea. So be it.",
                record_id=turn.id,
                task="tea",
                tool_calls=(ToolCall("c", "keep", '{"of": ["Zoe likes tea"]}'),),
                raw={"content": [{"text": "Zoe likes tea"}, {"tea": 1}]},
            )
            user.say("talk", "Zoe likes tea")
            user.apply(do.replace_messages("talk", new_id("tmb"), at=SOON, newest=1))
            user.prune("talk", cut(0, 0, summary="on tea"))
        before = ben.everything()
        places = [each.place for each in ana.kept_texts()]
        message = next(each for each in ana.messages("talk"))
        theirs = [each.place for each in ben.kept_texts() if each.place.kind in OF_ONE_ID]
        said = [each.message for user in (ana, ben) for each in user.kept_texts() if each.message]
        left = {each.id: replace(erase_message(each), tokens=5) for each in said}
        redact = do.redact((*places, *theirs), at=LATER, reason="asked", messages=left)
        (done,) = ana.apply(redact)
        assert {each.kind for each in done} == set(PlaceKind)
        left = whole_repr([ana.kept_texts(), ana.everything(), ana.messages("talk")])
        assert ("Zoe" in left, "tea" in left) == (False, False)
        assert ana.page() == ["[erased]"]
        (said,) = ana.messages("talk")
        assert said == replace(
            message,
            content="[erased]",
            task=None,
            tool_calls=(ToolCall("c", "keep", "{}"),),
            raw=None,
            tokens=5,
        )
        assert ana.records(replace(ALL, waiting="vectors")) == []
        assert ben.everything() == before
        assert ana.apply(redact) == [()]
        store.purge()
        assert store.verify() == []

    def test_what_has_expired_is_removed(self, store, ana):
        """Records go with their messages and what led to these; what was learned of them stays."""
        ana.open_conversation("u")
        (old, young) = ana.turns("u", LIE, "young")
        ana.say("u", "be kind", role="system")
        ana.say("u", "", role="assistant", tool_calls=(ToolCall("c", "keep", LIE),))
        ana.say("u", LIE, record_id=old.id)
        ana.say("u", "young", record_id=young.id)
        (fact,) = ana.remember(LIE, origin="consolidation", source_ids=(old.id,))
        remove = do.remove([old.id], at=LATER, reason="expired")
        ana.apply(remove, remove)  # What is gone is passed over.
        assert [each.content for each in ana.messages("u")] == ["be kind", "young"]
        assert ana.get([old.id]) == {}
        assert ana.found(fact) == replace(fact, source_ids=())
        assert [change.action for change in ana.history(old.id)] == ["erase"]
        store.purge()
        assert store.verify() == []

    def test_nothing_of_it_is_found(self, store, ana):
        """Reads, words, vectors, entities, counts and queue are as if it had never been."""
        store.reset_vectors(MODEL, DIMENSIONS)
        empty = ana.everything()
        item, waiting = ana.remember("Zoe likes secret tea", "Dan new cake", session_id="s")
        ana.embed([item])
        ana.erase(item, waiting)
        assert ana.everything() == empty
        assert ana.get([item.id]) == {}
        assert (ana.mentioning(["Zoe", "Dan"]), store.users()) == ([], [])
        kept = ana.remember("Zoe drinks tea", session_id="s")
        ana.erase(*ana.remember("Zoe eats cake", session_id="s"))
        assert ana.records(ALL, limit=5) == kept
        assert ana.profile("Zoe").mention_count == 1
        assert [*map(len, ana.holders("zoe", "cake"))] == [1, 0]
        store.purge()
        assert store.verify() == []

    def test_a_word_of_its_own_loses_only_the_source(self, ana):
        """A fact that a person stated outlives an episode that was credited to it."""
        one, two = ana.remember("one", "two")
        (own,) = ana.remember("own")
        ana.apply(do.Reinforce(own.id, SOON, (one.id, two.id)))
        (drawn,) = ana.remember("drawn", source_ids=(two.id, one.id))
        (week,) = ana.remember("week", source_ids=(drawn.id,), origin="reflection")
        assert ana.related([one.id], RecordRelation.DERIVED) == [drawn.id, week.id]
        ana.erase(one)
        assert ana.page() == ["two", "own"]
        assert ana.found(own).source_ids == (two.id,)
        # Nor is an older word that was believed less a former version of the one that is erased.
        old, new = ana.remember("old", "new", origin="consolidation")
        ana.apply(do.Supersede(old.id, new.id, SOON, 0.3, "moved"))
        assert ana.related([new.id], RecordRelation.VERSIONS) == []
        ana.erase(new)
        kept = ana.found(old)
        assert (kept.superseded_by, kept.confidence) == (None, 0.3)
        assert old.content not in ana.page(ACTIVE)

    def test_nothing_rests_on_what_was_erased(self, ana):
        """A plan made before an erasure brings nothing of it back: refused, or passed over."""
        gone, own = ana.remember("secret", "tea")
        ana.erase(gone)
        with pytest.raises(NotFound, match=gone.id):
            ana.apply(ana.insertion("of the secret", source_ids=(gone.id,)))
        ana.apply(do.Reinforce(own.id, moment(2), (gone.id,)))
        assert ana.found(own) == own
        # Nor does a fact come of a turn that was read before it was replaced.
        (turn,) = ana.turns("s", LIE)
        place = TextPlace(PlaceKind.RECORD, turn.id)
        ana.apply(do.redact([place], at=LATER, reason="asked", messages={}))
        with pytest.raises(NotFound, match=turn.id):
            ana.remember(LIE, source_ids=(turn.id,), origin="consolidation")
        ana.remember("my own word", source_ids=(turn.id,), origin="api")
        assert LIE not in whole_repr([ana.everything()])

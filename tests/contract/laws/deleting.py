"""The contract of what takes users and conversations out of a store."""

from contextlib import suppress
from functools import partial
from itertools import count

import pytest
from samples import ALL, DIMENSIONS, LATER, MODEL, SOON, UNREAD, cut, moment, noted, only
from steps import do

from laws.base import Contract
from memoranda.errors import NotFound, StoreError, UserDeleted
from memoranda.model.models import ForgetReceipt, Kind
from memoranda.model.query import Filter


class UserDeletionContract(Contract):
    """A deleted user is nowhere, and nothing that was open before brings them back."""

    @pytest.mark.parametrize("erase", [True, False])
    def test_nobody_lists_a_deleted_user(self, store, ana, ben, *, erase):
        """Neither the user nor anything of theirs is listed; of other users nothing changes."""
        ben.apply(*ben.prepare())
        before = ben.everything()
        ana.apply(*ana.prepare())
        assert store.users() == ["ana", "ben"]
        ana.writer.turns("talk", "turn of an agent")
        active = len(ana.records(Filter(now=LATER)))
        done = ana.delete(erase=erase)
        assert done.records >= active
        assert (done.conversations, done.messages > 0) == (3, True)
        assert store.users() == ["ben"]
        assert (ana.records(Filter(now=LATER)), ana.conversations()) == ([], {})
        assert ana.messages("trip", cleared=True) == []
        assert (ana.sessions(pending=True), ben.everything()) == ({}, before)
        store.purge()
        assert store.verify() == []

    def test_an_erased_user_leaves_nothing(self, store, ana):
        """Every read is as of a user who never was; what comes later begins anew."""
        store.reset_vectors(MODEL, DIMENSIONS)
        blank = ana.everything()
        ana.apply(*ana.prepare())
        known = ana.records(ALL)
        version = ana.index_changes(UNREAD).version
        ana.delete()
        assert ana.everything() == blank
        assert all(ana.history(item.id) == [] for item in known)
        (new,) = ana.remember("Zoe is new")
        changes = ana.index_changes(version)
        assert (changes.reset, len(changes.rows)) == (True, 1)
        assert (ana.page(), store.users()) == (["Zoe is new"], ["ana"])
        assert ana.found(new).position is None
        store.purge()
        assert store.verify() == []

    @pytest.mark.parametrize("erase", [True, False])
    def test_what_was_open_before_is_refused(self, store, ana, *, erase):
        """A scope of before raises in reads and writes, also once the user is there again."""
        ana.remember("tea")
        ana.open_conversation("trip")
        both = (ana.opened(), ana.writer.opened())
        ana.delete(erase=erase)
        for before in (*both, *both):
            uses = [
                partial(before.records, ALL),
                partial(before.remember, "back again"),
                partial(before.apply, do.put_vectors(MODEL, [])),
                before.conversations,
                before.notes_bases,
                partial(before.store.item, before.scope, ("diet",), "drink", now=LATER),
                partial(before.index_changes, UNREAD),
            ]
            for use in uses:
                with pytest.raises(UserDeleted, match="ana"):
                    use()
            assert "back again" not in ana.page()
            after = ana.opened()
            after.remember("new")
            assert after.page(Filter(now=LATER))[-1] == "new"
        assert store.users() == ["ana"]

    def test_who_was_never_here_is_not_deleted(self, store, ana, ben):
        """An unknown user, and one who was erased before, are not found; a scope stays good."""
        early = ben.opened()
        ana.remember("tea")
        ana.delete()
        for user in (ana, ben):
            with pytest.raises(NotFound, match=user.scope.user):
                user.delete()
        early.remember("cake")
        assert (early.page(), store.users()) == (["cake"], ["ben"])

    def test_what_was_only_forgotten_can_be_erased(self, store, ana):
        """A deletion that keeps the texts keeps history and past; a second one ends that, too."""
        (item,) = ana.remember("tea")
        ana.delete(erase=False)
        assert ana.opened().found(item).content == "tea"
        assert [change.reason for change in ana.history(item.id)] == ["remembered", "user deleted"]
        assert ana.delete().records == 1
        assert (ana.history(item.id), ana.page(), store.users()) == ([], [], [])

    @pytest.mark.parametrize("erase", [True, False])
    def test_a_user_goes_whole_or_not_at_all(self, store, ana, *, erase):
        """Wherever a deletion fails, everything is as it was."""
        ana.apply(*ana.prepare())
        before = ana.everything()
        for step in count():
            with self.failing_at(store, step), suppress(StoreError):
                ana.delete(erase=erase)
                break
            assert ana.everything() == before
        assert store.users() == []


class ConversationDeletionContract(Contract):
    """A deleted conversation is on no list, with what was said in it and only learned from it."""

    def talk(self, user, name, *texts):
        """Hold a conversation whose messages are episodes, and return the ids of these."""
        user.open_conversation(name)
        turns = user.turns(name, *texts)
        for turn in turns:
            user.say(name, turn.content, record_id=turn.id)
        user.prune(name, cut(0, 0, summary=texts[0]))
        return [turn.id for turn in turns]

    @pytest.mark.parametrize("erase", [True, False])
    def test_what_goes_with_a_conversation(self, store, ana, *, erase):
        """Episodes go, facts that rest on them alone, insights; the words of others stay."""
        first, second = self.talk(ana, "trip", "I like tea a lot these days", "yes")
        (other,) = self.talk(ana, "work", "yes")
        (learned,) = ana.remember("Ana likes tea", source_ids=(first,))
        (week,) = ana.remember("a week of tea", source_ids=(learned.id,), kind=Kind.REFLECTION)
        (both,) = ana.remember("Ana agrees", source_ids=(second, other))
        (own,) = ana.remember("I like tea a lot these days")
        ana.apply(do.RecordAccess((own.id,), SOON, "trip"), do.keep_notes_base(noted(learned)))
        (done,) = ana.apply(do.delete_conversation("trip", at=moment(2), erase=erase))
        assert done == ForgetReceipt(
            id="trip",
            erased=erase,
            records=4,
            derived=(learned.id, week.id),
            messages=2,
            conversations=1,
        )
        assert ana.page(Filter(now=LATER)) == ["yes", both.content, own.content]
        assert list(ana.conversations()) == list(ana.sessions()) == ["work"]
        assert (ana.messages("trip", cleared=True), ana.prunings("trip")) == ([], [])
        assert [item.content for item in ana.messages("work")] == ["yes"]
        assert ana.records(Filter(now=LATER, recalled_in="trip")) == []
        assert set(ana.get([first, learned.id])) == (set() if erase else {first, learned.id})
        assert ana.found(both).source_ids == ((other,) if erase else (second, other))
        # Lines of the notes stay known until the file was cleaned.
        assert list(ana.notes_bases().values()) == [noted(learned)]
        ana.apply(do.keep_notes_base(noted()))
        store.purge()
        assert store.verify() == []

    @pytest.mark.parametrize("erase", [True, False])
    def test_the_name_begins_anew(self, store, ana, *, erase):
        """A conversation of the same name is new: nothing of the old one is in view of it."""
        self.talk(ana, "trip", "one", "two")
        ana.apply(do.delete_conversation("trip", at=moment(2), erase=erase))
        for use in (
            lambda: ana.say("trip", "three"),
            lambda: ana.apply(do.delete_conversation("trip", at=moment(2), erase=False)),
        ):
            with pytest.raises(NotFound, match="trip"):
                use()
        info = ana.open_conversation("trip", system="new")
        found = ana.conversations("trip")["trip"]
        assert (found.created_at, found.ended_at, found.system) == (info.created_at, None, "new")
        assert ana.messages("trip") == []
        self.talk(ana, "trip", "three")
        assert [item.content for item in ana.messages("trip")] == ["three"]
        assert list(ana.sessions(pending=True)) == ["trip"]
        assert store.verify() == [] or erase

    def test_what_is_off_the_lists_can_be_erased(self, store, ana):
        """The texts of a conversation that was deleted without erasing can still be erased."""
        self.talk(ana, "trip", "one", "two")
        ana.apply(do.delete_conversation("trip", at=moment(2), erase=False))
        assert ana.page() == ["one", "two"]
        done = only(ana.apply(do.delete_conversation("trip", at=moment(3), erase=True)))
        assert (done.records, done.messages, ana.page()) == (2, 2, [])
        store.purge()
        assert store.verify() == []

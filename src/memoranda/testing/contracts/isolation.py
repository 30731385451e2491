"""Law 6: nothing of one user is found, counted, recalled or forgotten by another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import NotFound
from memoranda.model.actions import (
    Consolidated,
    KeepNotes,
    MergeEntities,
    Noted,
    Pin,
    Prune,
    Recount,
    SplitEntity,
    Summarize,
    Touch,
)
from memoranda.model.models import Record, Scope
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Store
from memoranda.model.query import Filter
from memoranda.testing.contracts.base import ONE_STORE, Contract
from memoranda.testing.contracts.changes import NOTES, everything, on_record, prepare
from memoranda.testing.contracts.samples import (
    ALL,
    LATER,
    cut,
    entity_id,
    insert,
    moment,
    new_id,
    open_conversation,
    page,
    prune,
    pruning,
    record,
    remember,
    say,
    turns,
)

TRICKY = [
    "ana",
    "Ana",
    "ana ",
    " ana",
    "an",
    "u1",
    "u2",
    "1",
    "2",
    "0",
    "%",
    "_",
    "*",
    "ana'",
    'ana"',
    "ana' OR '1'='1",
    '" OR scope : u1 OR "',
    "NULL",
    "None",
    "a\u0301na",
    "\u00e1na",
    "\u202eana",
    "ana\u200b",
    "\u0410\u041d\u0410",  # Cyrillic
    "日本",
    "😀",
]
NAMES = st.sampled_from(TRICKY) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
)
PAIRS = st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1])


def told(store: Store, scope: Scope, item: Record) -> list[object]:
    """Return all that the reads of records tell of an episode, if anything."""
    session = item.session_id or ""
    found: list[object] = [
        store.get(scope, item.id),
        *store.get_many(scope, [item.id]),
        *store.history(scope, item.id),
        *store.with_hashes(scope, [item.content_hash], now=LATER),
        *store.episodes(scope, session, after=-1, limit=9),
        *(info for info in store.sessions(scope) if info.id == session),
        store.session(scope, session),
        *store.derived(scope, [item.id]),
        *store.citing(scope, [item.id]),
        store.quoting(scope, [item.id]) or None,
    ]
    return [value for value in found if value is not None]


class IsolationContract(Contract):
    """Two users with any names do not know of each other."""

    @given(pair=PAIRS)
    @ONE_STORE
    def test_no_action_of_one_changes_what_another_sees(
        self, store: Store, pair: tuple[str, str]
    ) -> None:
        """Whatever one user does, every read of another gives the same as before."""
        one, other = map(Scope, pair)
        remember(store, "tea of one", scope=one, session_id="s", tags=("t",))
        before = everything(store, one)
        plan = prepare(store, other)
        store.apply(other, plan)
        assert everything(store, one) == before
        after = everything(store, other)
        remember(store, "more tea Zoe", scope=one, session_id="s")
        assert everything(store, other) == after
        assert {one.user, other.user} <= set(store.users())

    @given(pair=PAIRS)
    @ONE_STORE
    def test_ids_of_others_do_not_exist(self, store: Store, pair: tuple[str, str]) -> None:
        """With the id of another's record nothing can be read, changed or found out."""
        one, other = map(Scope, pair)
        talk = new_id("talk")
        (item,) = turns(store, talk, f"Zoe on tea in {talk}", scope=one)
        (mine,) = remember(store, "Dan", scope=other)
        hers, own = entity_id(store, "zoe", one), entity_id(store, "dan", other)
        open_conversation(store, item.id, scope=one)
        (message,) = say(store, item.id, "tea", scope=one, record_id=item.id)
        receipt = prune(store, item.id, cut(0, 0), scope=one)
        open_conversation(store, "mine", scope=other)
        before = everything(store, one)
        assert told(store, other, item) == []
        assert store.messages(other, item.id, cleared=True) == []
        assert store.prunings(other, item.id) == []
        shown = store.by_ordinals(other, store.passing(one, ALL)).values()
        assert {record.user for record in shown} <= {other.user}
        store.apply(
            other,
            [
                Touch((item.id,), moment(1), talk),
                Noted(talk, 9),
                KeepNotes(NotesBase(NOTES)),
                Recount("mine", {message.id: 99}),
                Summarize("mine", receipt.id, {0: "hidden"}),
            ],
        )
        for action in (
            *on_record(item.id, mine.id),
            Consolidated(talk, 9, moment(1), finished=True),
            MergeEntities(own, hers),
            MergeEntities(hers, own),
            SplitEntity(hers, "Zoe"),
            Pin("mine", message.id, pinned=True),
            Prune(item.id, pruning(cut(0, 0))),
        ):
            with pytest.raises(NotFound):
                store.apply(other, [action])
        assert everything(store, one) == before

    @given(pair=PAIRS, word=NAMES)
    @ONE_STORE
    def test_no_filter_or_query_crosses_over(
        self, store: Store, pair: tuple[str, str], word: str
    ) -> None:
        """Sessions, tags, values, terms and names that another uses find nothing of theirs."""
        one, other = map(Scope, pair)
        mine = record(word, scope=one, session_id=word, tags=(word,), attributes={word: word})
        store.apply(one, [insert(mine)])
        for where in (
            Filter(now=LATER, session=word),
            Filter(now=LATER, tags=(word,)),
            Filter(now=LATER, metadata={word: word}),
            ALL,
        ):
            found = store.page(other, where, limit=10_000, after=None)
            assert {item.user for item in found} <= {other.user}
        matches = store.match_terms(other, [word, "tea"], limit=10_000)
        hits = store.by_ordinals(other, matches.ordinals)
        assert set(hits) == set(matches.ordinals)
        named = store.mentioning(other, [word])
        assert set(store.by_ordinals(other, [number for number, _ in named])) == {
            number for number, _ in named
        }

    def test_users_are_not_agents(self, store: Store) -> None:
        """A user and an agent of one name are different, as are the same agent of two users."""
        remember(store, "hers", scope=Scope("ana", "ben"))
        remember(store, "his", scope=Scope("ben", "ben"))
        remember(store, "own", scope=Scope("ben"))
        assert page(store, Scope("ben")) == ["his", "own"]
        assert page(store, Scope("ben", "ana")) == ["own"]
        assert page(store, Scope("ana", "ben")) == ["hers"]

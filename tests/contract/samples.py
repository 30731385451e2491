"""Who uses the store under the contract suite, and what they store.

Records are small, and their ids and times only go up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from analyzers import CapitalizedNames
from steps import Step, carry_out, do
from tombstones import tombstones

from memoranda.model.changes import AuditTrail, Insert, SessionRecall
from memoranda.model.checks import content_hash
from memoranda.model.erasure import erase_message
from memoranda.model.models import (
    Calibration,
    Change,
    ChangeAction,
    ConversationInfo,
    Entity,
    ForgetReceipt,
    Kind,
    Mention,
    Message,
    PlaceKind,
    PrunedSpan,
    Pruning,
    Record,
    Scope,
    TextPlace,
    Tombstone,
)
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.model.query import (
    EmbeddedText,
    Filter,
    IndexChanges,
    IndexVersion,
    Order,
    RecordRelation,
    Subset,
    Vector,
)
from memoranda.model.sessions import AgentSession, UserMetadata
from memoranda.model.usage import Usage
from memoranda.store.sql.index_reads import COLUMNS, NAMED
from memoranda.store.sql.store import Store

ANA = Scope("ana")
BEN = Scope("ben")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = START + timedelta(days=10_000)
ALL = Filter(now=LATER, retired=True)
ACTIVE = Filter(now=LATER)
MODEL = "contract-model"
DIMENSIONS = 4
EXTRACTOR = CapitalizedNames()
MANY = 10_000
SOON = START + timedelta(minutes=1_000_000)
NOTES = "/home/ana/Notizen – 日本"
TERMS = ("tea", "cake", "secret", "new", "his", "zoe", "dan")
UNREAD = IndexVersion()
_numbers = count(1)


def only(results: Sequence[Any]) -> ForgetReceipt:
    """Return what the only step that erases or deletes took out."""
    (done,) = (each for each in results if isinstance(each, ForgetReceipt))
    return done


def rows_of(changes: IndexChanges) -> dict[int, dict[str, Any]]:
    """Return the rows that came or changed, by ordinal, with the names in them."""
    found = {}
    names = {
        column: {at: name for name, at in known.items()} for column, known in changes.names.items()
    }
    for rows in (changes.rows, changes.revised):
        for values in rows.tolist():
            row = dict(zip(COLUMNS, values, strict=False))
            found[row["ordinal"]] = row | {each: names[each].get(row[each]) for each in NAMED}
    return found


def vectors_of(changes: IndexChanges) -> dict[int, list[float]]:
    """Return the vectors that came, by ordinal."""
    return {
        ordinal: vector
        for ordinals, vectors in changes.vectors
        for ordinal, vector in zip(ordinals.tolist(), vectors.tolist(), strict=True)
    }


def moment(minutes: float) -> datetime:
    """Return ``START`` and so many minutes."""
    return START + timedelta(minutes=minutes)


def _next_moment() -> datetime:
    return moment(next(_numbers))


def new_id(prefix: str) -> str:
    """Return an id that sorts after all before it."""
    return f"{prefix}_{next(_numbers):026d}"


def record(content: str, *, scope: Scope = ANA, **fields: Any) -> Record:
    """Return a record of ``scope``, recorded a minute after the one before it."""
    kind, created = fields.get("kind", Kind.FACT), fields.get("created_at", _next_moment())
    known = {"id": new_id(kind.prefix), "kind": kind, "content_hash": content_hash(content)}
    known |= {"created_at": created, "event_time": created}
    known |= {"user": scope.user, "agent": scope.agent}
    if fields.get("source_ids"):
        known["origin"] = "consolidation"  # What a person says stands on no sources.
    return Record(content=content, **(known | fields))


def insert(item: Record, reason: str = "remembered") -> Insert:
    """Return the action that stores ``item`` and the capitalized names in it."""
    return do.Insert(item, tuple(EXTRACTOR.extract(item.content)), reason)


def insert_with_message(item: Record, conversation: str) -> list[Step]:
    """Return the actions that store ``item``, and a message of the user that says it."""
    message = Message(
        id=f"msg_{item.id}",
        role="user",
        content=item.content,
        timestamp=item.created_at,
        tokens=1,
        record_id=item.id,
    )
    return [insert(item), do.append_messages(conversation, [message])]


def vector(*numbers: float) -> Vector:
    """Return ``numbers`` as a vector of unit length."""
    row = np.array(numbers, np.float32)
    unit: Vector = row / np.linalg.norm(row)
    return unit


def placed(*messages: Message, start: int = 0) -> list[Message]:
    """Return ``messages`` as they are in a transcript, the first of them at ``start``."""
    return [replace(message, position=start + number) for number, message in enumerate(messages)]


def cut(first: int, last: int, **fields: Any) -> PrunedSpan:
    """Return the cut of a run of messages."""
    number = last - first + 1
    known: dict[str, Any] = {"messages": number, "tokens": 3 * number, "why": "oldest"}
    known |= {"since": moment(first), "until": moment(last)}
    return PrunedSpan(first=first, last=last, **(known | fields))


def pruning(*cuts: PrunedSpan, **fields: Any) -> Pruning:
    """Return the receipt of a pruning, a minute after the one before it."""
    known: dict[str, Any] = {
        "id": new_id("prn"),
        "at": _next_moment(),
        "trigger": "automatic",
        "why": "90 of 100 tokens in use",
        "strategy": "recency",
        "before": 90,
        "after": 60,
    }
    return Pruning(cuts=cuts, **(known | fields))


def named(text: str, *names: str) -> tuple[Mention, ...]:
    """Return mentions of ``names`` as they stand in ``text``."""
    return tuple(
        Mention(name, "other", text.index(name), text.index(name) + len(name)) for name in names
    )


def noted(*items: Record, folder: str = NOTES) -> NotesBase:
    """Return a notes base whose lines tell ``items``."""
    return NotesBase(folder, tuple(NotedLine(item.id, item.content_hash) for item in items))


@dataclass
class User:
    """A user of the store under test, or an agent of one; what they do is a transaction each.

    Any method of a store whose first argument is a scope is theirs, too, without that argument.
    """

    store: Store
    scope: Scope = ANA

    @property
    def planner(self) -> User:
        """An agent of this user."""
        return User(self.store, Scope(self.scope.user, "planner"))

    @property
    def writer(self) -> User:
        """Another agent of this user."""
        return User(self.store, Scope(self.scope.user, "writer"))

    def __getattr__(self, name: str) -> Any:
        """Return the method ``name`` of the store, for the scope of this user."""
        return partial(getattr(self.store, name), self.scope)

    def tombstones(self, conversation: str) -> list[Tombstone]:
        """Return what is left of the messages that were removed from a conversation."""
        return tombstones(self.store, self.scope, conversation)

    def apply(self, *actions: Step) -> list[Any]:
        """Carry out a plan; return what the store tells of it."""
        return carry_out(self.store, self.scope, actions)

    def insertion(self, content: str, **fields: Any) -> Insert:
        """Return the action that stores a new record."""
        return insert(record(content, scope=self.scope, **fields))

    def remember(self, *contents: str, **fields: Any) -> list[Record]:
        """Store a record for each text, and return what the store has then."""
        plan = [self.insertion(content, **fields) for content in contents]
        self.apply(*plan)
        ids = [action.record.id for action in plan]
        return list(self.store.get(Scope(self.scope.user), ids).values())

    def put(self, key: str, content: str, *namespace: str, **fields: Any) -> Record:
        """Write an item, and return what the store has under its key then."""
        made = record(content, scope=self.scope, kind=Kind.ITEM, key=key, namespace=namespace)
        self.apply(do.Insert(replace(made, **fields)))
        return self.item(key, *namespace)

    def item(self, key: str, *namespace: str) -> Record:
        """Return the only item that this user has under a key."""
        where = Filter.at_any_time(namespace=namespace, key=key, subset=Subset.STANDING)
        (found,) = (each for each in self.records(where) if each.agent == self.scope.agent)
        assert isinstance(found, Record)
        return found

    def turns(self, session: str, *texts: str, **fields: Any) -> list[Record]:
        """Store an episode of a session for each text."""
        return self.remember(*texts, kind=Kind.EPISODE, session_id=session, **fields)

    def close(self, *items: Record, at: float = 1) -> None:
        """End the validity of records."""
        self.apply(*(do.Close(item.id, moment(at), "forgotten") for item in items))

    def erase(self, *items: Record, at: float = 1) -> ForgetReceipt:
        """Erase records."""
        action = do.erase(tuple(item.id for item in items), at=moment(at), reason="asked")
        return only(self.apply(action))

    def opened(self) -> User:
        """Return the user as one who opens the memory now, and must not outlive a deletion."""
        return User(self.store, self.store.scope(self.scope.user, self.scope.agent))

    def delete(self, *, erase: bool = True) -> ForgetReceipt:
        """Delete the user."""
        return only(self.apply(do.delete_user(at=moment(2), erase=erase)))

    def embed(self, items: Sequence[Record], row: Vector | None = None) -> None:
        """Give each record the vector ``row``."""
        chosen = vector(1, 2, 3, 4) if row is None else row
        self.apply(do.put_vectors(MODEL, [(item, EmbeddedText(chosen)) for item in items]))

    def link(self) -> None:
        """Link the records that wait for it to the names in them."""
        self.store.queue_newest()
        waiting = self.records(Filter.at_any_time(waiting=ENTITIES))
        found = {item.id: tuple(EXTRACTOR.extract(item.content)) for item in waiting}
        self.apply(do.link_entities(found))

    def open_conversation(self, name: str, **fields: Any) -> ConversationInfo:
        """Create a conversation and return what was asked for."""
        info = ConversationInfo(id=name, **({"created_at": _next_moment()} | fields))
        self.apply(do.open_conversation(info))
        return info

    def say(self, conversation: str, *texts: str, **fields: Any) -> list[Message]:
        """Append a message of the user for each text."""
        known: dict[str, Any] = {"role": "user", "tokens": 3}
        messages = [
            Message(id=new_id("msg"), content=text, timestamp=_next_moment(), **(known | fields))
            for text in texts
        ]
        self.apply(*(do.append_messages(conversation, [message]) for message in messages))
        return messages

    def prune(self, conversation: str, *cuts: PrunedSpan) -> Pruning:
        """Keep the receipt of a pruning with these cuts, and return it."""
        receipt = pruning(*cuts)
        self.apply(do.add_pruning(conversation, receipt))
        return receipt

    def page(self, where: Filter = ALL, **how: Any) -> list[str]:
        """Return the texts of the records that match."""
        return [item.content for item in self.records(where, **how)]

    def found(self, item: Record | str) -> Record:
        """Return what the store has of a record that is there."""
        name = item if isinstance(item, str) else item.id
        return self.store.get(self.scope, [name])[name]

    def seen(self, ordinals: Iterable[int]) -> set[str]:
        """Return the texts of the records with these ordinals."""
        found = self.store.get(self.scope, [*map(int, ordinals)])
        return {item.content for item in found.values()}

    def holders(self, *terms: str, items: bool = False) -> list[dict[int, int]]:
        """Return for each term how often each record holds it, by its ordinal; at most 255."""
        found = self.store.postings(self.scope, terms, items=items)
        counted = ((found[term].keys, found[term].times.clip(0, 255)) for term in terms)
        return [dict(zip(*map(np.ndarray.tolist, each), strict=True)) for each in counted]

    def passing(self, *, order: Order = Order.RECORDED, **fields: Any) -> list[str]:
        """Return the texts that a filter lets through, having seen that all reads agree on them."""
        where = Filter(**({"now": LATER} | fields))
        texts = self.page(where, order=order)
        assert self.seen(self.ordinals(where)) == set(texts)
        assert sum(self.count(where).values()) == len(texts)
        return texts

    def pending(self, work: str = VECTORS, *, of_all: bool = False) -> list[str]:
        """Return the texts of the user's records that wait, or of all users' records."""
        scope, where = None if of_all else self.scope, Filter.at_any_time(waiting=work)
        self.store.queue_newest()
        waiting = self.store.records(scope, where)
        assert sum(self.store.count(scope, where).values()) == len(waiting)
        return [item.content for item in waiting]

    def profile(self, name: str, where: Filter = ACTIVE) -> Entity:
        """Return the entity with this name, which is there."""
        return self.store.entities(self.scope, where, name=name, limit=1)[0]

    def entity_id(self, name: str) -> str:
        """Return the id of the entity with this name."""
        return self.profile(name, ALL).id

    def entity_names(self) -> list[str]:
        """Return the names of all entities, most mentioned first."""
        return [entity.name for entity in self.entities(ACTIVE, type=None, limit=MANY)]

    def episodes(self, session: str, *, after: int = -1, limit: int | None = None) -> list[Record]:
        """Return the episodes of a session beyond a position, but those that were taken back."""
        where = Filter.at_any_time(
            kinds=(Kind.EPISODE,), session=session, beyond=after, subset=Subset.STANDING
        )
        return self.store.records(self.scope, where, order=Order.POSITION, limit=limit)

    def recalled(self, session: str) -> list[str]:
        """Return the ids of the records that were recalled into a conversation, the last first."""
        where = Filter.at_any_time(recalled_in=session)
        return [item.id for item in self.records(where, order=Order.RECALLED)]

    def noteworthy(self, *, now: datetime = LATER, limit: int | None = None) -> list[Record]:
        """Return the facts that are worth a line in MEMORY.md, the most worth first."""
        where = Filter(now=now, subset=Subset.NOTEWORTHY)
        return self.store.records(self.scope, where, order=Order.NOTEWORTHY, limit=limit)

    def everything(self) -> list[object]:
        """Return all that the reads of a store tell about a user."""
        self.store.queue_newest()
        with self.store.snapshot():
            return [*self._indexed(items=True), *self._indexed(items=False), *self.visible()]

    def underived(self) -> list[object]:
        """Return all that they tell but what is derived of names, and when it was."""
        told = self.visible()
        records = [replace(item, enriched_at=None) for item in self.records(ALL)]
        index = self._indexed(items=True), self._indexed(items=False)
        return [records, *index, *told[:2], *told[3:6], *told[11:]]

    def memories(self) -> list[object]:
        """Return all that they tell to who asks for no items."""
        return [*self._indexed(items=False), *self._visible_memories()]

    def visible(self) -> list[object]:
        """Return all that those reads tell which are bounded by an agent, too."""
        items = Filter.at_any_time(kinds=(Kind.ITEM,))
        self.store.queue_newest()
        with self.store.snapshot():
            return [self.records(items), self.namespaces(items), *self._visible_memories()]

    def _indexed(self, *, items: bool) -> list[object]:
        changes = self.index_changes(UNREAD, items=items)
        return [
            rows_of(changes),
            vectors_of(changes),
            changes.lineage,
            self.holders(*TERMS, items=items),
        ]

    def _visible_memories(self) -> list[object]:
        records = self.records(ALL)
        ids, hashes = [item.id for item in records], [item.content_hash for item in records]
        names, talks = self.entity_names(), self.conversations()
        conditions: list[dict[str, Any]] = [
            *({"subset": subset} for subset in Subset),
            *({"recalled_in": name} for name in ("s", "talk", "trip")),
            *({"waiting": work} for work in (VECTORS, ENTITIES)),
            *({"citing": ids}, {"hashes": hashes}, {"most_entities": 0}, {"beyond": 0}),
        ]
        return [
            records,
            [self.history(item.id) for item in records],
            self.trails(ids),
            [
                *(self.related(ids[:1], relation) for relation in RecordRelation),
                self.learned_from(ids[:1]),
                self.last_said(ids),
            ],
            self.get(self.ordinals(ALL)),
            [self.records(Filter.at_any_time(**each)) for each in conditions],
            self.count(ALL),
            [self.entities(ACTIVE, name=name, limit=1) for name in names],
            self.mentioning(names),
            dict(self.decisions()),
            talks,
            [self.messages(name, cleared=True) for name in talks],
            [self.prunings(name) for name in talks],
            [self.tombstones(name) for name in talks],
            (self.sessions(), self.sessions(pending=True)),
            self.usage(),
            self.notes_bases(),
        ]

    def prepare(self) -> list[Step]:
        """Fill the store and return a plan with one action of each kind on what is in it."""
        if self.store.vector_model() is None:
            self.store.reset_vectors(MODEL, DIMENSIONS)
        one, two, three = self.remember("Zoe drinks tea", "Dan eats cake", "secret")
        self.remember("from secret", source_ids=(three.id,))
        self.embed([one, three])
        info = self.open_conversation("trip")
        messages = self.say("trip", "a", "secret", record_id=three.id)
        (message,) = self.say("trip", "b")
        start, end = (self.messages("trip")[place].position or 0 for place in (-3, -1))
        self.prune("trip", cut(start, start + 1, summary="secret"), cut(end, end))
        going = ("gone", "hidden")
        for name in going:
            self.open_conversation(name)
            (turn,) = self.turns(name, f"said in {name}")
            self.say(name, turn.content, record_id=turn.id)
        insertion = self.insertion("new Zoe tea", session_id="s")
        new = insertion.record
        self.embed([self.put("his", "secret tea", "a")])
        item = record("new tea", scope=self.scope, kind=Kind.ITEM, namespace=("a",), key="his")
        return [
            insertion,
            do.Insert(item),
            do.Insert(replace(item, id=new_id("item"), key="new")),
            do.Close(one.id, moment(50), "corrected", superseded_by=new.id),
            do.Reweigh(two.id, moment(50), 0.5, 0.1, "conflict"),
            do.update_record(two.id, at=moment(50), tags=("new",), valid_until=moment(9_000)),
            do.RecordAccess((one.id, two.id), moment(50)),
            do.put_vectors(
                MODEL,
                [
                    (new, EmbeddedText(vector(1, 0, 0, 0), np.ones((2, 3), np.int8))),
                    (one, EmbeddedText(vector(0, 1, 0, 0))),
                ],
            ),
            do.append_messages(
                "trip", [replace(messages[0], id=f"{message.id}x", record_id=new.id)]
            ),
            do.pin_message("trip", message.id, pinned=True),
            do.open_conversation(replace(info, system="new")),
            do.set_token_counts("trip", {message.id: 77}),
            do.update_conversation("trip", calibration=Calibration(1.5, 20)),
            do.add_pruning("trip", pruning(cut(end, end + 1))),
            do.update_conversation("trip", ended_at=moment(50)),
            do.replace_messages("trip", new_id("tmb"), at=moment(50), newest=1),
            do.Reinforce(two.id, SOON, (one.id, three.id)),
            *self._prepare_upkeep(new.id),
            do.keep_notes_base(noted(new, two)),
            *(do.delete_conversation(gone, at=moment(50), erase=gone == "gone") for gone in going),
            do.erase((three.id,), at=moment(50), reason="asked"),
            do.redact(
                (
                    TextPlace(PlaceKind.RECORD, two.id),
                    TextPlace(PlaceKind.MESSAGE, message.id),
                    TextPlace(PlaceKind.SYSTEM, "trip", "trip"),
                ),
                at=moment(51),
                reason="asked",
                messages={message.id: replace(erase_message(message), tokens=5)},
            ),
        ]

    def _prepare_upkeep(self, by: str) -> list[Step]:
        # What upkeep and persons do, where the record ``by`` is new.
        names = [f"{name}{next(_numbers)}" for name in ("Bea", "Cid", "Eve")]
        meeting = "{} met {} and {}".format(*names)
        met, faded, old = self.remember(meeting, "fading", "old", decay_rate=0.1)
        late = record("Kim waits", scope=self.scope)
        (turn,) = self.turns("talk", "turn")
        self.embed([met, faded, old, turn])
        return [
            do.RecordAccess((met.id, faded.id), SOON, "talk"),
            do.Fade(faded.id, SOON, 0.4),
            do.Supersede(faded.id, by, SOON, 0.3, "moved on"),
            do.Retire(old.id, SOON, "faded away"),
            do.Enrich(met.id, SOON, named("Zoe", "Zoe")),
            do.Insert(late),
            do.link_entities({late.id: named(late.content, "Kim")}),
            *(do.merge_entities(names[0], other) for other in names[1:]),
            do.merge_entities(names[2], "old name"),
            do.advance_session("talk", through=turn.position or 0, at=SOON, finished=True),
            do.advance_notes("talk", turn.position or 0),
            do.add_usage("reflect", "m", Usage(requests=1, cost=0.5)),
            *self._prepare_copy(),
        ]

    def _prepare_copy(self) -> list[Step]:
        # What another store tells.
        copied = record("copied tea", scope=self.scope, valid_until=SOON)
        recalls = (SessionRecall("talk", SOON),)
        first = Change(SOON, ChangeAction.ENRICH, "enriched", copied.id)
        session = AgentSession(id="talk", first_seen_at=START, agent=self.scope.agent)
        self.open_conversation("copied")
        self.say("copied", "secret")
        trail = AuditTrail(reason="new", retired=True, changes=(first,), recalls=recalls)
        return [
            do.Insert(copied, trail=trail),
            do.keep_user_metadata(UserMetadata(sessions=(session,))),
        ]


def on_record(target: str, own: str, at: datetime = START) -> list[Step]:
    """Return an action of each kind on the record ``target`` by who has the record ``own``."""
    return [
        do.Close(target, at, "forgotten"),
        do.Reweigh(target, at, 0.0, 9.0, "hidden"),
        do.update_record(target, at=at, tags=("hidden",), valid_until=at),
        do.Fade(target, at, 0.0),
        do.Retire(target, at, "hidden"),
        do.Reinforce(target, at, (own,)),
        do.Supersede(target, own, at, 0.0, "hidden"),
        do.Supersede(own, target, at, 0.0, "hidden"),
        do.Enrich(target, at, named("Zoe", "Zoe")),
        do.erase((target,), at=at, reason="asked"),
    ]


def whole_repr(value: object) -> str:
    """Return all that is in ``value``, however deep: the ``repr`` of results leaves texts out."""
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return f"({', '.join(map(whole_repr, value))})"
    return repr(value)

"""What the contract suite stores: small records with ids and times that only go up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np

from memoranda.model.actions import Append, Insert, OpenConversation, Prune, PutVectors
from memoranda.model.checks import content_hash
from memoranda.model.models import (
    ConversationInfo,
    Kind,
    Mention,
    Message,
    PrunedSpan,
    Pruning,
    Record,
    Scope,
)
from memoranda.model.ports import Store
from memoranda.model.query import Filter, Vector
from memoranda.testing.analyzers import CapitalizedNames

ANA = Scope("ana")
BEN = Scope("ben")
PLANNER = Scope("ana", "planner")
WRITER = Scope("ana", "writer")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = START + timedelta(days=10_000)
ALL = Filter(now=LATER, retired=True)
ACTIVE = Filter(now=LATER)
MODEL = "contract-model"
DIMENSIONS = 4
EXTRACTOR = CapitalizedNames()
_numbers = count(1)


def moment(minutes: float) -> datetime:
    """Return ``START`` and so many minutes."""
    return START + timedelta(minutes=minutes)


def new_id(prefix: str) -> str:
    """Return an id that sorts after all before it."""
    return f"{prefix}_{next(_numbers):026d}"


def record(content: str, *, scope: Scope = ANA, **fields: Any) -> Record:
    """Return a record of ``scope``, recorded a minute after the one before it."""
    kind = fields.pop("kind", Kind.FACT)
    created = fields.pop("created_at", moment(next(_numbers)))
    known: dict[str, Any] = {"event_time": created, "agent": scope.agent}
    if fields.get("source_ids"):
        known["origin"] = "consolidation"  # What a person says stands on no sources.
    return Record(
        id=fields.pop("id", None) or new_id(kind.prefix),
        kind=kind,
        content=content,
        content_hash=content_hash(content),
        user=scope.user,
        created_at=created,
        **(known | fields),
    )


def insert(item: Record, reason: str = "remembered") -> Insert:
    """Return the action that stores ``item`` and the capitalized names in it."""
    return Insert(item, tuple(EXTRACTOR.extract(item.content)), reason)


def remember(store: Store, *contents: str, scope: Scope = ANA, **fields: Any) -> list[Record]:
    """Store a record for each text in one transaction, and return what the store has then."""
    items = [record(content, scope=scope, **fields) for content in contents]
    store.apply(scope, [insert(item) for item in items])
    return store.get_many(Scope(scope.user), [item.id for item in items])


def contents(records: Sequence[Record]) -> list[str]:
    """Return the texts of ``records``."""
    return [item.content for item in records]


def page(store: Store, scope: Scope, where: Filter = ALL) -> list[str]:
    """Return the texts of all records that match."""
    return contents(store.page(scope, where, limit=10_000, after=None))


def seen(store: Store, scope: Scope, ordinals: Sequence[int]) -> set[str]:
    """Return the texts of the records with these ordinals."""
    return {item.content for item in store.by_ordinals(scope, ordinals).values()}


def vector(*numbers: float) -> Vector:
    """Return ``numbers`` as a vector of unit length."""
    row = np.array(numbers, np.float32)
    unit: Vector = row / np.linalg.norm(row)
    return unit


def embed(store: Store, scope: Scope, items: Sequence[Record], row: Vector | None = None) -> None:
    """Give each record the vector ``row``."""
    chosen = vector(1, 2, 3, 4) if row is None else row
    store.apply(scope, [PutVectors(MODEL, {item.id: chosen for item in items})])


def open_conversation(
    store: Store, name: str, *, scope: Scope = ANA, **fields: Any
) -> ConversationInfo:
    """Create a conversation and return what was asked for."""
    created = fields.pop("created_at", moment(next(_numbers)))
    info = ConversationInfo(id=name, created_at=created, **fields)
    store.apply(scope, [OpenConversation(info)])
    return info


def say(
    store: Store, conversation: str, *texts: str, scope: Scope = ANA, **fields: Any
) -> list[Message]:
    """Append a message of the user for each text."""
    known: dict[str, Any] = {"role": "user", "tokens": 3}
    messages = [
        Message(
            id=new_id("msg"), content=text, timestamp=moment(next(_numbers)), **(known | fields)
        )
        for text in texts
    ]
    store.apply(scope, [Append(conversation, message) for message in messages])
    return messages


def placed(*messages: Message, start: int = 0) -> list[Message]:
    """Return ``messages`` as they are in a transcript, the first of them at ``start``."""
    return [replace(message, position=start + number) for number, message in enumerate(messages)]


def cut(first: int, last: int, **fields: Any) -> PrunedSpan:
    """Return the cut of a run of messages."""
    number = last - first + 1
    known: dict[str, Any] = {"messages": number, "tokens": 3 * number, "why": "oldest"}
    return PrunedSpan(
        first=first, last=last, since=moment(first), until=moment(last), **(known | fields)
    )


def pruning(*cuts: PrunedSpan, **fields: Any) -> Pruning:
    """Return the receipt of a pruning, a minute after the one before it."""
    known: dict[str, Any] = {
        "id": new_id("prn"),
        "at": moment(next(_numbers)),
        "trigger": "automatic",
        "why": "90 of 100 tokens in use",
        "strategy": "recency",
        "before": 90,
        "after": 60,
    }
    return Pruning(cuts=cuts, **(known | fields))


def prune(store: Store, conversation: str, *cuts: PrunedSpan, scope: Scope = ANA) -> Pruning:
    """Keep the receipt of a pruning with these cuts, and return it."""
    receipt = pruning(*cuts)
    store.apply(scope, [Prune(conversation, receipt)])
    return receipt


def stored(item: Record, **fields: Any) -> Record:
    """Return ``item`` with what the store adds to it: it fades from what it was stored with."""
    known: dict[str, Any] = {
        "strength": item.confidence if item.strength is None else item.strength,
        "strength_at": item.strength_at or item.created_at,
    }
    return replace(item, **(known | fields))


def named(text: str, *names: str) -> tuple[Mention, ...]:
    """Return mentions of ``names`` as they stand in ``text``."""
    return tuple(
        Mention(name, "other", text.index(name), text.index(name) + len(name)) for name in names
    )


def turns(
    store: Store, session: str, *texts: str, scope: Scope = ANA, **fields: Any
) -> list[Record]:
    """Store an episode of a session for each text."""
    return remember(store, *texts, scope=scope, kind=Kind.EPISODE, session_id=session, **fields)


def of_agents(store: Store, *contents: str, **fields: Any) -> list[Record]:
    """Store a record of nobody, one of an agent and one of another, and return them."""
    scopes = (ANA, PLANNER, WRITER)
    return [
        item
        for scope, content in zip(scopes, contents, strict=True)
        for item in remember(store, content, scope=scope, **fields)
    ]


def entity_id(store: Store, name: str, scope: Scope = ANA) -> str:
    """Return the id of the entity with this name."""
    found = store.entity(scope, name, ALL)
    assert found is not None
    return found.id

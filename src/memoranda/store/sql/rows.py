"""Rows of the database ⇄ values of the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np

from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import (
    NO_ATTRIBUTES,
    Calibration,
    ConversationInfo,
    Image,
    Kind,
    Message,
    PrunedSpan,
    Pruning,
    Record,
    ToolCall,
    ToolResult,
    Trust,
)

Row = Sequence[Any]

STORED_FLOAT = np.dtype("<f2")
"""How the numbers of a vector are kept."""

RECORD = (
    "r.id, r.kind, r.content, r.event_time, r.created_at, r.content_hash, r.agent, "
    "r.session_id, r.position, r.valid_until, r.superseded_by, r.confidence, r.access_count, "
    "r.last_accessed, r.decay_rate, r.source_ids, r.source_role, r.origin, r.trust, r.tags, "
    "r.attributes, r.strength, r.strength_at"
)
MESSAGE = (
    "m.id, m.role, m.content, m.timestamp, m.tokens, m.importance, m.pinned, m.tool_calls, "
    "m.tool_result, m.record_id, m.images, m.task, m.position"
)
CONVERSATION = (
    "c.id, c.created_at, c.system, c.model, c.context_limit, c.ended_at, "
    "(SELECT id FROM messages WHERE conversation_key = c.key AND position <= c.cleared_through "
    "ORDER BY position DESC LIMIT 1), "
    "c.message_count, c.cleared_through + 1, c.revision, c.token_scale, c.token_overhead"
)
TORN = "torn"
"""Marks a stored span of a pruning that lost a message to an erasure."""
PRUNING = "p.id, p.at, p.triggered_by, p.why, p.strategy, p.tokens_before, p.tokens_after, p.spans"
EMPTY_LIST = "[]"
EMPTY_OBJECT = "{}"


def dump(value: object) -> str:
    """Return compact JSON with sorted keys, so that equal values are equal text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def optional_ms(moment: datetime | None) -> int | None:
    """Return milliseconds since 1970, or nothing for nothing."""
    return None if moment is None else to_ms(moment)


def optional_time(milliseconds: int | None) -> datetime | None:
    """Return the moment of ``milliseconds``, or nothing for nothing."""
    return None if milliseconds is None else from_ms(milliseconds)


def record(user: str, row: Row) -> Record:
    """Make the record of ``user`` from a row of ``RECORD``'s columns."""
    return Record(
        id=row[0],
        kind=Kind(row[1]),
        content=row[2],
        user=user,
        event_time=from_ms(row[3]),
        created_at=from_ms(row[4]),
        content_hash=row[5],
        agent=row[6],
        session_id=row[7],
        position=row[8],
        valid_until=optional_time(row[9]),
        superseded_by=row[10],
        confidence=row[11],
        access_count=row[12],
        last_accessed=optional_time(row[13]),
        decay_rate=row[14],
        source_ids=_strings(row[15]),
        source_role=row[16],
        origin=row[17],
        trust=Trust(row[18]),
        tags=_strings(row[19]),
        attributes=NO_ATTRIBUTES
        if row[20] == EMPTY_OBJECT
        else MappingProxyType(json.loads(row[20])),
        strength=row[21],
        strength_at=from_ms(row[22]),
    )


def record_values(item: Record) -> dict[str, Any]:
    """Return the values of a new row of ``records``, but for key, user and position.

    What says nothing of its strength fades from its confidence, since it was recorded.
    """
    return {
        "id": item.id,
        "agent": item.agent,
        "kind": item.kind.value,
        "content": item.content,
        "content_hash": item.content_hash,
        "session_id": item.session_id,
        "event_time": to_ms(item.event_time),
        "created_at": to_ms(item.created_at),
        "valid_until": optional_ms(item.valid_until),
        "superseded_by": item.superseded_by,
        "confidence": item.confidence,
        "access_count": item.access_count,
        "last_accessed": optional_ms(item.last_accessed),
        "decay_rate": item.decay_rate,
        "strength": item.confidence if item.strength is None else item.strength,
        "strength_at": to_ms(item.strength_at or item.created_at),
        "source_ids": dump(item.source_ids) if item.source_ids else EMPTY_LIST,
        "source_role": item.source_role,
        "origin": item.origin,
        "trust": item.trust.value,
        "tags": dump(item.tags) if item.tags else EMPTY_LIST,
        "attributes": dump(dict(item.attributes)) if item.attributes else EMPTY_OBJECT,
    }


def message(row: Row) -> Message:
    """Make a message from a row of ``MESSAGE``'s columns."""
    calls = () if row[7] == EMPTY_LIST else tuple(ToolCall(*call) for call in json.loads(row[7]))
    images = () if row[10] == EMPTY_LIST else tuple(Image(*image) for image in json.loads(row[10]))
    return Message(
        id=row[0],
        role=row[1],
        content=row[2],
        timestamp=from_ms(row[3]),
        tokens=row[4],
        importance=row[5],
        pinned=bool(row[6]),
        tool_calls=calls,
        tool_result=None if row[8] is None else ToolResult(*json.loads(row[8])),
        images=images,
        task=row[11],
        position=row[12],
        record_id=row[9],
    )


def message_values(item: Message) -> dict[str, Any]:
    """Return the values of a new row of ``messages``, but for key, conversation and position."""
    calls = [(call.id, call.name, call.arguments) for call in item.tool_calls]
    images = [(image.url, image.detail) for image in item.images]
    result = item.tool_result
    return {
        "id": item.id,
        "role": item.role,
        "content": item.content,
        "timestamp": to_ms(item.timestamp),
        "tokens": item.tokens,
        "importance": item.importance,
        "pinned": int(item.pinned),
        "tool_calls": dump(calls) if calls else EMPTY_LIST,
        "tool_result": None if result is None else dump((result.call_id, result.is_error)),
        "images": dump(images) if images else EMPTY_LIST,
        "task": item.task,
        "record_id": item.record_id,
    }


def conversation(row: Row) -> ConversationInfo:
    """Make a conversation from a row of ``CONVERSATION``'s columns."""
    return ConversationInfo(
        id=row[0],
        created_at=from_ms(row[1]),
        system=row[2],
        model=row[3],
        context_limit=row[4],
        ended_at=optional_time(row[5]),
        cleared_through=row[6],
        messages=row[7],
        start=row[8],
        revision=row[9],
        calibration=Calibration(row[10], row[11]),
    )


def pruning(row: Row) -> Pruning:
    """Make the receipt of a pruning from a row of ``PRUNING``'s columns."""
    return Pruning(
        id=row[0],
        at=from_ms(row[1]),
        trigger=row[2],
        why=row[3],
        strategy=row[4],
        before=row[5],
        after=row[6],
        cuts=tuple(map(_span, json.loads(row[7]))),
    )


def _span(stored: dict[str, Any]) -> PrunedSpan:
    known = {name: value for name, value in stored.items() if name != TORN}
    times = {name: from_ms(stored[name]) for name in ("since", "until")}
    return PrunedSpan(**(known | times))


def _strings(text: str) -> tuple[str, ...]:
    return () if text == EMPTY_LIST else tuple(json.loads(text))

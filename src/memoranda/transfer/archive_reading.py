"""Reads the lines of memoranda's own file format; see :mod:`memoranda.transfer.archive`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from memoranda.conversation.formats.turns import parse_role
from memoranda.errors import InvalidInput
from memoranda.model.actions import Decide
from memoranda.model.json_object import JsonObject
from memoranda.model.models import (
    NO_ATTRIBUTES,
    Calibration,
    ConversationInfo,
    Cut,
    Image,
    Message,
    Pruning,
    Record,
    ToolCall,
    ToolResult,
    Trust,
)
from memoranda.model.scope import Scope
from memoranda.model.text import clean, content_hash, storable
from memoranda.records.drafts import parse_kind, parse_metadata, parse_tags
from memoranda.transfer.archive import ENDINGS, ENRICHED, VERSION, Kept, Pruned, Said, Session
from memoranda.transfer.formats import MEMORANDA

# Version 1 knew no prunings, calibration, images and tasks; version 2 neither strength, endings,
# sessions nor decisions on names.
READABLE = (1, 2, VERSION)
RECORD_KEYS = frozenset({item.name for item in fields(Record)} - {"user"} | {"type", *ENDINGS})
SESSION_KEYS = frozenset({"type", "id", "consolidated_at", "through"})
DECISION_KEYS = frozenset({"type", "name", "target"})
CONVERSATION_KEYS = frozenset(
    {item.name for item in fields(ConversationInfo)} - {"messages", "start", "revision"} | {"type"}
)
PART = frozenset({"type", "conversation"})
MESSAGE_KEYS = frozenset({item.name for item in fields(Message)} - {"position"} | PART)
PRUNING_KEYS = frozenset({item.name for item in fields(Pruning)} | PART)
CUT_KEYS = frozenset(item.name for item in fields(Cut))


def is_header(value: object) -> bool:
    """Whether a value is the first line of a file of this format."""
    return isinstance(value, Mapping) and value.get("format") == MEMORANDA


def check_header(value: Mapping[str, Any]) -> datetime | None:
    """Return the moment of an older file, of which :func:`ended` has to guess the endings.

    Raises:
        InvalidInput: it is of a newer memoranda, or of no version.
    """
    version = value.get("version")
    if version not in READABLE:
        message = (
            f"version={version!r} of the format is unknown, this memoranda reads up to {VERSION}; "
            f"upgrade with pip install -U memoranda"
        )
        raise InvalidInput(message)
    if version == VERSION:
        return None
    return JsonObject(value).optional_moment("exported_at") or datetime.max.replace(tzinfo=UTC)


def parse(
    value: object, scope: Scope, places: Mapping[str, int]
) -> Decide | Kept | Session | ConversationInfo | Said | Pruned:
    """Return what a line holds, as the scope's own.

    Its records belong to the scope's user, and where the scope names an agent, those of
    any agent to that one.

    Args:
        value: the line.
        scope: whose it will be.
        places: positions by id of the messages that came before in its conversation.

    Raises:
        InvalidInput: it is not as an export writes it; the message names the key.
    """
    line = JsonObject(value)
    match line.text("type"):
        case "record":
            return _read_record(line, scope)
        case "decision":
            return _read_decision(line)
        case "session":
            return _read_session(line)
        case "conversation":
            return _read_conversation(line)
        case "message":
            return _read_message(line)
        case "pruning":
            return _read_pruning(line, places)
    message = (
        f"type={line.get('type')!r} is unknown; "
        f"use record, decision, session, conversation, message or pruning"
    )
    raise InvalidInput(message)


def ended(kept: Kept, exported_at: datetime) -> Kept:
    """Return a record of an older file, which does not say what ended it.

    What had ended when the file was written counts as forgotten, so that nobody learns from it.
    """
    end = kept.record.valid_until
    return kept if end is None or end > exported_at else replace(kept, closed_at=end)


def _read_decision(line: JsonObject) -> Decide:
    line.require_only(DECISION_KEYS)
    return Decide(line.text("name"), line.text("target"))


def _read_session(line: JsonObject) -> Session:
    line.require_only(SESSION_KEYS)
    return Session(
        id=line.text("id"),
        consolidated_at=line.optional_moment("consolidated_at"),
        through=line.optional_text("through"),
    )


def _read_record(line: JsonObject, scope: Scope) -> Kept:
    line.require_only(RECORD_KEYS)
    kind = parse_kind(line.get("kind"))
    content, agent = line.text("content"), line.optional_text("agent")
    attributes = dict(parse_metadata(line.get("attributes")))
    attributes.pop(ENRICHED, None)
    last_accessed = line.optional_moment("last_accessed")
    record = Record(
        id=_id(line, kind.prefix),
        kind=kind,
        content=content,
        content_hash=content_hash(content),  # A line may have been edited by hand.
        user=scope.user,
        agent=(scope.agent or agent) if agent else None,
        session_id=line.optional_text("session_id"),
        # Whether it has a place; the store counts places anew.
        position=None if line.get("position") is None else line.whole("position"),
        event_time=line.moment("event_time"),
        created_at=line.moment("created_at"),
        valid_until=line.optional_moment("valid_until"),
        superseded_by=line.optional_text("superseded_by"),
        confidence=line.number("confidence", 1.0, most=1.0),
        access_count=line.whole("access_count"),
        last_accessed=last_accessed,
        decay_rate=line.number("decay_rate", 0.0),
        strength=line.share("strength"),
        strength_at=line.optional_moment("strength_at") or last_accessed,
        source_ids=tuple(clean(source, "a source id") for source in line.list("source_ids")),
        source_role=line.optional_text("source_role"),
        origin=line.optional_text("origin") or f"import:{MEMORANDA}",
        trust=_trust(line),
        tags=parse_tags(line.list("tags")),
        attributes=attributes or NO_ATTRIBUTES,
    )
    return Kept(record, line.optional_moment("closed_at"), line.optional_moment("retired_at"))


def _read_conversation(line: JsonObject) -> ConversationInfo:
    line.require_only(CONVERSATION_KEYS)
    limit = None if line.get("context_limit") is None else line.whole("context_limit")
    return ConversationInfo(
        id=line.text("id"),
        system=line.optional_text("system"),
        model=line.optional_text("model"),
        context_limit=limit,
        created_at=line.moment("created_at"),
        ended_at=line.optional_moment("ended_at"),
        cleared_through=line.optional_text("cleared_through"),
        calibration=_calibration(line),
    )


def _calibration(line: JsonObject) -> Calibration:
    if line.get("calibration") is None:
        return Calibration()
    inner = JsonObject(line.get("calibration"))
    return Calibration(inner.number("scale", 1.0), inner.whole("overhead"))


def _read_message(line: JsonObject) -> Said:
    line.require_only(MESSAGE_KEYS)
    message = Message(
        id=_id(line, "msg"),
        role=parse_role(line.get("role")),
        content=_blank_allowed(line, "content"),
        timestamp=line.moment("timestamp"),
        tokens=line.whole("tokens"),
        importance=line.share("importance"),
        pinned=line.flag("pinned"),
        tool_calls=tuple(_call(JsonObject(call)) for call in line.list("tool_calls")),
        tool_result=_result(line),
        images=tuple(_image(JsonObject(image)) for image in line.list("images")),
        task=_optional_blank(line, "task"),
        record_id=line.optional_text("record_id"),
    )
    return Said(line.text("conversation"), message)


def _call(line: JsonObject) -> ToolCall:
    return ToolCall(*(_blank_allowed(line, name) for name in ("id", "name", "arguments")))


def _result(line: JsonObject) -> ToolResult | None:
    if line.get("tool_result") is None:
        return None
    inner = JsonObject(line.get("tool_result"))
    return ToolResult(_blank_allowed(inner, "call_id"), inner.flag("is_error"))


def _image(line: JsonObject) -> Image:
    return Image(line.text("url"), line.optional_text("detail") or "auto")


def _read_pruning(line: JsonObject, places: Mapping[str, int]) -> Pruned:
    line.require_only(PRUNING_KEYS)
    pruning = Pruning(
        id=_id(line, "prn"),
        at=line.moment("at"),
        trigger=line.text("trigger"),
        why=line.text("why"),
        strategy=line.text("strategy"),
        before=line.whole("before"),
        after=line.whole("after"),
        cuts=tuple(_read_cut(JsonObject(cut), places) for cut in line.list("cuts")),
    )
    return Pruned(line.text("conversation"), pruning)


def _read_cut(line: JsonObject, places: Mapping[str, int]) -> Cut:
    line.require_only(CUT_KEYS)
    first, last = (_place(line, name, places) for name in ("first", "last"))
    if first > last:
        message = f"first={line.get('first')!r} comes after last={line.get('last')!r}"
        raise InvalidInput(message)
    return Cut(
        first=first,
        last=last,
        messages=line.whole("messages"),
        tokens=line.whole("tokens"),
        since=line.moment("since"),
        until=line.moment("until"),
        why=line.text("why"),
        score=line.share("score"),
        summary=_optional_blank(line, "summary"),
    )


def _place(line: JsonObject, name: str, places: Mapping[str, int]) -> int:
    place = places.get(line.text(name))
    if place is None:
        message = f"{name}={line.get(name)!r:.80} is no message before it in the conversation"
        raise InvalidInput(message)
    return place


def _blank_allowed(line: JsonObject, name: str) -> str:
    value = line.get(name)
    return (
        storable(value, name) if isinstance(value, str) and not value.strip() else line.text(name)
    )


def _optional_blank(line: JsonObject, name: str) -> str | None:
    return None if line.get(name) is None else _blank_allowed(line, name)


def _id(line: JsonObject, prefix: str) -> str:
    name = line.text("id")
    if not name.startswith(f"{prefix}_"):
        message = f"id={name!r:.80} must begin with {prefix}_"
        raise InvalidInput(message)
    return name


def _trust(line: JsonObject) -> Trust:
    value = line.get("trust")
    if value is None:
        return Trust.PERSON
    if not isinstance(value, str) or value not in set(Trust):
        message = f"trust={value!r:.80} is unknown; use one of {', '.join(Trust)}"
        raise InvalidInput(message)
    return Trust(value)

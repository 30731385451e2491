"""Reads what others wrote: chat messages in OpenAI's form, and LoCoMo conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.errors import InvalidInput
from memoranda.model.json_object import JsonObject
from memoranda.model.models import ConversationInfo, Kind, Message
from memoranda.model.ports import Progress
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.records.drafts import Draft
from memoranda.transfer.batches import Additions, Moved, Placed, Steps
from memoranda.transfer.formats import LOCOMO, Item, JsonFile, located

MONTHS = {
    "january": 1,
    "february": 2,
    "march": 3,
    "april": 4,
    "may": 5,
    "june": 6,
    "july": 7,
    "august": 8,
    "september": 9,
    "october": 10,
    "november": 11,
    "december": 12,
}
DATE = re.compile(
    r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE
)
"""Such as ``1:56 pm on 8 May, 2023``."""
SESSION = re.compile(r"session_(\d+)")
HALF_DAY = 12

# OpenAI


def import_openai(parts: Parts, scope: Scope, file: JsonFile, progress: Progress | None) -> Moved:
    """Add the conversations of ``file``, named after it: ``trip``, ``trip-2`` and so on.

    Each is added in one transaction. Of one that is stored already, only the messages that
    are missing at its end are added.

    Raises:
        InvalidInput: a message cannot be stored, or a stored conversation of the same name
            went otherwise; nothing was written.
    """
    total = sum(1 for talk in _talks(file) if _missing(parts, scope, *talk) is not None)
    steps, moved = Steps(total, progress), Moved()
    for place, name, messages in _talks(file):
        new = _missing(parts, scope, place, name, messages)
        if new:
            transcript = parts.conversations(scope).transcript(name)
            transcript.open()
            transcript.append(new)
            transcript.announce()
        moved = moved.plus(Moved(messages=len(new), skipped=len(messages) - len(new)))
        steps.advance(1)
    return moved


def _talks(file: JsonFile) -> Iterator[tuple[str, str, list[Item]]]:
    """Return place, name and messages of each conversation."""
    stem = file.path.stem
    first = file.first().value
    if isinstance(first, Mapping) and "role" in first:
        yield str(file.path), stem, list(file.items())
        return
    for number, item in enumerate(file.items(), 1):
        with located(item.place):
            found = JsonObject(item.value).list("messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
        name = stem if number == 1 else f"{stem}-{number}"
        places = (f"{item.place}, message {place}" for place in range(1, len(found) + 1))
        yield item.place, name, [Item(*pair) for pair in zip(places, found, strict=True)]


def _missing(
    parts: Parts, scope: Scope, place: str, id: str, found: Sequence[Item]
) -> list[Message]:
    """Return the messages of a conversation that are not stored: those at its end, or none."""
    info = ConversationInfo(id=id, created_at=parts.now())
    # It refuses what the stored one would refuse.
    trial = Conversation.over(
        MemoryTranscript(info), catalog=parts.catalog, clock=parts.clock, ids=parts.ids
    )
    messages: list[Message] = []
    for item in found:
        with located(item.place):
            shape = _current_form(item.value)
            if not _is_blank(shape):
                messages.extend(trial.extend([shape]))
    return unstored(parts, scope, place, id, messages)


def unstored(
    parts: Parts,
    scope: Scope,
    place: str,
    id: str,
    messages: Sequence[Message],
    *,
    remedy: str = "Rename the file to import it beside that one",
) -> list[Message]:
    """Return which of a conversation's messages are not stored: those at its end, or none.

    Args:
        parts: the store.
        scope: whose conversation it is.
        place: where it stands, for the error.
        id: its name.
        messages: all of it.
        remedy: what to do where another one has that name.

    Raises:
        InvalidInput: a stored conversation of the same name went otherwise.
    """
    stored = parts.store.messages(Scope(scope.user), id, cleared=True)
    for old, new in zip(stored, messages, strict=False):
        if _said(old) != _said(new):
            message = (
                f"{place}: another conversation {id!r} is stored already; it differs from "
                f"{new.content!r:.60} on. {remedy}"
            )
            raise InvalidInput(message)
    return list(messages[len(stored) :])


def _said(message: Message) -> tuple[object, ...]:
    said = message.role, message.content, message.images
    return *said, message.tool_calls, message.tool_result


def _current_form(message: Any) -> Any:
    """Return a message with a ``function_call``, as OpenAI's older files have it, as of today."""
    if not isinstance(message, Mapping) or not isinstance(message.get("function_call"), Mapping):
        return message
    call = message["function_call"]
    calls = [{"id": call.get("name"), "type": "function", "function": call}]
    return {**message, "tool_calls": calls}


def _is_blank(message: Any) -> bool:
    """Whether a message says nothing: no text, no call, no result. There is nothing to keep."""
    return (
        isinstance(message, Mapping)
        and message.get("role") in {"system", "developer", "user", "assistant"}
        and not message.get("tool_calls")
        and not str(message.get("content") or "").strip()
    )


# LoCoMo


def import_locomo(
    parts: Parts, scope: Scope, file: JsonFile, progress: Progress | None
) -> tuple[tuple[str, ...], Moved]:
    """Add each conversation as episodes of a user of its own, named by its ``sample_id``.

    Each session keeps its name, each turn its speaker, and its time is the session's plus a
    second for each turn. Times of LoCoMo name no zone; they are taken as UTC.

    Returns:
        the users, and how many records were added.

    Raises:
        InvalidInput: a conversation is not in LoCoMo's form; nothing was written.
    """
    users: list[str] = []
    additions: list[Additions] = []
    for item in file.items():
        with located(item.place):
            fields = JsonObject(item.value)
            user, talk = fields.text("sample_id"), JsonObject(fields.get("conversation"))
        users.append(user)
        drafts = partial(_episodes, item.place, talk)
        additions.append(Additions(parts, Scope(user, scope.agent), drafts))
    steps, moved = Steps(sum(found.total for found in additions), progress), Moved()
    for found in additions:
        moved = moved.plus(found.store(steps))
    return tuple(dict.fromkeys(users)), moved


def _episodes(place: str, talk: JsonObject) -> Iterator[Placed]:
    numbers = sorted(int(match[1]) for name in talk.names() if (match := SESSION.fullmatch(name)))
    for number in numbers:
        session = f"session_{number}"
        turns = talk.list(session)
        if not turns:
            continue
        with located(f"{place}, {session}"):
            start = session_date(talk.get(f"{session}_date_time"))
        for turn, value in enumerate(turns, 1):
            where = f"{place}, {session}, turn {turn}"
            with located(where):
                draft = _episode(JsonObject(value), session, start + timedelta(seconds=turn))
            if draft.content:
                yield Placed(where, draft)


def _episode(turn: JsonObject, session: str, at: datetime) -> Draft:
    text, caption = turn.get("text") or "", turn.optional_text("blip_caption")
    if not isinstance(text, str):
        message = f"text={text!r:.80} must be text"
        raise InvalidInput(message)
    shared = f" [shares a photo: {caption}]" if caption else ""
    return Draft(
        content=f"{text}{shared}" if text.strip() else shared.strip(),
        kind=Kind.EPISODE,
        session=session,
        role=turn.text("speaker"),
        event_time=at,
        metadata={"dia_id": turn.text("dia_id")},
        origin=f"import:{LOCOMO}",
    )


def session_date(value: object) -> datetime:
    """Return the moment of a text such as ``1:56 pm on 8 May, 2023``, taken as UTC.

    Raises:
        InvalidInput: it is something else.
    """
    match = DATE.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        hour, minute, half, day, month, year = match.groups()
        hours = int(hour) % HALF_DAY + (HALF_DAY if half.lower() == "p" else 0)
        number = MONTHS.get(month.lower(), 0)  # There is no month 0: the error of any bad date.
        with suppress(ValueError):
            return datetime(int(year), number, int(day), hours, int(minute), tzinfo=UTC)
    message = f"the date {value!r:.80} cannot be read; write it as 1:56 pm on 8 May, 2023"
    raise InvalidInput(message)

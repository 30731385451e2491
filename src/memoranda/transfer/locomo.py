"""The conversations of the LoCoMo benchmark, as episodes of a user for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind, Scope, Trust
from memoranda.records.drafts import Draft
from memoranda.text.calendar import calendar_numbers
from memoranda.text.json_values import list_of, object_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer.batches import ImportTarget, PlacedDraft
from memoranda.transfer.json_files import JsonFile, LeftOut, text_of

# Such as ``1:56 pm on 8 May, 2023``.
DATE = compile_pattern(
    r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE
)
SESSION = compile_pattern(r"session_(\d+)")
HALF_DAY = 12


def read_drafts(file: JsonFile, target: ImportTarget, _: LeftOut) -> Iterator[PlacedDraft]:
    """Yield each conversation as episodes of a user of its own, named by its ``sample_id``.

    Each session keeps its name, each turn its speaker, and its time is the session's plus a
    second for each turn. Times of LoCoMo name no zone; they are taken as UTC.

    Raises:
        InvalidInput: a conversation is not in LoCoMo's form; the message names the turn.
    """
    for place, talk in file.items():
        with located(place):
            whose = Scope(text_of(talk, "sample_id"), target.scope.agent)
            conversation = object_of(talk.get("conversation"))
        numbers = [int(m[1]) for name in conversation if (m := SESSION.fullmatch(name))]
        for session in (f"session_{number}" for number in sorted(numbers)):
            turns = list_of(conversation, session)
            if not turns:
                continue
            with located(f"{place}, {session}"):
                start = session_date(conversation.get(f"{session}_date_time"))
            for turn, value in enumerate(turns, 1):
                where = f"{place}, {session}, turn {turn}"
                with located(where):
                    draft = _episode(value, session, start + timedelta(seconds=turn))
                if draft.content:
                    yield PlacedDraft(where, whose, draft, key=f"{session}\n{turn}")


def _episode(turn: Mapping[str, Any], session: str, at: datetime) -> Draft:
    speaker, key = text_of(turn, "speaker"), text_of(turn, "dia_id")
    text = text_of(turn, "text") if turn.get("text") else ""
    shared = f"[shares a photo: {caption}]" if (caption := turn.get("blip_caption")) else ""
    return Draft(
        content=" ".join(filter(None, (text, shared))),
        kind=Kind.EPISODE,
        session=session,
        role=speaker,
        trust=Trust.PERSON,  # It is a talk of two people.
        event_time=at,
        metadata={"dia_id": key},
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
        # There is no month 0: the error of any bad date.
        number = calendar_numbers("months", "en").get(month.lower(), 0)
        with suppress(ValueError):
            return datetime(int(year), number, int(day), hours, int(minute), tzinfo=UTC)
    raise InvalidInput(f"the date {value!r:.80} cannot be read; write it as 1:56 pm on 8 May, 2023")

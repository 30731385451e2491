"""The conversations of the LoCoMo benchmark, as episodes of a user for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind, Scope, Trust
from memoranda.records.drafts import Draft
from memoranda.text.json_values import list_of, object_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer import sources

# Such as ``1:56 pm on 8 May, 2023``.
DATE = "%I:%M %p on %d %B, %Y"
SESSION = compile_pattern(r"session_(\d+)")


def read_records(
    path: Path, target: sources.ImportTarget, _: sources.ImportCounts
) -> Iterator[sources.ForeignRecord]:
    """Yield each conversation as episodes of a user of its own, named by its ``sample_id``.

    Each session keeps its name, each turn its speaker, and its time is the session's plus a
    second for each turn. Times of LoCoMo name no zone; they are taken as UTC.

    Raises:
        InvalidInput: a conversation is not in LoCoMo's form; the message names the turn.
    """
    for place, talk in sources.read_values(path):
        with located(place):
            whose = Scope(sources.text_of(talk, "sample_id"), target.scope.agent)
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
                    yield sources.ForeignRecord(where, whose, draft, key=f"{session}\n{turn}")


def _episode(turn: Mapping[str, Any], session: str, at: datetime) -> Draft:
    speaker, key = sources.text_of(turn, "speaker"), sources.text_of(turn, "dia_id")
    text = sources.text_of(turn, "text") if turn.get("text") else ""
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


def session_date(value: Any) -> datetime:
    """Return the moment of a text such as ``1:56 pm on 8 May, 2023``, taken as UTC.

    Raises:
        InvalidInput: it is something else.
    """
    with suppress(ValueError, TypeError):
        return datetime.strptime(value, DATE).replace(tzinfo=UTC)
    raise InvalidInput(f"the date {value!r:.80} cannot be read; write it as 1:56 pm on 8 May, 2023")

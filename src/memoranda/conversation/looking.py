"""Opens stored conversations for people: only those that exist, and without a trace.

An agent that opens a conversation may start it, or start a session in it. A person who looks
does neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.limits import checked
from memoranda.conversation.markers import reference
from memoranda.conversation.rehearsal import Rehearsal
from memoranda.conversation.talk_stats import ConversationStats
from memoranda.conversation.transcript import Transcript
from memoranda.conversation.transcripts import StoredTranscript
from memoranda.errors import NotFound
from memoranda.memory import Memory
from memoranda.model.models import ConversationInfo, Message
from memoranda.model.text import clean

NEARBY = 3  # ids that are named where one is not found
ALIKE = 0.5
POSITION = re.compile(r"#?(\d{1,15})")
SPAN = re.compile(r"#?(\d{1,15})(?:-#?(\d{1,15}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A stored conversation in one line.

    Attributes:
        id: its name.
        created_at: when it was first opened.
        ended_at: when it was ended, if it was.
        model: the model it is held with.
        system: the system prompt.
        messages: how many messages the transcript holds.
        last_message: when the newest was said.
        stats: its view in figures.
    """

    id: str
    created_at: datetime
    ended_at: datetime | None
    model: str | None
    system: str | None
    messages: int
    last_message: datetime | None
    stats: ConversationStats


def overviews(memory: Memory, limit: int | None = None) -> list[Overview]:
    """Return the ``limit`` conversations that were begun last, or all, the newest first."""
    return [_overview(memory, info) for info in memory.conversations()[:limit]]


def _overview(memory: Memory, info: ConversationInfo) -> Overview:
    transcript = _transcript(memory, info.id)
    newest = transcript.messages(last=1, cleared=True)
    return Overview(
        id=info.id,
        created_at=info.created_at,
        ended_at=info.ended_at,
        model=info.model,
        system=info.system,
        messages=info.messages,
        last_message=newest[0].timestamp if newest else None,
        stats=_conversation(memory, Rehearsal(transcript)).stats(),
    )


def opened(memory: Memory, id: str, *, strategy: str | None = None) -> Conversation:
    """Return a conversation that exists, to change it. Opening it changes nothing yet.

    Args:
        memory: where it is stored.
        id: its name.
        strategy: how its view is chosen; that of the settings, if not given.

    Raises:
        NotFound: there is none of that name; the message names similar ones.
        InvalidInput: there is no such strategy.
    """
    return _conversation(memory, _transcript(memory, id), strategy)


def rehearsed(memory: Memory, id: str, *, strategy: str | None = None) -> Conversation:
    """Return a conversation as :func:`opened` does, on which nothing leaves a trace.

    What it answers to a change is what the change would do.
    """
    return _conversation(memory, Rehearsal(_transcript(memory, id)), strategy)


def message_at(conversation: Conversation, place: str) -> Message:
    """Return the message with the id ``place``, or at the position, as in ``#12`` or ``12``.

    Raises:
        NotFound: there is none since the conversation was last cleared.
    """
    found = POSITION.fullmatch(place.strip())
    position = int(found[1]) if found else None
    messages = conversation.messages
    for message in messages:
        if message.id == place or (position is not None and message.position == position):
            return message
    there = "there are none"
    if messages:
        there = f"they are #{messages[0].position} to #{messages[-1].position}"
    raise NotFound(f"there is no message {place!r} in conversation {conversation.id!r}; {there}")


def expanded(conversation: Conversation, place: str) -> tuple[Message, ...]:
    """Return the messages of a marker (``cut_12-26``) or of positions (``12-26``, ``#12``).

    Raises:
        InvalidInput: it names no part of a conversation.
        NotFound: no message of this conversation is there.
    """
    found = SPAN.fullmatch(place.strip())
    if found is None:
        return conversation.expand(place)
    return conversation.expand(reference(int(found[1]), int(found[2] or found[1])))


def _transcript(memory: Memory, id: str) -> StoredTranscript:
    parts, scope = memory._parts, memory._scope  # noqa: SLF001 - it sees inside, so that no door has to
    if parts.store.conversation(scope, clean(id, "id")) is None:
        known = [info.id for info in memory.conversations()]
        raise NotFound(
            f"there is no conversation {id!r} for user {memory.user!r}; {_near(id, known)}"
        )
    return StoredTranscript(parts, scope, id)


def _near(id: str, known: Sequence[str]) -> str:
    folded = id.casefold()
    alike = [each for each in known if folded in each.casefold()]
    alike += get_close_matches(id, known, NEARBY, ALIKE)
    names = list(dict.fromkeys(alike))[:NEARBY]
    if names:
        return f"there is {', '.join(map(repr, names))}"
    if known:
        return f"the newest are {', '.join(map(repr, known[:NEARBY]))}"
    return "there are none yet"


def _conversation(
    memory: Memory, transcript: Transcript, strategy: str | None = None
) -> Conversation:
    # No session of an agent begins here, whatever the settings say of that.
    usual = memory.settings.conversation.model_copy(update={"at_session_start": "keep"})
    limits = checked(usual, strategy=strategy)
    parts = memory._parts.talk()  # noqa: SLF001 - it sees inside, so that no door has to
    return Conversation.over(transcript, limits, parts)

"""What a conversation can say and do without its view: read, pin, clear, end, subscribe."""

from __future__ import annotations

from datetime import datetime

from memoranda.conversation.formats.turns import parse_role
from memoranda.conversation.markers import positions
from memoranda.conversation.transcript import Transcript
from memoranda.conversation.units import Grouping
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import limited
from memoranda.model.events import Callback, Events
from memoranda.model.models import Marker, Message, Pruning
from memoranda.model.times import require_aware
from memoranda.parts import TalkParts

EVENTS = (
    "added",
    "approaching_limit",
    "pruned",
    "task_boundary",
    "summarized",
    "cleared",
    "ended",
)


class Spoken:
    """The verbs of a conversation that need its transcript alone."""

    _transcript: Transcript
    _events: Events
    _parts: TalkParts

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._transcript.info().id

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._transcript.info().system

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages since the last :meth:`clear`, in order."""
        return tuple(self._transcript.messages())

    @property
    def prunings(self) -> tuple[Pruning, ...]:
        """The receipts of all prunings, oldest first: what went, when and why."""
        return tuple(self._transcript.prunings())

    def __len__(self) -> int:
        """Return how many messages there are since the last :meth:`clear`."""
        return len(self._transcript.messages())

    def __bool__(self) -> bool:
        """A conversation is true also while it is empty."""
        return True

    def recent(self, n: int) -> tuple[Message, ...]:
        """Return the last ``n`` messages in order."""
        return tuple(self._transcript.messages(last=limited(n, "n")))

    def by_role(self, role: str) -> tuple[Message, ...]:
        """Return the messages of one role in order."""
        wanted = parse_role(role)
        return tuple(message for message in self.messages if message.role == wanted)

    def window(self, turns: int | None = None) -> tuple[Message, ...]:
        """Return the last ``turns`` turns: from a user's message to the next (seed 001).

        Args:
            turns: how many; the setting ``conversation.window``, if not given.
        """
        usual = self._parts.settings.conversation.window
        most = limited(usual if turns is None else turns, "turns")
        found = self.messages
        starts = [index for index, message in enumerate(found) if message.role == "user"]
        return found[starts[-most] :] if len(starts) >= most else found

    def expand(self, marker: Marker | str) -> tuple[Message, ...]:
        """Return the messages that a marker stands for, exactly as they were said.

        Without those that were erased since.

        Args:
            marker: a marker of a view, its id such as ``cut_12-26``, or a text with it.

        Raises:
            InvalidInput: it names no part of a conversation.
            NotFound: no message of this conversation is there.
        """
        first, last = positions(marker)
        found = [
            message
            for message in self._transcript.messages(after=first - 1, cleared=True)
            if (message.position or 0) <= last
        ]
        newest = self._transcript.messages(last=1, cleared=True)
        if not found and (not newest or first > (newest[0].position or 0)):
            raise NotFound(f"there are no messages from {first} to {last} in this conversation")
        return tuple(found)

    def pin(self, id: str, *, pinned: bool = True) -> None:
        """Keep a message in every context, or stop keeping it.

        A call of tools is pinned with its results, and they with it. What a pruning took out
        comes back.

        Raises:
            NotFound: it is not in this conversation.
        """
        self._transcript.pin(id, pinned=pinned)
        for unit in Grouping(self._transcript.messages()).units:
            ids = [message.id for message in unit.messages]
            if len(ids) > 1 and id in ids:
                for other in ids:
                    self._transcript.pin(other, pinned=pinned)

    def clear(self) -> None:
        """Start afresh: what was said so far stays out of every later context.

        The system prompt stays. Nothing is lost: the transcript keeps the messages, and
        with a memory their episodes can still be found.
        """
        self._transcript.clear()
        self._events.emit("cleared", self.id)

    def end(self) -> None:
        """Mark the conversation as finished. It can still be read, and gone on with."""
        self._transcript.end(self._now())
        self._events.emit("ended", self.id)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``.

        Events and their subjects: ``added`` (the message), ``approaching_limit`` (tokens,
        limit, percent), ``pruned`` (the receipt), ``task_boundary`` (its first message, why),
        ``summarized`` (id of the receipt), ``cleared`` and ``ended`` (the conversation's id).
        What a callback raises is logged and goes no further.

        Raises:
            InvalidInput: there is no such event.
        """
        if event not in EVENTS:
            raise InvalidInput(f"event={event!r} never happens; use one of {', '.join(EVENTS)}")
        given: object = callback
        if not callable(given):
            message = f"callback={callback!r:.80} cannot be called; pass a function of one event"
            raise InvalidInput(message)
        self._events.on(event, callback)

    def _now(self) -> datetime:
        return require_aware(self._parts.clock.now(), "clock")

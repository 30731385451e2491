"""Whether the current task was said to be complete, and whether a request asks for more of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from memoranda.conversation.signals import Signals
from memoranda.model.models import Message
from memoranda.text.languages import LanguageData

Read = Callable[[Message], Signals]

SHORTLY = 3  # turns that may stand between a completion statement and the next request
ENDING = 300  # characters at the end of an answer in which it asks back

_ENGLISH = LanguageData("en", "topics")
_OFFERS = _ENGLISH.pattern("offers")
_GOES_ON = _ENGLISH.pattern("continues")


@dataclass(slots=True)
class _ReadMessage:
    message: Message
    said: Signals | None = None


class TaskProgress:
    """The last turns of the current task. Reads their signals when asked. Not thread-safe."""

    def __init__(self, read: Read) -> None:
        """Start without any; ``read`` returns the signals of a message."""
        self._read = read
        self._heard: deque[_ReadMessage] = deque(maxlen=SHORTLY + 1)
        self._newest: _ReadMessage | None = None

    def read(self, message: Message) -> Signals:
        """Return the signals of the message that comes next."""
        if self._newest is None or self._newest.message is not message:
            self._newest = _ReadMessage(message)
        return self._signals(self._newest)

    def take(self, message: Message) -> None:
        """Add what a user or the assistant said, or the calls that it made."""
        newest, self._newest = self._newest, None
        if newest is not None and newest.message is message:
            self._heard.append(newest)
        elif message.tool_calls or message.content.strip():
            self._heard.append(_ReadMessage(message))

    def clear(self) -> None:
        """Forget the turns: a new task begins."""
        self._heard.clear()

    def done(self) -> int | None:
        """Return how many turns came after the one that said that the task is complete.

        ``None`` if none of the last did, or if the work went on after it.
        """
        for ago, heard in enumerate(reversed(self._heard)):
            message = heard.message
            if message.tool_calls:
                return None
            said = self._signals(heard)
            if message.role == "user" and (said.directive or said.opening):
                return None
            if said.completion and not (message.role == "assistant" and _goes_on(message)):
                return ago
        return None

    def new_request(self, message: Message) -> Signals | None:
        """Return the signals of a user's message that asks for something after a completed task.

        ``None`` for one that asks for nothing, reports a failure, corrects, refers to what
        was said, sets a rule for what is done, or may answer a question.
        """
        said = self.read(message)
        if said.references or said.error or said.correction:
            return None
        if not (said.opening or (said.directive and not said.constraint and not self._asked())):
            return None
        return said if said.completion or self.done() is not None else None

    def _signals(self, heard: _ReadMessage) -> Signals:
        if heard.said is None:
            heard.said = self._read(heard.message)
        return heard.said

    def _asked(self) -> bool:
        """Return whether the last turn is a question about the task."""
        if not self._heard:
            return False
        last = self._heard[-1].message
        end = last.content[-ENDING:]
        return last.role == "assistant" and "?" in end and _OFFERS.search(end) is None


def _goes_on(message: Message) -> bool:
    return _GOES_ON.search(message.content) is not None

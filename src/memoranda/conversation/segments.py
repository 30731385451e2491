"""Where one task ends and the next begins: only where the words say so (R5.1, workflow 3).

A task begins with a message in which

- the caller or the user marks it: ``Message.task``, "New task: …", "=== Task 2 ===";
- the user announces something else: "Moving on.", "Now something completely different", "LGTM,
  merged. Can you draft …";
- the user turns to something new after the task as such was said to be done: "Task complete.
  Refactored 3 files." - "Now let's work on the tests".

That a step is done ("Done, it is blue now.") or that the topic seems to shift begins nothing: a
wrong boundary costs an agent what it needs, a missed one only some tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memoranda.conversation.signals import Signals, signals
from memoranda.model.models import Message

SHORTLY = 3  # turns that may stand between the end of a task and what the user turns to
LOOK_BACK = 60  # messages before a message that are looked at
LONGEST_TITLE = 80  # characters


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why a task begins where it does: the one before it ends there, and may go.

    Attributes:
        why: in words.
        title: of the task that begins, where a marker gives one.
    """

    why: str
    title: str | None = None


START = Boundary("the conversation begins")


def find_boundaries(
    messages: Sequence[Message], start: int = 0, read: Callable[[Message], Signals] = signals
) -> Iterator[tuple[int, Boundary]]:
    """Yield where tasks begin, and why, but for the first: of ``messages[start:]`` alone.

    What comes later changes nothing, so that a transcript can be read as it grows. A message
    costs the same at any length of the transcript.

    Args:
        messages: the transcript in order, or its last ``LOOK_BACK`` messages and the new ones.
        start: the place of the first message that is new.
        read: returns the signals of a message, where they are known already.
    """
    for place in range(start, len(messages)):
        before = messages[max(0, place - LOOK_BACK) : place]
        if boundary := start_of_task(messages[place], before, read):
            yield place, boundary


def start_of_task(
    message: Message, before: Sequence[Message], read: Callable[[Message], Signals] = signals
) -> Boundary | None:
    """Return why a task begins with a message, or ``None``, from the few messages before it.

    Only a user's message begins one, and a system message with a marker; one that the caller
    names begins with any message but a tool's, where the name waits for the next that is none.
    Between a call and its result only a marker begins a task.
    """
    if message.role == "tool":
        return None
    title = _named(message, before)
    if title is not None:
        return Boundary("the caller says so", title or None)
    if message.role == "assistant" or all(each.role == "system" for each in before):
        return None
    said = read(message)
    if said.explicit:
        first = message.content.strip().partition("\n")[0]
        return Boundary("a marker says so", first.lstrip("#* ")[:LONGEST_TITLE])
    if message.role == "user" and not _awaits_results(before):
        return _turn_to_new(said, before, read)
    return None


def _turn_to_new(
    said: Signals, before: Sequence[Message], read: Callable[[Message], Signals]
) -> Boundary | None:
    if said.announcement:
        return Boundary("the user announces something new")
    leans = said.references or said.error or said.correction
    if said.opening and not leans and is_completed(before, read):
        return Boundary("the task before was said to be complete; the user opens something new")
    return None


def is_completed(messages: Sequence[Message], read: Callable[[Message], Signals] = signals) -> bool:
    """Return whether one of the last turns says that the task is done, and no work followed."""
    turns = (each for each in reversed(messages) if each.content.strip() or each.tool_calls)
    for message in islice(turns, SHORTLY + 1):
        said = read(message)
        if said.finished:
            return True
        if message.role == "tool" or message.tool_calls or said.directive or said.opening:
            return False
    return False


def _named(message: Message, before: Sequence[Message]) -> str | None:
    """Return the name of the task that the caller lets begin here; empty if it has none."""
    if message.task is not None:
        return message.task
    for earlier in reversed(before):
        if earlier.role != "tool" or earlier.task is not None:
            return earlier.task if earlier.role == "tool" else None
    return None


def _awaits_results(before: Sequence[Message]) -> bool:
    """Return whether calls of the assistant's last message are without their results."""
    answered = set()
    for message in reversed(before):
        if message.tool_result is not None:
            answered.add(message.tool_result.call_id)
        if message.role == "assistant":
            return any(call.id not in answered for call in message.tool_calls)
    return False

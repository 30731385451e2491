"""Where one task ends and the next begins: only where the words say so (R5.1, workflow 3).

A task begins with a message in which

- the caller or the user marks it: ``Message.task``, "New task: …", "=== Task 2 ===";
- the user announces something else: "Moving on.", "Now something completely different", "LGTM,
  merged. Next please add …";
- the user turns to something new after the task as such was said to be done: "Task complete.
  Refactored 3 files." - "Now let's work on the tests";
- the user asks for something at length in words of which hardly one was said before.

That a step is done ("Done, it is blue now.") begins nothing: a wrong boundary costs an agent what
it needs, a missed one only some tokens. Of 48 switches in other people's words 35 are found,
and without the last rule 6; of 839 turns within a task 3 are taken for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice

from memoranda.conversation.signals import Signals, excerpt, signals
from memoranda.model.models import Message
from memoranda.text.terms import TermAnalyzer

SHORTLY = 3  # turns that may stand between the end of a task and what the user turns to
LOOK_BACK = 60  # messages before a message that are looked at
LONGEST_TITLE = 80  # characters
# Words of a request, or of any message, of which most have to be new where a task begins with it.
NEW_WORDS, NEW_WORDS_UNASKED = 6, 12
KNOWN_WORDS = 0.25  # the largest share of its words that were said before
UNDER_WAY = 6  # messages before which hardly any words are known
TERMS = TermAnalyzer()


def start_of_task(
    message: Message, before: Sequence[Message], read: Callable[[Message], Signals] = signals
) -> str | None:
    """Return the title of the task that begins with a message; ``None`` where none begins.

    It is empty where nobody gives one. Of the messages before only the last ``LOOK_BACK`` are
    needed, and what comes later changes nothing.

    Only a user's message begins one; one that the caller names begins with any message but a
    tool's.
    """
    if message.role == "tool":
        return None
    if message.task is not None:
        return message.task
    if message.role != "user" or all(each.role == "system" for each in before):
        return None
    said = read(message)
    if said.explicit:
        return message.content.strip().partition("\n")[0].lstrip("#* ")[:LONGEST_TITLE]
    leans = said.references or said.error or said.correction
    turns = said.opening and not leans and is_completed(before, read)
    return "" if said.announcement or turns or _changes_subject(message, said, before) else None


def _changes_subject(message: Message, said: Signals, before: Sequence[Message]) -> bool:
    """Return whether a user asks for something in words of which hardly one was said before."""
    if len(before) < UNDER_WAY or said.references or said.error:
        return False
    asks = "?" in message.content or said.directive or said.opening
    least = NEW_WORDS if asks else NEW_WORDS_UNASKED
    words = {each for each in TERMS.query_terms(excerpt(message.content)) if not each.isdigit()}
    if len(words) < least:
        return False
    new = words.difference(*(_terms(each.content) for each in before))
    return len(new) >= least and len(words) - len(new) <= KNOWN_WORDS * len(words)


@lru_cache(maxsize=2_000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(TERMS.terms(excerpt(text)))


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

"""The signals of a message, put together from its role, its words and its forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memoranda.conversation.signals.failures import begins, failed, printed
from memoranda.conversation.signals.lexicon import Cue
from memoranda.conversation.signals.reading import Words, read
from memoranda.conversation.signals.wording import excerpt
from memoranda.model.models import Message

_RULE, _ERROR, _CORRECTION = Cue.RULE.value, Cue.ERROR.value, Cue.CORRECTION.value
_COMPLETION, _OPENING, _CASUAL = Cue.COMPLETION.value, Cue.OPENING.value, Cue.CASUAL.value
_INSTRUCTION = Cue.REQUEST.value | Cue.IMPERATIVE.value | _RULE
_BEYOND_TALK = _INSTRUCTION | _ERROR | _CORRECTION | _COMPLETION | _OPENING
_SHORT = 80  # characters of the longest message that can be made of signs alone
_TASK = r"(?:task|aufgabe|tâche|tarea|tarefa|attività|compito|задача|任务|任務|タスク|مهمة)"
_EXPLICIT = re.compile(
    rf"""\s*(?:
        /(?:new-?)?task\b
        | [=*~-]{{2,}}\s*(?:new\ )?{_TASK}\b
        | \#{{1,6}}\s*(?:new\ )?{_TASK}\s*\#?\d*\s*[:\uff1a.\u2014-]
        | \[(?:new\ )?{_TASK}\b[^\]\n]*\]
        | (?:(?:new|next|neue|nächste|nouvelle|nueva|nova|nuova|новая|新|新しい)\s*)?
          {_TASK}\s*\#?\d*\s*[:\uff1a]
        | {_TASK}\ جديدة\s*:
    )""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a message is.

    Attributes:
        tool_call: it calls tools.
        tool_result: it answers a call.
        directive: a user's instruction, rule or request for action.
        constraint: a rule or preference that outlives the task; always a directive, too.
        error: an error message, or the report that something failed.
        correction: what was said before was wrong or is made clear.
        references: how often it refers to earlier messages.
        casual: greetings, thanks and small talk, and nothing else.
        completion: something is done: the assistant says so, or the user is content.
        opening: the user turns to something new.
        explicit: a marker such as ``New task: …`` or ``=== Task 2 ===``; always an opening, too.
    """

    tool_call: bool = False
    tool_result: bool = False
    directive: bool = False
    constraint: bool = False
    error: bool = False
    correction: bool = False
    references: int = 0
    casual: bool = False
    completion: bool = False
    opening: bool = False
    explicit: bool = False


NONE = Signals()


def signals(message: Message) -> Signals:
    """Return what a message is, from its role, content, calls and result alone.

    Pure. Of a very long content only head and tail are read.
    """
    if message.role == "user":
        return _of_user(message)
    if message.role == "assistant":
        return _of_assistant(message)
    if message.role == "tool" or message.tool_result is not None:
        return _of_tool(message)
    return NONE


def _of_user(message: Message) -> Signals:
    text = excerpt(message.content)
    words = read(text, "user")
    cues = words.cues
    explicit = _EXPLICIT.match(text) is not None
    failing = bool(cues & _ERROR) or printed(text)
    return Signals(
        directive=explicit or bool(cues & _INSTRUCTION),
        constraint=bool(cues & _RULE),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not explicit and not failing and _is_talk(message, words),
        completion=bool(cues & _COMPLETION),
        opening=explicit or bool(cues & _OPENING),
        explicit=explicit,
    )


def _of_assistant(message: Message) -> Signals:
    words = read(excerpt(message.content), "assistant") if message.content else Words()
    cues = words.cues
    failing = bool(cues & _ERROR) or begins(message.content)
    return Signals(
        tool_call=bool(message.tool_calls),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not failing and _is_talk(message, words),
        completion=bool(cues & _COMPLETION),
    )


def _of_tool(message: Message) -> Signals:
    marked = message.tool_result is not None and message.tool_result.is_error
    return Signals(tool_result=True, error=marked or failed(message.content))


def _is_talk(message: Message, words: Words) -> bool:
    if message.tool_calls or message.images or words.references or words.cues & _BEYOND_TALK:
        return False
    if words.cues & _CASUAL:
        return words.substance == 0
    said = message.content.strip()
    return 0 < len(said) <= _SHORT and not any(sign.isalnum() for sign in said)

"""The signals of a message, put together from its role, its words and its forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.conversation.signals.failures import begins_with_failure, says_failed, shows_failure
from memoranda.conversation.signals.phrases import (
    END,
    Cue,
    Lexicon,
    excerpt,
    lexicons,
    prose,
    sentences,
)
from memoranda.model.models import Message
from memoranda.text.languages import LanguageData

# As plain numbers: these are asked for at every word.
_LEAD, _CASUAL, _REFERENCE = Cue.LEAD.value, Cue.CASUAL.value, Cue.REFERENCE.value
_ERROR, _COMPLETION, _OPENING = Cue.ERROR.value, Cue.COMPLETION.value, Cue.OPENING.value
_RULE, _CORRECTION, _REQUEST = Cue.RULE.value, Cue.CORRECTION.value, Cue.REQUEST.value
_UNASKED = _RULE | Cue.IMPERATIVE.value
_INSTRUCTION = _REQUEST | _UNASKED
_BEYOND_TALK = _INSTRUCTION | _ERROR | _CORRECTION | _COMPLETION | _OPENING
_HAPPENED = _ERROR | _COMPLETION
_COVERED = _CASUAL | Cue.FILLER.value
_WHOLE = _COVERED | _REFERENCE | _COMPLETION  # nothing is looked for inside these alone
_OPEN = _INSTRUCTION | _ERROR | _CORRECTION | _OPENING
_BEFORE_SENTENCE = _LEAD | _CASUAL | _COMPLETION | _OPENING
_IF, _EITHER = Cue.IF.value, Cue.IF.value | Cue.WHEN.value
_SHORT = 80  # characters of the longest message that can be made of signs alone
_EXPLICIT = LanguageData("mul", "tasks").pattern("explicit", re.VERBOSE | re.IGNORECASE)


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
    words = read_words(text, "user")
    cues = words.cues
    explicit = _EXPLICIT.match(text) is not None
    failing = bool(cues & _ERROR) or shows_failure(text)
    return Signals(
        directive=explicit or bool(cues & _INSTRUCTION),
        constraint=bool(cues & _RULE),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not explicit and not failing and _is_small_talk(message, words),
        completion=bool(cues & _COMPLETION),
        opening=explicit or bool(cues & _OPENING),
        explicit=explicit,
    )


def _of_assistant(message: Message) -> Signals:
    words = read_words(excerpt(message.content), "assistant") if message.content else WordSignals()
    cues = words.cues
    failing = bool(cues & _ERROR) or begins_with_failure(message.content)
    return Signals(
        tool_call=bool(message.tool_calls),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not failing and _is_small_talk(message, words),
        completion=bool(cues & _COMPLETION),
    )


def _of_tool(message: Message) -> Signals:
    marked = message.tool_result is not None and message.tool_result.is_error
    return Signals(tool_result=True, error=marked or says_failed(message.content))


def _is_small_talk(message: Message, words: WordSignals) -> bool:
    if message.tool_calls or message.images or words.references or words.cues & _BEYOND_TALK:
        return False
    if words.cues & _CASUAL:
        return words.substance == 0
    said = message.content.strip()
    return 0 < len(said) <= _SHORT and not any(sign.isalnum() for sign in said)


@dataclass(slots=True)
class WordSignals:
    """What was found in the words of a message.

    Attributes:
        cues: all cues in it, as the sum of their values.
        references: how often it refers to what was said before.
        substance: how many words belong neither to small talk nor to what may go with it.
    """

    cues: int = 0
    references: int = 0
    substance: int = 0


def read_words(text: str, role: str) -> WordSignals:
    """Return the cues in what ``role`` (``user`` or ``assistant``) said."""
    book = lexicons()[role]
    doubts = _IF if role == "user" else _EITHER
    found = WordSignals()
    for words, asks in sentences(prose(text)):
        cues = _sentence(words, book, doubts, found)
        if asks:
            cues &= ~(_COMPLETION if cues & _REQUEST else _COMPLETION | _UNASKED)
        found.cues |= cues
    return found


def _sentence(words: Sequence[str], book: Lexicon, doubts: int, found: WordSignals) -> int:
    """Return the cues of a sentence. ``doubts`` are those after which an error did not happen."""
    at, cues, last, first, before, opened = 0, 0, 0, True, found.substance, 0
    while at < len(words) - 1:
        end, here = book.match(words, at, first=first)
        if not here:
            if words[at] == ",":
                first = first or found.substance == before or at in {opened - 1, opened}
            else:
                found.substance += not (last & _CASUAL and _is_name(words, at))
                first = False
            last, at = 0, max(end, at + 1)
            continue
        if here & _HAPPENED:
            here &= ~(_ERROR if cues & doubts else 0) & ~(_COMPLETION if cues & _EITHER else 0)
        found.references += bool(here & _REFERENCE)
        found.substance += not here & _COVERED
        cues |= here
        if here & _OPENING:
            opened = end
        last, at = here, end if here & _WHOLE and not here & _OPEN else at + 1
        first = bool(
            (first and here & _BEFORE_SENTENCE) or (here & _REFERENCE and words[at] == ",")
        )
    return cues


def _is_name(words: Sequence[str], at: int) -> bool:
    """Return whether a word can be the name of who is greeted or thanked: "Hi Ana", "thanks Bo"."""
    return words[at].isalpha() and words[at + 1] in {",", END}

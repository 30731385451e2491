"""A conversation as a model is told it: who speaks when, calls with results, ids, pictures.

What is read are messages in the form of OpenAI's chat completions. What comes out alternates as
providers want it, and every call is followed by its result, whatever went in. The system messages
at the start become one. Where a later one may stand depends on who listens:

- OpenAI itself takes it where it is.
- Anthropic takes none there, nor do the templates of many local models: it becomes a user's text,
  marked as a note of the system. These want user and assistant to alternate, too, and the user to
  begin and to end: what one says in a row becomes one message.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.text import content_hash
from memoranda.providers.llm.spec import ModelSpec

NOTE = "<system_note>\n{text}\n</system_note>"
"""A later system message, in the user's role."""
OPENING = "(start)"
"""Stands for the user where a conversation would begin with the assistant."""
GO_ON = "(go on)"
"""Stands for the user where a conversation would end with the assistant."""
FAILED = "(The tool failed and said nothing.)"
NO_RESULT = "(The call was interrupted; there is no result.)"
STRAY = "(Result of a tool call that is not shown:)\n{text}"
UNPARSED = "unparsed_arguments"
"""Holds arguments that are no JSON object; providers take nothing else."""

CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
LONGEST_ID = 40
INLINE = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,", re.IGNORECASE)
MEDIA = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
"""What all providers take, and what they call it."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a provider takes.

    Attributes:
        alternating: whether user and assistant alternate, without system messages in between.
        schemes: where a picture may be that is not sent along.
    """

    alternating: bool
    schemes: tuple[str, ...] = ("https://", "http://")


OPENAI = Form(alternating=False)
COMPATIBLE = Form(alternating=True)
ANTHROPIC = Form(alternating=True, schemes=("https://",))


@dataclass(frozen=True, slots=True)
class System:
    """An instruction."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its place, or its bytes and their media type."""

    url: str = ""
    data: bytes = b""
    media_type: str = ""
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What the user says and shows."""

    content: tuple[str | Picture, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the assistant made."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered; blank text is none."""

    id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(slots=True)
class Heard:
    """What the assistant hears in one turn: results first."""

    parts: list[System | Result | Words] = field(default_factory=list)


@dataclass(slots=True)
class Said:
    """What the assistant said in one turn."""

    text: str
    calls: tuple[Call, ...] = ()


Turn = Heard | Said
Message = Mapping[str, Any]


def form_of(spec: ModelSpec) -> Form:
    """Return what the provider of ``spec`` takes."""
    if spec.provider == "anthropic":
        return ANTHROPIC
    return OPENAI if spec.url is None else COMPATIBLE


def turns(messages: Sequence[Message], form: Form) -> list[Turn]:
    """Return the turns that ``messages`` are.

    A call without a result gets one that says so. A result without a call becomes a user's text.
    Ids that a provider refuses are replaced, as is the second use of one; both sides alike.

    Raises:
        InvalidInput: there are no messages, or one has no role that is known.
    """
    if not messages:
        raise InvalidInput("messages is empty; a model replies to at least one message")
    for message in messages:
        _check(message)
    start = next((n for n, m in enumerate(messages) if not _is_system(m)), len(messages))
    talk = _Talk(form)
    head = [text for message in messages[:start] if (text := _text(message, form))]
    if head:
        talk.hear(System("\n\n".join(head)))
    for segment in _segments(messages[start:]):
        talk.add(segment)
    return talk.closed()


def arguments_object(text: str) -> dict[str, Any]:
    """Return the JSON object that ``text`` is, or one that holds the text."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
        # A number beyond all bounds or half a character can be read, but not sent.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {UNPARSED: text}
    return found if isinstance(found, dict) else {UNPARSED: text}


class _Talk:
    """Turns in the making."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._turns: list[Turn] = []
        self._taken: set[str] = set()

    def hear(self, part: System | Result | Words) -> None:
        last = self._turns[-1] if self._turns else None
        if not isinstance(last, Heard):
            last = Heard()
            self._turns.append(last)
        before = last.parts[-1] if last.parts else None
        if self._form.alternating and isinstance(part, Words) and isinstance(before, Words):
            last.parts[-1] = Words(before.content + part.content)
        else:
            last.parts.append(part)

    def add(self, segment: Sequence[Message]) -> None:
        """Add what the assistant said, if it begins the segment, and what it heard then."""
        heard = list(segment)
        if segment[0]["role"] == "assistant":
            message = heard.pop(0)
            calls = [_call(given) for given in message.get("tool_calls") or ()]
            renamed = [self._renamed(call) for call in calls]
            self._say(_text(message, self._form), tuple(renamed))
            results = [_taken(heard, call.id) for call in calls]
            for call, result in zip(renamed, results, strict=True):
                self._answer(call, result)
            for result in results:
                self._words(_pictures(result, self._form) if result else ())
        for message in heard:
            self._hear_message(message)

    def closed(self) -> list[Turn]:
        """Return the turns; those who want it hear the user first and last."""
        if self._form.alternating or not self._turns:
            first = self._turns[0] if self._turns else None
            if not (isinstance(first, Heard) and _speaks(first)):
                self._open(first)
            if isinstance(self._turns[-1], Said):
                self.hear(Words((GO_ON,)))
        return self._turns

    def _open(self, first: Turn | None) -> None:
        if isinstance(first, Heard):
            first.parts.append(Words((OPENING,)))
        else:
            self._turns.insert(0, Heard([Words((OPENING,))]))

    def _say(self, text: str, calls: tuple[Call, ...]) -> None:
        last = self._turns[-1] if self._turns else None
        if not text and not calls:
            return
        if self._form.alternating and isinstance(last, Said):
            last.text, last.calls = "\n\n".join(filter(None, (last.text, text))), calls
        else:
            self._turns.append(Said(text, calls))

    def _answer(self, call: Call, message: Message | None) -> None:
        if message is None:
            self.hear(Result(call.id, call.name, NO_RESULT, is_error=True))
            return
        is_error = bool(message.get("is_error"))
        text = _text(message, self._form) or (FAILED if is_error else "")
        self.hear(Result(call.id, call.name, text, is_error=is_error))

    def _hear_message(self, message: Message) -> None:
        text = _text(message, self._form)
        match message["role"]:
            case "tool":
                self._words((STRAY.format(text=text), *_pictures(message, self._form)))
            case "user":
                self._words(_content(message, self._form))
            case _ if text and self._form.alternating:
                self._words((NOTE.format(text=text),))
            case _ if text:
                self.hear(System(text))

    def _words(self, content: tuple[str | Picture, ...]) -> None:
        if content:
            self.hear(Words(content))

    def _renamed(self, call: Call) -> Call:
        wanted = call.id if CALL_ID.fullmatch(call.id) else f"call_{content_hash(call.id)}"
        chosen, number = wanted, 1
        while chosen in self._taken:
            number += 1
            ending = f"_{number}"
            chosen = wanted[: LONGEST_ID - len(ending)] + ending
        self._taken.add(chosen)
        return Call(chosen, call.name, call.arguments)


def _check(message: object) -> None:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in {"system", "developer", "user", "assistant", "tool"}:
        raise InvalidInput(
            f"a message is {message!r:.80}; give a mapping whose role is system, user, assistant "
            f"or tool"
        )


def _is_system(message: Message) -> bool:
    return message["role"] in {"system", "developer"}


def _speaks(turn: Heard) -> bool:
    return any(not isinstance(part, System) for part in turn.parts)


def _segments(messages: Sequence[Message]) -> list[list[Message]]:
    """Cut before each message of the assistant, so that results stand with their calls."""
    found: list[list[Message]] = []
    for message in messages:
        if message["role"] == "assistant" or not found:
            found.append([])
        found[-1].append(message)
    return found


def _taken(heard: list[Message], id: str) -> Message | None:
    """Take the first result of the call ``id`` out of ``heard``."""
    for place, message in enumerate(heard):
        if message["role"] == "tool" and str(message.get("tool_call_id", "")) == id:
            return heard.pop(place)
    return None


def _call(given: object) -> Call:
    match given:
        case {"function": {"name": str(name), **rest}, **more}:
            arguments = rest.get("arguments") or ""
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            return Call(str(more.get("id") or ""), name, arguments_object(text))
    raise InvalidInput(f"a call is {given!r:.80}; give it an id, and a function with a name")


def _content(message: Message, form: Form) -> tuple[str | Picture, ...]:
    """Return what a message says and shows, without what is blank."""
    content = message.get("content")
    parts = [content or ""] if isinstance(content, str | None) else content
    if not isinstance(parts, Sequence):
        raise InvalidInput(f"a content is {content!r:.80}; give text, or a list of parts")
    found = [_part(part, form.schemes) for part in parts]
    return tuple(part for part in found if not isinstance(part, str) or part.strip())


def _text(message: Message, form: Form) -> str:
    return "\n\n".join(part for part in _content(message, form) if isinstance(part, str))


def _pictures(message: Message, form: Form) -> tuple[Picture, ...]:
    return tuple(part for part in _content(message, form) if isinstance(part, Picture))


def _part(part: object, schemes: tuple[str, ...]) -> str | Picture:
    match part:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return _picture(url, rest.get("detail"), schemes)
        case {"type": "image_url", "image_url": str(url)}:
            return _picture(url, None, schemes)
        case {"type": str(kind)}:
            return f"[{kind}]"
    raise InvalidInput(f"a part of a content is {part!r:.80}; give text, or a part with its type")


def _picture(url: str, detail: object, schemes: tuple[str, ...]) -> str | Picture:
    """Return a picture, or its name where the provider would refuse all for it."""
    wanted = detail if isinstance(detail, str) else None
    if inline := INLINE.match(url):
        media = MEDIA.get(inline[1].lower())
        try:
            data = base64.b64decode("".join(url[inline.end() :].split()), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if media and data:
            return Picture(data=data, media_type=media, detail=wanted)
        return f"[image: {inline[1]}]"
    if url.lower().startswith(schemes):
        return Picture(url=url, detail=wanted)
    return f"[image: {'data' if url[:5].lower() == 'data:' else url}]"

"""A language model for tests: it says what a script says, and remembers what it was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import repeat
from threading import Lock
from typing import Any, TypeVar

from memoranda.errors import LLMError
from memoranda.model.chat import ChatReply, OnText, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.model.usage import Reply, Usage

T = TypeVar("T")

PIECES = re.compile(r"\S+\s*|\s+")
ONE_CALL = Usage(requests=1, input_tokens=100, output_tokens=20, cost=0.001, seconds=0.5)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question: the task, what it was about, and the type that was wanted."""

    instructions: str
    prompt: str
    answer: type[Any]


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a talk: the messages as they were then, and what could be called."""

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(slots=True)
class ScriptedLLM:
    """Answers and talks without a model. Thread-safe.

    It implements :class:`memoranda.model.ports.LanguageModel` and
    :class:`memoranda.model.chat.ChatModel`.

    An entry of a script is an answer, or a whole :class:`memoranda.model.usage.Reply`; an
    exception, which is raised; or a function of :class:`ModelRequest` that gives either. To a
    talk, an answer is words, a :class:`ToolCall`, several of them, or a whole
    :class:`ChatReply`, and a function is one of :class:`ChatTurn`.

    Args:
        script: entries in the order in which they are given, to whatever is asked; or, by the
            type that is asked for, a list of entries or one entry for every time. The type of
            talk is :class:`ChatReply`.
        name: what it says it is.
        usage: what each answer takes.
        asked: the questions so far.
        chatted: the turns of talk so far.
    """

    script: Iterable[Any] | Mapping[type[Any], Any] = ()
    name: str = "scripted"
    usage: Usage = ONE_CALL
    asked: list[ModelRequest] = field(default_factory=list)
    chatted: list[ChatTurn] = field(default_factory=list)
    _entries: dict[type[Any] | None, Iterator[Any]] = field(
        default_factory=dict, init=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        """Take the script apart."""
        given = self.script
        parts = given if isinstance(given, Mapping) else {None: list(given)}
        for kind, entry in parts.items():
            self._entries[kind] = iter(entry) if isinstance(entry, list) else repeat(entry)

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Return the script's next answer.

        Raises:
            LLMError: if the script says so.
            AssertionError: the script has nothing for this, or something of another type.
        """
        question = ModelRequest(instructions, prompt, answer)
        with self._lock:
            self.asked.append(question)
            entry = self._next(answer)
        value = self._said(entry, question)
        if isinstance(value, Reply) and isinstance(value.value, answer):
            return value
        if not isinstance(value, answer):
            message = f"the script answers {value!r:.200}, and {answer.__name__} was asked for"
            raise AssertionError(message)  # noqa: TRY004 - the script is wrong, not an argument
        return Reply(value, self.usage)

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        on_text: OnText | None = None,
    ) -> ChatReply:
        """Return the script's next reply, and tell its words one by one.

        Raises:
            LLMError: if the script says so.
            AssertionError: the script has nothing for this, or something that is no reply.
        """
        turn = ChatTurn(tuple(deepcopy(dict(message)) for message in messages), tuple(tools))
        with self._lock:
            self.chatted.append(turn)
            entry = self._next(ChatReply)
        reply = self._reply(self._said(entry, turn))
        if on_text is not None:
            for piece in PIECES.findall(reply.text):
                on_text(piece)
        return reply

    def _reply(self, value: Any) -> ChatReply:
        match value:
            case ChatReply():
                return value
            case str():
                return ChatReply(value, (), self.usage)
            case ToolCall():
                return ChatReply("", (value,), self.usage)
            case [*calls] if calls and all(isinstance(call, ToolCall) for call in calls):
                return ChatReply("", tuple(calls), self.usage)
        raise AssertionError(f"the script replies {value!r:.200}; give words, calls or a ChatReply")

    def _said(self, entry: Any, question: ModelRequest | ChatTurn) -> Any:
        value = entry(question) if callable(entry) and not isinstance(entry, type) else entry
        if isinstance(value, LLMError) and value.usage is None:
            value.usage = replace(self.usage, failures=self.usage.requests)
        if isinstance(value, BaseException):
            raise value
        return value

    def _next(self, answer: type[Any]) -> Any:
        for entry in self._entries.get(answer, self._entries.get(None, ())):
            return entry
        raise AssertionError(f"the script has no more answers, and {answer.__name__} was asked for")

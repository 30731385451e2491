"""The language model that the settings name: asked again when busy, understood when untidy."""

# What loads pydantic-ai is imported in functions: it takes two seconds.
# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from memoranda.errors import InvalidInput, LLMError, MissingExtra
from memoranda.model.chat import ChatReply, Told, ToolSpec
from memoranda.model.life import Reply
from memoranda.providers.llm.retrying import CallFailure, RetryPolicy, TotalUsage
from memoranda.providers.llm.spec import ModelSpec, find_key, parse_spec

if TYPE_CHECKING:
    from memoranda.providers.llm.chat_calls import ChatOutcome

T = TypeVar("T")

LIBRARIES = ("answers", "chat_calls", "message_conversion")
"""What loads pydantic-ai: with the first call, and off the event loop."""


class PydanticAIModel:
    """Implements two ports for all providers of pydantic-ai: it answers, and it talks.

    They are :class:`memoranda.model.ports.LanguageModel` and
    :class:`memoranda.model.chat.ChatModel`.
    It may be asked from any thread and any event loop, and by several tasks at once.

    Args:
        spec: the model.
        api_key: the key to send; none for servers that want none.
        timeout: seconds in which one call must have its whole answer; where words are told as
            they come, the longest silence between two pieces.
        max_tokens: the longest answer; ``None`` is the model's own limit.
        policy: how often and when a busy, failing or silent server is asked again.
    """

    def __init__(
        self,
        spec: ModelSpec,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        max_tokens: int | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        """Make a model; nothing is sent or loaded yet.

        Raises:
            InvalidInput: ``timeout`` or ``max_tokens`` is impossible.
        """
        if not timeout > 0 or (max_tokens is not None and max_tokens < 1):
            message = f"timeout={timeout} must be above 0 and max_tokens={max_tokens} at least 1"
            raise InvalidInput(message)
        self._spec, self._key = spec, api_key
        self._timeout, self._max_tokens = timeout, max_tokens
        self._policy = policy or RetryPolicy()
        self._schema_refused = False

    @property
    def name(self) -> str:
        """The model and its server, without the key."""
        return str(self._spec)

    def __repr__(self) -> str:
        """Show the model, never the key."""
        return f"PydanticAIModel({self.name!r})"

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Return what the model answers to ``prompt``, as an ``answer``.

        An answer that is not one is sent back once, with what is wrong with it. After that,
        elements of lists that cannot be used are left out where others can.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no such answer.
            InvalidInput: ``answer`` is no dataclass of plain values, lists and dataclasses.
        """
        from memoranda.providers.llm.answer_fitting import answer_schema

        schema = answer_schema(answer)
        await _load_libraries()
        from memoranda.providers.llm.answers import TypedQuestion

        question = TypedQuestion(
            spec=self._spec,
            key=self._key,
            instructions=instructions,
            prompt=prompt,
            answer=answer,
            schema=schema,
            timeout=self._timeout,
            max_tokens=self._max_tokens,
            policy=self._policy,
            schema_refused=self._schema_refused,
        )
        try:
            return Reply(await question.ask(), question.total.usage)
        finally:
            self._schema_refused = question.schema_refused

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        told: Told | None = None,
    ) -> ChatReply:
        """Return what the model replies, as :class:`memoranda.model.chat.ChatModel` says.

        Where ``told`` is given, the time-out is the longest silence between two pieces. A reply
        that the limit of tokens cut off comes as far as it goes; one cut off in the middle of a
        call is an error, as is a refusal without words.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no reply.
            InvalidInput: there are no messages, or one is in no known form.
        """
        await _load_libraries()
        from memoranda.providers.llm.chat_calls import ChatRequest, WordStream, call_chat
        from memoranda.providers.llm.message_conversion import form_of, to_model_messages

        request = ChatRequest(
            messages=to_model_messages(messages, form_of(self._spec)),
            tools=tools,
            timeout=self._timeout,
            max_tokens=self._max_tokens,
        )

        async def call() -> ChatOutcome | CallFailure:
            words = None if told is None else WordStream(told)
            return await call_chat(self._spec, self._key, request, words)

        total = TotalUsage()
        reply = await self._policy.run(call, total)
        if problem := reply.problem():
            total.add_failure()
            raise LLMError(f"{self.name} {problem}", total.usage)
        return ChatReply(reply.text, reply.tool_calls, total.usage)


async def _load_libraries() -> None:
    for name in LIBRARIES:
        await asyncio.to_thread(import_module, f"memoranda.providers.llm.{name}")


def open_model(
    spec: str,
    *,
    api_key: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    max_tokens: int | None = None,
) -> PydanticAIModel:
    """Return the model that ``spec`` names. Cheap: nothing is sent or loaded before it is asked.

    Args:
        spec: ``anthropic:NAME``, ``openai:NAME``, or either with ``@`` and the URL of a server.
        api_key: the key; without it, a public provider gets that of its own variable, and a
            server by URL none.
        timeout: seconds in which one call must have its whole answer; where words are told as
            they come, the longest silence between two pieces.
        retries: how often a busy, failing or silent server is asked again.
        max_tokens: the longest answer; ``None`` is the model's own limit.

    Raises:
        ConfigError: ``spec`` has no known form, or a key is missing.
        MissingExtra: the extra ``llm`` is not installed.
    """
    parsed = parse_spec(spec)
    if not (find_spec("pydantic_ai") and find_spec(parsed.provider)):
        raise MissingExtra(f"the language model {parsed}", "llm")
    key = find_key(parsed, api_key)
    policy = RetryPolicy(retries)
    return PydanticAIModel(
        parsed, api_key=key, timeout=timeout, max_tokens=max_tokens, policy=policy
    )

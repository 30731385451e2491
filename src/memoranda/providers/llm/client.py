"""The language model that the settings name: asked again when busy, understood when untidy."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from memoranda.errors import InvalidInput, LLMError, MissingExtra
from memoranda.model.chat import ChatReply, Told, ToolSpec
from memoranda.model.life import Reply, Usage
from memoranda.providers.llm.calls import Answered, Failed, Question, call
from memoranda.providers.llm.chat import Talk, Talked, Voice, talk
from memoranda.providers.llm.chat_messages import form_of, turns
from memoranda.providers.llm.json_reading import read_json
from memoranda.providers.llm.spec import ModelSpec, find_key, parse_spec
from memoranda.providers.llm.typed import MISSING, Coercion, check_answer_type

T = TypeVar("T")
R = TypeVar("R", Answered, Talked)

MOST_PROBLEMS = 10
LONGER = "ask for less at once, or name a model with longer replies"
SCHEMA = "\n\nAnswer with one JSON object of this schema and with nothing else:\n{schema}"
REPAIR = (
    "\n\nYour last answer to this could not be used:\n{problems}\n"
    "Answer again, with one JSON object and nothing else."
)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a call is made again; all in seconds.

    Attributes:
        first: before the first time; it doubles from there.
        longest: at most.
        asked: at most, where the server says how long (``Retry-After``).
    """

    first: float = 0.5
    longest: float = 20.0
    asked: float = 60.0

    def wait(self, attempt: int, wanted: float | None, jitter: float) -> float:
        """Return the wait after the failed ``attempt``, from 0.

        Args:
            attempt: how many calls failed before this one.
            wanted: what the server asked for.
            jitter: 0 to 1: many clients must not come back at one moment.
        """
        if wanted is not None:
            return min(wanted, self.asked) + jitter * self.first
        return min(self.longest, self.first * 2.0 ** min(attempt, 32)) * (0.5 + 0.5 * jitter)


@dataclass(slots=True)
class Bill:
    """What an answer has taken so far, over all calls made for it."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Add what one call took."""
        self.usage = self.usage + usage

    def spoil(self) -> None:
        """Count the last call as one that brought nothing after all."""
        self.usage = replace(self.usage, failures=self.usage.failures + 1)


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
        retries: how often a busy, failing or silent server is asked again.
        max_tokens: the longest answer; ``None`` is the model's own limit.
        backoff: how long to wait in between.
        sleep: how to wait.
        jitter: gives numbers from 0 to 1.
        timer: gives seconds that only grow.
    """

    def __init__(
        self,
        spec: ModelSpec,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        max_tokens: int | None = None,
        backoff: Backoff = Backoff(),
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a model; nothing is sent or loaded yet.

        Raises:
            InvalidInput: ``timeout``, ``retries`` or ``max_tokens`` is impossible.
        """
        if not timeout > 0 or retries < 0 or (max_tokens is not None and max_tokens < 1):
            raise InvalidInput(
                f"timeout={timeout} must be above 0, retries={retries} not below 0 and "
                f"max_tokens={max_tokens} at least 1"
            )
        self._spec, self._key = spec, api_key
        self._timeout, self._retries, self._max_tokens = timeout, retries, max_tokens
        self._backoff, self._sleep, self._jitter = backoff, sleep, jitter
        self._timer = timer
        self._plain = False

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
        check_answer_type(answer)
        names = [item.name for item in fields(cast("Any", answer))]
        schema = TypeAdapter(answer).json_schema()
        bill, problems, repair = Bill(), "", ""
        for last in (False, True):
            sent = await self._answered(instructions + repair, prompt, schema, bill)
            coercion = Coercion(lenient=last)
            value = coercion.read(read_json(sent.text, names).value, answer)
            if value is not MISSING and not coercion.problems:
                return Reply(value, bill.usage)
            bill.spoil()
            problems = _told(coercion.problems, cut=sent.cut)
            repair = REPAIR.format(problems=problems)
        raise LLMError(
            f"{self.name} gave no usable {answer.__name__}, also when told what was wrong: "
            f"{problems}; try again, or name a more able model",
            bill.usage,
        )

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
        said = Talk(
            turns=turns(messages, form_of(self._spec)),
            tools=tools,
            timeout=self._timeout,
            max_tokens=self._max_tokens,
        )

        async def once() -> Talked | Failed:
            voice = None if told is None else Voice(told)
            return await talk(self._spec, self._key, said, voice)

        bill = Bill()
        reply = await self._tried(once, bill)
        if why := _no_reply(reply):
            raise self._unusable(why, bill)
        return ChatReply(reply.text, reply.tool_calls, bill.usage)

    async def _answered(
        self, instructions: str, prompt: str, schema: dict[str, Any], bill: Bill
    ) -> Answered:
        """Call until there is an answer, as often as the retries allow."""

        async def ask() -> Answered | Failed:
            question = self._question(instructions, prompt, schema)
            outcome = await call(self._spec, self._key, question)
            if isinstance(outcome, Failed) and outcome.schema_refused:
                self._plain = True
                return replace(outcome, schema_refused=not question.plain)
            return outcome

        answered = await self._tried(ask, bill)
        if answered.refused:
            raise self._unusable("refused to answer; name another model", bill)
        return answered

    async def _tried(self, once: Callable[[], Awaitable[R | Failed]], bill: Bill) -> R:
        """Call until something comes back, as often as the retries allow."""
        attempt = 0
        while True:
            started = self._timer()
            outcome = await once()
            seconds = self._timer() - started
            if not isinstance(outcome, Failed):
                bill.add(replace(outcome.usage, seconds=seconds))
                return outcome
            bill.add(replace(outcome.usage, requests=1, failures=1, seconds=seconds))
            if outcome.schema_refused:
                continue
            if not outcome.again or attempt >= self._retries:
                tried = f" (tried {attempt + 1} times)" if attempt else ""
                raise LLMError(f"{outcome.why}{tried}", bill.usage)
            await self._sleep(self._backoff.wait(attempt, outcome.wait, self._jitter()))
            attempt += 1

    def _unusable(self, why: str, bill: Bill) -> LLMError:
        """Return the error for a call that was answered, and brought nothing all the same."""
        bill.spoil()
        return LLMError(f"{self.name} {why}", bill.usage)

    def _question(self, instructions: str, prompt: str, schema: dict[str, Any]) -> Question:
        plain = self._plain
        # Many servers leave the schema they are given unread.
        if plain or self._spec.url is not None:
            instructions += SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False))
        return Question(
            instructions=instructions,
            prompt=prompt,
            schema=schema,
            plain=plain,
            timeout=self._timeout,
            max_tokens=self._max_tokens,
        )


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
    return PydanticAIModel(
        parsed, api_key=key, timeout=timeout, retries=retries, max_tokens=max_tokens
    )


def _no_reply(reply: Talked) -> str | None:
    """Return what is wrong with a reply that cannot be used."""
    if reply.refused is not None and not reply.text:
        why = f": {reply.refused}" if reply.refused else ""
        return f"refused to answer{why}; name another model"
    if reply.broken is not None:
        return f"was cut off by its limit of tokens while it called {reply.broken}; {LONGER}"
    if reply.cut and not (reply.text or reply.tool_calls):
        return f"was cut off by its limit of tokens before it said a word; {LONGER}"
    return None


def _told(problems: list[str], *, cut: bool) -> str:
    lines = problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        lines.append(f"and {len(problems) - MOST_PROBLEMS} more")
    if cut:
        lines.append("it was cut off: answer in fewer words")
    return "; ".join(lines)

"""Asks a model for a typed answer through pydantic-ai, repairing what is clear.

pydantic-ai's agent tells the model which type is wanted, checks the answer against it, and asks
once more where it does not fit. Before the check, what is clear all the same is put in order:
prose around the JSON, a number for a text, one object in place of a list of one. Of the
second answer, what does not fit is left out where it can be.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import fields
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_ai import (
    Agent,
    ModelHTTPError,
    ModelMessage,
    ModelResponse,
    NativeOutput,
    TextPart,
    ToolCallPart,
    ToolOutput,
    UnexpectedModelBehavior,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from memoranda.errors import LLMError
from memoranda.model.usage import Reply
from memoranda.providers.llm.answer_reading import (
    answer_schema,
    drop_misfits,
    fit,
    misfits,
    read_json,
)
from memoranda.providers.llm.connection import ModelCalls, connected
from memoranda.providers.llm.spec import ModelConnection
from memoranda.text.patterns import compile_pattern

T = TypeVar("T")

ANSWER = "answer"
MOST_PROBLEMS = 10
REJECTED = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
SCHEMA_WORDS = compile_pattern(r"response_format|schema|structured|grammar|tool", re.IGNORECASE)
SCHEMA = "\n\nAnswer with one JSON object of this schema and with nothing else:\n{schema}"


async def ask_model(
    to: ModelConnection, instructions: str, prompt: str, answer: type[T]
) -> Reply[T]:
    """Return the answer of a model, as an ``answer``.

    Args:
        to: the model.
        instructions: the system prompt.
        prompt: the user's message.
        answer: the dataclass that is wanted.

    Raises:
        LLMError: a call failed, the model refused, or no answer was of use.
        InvalidInput: ``answer`` is no dataclass of plain values, lists and dataclasses.
    """
    schema, calls = answer_schema(answer), ModelCalls(to)
    if to.spec.url is not None:
        # Many servers leave the schema they are given unread.
        instructions += SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False))
    async with connected(to) as model:
        tidy = _NormalizingModel(model, to, answer, calls)
        # The provider itself holds the model to the schema, in the best way it has.
        native = model.profile.get("supports_json_schema_output")
        output: Any = ToolOutput(answer, name=ANSWER)
        if native:
            output = NativeOutput(answer, name=ANSWER, strict=True, template=False)
        agent = Agent(tidy, output_type=output, instructions=instructions, retries=1, name=ANSWER)
        try:
            found = await agent.run(prompt)
        except UnexpectedModelBehavior as error:
            more = len(tidy.problems) - MOST_PROBLEMS
            shown = tidy.problems[:MOST_PROBLEMS] + [f"and {more} more"] * (more > 0)
            raise calls.failure(
                f"{to.spec} gave no usable {answer.__name__}, also when told what was "
                f"wrong: {'; '.join(shown)}; try again, or name a more able model"
            ) from error
    return Reply(found.output, calls.usage)


class _NormalizingModel(WrapperModel):
    """A model whose answers are put in order.

    Attributes:
        problems: what was wrong with the last answer.
    """

    def __init__(
        self, model: Model, to: ModelConnection, answer: type[Any], calls: ModelCalls
    ) -> None:
        super().__init__(model)
        self.problems: list[str] = []
        self._to = to
        self._answer = answer
        self._calls = calls

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return what the model answers, as JSON of the type as far as its meaning is clear."""
        parameters = model_request_parameters

        async def send(_: asyncio.Timeout) -> ModelResponse:
            sent = parameters
            if self._to.schema_refused:
                sent = ModelRequestParameters(instruction_parts=parameters.instruction_parts)
            return await self.wrapped.request(messages, model_settings, sent)

        if self.problems:
            self._calls.failure("the last answer was of no use")
        try:
            response = await self._calls.make(send)
        except LLMError as error:
            if self._to.schema_refused or not self._refuses_schema(error.__cause__):
                raise
            self._to.schema_refused = True
            response = await self._calls.make(send)
        if response.finish_reason == "content_filter":
            raise self._calls.failure(f"{self._to.spec} refused to answer; name another model")
        text = json.dumps(self._tidy(response))
        tools = parameters.output_tools
        part = ToolCallPart(tools[0].name, text) if tools else TextPart(text)
        return ModelResponse(parts=[part], usage=response.usage)

    def _refuses_schema(self, error: BaseException | None) -> bool:
        """Return whether a server by URL may answer if it is not given the schema (DeepSeek's)."""
        rejected = isinstance(error, ModelHTTPError) and error.status_code in REJECTED
        return rejected and self._to.spec.url is not None and bool(SCHEMA_WORDS.search(f"{error}"))

    def _tidy(self, response: ModelResponse) -> Any:
        """Return what a response says, and note what is wrong with it."""
        args = [part.args_as_json_str() for part in response.tool_calls]
        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        adapter: TypeAdapter[Any] = TypeAdapter(self._answer)
        names = [field.name for field in fields(self._answer)]
        value = fit(read_json(args[0] if args else "".join(texts), names), self._answer)
        if self.problems:
            value = drop_misfits(value, adapter)
        self.problems = misfits(value, adapter)
        if self.problems and response.finish_reason == "length":
            self.problems.insert(0, "it was cut off: answer in fewer words")
        return value

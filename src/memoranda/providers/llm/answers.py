"""Asks a model for a typed answer through pydantic-ai, repairing what is clear.

pydantic-ai's agent tells the model which type is wanted, checks the answer against it, and asks
once more where it does not fit. Before the check, what is clear all the same is put in order:
prose around the JSON, another spelling of a name, one object in place of a list of one. Of the
second answer, what does not fit is left out where it can be.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_ai import (
    Agent,
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
from memoranda.model.usage import Reply, Usage
from memoranda.providers.llm.answer_fitting import answer_schema, drop_misfits, fit, misfits
from memoranda.providers.llm.connection import attempt, connected, usage_of
from memoranda.providers.llm.json_reading import read_json
from memoranda.providers.llm.retrying import CallFailure, ModelConnection, TotalUsage

T = TypeVar("T")

ANSWER = "answer"
MOST_PROBLEMS = 10
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
        LLMError: no call brought anything, the model refused, or no answer was of use.
        InvalidInput: ``answer`` is no dataclass of plain values, lists and dataclasses.
    """
    schema, total = answer_schema(answer), TotalUsage()
    if to.spec.url is not None:
        # Many servers leave the schema they are given unread.
        instructions += SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False))
    async with connected(to) as model:
        tidy = _NormalizingModel(model, to, answer, total)
        # The provider itself holds the model to the schema, in the best way it has.
        native = model.profile.get("supports_json_schema_output")
        output: Any = ToolOutput(answer, name=ANSWER)
        if native:
            output = NativeOutput(answer, name=ANSWER, strict=True, template=False)
        agent = Agent(tidy, output_type=output, instructions=instructions, retries=1, name=ANSWER)
        try:
            found = await agent.run(prompt, model_settings=ModelSettings(timeout=to.timeout))
        except UnexpectedModelBehavior as error:
            total.add_failure()
            more = len(tidy.problems) - MOST_PROBLEMS
            shown = tidy.problems[:MOST_PROBLEMS] + [f"and {more} more"] * (more > 0)
            raise LLMError(
                f"{to.spec} gave no usable {answer.__name__}, also when told what was "
                f"wrong: {'; '.join(shown)}; try again, or name a more able model",
                total.usage,
            ) from error
    return Reply(found.output, total.usage)


class _NormalizingModel(WrapperModel):
    """A model that is asked as often as the retries allow, and whose answers are put in order.

    Attributes:
        problems: what was wrong with the last answer.
    """

    def __init__(
        self, model: Model, to: ModelConnection, answer: type[Any], total: TotalUsage
    ) -> None:
        super().__init__(model)
        self.problems: list[str] = []
        self._to = to
        self._answer = answer
        self._total = total

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return what the model answers, as JSON of the type as far as its meaning is clear."""

        async def call() -> tuple[ModelResponse, Usage] | CallFailure:
            parameters, refused = model_request_parameters, self._to.schema_refused
            if refused:
                parameters = ModelRequestParameters(instruction_parts=parameters.instruction_parts)

            async def ask(_: asyncio.Timeout) -> tuple[ModelResponse, Usage]:
                response = await self.wrapped.request(messages, model_settings, parameters)
                return response, usage_of(self._to.spec, response)

            outcome = await attempt(self._to, ask)
            if isinstance(outcome, CallFailure) and outcome.schema_refused and not refused:
                self._to.schema_refused = True
                return replace(outcome, at_once=True)
            return outcome

        if self.problems:
            self._total.add_failure()
        response = await self._to.policy.run(call, self._total)
        if response.finish_reason == "content_filter":
            self._total.add_failure()
            message = f"{self._to.spec} refused to answer; name another model"
            raise LLMError(message, self._total.usage)
        text = json.dumps(self._tidy(response))
        tools = model_request_parameters.output_tools
        part = ToolCallPart(tools[0].name, text) if tools else TextPart(text)
        return ModelResponse(parts=[part], usage=response.usage)

    def _tidy(self, response: ModelResponse) -> Any:
        """Return what a response says, and note what is wrong with it."""
        calls = [part.args_as_json_str() for part in response.tool_calls]
        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        adapter: TypeAdapter[Any] = TypeAdapter(self._answer)
        names = [field.name for field in fields(self._answer)]
        value = fit(read_json(calls[0] if calls else "".join(texts), names), self._answer)
        if self.problems:
            value = drop_misfits(value, adapter)
        self.problems = misfits(value, adapter)
        if self.problems and response.finish_reason == "length":
            self.problems.insert(0, "it was cut off: answer in fewer words")
        return value

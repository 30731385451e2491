"""Asks a model for a typed answer through pydantic-ai, repairing what is clear.

The agent checks the answer against the type and asks once more where it does not fit. Before
the check, what is clear all the same is put in order: prose around the JSON, another spelling
of a name, one object in place of a list of one. Of the second answer, what does not fit is left
out where it can be.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeOutput,
    TextPart,
    ToolCallPart,
    UnexpectedModelBehavior,
    UserPromptPart,
)
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from memoranda.errors import LLMError
from memoranda.model.usage import Usage
from memoranda.providers.llm.answer_fitting import drop_misfits, fit, misfits
from memoranda.providers.llm.connection import attempt, limits, usage_of
from memoranda.providers.llm.json_reading import read_json
from memoranda.providers.llm.retrying import CallFailure, ModelConnection, TotalUsage

T = TypeVar("T")

ANSWER = "answer"
MOST_PROBLEMS = 10
SCHEMA = "\n\nAnswer with one JSON object of this schema and with nothing else:\n{schema}"
REPAIR = (
    "\n\nYour last answer to this could not be used:\n{problems}\n"
    "Answer again, with one JSON object and nothing else."
)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A response of the model, and its usage."""

    response: ModelResponse
    usage: Usage


@dataclass(slots=True, kw_only=True)
class TypedQuestion:
    """One question to a model, until its answer fits a type.

    Attributes:
        to: the model.
        instructions: the system prompt.
        prompt: the user's message.
        answer: the dataclass that is wanted.
        schema: its JSON schema.
        total: what the calls took so far.
        problems: what was wrong with the last answer.
    """

    to: ModelConnection
    instructions: str
    prompt: str
    answer: type[Any]
    schema: dict[str, Any]
    total: TotalUsage = field(default_factory=TotalUsage)
    problems: list[str] = field(default_factory=list)

    async def ask(self) -> Any:
        """Return the answer.

        Raises:
            LLMError: no call brought anything, the model refused, or no answer was of use.
        """
        if self.to.schema_refused or self.to.spec.url is not None:
            # Many servers leave the schema they are given unread.
            self.instructions += SCHEMA.format(schema=json.dumps(self.schema, ensure_ascii=False))
        model = FunctionModel(self._respond, model_name=self.to.spec.model)
        agent = Agent(model, output_type=NativeOutput(self.answer), retries=1, name=ANSWER)
        try:
            return (await agent.run(self.prompt)).output
        except UnexpectedModelBehavior as error:
            self.total.add_failure()
            raise LLMError(
                f"{self.to.spec} gave no usable {self.answer.__name__}, also when told what was "
                f"wrong: {self._shown_problems()}; try again, or name a more able model",
                self.total.usage,
            ) from error

    async def _respond(self, _: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        """Call the model for the agent, and return its answer in order."""
        instructions, repaired = self.instructions, bool(self.problems)
        if repaired:
            self.total.add_failure()
            instructions += REPAIR.format(problems=self._shown_problems())
        request = ModelRequest(parts=[UserPromptPart(self.prompt)], instructions=instructions)
        response = (await self.to.policy.run(lambda: self._call(request), self.total)).response
        if response.finish_reason == "content_filter":
            self.total.add_failure()
            message = f"{self.to.spec} refused to answer; name another model"
            raise LLMError(message, self.total.usage)
        adapter: TypeAdapter[Any] = TypeAdapter(self.answer)
        value = fit(read_json(_text(response), self._field_names()).value, self.answer)
        self.problems = misfits(value, adapter)
        if self.problems and response.finish_reason == "length":
            self.problems.insert(0, "it was cut off: answer in fewer words")
        if repaired:
            value = drop_misfits(value, adapter)
        return ModelResponse(parts=[TextPart(json.dumps(value))], usage=response.usage)

    async def _call(self, request: ModelRequest) -> ModelAnswer | CallFailure:
        refused = self.to.schema_refused

        async def ask(model: Model, _: asyncio.Timeout) -> ModelAnswer:
            response = await model_request(
                model,
                [request],
                model_settings=limits(self.to),
                model_request_parameters=self._parameters(model),
            )
            return ModelAnswer(response, usage_of(self.to.spec, response))

        outcome = await attempt(self.to, ask)
        if isinstance(outcome, CallFailure) and outcome.schema_refused:
            self.to.schema_refused = True
            return outcome.final() if refused else outcome
        return outcome

    def _parameters(self, model: Model) -> ModelRequestParameters:
        """Let the provider itself hold the model to the schema, in the best way it has."""
        if self.to.schema_refused:
            return ModelRequestParameters()
        if model.profile.get("supports_json_schema_output"):
            wanted = OutputObjectDefinition(json_schema=self.schema, name=ANSWER, strict=True)
            return ModelRequestParameters(output_mode="native", output_object=wanted)
        tool = ToolDefinition(name=ANSWER, parameters_json_schema=self.schema, kind="output")
        return ModelRequestParameters(
            output_mode="tool", output_tools=[tool], allow_text_output=False
        )

    def _field_names(self) -> list[str]:
        return [item.name for item in fields(cast("Any", self.answer))]

    def _shown_problems(self) -> str:
        more = len(self.problems) - MOST_PROBLEMS
        return "; ".join(self.problems[:MOST_PROBLEMS] + [f"and {more} more"] * (more > 0))


def _text(response: ModelResponse) -> str:
    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return calls[0] if calls else "".join(texts)

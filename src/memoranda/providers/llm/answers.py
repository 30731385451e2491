"""Asks a model for a typed answer through pydantic-ai, repairing what is clear.

The provider holds the model to the schema where it can; for others the schema stands in the
instructions. What is clear all the same is put in order: prose around the JSON, a number for a
text, one object in place of a list of one. An answer that is none is sent back once, with what
is wrong with it; of the second, what does not fit is left out where it can be.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import json
from dataclasses import fields
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition

from memoranda.errors import LLMError, UnusableAnswer
from memoranda.model.usage import Reply
from memoranda.providers.llm.answer_reading import misfits, read_answer
from memoranda.providers.llm.connection import ModelCalls, connected
from memoranda.providers.llm.spec import ModelConnection

T = TypeVar("T")

MOST_PROBLEMS = 10
REJECTED = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
SCHEMA = "\n\nAnswer with one JSON object of this schema and with nothing else:\n{schema}"
AGAIN = "That is not what was asked for: {problems}. Answer with the whole JSON object."


async def ask_model(
    to: ModelConnection, instructions: str, prompt: str, answer: type[T]
) -> Reply[T]:
    """Return the answer of a model, as an ``answer``.

    Args:
        to: the model.
        instructions: the system prompt.
        prompt: the user's message.
        answer: the dataclass that is wanted, of plain values, choices, lists and dataclasses.

    Raises:
        UnusableAnswer: neither of two answers was of use.
        LLMError: a call failed, or the model refused.
    """
    calls = ModelCalls(to)
    adapter, names = TypeAdapter(answer), [field.name for field in fields(answer)]  # type: ignore[arg-type]  # it is one
    schema = adapter.json_schema()
    async with connected(to) as model:
        is_held = bool(model.profile.get("supports_json_schema_output"))
        if not is_held or to.url is not None:
            # Many servers leave the schema that they are given unread.
            instructions += SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False))
        messages: list[ModelMessage] = [
            ModelRequest.user_text_prompt(prompt, instructions=instructions)
        ]
        for is_last in (False, True):
            response = await _request(to, calls, model, messages, schema if is_held else None)
            if response.finish_reason == "content_filter":
                raise calls.failure(f"{to} refused to answer; name another model")
            text = response.text or ""
            value = read_answer(text, names, adapter, drops=is_last)
            problems = misfits(value, adapter)[:MOST_PROBLEMS]
            if not problems:
                complete = response.finish_reason != "length"
                return Reply(adapter.validate_python(value), calls.usage, complete)
            if response.finish_reason == "length":
                problems.insert(0, "it was cut off: answer in fewer words")
            failure = calls.failure(
                f"{to} gave no answer that can be used, also when told what was wrong: "
                f"{'; '.join(problems)}; try again, or name a more able model",
                UnusableAnswer,
            )
            again = AGAIN.format(problems="; ".join(problems))
            messages += [
                ModelResponse(parts=[TextPart(text or "(nothing)")]),
                ModelRequest.user_text_prompt(again, instructions=instructions),
            ]
    raise failure


async def _request(
    to: ModelConnection,
    calls: ModelCalls,
    model: Model,
    messages: list[ModelMessage],
    schema: dict[str, Any] | None,
) -> ModelResponse:
    """Return a response, held to the schema by the provider unless it refuses that."""
    parameters = None
    if schema and not to.schema_refused:
        wanted = OutputObjectDefinition(schema, "answer", strict=True)
        parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
    try:
        return await calls.make(
            lambda _: model_request(model, messages, model_request_parameters=parameters)
        )
    except LLMError as error:
        status = getattr(error.__cause__, "status_code", None)
        if parameters is None or to.url is None or status not in REJECTED:
            raise
    # Some servers answer only without a schema (DeepSeek's).
    response = await calls.make(lambda _: model_request(model, messages))
    to.schema_refused = True
    return response

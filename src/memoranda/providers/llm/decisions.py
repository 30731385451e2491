"""Asks a model several yes-or-no questions in one call, and reads how sure it is of each answer.

A server in OpenAI's form may tell the probabilities of the words that it wrote: then each answer
is one word. Of others, and where these are not told, the answer is a list of numbers.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic_ai import ModelRequest, TextPart
from pydantic_ai.direct import model_request
from pydantic_ai.settings import ModelSettings

from memoranda.errors import LLMError
from memoranda.model.decisions import Decisions
from memoranda.model.usage import Reply
from memoranda.providers.llm.answers import REJECTED, ask_model
from memoranda.providers.llm.connection import ModelCalls, connected
from memoranda.providers.llm.spec import ModelConnection

BY_LINES = "\n\nAnswer each question on a line of its own with its number and yes or no: 1. yes"
SETTINGS = cast(
    "ModelSettings", {"openai_logprobs": True, "openai_top_logprobs": 5, "temperature": 0.0}
)
_AROUND = " .,:*\n"


async def ask_decisions(to: ModelConnection, instructions: str, prompt: str) -> Reply[Decisions]:
    """Return how likely a model says yes to each question of ``prompt``.

    Raises:
        LLMError: a call failed, or no answer was of use.
    """
    calls = ModelCalls(to)
    if to.provider == "openai" and not to.probabilities_refused:
        found = await _read_words(to, calls, instructions + BY_LINES, prompt)
        if found:
            return Reply(Decisions(found), calls.usage)
        to.probabilities_refused = True
    reply = await ask_model(to, instructions, prompt, Decisions)
    return replace(reply, usage=calls.usage + reply.usage)


async def _read_words(
    to: ModelConnection, calls: ModelCalls, instructions: str, prompt: str
) -> list[float]:
    """Return the probability of yes on each line of an answer; none where they are not told."""
    asked = ModelRequest.user_text_prompt(prompt, instructions=instructions)
    async with connected(to) as model:
        try:
            response = await calls.make(
                lambda _: model_request(model, [asked], model_settings=SETTINGS)
            )
        except LLMError as error:
            if getattr(error.__cause__, "status_code", None) not in REJECTED:
                raise
            return []
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    told = (response.provider_details or {}).get("logprobs") or []
    found = [chance for each in told if (chance := _chance_of_yes(each)) is not None]
    return found if len(found) == sum(map(bool, map(str.strip, text.splitlines()))) else []


def _chance_of_yes(token: Mapping[str, Any]) -> float | None:
    """Return the probability of yes against no where a token is one of them."""
    weights = {"yes": 0.0, "no": 0.0}
    if _word(token) not in weights:
        return None
    for each in token.get("top_logprobs") or [token]:
        if _word(each) in weights:
            weights[_word(each)] += math.exp(each["logprob"])
    return weights["yes"] / (sum(weights.values()) or 1.0)


def _word(token: Mapping[str, Any]) -> str:
    return str(token["token"]).strip(_AROUND).lower()

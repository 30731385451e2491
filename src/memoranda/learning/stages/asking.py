"""What the stages ask the language model, where there is one."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memoranda.errors import LLMError
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.consolidation_plan import NO_OVERRIDES, Overrides, Question
from memoranda.learning.extraction.exclusions import blank_exclusions
from memoranda.learning.modelled.extract import ModelExtractor
from memoranda.learning.modelled.judge import ModelJudge
from memoranda.learning.modelled.reflect import ModelReflector
from memoranda.learning.reflect import Week
from memoranda.model.scope import Scope
from memoranda.parts import Parts

log = logging.getLogger("memoranda.consolidate")


def claims(
    parts: Parts, scope: Scope, turns: Sequence[Turn], before: Sequence[Turn]
) -> list[Claim] | None:
    """Return what the model draws from ``turns``; ``None`` without a model.

    Raises:
        LLMError: the model failed.
    """
    model = parts.model_for(scope, "consolidate")
    if model is None:
        return None
    extractor = ModelExtractor(model, parts.dates)
    # What was said in confidence, or taken back, is no model's business either.
    told = blank_exclusions([*before, *turns])
    around, said = told[: len(before)], told[len(before) :]
    found, _ = parts.language.wait(extractor.extract(said, before=around))
    return found


def verdicts(parts: Parts, scope: Scope, questions: Sequence[Question]) -> Overrides:
    """Return what the model says of pairs that rules do not decide; nothing without a model.

    A model that fails leaves them to the rules.
    """
    model = parts.model_for(scope, "conflict")
    if model is None or not questions:
        return NO_OVERRIDES
    pairs = [(question.old, question.new) for question in questions]
    try:
        found, _ = parts.language.wait(ModelJudge(model).judge(pairs))
    except LLMError as error:
        log.warning("conflicts are left to rules: %s", error)
        return NO_OVERRIDES
    return {
        (question.claim, question.record): verdict
        for question, verdict in zip(questions, found, strict=True)
    }


def insight(parts: Parts, scope: Scope, week: Week) -> str | None:
    """Return what the model sees in a week; ``None`` without a model, or if it sees nothing.

    Raises:
        LLMError: the model failed.
    """
    model = parts.model_for(scope, "reflect")
    if model is None:
        return None
    records = [*reversed(week.records), *week.ahead]
    found, _ = parts.language.wait(ModelReflector(model).reflect(records, week.zone))
    return None if found is None else found.text

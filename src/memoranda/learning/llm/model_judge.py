"""Verdicts of a language model on pairs of statements, several in one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.learning.claims import Relation, Statement, Verdict
from memoranda.learning.llm.prompting import fenced, instructions, moment, shortened
from memoranda.model.ports import LanguageModel

Pair = tuple[Statement, Statement]

PAIRS = 12
"""Pairs of one request: of more, models lose count."""
LONGEST = 1_000
"""Characters of one statement."""
SURE = 0.5
"""A verdict that is less sure is a doubt, and in doubt nothing is retired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictAnswer:
    """A verdict as a model gives it; see ``prompts/judge.md`` for each field."""

    pair: int
    reason: str = ""
    relation: Relation = Relation.NONE
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class VerdictsAnswer:
    """One verdict for each pair."""

    verdicts: list[VerdictAnswer]


class ModelJudge:
    """Says how newer statements stand to older ones, with a model. Stateless.

    Args:
        model: what judges.
        pairs: how many it judges in one request.
    """

    def __init__(self, model: LanguageModel, *, pairs: int = PAIRS) -> None:
        """Judge with this model."""
        self._model = model
        self._pairs = max(1, pairs)

    async def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Return a verdict for each (older, newer) pair, in order.

        :attr:`Relation.NONE` where the model is in doubt or says nothing of a pair.

        Raises:
            LLMError: the model failed.
        """
        verdicts: list[Verdict] = []
        for start in range(0, len(pairs), self._pairs):
            batch = pairs[start : start + self._pairs]
            reply = await self._model.ask(instructions("judge"), _prompt(batch), VerdictsAnswer)
            verdicts += self._verdicts(reply.value, len(batch))
        return verdicts

    def _verdicts(self, judged: VerdictsAnswer, count: int) -> list[Verdict]:
        silent = Verdict(Relation.NONE, 0.0, f"{self._model.name} gave no verdict")
        given: dict[int, Verdict] = {}
        for one in judged.verdicts:
            # Of two verdicts on one pair, neither is to be believed.
            given[one.pair] = silent if one.pair in given else self._verdict(one)
        return [given.get(number, silent) for number in range(1, count + 1)]

    def _verdict(self, one: VerdictAnswer) -> Verdict:
        sure = min(1.0, max(0.0, one.confidence))
        if one.relation is not Relation.NONE and sure < SURE:
            return Verdict(Relation.NONE, 1.0 - sure, f"{self._model.name} was in doubt")
        # Its reason may quote the texts, so it stays out.
        return Verdict(one.relation, sure, f"{self._model.name} said {one.relation.value}")


def _prompt(pairs: Sequence[Pair]) -> str:
    rows = [
        {"pair": number, "older": _side(old), "newer": _side(new)}
        for number, (old, new) in enumerate(pairs, 1)
    ]
    return fenced("pairs", rows)


def _side(statement: Statement) -> dict[str, str]:
    side = {"text": shortened(statement.text, LONGEST), "at": moment(statement.at)}
    if statement.subject:
        side["about"] = statement.subject
    return side

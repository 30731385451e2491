"""Yes-or-no questions on a page of claims, asked of a decider in one call.

They say which claims are worth keeping, and of pairs that rules leave open, which say the same and
which end the older one. What a decider is not sure of changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memoranda.errors import LLMError
from memoranda.learning.claims import ASKED, Claim, Relation
from memoranda.learning.known_facts import when_said
from memoranda.learning.llm.model_stages import fenced, instructions, moment, shortened
from memoranda.model.decisions import Decisions
from memoranda.model.models import Record
from memoranda.model.ports import Decider, LanguageModel

WORTH = "Will statement {id} still matter in half a year?"
SAME = "Does the newer statement of {id} say the same as the older one?"
OVER = "Does the newer statement of {id} mean that the older one is no longer true?"
# A probability from which a yes counts, and below which a claim is not kept.
SURE = 0.5
# Pairs of one call: of more, models lose count.
MOST_PAIRS = 20


class ModelDecider:
    """Implements :class:`memoranda.model.ports.Decider` with any language model."""

    def __init__(self, model: LanguageModel) -> None:
        """Ask this model."""
        self._model = model

    async def decide(self, state: str, questions: Sequence[str]) -> Sequence[float]:
        """Return how likely each answer is yes.

        Raises:
            LLMError: the model failed, or left questions out.
        """
        asked = "\n".join(f"{number}. {each}" for number, each in enumerate(questions, 1))
        reply = await self._model.ask(instructions("decide"), f"{state}\n\n{asked}", Decisions)
        found = reply.value.probabilities
        if len(found) != len(questions):
            message = f"{self._model.name} answered {len(found)} of {len(questions)} questions"
            raise LLMError(message, reply.usage)
        return [min(1.0, max(0.0, each)) for each in found]


async def decide_page(
    decider: Decider, claims: Sequence[Claim], pairs: Mapping[tuple[int, str], Record]
) -> tuple[list[Claim], dict[tuple[int, str], Relation]]:
    """Return claims, those to drop without content, and how pairs of a claim and a fact stand.

    Asked about are claims without an attribute that nobody asked to keep.

    Args:
        decider: answers the questions.
        claims: what was drawn from a page.
        pairs: by the place of a claim and the id of a fact, the fact.

    Raises:
        LLMError: the decider failed.
    """
    doubted = [
        place
        for place, claim in enumerate(claims)
        if claim.fact is None and claim.category not in ASKED and claim.content
    ]
    asked = dict(list(pairs.items())[:MOST_PAIRS])
    statements = [{"id": f"s{place}", "text": claims[place].content} for place in doubted]
    rows = [
        {"id": f"p{number}", **_row(claims[place], record)}
        for number, ((place, _), record) in enumerate(asked.items())
    ]
    questions = [WORTH.format(id=each["id"]) for each in statements]
    questions += [each.format(id=row["id"]) for row in rows for each in (SAME, OVER)]
    if not questions:
        return [*claims], {}
    state = "\n".join([fenced("statements", statements), fenced("pairs", rows)])
    answers = iter(await decider.decide(state, questions))
    kept = [*claims]
    for place in doubted:
        if next(answers) < SURE:
            kept[place] = replace(claims[place], content="")
    return kept, {pair: _relation(next(answers), next(answers)) for pair in asked}


def _relation(same: float, over: float) -> Relation:
    """Return how the newer statement stands to the older, by what is likelier."""
    if max(same, over) < SURE:
        return Relation.NONE
    return Relation.DUPLICATE if same >= over else Relation.UPDATE


def _row(claim: Claim, record: Record) -> dict[str, object]:
    """Return a claim and a fact as a prompt shows them, by when they were said."""
    sides = [(when_said(record), record.content), (claim.said_at, claim.content)]
    told = [{"text": shortened(text), "at": moment(at)} for at, text in sorted(sides)]
    return dict(zip(("older", "newer"), told, strict=True))

"""Extracts claims with a language model, and keeps those that the turns they cite support."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.learning.claims import Claim, Turn
from memoranda.learning.llm.claim_checking import ClaimAnswer, ClaimChecker, RejectedClaim
from memoranda.learning.llm.prompting import fenced, instructions, moment, shortened
from memoranda.model.ports import DateReader, LanguageModel

log = logging.getLogger("memoranda.extract")

MOST_PER_TURN = 3
"""Claims of a page, per turn of a person; a model that claims more is inventing."""


@dataclass(frozen=True, slots=True)
class ClaimsAnswer:
    """The durable statements of a conversation, in order; an empty list is an answer, too."""

    claims: list[ClaimAnswer]


class ModelExtractor:
    """Extracts claims as :class:`~memoranda.learning.claims.Extractor` does, with a model.

    A claim is kept if it cites a person's turn of the page, shares words with it, and names no
    number, day or name that was not said. Orders to the assistant, fences and secrets never
    become claims. Stateless.

    Args:
        model: what draws them.
        reader: resolves relative times in the turns, to check the days of claims by; without
            one, a claim's day must lie near a turn that speaks of a relative time.
    """

    def __init__(self, model: LanguageModel, reader: DateReader | None = None) -> None:
        """Draw with this model."""
        self._model = model
        self._reader = reader

    async def extract(self, page: Sequence[Turn], *, before: Sequence[Turn] = ()) -> list[Claim]:
        """Return the claims of ``page`` in the order they were said.

        Args:
            page: the turns to read, at most 30.
            before: turns said before them, to understand them by; no claim rests on these alone.

        Raises:
            LLMError: the model failed; ``error.usage`` says what was spent.
        """
        if not any(turn.person and turn.text.strip() for turn in page):
            return []
        labels = {f"t{number}": turn for number, turn in enumerate(page, 1)}
        prompt = "\n".join(
            [
                fenced("before", [_row(f"b{place}", turn) for place, turn in enumerate(before, 1)]),
                fenced("turns", [_row(label, turn) for label, turn in labels.items()]),
            ]
        )
        reply = await self._model.ask(instructions("extract"), prompt, ClaimsAnswer)
        checker = ClaimChecker(page, before, labels, self._reader)
        return _sound(checker, reply.value.claims)


def _row(label: str, turn: Turn) -> dict[str, object]:
    return {
        "id": label,
        "speaker": turn.speaker,
        "person": turn.person,
        "at": moment(turn.at),
        "text": shortened(turn.text),
    }


def _sound(checker: ClaimChecker, drawn: Sequence[ClaimAnswer]) -> list[Claim]:
    """Return the claims that hold, each once, in the order they were said."""
    most = MOST_PER_TURN * sum(turn.person for turn in checker.page)
    kept: dict[str, Claim] = {}
    for candidate in drawn[: 2 * most]:
        checked = checker.check(candidate)
        if isinstance(checked, RejectedClaim):
            # What was claimed may be private; the reason is not.
            log.info("a claim of the model was dropped: %s", checked.why)
        else:
            kept.setdefault(checked.content.casefold(), checked)
    places = {turn.id: place for place, turn in enumerate(checker.page)}
    return sorted(kept.values(), key=lambda claim: places[claim.sources[0]])[:most]

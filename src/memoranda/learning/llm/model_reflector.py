"""Writes the weekly insight with a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from memoranda.learning.extraction.exclusions import is_order
from memoranda.learning.llm.claim_checking import MARKUP
from memoranda.learning.llm.claim_evidence import digits, numbers, stems
from memoranda.learning.llm.prompting import fenced, instructions, moment, shortened
from memoranda.model.models import Kind, Record
from memoranda.model.ports import LanguageModel
from memoranda.text.secrets import tells_secret
from memoranda.text.terms import cut_sentences

LONGEST = 1_200
"""Characters of an insight: it goes into prompts."""
EPISODE = 400
"""Characters of one memory in the prompt: there may be 200."""


@dataclass(frozen=True, slots=True)
class ReflectionAnswer:
    """An insight as a model gives it; see ``prompts/reflect.md`` for each field."""

    insight: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class Insight:
    """The weekly insight, and the records that it cites.

    Attributes:
        text: a few sentences.
        sources: the records it rests on.
    """

    text: str
    sources: tuple[str, ...]


class ModelReflector:
    """Sums up recent records in a few sentences, with a model. Stateless.

    Args:
        model: what reflects.
        longest: characters of an insight, at most.
    """

    def __init__(self, model: LanguageModel, *, longest: int = LONGEST) -> None:
        """Reflect with this model."""
        self._model = model
        self._longest = longest

    async def reflect(self, records: Sequence[Record], zone: tzinfo) -> Insight | None:
        """Return the insight of ``records``.

        ``None`` where the model cites none of them, or what it says does not hold. Sentences
        with numbers that no record names, orders, fences and secrets are left out.

        Args:
            records: recent facts and episodes.
            zone: the user's time zone, in which days are told.

        Raises:
            LLMError: the model failed; ``error.usage`` says what was spent.
        """
        if not records:
            return None
        labels = {f"m{number}": record for number, record in enumerate(records, 1)}
        rows = [_row(label, record, zone) for label, record in labels.items()]
        prompt = fenced("memories", rows)
        reply = await self._model.ask(instructions("reflect"), prompt, ReflectionAnswer)
        by_id = {record.id: record for record in records}
        named = [name.strip().strip("[]#") for name in reply.value.sources]
        cited = [labels.get(name) or by_id.get(name) for name in named]
        sources = tuple(dict.fromkeys(record.id for record in cited if record is not None))
        # Its days and numbers may be anyone's it was shown.
        text = _sound(reply.value.insight, prompt, self._longest)
        return Insight(text, sources) if sources and text else None


def _row(label: str, record: Record, zone: tzinfo) -> dict[str, object]:
    kind = "fact" if record.kind is Kind.FACT else "talk"
    try:
        at = moment(record.event_time.astimezone(zone))
    except OverflowError:  # The first or the last day that there is.
        at = moment(record.event_time)
    row: dict[str, object] = {"id": label, "kind": kind, "at": at}
    if record.source_role:
        row["speaker"] = record.source_role
    return row | {"text": shortened(record.content, EPISODE)}


def _sound(insight: str, shown: str, longest: int) -> str:
    """Return the sentences that hold, as many as fit."""
    known_words, known_numbers = stems(shown), numbers(shown)
    kept: list[str] = []
    length = 0
    for sentence in cut_sentences(insight.strip(), unspaced=False):
        line = " ".join(sentence.split())
        length += len(line) + 1
        if length - 1 > longest:
            break
        unfit = MARKUP.search(line) or is_order(line) or tells_secret(line)
        told = stems(line) & known_words and digits(line) <= known_numbers
        if line and not unfit and told:
            kept.append(line)
        else:
            length -= len(line) + 1
    return " ".join(kept)

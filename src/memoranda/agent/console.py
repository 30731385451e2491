"""Answers without a language model: from what is recalled, with its sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from memoranda.model.models import Hit, Kind, Recall
from memoranda.search.recall import remembered, says_something
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import FOUND, NOTED, NOTHING, RELATED
from memoranda.text.small_talk import is_small_talk

MOST = 5
# Evidence by arm of which one suffices.
LEAST_EVIDENCE = {"attribute": 0.0, "lexical": 0.34, "vector": 0.4}
ASKED = compile_pattern(
    r"\s*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|can|could|"
    r"will|would|should|have|has|had|tell me|show me|list|find|search|remind me)\b"
    r"|.*[?\uff1f\u061f]\s*\Z",
    re.IGNORECASE | re.DOTALL,
)


# A question and nothing else.
QUESTION = compile_pattern(r"[^.!?\n]{1,300}[?\uff1f\u061f]\s*")


def sources(found: Recall) -> tuple[Hit, ...]:
    """Return the hits that can answer something, facts first.

    No question does, which somebody asked before, and nothing that has as good as nothing to do
    with what was said: a person reads this, who would wonder why.
    """
    telling = [hit for hit in found.hits if _is_telling(hit)]
    telling.sort(key=lambda hit: hit.record.kind is Kind.EPISODE)
    return tuple(telling[:MOST])


def _is_telling(hit: Hit) -> bool:
    turn = hit.record.kind is Kind.EPISODE
    if turn and (QUESTION.fullmatch(hit.record.content) or is_small_talk(hit.record.content)):
        return False
    return says_something(hit, LEAST_EVIDENCE)


def said(text: str, hits: Sequence[Hit], zone: tzinfo) -> str:
    """Return the answer to ``text``, made from the records recalled for it.

    A question gets what memory has, or that it has nothing; a statement is taken note of. Each
    source is a line with its time and speaker, in the form in which memory knows its own words.
    """
    lines = "\n".join(remembered(hit.record, zone) for hit in hits)
    if ASKED.match(text):
        return f"{FOUND}\n{lines}" if lines else NOTHING
    return f"{RELATED}\n{lines}" if lines else NOTED

"""Answers without a language model: from what is recalled, with its sources."""

from __future__ import annotations

import re
from datetime import tzinfo

from recollect.core.models import Recall
from recollect.retrieve.recall import remembered

NOTHING = "Nothing in memory answers this."
NOTED = "Noted."
RELATED = "Noted. Memory has on this:"
FOUND = "From memory:"
MOST = 5
ASKED = re.compile(
    r"\s*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|can|could|"
    r"will|would|should|have|has|had|tell me|show me|list|find|search|remind me)\b"
    r"|.*[?\uff1f\u061f]\s*\Z",
    re.IGNORECASE | re.DOTALL,
)


def said(text: str, found: Recall, zone: tzinfo) -> str:
    """Return the answer to ``text`` from what was recalled for it.

    A question gets what memory has, or that it has nothing; a statement is taken note of. Each
    source is a line with its time and speaker, in the form in which memory knows its own words.
    """
    lines = "\n".join(remembered(hit.record, zone) for hit in found.hits[:MOST])
    if ASKED.match(text):
        return f"{FOUND}\n{lines}" if lines else NOTHING
    return f"{RELATED}\n{lines}" if lines else NOTED

"""The tool by which an agent reads the pruned messages that a marker stands for."""

from __future__ import annotations

from collections.abc import Callable

from memoranda.conversation.conversation import Conversation
from memoranda.search.recall import fenced
from memoranda.tools.tool import Spec, Tool, described, parameters

LONGEST = 6_000
"""Characters of what one call gives back."""
EXPAND = Spec(
    "expand_messages",
    "Read messages of this conversation that were removed from view: those that a marker such "
    "as cut_12-26 stands for.",
    parameters({"marker": described("The marker, such as cut_12-26.")}),
)


def expanding(chat: Callable[[], Conversation]) -> Tool:
    """Return the tool; a call expands a marker of the conversation that ``chat()`` returns."""

    def expand(marker: str) -> str:
        said = [
            f"{message.role}: {' '.join(message.content.split())}"
            for message in chat().expand(marker)
            if message.content.strip()
        ]
        text = fenced(said)
        return text if len(text) <= LONGEST else fenced([f"{chr(10).join(said)[:LONGEST]}…"])

    return EXPAND.tool(expand)

"""A conversation that recalls from a memory but is not stored in it."""

from __future__ import annotations

from recollect.app.checks import named
from recollect.app.conversation import Conversation
from recollect.app.limits import USUAL
from recollect.app.memory import Memory
from recollect.app.parts import TalkParts
from recollect.conversation.transcript import MemoryTranscript
from recollect.core.models import NO_RECALL, ConversationInfo, Recall
from recollect.core.ports import TokenCounter


def unsaved(memory: Memory, *, system: str | None = None) -> Conversation:
    """Return an empty conversation whose contexts recall from ``memory``.

    Nothing of it is stored, so that one can look at a context without leaving a trace.

    Args:
        memory: where memories come from.
        system: the system prompt.

    Raises:
        InvalidInput: the system prompt is no text, or blank.
    """

    def recalled(
        prompt: str,
        budget: int,
        _seen: frozenset[str],
        _by: TokenCounter,
        _told: frozenset[str],
    ) -> Recall:
        return memory.recall(prompt, budget=budget) if budget > 0 else NO_RECALL

    parts = TalkParts.usual()
    info = ConversationInfo(
        id="unsaved", created_at=parts.clock.now(), system=named(system, "system")
    )
    return Conversation.over(MemoryTranscript(info), USUAL, parts, recall=recalled)

"""A conversation that recalls from a memory but is not stored in it."""

from __future__ import annotations

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.limits import USUAL
from memoranda.conversation.moment import Asking
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.memory import Memory
from memoranda.model.checks import named
from memoranda.model.models import NO_RECALL, ConversationInfo, Recall
from memoranda.parts import TalkParts


def unsaved(memory: Memory, *, system: str | None = None) -> Conversation:
    """Return an empty conversation whose contexts recall from ``memory``.

    Nothing of it is stored, so that one can look at a context without leaving a trace.

    Args:
        memory: where memories come from.
        system: the system prompt.

    Raises:
        InvalidInput: the system prompt is no text, or blank.
    """

    def recalled(asking: Asking) -> Recall:
        if asking.budget <= 0:
            return NO_RECALL
        return memory.recall(asking.question, budget=asking.budget)

    parts = TalkParts.usual()
    info = ConversationInfo(
        id="unsaved", created_at=parts.clock.now(), system=named(system, "system")
    )
    return Conversation.over(MemoryTranscript(info), USUAL, parts, recall=recalled)

"""The sessions of one conversation, and the recap that a new one begins with.

When a session has grown too long, all of it leaves the view. Its newest messages are told in
words, so that the conversation goes on where it was and no tool is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.conversation.ledger import Ledger
from memoranda.conversation.pruning import SESSION_START, everything_unpinned, span_of, spans_of
from memoranda.conversation.selection import Policy
from memoranda.conversation.system_prompt import RECAPPED
from memoranda.conversation.transcript import Transcript
from memoranda.conversation.view import view_of
from memoranda.model.models import ConversationInfo, Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter

OVERFLOW = "overflow"
"""The trigger of a pruning after which a recap stands for the newest messages."""
CONSOLIDATED = "consolidated; the session goes on without them"


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """The present session of a conversation: what was said since it began.

    Attributes:
        recapped: messages that its recap tells, from before it began.
        messages: messages since; those that were pruned among them.
    """

    recapped: tuple[Message, ...]
    messages: tuple[Message, ...]


def read_session(transcript: Transcript, info: ConversationInfo) -> ConversationSession:
    """Return the present session of a conversation."""
    cuts, start = _session_start(transcript.prunings(), info.start)
    first = cuts[0].first if cuts else start
    recapped: list[Message] = []
    new: list[Message] = []
    for message in transcript.messages(after=first - 1):
        place = message.position or 0
        if place >= start:
            new.append(message)
        elif not message.pinned and any(cut.first <= place <= cut.last for cut in cuts):
            recapped.append(message)
    return ConversationSession(tuple(recapped), tuple(new))


def _session_start(prunings: Sequence[Pruning], start: int) -> tuple[tuple[PrunedSpan, ...], int]:
    """Return the spans that the recap in force tells, and where the present session begins.

    ``start`` is the position of the first message that is not cleared; what was pruned before it
    is over.
    """
    for pruning in reversed(prunings):
        cuts = [cut for cut in pruning.cuts if cut.first >= start]
        if pruning.trigger in {OVERFLOW, SESSION_START} and cuts:
            recapped = tuple(cut for cut in cuts if cut.why == RECAPPED)
            return recapped, max(cut.last for cut in cuts) + 1
    return (), start


def overflow_spans(
    ledger: Ledger, keep: int, policy: Policy, meter: MessageMeter
) -> tuple[PrunedSpan, ...]:
    """Return spans of all but system messages and pins, parted where the recap begins.

    What the user said last and nobody answered stays in view.

    Args:
        ledger: the live messages.
        keep: how many of the newest the recap tells; a call of tools stays with its results.
        policy: of the conversation.
        meter: measures markers.
    """
    if ledger.messages and ledger.messages[-1].role == "user":
        ledger = ledger.but_last()
    room = ledger.grouping.fixed_tokens
    first = _recap_start(ledger, keep)
    found: list[PrunedSpan] = []
    for cut in spans_of(ledger, view_of(ledger, room, everything_unpinned(policy), meter)):
        inside = ledger.between(cut.first, cut.last)
        older = [item for item in inside if (item.position or 0) < first]
        newer = inside[len(older) :]
        runs = ((older, CONSOLIDATED), (newer, RECAPPED))
        found += [span_of(run, ledger, why) for run, why in runs if run]
    return tuple(found)


def _recap_start(ledger: Ledger, keep: int) -> int:
    count, start = 0, ledger.next
    for unit in reversed(ledger.units):
        if count >= keep:
            break
        count += len(unit.messages)
        start = unit.position
    return start

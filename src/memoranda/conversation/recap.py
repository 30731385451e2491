"""The recap: what a session said last, told in the system prompt of the next (seed 002).

When a session has grown too long, all of it leaves the view. Its newest messages are told in
words, so that the talk goes on where it was and no tool is run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memoranda.conversation.choosing import Policy
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.pruning import SESSION_START, cut_of, cuts_of, fresh
from memoranda.conversation.view import view_of
from memoranda.model.models import Cut, Message, Pruning
from memoranda.model.ports import MessageMeter

OVERFLOW = "overflow"
"""The trigger of a pruning after which a recap stands for the newest messages."""
CONSOLIDATED = "consolidated; the session goes on without them"
RECAPPED = "told in the recap"
LONGEST = 600
"""Characters of one message in a recap."""


def overflow_cuts(
    ledger: Ledger, keep: int, policy: Policy, meter: MessageMeter
) -> tuple[Cut, ...]:
    """Return cuts of all but system messages and pins, parted where the recap begins.

    What the user said last and nobody answered stays in view.

    Args:
        ledger: the live messages.
        keep: how many of the newest the recap tells; a call of tools stays with its results.
        policy: of the conversation.
        meter: measures markers.
    """
    policy = fresh(policy)
    if ledger.messages and ledger.messages[-1].role == "user":
        ledger = ledger.but_last()
    room = ledger.grouping.fixed_tokens
    first = recap_start(ledger, keep)
    parted: list[Cut] = []
    for cut in cuts_of(ledger, view_of(ledger, room, policy, meter)):
        inside = [item for item in ledger.messages if cut.first <= (item.position or 0) <= cut.last]
        older = [item for item in inside if (item.position or 0) < first]
        newer = [item for item in inside if (item.position or 0) >= first]
        parted += [
            cut_of(run, ledger, why)
            for run, why in ((older, CONSOLIDATED), (newer, RECAPPED))
            if run
        ]
    return tuple(parted)


def recap_start(ledger: Ledger, keep: int) -> int:
    """Return the position of the first message of a recap of ``keep`` messages."""
    count, start = 0, ledger.next
    for unit in reversed(ledger.units):
        if count >= keep:
            break
        count += len(unit.messages)
        start = unit.position
    return start


def session_start(prunings: Sequence[Pruning], start: int) -> tuple[tuple[Cut, ...], int]:
    """Return the cuts that the recap in force tells, and where the present session begins.

    Args:
        prunings: the receipts of a conversation, oldest first.
        start: position of its first message that is not cleared; what was cut before is over.
    """
    for pruning in reversed(prunings):
        cuts = [cut for cut in pruning.cuts if cut.first >= start]
        if pruning.trigger in {OVERFLOW, SESSION_START} and cuts:
            told = tuple(cut for cut in cuts if cut.why == RECAPPED)
            return told, max(cut.last for cut in cuts) + 1
    return (), start


def lines(messages: Iterable[Message]) -> Iterator[str]:
    """Yield a line for each message: who said it, and what, shortened."""
    for message in messages:
        said = " ".join(message.content.split())
        said = said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"
        called = ", ".join(call.name for call in message.tool_calls)
        if called:
            said = f"{said} (called {called})".strip()
        if said:
            yield f"{message.role}: {said}"

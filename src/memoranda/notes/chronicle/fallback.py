"""The entry of last resort: what was said last, as it was said (seed 002, ``[raw-fallback]``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.exclusions import blank_exclusions
from memoranda.notes.chronicle.lines import AGENTS
from memoranda.notes.chronicle.plain import one_line, stamp
from memoranda.text.secrets import HIDDEN, without_secrets

LAST = 10
"""Messages of a raw entry (seed 002)."""
LONGEST = 200
"""Characters of each (seed 002)."""
NO_PERSONS = AGENTS | {"tool", "system"}
ROLE = 40
"""Characters of who said it."""
READ, ENOUGH = 20_000, 1_000
"""Characters that are read of a message, and those looked at for secrets when on one line."""


def raw_fallback(messages: Sequence[tuple[str, str] | Turn], at: datetime, total: int) -> str:
    """Return the last messages of a talk as an entry of the history.

    ``[2026-02-27 14:30] [raw-fallback] last 10 of 54 messages:`` and a line ``- role: text`` for
    each. A message is one line whatever it holds, and secrets are left out of it.

    Args:
        messages: turns, or pairs of role and text; at least the last ten, in order.
        at: when it is written, in the user's time zone.
        total: how many messages the talk has.
    """
    last = [_said(message) for message in _kept(messages, at)[-LAST:]]
    heading = f"{stamp(at)} [raw-fallback] last {len(last)} of {total} messages:"
    return "\n".join([heading, *last])


def _kept(messages: Sequence[tuple[str, str] | Turn], at: datetime) -> Sequence[Turn]:
    """Return ``messages`` without what was told in confidence or taken back."""
    return blank_exclusions(
        [
            message
            if isinstance(message, Turn)
            else Turn("", message[0], message[1], at, message[0] not in NO_PERSONS)
            for message in messages
        ]
    )


def _said(message: Turn) -> str:
    role, text = message.speaker, message.text
    read = one_line(text[:READ])
    if not read and text:
        read = HIDDEN
    if len(read) > ENOUGH:  # No half of a secret at the end of what is looked at.
        read = read[:ENOUGH].rpartition(" ")[0] or read[:ENOUGH]
    return f"- {one_line(role)[:ROLE]}: {without_secrets(read)[:LONGEST]}".rstrip()

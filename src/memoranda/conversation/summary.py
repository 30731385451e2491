"""Quotes in a few lines what messages said that binds later turns, word for word.

The request of a task, standing rules, decisions: the marker that takes their place tells them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from memoranda.conversation.signals import Signals, excerpt, signals_of
from memoranda.model.models import Message
from memoranda.text.lines import cut
from memoranda.text.terms import cut_sentences

LONGEST = 180  # characters of a quoted sentence
MOST = 12  # lines
ASKED = "asked"  # what a line of the request of a task is about


def quote_binding(known: Sequence[tuple[Message, Signals]], requests: Collection[str] = ()) -> str:
    """Return what binds later turns in quoted lines, in order; empty if nothing does.

    Args:
        known: messages with their signals.
        requests: the ids of messages that a task is about.
    """
    lines = [
        line
        for message, said in known
        if message.id in requests or said.constraint or said.decision
        for line in _quote(message, request=message.id in requests)
    ]
    return "\n".join(limit_lines(lines))


def limit_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that are told where they are too many: the newest, requests last of all."""
    by_worth = sorted(range(len(lines)), key=lambda at: (lines[at].startswith(ASKED), -at))
    return [lines[at] for at in sorted(by_worth[:MOST])]


def _quote(message: Message, *, request: bool) -> Iterator[str]:
    """Yield a line for each sentence of a message that binds, and for the first of a request."""
    for sentence in cut_sentences(excerpt(message.content), titles=True):
        words = " ".join(sentence.split())
        said = signals_of(words, message.role)
        binds = {"rule": said.constraint and message.role == "user", "decided": said.decision}
        about = next((label for label, holds in binds.items() if holds), None)
        if request and words and not said.casual:
            about, request = about or ASKED, False
        if about is not None:
            yield f"{about}: {cut(words, LONGEST)}"

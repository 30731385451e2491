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
MOST = 12  # lines, the newest of them
# What a line is about, by the signal that shows it; what comes first holds where several do.
LABELS = {"constraint": "rule", "decision": "decided"}


def quote_binding(known: Sequence[tuple[Message, Signals]], requests: Collection[str] = ()) -> str:
    """Return what binds later turns in quoted lines, in order; empty if nothing does.

    Args:
        known: messages with their signals.
        requests: the ids of messages that a task is about.
    """
    lines = [
        line
        for message, said in known
        if message.id in requests or any(getattr(said, name) for name in LABELS)
        for line in _quote(message, request=message.id in requests)
    ]
    return "\n".join(lines[-MOST:])


def _quote(message: Message, *, request: bool) -> Iterator[str]:
    """Yield a line for each sentence of a message that binds, and for the first of a request."""
    for sentence in cut_sentences(excerpt(message.content), titles=True):
        words = " ".join(sentence.split())
        said = signals_of(words, message.role)
        about = next((label for name, label in LABELS.items() if getattr(said, name)), None)
        if request and words and not said.casual:
            about, request = about or "asked", False
        if about is not None:
            yield f"{about}: {cut(words, LONGEST)}"

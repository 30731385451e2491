"""Quotes in a few lines what messages said that matters later, word for word and without a model.

What binds later turns stands in every marker: the request of a task, standing rules, decisions.
The rule-based ``Summarizer`` also quotes corrections, errors, and what was asked and done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from memoranda.conversation.signals import Signals, excerpt, signals, signals_of
from memoranda.errors import InvalidInput
from memoranda.model.models import Message
from memoranda.text.lines import cut
from memoranda.text.terms import cut_sentences

LEAST = 40  # characters below which nothing useful can be said
LONGEST = 180  # characters of a quoted sentence
MOST = 12  # lines of what binds, the newest of them
# What a line is about, by the signal that shows it; what comes first holds where several do.
BINDING = {"constraint": "rule", "decision": "decided"}
LABELS = BINDING | {
    "correction": "corrected",
    "error": "error",
    "completion": "done",
    "directive": "asked",
}
SAID = "said"  # what a user said of which no signal is known, as in a language without words


def quote_binding(known: Sequence[tuple[Message, Signals]], requests: Collection[str] = ()) -> str:
    """Return what binds later turns in quoted lines, in order; empty if nothing does.

    Args:
        known: messages with their signals.
        requests: the ids of messages that a task is about.
    """
    lines = [
        line
        for message, said in known
        if message.id in requests or any(getattr(said, name) for name in BINDING)
        for line in _quote(message, BINDING, request=message.id in requests)
    ]
    return "\n".join(lines[-MOST:])


class ExtractiveSummarizer:
    """Quotes what matters in messages; the rule-based ``Summarizer``.

    Deterministic. Every quotation stands in a message as it is here, except that ``…`` marks
    where it was cut.
    """

    def __init__(self, *, max_characters: int = 600) -> None:
        """Make summaries of at most ``max_characters`` characters.

        Raises:
            InvalidInput: ``max_characters`` is too small to say anything.
        """
        if max_characters < LEAST:
            raise InvalidInput(
                f"max_characters={max_characters} is too small for a summary; give it {LEAST} "
                f"or more"
            )
        self._most = max_characters

    def summarize(self, messages: Sequence[Message]) -> str:
        """Return a summary of ``messages`` in quoted lines, in the order in which they were said.

        Where not all of them fit, the lines of the first of ``LABELS`` stay, and of these the
        newest. Empty if nothing matters: small talk alone, or no messages.
        """
        lines = [line for message in messages for line in _quote_or_begin(message)]
        lines = list(dict.fromkeys(reversed(lines)))  # The last of those that say the same.
        ranks = [*LABELS.values(), SAID]
        left, kept = self._most, set[str]()
        for line in sorted(lines, key=lambda each: ranks.index(each.partition(":")[0])):
            left -= len(line) + 1
            if left < 0:
                break
            kept.add(line)
        return "\n".join(line for line in reversed(lines) if line in kept)


def _quote(message: Message, labels: dict[str, str], *, request: bool = False) -> Iterator[str]:
    """Yield a line for each sentence of a message that matters, with what it is about."""
    if message.role == "tool":
        lines = [line.strip() for line in message.content.splitlines() if line.strip()]
        if "error" in labels and lines and signals(message).error:
            yield f"error: {cut(lines[-1 if lines[0].startswith('Traceback') else 0], LONGEST)}"
        return
    for sentence in _sentences(message):
        said = signals_of(sentence, message.role)
        about = next((label for name, label in labels.items() if getattr(said, name)), None)
        if request and not said.casual:
            about, request = about or "asked", False
        if about is not None:
            yield f"{about}: {cut(sentence, LONGEST)}"


def _quote_or_begin(message: Message) -> list[str]:
    """Return the lines of a message; of a user's that has none the first sentence."""
    found = list(_quote(message, LABELS)) if message.role != "system" else []
    sentences = [] if found or message.role != "user" else list(_sentences(message))
    if sentences and not signals(message).casual:
        found = [f"{SAID}: {cut(sentences[0], LONGEST)}"]
    return found


def _sentences(message: Message) -> Iterable[str]:
    parts = cut_sentences(excerpt(message.content), titles=True)
    return [" ".join(part.split()) for part in parts if part.strip()]

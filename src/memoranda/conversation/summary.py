"""Quotes in a few lines what messages said that binds later turns, word for word.

The request of a task, standing rules, decisions: the marker that takes their place tells them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from memoranda.conversation.signals import Signals, excerpt, signals_of
from memoranda.conversation.transcript import place_of
from memoranda.model.models import Message
from memoranda.text.lines import cut
from memoranda.text.sentences import sentence_texts

LONGEST = 180  # characters of a quoted sentence
MOST = 16  # lines
RULE, DECIDED, ASKED = "rule", "decided", "asked"  # what a line is about
GREETING = 2  # words and one more have what asks for something


def quote_binding(known: Sequence[tuple[Message, Signals]], requests: Collection[str] = ()) -> str:
    """Return what binds later turns in quoted lines, in order; empty if nothing does.

    Args:
        known: messages with their signals.
        requests: the ids of messages that a task is about.
    """
    binding = [item for item, said in known if said.decision or _is_rule(item, said)][-MOST:]
    asked = [item for item, _ in known if item.id in requests and item not in binding][-MOST:]
    lines = [*((item, each) for item in binding for each in _quote(item))]
    lines += [(item, f"{ASKED}: {cut(_opening(item), LONGEST)}") for item in asked]
    lines.sort(key=lambda line: place_of(line[0]))
    return "\n".join(limit_lines([line for _, line in lines]))


def limit_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that are told where they are too many: rules first, requests last."""
    worth = {label: rank for rank, label in enumerate((RULE, DECIDED, ASKED))}
    by_worth = sorted(range(len(lines)), key=lambda at: (worth[lines[at].partition(":")[0]], -at))
    return [lines[at] for at in sorted(by_worth[:MOST])]


def _is_rule(message: Message, said: Signals) -> bool:
    return said.constraint and message.role == "user"


def _quote(message: Message) -> Iterator[str]:
    """Yield a line for each sentence of a message that binds."""
    for sentence in _sentences(message):
        said = signals_of(sentence, message.role)
        if said.decision or _is_rule(message, said):
            about = RULE if _is_rule(message, said) else DECIDED
            yield f"{about}: {cut(sentence, LONGEST)}"


def _opening(message: Message) -> str:
    """Return the first sentence of a request that is more than a greeting."""
    sentences = _sentences(message) or [""]
    return next((each for each in sentences if each.count(" ") >= GREETING), sentences[0])


def _sentences(message: Message) -> list[str]:
    parts = sentence_texts(excerpt(message.content))
    return [" ".join(part.split()) for part in parts if part.strip()]

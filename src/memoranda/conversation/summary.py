"""Summarizes messages by quoting a few of their lines word for word, without a model.

What binds later turns comes first: standing rules, corrections, errors, decisions, what was
asked and done, the tools that were called, and the ids, names and figures that were used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoranda.conversation.particulars import FIGURE, find_names
from memoranda.conversation.signals import Signals, excerpt, prose, signals, signals_of
from memoranda.errors import InvalidInput
from memoranda.model.models import Message
from memoranda.text.lines import cut
from memoranda.text.terms import cut_sentences

LEAST = 40  # characters below which nothing useful can be said
LONGEST = 180  # characters of a quoted sentence
NAMED = 160  # characters of the list of names and figures
CALLED = 6  # tools that are listed

# What a line is about, the most important first, what it is called, and how many there may be.
RULE, CORRECTION, DECISION, ERROR, LATEST, NAMES, DONE, TOOLS, ASKED, FACT, SAID = range(11)
LABELS = (
    *("rule", "corrected", "decided", "error", "asked", "named", "done", "tools"),
    *("asked", "said", "said"),
)
MOST = {RULE: 5, CORRECTION: 3, DECISION: 3, ERROR: 3, DONE: 3, ASKED: 4, FACT: 3, SAID: 3}
CUES = {
    "assistant": {CORRECTION: "correction", DECISION: "decision", DONE: "completion"},
    "user": {
        RULE: "constraint",
        CORRECTION: "correction",
        ERROR: "error",
        DECISION: "decision",
        ASKED: "directive",
    },
}


class SummaryLine(NamedTuple):
    """A line that a summary can have: what it is about, its place in the talk, and its text."""

    about: int
    place: int
    text: str


class ExtractiveSummarizer:
    """Quotes what matters in messages; the rule-based ``Summarizer``.

    Deterministic. Every quotation stands in a message as it is here, except that ``…`` marks
    where it was cut. Works for any language: where no words are known, what was asked is
    quoted by its first sentence, and ids, names and figures are known by their form.
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
        """Return a summary of ``messages`` in quoted lines, the most important first.

        Empty if nothing matters: small talk alone, or no messages.
        """
        known = [(message, signals(message)) for message in messages]
        quoted = [line for place, each in enumerate(known) for line in _quotations(place, *each)]
        lines = _keep_newest(_merge_repeated([*quoted, *_failures(known)]))
        names = _names(known)
        room = self._most - min(NAMED, self._most // 3) if names else self._most
        kept = _fit([*lines, *_tools(messages)], room)
        room = self._most - sum(len(line.text) + 1 for line in kept)
        kept += _list_names(names, "\n".join(line.text for line in kept), min(room, NAMED))
        return "\n".join(line.text for line in sorted(kept))


def _quotations(place: int, message: Message, kind: Signals) -> Iterator[SummaryLine]:
    """Yield the sentences of a message that matter, each for the best reason."""
    if message.role not in CUES or kind.casual:
        return
    user = message.role == "user"
    quoted, first = False, ""
    for part in cut_sentences(prose(excerpt(message.content)), titles=True):
        sentence = part.strip()
        if not sentence:
            continue
        said = signals_of(sentence, message.role)
        if not first and not said.casual:
            first = sentence  # that is not mere courtesy
        wanted = CUES[message.role].items()
        about = next((about for about, signal in wanted if getattr(said, signal)), None)
        if about is None and user and next(find_names(sentence), None):
            about = FACT
        if about is not None:
            quoted = True
            yield SummaryLine(about, place, f"{LABELS[about]}: {cut(sentence, LONGEST)}")
    if not quoted and user and first:
        yield SummaryLine(SAID, place, f"{LABELS[SAID]}: {cut(first, LONGEST)}")


def _failures(known: Sequence[tuple[Message, Signals]]) -> Iterator[SummaryLine]:
    """Yield what the tools said when they failed."""
    names = {call.id: call.name for message, _ in known for call in message.tool_calls}
    for place, (message, kind) in enumerate(known):
        said = [line.strip() for line in excerpt(message.content).split("\n") if line.strip()]
        if kind.error and message.role == "tool" and said:
            traced = said[0].startswith("Traceback")
            source = names.get(message.tool_result.call_id if message.tool_result else "")
            label = f"error in {source}" if source else "error"
            yield SummaryLine(ERROR, place, f"{label}: {cut(said[-traced], LONGEST)}")


def _tools(messages: Sequence[Message]) -> Iterator[SummaryLine]:
    """Yield which tools were called how often."""
    calls = Counter(call.name for message in messages for call in message.tool_calls)
    if calls:
        listed = [_times(name, count) for name, count in calls.most_common(CALLED)]
        more = ["…"] if len(calls) > CALLED else []
        yield SummaryLine(TOOLS, len(messages), f"{LABELS[TOOLS]}: {', '.join([*listed, *more])}")


def _list_names(names: Sequence[str], quoted: str, room: int) -> Iterator[SummaryLine]:
    """Yield the names that are not quoted, as many as there is room for."""
    listed = f"{LABELS[NAMES]}:"
    for name in names:
        known = name in quoted or name in listed
        if not known and len(listed) + len(name) + 2 <= room:
            listed += f" {name},"
    if listed.endswith(","):
        yield SummaryLine(NAMES, 0, listed.removesuffix(","))


def _names(known: Sequence[tuple[Message, Signals]]) -> list[str]:
    """Return the ids, names and figures that were used, the most used first.

    What only the results of tools hold was not used by anyone: it is left out.
    """
    weights: Counter[str] = Counter()
    latest: dict[str, int] = {}
    for place, (message, kind) in enumerate(known):
        if kind.casual or message.role not in CUES:
            continue
        texts = [prose(excerpt(message.content)), *(call.arguments for call in message.tool_calls)]
        used = 3 if message.role == "user" or message.tool_calls else 1
        for name in {found[0] for text in texts for found in find_names(text)}:
            weights[name] += used * (1 if FIGURE.fullmatch(name) else 2)
            latest[name] = place
    return sorted(weights, key=lambda name: (-weights[name], -latest[name], name))


def _merge_repeated(lines: Sequence[SummaryLine]) -> list[SummaryLine]:
    """Return each text once, at its last place; one that was said more often says so."""
    times = Counter(line.text for line in lines)
    last = {line.text: line for line in lines}
    return [line._replace(text=_times(text, times[text])) for text, line in last.items()]


def _keep_newest(lines: Sequence[SummaryLine]) -> list[SummaryLine]:
    """Return of each kind only the newest few; the newest request of all is one of its own."""
    kept: list[SummaryLine] = []
    for about, most in MOST.items():
        newest = sorted(line for line in lines if line.about == about)[-most:]
        if about == ASKED and newest:
            newest[-1] = newest[-1]._replace(about=LATEST)
        kept += newest
    return kept


def _fit(lines: Sequence[SummaryLine], room: int) -> list[SummaryLine]:
    """Return the lines that fit into ``room``: of the most important kinds, the newest first."""
    kept: list[SummaryLine] = []
    for line in sorted(lines, key=lambda line: (line.about, -line.place, line.text)):
        text = cut(line.text, room) if room >= LEAST else line.text
        if len(text) <= room:
            kept.append(line._replace(text=text))
            room -= len(text) + 1
    return kept


def _times(text: str, count: int) -> str:
    return text if count == 1 else f"{text} ×{count}"

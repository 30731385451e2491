"""The entry of a conversation in the history, without a model, and the raw one of last resort.

An entry tells what was asked, decided, done, failed and left open, in sentences as they were
said. Together they are to tell most in the room there is: greedy maximum coverage under a budget
(Lin and Bilmes 2011, "A class of submodular functions for document summarization").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.exclusions import blank_exclusions
from memoranda.learning.extraction.speaker import ROLES
from memoranda.model.models import DateMention
from memoranda.model.ports import DateReader, EntityExtractor
from memoranda.notes.quotable_sentences import (
    AGENTS,
    LINE,
    TOOL_TEXT,
    LineLabel,
    QuotableSentence,
    read_sentences,
    weigh_words,
)
from memoranda.text.languages import LanguageData
from memoranda.text.lines import cut, one_line, stamp
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import HIDDEN, looks_secret, without_secrets

_EN = LanguageData("en", "history")
_EXTRACTION = LanguageData("en", "extraction")

LONGEST = 1_500
"""Characters of an entry."""
LISTED, LIST, LIST_ITEM = 330, 150, 40
"""Characters that are kept for names, figures and times; those of each list, and of one item."""
TOPIC, TOPICS = 80, 4
"""Characters and words by which the heading tells what a conversation is about."""
NAME = 40
"""Characters of who said something."""
FEW = 3
"""Speakers up to which they are named."""
TELLING = 0.8
"""What a word must tell to be what the conversation is about."""
LEAST_TOLD = 2
"""Sentences in which a word must be to be what the conversation is about."""
LEAST = 0.5
"""A sentence that adds less is not worth a line, nor a conversation that tells less an entry."""
MOST_LINES = 12
"""Lines that quote."""
WORTH: Mapping[LineLabel, float] = {
    LineLabel.ASKED: 1.0,
    LineLabel.DECIDED: 1.6,
    LineLabel.DONE: 1.4,
    LineLabel.FAILED: 1.5,
    LineLabel.PLANNED: 1.2,
    LineLabel.OPEN: 1.3,
    LineLabel.SAID: 1.0,
}
QUESTION = 0.35
"""What a question is worth that one person asks another, and not an assistant."""
REACTION = 0.6
"""What a person's sentence is worth that is about the other one: mostly praise."""
LABELLED = 18
"""Characters that a line has beside its sentences: who, and what is done."""
AGAIN, STILL = 0.05, 0.25
"""What a word is worth that is told already; the second where something is decided or the like."""
PLAIN = frozenset({LineLabel.SAID, LineLabel.ASKED, LineLabel.PLANNED})
POWER = 0.7
"""How much its length counts against a sentence: with 1, lines are many and short."""
NAMED = frozenset({"person", "organization", "location", "project", "other"})
RAW_MESSAGES, RAW_LENGTH = 10, 200
"""Messages of a raw entry, and characters of each (requirement S2.32)."""
RAW_READ = 1_000
"""Characters of a message that are looked at for secrets when it is on one line."""
_FIGURE = compile_pattern(
    r"[$€£¥₹]\s?\d[\d.,]*\d\s?(?:[kKmM]\b|million\b|billion\b)?|[$€£¥₹]\s?\d"
    r"|(?<![\w.])\d[\d.,]*\s?(?:%|€|\$|£|°[CF]?|(?:USD|EUR|GBP|CHF|BRL)\b)"
    r"|(?<![\w:])\d{1,2}:\d{2}(?!:?\d)(?:\s?[ap]\.?m\b)?"
    r"|(?<![\w.,:/-])\d(?:[\d.,]*\d)?[\s-](?P<unit>[^\W\d_]{2,20})"
)
_YEAR = compile_pattern(r"\b\d{4}\b")

Line = tuple[QuotableSentence, ...]
"""Sentences of one message that do the same, and stand on one line."""


class HistoryEntryWriter:
    """Writes the history entry of a conversation from its own sentences, without a model.

    An entry holds sentences as they were said, shortened and chosen by rules; never code, logs,
    pasted texts, the output of tools, or secrets. English is read best; of any other language
    the sentences that tell most are quoted.

    Args:
        dates: finds times, to tell which days relative ones mean.
        names: finds names.
    """

    def __init__(self, dates: DateReader, names: EntityExtractor) -> None:
        """Read with these."""
        self._dates = dates
        self._names = names

    def write(self, turns: Sequence[Turn], at: datetime) -> str:
        """Return the entry of a conversation; empty if nothing was said that is worth telling.

        It begins with ``[2026-02-27 14:30]``, has at most 1,500 characters, and each of its
        lines after the first begins with ``- ``.

        Args:
            turns: the conversation, or a part of it, in order.
            at: when it is written down, in the user's time zone.
        """
        sentences = read_sentences(turns)
        sentences = [each for each in sentences if each.quotable] or sentences
        if sum(each.weight for each in sentences) < LEAST:
            return ""
        chat = not all(turn.person for turn in turns) or _speakers(turns) <= ROLES
        heading, listed = _heading(turns, sentences, at), self._list_items(turns, sentences)
        room = LONGEST - len(heading)
        lines = self._lines(heading, choose_lines(sentences, room - LISTED, chat=chat), at)
        free = room - sum(len(line) + 1 for line in [*lines[1:], *_lists(listed, lines)])
        room += max(0, free) - LISTED
        lines = self._lines(heading, choose_lines(sentences, room, chat=chat), at)
        for line in _lists(listed, lines):
            _add(lines, line)
        return "\n".join(lines)

    def _lines(self, heading: str, chosen: Sequence[Line], at: datetime) -> list[str]:
        lines = [heading]
        for line in chosen:
            text = " ".join(self._with_dates(each, at.date().isoformat()) for each in line)
            _add(lines, f"- {_who(line[0])}: {text}")
        return lines

    def _with_dates(self, sentence: QuotableSentence, today: str) -> str:
        """Return a sentence with the days that its relative times mean, in brackets."""
        parts, done = [], 0
        for mention in self._dates.read(sentence.text, sentence.turn.at):
            day = write_iso(mention)
            if _YEAR.search(mention.text) or day == today:
                continue
            parts += [sentence.text[done : mention.end], f" ({day})"]
            done = mention.end
        return "".join([*parts, sentence.text[done:]])

    def _list_items(
        self, turns: Sequence[Turn], sentences: Sequence[QuotableSentence]
    ) -> Mapping[str, list[str]]:
        """Return what lists may hold: all the names, numbers and times that persons speak of."""
        persons = [each for each in sentences if each.turn.person] or sentences
        return {
            "names": self._find_names(persons, {one.lower() for one in _speakers(turns)}),
            "numbers": self._find_figures(persons),
            "dates": list(self._find_times(persons)),
        }

    def _find_times(self, sentences: Iterable[QuotableSentence]) -> Iterator[str]:
        """Yield the times that are spoken of, as ISO days with the words that were used."""
        for each in sentences:
            for mention in self._dates.read(each.whole, each.turn.at):
                day, words = write_iso(mention), one_line(mention.text)
                yield day if words == day or len(words) > LIST_ITEM else f"{day} ({words})"

    def _find_figures(self, sentences: Iterable[QuotableSentence]) -> list[str]:
        """Return the numbers with what they count, but for those of dates."""
        found: list[str] = []
        for each in sentences:
            if not any(map(str.isdigit, each.whole)):
                continue
            taken = [(one.start, one.end) for one in self._dates.read(each.whole, each.turn.at)]
            for match in _FIGURE.finditer(each.whole):
                inside = any(start < match.end() and match.start() < end for start, end in taken)
                if not inside and _is_unit(match["unit"]):
                    found.append(match[0].strip())
        return list(dict.fromkeys(found))

    def _find_names(self, sentences: Sequence[QuotableSentence], speakers: set[str]) -> list[str]:
        """Return the names that are spoken of, the most frequent first."""
        counts: Counter[str] = Counter()
        for each in sentences:
            for mention in self._names.extract(each.whole):
                name = one_line(mention.text)
                low = name.lower()
                known = low in speakers or any(low in one.split() for one in speakers)
                if mention.type in NAMED and len(name) <= LIST_ITEM and not known:
                    counts[name] += 1
        return [name for name, _ in counts.most_common()]


def choose_lines(sentences: Sequence[QuotableSentence], room: int, *, chat: bool) -> list[Line]:
    """Return at most :data:`MOST_LINES` lines of at most ``room`` characters, in their order.

    Args:
        sentences: what may be quoted.
        room: characters, those around each sentence included.
        chat: whether questions are asked of an assistant.
    """
    worth = [_worth(each, chat=chat) for each in sentences]
    left = set(range(len(sentences)))
    told: set[str] = set()
    lines: dict[tuple[str, LineLabel, int], list[QuotableSentence]] = {}
    while True:
        best = max(
            (
                (_gain(sentences[at], told) * worth[at] / cost**POWER, -at, cost)
                for at in left
                if (cost := _cost(sentences[at], lines)) is not None and cost <= room
            ),
            default=None,
        )
        if best is None or best[0] * best[2] ** POWER < LEAST:
            break
        chosen = sentences[-best[1]]
        left.remove(-best[1])
        lines.setdefault(_line_of(chosen, lines), []).append(chosen)
        told |= chosen.words.keys()
        room -= best[2]
    ordered = [tuple(sorted(line, key=lambda each: each.place)) for line in lines.values()]
    return sorted(ordered, key=lambda line: line[0].place)


def _line_of(
    sentence: QuotableSentence,
    lines: Mapping[tuple[str, LineLabel, int], Sequence[QuotableSentence]],
) -> tuple[str, LineLabel, int]:
    """Return the line on which a sentence goes: one of its message with room, or a new one."""
    number = 0
    while held := lines.get((sentence.turn.id, sentence.label, number)):
        if sum(len(each.text) + 1 for each in held) + len(sentence.text) <= LINE:
            break
        number += 1
    return sentence.turn.id, sentence.label, number


def _cost(
    sentence: QuotableSentence,
    lines: Mapping[tuple[str, LineLabel, int], Sequence[QuotableSentence]],
) -> int | None:
    """Return the characters that a sentence takes; ``None`` where no line is left."""
    if lines.get(_line_of(sentence, lines)):
        return len(sentence.text) + 1
    return len(sentence.text) + LABELLED if len(lines) < MOST_LINES else None


def _worth(sentence: QuotableSentence, *, chat: bool) -> float:
    if chat:
        return WORTH[sentence.label]
    if sentence.label is LineLabel.ASKED:
        return QUESTION
    hearer, self_ = _EN.pattern("speaks_of_hearer"), _EN.pattern("speaks_of_self")
    reaction = hearer.search(sentence.text) and not self_.search(sentence.text)
    return WORTH[sentence.label] * (REACTION if reaction else 1)


def _gain(sentence: QuotableSentence, told: set[str]) -> float:
    again = AGAIN if sentence.label in PLAIN else STILL
    return sum(weight * (again if word in told else 1) for word, weight in sentence.words.items())


def write_iso(mention: DateMention) -> str:
    """Return the time of a mention as ISO 8601 has it: ``2023-05-07``, ``2023-06``, ``2022``."""
    since = last = mention.since
    if mention.until - since > timedelta(microseconds=1):
        last = mention.until - timedelta(microseconds=1)
    if mention.precision == "year":
        return f"{since.year:04}"
    if mention.precision == "month":
        return f"{since.year:04}-{since.month:02}"
    if mention.precision == "time" or since.date() == last.date():
        return since.date().isoformat()
    return f"{since.date().isoformat()}/{last.date().isoformat()}"


def _is_unit(word: str | None) -> bool:
    """Return whether a word after a number may be what it counts."""
    low = (word or "").lower()
    no_units = _EXTRACTION.words("stop", "evaluative", "adverbs", "prepositions")
    return word is None or (low not in no_units and not low.endswith("ing"))


def _lists(listed: Mapping[str, Sequence[str]], lines: Sequence[str]) -> list[str]:
    """Return the lists of what no line tells."""
    shown = "\n".join(lines)
    found = [_list(label, items, shown) for label, items in listed.items()]
    return [line for line in found if line]


def _list(label: str, items: Iterable[str], shown: str) -> str:
    line = f"- {label}:"
    for item in items:
        if item.partition(" (")[0] in shown or f" {item}," in line:
            continue
        if len(line) + len(item) + 2 > LIST:
            break
        line += f" {item},"
    return line.removesuffix(",") if line.endswith(",") else ""


def _speakers(turns: Sequence[Turn]) -> set[str]:
    return {turn.speaker for turn in turns if turn.person}


def _heading(turns: Sequence[Turn], sentences: Sequence[QuotableSentence], at: datetime) -> str:
    """Return the first line: when, what about, how much and how long."""
    counted = f"{len(turns)} message{'' if len(turns) == 1 else 's'}"
    others = sorted(_speakers(turns) - ROLES)
    names = " and ".join(one_line(each)[:NAME] for each in others)
    who = f" of {names}" if 0 < len(others) <= FEW else ""
    first, last = min(turn.at.date() for turn in turns), max(turn.at.date() for turn in turns)
    span = f", {first.isoformat()} to {last.isoformat()}" if first != last else ""
    about = _topic(sentences)
    rest = f"{counted}{who}{span}"
    line = f"{stamp(at)} About {about}: {rest}" if about else f"{stamp(at)} {rest}"
    return line if not looks_secret(line) else f"{stamp(at)} {counted}{span}"


def _topic(sentences: Sequence[QuotableSentence]) -> str:
    """Return the names and nouns that come back most, as written; else the first sentence."""
    counts: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    nouns: set[str] = set()
    for each in sentences:
        found = [word for word in weigh_words(each.whole) if word.weight >= TELLING]
        told_here = [word.stem for word in found if not word.stem[0].isdigit()]
        counts.update(dict.fromkeys(told_here).keys())
        for word in found:
            written[word.stem][word.written.removesuffix("'s")] += 1
        if each.turn.person or each.turn.speaker in AGENTS:
            nouns |= {word.stem for word in found if word.noun}
    place = {stem: at for at, stem in enumerate(counts)}
    best = sorted(counts.keys() & nouns, key=lambda stem: (-counts[stem], place[stem]))[:TOPICS]
    words = [written[stem].most_common(1)[0][0] for stem in best if counts[stem] >= LEAST_TOLD]
    return ", ".join(words) if words else f"“{cut(sentences[0].text, TOPIC).rstrip('.')}”"


def _who(sentence: QuotableSentence) -> str:
    speaker, label = sentence.turn.speaker, str(sentence.label)
    if sentence.turn.person and speaker not in ROLES:
        name = one_line(speaker)[:NAME]
        return f"{name} {label}" if sentence.label is not LineLabel.SAID else name or label
    agent = not sentence.turn.person and speaker in AGENTS
    return f"assistant {label}" if agent else label


def _add(lines: list[str], line: str) -> None:
    """Add a line if it has any text, fits, and makes no secret together with the others."""
    text = "\n".join([*lines, line])
    if line and len(text) <= LONGEST and not looks_secret(text):
        lines.append(line)


def write_raw_entry(messages: Sequence[tuple[str, str] | Turn], at: datetime, total: int) -> str:
    """Return the last messages of a conversation as an entry of the history.

    ``[2026-02-27 14:30] [raw-fallback] last 10 of 54 messages:`` and a line ``- role: text`` for
    each. A message is one line whatever it holds; secrets, what was told in confidence and what
    was taken back are left out of it.

    Args:
        messages: turns, or pairs of role and text; at least the last ten, in order.
        at: when it is written, in the user's time zone.
        total: how many messages the conversation has.
    """
    turns = [
        each if isinstance(each, Turn) else Turn("", *each, at, each[0] not in _NO_PERSONS)
        for each in messages
    ]
    last = [_raw_line(turn) for turn in blank_exclusions(turns)[-RAW_MESSAGES:]]
    heading = f"{stamp(at)} [raw-fallback] last {len(last)} of {total} messages:"
    return "\n".join([heading, *last])


_NO_PERSONS = AGENTS | {"tool", "system"}


def _raw_line(message: Turn) -> str:
    text = one_line(message.text[:TOOL_TEXT])
    if not text and message.text:
        text = HIDDEN
    if len(text) > RAW_READ:  # No half of a secret at the end of what is looked at.
        text = text[:RAW_READ].rpartition(" ")[0] or text[:RAW_READ]
    return f"- {one_line(message.speaker)[:NAME]}: {without_secrets(text)[:RAW_LENGTH]}".rstrip()

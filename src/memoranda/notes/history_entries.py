"""The entry of a conversation in the history, without a model, and the raw one of last resort.

An entry tells what was asked, decided, done, failed and left open, in sentences as they were
said. Together they are to tell most in the room there is: greedy maximum coverage under a budget
(Lin and Bilmes 2011, "A class of submodular functions for document summarization").

English, with the commonest forms of German, Spanish, French and Portuguese: a sentence asks,
decides, tells what is done, failed or left open; what no pattern knows is simply said.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from memoranda.learning.claims import ROLES, Turn
from memoranda.learning.extraction.exclusions import blank_exclusions, is_injection
from memoranda.learning.extraction.sentences import blank_others, blank_texts, split_sentences
from memoranda.learning.parsed_text import stems
from memoranda.model.models import DateMention
from memoranda.model.ports import DateReader, EntityExtractor
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.lines import MARK, MARKUP, cut, one_line, stamp
from memoranda.text.patterns import LanguageData, compile_pattern, load
from memoranda.text.secrets import HIDDEN, has_secret, mask_secrets

_EN = LanguageData("en", "history")
_COMPARISON = LanguageData("en", "comparison")
_EXTRACTION = LanguageData("en", "extraction")

# Characters of an entry.
LONGEST = 1_500
# Characters of a sentence in an entry.
LINE = 160
# Characters that are kept for names, figures and times; those of each list, and of one item.
LISTED, LIST, LIST_ITEM = 330, 150, 40
# Characters and words by which the heading tells what a conversation is about.
TOPIC, TOPICS = 80, 4
# Characters of who said something.
NAME = 40
# Speakers up to which they are named.
FEW = 3
# What a word must tell to be what the conversation is about.
TELLING = 0.8
# Sentences in which a word must be to be what the conversation is about.
LEAST_TOLD = 2
# A sentence that adds less is not worth a line, nor a conversation that tells less an entry.
LEAST = 0.5
# Lines that quote.
MOST_LINES = 12
# What a question is worth that one person asks another, and not an assistant.
QUESTION = 0.35
# What a person's sentence is worth that is about the other one: mostly praise.
REACTION = 0.6
# Characters that a line has beside its sentences: who, and what is done.
LABELLED = 18
# What a word is worth that is told already; the second where something is decided or the like.
AGAIN, STILL = 0.05, 0.25
# How much its length counts against a sentence: with 1, lines are many and short.
POWER = 0.7
NAMED = frozenset({"person", "organization", "location", "project", "other"})
# Messages of a raw entry, and characters of each (requirement S2.32).
RAW_MESSAGES, RAW_LENGTH = 10, 200
# Characters of a message that are looked at for secrets when it is on one line.
RAW_READ = 1_000
# Characters that are read of what a tool gave.
TOOL_TEXT = 20_000
# Of a person's turn longer than the first, what stands in the middle is taken for pasted.
LONG, HEAD, TAIL = 2_500, 900, 500
# Speakers that are no persons, and whose words are words.
AGENTS = frozenset({"assistant", "agent", "model"})
# Words of a sentence that, after one about a secret, may be the secret itself.
TERSE = 4
# Letters of a name by which people call each other.
SHORT = 3

_YEAR = compile_pattern(r"\b\d{4}\b")
_FULL_STOP = compile_pattern(r"(?<=[\u3002\uff01\uff1f])(?!$)")
_ASKS = compile_pattern(r"[?\uff1f\u061f]|[吗嗎呢か]\s*[\u3002]?$")
_EMPHASIS = compile_pattern(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_MARK = compile_pattern(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_REQUEST_END = compile_pattern(r"[.!?:\n]")
_OPENING = compile_pattern(r"[^\w\"'(]+")
_MEMBER = compile_pattern(
    r"\s*\{.{0,200}?\"(?:error|message|detail)\"\s*:\s*\"([^\"]{1,400})\"", re.DOTALL
)
_ANY_WORD = compile_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TOKEN = compile_pattern(
    r"(?P<unspaced>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+)"
    r"|(?P<number>\d+(?:[.,:/]\d+)*)|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
)
# What words tell: figures, names, numbers in words, pairs of letters without spaces, empty words.
_NUMBER, _NAME, _COUNT, _PAIR, _SMALL = 1.5, 1.6, 1.2, 0.4, 0.2
# By length: in any language the words that hold a sentence together are short.
_BY_LENGTH = (0.0, 0.1, 0.2, 0.5, 0.8)


class LineLabel(StrEnum):
    """The label of a line: a request, a decision, something done and so on."""

    ASKED = "asked"
    DECIDED = "decided"
    DONE = "done"
    FAILED = "failed"
    PLANNED = "planned"
    OPEN = "open"
    SAID = "said"


PLAIN = frozenset({LineLabel.SAID, LineLabel.ASKED, LineLabel.PLANNED})


@dataclass(frozen=True, slots=True)
class QuotableSentence:
    """A sentence that an entry may quote.

    Attributes:
        place: where it stands in the conversation.
        turn: who said it, and when.
        label: what it does.
        text: the sentence on one line, perhaps shortened.
        whole: the sentence on one line.
        words: what its words tell, by their stems.
        quotable: whether it may be a line; an assistant's may not, unless nobody else spoke.
    """

    place: int
    turn: Turn
    label: LineLabel
    text: str
    whole: str
    words: Mapping[str, float]
    quotable: bool = True


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
        self.dates = dates
        self._names = names

    def write(self, turns: Sequence[Turn]) -> str:
        """Return the entry of a conversation; empty if nothing was said that is worth telling.

        It begins with the time of the last turn, ``[2026-02-27 14:30]``, has at most 1,500
        characters, and each of its lines after the first begins with ``- ``.

        Args:
            turns: the conversation, or a part of it, in order.
        """
        chat = not all(turn.person for turn in turns) or _speakers(turns) <= ROLES
        sentences = read_sentences(turns, chat=chat)
        sentences = [each for each in sentences if each.quotable] or sentences
        if sum(sum(each.words.values()) for each in sentences) < LEAST:
            return ""
        heading, listed = _heading(turns, sentences), self._list_items(turns, sentences)
        room, today = LONGEST - len(heading), turns[-1].at.date().isoformat()
        lines = self._lines(heading, choose_lines(sentences, room - LISTED, chat=chat), today)
        # What the lists do not need is room for more lines.
        free = room - sum(len(line) + 1 for line in [*lines[1:], *_lists(listed, lines)])
        room += max(0, free) - LISTED
        lines = self._lines(heading, choose_lines(sentences, room, chat=chat), today)
        for line in _lists(listed, lines):
            _add(lines, line)
        return "\n".join(lines)

    def _lines(
        self, heading: str, chosen: Iterable[Sequence[QuotableSentence]], today: str
    ) -> list[str]:
        lines = [heading]
        for line in chosen:
            text = " ".join(self._with_dates(each, today) for each in line)
            _add(lines, f"- {_who(line[0])}: {text}")
        return lines

    def _with_dates(self, sentence: QuotableSentence, today: str) -> str:
        """Return a sentence with the days that its relative times mean, in brackets."""
        parts, done = [], 0
        for mention in self.dates.read(sentence.text, sentence.turn.at):
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
        speakers = {one.lower() for one in _speakers(turns)}
        names: Counter[str] = Counter()
        numbers: dict[str, None] = {}
        dates: list[str] = []
        for each in [each for each in sentences if each.turn.person] or sentences:
            times = self.dates.read(each.whole, each.turn.at)
            for time in times:
                day, words = write_iso(time), one_line(time.text)
                dates.append(day if words == day or len(words) > LIST_ITEM else f"{day} ({words})")
            for match in _EN.pattern("figure", 0).finditer(each.whole):
                start, end = match.span()
                of_a_time = any(time.start < end and start < time.end for time in times)
                if not of_a_time and _is_unit(match["unit"]):
                    numbers[match[0].strip()] = None
            for mention in self._names.extract(each.whole):
                name = one_line(mention.text)
                low = name.lower()
                known = low in speakers or any(low in one.split() for one in speakers)
                if mention.type in NAMED and len(name) <= LIST_ITEM and not known:
                    names[name] += 1
        frequent = [name for name, _ in names.most_common()]
        return {"names": frequent, "numbers": list(numbers), "dates": dates}


# Which sentences are quoted


def choose_lines(
    sentences: Sequence[QuotableSentence], room: int, *, chat: bool
) -> list[list[QuotableSentence]]:
    """Return at most :data:`MOST_LINES` lines of at most ``room`` characters, in their order.

    A line holds sentences of one message that do the same.

    Args:
        sentences: what may be quoted.
        room: characters, those around each sentence included.
        chat: whether questions are asked of an assistant.
    """
    left = {at: (each, _worth(each, chat=chat)) for at, each in enumerate(sentences)}
    told: set[str] = set()
    lines: list[list[QuotableSentence]] = []
    while True:
        best = (0.0, 0, 0, 0.0)
        for at, (each, worth) in left.items():
            fits = _line_for(each, lines) is not None
            cost = len(each.text) + (1 if fits else LABELLED)
            if cost > room or (len(lines) == MOST_LINES and not fits):
                continue
            again = AGAIN if each.label in PLAIN else STILL
            words = each.words.items()
            gain = worth * sum(weight * (again if word in told else 1) for word, weight in words)
            best = max(best, (gain / cost**POWER, -at, cost, gain))
        _, place, cost, gain = best
        if gain < LEAST:
            break
        chosen, _ = left.pop(-place)
        line = _line_for(chosen, lines)
        if line is None:
            lines.append([chosen])
        else:
            line.append(chosen)
        told |= chosen.words.keys()
        room -= cost
    for line in lines:
        line.sort(key=lambda each: each.place)
    return sorted(lines, key=lambda line: line[0].place)


def _line_for(
    sentence: QuotableSentence, lines: Iterable[list[QuotableSentence]]
) -> list[QuotableSentence] | None:
    """Return the line of its message in which there is room for a sentence, if there is one."""
    for line in lines:
        same = line[0].turn.id == sentence.turn.id and line[0].label is sentence.label
        if same and sum(len(each.text) + 1 for each in line) + len(sentence.text) <= LINE:
            return line
    return None


def _worth(sentence: QuotableSentence, *, chat: bool) -> float:
    worth: float = load("en", "history")["worth"][sentence.label]
    if chat:
        return worth
    if sentence.label is LineLabel.ASKED:
        return QUESTION
    hearer, self_ = _EN.pattern("speaks_of_hearer"), _EN.pattern("speaks_of_self")
    reaction = hearer.search(sentence.text) and not self_.search(sentence.text)
    return worth * (REACTION if reaction else 1)


# How an entry is written


def write_iso(mention: DateMention) -> str:
    """Return the time of a mention as ISO 8601 has it: ``2023-05-07``, ``2023-06``, ``2022``."""
    since = mention.since.date().isoformat()
    if mention.precision in {"year", "month"}:
        return since[: 4 if mention.precision == "year" else 7]
    last = max(mention.since, mention.until - timedelta(microseconds=1)).date().isoformat()
    return since if mention.precision == "time" or since == last else f"{since}/{last}"


def _is_unit(word: str | None) -> bool:
    """Return whether a word after a number may be what it counts."""
    low = (word or "").lower()
    no_units = _EXTRACTION.words("stop", "evaluative", "adverbs", "prepositions")
    return word is None or (low not in no_units and not low.endswith("ing"))


def _lists(listed: Mapping[str, Sequence[str]], lines: Sequence[str]) -> list[str]:
    """Return the lines of what no line tells."""
    shown, found = "\n".join(lines), []
    for label, items in listed.items():
        line = f"- {label}:"
        for item in items:
            if item.partition(" (")[0] in shown or f" {item}," in line:
                continue
            if len(line) + len(item) + 2 > LIST:
                break
            line += f" {item},"
        if line.endswith(","):
            found.append(line.removesuffix(","))
    return found


def _speakers(turns: Sequence[Turn]) -> set[str]:
    return {turn.speaker for turn in turns if turn.person}


def _heading(turns: Sequence[Turn], sentences: Sequence[QuotableSentence]) -> str:
    """Return the first line: when, what about, how much and how long."""
    counted = f"{len(turns)} message{'' if len(turns) == 1 else 's'}"
    others = sorted(_speakers(turns) - ROLES)
    names = " and ".join(one_line(each)[:NAME] for each in others)
    who = f" of {names}" if 0 < len(others) <= FEW else ""
    first, last = min(turn.at.date() for turn in turns), max(turn.at.date() for turn in turns)
    span = f", {first.isoformat()} to {last.isoformat()}" if first != last else ""
    about, at = _topic(sentences), stamp(turns[-1].at)
    line = f"{at} {f'About {about}: ' if about else ''}{counted}{who}{span}"
    return line if not has_secret(line) else f"{at} {counted}{span}"


def _topic(sentences: Sequence[QuotableSentence]) -> str:
    """Return the names and nouns that come back most, as written; else the first sentence."""
    counts: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    nouns: set[str] = set()
    for each in sentences:
        found = [word for word in weigh_words(each.whole) if word.weight >= TELLING]
        counts.update(dict.fromkeys(w.stem for w in found if not w.stem[0].isdigit()).keys())
        for word in found:
            written[word.stem][word.written.removesuffix("'s")] += 1
        if each.turn.person or each.turn.speaker in AGENTS:
            nouns |= {word.stem for word in found if word.noun}
    # Of equals the one that was told first: so a counter has them.
    best = [stem for stem, _ in counts.most_common() if stem in nouns][:TOPICS]
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
    """Add a line if it fits, and makes no secret together with the others."""
    text = "\n".join([*lines, line])
    if len(text) <= LONGEST and not has_secret(text):
        lines.append(line)


def write_raw_entry(turns: Sequence[Turn]) -> str:
    """Return the last messages of a conversation as an entry of the history.

    ``[2026-02-27 14:30] [raw-fallback] last 10 of 54 messages:`` and a line ``- role: text`` for
    each. A message is one line whatever it holds; secrets, what was told in confidence and what
    was taken back are left out of it.

    Args:
        turns: the whole conversation, in order.
    """
    last = [_raw_line(turn) for turn in blank_exclusions(turns[-RAW_MESSAGES:])]
    at = stamp(turns[-1].at)
    heading = f"{at} [raw-fallback] last {len(last)} of {len(turns)} messages:"
    return "\n".join([heading, *last])


def _raw_line(message: Turn) -> str:
    text = one_line(message.text[:TOOL_TEXT])
    if not text and message.text:
        text = HIDDEN
    if len(text) > RAW_READ:  # No half of a secret at the end of what is looked at.
        text = text[:RAW_READ].rpartition(" ")[0] or text[:RAW_READ]
    return f"- {one_line(message.speaker)[:NAME]}: {mask_secrets(text)[:RAW_LENGTH]}".rstrip()


# Which sentences can be quoted


def read_sentences(turns: Sequence[Turn], *, chat: bool) -> list[QuotableSentence]:
    """Return what may be quoted of ``turns``, in order; nothing that is secret or no sentence.

    Args:
        turns: the conversation.
        chat: whether persons talk with an assistant, and so ask it for things.
    """
    turns = blank_exclusions(turns)
    words = {word.lower() for speaker in _speakers(turns) - ROLES for word in speaker.split()}
    names = frozenset(words | {word[:SHORT] for word in words})
    found: list[QuotableSentence] = []
    suspect = False
    for turn in turns:
        for text, asks in _split_turn(turn):
            # What is said right after a word about a secret may be the secret.
            terse = suspect and not asks and len(text.split()) <= TERSE
            hidden = terse or HIDDEN in text or has_secret(text)
            suspect = _EN.pattern("secret_topic").search(text) is not None or (suspect and hidden)
            injected = turn.person and is_injection(text)
            if injected or hidden or MARKUP.search(text) or _is_casual(text, names):
                continue
            label = _find_label(text, asks=asks, person=turn.person, chat=chat)
            lead = _lead(names).match(text)
            whole = (text[lead.end() :] or text) if lead else text
            short = _window(whole)
            weights = {w: weight for w, weight in _word_weights(short).items() if w not in names}
            quotable = label is not None and not whole.endswith(":")
            label = label or LineLabel.SAID
            place = len(found)
            found.append(QuotableSentence(place, turn, label, short, whole, weights, quotable))
        if failure := _failure(turn):
            weights, label = _word_weights(failure), LineLabel.FAILED
            found.append(QuotableSentence(len(found), turn, label, failure, failure, weights))
    return found


def _split_turn(turn: Turn) -> Iterator[tuple[str, bool]]:
    """Yield the sentences that a turn's speaker says in plain words, and whether they ask."""
    if turn.speaker == "system" or not (turn.person or turn.speaker in AGENTS):
        return
    text = mask_secrets(turn.text)
    for sentence in split_sentences(text):
        if len(text) > LONG and HEAD < sentence.start < len(text) - TAIL:
            continue
        raw = text[sentence.start : sentence.start + len(sentence.shown)]
        for part in _FULL_STOP.split(raw):
            said = _MARK.sub("", one_line(_EMPHASIS.sub("", part)))
            if said:
                yield said, sentence.question or _ASKS.search(said) is not None
    if turn.person and (request := _request(text)):
        yield request, True


def _request(text: str) -> str:
    """Return how a person asks to work on a text, without that text."""
    own = blank_others(text)
    pairs = enumerate(zip(own, blank_texts(own), strict=True))
    place = next((at for at, (sign, kept) in pairs if sign != kept), None)
    if place is None:
        return ""
    opening = _OPENING.match(own, place)
    place = opening.end() if opening else place
    end = _REQUEST_END.search(own, place)
    return one_line(own[place : end.start() if end else None])[:LINE]


def _failure(turn: Turn) -> str:
    """Return what a tool said first when it failed; nothing where that is secret or an order."""
    text = turn.text[:TOOL_TEXT]
    if turn.person or turn.speaker in AGENTS | {"system"}:
        return ""
    test = _EN.pattern("failed_test", re.MULTILINE).search(text)
    if test is not None:
        said = test[0]
    elif _EN.pattern("failure").match(text) and not has_secret(text):
        rows = [line for line in text.split("\n") if line.strip()]
        traced = rows[0].lstrip().lower().startswith("traceback")
        member = _MEMBER.match(text)
        said = member[1] if member else rows[-1] if traced else rows[0]
    else:
        return ""
    said = cut(one_line(said), LINE)
    hidden = has_secret(said) or MARKUP.search(said) or is_injection(said)
    return "" if hidden else f"{one_line(turn.speaker)[:NAME]} \u2014 {said}"


@lru_cache(maxsize=64)
def _lead(names: frozenset[str]) -> LinearPattern:
    """Return what courtesies look like that stand before a sentence, and may call one by name."""
    called = "".join(rf"|{re.escape(name)}" for name in sorted(names))
    leads = f"(?:{_EN.source('courtesies')})" + (rf"(?:\s(?:{called[1:]})\b)?" if called else "")
    return compile_pattern(
        rf"(?:(?:{leads}{called})\b(?:\s*[,!.\u2026-]+\s*|\s+(?=(?:i|we|my)\b)))+", re.IGNORECASE
    )


def _window(text: str) -> str:
    """Return the sentence, or of a long one the run of clauses that tells most."""
    if len(text) <= LINE:
        return text
    parts = [part for part in _EN.pattern("clause_break", 0).split(text) if part]
    told = [sum(_word_weights(part).values()) for part in parts]
    best = (-1.0, 0, 0)
    for first in range(len(parts)):
        length = 0
        for end in range(first + 1, len(parts) + 1):
            length += len(parts[end - 1]) + 1
            if length > LINE - len(MARK) * 4 and end > first + 1:
                break
            # Of runs that tell as much the shortest, and of these the first.
            run = (sum(told[first:end]), first - end, -first)
            best = max(best, run)
    first, end = -best[2], -best[2] - best[1]
    shown = " ".join(parts[first:end]).rstrip(" ,;:")
    opened = f"{MARK} " if first else ""
    closed = f" {MARK}" if end < len(parts) else ""
    return opened + cut(shown, LINE - len(opened) - len(closed)) + closed


def _is_casual(text: str, names: frozenset[str]) -> bool:
    """Return whether a sentence is a greeting, thanks or the like, and nothing else.

    Args:
        text: the sentence.
        names: of the speakers, in lower case.
    """
    if any(sign.isdigit() for sign in text):
        return False
    if _EN.pattern("casual_unspaced", 0).fullmatch(text):
        return True
    words = [word.lower().replace("’", "'") for word in _ANY_WORD.findall(text)]
    return all(word in _EN.words("casual") or word in names for word in words)


def _find_label(text: str, *, asks: bool, person: bool, chat: bool) -> LineLabel | None:
    """Return the label of a sentence; ``None`` for an assistant's sentence without one.

    Args:
        text: the sentence.
        asks: whether it ends with a question mark.
        person: whether a person says it.
        chat: whether persons talk with an assistant, and so ask it for things.
    """
    text = text.replace("’", "'")
    if not person:
        if asks:
            return None
        if _EN.pattern("agent_failed").search(text):
            return LineLabel.FAILED
        return LineLabel.DONE if _EN.pattern("agent_done").search(text) else None
    if asks or (chat and _EN.pattern("request").search(text)):
        return LineLabel.ASKED
    own = _EN.pattern("quotation", 0).sub("", text)
    for label in map(LineLabel, ("decided", "open", "failed", "done", "planned")):
        found = _EN.pattern(label).search(own)
        if found and (label is not LineLabel.PLANNED or _EN.pattern("own").search(own)):
            return label
    return LineLabel.SAID


# What words tell


class WeightedWord(NamedTuple):
    """A word of a sentence.

    Attributes:
        stem: by which it is compared.
        written: as it stands there.
        weight: how much it tells.
        noun: whether it stands there as a name or a noun, as far as its neighbours show.
    """

    stem: str
    written: str
    weight: float
    noun: bool = True


def weigh_words(text: str) -> list[WeightedWord]:
    """Return the informative words of a sentence, in order."""
    found: list[WeightedWord] = []
    before = ""
    for place, match in enumerate(_TOKEN.finditer(text)):
        kind, token = match.lastgroup, match[0]
        if kind == "unspaced":
            pairs = [token[at : at + 2] for at in range(max(1, len(token) - 1))]
            found += [WeightedWord(pair, pair, _PAIR) for pair in pairs]
        elif kind == "number":
            found.append(WeightedWord(token, token, _NUMBER))
        else:
            low = token.lower().replace("’", "'").removesuffix("'s")
            weight = _weight(token, low, first=place == 0)
            found.append(WeightedWord(low, token, weight, _is_noun(token, before)))
        before = token.lower()
    stemmed = stems([word.stem for word in found])
    return [
        word._replace(stem=stem) for word, stem in zip(found, stemmed, strict=True) if word.weight
    ]


def _word_weights(text: str) -> dict[str, float]:
    """Return how informative each word of a sentence is, by its stem."""
    found: dict[str, float] = {}
    for word in weigh_words(text):
        found[word.stem] = max(word.weight, found.get(word.stem, 0))
    return found


def _is_noun(token: str, before: str) -> bool:
    """Return whether a word is a name or a noun: by a capital, its ending or what leads to it."""
    if (token[0].isupper() and before) or before in _EN.words("determiners"):
        return True
    low = token.lower()
    nominal = low.endswith(tuple(_EN.words("noun_endings"))) or before in _EN.words("noun_leads")
    return nominal and not low.endswith(("ing", "ed", "ly"))


def _weight(token: str, low: str, *, first: bool) -> float:
    counts = low in _EN.words("number_words")
    if low in _empty_words() or low.partition("'")[0] in _empty_words():
        return _COUNT if counts else 0
    if low in _EXTRACTION.words("vague", "evaluative", "adverbs", "light", "mental", "fillers"):
        return _SMALL
    if counts:
        return _COUNT
    if token[0].isupper() and not first:
        return _NAME
    return _BY_LENGTH[len(low)] if len(low) < len(_BY_LENGTH) else 1.0


@cache
def _empty_words() -> frozenset[str]:
    return _EXTRACTION.words("stop", "second", "pronouns") | _COMPARISON.words("stop_words")

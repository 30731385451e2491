"""The entry of a conversation in the history, without a model, and the raw one of last resort.

An entry quotes sentences as they were said. Together they are to tell most in the room there is:
greedy maximum coverage under a budget (Lin and Bilmes 2011, "A class of submodular functions for
document summarization"). It holds .82 of the key words of LoCoMo's answers, and the beginnings of
these conversations .47 (``benchmarks/history_entries.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from memoranda.facts.values import stems
from memoranda.learning.claims import Turn
from memoranda.learning.exclusions import blank_exclusions, is_injection
from memoranda.learning.sentences import own_sentences
from memoranda.model.models import DateMention
from memoranda.text.dates.statements import read_times
from memoranda.text.lines import MARKUP, cut, one_line
from memoranda.text.patterns import LanguageData, compile_pattern, words_of
from memoranda.text.secrets import HIDDEN, has_secret, mask_secrets
from memoranda.text.small_talk import is_small_talk

_EN = LanguageData("en", "history")

# Characters of an entry.
LONGEST = 1_500
# Characters of a sentence in an entry.
LINE = 160
# Characters of who said something.
NAME = 40
# A sentence that adds less is not worth a line.
LEAST = 0.5
# Characters that a line has beside its sentences: the mark, and who speaks.
LABELLED = 12
# How much its length counts against a sentence: with 1, lines are many and short.
POWER = 0.5
# Messages of a raw entry, and characters of each (requirement S2.32).
RAW_MESSAGES, RAW_LENGTH = 10, 200
# Characters of a message that are looked at for secrets when it is on one line.
RAW_READ = 1_000
# Characters that are read of what a tool gave.
TOOL_TEXT = 20_000
# Speakers that are no persons, and whose words are words.
AGENTS = frozenset({"assistant", "agent", "model"})
# Words of a sentence that, after one about a secret, may be the secret itself.
TERSE = 4

_YEAR = compile_pattern(r"\b\d{4}\b")
_MARK = compile_pattern(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_TOKEN = compile_pattern(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
# What names and empty words tell.
_NAME = 1.6
# By length: in any language the words that hold a sentence together are short.
_BY_LENGTH = (0.0, 0.1, 0.2, 0.5, 0.8)


class QuotableSentence(NamedTuple):
    """A sentence that an entry may quote.

    Attributes:
        turn: who said it, and when.
        text: the sentence on one line, perhaps shortened, with the days that it speaks of.
        words: what its words tell, by their stems.
    """

    turn: Turn
    text: str
    words: Mapping[str, float]


def stamp(at: datetime) -> str:
    """Return a moment as entries begin: ``[2023-05-08 13:56]``, in its own zone."""
    return f"[{at.isoformat(' ')[:16]}]"


def write_entry(turns: Sequence[Turn]) -> str:
    """Return the history entry of a conversation, in its own sentences, without a model.

    It begins with the time of the last turn, ``[2026-02-27 14:30]``, has at most 1,500
    characters, and each of its lines after the first begins with ``- ``. It is empty if nothing
    was said that is worth telling.

    It quotes persons, and of an assistant what was done and what failed; never code, logs, pasted
    texts, the output of tools or secrets. English is read best; of any other language the
    sentences that tell most are quoted.

    Args:
        turns: the conversation, or a part of it, in order.
    """
    if not turns:
        return ""
    first, last = min(turn.at.date() for turn in turns), max(turn.at.date() for turn in turns)
    counted = f"{len(turns)} message{'' if len(turns) == 1 else 's'}"
    span = f", {first.isoformat()} to {last.isoformat()}" if first != last else ""
    lines = [f"{stamp(turns[-1].at)} {counted}{span}"]
    for line in choose_lines(_quotable_sentences(turns), LONGEST - len(lines[0])):
        told = " ".join(each.text for each in line)
        text = "\n".join([*lines, f"- {one_line(line[0].turn.speaker)[:NAME]}: {told}"])
        if len(text) <= LONGEST and not has_secret(text):
            lines = text.split("\n")
    return "\n".join(lines) if len(lines) > 1 else ""


def _quotable_sentences(turns: Sequence[Turn]) -> list[QuotableSentence]:
    """Return what may be quoted of a conversation, in order."""
    today, found = turns[-1].at.date().isoformat(), list[QuotableSentence]()
    for turn, text in quotable_texts(blank_exclusions(turns)):
        short = _with_dates(cut(text, LINE), turn, today)
        found.append(QuotableSentence(turn, short, weigh_words(short)))
    return found


def _with_dates(text: str, turn: Turn, today: str) -> str:
    """Return a sentence, and in brackets the days that its relative times mean."""
    times = [each for each in read_times(text, turn.at) if not _YEAR.search(each.text)]
    days = [day for day in dict.fromkeys(map(write_iso, times)) if day != today]
    return f"{text} ({', '.join(days)})" if days else text


def choose_lines(sentences: Sequence[QuotableSentence], room: int) -> list[list[QuotableSentence]]:
    """Return lines of together at most ``room`` characters, in their order.

    A line holds sentences of one message.

    Args:
        sentences: what may be quoted.
        room: characters, those around each sentence included.
    """
    left, told = list(sentences), set[str]()
    lines: list[list[QuotableSentence]] = []

    def cost(sentence: QuotableSentence) -> int:
        return len(sentence.text) + (1 if _line_for(sentence, lines) else LABELLED)

    def worth(sentence: QuotableSentence) -> float:
        new = sum(weight for word, weight in sentence.words.items() if word not in told)
        length = cost(sentence)
        return new / length**POWER if new >= LEAST and length <= room else 0.0

    while left and worth(chosen := max(left, key=worth)):
        left.remove(chosen)
        room -= cost(chosen)
        if (line := _line_for(chosen, lines)) is not None:
            line.append(chosen)
        else:
            lines.append([chosen])
        told |= chosen.words.keys()
    ordered = [sorted(line, key=sentences.index) for line in lines]
    return sorted(ordered, key=lambda line: sentences.index(line[0]))


def _line_for(
    sentence: QuotableSentence, lines: Sequence[list[QuotableSentence]]
) -> list[QuotableSentence] | None:
    """Return the line of its message in which there is room for a sentence, if there is one."""
    own = (line for line in lines if line[0].turn is sentence.turn)
    room = LINE - len(sentence.text)
    return next((line for line in own if sum(len(x.text) + 1 for x in line) <= room), None)


def write_iso(mention: DateMention) -> str:
    """Return the time of a mention as ISO 8601 has it: ``2023-05-07``, ``2023-06``, ``2022``."""
    since = mention.since.date().isoformat()
    if mention.precision in {"year", "month"}:
        return since[: 4 if mention.precision == "year" else 7]
    last = max(mention.since, mention.until - timedelta(microseconds=1)).date().isoformat()
    return since if since == last else f"{since}/{last}"


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


def quotable_texts(turns: Sequence[Turn]) -> Iterator[tuple[Turn, str]]:
    """Yield what may be quoted of turns, in order; nothing that is secret or no sentence.

    Args:
        turns: the conversation, without what was said in confidence or taken back.
    """
    suspect = False
    for turn in turns:
        for text, asks in _split_turn(turn):
            # What is said right after a word about a secret may be the secret.
            terse = suspect and not asks and len(text.split()) <= TERSE
            hidden = terse or HIDDEN in text or has_secret(text)
            suspect = _EN.secret_topic.search(text) is not None or (suspect and hidden)
            wrong = hidden or MARKUP.search(text) or text.endswith(":") or is_injection(text)
            # An assistant tells what it has done, and what failed; the rest is advice.
            if not turn.person:
                wrong = wrong or not _tells_deed(text)
            if not (wrong or is_small_talk(text)):
                yield turn, text


def _tells_deed(text: str) -> bool:
    """Return whether an assistant says that it did something, or that something failed."""
    found = _EN.agent_acts.finditer(text.replace("’", "'"))
    idle = _EN.words("no_deeds")
    return any(not each["none"] and (each["did"] or "").lower() not in idle for each in found)


def _split_turn(turn: Turn) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a turn, but for those of a tool, and which of them ask."""
    if not (turn.person or turn.speaker in AGENTS):
        return
    text = mask_secrets(turn.text)
    for sentence in own_sentences(text):
        raw = text[sentence.start : sentence.start + len(sentence.shown)]
        if said := _MARK.sub("", one_line(raw.replace("**", ""))):
            yield said, sentence.question


# What words tell


def weigh_words(text: str) -> dict[str, float]:
    """Return how informative each word of a sentence is, by its stem."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    lower = [token.lower().replace("’", "'").removesuffix("'s") for token in tokens]
    weights: dict[str, float] = {}
    for place, (stem, low, token) in enumerate(zip(stems(lower), lower, tokens, strict=True)):
        weight = _weight(low, is_name=place > 0 and token[0].isupper())
        weights[stem] = max(weight, weights.get(stem, 0))
    return weights


def _weight(low: str, *, is_name: bool) -> float:
    if not words_of("function_words", "en").isdisjoint((low, low.partition("'")[0])):
        return 0
    if is_name:
        return _NAME
    return _BY_LENGTH[len(low)] if low.isalpha() and len(low) < len(_BY_LENGTH) else 1.0

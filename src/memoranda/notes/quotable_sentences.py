"""Finds the sentences of a conversation that a history entry may quote, and labels them.

English, with the commonest forms of German, Spanish, French and Portuguese: a sentence asks,
decides, tells what is done, failed or left open; what no pattern knows is simply said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.exclusions import blank_exclusions, is_injection
from memoranda.learning.extraction.sentences import (
    CODE_BLOCK,
    blank_recalled,
    blank_reports,
    blank_texts,
    split_sentences,
)
from memoranda.learning.extraction.speaker import ROLES
from memoranda.learning.parsed_text import stems
from memoranda.text.languages import LanguageData
from memoranda.text.lines import MARK, MARKUP, cut, one_line
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import HIDDEN, looks_secret, mask_secrets

_EN = LanguageData("en", "history")


LINE = 160
"""Characters of a sentence in an entry."""
TOOL_TEXT = 20_000
"""Characters that are read of what a tool gave."""
LONG, HEAD, TAIL = 2_500, 900, 500
"""Of a person's turn longer than the first, what stands in the middle is taken for pasted."""
AGENTS = frozenset({"assistant", "agent", "model"})
"""Speakers that are no persons, and whose words are words."""
SPEAKER = 40
_FULL_STOP = compile_pattern(r"(?<=[\u3002\uff01\uff1f])(?!$)")
_ASKS = compile_pattern(r"[?\uff1f\u061f]|[吗嗎呢か]\s*[\u3002]?$")
_EMPHASIS = compile_pattern(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_MARK = compile_pattern(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_REQUEST_END = compile_pattern(r"[.!?:\n]")
_OPENING = compile_pattern(r"[^\w\"'(]+")
TERSE = 4
"""Words of a sentence that, after one about a secret, may be the secret itself."""
SHORT = 3
"""Letters of a name by which people call each other."""
_MEMBER = compile_pattern(
    r"\s*\{.{0,200}?\"(?:error|message|detail)\"\s*:\s*\"([^\"]{1,400})\"", re.DOTALL
)


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

    @property
    def weight(self) -> float:
        """How informative it is."""
        return sum(self.words.values())


def read_sentences(turns: Sequence[Turn]) -> list[QuotableSentence]:
    """Return what may be quoted of ``turns``, in order; nothing that is secret or no sentence."""
    turns = blank_exclusions(turns)
    speakers = {turn.speaker for turn in turns if turn.person}
    words = {word.lower() for speaker in speakers - ROLES for word in speaker.split()}
    names = frozenset(words | {word[:SHORT] for word in words})
    chat = speakers <= ROLES or not all(turn.person for turn in turns)
    found: list[QuotableSentence] = []
    suspect = False
    for turn in turns:
        for text, asks in _split_turn(turn):
            # What is said right after a word about a secret may be the secret.
            terse = suspect and not asks and len(text.split()) <= TERSE
            hidden = terse or HIDDEN in text or looks_secret(text)
            suspect = _EN.pattern("secret_topic").search(text) is not None or (suspect and hidden)
            if turn.person and is_injection(text):
                continue
            if hidden or MARKUP.search(text) or is_casual(text, names):
                continue
            label = find_label(text, asks=asks, person=turn.person, chat=chat)
            found.append(_quotable(len(found), turn, label, text, names))
        if failure := _failure(turn):
            weights, label = word_weights(failure), LineLabel.FAILED
            found.append(QuotableSentence(len(found), turn, label, failure, failure, weights))
    return found


def _quotable(
    place: int, turn: Turn, label: LineLabel | None, text: str, names: frozenset[str]
) -> QuotableSentence:
    lead = _lead(names).match(text)
    text = (text[lead.end() :] or text) if lead else text
    short = _window(text)
    words = {word: weight for word, weight in word_weights(short).items() if word not in names}
    quotable = label is not None and not text.endswith(":")
    label = label or LineLabel.SAID
    return QuotableSentence(place, turn, label, short, text, words, quotable=quotable)


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
    own = blank_reports(CODE_BLOCK.sub(lambda found: "\n" * len(found[0]), blank_recalled(text)))
    kept = blank_texts(own)
    place = next(
        (at for at, pair in enumerate(zip(own, kept, strict=True)) if pair[0] != pair[1]), None
    )
    if place is None:
        return ""
    opening = _OPENING.match(own, place)
    place = opening.end() if opening else place
    end = _REQUEST_END.search(own, place)
    return one_line(own[place : end.start() if end else None])[:LINE]


def _failure(turn: Turn) -> str:
    """Return what a tool said first when it failed."""
    text = turn.text[:TOOL_TEXT]
    if turn.person or turn.speaker in AGENTS | {"system"}:
        return ""
    if test := _EN.pattern("failed_test", re.MULTILINE).search(text):
        said = cut(one_line(test[0]), LINE)
        return _quote_tool(turn, said)
    if not _EN.pattern("failure").match(text):
        return ""
    rows = [line for line in text.split("\n") if line.strip()]
    traced = rows[0].lstrip().lower().startswith("traceback")
    member = _MEMBER.match(text)
    said = cut(one_line(member[1] if member else rows[-1] if traced else rows[0]), LINE)
    return "" if looks_secret(text) else _quote_tool(turn, said)


def _quote_tool(turn: Turn, said: str) -> str:
    """Return what a tool said, with its name; nothing where that is secret or an order."""
    hidden = looks_secret(said) or MARKUP.search(said) or is_injection(said)
    return "" if hidden else f"{one_line(turn.speaker)[:SPEAKER]} \u2014 {said}"


@lru_cache(maxsize=64)
def _lead(names: frozenset[str]) -> re.Pattern[str]:
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
    told = [sum(word_weights(part).values()) for part in parts]
    runs = [(first, end) for first in range(len(parts)) for end in _ends(parts, first)]
    first, end = max(runs, key=lambda run: (sum(told[run[0] : run[1]]), run[0] - run[1]))
    shown = " ".join(parts[first:end]).rstrip(" ,;:")
    opened = f"{MARK} " if first else ""
    closed = f" {MARK}" if end < len(parts) else ""
    return opened + cut(shown, LINE - len(opened) - len(closed)) + closed


def _ends(parts: Sequence[str], first: int) -> Iterator[int]:
    """Yield where a run of clauses that begins at ``first`` may end: it fits, or is one clause."""
    length = 0
    for end in range(first + 1, len(parts) + 1):
        length += len(parts[end - 1]) + 1
        if length > LINE - len(MARK) * 4 and end > first + 1:
            return
        yield end


class LineLabel(StrEnum):
    """The label of a line: a request, a decision, something done and so on."""

    ASKED = "asked"
    DECIDED = "decided"
    DONE = "done"
    FAILED = "failed"
    PLANNED = "planned"
    OPEN = "open"
    SAID = "said"


_QUOTATION = compile_pattern(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<![^\s:(])'(?=[A-Z])[^\n]{1,300}?(?<=[\w.,!?])'(?!\w)"
)
_ANY_WORD = compile_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def is_casual(text: str, names: frozenset[str] = frozenset()) -> bool:
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


def find_label(text: str, *, asks: bool, person: bool, chat: bool) -> LineLabel | None:
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
    own = _QUOTATION.sub("", text)
    for label in map(LineLabel, ("decided", "open", "failed", "done", "planned")):
        found = _EN.pattern(label).search(own)
        if found and (label is not LineLabel.PLANNED or _EN.pattern("own").search(own)):
            return label
    return LineLabel.SAID


_COMPARISON = LanguageData("en", "comparison")
_EXTRACTION = LanguageData("en", "extraction")


_TOKEN = compile_pattern(
    r"(?P<unspaced>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+)"
    r"|(?P<number>\d+(?:[.,:/]\d+)*)|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
)
_FIGURE, _NAME, _COUNT, _PAIR, _SMALL = 1.5, 1.6, 1.2, 0.4, 0.2
# By length: in any language the words that hold a sentence together are short.
_BY_LENGTH = (0.0, 0.1, 0.2, 0.5, 0.8)


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
            found.append(WeightedWord(token, token, _FIGURE))
        else:
            weight = _weight(token, first=place == 0)
            found.append(WeightedWord(_fold(token), token, weight, _is_noun(token, before)))
        before = token.lower()
    stemmed = stems([word.stem for word in found])
    return [
        word._replace(stem=stem) for word, stem in zip(found, stemmed, strict=True) if word.weight
    ]


def _is_noun(token: str, before: str) -> bool:
    """Return whether a word is a name or a noun: by a capital, its ending or what leads to it."""
    low = token.lower()
    if token[0].isupper() and before:
        return True
    if before in _EN.words("determiners"):
        return True
    doing = low.endswith(("ing", "ed", "ly"))
    return not doing and (
        low.endswith(tuple(_EN.words("noun_endings"))) or before in _EN.words("noun_leads")
    )


def word_weights(text: str) -> Mapping[str, float]:
    """Return how informative each word of a sentence is, by its stem."""
    found: dict[str, float] = {}
    for word in weigh_words(text):
        found[word.stem] = max(word.weight, found.get(word.stem, 0))
    return found


def _fold(token: str) -> str:
    low = token.lower().replace("’", "'")
    return low.removesuffix("'s")


def _weight(token: str, *, first: bool) -> float:
    low = _fold(token)
    if low in _empty_words() or low.partition("'")[0] in _empty_words():
        return _COUNT if low in _EN.words("number_words") else 0
    if low in _EXTRACTION.words("vague", "evaluative", "adverbs", "light", "mental", "fillers"):
        return _SMALL
    if low in _EN.words("number_words"):
        return _COUNT
    if token[0].isupper() and not first:
        return _NAME
    return _BY_LENGTH[len(low)] if len(low) < len(_BY_LENGTH) else 1.0


@cache
def _empty_words() -> frozenset[str]:
    return _EXTRACTION.words("stop", "second", "pronouns") | _COMPARISON.words("stop_words")

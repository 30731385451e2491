"""How far a turn carries on the topic before it: lexical cohesion, cues and embeddings.

TextTiling (Hearst 1997) compares the words of two blocks of text. A turn of a chat is too
short for that alone, so that its form counts too: an answer carries on, a question to the
other after a remark of one's own rarely does. What each of these weighs stands in
``languages/en/topics.toml``.

Cue words are English. In another language they are not seen, and words in common, question
marks, lengths, time and embeddings decide alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log, log2

import numpy as np

from memoranda.model.query import Vector
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern

READ = 300  # characters that are read at each end of a longer text
BLOCK = 3  # turns that a new one is compared with
STEM = 5  # letters of a word that count: "booking" and "booked" are one
SHORTEST = 3  # letters of a word with a meaning of its own
LONGEST = 30  # words beyond which a turn is not longer
GAP_FROM = timedelta(hours=1)  # a pause up to this says nothing
GAP_MOST = 8.0  # doublings: a pause of ten days says all that a pause can say
TOLD = 0.3  # log-odds from which evidence is named as a reason
REASONS = 3  # reasons that are named at most
NEW_TOPIC = 1 / 3  # probability from which a turn begins a topic: good for F1 and Pk at once
BIAS, GAP = "bias", "gap"

Weights = Mapping[str, float]
"""Log-odds of a new topic for each unit of the evidence of that name."""

_ENGLISH = LanguageData("en", "topics")
_WORD = compile_pattern(r"[^\W_]+")
_UNSPACED = compile_pattern(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_YOU = _ENGLISH.pattern("you", 0)
_BACK = _ENGLISH.pattern("back", 0)
_WIDE = "\uff01\uff1f"  # ! and ? as Chinese and Japanese write them
_QUESTION = ("?", "\uff1f", "؟")
_ENDS = (". ", "! ", "? ", "؟ ", "\n", "。", *_WIDE)
_MARKS = f".!?؟。{_WIDE} \n\"'*)"


@dataclass(frozen=True, slots=True)
class TopicTurn:
    """What is read of a message to compare it with others.

    Attributes:
        at: when it was said.
        words: its content words, cut to ``STEM`` letters; pairs of characters in scripts
            without spaces.
        last: those of its last sentence, which is where a turn leads to.
        length: its words, all of them.
        question: whether it asks something anywhere.
        asks: whether its last sentence does.
        asks_you: whether its last sentence asks the other something about himself.
        back: whether its last sentence has a pronoun that may point back.
        vector: its embedding, of unit length.
    """

    at: datetime
    words: frozenset[str]
    last: frozenset[str]
    length: int
    question: bool
    asks: bool
    asks_you: bool
    back: bool
    vector: Vector | None = None

    @classmethod
    def of(cls, text: str, at: datetime, vector: Vector | None = None) -> TopicTurn:
        """Read a text; of a long one its two ends, so that any takes about the same time."""
        text = shortened(text).lower()
        last = last_sentence(text)
        asks = any(mark in last for mark in _QUESTION)
        return cls(
            at=at,
            words=content_words(text),
            last=content_words(last),
            length=len(_WORD.findall(text)),
            question=asks or any(mark in text for mark in _QUESTION),
            asks=asks,
            asks_you=asks and _YOU.search(last) is not None,
            back=_BACK.search(last) is not None,
            vector=vector,
        )


def weights_for(*, embedded: bool, ahead: bool) -> Weights:
    """Return the set for what is known: embeddings or none, the next turn or not."""
    name = ("embedded" if embedded else "lexical") + ("_ahead" if ahead else "")
    weights: Weights = load("en", "topics")["weights"][name]
    return weights


def meanings() -> Mapping[str, str]:
    """Return what each kind of evidence says, as a reason."""
    found: Mapping[str, str] = load("en", "topics")["meanings"]
    return found


def shortened(text: str) -> str:
    """Return a text, or the two ends of a long one."""
    return text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"


def last_sentence(text: str) -> str:
    """Return the last sentence of a text, with the marks at its end."""
    body = text.rstrip(_MARKS)
    return text[max([body.rfind(end) + len(end) for end in _ENDS if end in body], default=0) :]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a lower-case text that mean something alone, cut to ``STEM`` letters."""
    words = _WORD.findall(text)
    stop = _ENGLISH.words("stop_words")
    found = {word[:STEM] for word in words if len(word) >= SHORTEST and word not in stop}
    if not text.isascii():
        for run in _UNSPACED.findall(text):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class TopicShift:
    """How likely a turn begins a topic.

    Attributes:
        probability: 0 to 1.
        reasons: what speaks most for it, in words.
    """

    probability: float
    reasons: tuple[str, ...]


class Cohesion:
    """The last turns of a conversation. Keeps a bounded number of them. Not thread-safe."""

    def __init__(self) -> None:
        """Start before the first turn."""
        self.age = 0
        """The turns of the topic so far."""
        self._turns: deque[TopicTurn] = deque(maxlen=BLOCK)

    def take(self, turn: TopicTurn, *, new: bool) -> None:
        """Add a turn, which begins a topic or does not."""
        self._turns.append(turn)
        self.age = 1 if new else self.age + 1

    def shift(self, turn: TopicTurn, ahead: Sequence[TopicTurn] | None = None) -> TopicShift | None:
        """Return how likely ``turn`` begins a topic, if that is likely enough.

        Args:
            turn: the one that comes next, not taken yet.
            ahead: the turn that follows it, or nothing if none does; ``None`` if that is
                not to be looked at.
        """
        if not self.age:
            return None
        found = self.evidence(turn, ahead)
        weights = weights_for(embedded="apart" in found, ahead=ahead is not None)
        parts = {name: weight * found[name] for name, weight in weights.items()}
        total = sum(parts.values())
        probability = 1 / (1 + exp(-total))
        if probability < NEW_TOPIC:
            return None
        return TopicShift(probability, _reasons(parts))

    def evidence(
        self, turn: TopicTurn, ahead: Sequence[TopicTurn] | None = None
    ) -> dict[str, float]:
        """Return what speaks for and against a new topic with ``turn``, which is not the first.

        All are 0 or 1, but for ``length``: the natural logarithm of its tens of words; ``age``:
        that of the turns of the topic so far; ``new_words``: 1 minus the words in common with
        the block of turns before, as a share of the smaller set; ``new_last``: 1 minus those of
        the last sentence, as a share of its own; ``next_words`` and ``next_new``: as
        ``new_words``, of two turns, the former counting what is shared; ``gap``: doublings of
        an hour; ``apart`` (from the mean of the block), ``apart_own``, ``next_apart`` and
        ``next_away``: 1 minus a cosine, where all the turns that they need have vectors.
        """
        before = self._turns
        block = [before[place] for place in range(-min(self.age, len(before)), 0)]
        words = block[0].words.union(*[each.words for each in block[1:]])
        asked = before[-1].question
        found = {
            BIAS: 1.0,
            "question": float(turn.question),
            "asks_you": float(turn.asks_you),
            "asked": float(asked),
            "answered": float(len(before) > 1 and before[-2].question and not asked),
            "back": float(turn.back),
            "back_question": float(turn.back and turn.asks),
            "length": log(min(LONGEST, max(1, turn.length)) / 10),
            "no_words": float(not turn.words),
            "new_words": _apart(turn.words, words),
            "new_last": 1 - len(turn.last & words) / max(1, len(turn.last)),
            "begun": float(self.age == 1),
            "age": log(self.age),
            GAP: _doublings(turn.at - before[-1].at),
        }
        if ahead is not None:
            found |= _words_ahead(before[-1], turn, ahead)
        return found | self._meaning(turn, block, ahead)

    def _meaning(
        self, turn: TopicTurn, block: Sequence[TopicTurn], ahead: Sequence[TopicTurn] | None
    ) -> dict[str, float]:
        own = self._turns[-2] if len(self._turns) > 1 else self._turns[-1]
        vectors = [each.vector for each in (*block, own, *(ahead or ()))]
        known = [vector for vector in vectors if vector is not None]
        if turn.vector is None or len(known) < len(vectors):
            return {}
        total: Vector = np.sum(known[: len(block)], axis=0)
        found = {
            "apart": _distance(turn.vector, total),
            "apart_own": _distance(turn.vector, known[len(block)]),
        }
        if ahead is not None:
            found["next_apart"] = _distance(turn.vector, known[-1]) if ahead else 0.0
            found["next_away"] = _distance(known[len(block) - 1], known[-1]) if ahead else 0.0
        return found


def _words_ahead(
    before: TopicTurn, turn: TopicTurn, ahead: Sequence[TopicTurn]
) -> dict[str, float]:
    if not ahead:
        return {"nothing_after": 1.0, "next_back": 0.0, "next_words": 0.0, "next_new": 1.0}
    return {
        "nothing_after": 0.0,
        "next_back": float(ahead[0].back),
        "next_words": 1 - _apart(turn.words, ahead[0].words),
        "next_new": _apart(before.words, ahead[0].words),
    }


def _apart(one: frozenset[str], other: frozenset[str]) -> float:
    return 1 - len(one & other) / max(1, min(len(one), len(other)))


def _distance(one: Vector, other: Vector) -> float:
    product = float(np.sqrt((one @ one) * (other @ other)))
    return 1 - float(one @ other) / product if product else 1.0


def _doublings(pause: timedelta) -> float:
    return min(GAP_MOST, log2(pause / GAP_FROM)) if pause > GAP_FROM else 0.0


def _reasons(parts: Weights) -> tuple[str, ...]:
    told = [name for name, part in parts.items() if part >= TOLD and name != BIAS]
    told.sort(key=lambda name: -parts[name])
    return tuple(meanings()[name] for name in told[:REASONS])

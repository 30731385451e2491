"""What each piece of evidence for a new topic weighs.

A logistic model, fitted on every other dialogue of TIAGE (Xie et al. 2021), from the first;
``python -m benchmarks.boundaries --fit`` prints the weights anew. There are four sets: with
and without embeddings, and with and without a look at the turn that follows.
"""

from __future__ import annotations

from collections.abc import Mapping

Weights = Mapping[str, float]
"""Log-odds of a new topic for each unit of the evidence of that name."""

NEW_TOPIC = 1 / 3  # probability from which a turn begins a topic: good for F1 and Pk at once
BIAS = "bias"
GAP = "gap"
GAP_WEIGHT = 0.5  # set by hand, as TIAGE has no times: 1.5 after 8 hours, 2.3 after a day

MEANINGS: Mapping[str, str] = {
    "question": "it asks something",
    "asks_you": "it ends in a question to the other",
    "asked": "it answers a question",
    "answered": "a question was just answered",
    "back": "it points back",
    "back_question": "it asks about what was said",
    "length": "it says much",
    "no_words": "it says little",
    "new_words": "it shares few words with the turns before",
    "new_last": "its last sentence brings new words",
    "begun": "the topic has just begun",
    "age": "the topic has gone on for long",
    GAP: "much time has passed",
    "nothing_after": "nothing follows it",
    "next_back": "the next turn points back",
    "next_words": "the next turn shares words with it",
    "next_new": "the next turn shares no words with the turn before it",
    "apart": "it is far in meaning from the turns before",
    "apart_own": "it is far in meaning from the turn before the last",
    "next_apart": "the next turn is far in meaning from it",
    "next_away": "the next turn is far in meaning from the turn before it",
}
"""What the evidence says, as a reason.

All are 0 or 1, but for ``length``: the natural logarithm of its tens of words; ``age``: that of
the turns of the topic so far; ``new_words``: 1 minus the words in common with the block of turns
before, as a share of the smaller set; ``new_last``: 1 minus those of the last sentence, as a
share of its own; ``next_words`` and ``next_new``: as ``new_words``, of two turns, the former
counting what is shared; ``gap``: doublings of an hour; ``apart`` (from the mean of the block),
``apart_own``, ``next_apart`` and ``next_away``: 1 minus a cosine.
"""

LEXICAL: Weights = {
    BIAS: -3.75,
    "question": 1.01,
    "asks_you": 0.95,
    "asked": -1.46,
    "answered": -0.31,
    "back": -0.59,
    "back_question": -0.86,
    "length": 0.83,
    "new_last": 0.99,
    "begun": -0.77,
    "age": -0.21,
    "no_words": -1.11,
    "new_words": 1.99,
    GAP: GAP_WEIGHT,
}
EMBEDDED: Weights = {
    BIAS: -5.47,
    "question": 1.04,
    "asks_you": 1.16,
    "asked": -1.15,
    "answered": -0.25,
    "back": -0.7,
    "back_question": -1.08,
    "length": 1.04,
    "new_last": 1.14,
    "begun": -0.84,
    "age": -0.24,
    "apart": 6.75,
    "apart_own": -1.84,
    GAP: GAP_WEIGHT,
}
LEXICAL_AHEAD: Weights = {
    BIAS: -5.7,
    "question": 1.03,
    "asks_you": 0.93,
    "asked": -1.48,
    "answered": -0.35,
    "back": -0.57,
    "back_question": -0.85,
    "length": 0.78,
    "new_last": 1.01,
    "begun": -0.76,
    "age": -0.18,
    "no_words": -0.94,
    "new_words": 1.87,
    "nothing_after": -1.14,
    "next_back": -0.19,
    "next_words": 0.92,
    "next_new": 2.09,
    GAP: GAP_WEIGHT,
}
EMBEDDED_AHEAD: Weights = {
    BIAS: -6.65,
    "question": 1.04,
    "asks_you": 1.14,
    "asked": -1.19,
    "answered": -0.32,
    "back": -0.69,
    "back_question": -1.08,
    "length": 0.96,
    "new_last": 1.12,
    "begun": -0.75,
    "age": -0.25,
    "apart": 6.2,
    "apart_own": -1.6,
    "nothing_after": 0.28,
    "next_back": -0.24,
    "next_apart": -2.33,
    "next_away": 3.94,
    GAP: GAP_WEIGHT,
}


def weights_for(*, embedded: bool, ahead: bool) -> Weights:
    """Return the set for what is known: embeddings or none, the next turn or not."""
    if ahead:
        return EMBEDDED_AHEAD if embedded else LEXICAL_AHEAD
    return EMBEDDED if embedded else LEXICAL

"""The answer of a language model to several yes-or-no questions at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decisions:
    """For each question, in order, how likely its answer is yes: from 0 to 1."""

    probabilities: list[float]

"""Finds claims that negate their source, or state what the source negates.

Coarse, as the other checks: the clause that shares most words with the claim decides, and where
two share as many, a claim is let be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from memoranda.learning.llm.claim_evidence import stems
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern

EVIDENCE = LanguageData("mul", "evidence")
_NO = compile_pattern(r"\bno\b", re.IGNORECASE)


@cache
def _idioms() -> list[tuple[re.Pattern[str], str]]:
    """Return the idioms that deny or affirm, each with what it means in plain words."""
    return [
        (compile_pattern(rf"\b(?:{idiom})\b", re.IGNORECASE), plain)
        for idiom, plain in load("en", "comparison")["idioms"]
    ]


@dataclass(frozen=True, slots=True)
class _Clause:
    words: frozenset[str]
    denies: bool
    ends: bool


def is_contrary(content: str, about: set[str], texts: Sequence[str]) -> bool:
    """Return whether a claim says the contrary of the clauses that it shares words with.

    Args:
        content: what is claimed.
        about: the stems of what it says.
        texts: what was said.
    """
    clauses = [clause for text in texts for clause in _clauses(text)]
    if denies(content):
        near = [clause for clause in clauses if clause.words & about]
        # "No." and "Not anymore." say nothing else, and so belong to what they answer.
        bare = any(clause.denies and not clause.words for clause in clauses)
        return bool(near) and not bare and not any(one.denies or one.ends for one in near)
    if EVIDENCE.pattern("ending").search(content):
        return False
    most = max((len(clause.words & about) for clause in clauses), default=0)
    nearest = [clause for clause in clauses if most and len(clause.words & about) == most]
    return bool(nearest) and all(clause.denies for clause in nearest)


def _clauses(text: str) -> list[_Clause]:
    portuguese = EVIDENCE.pattern("portuguese").search(text) is not None
    parts = [part for part in EVIDENCE.pattern("clause_end").split(_plain(text)) if part.strip()]
    return [
        _Clause(
            frozenset(stems(EVIDENCE.pattern("negator").sub(" ", part))),
            denies(_NO.sub(" ", part) if portuguese else part),
            EVIDENCE.pattern("ending").search(part) is not None,
        )
        for part in parts
    ]


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, and not in form alone."""
    plain = _plain(text)
    return EVIDENCE.pattern("negator").search(plain) is not None and not EVIDENCE.pattern(
        "ends_denial"
    ).search(plain)


def _plain(text: str) -> str:
    """Return ``text`` with the idioms that deny nothing, or in their own way, in other words."""
    text = EVIDENCE.pattern("no_denial").sub(" ", text.replace("\u2019", "'"))
    for idiom, plain in _idioms():
        text = idiom.sub(plain, text)
    return text

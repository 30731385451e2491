"""Whether a claim denies what was said, or says what was denied.

Coarse, as the other checks: the clause that shares most words with the claim decides, and where
two share as many, a claim is let be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.learning.llm.evidence import stems
from memoranda.text.languages import load

_CLAUSE = re.compile(
    r"[.!?;:,\n]+|\s[-\u2013\u2014]+\s|\s(?:but|although|though|whereas|aber|sondern|mais|pero|sino|mas)\s",
    re.IGNORECASE,
)
_NEGATOR = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|anymore|any more|"
    r"nope|\w+n't|cant|dont|doesnt|didnt|isnt|wont|nicht|nichts|kein|keine[nmrs]?|nie|niemals|"
    r"nein|ohne|pas|jamais|aucune?|sans|ne|nunca|jamás|ningun[oa]|ningún|tampoco|sin|não|nao|non|"
    r"не|нет|никогда)\b|\bn'(?=\w)",
    re.IGNORECASE,
)
# Words that deny in form alone.
_NO_DENIAL = re.compile(
    r"\b(?:not (?:bad|alone)|nicht nur|no (?:solo|sólo)|pas (?:seulement|mal)|no doubt|"
    r"(?:can't|cannot|couldn't) believe|(?:don't|do not) (?:forget|worry|hesitate|mind)|"
    r"why (?:don't|doesn't)|never (?:been (?:so|more|better|happier)|forget))\b",
    re.IGNORECASE,
)
_MEANINGS = [
    (re.compile(rf"\b(?:{idiom})\b", re.IGNORECASE), plain)
    for idiom, plain in load("en", "comparison")["idioms"]
]
_ENDS_DENIAL = re.compile(r"\b(?:until|till|first time|erst|zum ersten mal)\b", re.IGNORECASE)
# "Moro no Porto": the word is "in the" there.
_PORTUGUESE = re.compile(
    r"\b(?:eu|meu|minha|moro|mora|trabalho|trabalha|você|estou|está|sou|não|nosso|nossa|usuári[oa])\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\bno\b", re.IGNORECASE)
_ENDING = re.compile(
    r"\b(?:stop(?:s|ped|ping)?|quit(?:s|ting)?|left|leaves?|leaving|former(?:ly)?|ex|previous(?:ly)?|"
    r"used to|moved|moving|g[ai]ven? up|sold|lost|broke(?:n)? (?:up|off)|divorced|separated|"
    r"cancel(?:l?ed|s)|fired|laid off|resigned|retired|died|dead|late|ended|over|finished|closed|"
    r"dropped|abandoned|missed|avoid(?:s|ed|ing)?|dislik(?:es?|ed|ing)|hat(?:es?|ed|ing)|"
    r"detest(?:s|ed)?|refus(?:es?|ed)|reject(?:s|ed)?|declin(?:es?|ed)|fail(?:s|ed)?|lacks?|"
    r"lacking|free|allerg\w+|intoleran\w+|vegan|vegetarian|instead|rather|only|except|un\w{4,}|"
    r"impossible|forbid\w*|bans?|banned|against|"
    r"aufgehört|früher|ehemalig\w*|gekündigt|verlassen|verkauft|verloren|vermeidet|hasse?t?|nur|"
    r"ancien(?:ne)?|arrêté|quitté|vendu|perdu|déteste|évite|"
    r"dejó|dejé|antigu[oa]|antes|vendió|vendí|perdió|perdí|odi[ao]|evit[ao])\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Clause:
    words: frozenset[str]
    denies: bool
    ends: bool


def turned(content: str, about: set[str], texts: Sequence[str]) -> bool:
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
    if _ENDING.search(content):
        return False
    most = max((len(clause.words & about) for clause in clauses), default=0)
    nearest = [clause for clause in clauses if most and len(clause.words & about) == most]
    return bool(nearest) and all(clause.denies for clause in nearest)


def _clauses(text: str) -> list[_Clause]:
    portuguese = _PORTUGUESE.search(text) is not None
    parts = [part for part in _CLAUSE.split(_plain(text)) if part.strip()]
    return [
        _Clause(
            frozenset(stems(_NEGATOR.sub(" ", part))),
            denies(_NO.sub(" ", part) if portuguese else part),
            _ENDING.search(part) is not None,
        )
        for part in parts
    ]


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, and not in form alone."""
    plain = _plain(text)
    return _NEGATOR.search(plain) is not None and not _ENDS_DENIAL.search(plain)


def _plain(text: str) -> str:
    """Return ``text`` with the idioms that deny nothing, or in their own way, in other words."""
    text = _NO_DENIAL.sub(" ", text.replace("\u2019", "'"))
    for idiom, plain in _MEANINGS:
        text = idiom.sub(plain, text)
    return text

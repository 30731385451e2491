"""A judge that needs no model: it sees a conflict only where the words show one.

Two texts are taken apart into clauses, and each clause of the newer one is held against each of
the older one. What decides is one pair of clauses, so whole messages can be judged as well as
single facts. Where in doubt, both hold: a fact that goes on beside a newer one is found behind
it, but one retired for nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memoranda.learning.claims import Category, Relation, Statement, Verdict
from memoranda.learning.conflicts.changes import find_changes
from memoranda.learning.conflicts.clauses import ParsedClause, split_clauses, text_content
from memoranda.learning.conflicts.facts import find_new_values
from memoranda.learning.deduplication import JACCARD, normalize_subject, score_duplicate
from memoranda.learning.parsed_text import parse_text
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "comparison")


# Words and clauses up to which a text is a single statement.
BRIEF_WORDS, BRIEF_CLAUSES = 30, 3
# Confidence below which a rule does not count.
LEAST = 0.5
# Share of a fact's content words in the clause that is over, if the fact is.
MAIN = 0.4
# The same where a fact is two sentences in one.
WHOLE = 0.9
# Likeness of vectors below which two texts have no theme in common, whatever words they share.
UNLIKE = 0.15
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """Says how a newer statement stands to an older one, by rules for English.

    Statements in other languages are told apart from their duplicates, and no more.

    Attributes:
        threshold: least share of content words of a duplicate.
    """

    threshold: float = JACCARD

    def judge(self, old: Statement, new: Statement) -> Verdict:
        """Return the verdict; :attr:`Relation.NONE` where in doubt."""
        one, other = normalize_subject(old), normalize_subject(new)
        if one is not None and other is not None and one != other:
            return Verdict(Relation.NONE, 1.0, "they are about different subjects")
        same = score_duplicate(old, new, threshold=self.threshold)
        if same:
            return Verdict(Relation.DUPLICATE, same, "they say the same")
        if new.likeness is not None and new.likeness < UNLIKE:
            return Verdict(Relation.NONE, 0.9, "they have no theme in common")
        about = one is not None and one == other
        found = max(
            _findings(old, new, about=about), key=lambda each: each.confidence, default=None
        )
        if found is None or found.confidence < LEAST:
            return Verdict(Relation.NONE, 0.5, "nothing shows that one excludes the other")
        return found


def _is_fact(statement: Statement) -> bool:
    """Return whether a statement is a single fact rather than a message."""
    if statement.category is not None or statement.subject is not None:
        return True
    words, clauses = parse_text(statement.text).words, split_clauses(statement.text)
    return len(words) <= BRIEF_WORDS and len(clauses) <= BRIEF_CLAUSES


def _findings(old: Statement, new: Statement, *, about: bool) -> Iterator[Verdict]:
    short = _is_fact(old) and _is_fact(new)
    own = parse_text(old.text).texts | parse_text(new.text).texts
    single = short and own.isdisjoint(_EN.words("own_words"))
    yield from find_new_values(old.text, new.text, single=single)
    for later in split_clauses(new.text):
        if short and _is_aside(later) and later.words[0].text not in _EN.words("relatives"):
            continue
        if new.category == Category.CORRECTION:
            later = replace(later, marks=later.marks | {"correcting"})  # noqa: PLW2901
        for earlier in split_clauses(old.text):
            if not short or _is_main(earlier, old):
                yield from find_changes(earlier, later, short=short, about=about)


def _is_main(clause: ParsedClause, statement: Statement) -> bool:
    """Return whether a fact says little beside one of its clauses.

    That a part of what it says is over is no reason to end it as a whole.
    """
    two = clause.content and _EN.pattern("compound").search(statement.text)
    share = (WHOLE if two else MAIN) * len(text_content(statement.text))
    return not _is_aside(clause) and len(clause.content) >= share


def _is_aside(clause: ParsedClause) -> bool:
    """Return whether a clause only adds to the one before: ``…, pushed with 150 commits``."""
    first = clause.words[0]
    participle = first.text.endswith(("ing", "ed")) and len(first.text) > _SHORTEST
    return not first.name and (participle or first.text in _EN.words("adding"))

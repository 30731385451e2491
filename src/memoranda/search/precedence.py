"""Precedence: what is true now goes before what was true.

Lexical and semantic evidence cannot tell the two apart: both say the same of the same thing, but
for a value. What is known of an attribute that is asked for goes first. Then the best answers are
compared with what the same speaker said later, and a text that brings one up to date goes just
above it.

- "Which cities did I see?" has many answers: nothing is moved for it. For "What was the rent at
  first?" it is the other way round: what the best answer brought up to date goes above it.
- A text brings another up to date where it is much like it, answers about as well, speaks of a
  change, or gives another value of the same sort; no single one of these is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import read_asked
from memoranda.model.models import Kind, Record
from memoranda.search.evidence import ScoredRecords, best_rows, merge_facts, pairs_among
from memoranda.search.index import UNREAD, Mask, Places, Rows
from memoranda.search.questions import (
    LONGEST,
    ParsedQuestion,
    StatedText,
    competes,
    is_keyword,
    read_statement,
)
from memoranda.store.sql.index_reads import KINDS
from memoranda.text.small_talk import states_nothing

DEPTH = 20  # of the best records, those that may bring the best one up to date
FOLLOWED = 3  # of the best records, those of which it is looked whether they changed
MOST_CHANGES = 8  # in all, and looks that find none
# What makes a later text the update of an earlier one: its likeness to it (0 to 1), and times these
# the likeness of their words, the share of its score, whether it speaks of a change, and whether it
# gives another value. Together they are ENOUGH. Figures: docs/retrieval.md.
WORDS, SHARE, CHANGE, VALUE, ENOUGH = 0.7, 2.2, 0.3, 0.4, 2.65
LEAST = ENOUGH - CHANGE - VALUE  # of likeness and score, without which the rest does not help
ASKS = 0.6  # what is left of the score of a turn that only asks
MOST_FIRST = 8  # facts; who has more of what is asked for is asked about one of them


@dataclass(frozen=True, kw_only=True)
class CurrentFirst:
    """Moves what is true now above what was true before, in one search.

    Attributes:
        question: what is asked.
        rows: the user's records.
        visible: those that count.
        wanted: those of them that may be shown.
        one: whether a person asks an assistant, and names no time.
        texts, records: give what records say, or the records, by row.
    """

    question: ParsedQuestion
    rows: Rows
    visible: Mask
    wanted: Mask
    one: bool
    texts: Callable[[Sequence[int]], Mapping[int, str]]
    records: Callable[[Sequence[int]], Mapping[int, Record]]

    def rank(self, own: ScoredRecords, found: Mask) -> tuple[ScoredRecords, Mask]:
        """Return scores in which what is true now goes first, and which records to show.

        Args:
            own: the score of each record by itself.
            found: which of them have anything to do with the question.
        """
        score = own.score.copy()
        score[self._asking(own, found)] *= ASKS
        own = own.moved(score)
        scored, shown = merge_facts(self.rows, own, found)
        scored, shown = self._with_asked_facts(own, scored, shown)
        if self.one and self.question.former:
            return self._with_former_first(scored, shown), shown
        can_move = self.one or len(self.rows.replaced)  # Among people corrections alone do.
        if can_move and not self.question.past:
            scored = self._with_updates_first(scored, shown)
        return scored, shown

    def _asking(self, scored: ScoredRecords, found: Mask) -> list[int]:
        """Return the turns among the best that ask and state nothing: no evidence of anything."""
        turns = self.rows["asks"] & (self.rows["kind"] == KINDS[Kind.EPISODE])
        best = [row for row in best_rows(scored.score, found, DEPTH) if turns[row]]
        return [row for row, text in self.texts(best).items() if states_nothing(text)]

    def _with_updates_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which what brings one of the best up to date goes before it."""
        best, place = best_rows(scored.score, shown, DEPTH), 0
        many = "attribute" in scored.evidence and asks_for_many(self.question.text)
        one = self.one and not many
        self.texts(best if one else ())  # All at once.
        for _ in range(MOST_CHANGES):
            if place == min(FOLLOWED, len(best)):
                break
            old = sorted(best, key=lambda row: -scored.score[row])[place]
            new = self._find_correction(old, scored, shown)
            new = self._find_update(old, best, scored) if new is None and one else new
            if new is None or scored.score[new] > scored.score[old]:  # Of a correction.
                place += 1
                continue
            scored = _moved_above(scored, new, old)
        return scored

    def _with_former_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which what the best record brought up to date goes before it."""
        best = best_rows(scored.score, shown, DEPTH)
        if not best:
            return scored
        top, said = best[0], self._said(best[0])
        earlier = (row for row in self._told_with(top, best) if said[row] < said[top])
        old = self._best_fit({row: self._fit(row, top, scored) for row in earlier})
        return scored if old is None else _moved_above(scored, old, top)

    def _find_correction(self, top: int, scored: ScoredRecords, shown: Mask) -> int | None:
        """Return the best shown record that replaced ``top``, or a fact drawn from it."""
        rows = self.rows
        told = [top, *rows.sources[rows.sources[:, 1] == top, 0].tolist()]
        replaced = rows.replaced[(rows.replaced[:, :1] == told).any(axis=1), 1].tolist()
        return max(
            (row for row in replaced if shown[row]), key=lambda row: scored.score[row], default=None
        )

    def _find_update(self, top: int, best: Sequence[int], scored: ScoredRecords) -> int | None:
        """Return the one of those below ``top`` that brings it up to date, if one does."""
        said, score = self._said(top), scored.score
        told = [row for row in self._told_with(top, best) if score[row] <= score[top]]
        later = {row: self._fit(top, row, scored) for row in told if said[row] > said[top]}
        return self._best_fit(later)

    def _best_fit(self, fits: Mapping[int, float]) -> int | None:
        enough = [
            row
            for row, fit in fits.items()
            if fit >= ENOUGH and not competes(self.question, self._read(row))
        ]
        return max(enough, key=lambda row: fits[row], default=None)

    def _told_with(self, top: int, best: Sequence[int]) -> list[int]:
        """Return what the speaker of a record said among the best; nothing if it is too long.

        An item says nothing: a new one takes the place of an old one under its key alone.
        """
        rows = self.rows
        told = [
            row
            for row in best
            if rows["length"][row] <= LONGEST
            and rows["speaker"][row] == rows["speaker"][top]
            and rows["kind"][row] != KINDS[Kind.ITEM]
        ]
        return told if top in told else []

    def _said(self, top: int) -> Places:
        """Return when records were said: what a fact tells happens at another time."""
        rows = self.rows
        return rows["event" if rows["kind"][top] == KINDS[Kind.EPISODE] else "created"]

    def _fit(self, old: int, new: int, scored: ScoredRecords) -> float:
        """Return how much a record is the update of an earlier one."""
        told, before = self._read(new), self._read(old)
        low, high = sorted(map(float, scored.score[[new, old]]))
        fit = self._likeness(new, old) + WORDS * told.likeness(before) + SHARE * low / high
        lost = before.terms - told.terms
        if (
            fit < LEAST
            or told.terms <= before.terms  # It says nothing more.
            or lost <= self.question.words  # It says the same, but for what is asked for.
            or (lost & self.question.words and is_keyword(self.question.text))
        ):
            return 0.0
        return fit + CHANGE * told.changes + VALUE * told.renews(before, self.question)

    def _likeness(self, row: int, other: int) -> float:
        """Return how like another record one is: by their vectors, or their words without."""
        vectors = self.rows.vectors
        if min(vectors.scales[row], vectors.scales[other]) <= UNREAD:
            return self._read(row).likeness(self._read(other))
        return float(np.vecdot(vectors.dequantize(row), vectors.dequantize(other)))

    def _read(self, row: int) -> StatedText:
        """Return what a record says, as far as it may bring another one up to date."""
        return read_statement(self.texts([row]).get(row, ""))

    def _with_asked_facts(
        self, own: ScoredRecords, scored: ScoredRecords, shown: Mask
    ) -> tuple[ScoredRecords, Mask]:
        """Return scores in which the facts that a question asks for come first, if any is known.

        Of a fact and the turns that it was drawn from the best stands for all: "Who is my boss?"
        has one answer, however it was worded ("It's Shona I answer to now").

        Args:
            own: the scores of all records, each by itself.
            scored: the same, with what facts lend to turns.
            shown: which of them to show.
        """
        shown, sources = shown.copy(), self.rows.sources
        first: dict[int, None] = {}
        facts = self._find_asked_facts()
        for fact in sorted(facts, key=lambda row: -own.score[row])[:MOST_FIRST]:
            turns = sources[sources[:, 0] == fact, 1].tolist()
            told = [row for row in (fact, *turns) if self.wanted[row]]
            best = max(told, key=lambda row: own.score[row], default=None)
            if best is None:
                continue
            if best == fact:  # Which says what the turns said.
                shown[told] = False
            shown[best] = True
            first[best] = None
        if not first:
            return scored, shown
        score, held = scored.score.copy(), np.zeros_like(scored.score)
        over = score[shown].max()
        for row in reversed(first):
            score[row] = over = np.nextafter(over, np.float32(2))
        held[[*first]] = 1
        return scored.raised("attribute", held, score), shown

    def _find_asked_facts(self) -> list[int]:
        """Return the facts of the user that hold now of what is asked.

        English tells the past by words that other languages ask with: "Was trinke ich?".
        """
        rows = self.rows
        if not rows.names["attribute"]:
            return []
        past = self.question.past
        asked = [
            each.attribute
            for each in read_asked(self.question.text)
            if each.own and not each.former and not (past and each.language == "en")
        ]
        held = rows.named("attribute", *asked) & rows.named("subject", "user")
        held &= self.visible
        held[find_superseded(rows, self.visible)] = False
        told = self.records(np.flatnonzero(held).tolist())
        # What is so answers better than what is not: "is not allergic to nuts".
        return [row for row, fact in told.items() if fact.value is not None] or [*told]


def asks_for_many(question: str) -> bool:
    """Return whether a question asks for an attribute of which several values hold at once."""
    return any(attributes()[each.attribute].holds == "many" for each in read_asked(question))


def find_superseded(rows: Rows, found: Mask) -> Places:
    """Return the facts that were found and whose replacements were found, too."""
    old = pairs_among(rows.replaced, found)[:, 0]
    places: Places = old[rows["kind"][old] != KINDS[Kind.EPISODE]]
    return places


def _moved_above(scored: ScoredRecords, row: int, other: int) -> ScoredRecords:
    """Return scores in which a record is just above another one."""
    score = scored.score.copy()
    score[row] = np.nextafter(score[other], np.float32(2))
    return scored.moved(score)

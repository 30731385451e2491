"""What is known of an attribute that a question asks for: the facts that hold now come first.

"Who is my boss?" has one answer, however the turn that told it was worded ("It's Shona I answer
to now"), and however much like the question an older one is ("My boss is Alasdair").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import AskedAttribute, read_asked, relation_nouns, same_roles
from memoranda.facts.values import value_key
from memoranda.model.models import Record
from memoranda.model.ports import Analyzer
from memoranda.search.evidence import ScoredRecords, pairs_among
from memoranda.search.index import Mask, Rows

USER = "user"
# By what the user is called.
NAMES = ("name", "called")
# A question has so many times the words of the subject that it asks about, at most.
MOST_AROUND = 3
# Facts that are put first; who has more than that is asked about one of them.
MOST_FIRST = 8
# Of a record, how much of the question's words it holds, and its score by itself.
FitsQuestion = Callable[[int], tuple[float, float]]
ReadRecords = Callable[[Iterable[int]], Mapping[int, Record]]


def asked_attributes(question: str) -> frozenset[str]:
    """Return the attributes of the facts that may answer a question, or tell whom it is about."""
    asked = list(read_asked(question))
    relations = (name for each in asked for name in relation_nouns(each.about).values())
    return frozenset({*NAMES, *relations, *(each.attribute for each in asked)} if asked else ())


def asks_for_many(question: str) -> bool:
    """Return whether a question asks for an attribute of which several values hold at once."""
    known = attributes()
    return any(not known[each.attribute].single for each in read_asked(question))


def find_asked_facts(
    question: str,
    rows: Rows,
    visible: Mask,
    analyzer: Analyzer,
    read: ReadRecords,
    *,
    past: bool = False,
) -> list[int]:
    """Return the facts that hold now of what a question asks for, by row.

    Args:
        question: what is asked.
        rows: the user's records.
        visible: those that count.
        analyzer: makes the terms by which names of things are compared.
        read: gives records by row.
        past: whether the question is about the past, if it is English: only dates still have one
            right answer. "Was" asks "what?" in German, whose own forms tell the past.
    """
    if not rows.attributes:
        return []
    known = attributes()
    asked = [
        each
        for each in read_asked(question)
        if each.attribute in rows.attributes
        and not each.former
        and (not past or known[each.attribute].dated or each.language != "en")
    ]
    if not asked:
        return []
    facts = _KnownFacts(rows, _current(rows, visible), analyzer, read)
    found: dict[int, int] = {}
    for each in asked:
        for row, fits in facts.fitting(each):
            found[row] = max(fits, found.get(row, 0))
    best = max(found.values(), default=0)
    rows_found = [row for row, fits in found.items() if fits == best]
    told = read(rows_found)
    # What is so answers better than what is not: "is not allergic to nuts".
    return [row for row in rows_found if told[row].value is not None] or rows_found


def _current(rows: Rows, visible: Mask) -> Mask:
    """Return which facts nothing has taken the place of."""
    current = visible.copy()
    current[pairs_among(rows.replaced, visible)[:, 0]] = False
    return current


class _KnownFacts:
    """The facts with an attribute among the records of a user."""

    def __init__(self, rows: Rows, current: Mask, analyzer: Analyzer, read: ReadRecords) -> None:
        self._rows = rows
        self._current = current
        self._analyzer = analyzer
        self._read = read
        self._subjects = {number: name for name, number in rows.subjects.items()}

    def fitting(self, asked: AskedAttribute) -> Iterator[tuple[int, int]]:
        """Yield the rows of facts that answer, each with how exactly its subject is named."""
        rows = self._of(asked.attribute)
        if asked.own:
            mine = [row for row in rows if self._subject(row) == USER]
            yield from ((row, 1) for row in self._with_noun(mine, asked.nouns))
            return
        about = self._terms(asked.about)
        others = self._names_of(asked) if rows else frozenset()
        for row in rows:
            subject = self._subject(row)
            terms = self._terms(subject)
            if subject in others:
                yield row, max(1, len(terms))
            elif subject != USER and terms and about:
                near = terms <= about and len(about) <= MOST_AROUND * len(terms)
                if near or about <= terms:
                    yield row, len(terms & about)

    def _of(self, *names: str) -> list[int]:
        numbers = [self._rows.attributes[name] for name in names if name in self._rows.attributes]
        chosen = np.isin(self._rows.table["attribute"], numbers) & self._current
        rows: list[int] = np.flatnonzero(chosen).tolist()
        return rows

    def _subject(self, row: int) -> str:
        return self._subjects.get(int(self._rows.table["subject"][row]), "")

    def _terms(self, text: str) -> frozenset[str]:
        return frozenset(self._analyzer.query_terms(text))

    def _names_of(self, asked: AskedAttribute) -> frozenset[str]:
        """Return by what else the subject goes: "my sister" by her name, the user by theirs."""
        nouns = relation_nouns(asked.about)
        wanted = [row for row in self._of(*nouns.values()) if self._subject(row) == USER]
        told = self._read(self._with_noun(wanted, frozenset(nouns))).values()
        names = {record.value.casefold() for record in told if record.value} | same_roles(nouns)
        own = [row for row in self._of(*NAMES) if self._subject(row) == USER]
        about = self._terms(asked.about)
        for record in self._read(own).values():
            if about and about <= self._terms(record.value or ""):
                names.add(USER)
        return frozenset(names)

    def _with_noun(self, rows: Sequence[int], nouns: frozenset[str]) -> Sequence[int]:
        """Return the facts that say one of the words for a person; all, if none does."""
        if not nouns or len(rows) <= 1:
            return rows
        read = self._read(rows)
        said = {row: read[row].content.casefold() for row in rows if row in read}
        named = [
            row
            for row, text in said.items()
            if any(noun in text or value_key(noun) <= value_key(text) for noun in nouns)
        ]
        return named or rows


def choose_tellers(
    rows: Rows, facts: Sequence[int], wanted: Mask, fits: FitsQuestion, read: ReadRecords
) -> dict[int, list[int]]:
    """Return what is shown of each fact, by row, with what it stands for: the fact and its turns.

    That is the fact, or a turn that it was drawn from which has its value and fits better.

    Args:
        rows: the user's records.
        facts: which of them hold what was asked for, the best first.
        wanted: the records that may be shown.
        fits: how well a record answers by itself.
        read: gives records by row.
    """
    chosen: dict[int, list[int]] = {}
    for fact in facts[:MOST_FIRST]:
        sources = rows.sources[rows.sources[:, 0] == fact, 1].tolist()
        tellers = [row for row in (fact, *sources) if wanted[row]]
        told = read([fact, *tellers])
        value = _plain(told[fact].value or "") if fact in told else ""
        full = [row for row in tellers if row in told and value in _plain(told[row].content)]
        if full or tellers:
            chosen.setdefault(max(full or tellers, key=fits), []).extend(tellers)
    return chosen


def put_first(
    scored: ScoredRecords, shown: Mask, chosen: Mapping[int, Sequence[int]]
) -> tuple[ScoredRecords, Mask]:
    """Put records above all else, and show none beside it that it stands for.

    Args:
        scored: the scores of all records.
        shown: those that would be shown.
        chosen: the records, the best first, each with those that it stands for.
    """
    shown = shown.copy()
    for row, replaced in chosen.items():
        if replaced and row == replaced[0]:  # The fact itself, which says what the turns said.
            shown[replaced] = False
    shown[list(chosen)] = True
    rest = shown.copy()
    rest[list(chosen)] = False
    over = np.float32(scored.score[rest].max(initial=0.0))
    raised: dict[int, float] = {}
    for each in reversed(list(chosen)):
        over = np.nextafter(max(over, scored.score[each]), np.float32(2))
        raised[each] = float(over)
    return scored.raised("attribute", raised), shown


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())

"""The digest: what changed, what is ahead, what is new, who was talked about, what recurs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from memoranda.learning.claims import Category
from memoranda.learning.weekly.subjects import Subject, names, recurring
from memoranda.learning.weekly.week import Readers, Week
from memoranda.model.models import Record, Trust

LONGEST = 1_200
"""Characters of a digest."""
LINE = 140
"""Characters of one statement."""
MOST_CHANGED = 4
MOST_AHEAD = 5
MOST_NEW = 12
MOST_SUBJECTS = 8
LEAST_FACTS = 3
"""New facts without which a week with no change, no plan and no subject says too little."""
FIRST = (
    Category.CONSTRAINT,
    Category.DECISION,
    Category.IDENTITY,
    Category.RELATION,
    Category.PREFERENCE,
    Category.PLAN,
    Category.EVENT,
    Category.STATE,
    Category.POSSESSION,
)
"""Categories in the order in which they matter to a later talk; others come after."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What there is to say of a week, and what it rests on.

    Attributes:
        text: Markdown; empty where there is nothing to say.
        sources: ids of the records of which something is in it.
    """

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    section: str
    text: str
    sources: tuple[str, ...]


def digest(week: Week, readers: Readers) -> Digest:
    """Return the digest of a week. The same records give the same text."""
    changed = list(_changed(week))
    ahead = list(_ahead(week))
    told = {source for line in (*changed, *ahead) for source in line.sources}
    new = list(_new(week, told))
    talked = names(week, readers)
    again = recurring(week, readers, but=talked)
    if len(new) < LEAST_FACTS and not (changed or ahead or again):
        return Digest("", ())
    closing = [*_listed("Talked about", talked), *_listed("Came up again", again)]
    opening = _opening(week)
    kept = list(_fitting([*changed, *ahead, *new], LONGEST - len(opening) - _length(closing)))
    text = "\n".join([opening, *_sections([*kept, *closing])])
    sources = dict.fromkeys(source for line in (*kept, *closing) for source in line.sources)
    return Digest(text, tuple(sources))


def statement(record: Record, limit: int = LINE) -> str:
    """Return the text of a record as part of a line, cut at a word where it is too long."""
    whole = " ".join(record.content.split())
    text = whole.lstrip("#>*-+ ") or whole
    if len(text) <= limit:
        return text
    head, space, _ = text[: limit - 1].rpartition(" ")
    return f"{head if space and len(head) > limit // 2 else text[: limit - 1]}…"


def category(record: Record) -> str | None:
    """Return what kind of statement a fact is, where consolidation has said so."""
    found = record.attributes.get("category")
    return found if isinstance(found, str) and found in set(Category) else None


def _changed(week: Week) -> Iterator[_Line]:
    replaced = [fact for fact in week.facts if fact.attributes.get("supersedes")]
    for fact in _distinct(replaced)[:MOST_CHANGED]:
        text = f"- {statement(fact)} (in place of an older statement)"
        yield _Line("Changed", text, (fact.id,))


def _ahead(week: Week) -> Iterator[_Line]:
    plans = [fact for fact in (*week.ahead, *week.facts) if fact.event_time > week.now]
    plans.sort(key=lambda fact: (fact.event_time, fact.id))
    for fact in _distinct(plans)[:MOST_AHEAD]:
        yield _Line("Ahead", f"- {_day(week, fact)}: {statement(fact)}", (fact.id,))


def _day(week: Week, fact: Record) -> str:
    """Return the date of a plan, no more exact than it may be: "in May" begins on the first."""
    moment = week.local(fact.event_time)
    if (moment.day, moment.hour, moment.minute) != (1, 0, 0):
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y}" if moment.month == 1 else f"{moment:%Y-%m}"


def _new(week: Week, told: set[str]) -> Iterator[_Line]:
    """Yield new facts, one of each category in turn, so that none takes all the room."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for fact in _distinct(week.facts):
        if fact.id not in told:
            groups[category(fact) or ""].append(fact)
    order = {name: place for place, name in enumerate(map(str, FIRST))}
    ranked = sorted(groups.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    turns = [
        (turn, place, name, fact)
        for place, (name, facts) in enumerate(ranked)
        for turn, fact in enumerate(sorted(facts, key=_standing))
    ]
    chosen = sorted(turns, key=lambda each: each[:2])[:MOST_NEW]
    for _, _, name, fact in sorted(chosen, key=lambda each: (each[1], each[0])):
        label = f"{name}: " if name else ""
        yield _Line("New", f"- {label}{statement(fact)}", (fact.id,))


def _standing(fact: Record) -> tuple[bool, float]:
    """Order facts: a person's word first, then what is believed more."""
    strength = fact.confidence if fact.strength is None else fact.strength
    return fact.trust is not Trust.PERSON, -strength


def _listed(section: str, subjects: Sequence[Subject]) -> Iterator[_Line]:
    top = subjects[:MOST_SUBJECTS]
    if top:
        text = ", ".join(f"{' '.join(each.name.split())[:40]} ({each.records})" for each in top)
        yield _Line(section, text, tuple(source for each in top for source in each.sources))


def _opening(week: Week) -> str:
    talks = {record.session_id for record in week.records if record.session_id is not None}
    facts, first = len(week.facts), week.date(week.since + timedelta(days=1))
    return (
        f"Week of {first} to {week.date(week.now)}: {facts} new fact{'s' * (facts != 1)}, "
        f"{len(talks)} session{'s' * (len(talks) != 1)}."
    )


def _fitting(lines: Iterable[_Line], room: int) -> Iterator[_Line]:
    section = ""
    for line in lines:
        cost = len(line.text) + 1 + (0 if line.section == section else _heading(line.section))
        if cost <= room:
            room -= cost
            section = line.section
            yield line


def _length(lines: Sequence[_Line]) -> int:
    return sum(len(line.text) + 1 + _heading(line.section) for line in lines)


def _heading(section: str) -> int:
    return len(f"**{section}**") + 1


def _sections(lines: Sequence[_Line]) -> Iterator[str]:
    section = ""
    for line in lines:
        if line.section != section:
            section = line.section
            yield f"**{section}**"
        yield line.text


def _distinct(records: Iterable[Record]) -> list[Record]:
    """Return records without those that say the same in the same words as one before."""
    found: dict[str, Record] = {}
    for each in records:
        found.setdefault(" ".join(each.content.casefold().split()), each)
    return list(found.values())

"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the records, which tells what changed, what is ahead, what is new
and who was talked about: nothing in it that is not in a record. With a model, it is the model's
own words over the same records. Either names its sources, so that erasing one of these erases the
reflection.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import groupby
from secrets import token_hex
from typing import NamedTuple

from memoranda.errors import LLMError
from memoranda.facts.values import is_part_of_name
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.ports import EntityExtractor
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.recalled import without_recalled

REFLECT = "reflect"
# Time between two reflections at least, and what one looks back on.
REST, WEEK = timedelta(days=6), timedelta(days=7)
# Records that a reflection covers, half of them facts; facts looked through for what is ahead.
LIMIT, PAGE = 200, 1_000
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)
# Characters of a digest, and of one statement.
LONGEST, LINE = 1_200, 140
MOST_CHANGED, MOST_AHEAD, MOST_NEW, MOST_NAMES = 4, 5, 12, 8
# New facts without which a week says too little; characters of a name.
LEAST_FACTS, LONGEST_NAME = 3, 40
# Categories in the order in which they matter to a later conversation; others come after.
FIRST = "constraint decision identity relation preference plan event state possession".split()  # noqa: SIM905
# Types of names that a conversation can be about; dates and addresses are not.
TYPES = frozenset({"person", "organization", "location", "project", "other"})
# Records in which a name comes up to be told.
SEVERAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekRecords:
    """The records that a reflection looks back on.

    Attributes:
        records: facts and episodes of the week, the newest first.
        ahead: facts of any age about times to come.
        since: when it began: seven days ago, or with the last reflection, if that is longer ago.
        now: when it ended: the present.
        zone: the user's time zone.
    """

    records: Sequence[Record]
    ahead: Sequence[Record] = ()
    since: datetime
    now: datetime
    zone: tzinfo

    @property
    def facts(self) -> list[Record]:
        """The facts of the week, the newest first."""
        return [record for record in self.records if record.kind is Kind.FACT]

    def local(self, moment: datetime) -> datetime:
        """Return a moment in the user's time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # The first or the last day that there is.
            return moment


def why_not_due(last: datetime | None, week: WeekRecords) -> str | None:
    """Return why no reflection on a week is due; ``None`` if one is.

    Args:
        last: when the last reflection was recorded.
        week: the records since then.
    """
    # A last one far in the future is of a clock that was wrong then; it must not block for ever.
    if last is not None and abs(week.now - last) < REST:
        return f"the last reflection is of {last:%Y-%m-%d}, under 6 days ago"
    number = sum(fact.created_at > week.now - WEEK for fact in week.facts)
    enough, found = number >= LEAST_FACTS, f"{number} new fact{'s' * (number != 1)}"
    return None if enough else f"{found} in 7 days; {LEAST_FACTS} are needed"


def week(
    facts: Iterable[Record],
    episodes: Iterable[Record],
    *,
    ahead: Iterable[Record] = (),
    last: datetime | None = None,
    now: datetime,
    zone: tzinfo,
) -> WeekRecords:
    """Return the newest records of the last seven days, or since the last reflection.

    Records that have ended or were superseded, and what only external text says, are left out:
    a reflection is told in every talk, and must not carry a stranger's words there.

    Args:
        facts: facts of that time.
        episodes: episodes of that time.
        ahead: facts of any age; of those that happen later than ``now`` the soonest count.
        last: when the last reflection was recorded.
        now: the present.
        zone: the user's time zone.
    """
    since = _since(last, now)
    learned = _newest((each for each in facts if each.kind is Kind.FACT), since, now)[: LIMIT // 2]
    known = {fact.id for fact in learned}
    later = (each for each in ahead if each.event_time > now and each.id not in known)
    plans = sorted((each for each in later if _is_sound(each, now)), key=_by_time)[: LIMIT // 10]
    said = _newest(episodes, since, now)[: LIMIT - len(learned) - len(plans)]
    records = sorted([*learned, *said], key=_by_age, reverse=True)
    return WeekRecords(records=records, ahead=plans, since=since, now=now, zone=zone)


def _since(last: datetime | None, now: datetime) -> datetime:
    """Return since when a reflection looks back: for a week, or to the last one."""
    return now - WEEK if last is None else min(now - WEEK, last)


def _newest(records: Iterable[Record], since: datetime, now: datetime) -> list[Record]:
    """Return the sound records of a time, the newest first."""
    fresh = (each for each in records if since < each.created_at <= now and _is_sound(each, now))
    return sorted(fresh, key=_by_age, reverse=True)


def _by_age(record: Record) -> tuple[datetime, str]:
    return record.created_at, record.id


def _by_time(record: Record) -> tuple[datetime, str]:
    return record.event_time, record.id


def _is_sound(record: Record, now: datetime) -> bool:
    """Return whether a record is believed, and more than a stranger's word."""
    current = is_active(record, now) and record.superseded_by is None
    return current and record.trust is not Trust.EXTERNAL


def plan(
    week: WeekRecords, names: EntityExtractor, *, text: str | None = None, by: str | None = None
) -> tuple[Draft | None, str]:
    """Plan the reflection on a week: a draft to be stored, if there is one, and why.

    Args:
        week: the records.
        names: finds names in them for the digest.
        text: the words of a model that was shown all of them, in place of the digest.
        by: the model.
    """
    # A model was shown all of them, and any may be behind any word.
    sources = tuple(record.id for record in (*week.ahead, *week.records))
    why = "a model's words"
    if text is None:
        text, sources = write_digest(week, names)
        by, why = "digest", "a digest of the week"
    if not text:
        return None, "the facts of the week say too little for a reflection"
    draft = Draft(
        content=text,
        kind=Kind.REFLECTION,
        tags=("weekly",),
        metadata={"since": week.since.isoformat(), "until": week.now.isoformat(), "by": by},
        # Its word is trusted as an agent's, and is no person's evidence for anything.
        role="agent",
        decay_rate=0.0,
        source_ids=sources,
        origin="reflection",
    )
    return draft, why


@dataclass(frozen=True, slots=True)
class ReflectionWriter:
    """Writes the weekly insight of one scope.

    Attributes:
        records: stores it.
        models: the language model, if there is one.
        names: finds names in records.
        zone: the user's time zone.
    """

    records: RecordService
    models: StageModels
    names: EntityExtractor
    zone: tzinfo

    def write(self, *, dry_run: bool = False) -> StageReport:
        """Write the insight of the week, if one is due and there is something to say.

        A model that fails leaves the insight to be written later. Of several processes one
        writes it: the others find its lease taken, or the insight there.
        """
        scope, store = self.records.scope, self.records.store
        now, holder = self.records.now(), token_hex(8)
        name = f"reflect:{scope.user}:{scope.agent or ''}"
        if not dry_run and not store.claim(name, holder, now=now, until=now + LEASE):
            return StageReport(stage=REFLECT, skipped="another process writes it now")
        try:
            return self._write(now, dry_run=dry_run)
        finally:
            if not dry_run:
                store.claim(name, holder, now=now, until=now)

    def _write(self, now: datetime, *, dry_run: bool) -> StageReport:
        scope, insights = self.records.scope, Filter(now=now, kinds=(Kind.REFLECTION,))
        found = self.records.store.records(scope, insights, order=Order.LATEST, limit=1)
        last = found[0].created_at if found else None
        looked_back = self._look_back(last, now)
        not_due = why_not_due(last, looked_back)
        if not_due is not None:
            return StageReport(stage=REFLECT, skipped=not_due, dry_run=dry_run)
        model = None if dry_run else self.models.for_stage(scope, REFLECT)
        text = None
        if model is not None:
            shown = [*reversed(looked_back.records), *looked_back.ahead]
            try:
                text = self.models.wait(write_insight(model, shown, self.zone))
            except LLMError as error:
                return StageReport(stage=REFLECT, failed={"insight": str(error)})
        draft, why = plan(looked_back, self.names, text=text, by=model.name if model else None)
        if draft is None:
            return StageReport(stage=REFLECT, skipped=why, dry_run=dry_run)
        if not dry_run:
            self.records.add(draft, reason=why)
        lines = tuple(draft["content"].splitlines())
        counts = {"written": 1}
        return StageReport(stage=REFLECT, count=1, counts=counts, lines=lines, dry_run=dry_run)

    def _look_back(self, last: datetime | None, now: datetime) -> WeekRecords:
        """Return the records of the week, and those of times to come."""
        scope, store = self.records.scope, self.records.store
        facts, episodes = (
            store.records(scope, Filter(now=now, kinds=(kind,), recorded_since=_since(last, now)))
            for kind in (Kind.FACT, Kind.EPISODE)
        )
        later = Filter(now=now, kinds=(Kind.FACT,), since=now)
        ahead = store.records(scope, later, limit=PAGE)
        return week(facts, episodes, ahead=ahead, last=last, now=now, zone=self.zone)


# --- the digest ---------------------------------------------------------------------------


class _DigestLine(NamedTuple):
    """A line of a section of the digest, and the records it tells of."""

    section: str
    text: str
    sources: tuple[str, ...]


def write_digest(week: WeekRecords, names: EntityExtractor) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a week, and the ids of the records of which something is in it.

    It is Markdown, and empty where there is nothing to say. The same records give the same text.
    """
    told = [*_changed(week), *_ahead(week)]
    new = list(_new(week, {source for line in told for source in line.sources}))
    if len(new) < LEAST_FACTS and not told:
        return "", ()
    opening, closing = _opening(week), list(_talked_about(week, names))
    kept: list[_DigestLine] = []
    for line in (*told, *new):
        if len(_render(opening, [*kept, line, *closing])) <= LONGEST:
            kept.append(line)
    sources = dict.fromkeys(source for line in (*kept, *closing) for source in line.sources)
    return _render(opening, [*kept, *closing]), tuple(sources)


def _render(opening: str, lines: Sequence[_DigestLine]) -> str:
    text = opening
    for section, group in groupby(lines, key=lambda line: line.section):
        text = "\n".join([text, f"**{section}**", *(line.text for line in group)])
    return text


def _opening(week: WeekRecords) -> str:
    sessions = {record.session_id for record in week.records if record.session_id is not None}
    facts, first = len(week.facts), week.local(week.since + timedelta(days=1))
    return (
        f"Week of {first.date()} to {week.local(week.now).date()}: "
        f"{facts} new fact{'s' * (facts != 1)}, "
        f"{len(sessions)} session{'s' * (len(sessions) != 1)}."
    )


def _changed(week: WeekRecords) -> Iterator[_DigestLine]:
    replaced = [fact for fact in week.facts if fact.supersedes]
    for fact in _distinct(replaced)[:MOST_CHANGED]:
        text = f"- {_shorten(fact)} (in place of an older statement)"
        yield _DigestLine("Changed", text, (fact.id,))


def _ahead(week: WeekRecords) -> Iterator[_DigestLine]:
    plans = [fact for fact in (*week.ahead, *week.facts) if fact.event_time > week.now]
    for fact in _distinct(sorted(plans, key=_by_time))[:MOST_AHEAD]:
        day = week.local(fact.event_time).date()
        yield _DigestLine("Ahead", f"- {day}: {_shorten(fact)}", (fact.id,))


def _new(week: WeekRecords, told: set[str]) -> Iterator[_DigestLine]:
    """Yield new facts, those of the categories that matter most first."""
    fresh = [fact for fact in _distinct(week.facts) if fact.id not in told]
    for fact in sorted(fresh, key=_standing)[:MOST_NEW]:
        label = f"{_category(fact)}: " if _category(fact) else ""
        yield _DigestLine("New", f"- {label}{_shorten(fact)}", (fact.id,))


def _standing(fact: Record) -> tuple[int, str, bool, float]:
    """Order facts: by category, then a person's word first, then what is believed more."""
    category = _category(fact)
    place = FIRST.index(category) if category in FIRST else len(FIRST)
    strength = fact.confidence if fact.strength is None else fact.strength
    return place, category or "\uffff", fact.trust is not Trust.PERSON, -strength


def _category(fact: Record) -> str:
    """Return the category of a fact; empty where consolidation has stored none."""
    found = fact.metadata.get("category")
    return found if isinstance(found, str) else ""


def _shorten(record: Record) -> str:
    """Return the text of a record as part of a line, cut at a word where it is too long."""
    whole = " ".join(record.content.split())
    text = whole.lstrip("#>*-+ ") or whole
    if len(text) <= LINE:
        return text
    head, space, _ = text[: LINE - 1].rpartition(" ")
    return f"{head if space and len(head) > LINE // 2 else text[: LINE - 1]}…"


def _distinct(records: Iterable[Record]) -> list[Record]:
    """Return records without those that say the same in the same words as one before."""
    found: dict[str, Record] = {}
    for each in records:
        found.setdefault(" ".join(each.content.casefold().split()), each)
    return list(found.values())


def _talked_about(week: WeekRecords, names: EntityExtractor) -> Iterator[_DigestLine]:
    """Yield the names that several facts and messages of persons have, the most frequent first."""
    sources: dict[str, dict[str, None]] = defaultdict(dict)
    for record in week.records:
        own = record.kind is Kind.FACT or record.trust is Trust.PERSON
        for mention in names.extract(without_recalled(record.content)) if own else ():
            if mention.type in TYPES:
                sources[" ".join(mention.text.split())[:LONGEST_NAME]][record.id] = None
    for short in sorted(sources, key=lambda name: (len(name), name)):
        longer = [name for name in sources if is_part_of_name(short, name)]
        if len(longer) == 1:  # "Ana" is Ana Ferreira where there is no other Ana.
            sources[longer[0]] |= sources.pop(short)
    several = [name for name in sources if len(sources[name]) >= SEVERAL]
    top = sorted(several, key=lambda name: (-len(sources[name]), name))[:MOST_NAMES]
    if top:
        told = ", ".join(f"{name} ({len(sources[name])})" for name in top)
        found = tuple(source for name in top for source in sources[name])
        yield _DigestLine("Talked about", told, found)

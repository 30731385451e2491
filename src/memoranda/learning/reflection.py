"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the facts, which tells what changed, what is ahead and what is
new: nothing in it that is not in a record. With a model, it is the model's own words over the same
records. Either names its sources, so that erasing one of these erases the reflection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from operator import attrgetter
from secrets import token_hex

from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.calendar import in_zone
from memoranda.text.lines import cut, one_line

REFLECT = "reflect"
_by_age, _by_time = attrgetter("created_at", "id"), attrgetter("event_time", "id")
# Time between two reflections at least, and what one looks back on.
REST, WEEK = timedelta(days=6), timedelta(days=7)
# Records that a reflection covers, half of them facts; facts looked through for what is ahead.
LIMIT, PAGE = 200, 1_000
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)
# Characters of a digest, and of one statement.
LONGEST, LINE = 1_200, 140
MOST_CHANGED, MOST_AHEAD, MOST_NEW = 4, 5, 12
# New facts without which a week says too little.
LEAST_FACTS = 3
# Categories in the order in which they matter to a later conversation; others come after.
FIRST = "constraint decision identity relation preference plan event state possession".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekRecords:
    """The records that a reflection looks back on.

    Attributes:
        facts: those of the week, the newest first.
        episodes: what was said in that time, the newest first.
        ahead: facts of any age about times to come.
        since: when it began: seven days ago, or with the last reflection, if that is longer ago.
        now: when it ended: the present.
        zone: the user's time zone.
    """

    facts: Sequence[Record]
    episodes: Sequence[Record]
    ahead: Sequence[Record]
    since: datetime
    now: datetime
    zone: tzinfo

    @property
    def records(self) -> list[Record]:
        """All the records: those of the week as they came, then what is ahead."""
        return [*sorted([*self.facts, *self.episodes], key=_by_age), *self.ahead]


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
        ahead: older facts; of those that happen later than ``now`` the soonest count.
        last: when the last reflection was recorded.
        now: the present.
        zone: the user's time zone.
    """

    def newest(records: Iterable[Record], most: int) -> list[Record]:
        fresh = [each for each in records if since < each.created_at <= now]
        return sorted(filter(sound, fresh), key=_by_age, reverse=True)[:most]

    def sound(record: Record) -> bool:
        current = is_active(record, now) and record.superseded_by is None
        return current and record.trust is not Trust.EXTERNAL

    since = _since(last, now)
    learned = newest(facts, LIMIT // 2)
    later = sorted((each for each in ahead if each.event_time > now), key=_by_time)
    plans = list(filter(sound, later))[: LIMIT // 10]
    said = newest(episodes, LIMIT - len(learned) - len(plans))
    return WeekRecords(facts=learned, episodes=said, ahead=plans, since=since, now=now, zone=zone)


def _since(last: datetime | None, now: datetime) -> datetime:
    """Return since when a reflection looks back: for a week, or to the last one."""
    return now - WEEK if last is None else min(now - WEEK, last)


def plan(
    week: WeekRecords, *, text: str | None = None, by: str | None = None
) -> tuple[Draft | None, str]:
    """Plan the reflection on a week: a draft to be stored, if there is one, and why.

    Args:
        week: the records.
        text: the words of a model that was shown all of them, in place of the digest.
        by: the model.
    """
    # A model was shown all of them, and any may be behind any word.
    sources = tuple(record.id for record in week.records)
    why = "a model's words"
    if text is None:
        text, sources = write_digest(week)
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
        zone: the user's time zone.
    """

    records: RecordService
    models: StageModels
    zone: tzinfo

    def write(self, *, dry_run: bool = False) -> StageReport:
        """Write the insight of the week, if one is due and there is something to say.

        A model that fails leaves the insight to be written later. Of several processes one
        writes it: the others find its lease taken, or the insight there.
        """
        scope, store = self.records.scope, self.records.store
        now, holder = self.records.now(), token_hex(8)
        name = f"reflect:{scope.user}:{scope.agent or ''}"
        if dry_run:
            return self._write(now, dry_run=True)
        if not store.claim(name, holder, now=now, until=now + LEASE):
            return StageReport(stage=REFLECT, skipped="another process writes it now")
        try:
            return self._write(now, dry_run=False)
        finally:
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
            try:
                text = self.models.wait(write_insight(model, looked_back.records, self.zone))
            except LLMError as error:
                return StageReport(stage=REFLECT, failed={"insight": str(error)})
        draft, why = plan(looked_back, text=text, by=model.name if model else None)
        if draft is None:
            return StageReport(stage=REFLECT, skipped=why, dry_run=dry_run)
        if not dry_run:
            self.records.add(draft, reason=why)
        lines = tuple(draft["content"].splitlines())
        counts = {"written": 1}
        return StageReport(stage=REFLECT, count=1, counts=counts, lines=lines, dry_run=dry_run)

    def _look_back(self, last: datetime | None, now: datetime) -> WeekRecords:
        """Return the records of the week, and those of times to come."""
        scope, store, since = self.records.scope, self.records.store, _since(last, now)
        facts, episodes = (
            store.records(scope, Filter(now=now, kinds=(kind,), recorded_since=since))
            for kind in (Kind.FACT, Kind.EPISODE)
        )
        later = Filter(now=now, kinds=(Kind.FACT,), since=now, recorded_before=since)
        ahead = store.records(scope, later, limit=PAGE)
        return week(facts, episodes, ahead=ahead, last=last, now=now, zone=self.zone)


# --- the digest ---------------------------------------------------------------------------


def write_digest(week: WeekRecords) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a week, and the ids of the facts that it tells.

    It is Markdown, and empty where there is nothing to say. The same records give the same text.
    """
    changed = [fact for fact in week.facts if fact.supersedes]
    later = [fact for fact in (*week.ahead, *week.facts) if fact.event_time > week.now]
    places = {category: place for place, category in enumerate(FIRST)}
    new = sorted(week.facts, key=lambda fact: places.get(_category(fact), len(places)))
    if not changed and not later and len(_distinct(new)) < LEAST_FACTS:
        return "", ()
    text, told = _opening(week), list[str]()
    for section, facts, most in (
        ("Changed", changed, MOST_CHANGED),
        ("Ahead", sorted(later, key=_by_time), MOST_AHEAD),
        ("New", new, MOST_NEW),
    ):
        part = heading = f"\n**{section}**"
        for fact in [each for each in _distinct(facts) if each.id not in told][:most]:
            longer = f"{part}\n- {_line(fact, week)}"
            if len(text) + len(longer) <= LONGEST:
                part, told = longer, [*told, fact.id]
        text += part if part != heading else ""
    return text, tuple(told)


def _opening(week: WeekRecords) -> str:
    """Return the line that says which days a digest covers, and how much was learned in them."""
    first, last = (in_zone(at, week.zone) for at in (week.since + timedelta(days=1), week.now))
    number = len(week.facts)
    return f"Week of {first.date()} to {last.date()}: {number} new fact{'s' * (number != 1)}."


def _line(fact: Record, week: WeekRecords) -> str:
    """Return a fact on one line, behind its day, if that is ahead, or its category."""
    day = f"{in_zone(fact.event_time, week.zone).date()}" if fact.event_time > week.now else ""
    label, whole = day or _category(fact), one_line(fact.content)
    text = cut(whole.lstrip("#>*-+ ") or whole, LINE)
    return f"{label}: {text}" if label else text


def _category(fact: Record) -> str:
    """Return the category of a fact; empty where consolidation has stored none."""
    found = fact.metadata.get("category")
    return found if isinstance(found, str) else ""


def _distinct(records: Iterable[Record]) -> list[Record]:
    """Return records without those that say the same in the same words as one before."""
    found: dict[str, Record] = {}
    for each in records:
        found.setdefault(" ".join(each.content.casefold().split()), each)
    return list(found.values())

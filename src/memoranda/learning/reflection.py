"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the records, which tells what changed, what is ahead, what is new,
who was talked about, and what recurs: nothing in it that is not in a record. With a model, it is
the model's own words over the same records. Either names its sources, so that erasing one of these
erases the reflection.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cache
from itertools import groupby
from secrets import token_hex
from typing import NamedTuple

from memoranda.entities.names import RuleNameMatcher
from memoranda.errors import InvalidInput, LLMError
from memoranda.learning.claims import Category
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.model.checks import require_aware
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.ports import EntityExtractor
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.recalled import without_recalled
from memoranda.text.terms import TermAnalyzer

REFLECT = "reflect"
# Time between two reflections at least.
REST = timedelta(days=6)
# Records of the week at most.
LIMIT = 200
PAGE = 1_000
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)
_EN = LanguageData("en", "digest")
# What a reflection looks back on.
WEEK = timedelta(days=7)
# Characters of a digest.
LONGEST = 1_200
# Characters of one statement.
LINE = 140
MOST_CHANGED, MOST_AHEAD, MOST_NEW, MOST_SUBJECTS = 4, 5, 12, 8
# New facts without which a week with no change, no plan and no subject says too little.
LEAST_FACTS = 3
# Categories in the order in which they matter to a later conversation; others come after.
FIRST = "constraint decision identity relation preference plan event state possession".split()  # noqa: SIM905
# Types of names that a conversation can be about; dates and addresses are not.
TYPES = frozenset({"person", "organization", "location", "project", "other"})
# Records in which a name, and sessions in which a word, comes up to be named.
SEVERAL = 2
# Letters of a Latin word that says what a conversation is about.
SHORTEST = 4
# Share of the sessions' records beyond which a word is a manner of speaking.
OFTEN = 0.5
_WORD = compile_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MATCHER = RuleNameMatcher()
_ANALYZER = TermAnalyzer()


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

    @property
    def said(self) -> list[Record]:
        """The facts, and the episodes of persons; those of an agent do not count for the week."""
        return [
            record
            for record in self.records
            if record.kind is Kind.FACT or record.trust is Trust.PERSON
        ]

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

    So what was learned before a week without a reflection is in the next one.

    Half of the room is the facts' and half the episodes'; what one kind leaves is the other's.
    Records that have ended or were superseded, and what only external text says, are left out:
    a reflection is told in every talk, and must not carry a stranger's words there.

    Args:
        facts: facts of that time.
        episodes: episodes of that time.
        ahead: facts of any age that happen later than ``now``; up to a tenth of the room, the
            soonest.
        last: when the last reflection was recorded.
        now: the present.
        zone: the user's time zone.
    """
    since = _since(last, now)
    learned = _newest(facts, Kind.FACT, since, now)
    said = _newest(episodes, Kind.EPISODE, since, now)
    known = {fact.id for fact in learned}
    later = (fact for fact in ahead if fact.event_time > now and fact.id not in known)
    plans = sorted(
        (fact for fact in later if _is_sound(fact, now)),
        key=lambda fact: (fact.event_time, fact.id),
    )[: LIMIT // 10]
    room = LIMIT - len(plans)
    learned = learned[: max(room // 2, room - len(said))]
    records = sorted([*learned, *said[: room - len(learned)]], key=_age, reverse=True)
    return WeekRecords(records=records, ahead=plans, since=since, now=now, zone=zone)


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


def _looked_at(reflection: Record) -> datetime:
    """Return until when a reflection looked at the records."""
    until = reflection.metadata.get("until")
    with suppress(ValueError, InvalidInput):
        if isinstance(until, str):
            return require_aware(datetime.fromisoformat(until), "until")
    return reflection.created_at


def _since(last: datetime | None, now: datetime) -> datetime:
    """Return since when a reflection looks back: for a week, or to the last one."""
    return now - WEEK if last is None else min(now - WEEK, last)


def _newest(records: Iterable[Record], kind: Kind, since: datetime, now: datetime) -> list[Record]:
    chosen = {record.id: record for record in records if record.kind is kind}
    fresh = (
        record
        for record in chosen.values()
        if since < record.created_at <= now and _is_sound(record, now)
    )
    return sorted(fresh, key=_age, reverse=True)


def _age(record: Record) -> tuple[datetime, str]:
    return record.created_at, record.id


def _is_sound(record: Record, now: datetime) -> bool:
    """Return whether a record is believed, and more than a stranger's word."""
    current = is_active(record, now) and record.superseded_by is None
    return current and record.trust is not Trust.EXTERNAL


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
        scope, store = self.records.scope, self.records.store
        insights = Filter(now=now, kinds=(Kind.REFLECTION,))
        found = store.records(scope, insights, order=Order.LATEST, limit=1)
        # A model may have taken a while between the look at the records and its last word.
        last = _looked_at(found[0]) if found else None
        facts, episodes = (
            store.records(scope, Filter(now=now, kinds=(kind,), recorded_since=_since(last, now)))
            for kind in (Kind.FACT, Kind.EPISODE)
        )
        later = Filter(now=now, kinds=(Kind.FACT,), since=now)
        ahead = store.records(scope, later, limit=PAGE)
        looked_back = week(facts, episodes, ahead=ahead, last=last, now=now, zone=self.zone)
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
        return StageReport(
            stage=REFLECT, count=1, counts={"written": 1}, lines=lines, dry_run=dry_run
        )


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
    changed, ahead = list(_changed(week)), list(_ahead(week))
    new = list(_new(week, {source for line in (*changed, *ahead) for source in line.sources}))
    talked = find_names(week, names)
    again = find_recurring_words(week, talked)
    if len(new) < LEAST_FACTS and not (changed or ahead or again):
        return "", ()
    opening = _opening(week)
    closing = [*_listed("Talked about", talked), *_listed("Came up again", again)]
    kept: list[_DigestLine] = []
    for line in (*changed, *ahead, *new):
        if len(_render(opening, [*kept, line, *closing])) <= LONGEST:
            kept.append(line)
    sources = dict.fromkeys(source for line in (*kept, *closing) for source in line.sources)
    return _render(opening, [*kept, *closing]), tuple(sources)


def _render(opening: str, lines: Sequence[_DigestLine]) -> str:
    text = opening
    for section, group in groupby(lines, key=lambda line: line.section):
        text = "\n".join([text, f"**{section}**", *(line.text for line in group)])
    return text


def shorten_statement(record: Record, limit: int = LINE) -> str:
    """Return the text of a record as part of a line, cut at a word where it is too long."""
    whole = " ".join(record.content.split())
    text = whole.lstrip("#>*-+ ") or whole
    if len(text) <= limit:
        return text
    head, space, _ = text[: limit - 1].rpartition(" ")
    return f"{head if space and len(head) > limit // 2 else text[: limit - 1]}…"


def statement_category(record: Record) -> str | None:
    """Return the category of a fact, where consolidation has stored one."""
    found = record.metadata.get("category")
    return found if isinstance(found, str) and found in set(Category) else None


def _changed(week: WeekRecords) -> Iterator[_DigestLine]:
    replaced = [fact for fact in week.facts if fact.supersedes]
    for fact in _distinct(replaced)[:MOST_CHANGED]:
        text = f"- {shorten_statement(fact)} (in place of an older statement)"
        yield _DigestLine("Changed", text, (fact.id,))


def _ahead(week: WeekRecords) -> Iterator[_DigestLine]:
    plans = [fact for fact in (*week.ahead, *week.facts) if fact.event_time > week.now]
    plans.sort(key=lambda fact: (fact.event_time, fact.id))
    for fact in _distinct(plans)[:MOST_AHEAD]:
        yield _DigestLine("Ahead", f"- {_day(week, fact)}: {shorten_statement(fact)}", (fact.id,))


def _day(week: WeekRecords, fact: Record) -> str:
    """Return the date of a plan, no more exact than it may be: "in May" begins on the first."""
    moment = week.local(fact.event_time)
    if (moment.day, moment.hour, moment.minute) != (1, 0, 0):
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y}" if moment.month == 1 else f"{moment:%Y-%m}"


def _new(week: WeekRecords, told: set[str]) -> Iterator[_DigestLine]:
    """Yield new facts, one of each category in turn, so that none takes all the room."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for fact in _distinct(week.facts):
        if fact.id not in told:
            groups[statement_category(fact) or ""].append(fact)
    order = {name: place for place, name in enumerate(FIRST)}
    ranked = sorted(groups, key=lambda name: (order.get(name, len(order)), name))
    chosen = sorted(
        (
            (turn, place, fact)
            for place, name in enumerate(ranked)
            for turn, fact in enumerate(sorted(groups[name], key=_standing))
        ),
        key=lambda each: each[:2],
    )[:MOST_NEW]
    for _, place, fact in sorted(chosen, key=lambda each: (each[1], each[0])):
        label = f"{ranked[place]}: " if ranked[place] else ""
        yield _DigestLine("New", f"- {label}{shorten_statement(fact)}", (fact.id,))


def _standing(fact: Record) -> tuple[bool, float]:
    """Order facts: a person's word first, then what is believed more."""
    strength = fact.confidence if fact.strength is None else fact.strength
    return fact.trust is not Trust.PERSON, -strength


def _listed(section: str, subjects: Sequence[DigestSubject]) -> Iterator[_DigestLine]:
    top = subjects[:MOST_SUBJECTS]
    if top:
        parts = (f"{' '.join(each.name.split())[:40]} ({len(each.sources)})" for each in top)
        sources = tuple(source for each in top for source in each.sources)
        yield _DigestLine(section, ", ".join(parts), sources)


def _opening(week: WeekRecords) -> str:
    sessions = {record.session_id for record in week.records if record.session_id is not None}
    facts, first = len(week.facts), week.local(week.since + timedelta(days=1))
    return (
        f"Week of {first.date()} to {week.local(week.now).date()}: "
        f"{facts} new fact{'s' * (facts != 1)}, "
        f"{len(sessions)} session{'s' * (len(sessions) != 1)}."
    )


def _distinct(records: Iterable[Record]) -> list[Record]:
    """Return records without those that say the same in the same words as one before."""
    found: dict[str, Record] = {}
    for each in records:
        found.setdefault(" ".join(each.content.casefold().split()), each)
    return list(found.values())


class DigestSubject(NamedTuple):
    """A topic of the week: a name or a recurring word.

    Attributes:
        name: as it is written most often.
        sources: ids of the records that speak of it.
    """

    name: str
    sources: tuple[str, ...]


def find_names(week: WeekRecords, names: EntityExtractor) -> list[DigestSubject]:
    """Return the names that at least two records mention: the most frequent first, then by name."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    sources: dict[str, dict[str, None]] = defaultdict(dict)
    types: dict[str, str] = {}
    for record in week.said:
        for mention in names.extract(without_recalled(record.content)):
            folded = _MATCHER.fold(mention.text)
            if mention.type in TYPES and folded:
                types.setdefault(folded, mention.type)
                spellings[folded][mention.text] += 1
                sources[folded][record.id] = None
    known: dict[str, str] = {}
    # The longest form of a name first, so that the short ones find what they stand for.
    for folded in sorted(types, key=lambda name: (-len(name), name)):
        same = _MATCHER.link(folded, types[folded], known)
        if same is None or same not in known:
            known[folded] = types[folded]
        else:
            sources[same] |= sources[folded]
    found = [
        DigestSubject(_commonest(spellings[folded]), tuple(sources[folded]))
        for folded in known
        if len(sources[folded]) >= SEVERAL
    ]
    return sorted(found, key=lambda subject: (-len(subject.sources), subject.name))


def find_recurring_words(week: WeekRecords, names: Sequence[DigestSubject]) -> list[DigestSubject]:
    """Return the words that come up in several sessions and in a fact: in most sessions first.

    Args:
        week: the records.
        names: what is told by name, and no more as a word.
    """
    known = {term for subject in names for term in _ANALYZER.terms(subject.name)}
    records: dict[str, list[Record]] = defaultdict(list)
    in_sessions = [record for record in week.said if record.session_id is not None]
    for record in in_sessions:
        for term in _ANALYZER.query_terms(without_recalled(record.content)):
            if term not in known:
                records[term].append(record)
    sessions = {term: len({each.session_id for each in own}) for term, own in records.items()}
    often = max(SEVERAL * 2, OFTEN * len(in_sessions))
    read_terms = cache(_ANALYZER.terms)
    found: dict[str, DigestSubject] = {}
    for term in sorted(records, key=lambda term: (-sessions[term], -len(records[term]), term)):
        own = records[term]
        fact = any(record.kind is Kind.FACT for record in own)
        if sessions[term] < SEVERAL or len(own) > often or not fact:
            continue
        spellings = Counter(
            token.lower()
            for record in own
            for token in _WORD.findall(record.content)
            if read_terms(token) == [term]
        )
        word = _commonest(spellings) if spellings else term
        # In two languages a word has two terms: it is told once.
        if word not in found and _tells(word):
            found[word] = DigestSubject(word, tuple(each.id for each in own))
    return list(found.values())


def _tells(word: str) -> bool:
    latin = not word.isascii() or (len(word) >= SHORTEST and not any(map(str.isdigit, word)))
    return latin and word not in _EN.words("chatter")


def _commonest(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda text: (-spellings[text], text))

"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the facts: nothing in it that is not in a record. With a model, it
is the model's own words over the same records. Either names its sources, so that erasing one of
these erases the reflection.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial
from secrets import token_hex

from memoranda.errors import LLMError, UnusableAnswer
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.calendar import in_zone
from memoranda.text.lines import cut, one_line

log = logging.getLogger("memoranda.reflect")

REFLECT = "reflect"
# Time between two reflections at least, and what one looks back on.
REST, WEEK = timedelta(days=6), timedelta(days=7)
# Records that a reflection covers, half of them facts.
LIMIT = 200
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)
# Characters of a digest, and of one statement.
LONGEST, LINE = 1_200, 140
# New facts without which a week says too little.
LEAST_FACTS = 3


def why_not_due(last: datetime | None, facts: int, now: datetime) -> str | None:
    """Return why no reflection is due; ``None`` if one is.

    Args:
        last: when the last reflection was recorded.
        facts: how many facts the week has brought.
        now: the present.
    """
    # A last one far in the future is of a clock that was wrong then; it must not block for ever.
    if last is not None and abs(now - last) < REST:
        return f"the last reflection is of {last:%Y-%m-%d}, under 6 days ago"
    found = f"{facts} new fact{'s' * (facts != 1)} in 7 days"
    return None if facts >= LEAST_FACTS else f"{found}; {LEAST_FACTS} are needed"


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
        """Write the insight of the week, if one is due.

        A model that fails leaves the insight to be written later; one without a usable answer
        leaves it to the digest. Of several processes one
        writes it: the others find its lease taken, or the insight there.
        """
        scope, now = self.records.scope, self.records.now()
        if dry_run:
            return self._write(now, dry_run=True)
        name = f"reflect:{scope.user}:{scope.agent or ''}"
        claim = partial(self.records.store.claim, name, token_hex(8), now=now)
        if not claim(until=now + LEASE):
            return StageReport(stage=REFLECT, skipped="another process writes it now")
        try:
            return self._write(now, dry_run=False)
        finally:
            claim(until=now)

    def _write(self, now: datetime, *, dry_run: bool) -> StageReport:
        facts, episodes = (self._look_back(kind, now) for kind in (Kind.FACT, Kind.EPISODE))
        not_due = why_not_due(self._last(now), len(facts), now)
        if not_due is not None:
            return StageReport(stage=REFLECT, skipped=not_due, dry_run=dry_run)
        (text, told), by = write_digest(facts, now, self.zone), "digest"
        model = None if dry_run else self.models.for_stage(self.records.scope, REFLECT)
        if model is not None:
            shown = [*facts, *episodes][::-1]
            try:
                insight = self.models.wait(write_insight(model, shown, self.zone))
            except UnusableAnswer as error:
                log.warning("the insight of the week is a digest: %s", error)
                insight = None
            except LLMError as error:
                return StageReport(stage=REFLECT, failed={"insight": str(error)})
            if insight is not None:  # Any record may be behind any word of it.
                text, told, by = insight, [each.id for each in shown], model.name
        if not dry_run:
            draft = Draft(
                content=text,
                kind=Kind.REFLECTION,
                tags=("weekly",),
                metadata={"since": (now - WEEK).isoformat(), "until": now.isoformat(), "by": by},
                # Its word is trusted as an agent's, and is no person's evidence for anything.
                role="agent",
                decay_rate=0.0,
                source_ids=tuple(told),
                origin="reflection",
            )
            self.records.add(draft, reason="the insight of the week")
        return StageReport(
            stage=REFLECT,
            count=1,
            counts={"written": 1},
            lines=tuple(text.splitlines()),
            dry_run=dry_run,
        )

    def _last(self, now: datetime) -> datetime | None:
        """Return when the last reflection was recorded."""
        where = Filter(now=now, kinds=(Kind.REFLECTION,))
        found = self.records.store.records(self.records.scope, where, order=Order.LATEST, limit=1)
        return found[0].created_at if found else None

    def _look_back(self, kind: Kind, now: datetime) -> list[Record]:
        """Return the records of a kind that the week has brought, the newest first.

        What only external text says is left out: a reflection is told in every talk, and must not
        carry a stranger's words there.
        """
        where = Filter(now=now, kinds=(kind,), recorded_since=now - WEEK)
        found = self.records.store.records(self.records.scope, where, order=Order.NEWEST)
        believed = (each for each in found if each.superseded_by is None)
        return [each for each in believed if each.trust is not Trust.EXTERNAL][: LIMIT // 2]


def write_digest(facts: Sequence[Record], now: datetime, zone: tzinfo) -> tuple[str, list[str]]:
    """Return the digest of a week's facts in Markdown, and the ids of those that it tells.

    What is ahead comes first, and what changed; else the facts are told in their order.
    """
    first, last = (in_zone(at, zone).date() for at in (now - WEEK + timedelta(days=1), now))
    text = f"Week of {first} to {last}: {len(facts)} new fact{'s' * (len(facts) != 1)}.\n"
    told: list[str] = []
    for fact in sorted(facts, key=lambda fact: (fact.event_time <= now, fact.supersedes is None)):
        whole = one_line(fact.content)
        day = f"{in_zone(fact.event_time, zone).date()}: " if fact.event_time > now else ""
        longer = f"{text}\n- {day}{cut(whole.lstrip('#>*-+ ') or whole, LINE)}"
        if len(longer) <= LONGEST:
            text, told = longer, [*told, fact.id]
    return text, told

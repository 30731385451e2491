"""Dates in a question: which stretch of time the words of a query mean.

A question is read as a statement is, but looks back: "in May" is the last May that has begun.
Several times must agree ("on 5 May in 2023"). What cannot be resolved ("two weeks before my
birthday") or contradicts itself gives no range at all: a wrong range hides the answer, no range
only fails to help.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

from memoranda.text.calendar import within_calendar
from memoranda.text.dates.cues import TimeCue
from memoranda.text.dates.expressions import Bounds, TimeExpression, is_empty
from memoranda.text.dates.statements import DatedSentence, choose_occurrence
from memoranda.text.dates.tense import FUTURE, PAST
from memoranda.text.dates.words import DATES

# Only so many characters of a query are looked at; a longer one is a document.
QUERY_LIMIT = 2_000
# A text with more times than this is a list of dates, not a question.
MOST_TIMES = 8
_AHEAD = frozenset({"for", "by", "around"})


class _DatedQuestion(DatedSentence):
    """A question, asked at one moment."""

    def _direction(self, time: TimeExpression, cue: TimeCue | None) -> str:
        del time, cue
        return PAST

    def _may_be_next(self, last: Bounds, options: Sequence[Bounds]) -> bool:
        del last, options
        return False

    def _bounds(self, time: TimeExpression, cue: TimeCue | None) -> Bounds | None:
        # "What are the plans for the summer?" does not look back.
        ahead = cue is not None and cue.name in _AHEAD
        return None if ahead and time.found.needs_cue else super()._bounds(time, cue)


class PlanSentence(DatedSentence):
    """A sentence about what is planned, said at one moment: a day that is not past is the next.

    It is read with less care than a statement whose date is written down, since it is only shown:
    "haircut friday at 4" means the next Friday.
    """

    def _choose(self, time: TimeExpression, way: str) -> Bounds | None:
        if way == PAST and not self._text.endswith("?"):
            return None
        return choose_occurrence(time.found.options, self._calendar, FUTURE)

    def _is_time(self, time: TimeExpression, cue: TimeCue | None) -> bool:
        return time.found.grain == "weekday" or super()._is_time(time, cue)


def question_range(query: str, now: datetime) -> Bounds | None:
    """Return the stretch of time that ``query`` speaks of, or ``None``.

    Args:
        query: a question, in any of the five languages; other text gives ``None``.
        now: when it is asked, in the time zone of the person who asks: what "today"
            and "last week" are depends on it.

    Raises:
        InvalidInput: ``now`` has no time zone.
    """
    text = unicodedata.normalize("NFC", query[:QUERY_LIMIT])
    if not within_calendar(now, "now"):
        return None
    masked = DATES.quoted.sub(lambda quoted: " " * len(quoted[0]), text)
    times = list(_DatedQuestion(masked, now).mentions())
    counted = any(DATES.counts_on.match(masked, each.end) for each in times)
    if counted or not 0 < len(times) <= MOST_TIMES:
        return None
    bounds = max(each.since for each in times), min(each.until for each in times)
    return None if is_empty(bounds) else bounds

"""Plans: the turns that tell of some days beforehand, each with what was said of it later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from operator import itemgetter

from memoranda.facts.requests import share_words
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.query import Filter, Order
from memoranda.search.questions import asks, find_asked_days, speaks_of_change
from memoranda.text.calendar import in_zone
from memoranda.text.dates.expressions import Bounds
from memoranda.text.dates.questions import DatedPlan
from memoranda.text.dates.words import DATES
from memoranda.text.languages import is_english
from memoranda.text.sentences import sentence_texts

# How long a plan may last.
LONGEST = timedelta(days=21)
# The turns that are looked through, the latest.
MOST_TURNS = 500
# The plans that are told, the earliest.
MOST_PLANS = 8


def find_plans(
    memory: Memory, session: str, question: str
) -> list[tuple[Record, Record | None]] | None:
    """Return what a person told of the days that a question asks about, the earliest plan first.

    Args:
        memory: whose turns are looked through.
        session: the conversation in which it is asked; what was cleared there is not told.
        question: what is asked: "What do I have on Friday?".

    Returns:
        The turns, each with the last that was said of its plan later; ``None`` where the question
        does not ask for plans.
    """
    services, scope, zone = services_of(memory), scope_of(memory), memory.settings.zone
    now = services.clock.now()
    days = find_asked_days(question, in_zone(now, zone))
    if days is None:
        return None
    searcher = services.searcher(scope)
    hidden = searcher.cleared_turns(session)
    where = Filter(now=now, kinds=(Kind.EPISODE,))
    latest = services.store.records(scope, where, order=Order.LATEST, limit=MOST_TURNS)
    turns = [
        (in_zone(each.event_time, zone), searcher.show(each))
        for each in latest
        if each.trust is Trust.PERSON and each.id not in hidden and not asks(each.content)
    ]
    plans = [
        (min(begins), at, turn)
        for at, turn in turns
        if (begins := [*_days_told(turn.content, at, days)])
    ]
    first = sorted(plans, key=itemgetter(0, 1))[:MOST_PLANS]
    return [(turn, _find_later(at, turn, turns)) for _, at, turn in first]


def _days_told(text: str, said_at: datetime, days: Bounds) -> Iterator[datetime]:
    """Yield when, within some days, a text says that something is planned.

    Args:
        text: what was said.
        said_at: when, in the time zone of who said it.
        days: when they begin and end.
    """
    for sentence in sentence_texts(text):
        for time in DatedPlan(sentence, said_at).mentions():
            ahead = said_at < time.since or DATES.part_of_today.search(time.text)
            short = time.until - time.since <= LONGEST
            if ahead and short and max(time.since, days[0]) < min(time.until, days[1]):
                yield time.since


def _find_later(
    said_at: datetime, plan: Record, turns: Iterable[tuple[datetime, Record]]
) -> Record | None:
    """Return the last turn after a plan's that has a word of it, and tells a time or a change."""
    for at, turn in turns:
        rest, times = turn.content, [*DatedPlan(turn.content, at).mentions()]
        for time in times:
            rest = rest.replace(time.text, "")
        tells = times or speaks_of_change(rest) or not is_english(rest)
        if said_at < at and tells and share_words(rest, plan.content) > 0:
            return turn
    return None

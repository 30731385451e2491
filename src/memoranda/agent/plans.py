"""Plans: the turns that tell of some days beforehand, each with what was said of it later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from memoranda.facts.requests import share_words
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.models import DateMention, Kind, Record, Trust
from memoranda.model.query import Filter, Order
from memoranda.search.questions import asks, find_asked_days, speaks_of_change
from memoranda.text.calendar import in_zone
from memoranda.text.dates.expressions import Bounds
from memoranda.text.dates.questions import PlanSentence
from memoranda.text.dates.words import DATES
from memoranda.text.languages import is_english

# How long a plan may last.
LONGEST = timedelta(days=21)
# The turns that are looked through, the latest.
MOST_TURNS = 500
# The plans that are told, the earliest.
MOST_PLANS = 8


def find_plans(memory: Memory, session: str, question: str) -> list[list[Record]] | None:
    """Return what a person told of the days that a question asks about, the earliest plan first.

    Args:
        memory: whose turns are looked through.
        session: the conversation in which it is asked; what was cleared there is not told.
        question: what is asked: "What do I have on Friday?".

    Returns:
        Of each plan the turn that tells of it, and the last that was said of it later, if any;
        ``None`` where the question does not ask for plans.
    """
    services, scope = services_of(memory), scope_of(memory)
    now = services.clock.now()
    days = find_asked_days(question, in_zone(now, services.zone))
    if days is None:
        return None
    searcher = services.searcher(scope)
    hidden = searcher.cleared_turns(session)
    latest = services.store.records(
        scope, Filter(now=now, kinds=(Kind.EPISODE,)), order=Order.LATEST, limit=MOST_TURNS
    )
    plans, turns = [], []  # each turn with its times, the latest first
    for turn in latest:
        if turn.trust is Trust.PERSON and turn.id not in hidden and not asks(turn.content):
            at = in_zone(turn.event_time, services.zone)
            times = [*PlanSentence(turn.content, at).mentions()]
            turns.append((turn, times))
            if begins := [each.since for each in times if _is_planned(each, at, days)]:
                plans.append((min(begins), 1 - len(turns), turn))
    return [
        [*map(searcher.show, (turn, *islice(_find_later(turn, turns[:-place]), 1)))]
        for _, place, turn in sorted(plans)[:MOST_PLANS]
    ]


def _is_planned(time: DateMention, said_at: datetime, days: Bounds) -> bool:
    """Return whether a time lay ahead when it was told, is no long one, and reaches into days."""
    ahead = said_at < time.since or DATES.part_of_today.search(time.text)
    meant = max(time.since, days[0]) < min(time.until, days[1])
    return bool(ahead) and meant and time.until - time.since <= LONGEST


def _find_later(plan: Record, turns: list[tuple[Record, list[DateMention]]]) -> Iterator[Record]:
    """Yield the turns that have a word of a plan beside times, and tell a time or a change."""
    for turn, times in turns:
        rest = turn.content
        for time in times:
            rest = rest.replace(time.text, "")
        tells = times or speaks_of_change(rest) or not is_english(rest)
        if tells and share_words(rest, plan.content):
            yield turn

"""Forgets and corrects what a person asks to in a message, where it is clear what they mean.

A fact that is known is forgotten or corrected itself. What was only said, and is not learned yet,
is forgotten or corrected as it was said, so that nothing else is ever learned of it. The message
that asked for it goes, too: "forget that I swim" tells that somebody swims.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoranda.facts.reader import address_user
from memoranda.facts.requests import MemoryChange, find_value_like, share_words
from memoranda.model.changes import Close
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.query import Filter, Order
from memoranda.model.reports import RequestOutcome, RequestReceipt
from memoranda.records.drafts import draft_correction
from memoranda.records.pages import session_episodes
from memoranda.records.service import RecordService
from memoranda.search.answers import asks
from memoranda.text.calendar import month_numbers
from memoranda.text.dates.statements import DateParser, without_dates
from memoranda.text.patterns import any_of, compile_pattern, stands_alone

# Facts that are looked through, the latest, and messages of the session before the one that asks.
MOST_FACTS = 500
MOST_MESSAGES = 40
# Things among which a person is asked to choose.
MOST_CHOICES = 3
# Share of the telling words of what is to be forgotten that a record has which is meant.
LEAST_SHARED = 0.66
# The same of a question that was asked just before, and messages among which it is.
LEAST_ASKED, NEAR = 0.5, 4
# A message goes as a whole that has so many times the words of what is to be forgotten.
MOST_WORDS = 2
_DAY = compile_pattern(r"(\d{1,2})(st|nd|rd|th)")


@dataclass(frozen=True, slots=True)
class MemoryChanger:
    """Carries out what messages ask to be forgotten or corrected.

    Attributes:
        records: the records of the scope.
        dates: finds the times that a corrected fact tells.
    """

    records: RecordService
    dates: DateParser

    def carry_out(self, change: MemoryChange, episode: Record) -> list[RequestReceipt]:
        """Forget or correct what a message asks for; return what became of it."""
        facts = self._facts()
        said = self._said_before(episode)
        if change.new is None:
            receipts = self._forget(change, facts, said)
        else:
            asked = self._asked_before(episode)
            receipts = self._correct(change, facts, said, asked)
        # Nor does a request that was understood, and cannot be met, tell that somebody swims.
        if receipts:
            self.records.apply([Close(episode.id, self.records.now(), "a request, carried out")])
        return receipts

    def _facts(self) -> list[Record]:
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,))
        return self.records.store.records(
            self.records.scope, where, order=Order.LATEST, limit=MOST_FACTS
        )

    def _said_before(self, episode: Record) -> list[Record]:
        """Return what the person said in the session before a message, the newest first."""
        store, place = self.records.store, episode.position or 0
        found = session_episodes(
            store,
            self.records.scope,
            episode.session_id or "",
            after=max(-1, place - 1 - MOST_MESSAGES),
            limit=MOST_MESSAGES,
        )
        return [
            each
            for each in reversed(found)
            if each.trust is Trust.PERSON
            and (each.position or 0) < place
            and not asks(each.content)
        ]

    def _asked_before(self, episode: Record) -> str:
        """Return what the person said just before a message: a question, of whose answer it is."""
        found = session_episodes(
            self.records.store,
            self.records.scope,
            episode.session_id or "",
            after=max(-1, (episode.position or 0) - 1 - NEAR),
            limit=NEAR,
        )
        own = [
            each.content for each in found if each.trust is Trust.PERSON and each.id != episode.id
        ]
        return own[-1] if own else ""

    # Forgetting

    def _forget(
        self, change: MemoryChange, facts: Sequence[Record], said: Sequence[Record]
    ) -> list[RequestReceipt]:
        about = change.about
        meant = _most_alike(about, facts)
        learned = {source for fact in facts for source in fact.source_ids}
        spoken = _most_alike(about, (each for each in said if each.id not in learned))
        choices = list({each.content: each for each in meant or spoken}.values())
        if not choices:
            return [RequestReceipt(RequestOutcome.UNKNOWN, about)]
        if len(choices) > 1:
            named = [f"“{_tell(each)}”" for each in choices[:MOST_CHOICES]]
            return [RequestReceipt(RequestOutcome.UNCLEAR, " or ".join(named))]
        words = MOST_WORDS * len(about.split())
        short = [each for each in spoken if len(each.content.split()) <= words]
        gone = [*meant, *short] if meant else spoken
        self.records.forget([each.id for each in gone])
        told = f"{_tell(choices[0])}."
        return [RequestReceipt(RequestOutcome.FORGOTTEN, told, choices[0].id)]

    # Correcting

    def _correct(
        self, change: MemoryChange, facts: Sequence[Record], said: Sequence[Record], asked: str
    ) -> list[RequestReceipt]:
        new = change.new or ""
        last = said[0].content if said else ""
        old = change.old or (find_value_like(new, last) if _has_digit(new) else "")
        about = " ".join(each for each in change.about.split() if each != old)
        known = [
            each for each in said if not about or share_words(about, each.content) >= LEAST_SHARED
        ]
        spoken = next((each for each in known if _with_value(each.content, old, new)), None)
        drawn = [each for each in facts if spoken is not None and spoken.id in each.source_ids]
        # What was not said in this session is clear only where words tell what it is about.
        asked, least = (about, LEAST_SHARED) if about else (asked, LEAST_ASKED)
        others = [
            each
            for each in facts
            if share_words(asked, each.content) >= least and _with_value(each.content, old, new)
        ]
        wrong = [each for each in drawn if each in others] if spoken else others
        if not old or (spoken is None and len(wrong) != 1):
            return []
        fixed = [self._replace(each, old, new) for each in wrong]
        if spoken is not None:
            fixed.append(self._replace(spoken, old, new))
        told = _tell(fixed[0])
        return [
            RequestReceipt(RequestOutcome.CORRECTED, f"{told[:1].upper()}{told[1:]}.", fixed[0].id)
        ]

    def _replace(self, old: Record, wrong: str, right: str) -> Record:
        content = _with_value(old.content, wrong, right)
        if old.kind is Kind.FACT:
            content = self.dates.resolve(without_dates(content), old.created_at)
        draft = draft_correction(old, content)
        times = self.dates.read(content, old.created_at) if old.kind is Kind.FACT else ()
        if times:
            draft |= {"event_time": times[0].since, "event_until": times[0].until}
        return self.records.correct(old, draft)


def _most_alike(about: str, records: Iterable[Record]) -> list[Record]:
    """Return the records that share the most words with a text, if that is most of its words."""
    shared = [(share_words(about, each.content), each) for each in records]
    most = max((share for share, _ in shared), default=0.0)
    return [each for share, each in shared if share == most >= LEAST_SHARED]


def _with_value(content: str, old: str, new: str) -> str:
    """Return a text with another value; empty where it does not hold the old one just once."""
    wrong, right = (each.removeprefix("the ").removeprefix("a ") for each in (old, new))
    days = _DAY.fullmatch(wrong), _DAY.fullmatch(right)
    if days[0] is not None and days[1] is not None:
        return _with_day(content, days[0][1], days[1][1], days[1][2])
    form = compile_pattern(re.escape(wrong), re.IGNORECASE)
    places = form.finditer(content) if wrong and right else ()
    found = [each for each in places if stands_alone(content, *each.span())]
    if len(found) != 1:
        return ""
    return f"{content[: found[0].start()]}{right}{content[found[0].end() :]}"


def _with_day(content: str, old: str, new: str, ending: str) -> str:
    """Return a text with another day of a month: of "11 December" and "the 11th"."""
    month = any_of(month_numbers())
    form = rf"\b(?:({month}) )?{old}(st|nd|rd|th)?\b(?: (?:of )?({month})\b)?"
    dates = [
        found
        for found in compile_pattern(form, re.IGNORECASE).finditer(content)
        if found[1] or found[2] or found[3]
    ]
    if len(dates) != 1:
        return ""
    suffix = dates[0][2] or ""
    told = dates[0][0].replace(f"{old}{suffix}", f"{new}{ending if suffix else ''}", 1)
    return f"{content[: dates[0].start()]}{told}{content[dates[0].end() :]}"


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _tell(record: Record) -> str:
    """Return what a record says as it is told to whom it is about: "you swim on Mondays"."""
    told = address_user(record.content) if record.kind is Kind.FACT else ""
    return told or record.content.rstrip(".")

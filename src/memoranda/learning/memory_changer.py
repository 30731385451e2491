"""Forgets and corrects what a person asks to in a message, where it is clear what they mean.

A fact that is known is forgotten or corrected itself. What was only said, and is not learned yet,
is forgotten or corrected as it was said, so that nothing else is ever learned of it. The message
that asked for it goes, too: "forget that I swim" tells that somebody swims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memoranda.facts.reader import address_user, read_facts
from memoranda.facts.requests import MemoryChange, find_value_like, find_withheld, share_words
from memoranda.facts.values import replace_value
from memoranda.learning.known_facts import quoted_words, when_said
from memoranda.model.changes import Close
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.query import Filter, Order
from memoranda.model.reports import RequestOutcome, RequestReceipt
from memoranda.records.drafts import draft_correction
from memoranda.records.service import RecordService, session_episodes
from memoranda.text.dates.statements import read_times, resolve_times, without_dates
from memoranda.text.patterns import compile_pattern
from memoranda.text.small_talk import states_nothing

# Facts that are looked through, the latest, and messages of the session before the one that asks.
MOST_FACTS, MOST_MESSAGES = 500, 40
# Things among which a person is asked to choose.
MOST_CHOICES = 3
# Share of the telling words of what is to be changed that a record has which is meant.
LEAST_SHARED = 0.66
# The same, where the message tells the wrong value, which it has, too.
LEAST_NAMED = 0.5
# A message goes as a whole that has so many times the words of what is to be forgotten.
MOST_WORDS = 2
# What is told where it is not clear what a message points back to.
THAT, UNSURE = "that", "Say in a whole sentence what is right."
# The one word that a sentence says of something: "The door is green."
_PREDICATE = compile_pattern(r"(?:\bis|\bare|['\u2019]s) ([^\W\d_]+)\.?$")


@dataclass(frozen=True, slots=True)
class MemoryChanger:
    """Carries out what messages ask to be forgotten or corrected.

    Attributes:
        records: the records of the scope.
    """

    records: RecordService

    def carry_out(
        self, change: MemoryChange, episode: Record, *, told: str | None = None
    ) -> list[RequestReceipt]:
        """Forget or correct what a message asks for; return what became of it.

        Args:
            change: what it asks for.
            episode: the message.
            told: the record that was told or said just before, where it points back to that.
        """
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,))
        store, scope = self.records.store, self.records.scope
        if told is not None:
            receipts = self._change_told(change, where, told)
        else:
            facts = store.records(scope, where, order=Order.LATEST, limit=MOST_FACTS)
            facts += self.records.proposals(MOST_FACTS)
            carry_out = self._forget if change.new is None else self._correct
            before = self._said_before(episode)
            if not change.about and before and states_nothing(before[0].content):
                return []  # It is about the answer.
            said = [each for each in before if not states_nothing(each.content)]
            receipts = carry_out(change, facts, said)
        # Nor does a request that was understood, and cannot be met, tell that somebody swims.
        stated = change.beside and not states_nothing(change.beside)
        if receipts and change.new is None and stated and not find_withheld(change.beside):
            self.records.correct(episode, draft_correction(episode, change.beside))
        elif receipts and not (change.new and change.beside):
            self.records.apply([Close(episode.id, self.records.now(), "a request, carried out")])
        return receipts

    def _change_told(self, change: MemoryChange, where: Filter, told: str) -> list[RequestReceipt]:
        """Forget or correct a record with the turns it was drawn from, or the facts drawn of it."""
        store, scope = self.records.store, self.records.scope
        found = store.get(scope, [told])
        drawn = store.records(scope, replace(where, citing=[told]))
        found |= store.get(scope, [each for fact in found.values() for each in fact.source_ids])
        known = [each for each in found.values() if is_active(each, where.now)]
        facts = [*(each for each in known if each.kind is Kind.FACT), *drawn]
        said = [each for each in known if each.kind is Kind.EPISODE]
        if change.new is None:
            read = [each for each in facts if each.attribute]
            return self._forget_all(read or facts, said, (*facts, *said), THAT)
        old = _find_value(change, facts) or _find_value(change, said)
        wrong = [each for each in (*facts, *said) if replace_value(each.content, old, change.new)]
        if not wrong:
            return [RequestReceipt(RequestOutcome.UNCLEAR, UNSURE)] if change.denies else []
        return self._replace_all(wrong, old, change.new)

    def _said_before(self, episode: Record) -> list[Record]:
        """Return what the person said in the session before a message, the newest first."""
        store, scope, place = self.records.store, self.records.scope, episode.position or 0
        after = max(-1, place - 1 - MOST_MESSAGES)
        session = episode.session_id or ""
        found = session_episodes(store, scope, session, after=after, limit=MOST_MESSAGES)
        earlier = (each for each in reversed(found) if (each.position or 0) < place)
        return [each for each in earlier if each.trust is Trust.PERSON]

    def _forget(
        self, change: MemoryChange, facts: Sequence[Record], said: Sequence[Record]
    ) -> list[RequestReceipt]:
        """Forget what words name."""
        about = change.about
        if not about:
            return []
        meant = _most_alike(about, facts)
        learned = {source for fact in facts for source in fact.source_ids}
        spoken = _most_alike(about, (each for each in said if each.id not in learned))
        words = MOST_WORDS * len(about.split())
        short = [each for each in spoken if len(each.content.split()) <= words]
        return self._forget_all(meant, spoken, short, about)

    def _forget_all(
        self,
        meant: Sequence[Record],
        spoken: Sequence[Record],
        beside: Sequence[Record],
        about: str,
    ) -> list[RequestReceipt]:
        """Forget the one thing that is meant, or what is named in one message; else ask which.

        Args:
            meant: the facts that may be.
            spoken: the messages that may be, where there is no fact.
            beside: what goes with a fact.
            about: what it is called where nothing is meant.
        """
        choices = list({each.content: each for each in meant or spoken}.values())
        if not choices:
            return [RequestReceipt(RequestOutcome.UNKNOWN, about)]
        named = about != THAT and len({each.source_ids for each in meant}) == 1
        if len(choices) > 1 and not named:
            quoted = [f"“{_tell(each)}”" for each in choices[:MOST_CHOICES]]
            which = f"Which do you mean: {' or '.join(quoted)}?"
            return [RequestReceipt(RequestOutcome.UNCLEAR, which)]
        gone = (*meant, *beside) if meant else spoken
        self.records.forget([*dict.fromkeys(each.id for each in gone)])
        told = f"{'; '.join(map(_tell, choices)).rstrip('?!')}."
        return [RequestReceipt(RequestOutcome.FORGOTTEN, told, choices[0].id)]

    def _correct(
        self, change: MemoryChange, facts: Sequence[Record], said: Sequence[Record]
    ) -> list[RequestReceipt]:
        """Correct what was said of it last, and what was learned of that; else the one fact."""
        new, now = change.new or "", self.records.now()
        about = " ".join(each for each in change.about.split() if each not in change.old.split())
        least = (LEAST_NAMED if change.old else LEAST_SHARED) * bool(about)
        told = [each for each in (*said, *facts) if share_words(about, each.content) >= least]
        like = (find_value_like(new, each.content) for each in (told if about else said))
        old = change.old or next(like, "")
        holding = [each for each in told if replace_value(each.content, old, new)]
        spoken = [each for each in holding if each.kind is Kind.EPISODE][:1]
        wrong = [each for each in holding if each.kind is Kind.FACT]
        if spoken:
            wrong = [each for each in wrong if spoken[0].id in each.source_ids] + spoken
        # What was not said in this session is clear only where words tell what it is about, and
        # where that is not over.
        elif not about or len(wrong) != 1 or (wrong[0].event_until or now) < now:
            return []
        return self._replace_all(wrong, old, new)

    def _replace_all(self, wrong: Sequence[Record], old: str, new: str) -> list[RequestReceipt]:
        """Correct records to ones with another value; facts then cite the corrected messages."""
        fixed: dict[str, Record] = {}
        for each in sorted(wrong, key=lambda each: each.kind is Kind.FACT):
            fixed[each.id] = self._replace(each, old, new, fixed)
        first = fixed[wrong[0].id]
        told = f"{_tell(first).rstrip('?!')}."
        return [RequestReceipt(RequestOutcome.CORRECTED, told[:1].upper() + told[1:], first.id)]

    def _replace(self, old: Record, wrong: str, right: str, fixed: Mapping[str, Record]) -> Record:
        """Correct a record to one with another value."""
        content = replace_value(old.content, wrong, right)
        if (undated := without_dates(content)) != content:
            content = resolve_times(undated, when_said(old))
        draft = draft_correction(old, content)
        sources = (fixed[each].id if each in fixed else each for each in old.source_ids)
        draft |= {"source_ids": tuple(sources)}
        times = read_times(content, old.created_at) if old.kind is Kind.FACT else ()
        if times:
            draft |= {"event_time": times[0].since, "event_until": times[0].until}
        return self.records.correct(old, draft)


def _most_alike(about: str, records: Iterable[Record]) -> list[Record]:
    """Return the records that share the most words with a text, if that is most of its words."""
    shared = [(share_words(about, each.content), each) for each in records]
    most = max((share for share, _ in shared), default=0.0)
    return [each for share, each in shared if share == most >= LEAST_SHARED]


def _find_value(change: MemoryChange, records: Sequence[Record]) -> str:
    """Return the one value in records that a new one replaces; empty where that is not sure.

    "No, it's fine" tells no value: a name does, and any word beside "that's wrong".
    """
    new = change.new or ""
    like = {find_value_like(new, each.content) for each in records} - {""}
    if not like:
        read = [value for each in records for value in _values_of(each)]
        name = new[:1].isupper()
        like = {each for each in read if (name or change.denies) and each[0].isupper() == name}
    return like.pop() if len(like) == 1 else ""


def _values_of(record: Record) -> list[str]:
    """Return the value of a fact, or what a message gives as one."""
    if record.value:
        return [record.value]
    said = quoted_words(record.content)
    read = [each.value for each in read_facts(said) if each.value]
    return read or [each[1] for each in _PREDICATE.finditer(said)]


def _tell(record: Record) -> str:
    """Return what a record says as it is told to whom it is about: "you swim on Mondays"."""
    told = address_user(record.content) if record.kind is Kind.FACT else ""
    return told or record.content.rstrip(".")

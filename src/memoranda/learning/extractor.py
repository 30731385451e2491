"""Extracts facts without a model: messages in, claims out, by rules that would rather be silent.

A turn is cut into sentences once. What it asks of memory is read first, and kept as said; then the
attributes that its sentences assert; what else will matter is kept as a quotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import relation_nouns
from memoranda.facts.reader import GONE, MASK, FactStatement, fits_any, read_facts, read_instead
from memoranda.facts.requests import (
    asks_to_keep,
    find_memory_change,
    find_value_like,
    find_withheld,
)
from memoranda.facts.values import replace_value
from memoranda.learning.claims import ASKED, Category, Claim, Turn
from memoranda.learning.exclusions import blank_exclusions, is_command, is_joke
from memoranda.learning.requests import WITHHELD, ClaimDraft, RefusedRequest, read_requests
from memoranda.learning.sentences import (
    SentencePart,
    english,
    english_words,
    own_sentences,
    write_out,
)
from memoranda.learning.statements import may_state, quote, speaks_of_speaker, weigh_statement
from memoranda.model.models import ROLES, DateMention
from memoranda.search.questions import asks, find_told, speaks_of_change, without_tag
from memoranda.text.dates.expressions import EARLIEST_YEAR
from memoranda.text.dates.statements import read_times, resolve_times, write_times
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import LanguageData
from memoranda.text.secrets import has_secret
from memoranda.text.sentences import is_concrete, split_sentences

EVIDENCE = LanguageData("mul", "evidence")

# Confidence in what was read as an attribute or a request, and in a quotation.
_SURE, _QUOTED = 0.9, 0.6
_ENDS = " .!\u2026"
# Words of a sentence that may say what the next one is about.
_HEAD = 6
_QUESTION = "? \uff1f"
_PRECISION = {"time": 0, "day": 1, "week": 2, "month": 3, "year": 4, "span": 5}


class PageReading(NamedTuple):
    """What a page of turns states, and which of its sentences speak of a change, kept or not."""

    claims: list[Claim]
    changes: Sequence[tuple[Turn, str]] = ()


class RuleFactExtractor:
    """Draws claims from turns without a model.

    Attributes are read in the languages of ``facts.toml``; any language's statements are kept as
    quotations. Stateless and thread-safe; time is linear in the text.
    """

    def read(self, page: Sequence[Turn], *, before: Sequence[Turn] = ()) -> PageReading:
        """Return the claims of a page of turns, in the order they were said, and its changes.

        Args:
            page: what is read.
            before: what was said before it, which helps to understand it.
        """
        around = _open_turns([*before, *page])
        claims: list[Claim] = []
        changes: list[tuple[Turn, str]] = []
        for place, turn in enumerate(around):
            if not turn.person:
                continue
            reader = _TurnReader(turn, around[:place])
            drafts = list(reader.read())
            if place >= len(before):
                found = {each.content.casefold(): each for each in drafts[::-1]}
                claims += [self._claim(each, turn) for each in list(found.values())[::-1]]
                changes += [(turn, each) for each in reader.changes]
        return PageReading(claims, changes)

    def read_requests(
        self, turn: Turn, *, before: Sequence[Turn] = ()
    ) -> tuple[list[Claim], list[RefusedRequest]]:
        """Return what a turn asks to keep, and what of that is refused."""
        if turn.person and find_withheld(turn.text) is not None:
            return [], [RefusedRequest("", WITHHELD)]
        if not turn.person or not asks_to_keep(turn.text):
            return [], []
        *earlier, open_turn = _open_turns([*before, turn])
        reading = read_requests(open_turn, earlier, list(own_sentences(open_turn.text)))
        claims = {each.content.casefold(): self._claim(each, turn) for each in reading.drafts}
        return list(claims.values()), reading.refused

    def _claim(self, draft: ClaimDraft, turn: Turn) -> Claim:
        fact = draft.fact
        own = fact is not None and draft.content == fact.content
        timeless = own and not (fact and attributes()[fact.attribute].dated)
        times = read_times(draft.said if timeless else draft.content, turn.at)
        if timeless:
            times = [each for each in times if each.until <= turn.at]
        content = draft.content if timeless else resolve_times(draft.content, turn.at)
        event_time, event_until = find_event_time(times, turn.at)
        quoted = draft.category is Category.STATEMENT
        user = turn.speaker in ROLES
        speaker = "the user" if user else turn.speaker
        about = speaker if fact is None or fact.subject == "user" else fact.subject
        return Claim(
            content=quote(content, "" if user else speaker, turn.at) if quoted else content,
            subject=about,
            category=draft.category,
            sources=(turn.id,),
            speaker=turn.speaker,
            person=turn.person,
            said_at=turn.at,
            event_time=event_time,
            event_until=event_until,
            confidence=_QUOTED if quoted else _SURE,
            fact=fact,
            asked=draft.category in ASKED,
        )


@dataclass(slots=True)
class _TurnReader:
    """Reads the sentences of a turn.

    Attributes:
        turn: what is read.
        earlier: the turns before it.
        lead: the sentence just before, of the same turn.
        stated: the last sentence that states something.
        changes: the sentences that speak of a change.
    """

    turn: Turn
    earlier: Sequence[Turn]
    lead: str = ""
    stated: SentencePart | None = None
    changes: list[str] = field(default_factory=list)

    def read(self) -> Iterator[ClaimDraft]:
        """Yield what the turn asks of memory, and what its sentences state."""
        sentences = list(own_sentences(self.turn.text))
        requests = read_requests(self.turn, self.earlier, sentences)
        yield from requests.drafts
        ends = [*(each.start for each in sentences[1:]), len(self.turn.text)]
        for place, sentence in enumerate(sentences):
            if is_joke(self.turn.text[sentence.start : ends[place]]):
                continue
            if place not in requests.covered:
                yield from self._read_sentence(sentence)
            self.lead = sentence.shown

    def _read_sentence(self, sentence: SentencePart) -> Iterator[ClaimDraft]:
        shown, said = self._without_question(sentence)
        if not shown.strip() or has_secret(said) or fits_any("unreal", shown):
            return
        change = find_memory_change(said)
        if change and (change.new is None or not (change.about or speaks_of_speaker(said))):
            return
        if speaks_of_change(shown):
            self.changes.append(said)
        begin = lead.span()[1] if (lead := english("correction").search(shown)) else 0
        shown, said = shown[begin:], said[begin:]
        instead = read_instead(shown)
        read = (shown, said) if instead == shown else (instead, instead)
        facts = list(self._read_attributes(*read))
        if facts and self._is_of_another(shown):
            facts = [each for each in facts if each.subject != "user" or each.start]
        gone = {each.subject for each in facts if each.attribute == GONE}
        facts = [each for each in facts if (each.value or "").casefold() not in gone]
        for fact in facts:
            category = Category(attributes()[fact.attribute].category)
            yield ClaimDraft(fact.content, category, fact, read[1])
        corrected = instead.rstrip(_ENDS) if instead != shown else ""
        if is_command(said) or any(corrected.endswith(each.value or "\n") for each in facts):
            return
        before, self.stated = self.stated, sentence
        kinds = {attributes()[each.attribute].category for each in facts if not each.needs_known}
        behind = read[0][max((each.end for each in facts), default=0) :]
        whole = gone and not behind.strip(_ENDS)  # "My dog Max died."
        if whole or not (corrected or kinds <= {Category.RELATION} or relation_nouns(behind)):
            return
        if self._matters(shown):
            yield ClaimDraft(said.strip(), Category.STATEMENT)
        elif before and self._is_headed(shown, sentence, before):
            told = self.turn.text[before.start : sentence.start] + said
            yield ClaimDraft(told, Category.STATEMENT)

    def _without_question(self, sentence: SentencePart) -> tuple[str, str]:
        """Return what a sentence states before it asks, if it asks, and the same as written."""
        shown = without_tag(sentence.shown)
        if asks(shown):
            begins = english("question_begins").search(shown)
            before = shown[: begins.span()[0]] if begins else ""
            shown = "" if asks(before) else before
        begin = find_told(shown)
        shown = shown[begin:].rstrip(_QUESTION)
        start = sentence.start + begin
        return shown, self.turn.text[start : start + len(shown)]

    def _is_of_another(self, shown: str) -> bool:
        """Return whether a sentence without "I" goes on about whom the one before it is about."""
        about = english("of_another").search(self.lead)
        named = about is not None and about["who"].lower() not in english_words("no_persons")
        of_another = named or asks(self.lead) or bool(relation_nouns(self.lead))
        return of_another and not speaks_of_speaker(shown)

    def _matters(self, shown: str) -> bool:
        if not may_state(shown) or 2 * shown.count(MASK) > len(shown) or fits_any("opinion", shown):
            return False  # Most of it is quoted.
        dated, among = self._is_dated(shown), self.turn.speaker not in ROLES
        return weigh_statement(shown, dated=dated, among_people=among) > 0

    def _is_headed(self, shown: str, sentence: SentencePart, before: SentencePart) -> bool:
        """Return whether a short sentence just before one with particulars says what it is about.

        "They bumped the knee. New date is 5 May."
        """
        gap = self.turn.text[before.end : sentence.start]
        short = not before.question and len(before.shown.split()) <= _HEAD and not gap.strip(" ")
        tells = may_state(shown) and is_concrete(shown)
        return short and tells and self._matters(before.shown + gap + shown)

    def _is_dated(self, text: str) -> bool:
        """Return whether a text tells a time other than the day it is said on."""
        today = self.turn.at.date()
        return any(
            not today <= each.since.date() < each.until.date() <= today + timedelta(days=1)
            for each in read_times(text, self.turn.at)
        )

    def _with_dates(self, fact: FactStatement, said: str) -> FactStatement:
        """Return a fact with the times in its value absolute, if its values are times."""
        value, times = fact.value or "", read_times(said, self.turn.at)
        start = said.find(value) if value else -1
        times = [each for each in times if each.start < start + len(value) and start < each.end]
        if start < 0 or not times or not attributes()[fact.attribute].dated:
            return fact
        new = write_times(said, times, (start, start + len(value)))
        return replace(fact, value=new, content=fact.content.replace(value, new))

    def _read_attributes(self, shown: str, said: str) -> Iterator[FactStatement]:
        """Yield the attributes that a sentence asserts."""
        shown, said = self._with_person(shown, said)
        speaker = "" if self.turn.speaker in ROLES else self.turn.speaker.strip()
        for each in read_facts(shown, said, speaker=speaker):
            yield self._with_dates(each, said)

    def _with_person(self, shown: str, said: str) -> tuple[str, str]:
        """Return a sentence with the one relative of the sentence before in place of "he"."""
        pronoun = english("pronoun").search(shown)
        if pronoun is None:
            return shown, said
        found = {each["whole"].strip() for each in english("relative").finditer(self.lead)}
        person = found.pop() if len(found) == len(relation_nouns(self.lead)) == 1 else ""
        who, end = pronoun["pronoun"].lower(), pronoun.span(1)[1]
        other = "women" if who in {"he", "his"} else "men"
        if not person or not english_words(other).isdisjoint(person.lower().split()):
            return shown, said
        lead = f"{person}'s" if who in {"his", "her"} else person
        return lead + shown[end:], lead + said[end:]


def _open_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns as they are read: corrected, with apostrophes, without what is excluded."""
    read = (replace(each, text=_correct_text(write_out(each.text[:MOST_READ]))) for each in turns)
    return blank_exclusions(list(read))


def _correct_text(text: str) -> str:
    """Return a text in which each sentence that corrects the one before is carried out.

    "The exam is on the 9th. No, the 10th." becomes "The exam is on the 10th."
    """
    told, done = "", 0
    for before, each in pairwise(split_sentences(text)):
        said = text[before.start : before.end]
        change = find_memory_change(text[each.start : each.end])
        # "It isn't the 9th. No, the 10th."
        if not change or not change.new or change.about or EVIDENCE.negator.search(said):
            continue
        right = replace_value(said, change.old or find_value_like(change.new, said), change.new)
        if right and before.start >= done:
            told += text[done : before.start] + right
            done = each.end
    return told + text[done:]


def find_event_time(
    times: Sequence[DateMention], said_at: datetime
) -> tuple[datetime, datetime | None]:
    """Return when something happened by the times it tells, and the first moment after it.

    What goes on, or began nobody says when, has no end, or no beginning, of its own.
    """
    time = min(times, key=lambda each: _PRECISION.get(each.precision, 9), default=None)
    if time is None:
        return said_at, None
    if time.since.year == EARLIEST_YEAR:
        return time.until - timedelta(days=1), None
    goes_on = time.precision == "span" and time.until.date() == said_at.date() + timedelta(days=1)
    return time.since, None if goes_on else time.until

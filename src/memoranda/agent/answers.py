"""Answers without a language model: what was understood, and what memory knows, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten

from memoranda.agent.plans import find_plans
from memoranda.conversation.signals import refers_to_earlier, signals_of
from memoranda.facts.questions import read_asked, tells_of_others
from memoranda.facts.reader import address_user
from memoranda.facts.requests import share_words
from memoranda.learning.claims import Claim
from memoranda.learning.request_keeper import RequestKeeper
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.changes import Insert, Supersede
from memoranda.model.models import Hit, Kind, Message, Record
from memoranda.model.ports import RecallRequest
from memoranda.model.query import Filter
from memoranda.model.reports import RequestReceipt
from memoranda.search.questions import ASKED, ParsedQuestion, asks, speaks_of_change, values_of
from memoranda.text.dates.statements import resolve_times, without_dates
from memoranda.text.dates.words import DATES
from memoranda.text.patterns import LanguageData, languages_with, load
from memoranda.text.recalled import NOTED, NOTHING
from memoranda.text.secrets import mentions_secret
from memoranda.text.sentences import sentence_texts
from memoranda.text.small_talk import is_small_talk

# Tokens of what an answer is made from.
RECALL_BUDGET = 1_000
# What an answer has at least of its score and its likeness to the question together. Measured with
# 153 people: 1,774 of 1,913 right first hits have it, and 191 of 720 for what others would ask.
LEAST_FIT = 0.6
# How like it what is told as the nearest is where no word is the same, and nothing answers.
NEAR = 0.2
# The share of its telling words that an answer has where there are no vectors.
LEAST_SHARED = 0.6
# Further answers, and the share of the best one's score that they have at least.
MOST_MORE, LEAST_MORE = 2, 0.9
# Statements that a line names of what was understood, and of what was learned.
MOST_NOTED, MOST_NAMED = 2, 3
# Words of a sentence that is said again.
MOST_REPEATED = 8
# Digits of a text that may hold a telephone number.
LEAST_DIGITS = 7
# Lines of each topic, and characters of a quotation.
MOST_OF_TOPIC, LONGEST_QUOTE = 8, 240
HELLO = "Hello. Tell me what to remember, or ask me what you told me."
# Replies to small talk, by words of it.
REPLIES = {
    "You're welcome.": {"thanks", "thank", "thx", "ty", "ta", "cheers"},
    "Goodbye. What you told me is kept.": {"bye", "goodbye", "night", "later"},
    HELLO: {"hi", "hello", "hey", "yo", "morning", "afternoon", "evening", "there"},
}
ALL_RIGHT = "All right."
KNOWS_NOTHING = "I know nothing about you yet. Tell me something."
ERASE_ALL = "That cannot be undone, so it takes a command: memoranda users delete {user}"


@dataclass(slots=True)
class MemoryAnswerer:
    """Answers the messages of one conversation from memory alone.

    Attributes:
        memory: what it answers from.
        told: the record that was told or said last: what "forget that" is about.
    """

    memory: Memory
    told: str = ""

    def answer(
        self, session: str, message: Message, requests: Sequence[RequestReceipt]
    ) -> tuple[str, tuple[Hit, ...], Sequence[RequestReceipt]]:
        """Return the answer to a stored message, the records it was made from, and its requests.

        Args:
            session: the conversation it is in.
            message: what a person says.
            requests: what it asked of memory, and what became of that; of what it asks of that
                which was told or said before it is found here.
        """
        keeper = services_of(self.memory).request_keeper(scope_of(self.memory))
        done = requests or keeper.change_told(message, self.told)
        keeper.forget_excluded(session, message)
        if done:
            self.told = next((each.record for each in done if each.record), self.told)
            return "\n".join(each.line for each in done), (), done
        self.told = message.record_id or ""
        return *self._answer(session, message, keeper), ()

    def _answer(
        self, session: str, message: Message, keeper: RequestKeeper
    ) -> tuple[str, tuple[Hit, ...]]:
        """Return the answer to a message that asks nothing of memory, and what it was made from."""
        text = message.content
        if is_small_talk(text) or signals_of(text, "user").casual:
            return _greet(text), ()
        if _fits(text, "overview"):
            return self._tell_all(session), ()
        if _fits(text, "erase_all"):
            return ERASE_ALL.format(user=self.memory.user), ()
        plans = find_plans(self.memory, session, text)
        if plans is not None:
            self.told = plans[0][0].id if plans else ""
            told = ("; later: ".join(self._quote(x, short=True) for x in plan) for plan in plans)
            return "\n".join(f"- {each}" for each in told) or NOTHING, ()
        if question := _asked(text):
            self.told = ""
            found = self.recall(session, replace(message, content=question))
            return self._find(session, question, found)
        return self._note(session, message, keeper)

    def _note(
        self, session: str, message: Message, keeper: RequestKeeper
    ) -> tuple[str, tuple[Hit, ...]]:
        """Return what was understood; for a message that says nothing new, what it asks for."""
        claims = keeper.read_claims(session, message)
        if understood := "; ".join(_shorten(_addressed(claims))[:MOST_NOTED]):
            return f"Noted: {understood}.", ()
        text = message.content
        plain = len(sentence_texts(text)) == 1 and not speaks_of_change(text)
        found = self.recall(session, message) if plain else []
        if any(_covers(hit, text) for hit in found):
            return self._find(session, text, found)  # "Blood type" asks for it.
        return NOTED, ()

    def recall(self, session: str, message: Message) -> list[Hit]:
        """Return what may answer a stored message, best first: what states something."""
        question = message.content
        services = services_of(self.memory)
        searcher = services.searcher(scope_of(self.memory))
        gone = frozenset() if refers_to_earlier(question) else searcher.cleared_turns(session)
        asked = RecallRequest(question, RECALL_BUDGET, gone | {message.record_id or ""})
        found = searcher.recall(asked, Filter(now=services.clock.now())).hits
        told = [hit for hit in found if _says_more(hit, question)]
        stated = [hit for hit in told if _states(hit.record, question)]
        return [hit for hit in stated if not any(_said_by(hit, other) for other in stated)]

    def _find(
        self, session: str, question: str, found: Sequence[Hit]
    ) -> tuple[str, tuple[Hit, ...]]:
        """Return what answers a question best, with when it was said, and what else may.

        Args:
            session: the conversation it is in.
            question: what is asked.
            found: what may answer it, best first.
        """
        hits = services_of(self.memory).rerank(question, self._renew(session, question, found))
        if not hits:
            return NOTHING, ()
        best = self._reveal(hits[0], question)
        answers = _answers(best, question)
        shared = share_words(question, best.record.content)
        if not answers and _likeness(best) < NEAR and not shared:
            return NOTHING, ()
        self.told = best.record.id
        if not answers:
            return f"{NOTHING} Nearest: {self._quote(best.record)}", ()
        # What the best one brought up to date is told no more.
        least = LEAST_MORE * best.score if best.why.precedence <= 1 else best.score
        near = [hit for hit in hits[1:] if hit.score >= least][:MOST_MORE]
        also = [f"also: {self._quote(hit.record, short=True)}" for hit in near]
        return "\n".join([self._quote(best.record), *also]), (best, *near)

    def _renew(self, session: str, question: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits with what this session tells in the place of what that brings up to date."""
        if ParsedQuestion(question, frozenset()).past:
            return hits
        made, replaced = self._learn(session)
        store, scope = services_of(self.memory).store, scope_of(self.memory)
        known = store.get(scope, [*replaced, *replaced.values()]) | made
        news = dict[str, str]()
        for old, by in replaced.items():  # What was erased meanwhile is not known.
            turns = known[by].source_ids if {old, by} <= known.keys() else ()
            for each in {old, *known[old].source_ids}.difference(turns) if turns else ():
                news[each] = turns[0]
        told = store.get(scope, [*news.values()])
        found = dict[str, Hit]()
        for hit in hits:
            record = told.get(news.get(hit.record.id, ""), hit.record)
            found.setdefault(record.id, replace(hit, record=record))
        return [*found.values()]

    def _learn(self, session: str) -> tuple[dict[str, Record], dict[str, str]]:
        """Return the facts that this session would teach by rules, and what takes which's place."""
        keeper = services_of(self.memory).request_keeper(scope_of(self.memory))
        actions = keeper.plan(session).actions
        made = {each.record.id: each.record for each in actions if isinstance(each, Insert)}
        return made, {each.id: each.by for each in actions if isinstance(each, Supersede)}

    def _reveal(self, hit: Hit, question: str) -> Hit:
        """Return a hit as it is told to the person who asks, by no model.

        "What is our wifi password?" asks for no more than the hit and a secret in it, and is
        answered without a mask.
        """
        record = hit.record
        valued = mentions_secret(question) and _fits(question, "asks_value")
        if valued and share_words(question, record.content) == 1:
            kept = services_of(self.memory).store.get(scope_of(self.memory), [record.id])
            record = kept.get(record.id, record)
        return replace(hit, record=record)

    def _quote(self, record: Record, *, short: bool = False) -> str:
        """Return what a record says, with who said it and when, and when its "tomorrow" was."""
        text = shorten(record.content, LONGEST_QUOTE, placeholder="…")
        if record.kind is not Kind.EPISODE:
            told, since = _tell(text), self._when(record.created_at).removeprefix("on ")
            return f"{told[:1].upper()}{told[1:]} (known since {since})."
        when = self._when(record.event_time)
        if when != "today" and DATES.day_word.search(text):
            text = resolve_times(text, record.event_time.astimezone(self.memory.settings.zone))
        who = "I" if record.source_role == "assistant" else "You"
        return f"“{text}” ({when})" if short else f"{who} said {when}: “{text}”"

    def _when(self, moment: datetime) -> str:
        """Return a day as a person says it: "yesterday", "on 27 November"."""
        services, zone = services_of(self.memory), self.memory.settings.zone
        day, today = moment.astimezone(zone).date(), services.clock.now().astimezone(zone).date()
        near = {0: "today", 1: "yesterday"}.get((today - day).days)
        return near or f"on {day.day} {day:%B}{f' {day.year}' if day.year != today.year else ''}"

    def _tell_all(self, session: str) -> str:
        """Return what is known of the user by topic, with what this session tells."""
        new, replaced = self._learn(session)
        facts = [*(each.record for each in self.memory.facts()), *new.values()]
        facts.sort(key=lambda fact: fact.attribute != "name")  # Who they are is told first.
        headings = {name: _tell(told) for name, told in load("en", "notes")["headings"].items()}
        topics: dict[str, list[str]] = {heading: [] for heading in headings.values()}
        for fact in (each for each in facts if each.id not in replaced):
            heading = headings.get(str(fact.metadata.get("category")), headings["other"])
            topics[heading].append(_tell(fact.content))
        lines = [
            f"- {name}: {_list(told, MOST_OF_TOPIC)}." for name, told in topics.items() if told
        ]
        return "\n".join(["What I know about you:", *lines]) if lines else KNOWS_NOTHING


def tell_learned(memory: Memory, session: str) -> str:
    """Return what was learned in a session: ``5 facts (your husband is called Tom; …)``."""
    learned = memory.records(kind="fact", session=session, limit=1_000)
    told = [_tell(each.content) for each in learned]
    return f"{len(told)} fact{'s' * (len(told) != 1)} ({_list(told, MOST_NAMED)})" if told else ""


def _tell(statement: str) -> str:
    """Return a statement as it is said to whom it is about; a quotation is left as it was said."""
    return (address_user(statement) or statement).rstrip(".")


def _list(told: Iterable[str], most: int) -> str:
    """Return the first statements, and how many more there are."""
    shown = list(dict.fromkeys(told))
    return "; ".join(shown[:most]) + "; …" * (len(shown) > most)


def _addressed(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield what was understood, as it is said to whom it is about.

    A sentence that is kept as it was said is told only where it is short and a value was read in
    it: nobody likes to hear their own words again.
    """
    values = [claim.fact.value for claim in claims if claim.fact and claim.fact.value]
    for claim in claims:
        fact = claim.fact
        if fact and (fact.language != "en" or fact.needs_known or fact.takes_back):
            continue
        said = claim.content.removeprefix("\u201c").partition("\u201d")[0]
        brief = len(said.split()) <= MOST_REPEATED and any(value in said for value in values)
        told = address_user(said) if fact or brief else ""
        if told and told != said:
            yield told


def _shorten(told: Iterable[str]) -> list[str]:
    """Return the statements whose name or words no other one has."""
    found = list(dict.fromkeys(told))
    return [
        each
        for each in found
        if not any(each.rpartition(" is called ")[2] in other for other in found if other != each)
    ]


def _answers(hit: Hit, question: str) -> bool:
    """Return whether a hit has so much to do with the question that it can be its answer."""
    if not _holds_kind(hit, question) or tells_of_others(hit.record.content, question):
        return False
    if "vector" in hit.why.arms:
        return "attribute" in hit.why.arms or hit.score + _likeness(hit) >= LEAST_FIT
    return share_words(question, hit.record.content) >= LEAST_SHARED


def _holds_kind(hit: Hit, question: str) -> bool:
    """Return whether a hit holds such a value as is asked for, where that is a date or a number.

    Of 1,200 answers to thirty people it denies four, which were wrong.
    """
    asked = {each.attribute for each in read_asked(question) if each.language == "en"}
    said = hit.record.content
    if "attribute" in hit.why.arms or not asked & {"birthday", "phone"}:
        return True
    if "phone" in asked:
        return sum(map(str.isdigit, said)) >= LEAST_DIGITS
    dates = [value for sort, value in values_of(said) if sort == "date"]
    return any(map(str.isdigit, "".join(dates))) and ASKED.birth.search(said) is not None


def _likeness(hit: Hit) -> float:
    """Return how like the question a hit is by its vector; 0 without one."""
    return hit.why.arms["vector"].score if "vector" in hit.why.arms else 0.0


def _states(record: Record, question: str) -> bool:
    """Return whether a record states something; beside a question of its own, of what is asked."""
    if record.kind is not Kind.EPISODE:
        return record.kind is not Kind.REFLECTION
    sentences = sentence_texts(record.content)
    stated = [each for each in sentences if not asks(each)]
    if is_small_talk(record.content) or not stated:
        return False
    return len(stated) == len(sentences) or share_words(question, " ".join(stated)) > 0


def _says_more(hit: Hit, question: str) -> bool:
    """Return whether a hit says anything beyond what a question itself states: "X, may I?"."""
    said, mark, _ = hit.record.content.removeprefix("\u201c").partition("\u201d (")
    return not mark or share_words(without_dates(said), question) < 1


def _covers(hit: Hit, text: str) -> bool:
    """Return whether a hit says all that a text does, and more."""
    said = hit.record.content
    return share_words(text, said) == 1 and share_words(said, text) < 1


def _said_by(hit: Hit, other: Hit) -> bool:
    """Return whether a turn says nothing beyond what an earlier hit says."""
    record, earlier = hit.record, other.record
    is_later = record.kind is Kind.EPISODE and earlier.event_time < record.event_time
    return is_later and _covers(other, record.content)


def _asked(text: str) -> str:
    """Return a text up to the last sentence that asks; what follows says why, or what for."""
    if asks(text):
        return text
    sentences = sentence_texts(text)
    last = max((place for place, each in enumerate(sentences, 1) if asks(each)), default=0)
    return " ".join(sentences[:last])


def _greet(text: str) -> str:
    """Return a fitting word for a greeting, a thank-you or a farewell."""
    words = set(text.casefold().strip(" .!?").replace(",", " ").split())
    return next((reply for reply, those in REPLIES.items() if words & those), ALL_RIGHT)


def _fits(text: str, name: str) -> bool:
    """Return whether a text fits a pattern of ``questions.toml`` in any language that has it."""
    return any(
        getattr(LanguageData(code, "questions"), name).search(text) is not None
        for code in languages_with("questions")
        if name in load(code, "questions")
    )

"""Erases records with all their copies: what a copy is, stands here and nowhere else.

A text says what is erased if it repeats five words or more of it in a row, or is what memory itself
wrote of it: a line of recall, the result of a tool that names the record, an answer of an agent
without a model. A copy is what says it and came from it: what memory wrote, what was said in a
conversation into which the record had been recalled, what somebody else said, or what was learned
from what goes. A copy that says nothing else goes; any other is replaced whole by ``[erased]``.

What says the same on its own stays, and is listed: what somebody asked to remember, what an
application keeps, what one speaker says on several occasions, of which another one is erased, and
what says something else, too, and was learned from what stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from memoranda.model.clock import Clock
from memoranda.model.erasure import KeptText, erase_message
from memoranda.model.models import ForgetReceipt, Kind, Message, PlaceKind, Record, Scope, TextPlace
from memoranda.model.query import Filter, RecordRelation
from memoranda.records.drafts import STATED
from memoranda.records.erased_words import ErasedWords, is_long
from memoranda.store.sql.store import Store
from memoranda.text.recalled import is_line_of, lines
from memoranda.text.sentences import sentence_texts

REASON = "erased on request"
USER = "user"
# What others may write meanwhile is looked for again so often.
LOOKS = 3
# How many records are told that may say it in other words.
MOST_LIKELY = 10


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What goes, what is replaced and what stays.

    Attributes:
        copies: ids of records that go as they say the same, and nothing else.
        places: what is replaced by ``[erased]``.
        messages: what is left of messages after that, by their ids.
        independent: ids of records and messages that say the same and stay.
    """

    copies: list[str] = field(default_factory=list)
    places: list[TextPlace] = field(default_factory=list)
    messages: dict[str, Message] = field(default_factory=dict)
    independent: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases records, conversations and their copies for one scope.

    Attributes:
        scope: whose they are.
        store: where they are.
        clock: where the time comes from.
        erase_history: takes records, and what repeats them, and the id of a conversation that goes,
            out of the history of a user's notes, before and after the store does; returns how many
            entries changed.
        erase_lines: takes what repeats erased words out of MEMORY.md, after the store did; returns
            how many lines changed.
        wipe: clears caches and free space; says why it could not.
        count_tokens: measures a message for a model.
    """

    scope: Scope
    store: Store
    clock: Clock
    erase_history: Callable[[Scope, Sequence[Record], ErasedWords, str | None], int]
    erase_lines: Callable[[Scope, ErasedWords], int]
    wipe: Callable[[], str | None]
    count_tokens: Callable[[str | None, Message], int]

    def erase(self, named: Sequence[str], *, conversation: str | None = None) -> ForgetReceipt:
        """Erase records or a conversation, with all copies; return the receipt.

        Args:
            named: the records that go.
            conversation: the conversation that goes with its episodes, in place of records.
        """
        search = _CopySearch(self, named, conversation)
        memories = [each for each in search.going.values() if each.kind is not Kind.ITEM]
        plan = search.plan()
        copies = self.store.get(self.scope.whole_user, plan.copies).values()
        gone = [*memories, *copies]
        entries = self.erase_history(self.scope, gone, search.words, conversation)
        at = self.clock.now()
        with self.store.write(self.scope) as tx:
            if conversation is None:
                there = [*tx.get(self.scope, named)]  # Others erase, too.
                done = tx.erase(there, at=at, reason=REASON, copies=plan.copies)
            else:
                done = tx.delete_conversation(conversation, at=at, erase=True)
            places = tx.redact(plan.places, at=at, reason=REASON, messages=plan.messages)
        for _ in range(LOOKS):  # What came while the plan was made.
            later = search.plan()
            if not later.copies and not later.places:
                break
            with self.store.write(self.scope) as tx:
                if later.copies:
                    tx.erase(later.copies, at=at, reason=REASON)
                places += tx.redact(later.places, at=at, reason=REASON, messages=later.messages)
        entries += self.erase_history(self.scope, gone, search.words, conversation)
        # Before the wipe: it changes the store, too.
        lines = self.erase_lines(self.scope, search.words)
        sources = dict.fromkeys(source for each in memories for source in each.source_ids)
        left = self.store.get(self.scope, list(sources))
        unpurged = self.wipe()
        return replace(
            done,
            notes=entries + lines,
            places=tuple(places),
            independent=tuple(plan.independent),
            likely=tuple(each for each in left if each not in plan.independent)[:MOST_LIKELY],
            purged=unpurged is None,
            unpurged=unpurged,
        )

    def preview(self, named: Sequence[str]) -> ErasurePlan:
        """Return which copies would go with records, and what would stay. Changes nothing."""
        return _CopySearch(self, named, None).plan()


class _CopySearch:
    """Finds the copies of what goes in everything that a user has.

    Records go with their versions and what was derived from these; a conversation goes alone.
    """

    def __init__(self, eraser: Eraser, named: Sequence[str], conversation: str | None) -> None:
        self._eraser, self._store = eraser, eraser.store
        self._scope = scope = eraser.scope.whole_user
        self._conversation = conversation
        self._said, derived = [*named], list[str]()
        if conversation is None:
            self._said += self._store.related(scope, named, RecordRelation.VERSIONS)
            derived = self._store.related(scope, self._said, RecordRelation.DERIVED)
        self.going = self._store.get(scope, [*self._said, *derived])
        self._recalled_into = cache(self._find_recalled)  # Before any were erased.
        self._saying: defaultdict[str, list[Record]] = defaultdict(list)
        for each in self.going.values():
            if each.kind is not Kind.ITEM:  # An application looks after the copies of its own.
                self._saying[each.content].append(each)
        insights = [each.content for each in self.going.values() if each.kind is Kind.REFLECTION]
        texts = self._saying.keys() - set(insights)
        self.words = ErasedWords(texts, quoting=insights)
        self._told = ErasedWords(form for text in texts for form in _told_forms(text))

    def plan(self) -> ErasurePlan:
        """Return what of all that is there now is a copy, and what stays."""
        plan = ErasurePlan()
        found: dict[TextPlace, tuple[KeptText, list[Record]]] = {}
        texts = self._store.kept_texts(self._scope)
        for kept, record_id in self._find_answers(texts):
            plan.places.append(TextPlace(PlaceKind.RECORD, record_id))
            self._replace(plan, kept)
        answered = {place.id for place in plan.places}
        for kept in texts:
            repeated = self.words.repeated_in(kept.told)
            if repeated and kept.place.id not in answered:
                found[kept.place] = kept, [each for text in repeated for each in self._saying[text]]
        ids = [place.id for place in found if place.kind is PlaceKind.RECORD]
        records = self._store.get(self._scope, [id_ for id_ in ids if id_ not in self.going])
        # What was said first, then what was learned from it.
        for record in sorted(records.values(), key=lambda each: each.kind is not Kind.EPISODE):
            self._judge_record(plan, record, *found[TextPlace(PlaceKind.RECORD, record.id)])
        gone = {*self.going, *plan.copies}
        for kept, sources in found.values():
            message, where = kept.message, kept.place.conversation
            goes = where is not None and where == self._conversation
            goes = goes or (message is not None and message.record_id in gone)
            if goes or kept.place.kind is PlaceKind.RECORD:
                continue
            if self._is_copy(kept.told, sources, message.speaker if message else "", where):
                self._replace(plan, kept)
            elif message is not None and message.record_id is None:
                self._list(plan, message.id, message.content, sources)
        return plan

    def _find_answers(self, texts: Iterable[KeptText]) -> Iterator[tuple[KeptText, str]]:
        """Yield the answers without a model that tell what goes, or answer it, with their records.

        They are known by these: such a record is forgotten as soon as it is stored.
        """
        asked: dict[str | None, bool] = {}
        for kept in texts:
            said, chat = kept.message, kept.place.conversation
            if said is None or said.record_id is None or chat == self._conversation:
                continue
            goes = said.record_id in self.going
            answers = said.role == "assistant" and kept.is_forgotten and not goes
            if answers and (asked.get(chat) or self._told.are_told_in(said.content)):
                yield kept, said.record_id
            asked[chat] = goes

    def _judge_record(
        self, plan: ErasurePlan, record: Record, kept: KeptText, sources: Sequence[Record]
    ) -> None:
        """Plan what becomes of a record."""
        role = record.source_role or USER
        if record.kind is Kind.EPISODE:
            copied = self._is_copy(kept.told, sources, role, record.session_id)
        else:
            copied = self._is_learned(record, sources, plan)
        # Of a conversation that goes, and of the result of a tool, which stays as its call does,
        # no record goes whole.
        alone = self._conversation is None and role != "tool"
        if not copied:
            self._list(plan, record.id, record.content, sources)
        elif alone and self.words.are_all_of(record.content):
            plan.copies.append(record.id)
        else:
            self._replace(plan, kept)

    def _is_copy(
        self, text: str, sources: Sequence[Record], role: str, conversation: str | None
    ) -> bool:
        """Return whether what says the same was not said on an occasion of its own."""
        for source in sources:  # Memory itself wrote it: recall, or a tool that names the record.
            if source.id in text or any(is_line_of(line, source.content) for line in lines(text)):
                return True
        long = [source for source in sources if is_long(source.content)]
        recalled = self._recalled_into(conversation) if long and conversation else frozenset()
        return any(source.id in recalled or self._first_said_by(source) != role for source in long)

    def _find_recalled(self, conversation: str) -> frozenset[str]:
        """Return which records were recalled into a conversation."""
        where = Filter.at_any_time(kinds=tuple(Kind), recalled_in=conversation)
        return frozenset(each.id for each in self._store.records(self._scope, where))

    def _first_said_by(self, source: Record) -> str | None:
        """Return who said a text first: what was learned of a person, that person."""
        if source.kind is Kind.EPISODE:
            return source.source_role or USER
        # Who names a fact means it wherever it was said.
        return None if source.id in self._said and self._conversation is None else USER

    def _is_learned(self, record: Record, sources: Sequence[Record], plan: ErasurePlan) -> bool:
        """Return whether a record was learned from what goes, or says nothing else than it."""
        own = record.kind is Kind.ITEM or record.origin in STATED or not record.source_ids
        named = any(each.id in self._said and is_long(each.content) for each in sources)
        if own or self._conversation is not None or not named:
            return False
        gone = {*self.going, *plan.copies, *(place.id for place in plan.places)}
        return self.words.are_all_of(record.content) or gone.issuperset(record.source_ids)

    def _list(self, plan: ErasurePlan, id_: str, content: str, sources: Sequence[Record]) -> None:
        """List what stays; what only has some words of a short text is left alone."""
        if any(is_long(each.content) for each in sources) or self.words.are_all_of(content):
            plan.independent.append(id_)

    def _replace(self, plan: ErasurePlan, kept: KeptText) -> None:
        plan.places.append(kept.place)
        if kept.message is not None:
            erased = erase_message(kept.message)
            tokens = self._eraser.count_tokens(kept.model, erased)
            plan.messages[erased.id] = replace(erased, tokens=tokens)


def _told_forms(text: str) -> Iterator[str]:
    """Yield how an answer without a model may tell a text, or what is read in it."""
    from memoranda.facts.reader import address_user, read_facts  # noqa: PLC0415 - long to load

    quoted = text.removeprefix("\u201c").partition("\u201d")[0]
    for said in (text, *sentence_texts(quoted)):
        for told in (said, *(each.content for each in read_facts(said))):
            yield told
            yield address_user(told)

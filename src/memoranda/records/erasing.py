"""Erases records with all their copies: what a copy is, stands here and nowhere else (law 7).

A text says what is erased if it repeats five words or more of it in a row, or is what memory itself
wrote of it: a line of recall, the result of a tool that names the record. A copy is what says it
and came from it: what memory wrote, what was said in a conversation into which the record had been
recalled, what somebody else said, or what was learned from what goes. A copy that says nothing else
goes; any other is replaced whole by ``[erased]``.

What says the same on its own stays, and is listed: what somebody asked to remember, what an
application keeps, what one speaker says on several occasions, of which another one is erased, and
what says something else, too, and was learned from what stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from memoranda.model.clock import Clock
from memoranda.model.erasure import KeptText, erase_message
from memoranda.model.models import (
    MEMORY_KINDS,
    ForgetReceipt,
    Kind,
    Message,
    PlaceKind,
    Record,
    Scope,
    TextPlace,
)
from memoranda.model.query import Filter, IndexVersion, RecordRelation
from memoranda.store.sql.store import Store
from memoranda.text.recalled import is_line_of, lines
from memoranda.text.repetition import ErasedWords, is_long

REASON = "erased on request"
USER = "user"
# Origins of what stands on somebody's own word, whatever it cites.
OWN_WORD = frozenset({"api", "tool", "notes"})
# What others may write meanwhile is looked for again so often.
LOOKS = 3
# Records of which others that are alike are looked for, the cosine from which they are, and how
# many are told.
COMPARED, ALIKE, MOST_LIKELY = 100, 0.6, 10


class FileEraser(Protocol):
    """Takes erased text out of the notes and of what was typed: before the store does, or after."""

    def history(self) -> int:
        """Rewrite history entries before; return how many changed."""

    def lines(self) -> int:
        """Remove lines of MEMORY.md after; return how many."""

    def prompts(self) -> list[TextPlace]:
        """Remove what was typed after; return where it was."""


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What goes, what is replaced and what stays.

    Attributes:
        copies: ids of records that go as they say the same, and nothing else.
        places: what is replaced by ``[erased]``.
        tokens: the lengths of messages after that, by their ids.
        independent: ids of records and messages that say the same and stay.
    """

    copies: list[str] = field(default_factory=list)
    places: list[TextPlace] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    independent: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases records, conversations and their copies for one scope.

    Attributes:
        scope: whose they are.
        store: where they are.
        clock: where the time comes from.
        erase_from_files: makes what erases records, and what repeats them, from the files of a
            scope.
        wipe: clears caches and free space; says why it could not.
        count_tokens: measures a message for a model.
    """

    scope: Scope
    store: Store
    clock: Clock
    erase_from_files: Callable[[Scope, Sequence[Record], ErasedWords], FileEraser]
    wipe: Callable[[], str | None]
    count_tokens: Callable[[str | None, Message], int]

    def erase(
        self,
        named: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
        conversation: str | None = None,
    ) -> ForgetReceipt:
        """Erase records or a conversation, with all copies; return the receipt.

        Args:
            named: the records that go, as they were found.
            ids: which records were named; ``None`` is all that meet ``where``.
            where: only those that meet it when they are erased.
            conversation: the conversation that goes with its episodes, in place of records.
        """
        scope, said, derived = self.scope.whole_user, list(named), []
        if conversation is None:
            said += self.store.related(scope, said, RecordRelation.VERSIONS)
            derived = self.store.related(scope, said, RecordRelation.DERIVED)
        going = self.store.get(scope, [*said, *derived])
        memories = [each for each in going.values() if each.kind is not Kind.ITEM]
        search = _CopySearch(self, going, said, conversation)
        plan = search.plan()
        likely = self._likely(memories)
        copies = self.store.get(scope, plan.copies).values()
        files = self.erase_from_files(self.scope, [*memories, *copies], search.words)
        cleaned, at = files.history(), self.clock.now()
        with self.store.write(self.scope) as tx:
            if conversation is None:
                done = tx.erase(ids, at=at, reason=REASON, where=where, copies=plan.copies)
            else:
                done = tx.delete_conversation(conversation, at=at, erase=True)
            places = tx.redact(plan.places, at=at, reason=REASON, tokens=plan.tokens)
        for _ in range(LOOKS):  # What came while the plan was made.
            later = search.plan()
            if not later.copies and not later.places:
                break
            with self.store.write(self.scope) as tx:
                if later.copies:
                    tx.erase(later.copies, at=at, reason=REASON)
                places += tx.redact(later.places, at=at, reason=REASON, tokens=later.tokens)
        cleaned += files.lines()  # It changes the store, too: before the wipe.
        left = self.store.get(self.scope, likely)
        return ForgetReceipt.of(
            conversation or done.id,
            done,
            erased=True,
            notes=cleaned,
            places=(*places, *files.prompts()),
            independent=tuple(plan.independent),
            likely=tuple(each for each in left if each not in plan.independent)[:MOST_LIKELY],
            unpurged=self.wipe(),
        )

    def _likely(self, going: Sequence[Record]) -> list[str]:
        """Return what may tell in other words what is erased: its sources, and what is like it.

        By the vectors that are stored: those of the newest records may not be made yet.
        """
        scope = self.scope.whole_user
        found = [source for each in going for source in each.source_ids]
        hashes = [each.content_hash for each in going[:COMPARED]]
        erased = Filter.at_any_time(kinds=MEMORY_KINDS, hashes=hashes)
        vectors = self.store.vectors(scope, self.store.ordinals(scope, erased)) if hashes else {}
        if vectors:
            known = self.store.index_changes(scope, IndexVersion())
            stored = known.vectors.astype(np.float32)
            likeness = (stored @ np.stack(list(vectors.values())).T).max(axis=1)
            best = np.argsort(-likeness)[: MOST_LIKELY + len(vectors)]
            places = [known.ordinals[at] for at in best if likeness[at] >= ALIKE]
            found += [each.id for each in self.store.get(scope, places).values()]
        return list(dict.fromkeys(found))


class _CopySearch:
    """Finds the copies of what goes in everything that a user has."""

    def __init__(
        self,
        eraser: Eraser,
        going: Mapping[str, Record],
        said: Collection[str],
        conversation: str | None,
    ) -> None:
        self._eraser, self._store = eraser, eraser.store
        self._scope = eraser.scope.whole_user
        self._going, self._said = going, frozenset(said)
        self._conversation = conversation
        self._traced: dict[str, frozenset[str]] = {}
        self._saying: defaultdict[str, list[Record]] = defaultdict(list)
        texts: list[str] = []
        insights: list[str] = []
        for each in going.values():
            if each.kind is not Kind.ITEM:  # An application looks after the copies of its own.
                self._saying[each.content].append(each)
                (insights if each.kind is Kind.REFLECTION else texts).append(each.content)
        self.words = ErasedWords(texts, quoting=insights)

    def plan(self) -> ErasurePlan:
        """Return what of all that is there now is a copy, and what stays."""
        plan = ErasurePlan()
        said = [(kept, self._sources(kept)) for kept in self._store.kept_texts(self._scope)]
        found = {kept.place: (kept, sources) for kept, sources in said if sources}
        self._judge_records(plan, found)
        gone = {*self._going, *plan.copies}
        for kept, sources in found.values():
            place, message = kept.place, kept.message
            if place.kind is PlaceKind.RECORD or self._conversation_goes(place):
                continue
            if message is not None and message.record_id in gone:
                continue
            role = "" if message is None else message.role
            if self._is_copy(kept.told, sources, role, place.conversation):
                self._replace(plan, kept)
            elif message is not None and message.record_id is None:
                self._list(plan, message.id, message.content, sources)
        return plan

    def _conversation_goes(self, place: TextPlace) -> bool:
        """Return whether a place goes with its conversation."""
        here = place.kind is PlaceKind.NAME and place.id == self._conversation
        return self._conversation is not None and (here or place.conversation == self._conversation)

    def _sources(self, kept: KeptText) -> list[Record]:
        """Return the records whose texts a text repeats."""
        return [each for text in self.words.repeated_in(kept.told) for each in self._saying[text]]

    def _judge_records(
        self, plan: ErasurePlan, found: Mapping[TextPlace, tuple[KeptText, list[Record]]]
    ) -> None:
        """Plan what becomes of records: what was said first, then what was learned from it."""
        ids = [place.id for place in found if place.kind is PlaceKind.RECORD]
        records = self._store.get(self._scope, [id_ for id_ in ids if id_ not in self._going])
        for record in sorted(records.values(), key=lambda each: each.kind is not Kind.EPISODE):
            told, sources = found[TextPlace(PlaceKind.RECORD, record.id)]
            if record.kind is Kind.EPISODE:
                role = record.source_role or USER
                copied = self._is_copy(told.told, sources, role, record.session_id)
            else:
                copied = self._is_learned(record, sources, plan)
            if not copied:
                self._list(plan, record.id, record.content, sources)
            elif self._goes_whole(record):
                plan.copies.append(record.id)
            else:
                self._replace(plan, told)

    def _goes_whole(self, record: Record) -> bool:
        """Return whether a copy says nothing else. The result of a tool stays, as its call does."""
        alone = self._conversation is None and record.source_role != "tool"
        return alone and self.words.are_all_of(record.content)

    def _is_copy(
        self, text: str, sources: Sequence[Record], role: str, conversation: str | None
    ) -> bool:
        """Return whether what says the same was not said on an occasion of its own."""
        if any(self._is_of_memory(text, source) for source in sources):
            return True
        long = [source for source in sources if is_long(source.content)]
        recalled = self._recalled_into(conversation) if long else frozenset()
        return any(source.id in recalled or self._first_said_by(source) != role for source in long)

    @staticmethod
    def _is_of_memory(text: str, source: Record) -> bool:
        """Return whether memory itself wrote the text: recall, or a tool that names the record."""
        return source.id in text or any(is_line_of(line, source.content) for line in lines(text))

    def _recalled_into(self, conversation: str | None) -> frozenset[str]:
        """Return which records had been recalled into a conversation before any were erased."""
        if conversation is None:
            return frozenset()
        if conversation not in self._traced:
            where = Filter.at_any_time(kinds=tuple(Kind), recalled_in=conversation)
            found = self._store.records(self._scope, where)
            self._traced[conversation] = frozenset(each.id for each in found)
        return self._traced[conversation]

    def _first_said_by(self, source: Record) -> str | None:
        """Return who said a text first: what was learned of a person, that person."""
        if source.kind is Kind.EPISODE:
            return source.source_role or USER
        # Who names a fact means it wherever it was said.
        return None if source.id in self._said and self._conversation is None else USER

    def _is_learned(self, record: Record, sources: Sequence[Record], plan: ErasurePlan) -> bool:
        """Return whether a record was learned from what goes, or says nothing else than it."""
        if record.kind is Kind.ITEM or record.origin in OWN_WORD or not record.source_ids:
            return False
        named = any(each.id in self._said and is_long(each.content) for each in sources)
        if self._conversation is not None or not named:
            return False
        gone = {*self._going, *plan.copies, *(place.id for place in plan.places)}
        return self.words.are_all_of(record.content) or gone.issuperset(record.source_ids)

    def _list(self, plan: ErasurePlan, id_: str, content: str, sources: Sequence[Record]) -> None:
        """List what stays; what only has some words of a short text is left alone."""
        if any(is_long(each.content) for each in sources) or self.words.are_all_of(content):
            plan.independent.append(id_)

    def _replace(self, plan: ErasurePlan, kept: KeptText) -> None:
        plan.places.append(kept.place)
        if kept.message is not None:
            erased = erase_message(kept.message)
            plan.tokens[erased.id] = self._eraser.count_tokens(kept.model, erased)

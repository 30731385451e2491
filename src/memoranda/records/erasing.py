"""Erases records with all their copies: what a copy is, stands here and nowhere else (law 7).

A copy is found by where it came from: what memory itself wrote (a line of recall, the result of a
tool that names the record), and what was said in a conversation into which the record had been
recalled. And it is found by its text: the same words, or those of one sentence, from five on.

What says the same on its own stays, and is listed: what somebody asked to remember, what an
application keeps, and what one speaker says on several occasions, of which another one is erased.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from memoranda.model.clock import Clock
from memoranda.model.erasure import KeptText, TextCut
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
from memoranda.text.erased import (
    ErasedPassage,
    ErasedTexts,
    cut_message,
    cut_out,
    says_nothing,
    texts_of,
)

REASON = "erased on request"
USER = "user"
# Origins of what stands on somebody's own word, whatever it cites.
OWN_WORD = frozenset({"api", "tool", "notes"})
# What others may write meanwhile is looked for again so often.
LOOKS = 3
# Records of which others that are alike are looked for, the cosine from which they are, and how
# many are told.
COMPARED, ALIKE, MOST_LIKELY = 100, 0.6, 10


class NotesEraser(Protocol):
    """Takes erased text out of the notes: of the history before, of MEMORY.md after the store."""

    def history(self) -> int:
        """Rewrite history entries; return how many changed."""

    def lines(self) -> int:
        """Remove lines of MEMORY.md; return how many."""


class ErasedFiles(Protocol):
    """Cleans what is no part of the store, and searches all files for what was erased."""

    def clean(self, texts: ErasedTexts | None) -> list[TextPlace]:
        """Cut erased text (``None``: all of it) out of files beside the store; say where it was."""

    def wipe(self, texts: ErasedTexts, staying: Sequence[str]) -> str | None:
        """Clear caches and free space, and search the files; say why it is not all gone.

        Args:
            texts: what was erased.
            staying: what says the same and stays: it may be in the files.
        """


class TextOrigin(NamedTuple):
    """Who said a text, and where: by this what one says again is told from a copy.

    Attributes:
        role: who said it.
        conversation: where, if it was in one.
    """

    role: str
    conversation: str | None


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What goes, what is cut out and what stays.

    Attributes:
        copies: ids of records that go as they say the same.
        cuts: what is cut out of what stays.
        independent: text of what says the same and stays, by the id of the record or message.
    """

    copies: list[str] = field(default_factory=list)
    cuts: list[TextCut] = field(default_factory=list)
    independent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases records, conversations and their copies for one scope.

    Attributes:
        scope: whose they are.
        store: where they are.
        clock: where the time comes from.
        erase_from_notes: makes what erases records from the notes of a scope.
        files: cleans and searches the files.
        count_tokens: measures a message for a model.
    """

    scope: Scope
    store: Store
    clock: Clock
    erase_from_notes: Callable[[Scope, Sequence[Record]], NotesEraser]
    files: ErasedFiles
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
        texts = texts_of_records(memories)
        search = _CopySearch(self, going, said, texts, conversation)
        plan = search.plan()
        copies = self.store.get(self.scope.whole_user, plan.copies)
        likely = self._likely(memories)
        notes = self.erase_from_notes(self.scope, [*memories, *copies.values()])
        cleaned = notes.history()
        at = self.clock.now()
        with self.store.write(self.scope) as tx:
            if conversation is None:
                done = tx.erase(ids, at=at, reason=REASON, where=where, copies=plan.copies)
            else:
                done = tx.delete_conversation(conversation, at=at, erase=True)
            places = list(tx.redact(plan.cuts, at=at, reason=REASON))
        for _ in range(LOOKS):  # What came while the plan was made.
            later = search.plan()
            if not later.copies and not later.cuts:
                break
            with self.store.write(self.scope) as tx:
                if later.copies:
                    tx.erase(later.copies, at=self.clock.now(), reason=REASON)
                places += tx.redact(later.cuts, at=self.clock.now(), reason=REASON)
        cleaned += notes.lines()  # It changes the store, too: before the wipe.
        left = self.store.get(self.scope, likely)
        return ForgetReceipt.of(
            conversation or done.id,
            done,
            erased=True,
            notes=cleaned,
            places=(*places, *self.files.clean(texts)),
            independent=tuple(plan.independent),
            likely=tuple(each for each in left if each not in plan.independent)[:MOST_LIKELY],
            unpurged=self.files.wipe(texts, list(plan.independent.values())),
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
            likeness = (known.vectors @ np.stack(list(vectors.values())).T).max(axis=1)
            best = np.argsort(-likeness)[: MOST_LIKELY + len(vectors)]
            places = [known.ordinals[at] for at in best if likeness[at] >= ALIKE]
            found += [each.id for each in self.store.get(scope, places).values()]
        return list(dict.fromkeys(found))


def texts_of_records(records: Iterable[Record]) -> ErasedTexts:
    """Return the texts of records that are erased; the sentences of an insight are of others."""
    told = {each.id: each for each in records}
    quoting = [each.id for each in told.values() if each.kind is Kind.REFLECTION]
    return ErasedTexts({id_: each.content for id_, each in told.items()}, quoting=quoting)


class _CopySearch:
    """Finds the copies of what goes in everything that a user has."""

    def __init__(
        self,
        eraser: Eraser,
        going: Mapping[str, Record],
        said: Collection[str],
        texts: ErasedTexts,
        conversation: str | None,
    ) -> None:
        self._eraser, self._store = eraser, eraser.store
        self._scope = eraser.scope.whole_user
        self._going, self._said, self._texts = going, frozenset(said), texts
        self._conversation = conversation
        self._traced: dict[str, frozenset[str]] = {}

    def plan(self) -> ErasurePlan:
        """Return what of all that is there now is a copy, and what stays."""
        plan = ErasurePlan()
        self._read_records(plan)
        self._read_texts(plan, {*self._going, *plan.copies})
        return plan

    def _recalled_into(self, conversation: str | None) -> frozenset[str]:
        """Return which records had been recalled into a conversation before any were erased."""
        if conversation is None:
            return frozenset()
        if conversation not in self._traced:
            where = Filter.at_any_time(kinds=tuple(Kind), recalled_in=conversation)
            found = self._store.records(self._scope, where)
            self._traced[conversation] = frozenset(each.id for each in found)
        return self._traced[conversation]

    def _is_copy(self, found: ErasedPassage, speaker: TextOrigin) -> bool:
        """Return whether what says the same was not said on an occasion of its own."""
        if found.short:
            return False
        if found.recalled or not found.sources.isdisjoint(
            self._recalled_into(speaker.conversation)
        ):
            return True
        return any(self._first_said_by(source) != speaker.role for source in found.sources)

    def _first_said_by(self, source: str) -> str | None:
        """Return who said a text first: what was learned of a person, that person."""
        record = self._going[source]
        if record.kind is Kind.EPISODE:
            return record.source_role or USER
        # Who names a fact means it wherever it was said.
        return None if source in self._said and self._conversation is None else USER

    def _read_records(self, plan: ErasurePlan) -> None:
        everything = Filter.at_any_time(kinds=tuple(Kind))
        ordinals = self._store.ordinals(self._scope, everything)
        told = self._store.texts(self._scope, ordinals)
        hits = {key: found for key, text in told.items() if (found := self._texts.find(text))}
        records = self._store.get(self._scope, list(hits))
        for key, record in records.items():
            if record.id in self._going:
                continue
            found = hits[key]
            if record.kind is Kind.EPISODE:
                speaker = TextOrigin(record.source_role or USER, record.session_id)
                copied = [each for each in found if self._is_copy(each, speaker)]
            else:
                learned = record.source_ids and record.origin not in OWN_WORD
                here = self._conversation is None and record.kind is not Kind.ITEM
                copied = [
                    each
                    for each in found
                    if learned and here and not each.short and each.sources & self._said
                ]
            self._decide(plan, record, found, copied)

    def _decide(
        self,
        plan: ErasurePlan,
        record: Record,
        found: Sequence[ErasedPassage],
        copied: Sequence[ErasedPassage],
    ) -> None:
        pieces = tuple(each.piece for each in copied)
        if len(copied) < len(found):
            plan.independent[record.id] = record.content
        if not pieces:
            return
        left = cut_out(record.content, pieces)
        # The result of a tool stays, as its call does.
        if says_nothing(left) and self._conversation is None and record.source_role != "tool":
            plan.copies.append(record.id)
        else:
            plan.cuts.append(TextCut(TextPlace(PlaceKind.RECORD, record.id), pieces))

    def _read_texts(self, plan: ErasurePlan, gone: set[str]) -> None:
        every = self._store.kept_texts(self._scope)
        names = {kept.place.id for kept in every if kept.place.kind is PlaceKind.NAME}
        for kept in every:
            ending = self._conversation in {kept.place.conversation, kept.place.id}
            if ending and self._conversation is not None:
                continue  # It goes whole.
            if kept.message is None or kept.message.record_id not in gone:
                self._read_text(plan, kept, names)

    def _read_text(self, plan: ErasurePlan, kept: KeptText, names: set[str]) -> None:
        place, message = kept.place, kept.message
        parts: Iterable[str] = texts_of(message) if message is not None else (kept.text,)
        found = [each for part in parts for each in self._texts.find(part)]
        if not found:
            return
        speaker = TextOrigin(message.role if message is not None else "", place.conversation)
        copied = [each for each in found if self._is_copy(each, speaker)]
        if message is not None and len(copied) < len(found) and message.record_id is None:
            plan.independent[message.id] = message.content
        if not copied:
            return
        pieces = tuple(dict.fromkeys(each.piece for each in copied))
        name = None
        if place.kind is PlaceKind.NAME:
            name = _free_name(cut_out(place.id, pieces), names)
            names.add(name)
        tokens = None
        if message is not None:
            tokens = self._eraser.count_tokens(kept.model, cut_message(message, pieces))
        plan.cuts.append(TextCut(place, pieces, name, tokens))


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that no other conversation has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free

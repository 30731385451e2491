"""What the ten tools of memory do; ``definitions`` beside this says how they are described."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from memoranda.conversation.conversation import Conversation
from memoranda.errors import InvalidInput, NotFound
from memoranda.facts.requests import INSTRUCTIONS, asks_to_keep
from memoranda.learning.exclusions import is_order
from memoranda.learning.llm.claim_checking import says_no_more
from memoranda.learning.proposals import plan_proposal
from memoranda.model.checks import clean, json_text, parse_moment
from memoranda.model.models import MEMORY_KINDS, Entity, Kind, Message, Record, Trust
from memoranda.model.ports import RecallRequest
from memoranda.model.query import Filter
from memoranda.model.reports import MemoryStats
from memoranda.notes.sync import SyncedNotes
from memoranda.records.drafts import (
    Draft,
    RecordFilters,
    SecretPolicy,
    admit_draft,
    admit_text,
    draft_correction,
    metadata_statements,
    parse_filters,
)
from memoranda.records.service import RecordService
from memoranda.search.recall import RecallService, fenced, remembered
from memoranda.text.recalled import NOTHING, without_recalled
from memoranda.tools.definitions import DEFINITIONS
from memoranda.tools.tool import Tool, ToolList, ToolOutput, call_checked, read_text

ROLE = "agent"
ORIGIN = "tool"
LINKED = 10  # records of an entity that are shown
# Newest messages among which the user's is looked for: an answer may take several calls.
ROUND = 30
# Characters of the metadata of one memory, as JSON.
LONGEST_METADATA = 4_000
# Characters of what one expansion, or one search of the history, gives back.
LONGEST = 6_000
# Characters of what was stored that its receipt repeats.
LONGEST_SHOWN = 200

SearchedType = Literal["conversation", "fact", "context", "episode", "reflection"]
Limit = Annotated[int, Field(ge=1, le=50)]
Budget = Annotated[int, Field(ge=100, le=20_000)]
Content = Annotated[str, Field(max_length=20_000)]
Tags = Annotated[Sequence[str], BeforeValidator(read_text)]
Metadata = Annotated[dict[str, Any], BeforeValidator(read_text)]


@dataclass(frozen=True, slots=True)
class AgentTools:
    """Does what a model calls for, in the memory of one user.

    A model is shown no secrets, and what it stores is its own word and never a person's.

    Attributes:
        records: changes the records of the user.
        searcher: finds them.
        figures: gives the figures of the memory.
        entity: gives the profile of an entity.
        notes: opens the notes with the history.
        conversation: opens a conversation to be read; the present one without an id.
        secrets: what becomes of secrets that a model would store.
        decay_rate: how fast a fact fades, per day, that the user did not ask to be kept.
        approve: whether such a fact waits until a person keeps it.
    """

    records: RecordService
    searcher: RecallService
    figures: Callable[[], MemoryStats]
    entity: Callable[[str], Entity | None]
    notes: Callable[[], SyncedNotes]
    conversation: Callable[[str | None], Conversation]
    secrets: SecretPolicy
    decay_rate: float
    approve: bool = False

    def tools(self) -> ToolList[Tool]:
        """Return the tools as functions that return texts."""
        return ToolList(
            Tool(each.name, each.description, each.parameters, getattr(self, each.name))
            for each in DEFINITIONS.values()
        )

    def run(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Do what the tool ``name`` does.

        Raises:
            InvalidInput, NotFound: an argument cannot be used.
        """
        return cast("ToolOutput", call_checked(getattr(self, name), arguments))

    def search_memories(
        self,
        *,
        query: str,
        memory_type: SearchedType | None = None,
        limit: Limit = 5,
        tags: Tags | None = None,
        metadata: Metadata | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> ToolOutput:
        """Return the hits, which count as recalled; the text also has the facts of found turns.

        Dates are in ISO 8601; one without a zone is in the user's.
        """
        filters = RecordFilters(
            kind=memory_type,
            tags=tags,
            metadata=metadata,
            since=self._parse_moment(since, "since"),
            until=self._parse_moment(until, "until"),
        )
        where = parse_filters(self.records.now(), (), filters)
        hits, facts = self.searcher.search_for_model(clean(query, "query"), where, limit=limit)
        self.searcher.record_access(hits, facts, where)
        # A turn has no id to correct or confirm by; the facts that were drawn from it have.
        shown = [record for hit in hits for record in (hit.record, *facts.get(hit.record.id, ()))]
        lines = list_records(self.searcher, {record.id: record for record in shown}.values())
        return ToolOutput(hits, fenced(lines) if lines else NOTHING)

    def store_memory(
        self,
        *,
        content: Content,
        memory_type: Literal["conversation", "fact", "context"] = "fact",
        metadata: Metadata | None = None,
        tags: Tags = (),
        valid_until: str | None = None,
    ) -> ToolOutput:
        """Keep ``content``; a fact that is known is not kept twice.

        One whose metadata says more than the known one's is a fact of its own. It fades, unless
        the user's newest message asks to keep something.

        Raises:
            InvalidInput: it may not be kept: a secret, an order, what memory itself had told.
        """
        if len(json_text(metadata or {}, "metadata")) > LONGEST_METADATA:
            raise InvalidInput("metadata has too many characters; put what is long into content")
        text, asking = self._new(content, metadata), self._request()
        is_fact = memory_type == "fact"
        is_plain, fades = is_fact and not (metadata or valid_until), is_fact and asking is None
        for kept in self._kept_of(asking) if is_plain else ():
            if says_no_more(text, f"{kept.content} {self.records.scope.user}"):
                return ToolOutput(kept, f"Known already as {kept.id}.")
        draft = Draft(
            content=text,
            kind=memory_type,
            metadata=metadata,
            tags=tags,
            valid_until=self._parse_moment(valid_until, "valid_until"),
            role=ROLE,
            origin=ORIGIN,
            decay_rate=self.decay_rate if fades else 0.0,
        )
        draft = admit_draft(draft, self.secrets)
        if self.approve and fades:
            insert = plan_proposal(self.records, draft)
        else:
            insert = self.records.plan(draft, unless_known=True)
        stored = self.records.apply([insert])[0]
        if stored.id != insert.record.id:
            return ToolOutput(stored, f"Known already as {stored.id}.")
        shown = shorten(self.searcher.show(stored).content, LONGEST_SHOWN, placeholder="…")
        done = "Waits for the user's approval" if insert.is_proposal else "Remembered"
        return ToolOutput(stored, f"{done}: {shown} ({stored.id})")

    def _parse_moment(self, text: str | None, name: str) -> datetime | None:
        """Return a time in ISO 8601; one without a zone is in the user's."""
        return None if text is None else parse_moment(text, name, self.searcher.zone)

    def _request(self) -> Message | None:
        """Return the user's newest message, if it asks to keep something."""
        try:
            recent = self.conversation(None).recent(ROUND)
        except NotFound:
            return None
        said = [each for each in recent if each.role == "user"][-1:]
        return next((each for each in said if asks_to_keep(each.content)), None)

    def _kept_of(self, message: Message | None) -> Sequence[Record]:
        """Return the facts that were kept of a message."""
        if message is None or message.record_id is None:
            return ()
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,), citing=[message.record_id])
        return self.records.store.records(self.records.scope, where, limit=LINKED)

    def forget_memory(self, *, memory_id: str) -> ToolOutput:
        """Forget a record; the value is the receipt, ``None`` if there was no record.

        Raises:
            InvalidInput: it is a lasting instruction of the user.
        """
        found = self.records.find(clean(memory_id, "memory_id"))
        if found is None:
            return ToolOutput(None, f"There is no memory {memory_id!r:.80}.")
        spare_instruction(found)
        return ToolOutput(self.records.forget([found.id]), f"Forgotten: {found.id}.")

    def recall_context(self, *, query: str, budget: Budget = 1_000) -> ToolOutput:
        """Return what matters for a question as a fenced block."""
        found = self.searcher.recall(RecallRequest(query, budget), Filter(now=self.records.now()))
        return ToolOutput(found, found.text or NOTHING)

    def correct_fact(self, *, memory_id: str, content: Content) -> ToolOutput:
        """Return the fact that takes the place of the fact ``memory_id``, or would.

        Raises:
            NotFound: there is no such fact.
            InvalidInput: it is no longer believed, ``content`` may not be kept, or says the same;
                or it is a lasting instruction, which no words of the agent's end.
        """
        old, text = self._active_fact(memory_id), self._new(content)
        spare_instruction(old)
        if text == old.content:
            # It would only put the agent's word in the place of a person's.
            raise InvalidInput(f"{old.id} says just that already; there is nothing to correct")
        # The agent's own word, whoever's the old one was: it is no evidence of what a person said.
        draft = draft_correction(old, text)
        draft |= {"role": ROLE, "origin": ORIGIN, "source_ids": ()}
        if self.approve:
            made = self.records.apply([plan_proposal(self.records, draft)])[0]
            return ToolOutput(made, f"{made.id} waits for the user's approval; {old.id} holds.")
        made = self.records.correct(old, draft)
        return ToolOutput(made, f"Corrected: {made.id} takes the place of {old.id}.")

    def confirm_fact(self, *, memory_id: str) -> ToolOutput:
        """Return the fact ``memory_id``, which never fades from now on.

        Raises:
            NotFound: there is no such fact.
            InvalidInput: it is no longer believed.
        """
        done = self.records.confirm(self._active_fact(memory_id).id)
        return ToolOutput(self.searcher.show(done), f"Confirmed: {done.id} never fades.")

    def _new(self, content: str, metadata: object = None) -> str:
        """Return ``content`` if it may be kept, and is not what memory itself had told."""
        text = admit_text(clean(content, "content"), self.secrets)
        if any(map(is_order, (text, *metadata_statements(metadata)))):
            raise InvalidInput("content is an order to the assistant and no fact; it is not kept")
        if without_recalled(text) != text:
            raise InvalidInput("content holds what memory had told; store only what is new")
        return text

    def _active_fact(self, id: str) -> Record:
        """Return a fact that is believed: turns and insights are not the agent's to change."""
        return self.records.require_active(find_fact(self.records, id))

    def memory_stats(self) -> ToolOutput:
        """Return figures: counts by kind, and when something was last recorded."""
        stats, zone = self.figures(), self.searcher.zone
        # What an application keeps is nothing that a model can ask for.
        shown: dict[str, int] = {kind: stats.records[kind] for kind in MEMORY_KINDS}
        counts = ", ".join(f"{number} {kind}" for kind, number in shown.items())
        when = f"{stats.newest.astimezone(zone):%Y-%m-%d %H:%M}" if stats.newest else "never"
        text = f"{counts}; {stats.conversations} conversations; last recorded {when}"
        return ToolOutput(replace(stats, records=shown), text)

    def get_entity_info(self, *, name: str) -> ToolOutput:
        """Return the profile of an entity, facts first and without insights; ``None`` of none."""
        entity = self.entity(name)
        if entity is None:
            return ToolOutput(None, f"Nothing is known of {name!r:.80}.")
        also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
        head = f"{entity.name} ({entity.type}{also}); in {entity.mention_count} records"
        summary = entity.summary and self.searcher.show_text(entity.summary)
        shown = [item for item in entity.records if item.kind is not Kind.REFLECTION]
        shown.sort(key=lambda item: item.kind is not Kind.FACT)
        masked = replace(entity, summary=summary, records=tuple(map(self.searcher.show, shown)))
        lines = [head, *filter(None, [summary]), *list_records(self.searcher, shown[:LINKED])]
        return ToolOutput(masked, fenced(lines))

    def search_history(self, *, query: str, limit: Limit = 5) -> ToolOutput:
        """Return the entries of the history that have all words of ``query``, newest first."""
        notes, words = self.notes(), clean(query, "query").split()
        having = [set(notes.search(word)) for word in words[1:]]
        found = [entry for entry in notes.search(words[0]) if all(entry in one for one in having)]
        entries = [replace(each, text=self.searcher.show_text(each.text)) for each in found[:limit]]
        return ToolOutput(entries, _fenced_in_part([each.text for each in entries]))

    def expand_messages(self, *, marker: str, session: str | None = None) -> ToolOutput:
        """Return the messages that a marker stands for.

        Raises:
            NotFound: there is no such conversation, or no message of it is there.
            InvalidInput: it names no part of a conversation.
        """
        show = self.searcher.show_text
        found = self.conversation(session).expand(marker)
        messages = [replace(each, content=show(each.content)) for each in found]
        lines = [f"{each.role}: {' '.join(each.content.split())}" for each in messages]
        return ToolOutput(messages, _fenced_in_part(lines))


def list_records(searcher: RecallService, records: Iterable[Record]) -> list[str]:
    """Return what a model is shown of records, a line each: its id, and no secrets."""
    return [remembered(searcher.show(each), searcher.zone, id=True) for each in records]


def _fenced_in_part(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return fenced([f"{text[:LONGEST]}…" if len(text) > LONGEST else text]) if lines else NOTHING


def spare_instruction(record: Record) -> None:
    """Refuse to end a lasting instruction of a person, which no call of a model's does.

    What the person says takes it back: "forget the rule about bullet points".
    """
    if record.attribute in INSTRUCTIONS and record.trust is Trust.PERSON:
        raise InvalidInput(f"{record.id} is what the user wants: only the user changes it")


def find_fact(records: RecordService, id: str) -> Record:
    """Return the fact ``id`` of the scope of ``records``.

    Raises:
        NotFound: there is none.
    """
    found = records.store.get(records.scope, [clean(id, "id")]).get(id)
    if found is None or found.kind is not Kind.FACT:
        raise NotFound(f"there is no fact {id!r:.80}; take an id that begins with fact_")
    return found

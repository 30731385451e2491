"""The stored conversations of one user: opened to be gone on with, listed, and looked at.

An agent that opens a conversation may start it, or start a session in it. A person who looks
does neither: only what exists is opened, and without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Unpack

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ConversationStats
from memoranda.conversation.markers import reference
from memoranda.conversation.pruning import ConversationServices, check_limits
from memoranda.conversation.transcript import ReadOnlyTranscript, Transcript
from memoranda.errors import NotFound
from memoranda.model.checks import clean, nearest
from memoranda.model.clock import IdFactory
from memoranda.model.models import (
    ConversationInfo,
    ForgetReceipt,
    Kind,
    Message,
    Recall,
    Record,
    Scope,
)
from memoranda.model.ports import ConversationOptions
from memoranda.model.query import Filter
from memoranda.model.reports import RequestReceipt
from memoranda.records.service import RecordService
from memoranda.settings.sections import ConversationSettings
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.catalog import Catalog

NEARBY = 3  # ids that are named where one is not found
ALIKE = 0.5
POSITION = compile_pattern(r"#?(\d{1,15})")
SPAN = compile_pattern(r"#?(\d{1,15})(?:-#?(\d{1,15}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOverview:
    """A stored conversation in one line.

    Attributes:
        id: its name.
        created_at: when it was first opened.
        ended_at: when it was ended, if it was.
        model: the model it is held with.
        system: the system prompt.
        messages: how many messages the transcript holds.
        last_message: when the newest was said.
        stats: its view in figures.
    """

    id: str
    created_at: datetime
    ended_at: datetime | None
    model: str | None
    system: str | None
    messages: int
    last_message: datetime | None
    stats: ConversationStats


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStore:
    """Opens the stored conversations of one user.

    Attributes:
        records: stores the episodes of messages; whose they are, and where they are kept.
        settings: of conversations.
        catalog: what is known of models.
        ids: makes the ids of messages and receipts.
        end_session: called with a scope and the conversation that is finished.
        recall: asks memory for a context, as ``ConversationServices`` says, of the conversation
            named ``session``; of none that is stored, where that is ``None``.
        notes: gives the text of MEMORY.md, where it belongs into contexts.
        requests: carries out what new messages of the conversation of that name ask of memory.
    """

    records: RecordService
    settings: ConversationSettings
    catalog: Catalog
    ids: IdFactory
    end_session: Callable[[Scope, str], None]
    recall: Callable[..., Recall]
    notes: Callable[[], str] | None
    requests: Callable[[str, Sequence[Message]], Sequence[RequestReceipt]]

    def transcript(self, id: str, kind: type[Transcript] = Transcript) -> Transcript:
        """Return the transcript of the conversation ``id``, whether it is there or not."""
        where = self.records.store, self.records.scope, id
        return kind(*where, records=self.records, end_session=self.end_session)

    def infos(self) -> list[ConversationInfo]:
        """Return the stored conversations, the newest first."""
        return list(self.records.store.conversations(self.records.scope).values())

    def open(self, id: str, **options: Unpack[ConversationOptions]) -> Conversation:
        """Open the conversation ``id``, or start it. It goes on where it was left."""
        chosen = check_limits(self.settings, **options)
        transcript = self.transcript(clean(id, "id"))
        other = transcript.open(options, self.records.now())
        own, summarizer = self._services(id), options.get("summarizer")
        services = replace(
            own, notes=self.notes, summarizer=summarizer, requests=partial(self.requests, id)
        )
        return Conversation.over(transcript, chosen, services, other_model=other)

    def unsaved(
        self, id: str = "unsaved", *, system: str | None = None, model: str | None = None
    ) -> Conversation:
        """Return an empty conversation that recalls from memory but is itself not stored.

        So one can look at a context without leaving a trace.

        Raises:
            InvalidInput: the system prompt is no text, or blank.
        """
        given: ConversationOptions = {"system": system, "model": model}
        transcript = Transcript.alone(id, self.records.now(), given)
        services = replace(self._services(None), notes=self.notes)
        return Conversation.over(transcript, check_limits(self.settings), services)

    def open_existing(self, id: str, *, strategy: str | None = None) -> Conversation:
        """Return a conversation that exists, to change it. Opening it changes nothing yet.

        Args:
            id: its name.
            strategy: how its view is chosen; that of the settings, if not given.

        Raises:
            NotFound: there is none of that name; the message names similar ones.
            InvalidInput: there is no such strategy.
        """
        return self._without_session(self._existing(id, Transcript), strategy)

    def open_read_only(self, id: str, *, strategy: str | None = None) -> Conversation:
        """Return a conversation as :meth:`open_existing` does, on which no change is stored.

        What it answers to a change is what the change would do.
        """
        return self._without_session(self._existing(id, ReadOnlyTranscript), strategy)

    def overviews(self, limit: int | None = None) -> list[ConversationOverview]:
        """Return the ``limit`` conversations that were begun last, or all, the newest first."""
        return [self._overview(info) for info in self.infos()[:limit]]

    def _overview(self, info: ConversationInfo) -> ConversationOverview:
        transcript = self.transcript(info.id, ReadOnlyTranscript)
        newest = transcript.messages(last=1, cleared=True)
        return ConversationOverview(
            id=info.id,
            created_at=info.created_at,
            ended_at=info.ended_at,
            model=info.model,
            system=info.system,
            messages=info.messages,
            last_message=newest[0].timestamp if newest else None,
            stats=self._without_session(transcript).stats(),
        )

    def _existing(self, id: str, kind: type[Transcript]) -> Transcript:
        scope = self.records.scope
        if id not in self.records.store.conversations(scope, clean(id, "id")):
            raise self._not_found(id)
        return self.transcript(id, kind)

    def _not_found(self, id: str) -> NotFound:
        near = name_similar(id, [info.id for info in self.infos()])
        user = self.records.scope.user
        return NotFound(f"there is no conversation {id!r} for user {user!r}; {near}")

    def delete(self, id: str, *, erase: bool = False) -> ForgetReceipt:
        """Delete a conversation with its episodes, and what was learned from these alone.

        Raises:
            NotFound: there is none of that name; the message names similar ones.
        """
        records = self.records
        clean(id, "id")
        try:
            if not erase:
                with records.store.write(records.scope) as tx:
                    done = tx.delete_conversation(id, at=records.now(), erase=False)
                receipt = ForgetReceipt.of(id, done, erased=False)
                records.events.emit("forgotten", receipt)
                return receipt
            return records.erase(self._learned(id), conversation=id)
        except NotFound as error:
            raise self._not_found(id) from error

    def _learned(self, id: str) -> list[str]:
        """Return the episodes of a conversation, and what was learned from these alone."""
        store, scope = self.records.store, self.records.scope.whole_user
        said = Filter.at_any_time(kinds=(Kind.EPISODE,), session=id)
        ids = [each.id for each in store.records(scope, said)]
        return [*ids, *store.learned_from(scope, ids)]

    def _without_session(self, transcript: Transcript, strategy: str | None = None) -> Conversation:
        # No session of an agent begins here, whatever the settings say of that.
        settings = self.settings.model_copy(update={"at_session_start": "keep"})
        limits = check_limits(settings, strategy=strategy)
        return Conversation.over(transcript, limits, replace(self._services(None), recall=None))

    def _learned_facts(self, id: str) -> list[Record]:
        """Return the active facts that were learned from a conversation."""
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,), session=id)
        return list(self.records.store.records(self.records.scope, where))

    def _services(self, name: str | None) -> ConversationServices:
        """Return what a conversation works with that memory knows under ``name``."""
        return ConversationServices(
            catalog=self.catalog,
            clock=self.records.clock,
            ids=self.ids,
            recall=partial(self.recall, session=name),
            instructions=self.records.instructions,
            learned=partial(self._learned_facts, name) if name else None,
        )


def message_at(conversation: Conversation, place: str) -> Message:
    """Return the message with the id ``place``, or at the position, as in ``#12`` or ``12``.

    Raises:
        NotFound: there is none since the conversation was last cleared.
    """
    found = POSITION.fullmatch(place.strip())
    position = int(found[1]) if found else None
    messages = conversation.messages
    for message in messages:
        if message.id == place or (position is not None and message.position == position):
            return message
    there = "there are none"
    if messages:
        there = f"they are #{messages[0].position} to #{messages[-1].position}"
    raise NotFound(f"there is no message {place!r} in conversation {conversation.id!r}; {there}")


def expand_place(conversation: Conversation, place: str) -> tuple[Message, ...]:
    """Return the messages of a marker (``cut_12-26``) or of positions (``12-26``, ``#12``).

    Raises:
        InvalidInput: it names no part of a conversation.
        NotFound: no message of this conversation is there.
    """
    found = SPAN.fullmatch(place.strip())
    if found is None:
        return conversation.expand(place)
    return conversation.expand(reference(int(found[1]), int(found[2] or found[1])))


def name_similar(id: str, known: Sequence[str]) -> str:
    """Return which of the names that are known ``id`` may have meant, as the end of a message."""
    folded = id.casefold()
    alike = [each for each in known if folded in each.casefold()]
    alike += nearest(id, known, most=NEARBY, alike=ALIKE)
    names = list(dict.fromkeys(alike))[:NEARBY]
    if names:
        return f"there is {', '.join(map(repr, names))}"
    if known:
        return f"known are {', '.join(map(repr, known[:NEARBY]))}"
    return "there are none yet"

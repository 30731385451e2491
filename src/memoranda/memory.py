"""Memory: the face of memoranda. Each verb plans, applies, and tells the subscribers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.limits import checked
from memoranda.conversation.moment import Asking
from memoranda.conversation.transcripts import StoredTranscript
from memoranda.entities.profiles import profile
from memoranda.errors import InvalidInput, NotFound
from memoranda.maintenance.starting import clean_up
from memoranda.memory_learning import Learning
from memoranda.model.checks import known, limited, named, several
from memoranda.model.clock import Clock
from memoranda.model.events import Callback, Events
from memoranda.model.life import believed
from memoranda.model.models import (
    Change,
    ConversationInfo,
    Entity,
    ForgetReceipt,
    Hit,
    Kind,
    Recall,
    Record,
)
from memoranda.model.ports import Embedder, LanguageModel, Summarizer
from memoranda.model.scope import Scope
from memoranda.model.text import clean
from memoranda.notes.sessions import keep_last_words, learn, notes_erasure
from memoranda.notes.sync import SyncedNotes
from memoranda.parts import Parts
from memoranda.records import revise
from memoranda.records.ingest import Draft, parse_kind, parse_metadata, parse_tags
from memoranda.search.recalling import recalled
from memoranda.settings.settings import Settings
from memoranda.tools import Tool
from memoranda.tools.agent import AgentTools
from memoranda.transfer import porting
from memoranda.transfer.formats import located

CONTEXT_KEY = "context_key"


class Memory(Learning):
    """The memory of one user: conversations, facts and everything said, in one place.

    Args:
        location: a file, or ``:memory:``; ``None`` is the setting ``location``, or
            ``memory.db`` in the user's data folder.
        user: whose memory it is. Nothing of one user is visible to another.
        agent: which of the user's agents; it sees its own records and those of no agent.
        settings: all else that can be set; by default from file and environment.
        embedder: a model of your own in place of the configured one.
        llm: a language model of your own, or the name of one, in place of the configured one.
        clock: where the time comes from.

    Raises:
        ConfigError: a setting or the location cannot be used.
        StoreError: the store cannot be opened; what is there was left as it is.

    A memory is thread-safe. Close it, or use it in a ``with`` statement.
    """

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        agent: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open the store, making it if it is not there. Loads no model yet."""
        self._scope = Scope(clean(user, "user"), named(agent, "agent"))
        parts = Parts.wired(location, settings, embedder=embedder, llm=llm, clock=clock)
        self._parts = replace(parts, learn=learn, unfinished=keep_last_words)
        self._owner = True
        if self.settings.schedule.expire_at_start:
            clean_up(self)

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the memory."""
        self.close()

    def close(self) -> None:
        """Stop the background work and release the store. Nothing is lost; twice is harmless.

        Records that still wait for their vectors get them when the memory is next searched.
        """
        if self._owner:
            self._parts.close()

    def as_user(self, user: str, *, agent: str | None = None) -> Memory:
        """Return the memory of another user in the same store, sharing its parts.

        Only the subscribers of :meth:`on` are its own: what happens to the memory of one
        user is no business of those who listen to another's.
        """
        other = object.__new__(Memory)
        other._scope = Scope(clean(user, "user"), named(agent, "agent"))
        other._parts = replace(self._parts, events=Events())
        other._owner = False
        return other

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self._scope.user

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._parts.settings

    def users(self) -> list[str]:
        """Return every user of the store. For its administration, not for agents."""
        return self._parts.store.users()

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: remembered, corrected or forgotten.

        A callback that fails is logged and harms nobody.
        """
        self._parts.events.on(event, callback)

    # Writing

    def remember(
        self,
        content: str,
        *,
        kind: str = "fact",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        event_time: datetime | None = None,
        session: str | None = None,
        role: str | None = None,
        confidence: float = 1.0,
        decay_rate: float | None = None,
    ) -> Record:
        """Store one record and return it. Waits for no model.

        Args:
            content: the text, stored exactly as it is.
            kind: ``fact``, ``episode`` (or ``conversation``), ``context``, ``reflection``.
            tags: labels to filter by.
            metadata: any JSON to keep with it.
            event_time: when it happened, with its time zone; now, if not given.
            session, role: the conversation it belongs to, and who said it.
            confidence: how far it is believed, 0 to 1.
            decay_rate: how fast it fades, per day; 0 is never.

        Raises:
            InvalidInput: a value cannot be stored; the message says which and why.
        """
        draft = Draft(
            content=content,
            kind=kind,
            tags=tags,
            metadata=metadata,
            event_time=event_time,
            session=session,
            role=role,
            confidence=confidence,
            decay_rate=decay_rate,
        )
        return self._parts.stored(self._scope, [self._parts.ingest.plan(self._scope, draft)])[0]

    def remember_many(self, items: Iterable[str | Mapping[str, Any]]) -> list[Record]:
        """Store many records in one transaction: all of them, or none.

        Args:
            items: texts, or dicts of the arguments of :meth:`remember`.

        Raises:
            InvalidInput: an item cannot be stored; the message says which.
        """
        plan = []
        for place, item in enumerate(several(items, "items")):
            draft = porting.draft(item, place)
            with located(f"item {place}"):
                plan.append(self._parts.ingest.plan(self._scope, draft))
        return self._parts.stored(self._scope, plan)

    def correct(self, id: str, content: str) -> Record:
        """Replace what a record says; return the record that supersedes it.

        The old one is kept for :meth:`history` and ``as_of``, and no longer found.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it is no longer believed, or the new text cannot be stored.
        """
        old = self._active(id)
        return self._parts.corrected(self._scope, old, revise.correction(old, content))

    def confirm(self, id: str) -> Record:
        """Believe a record fully and for ever; return it.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it was superseded or forgotten.
        """
        record = self._active(id)
        if record.superseded_by is not None:
            message = f"{id} is superseded: {record.superseded_by} took its place; forget that one"
            raise InvalidInput(message)
        self._parts.store.apply(self._scope, revise.confirm(record, self._parts.now()))
        return self._existing(id)

    def forget(self, id: str, *, erase: bool = False) -> ForgetReceipt:
        """Stop believing a record, or remove every trace of it.

        Args:
            id: the record.
            erase: remove its text for good: from the store, its indexes, the transcript,
                its history and the free pages of the file; with what it had replaced, exact
                copies and all that was derived. Takes longer the larger the file is.

        Raises:
            NotFound: there is no such record.
        """
        record = self._existing(id)
        if not erase:
            if believed(record, self._parts.now()):
                self._parts.store.apply(self._scope, revise.forget(record, self._parts.now()))
            receipt = ForgetReceipt(id=id, erased=False)
        else:
            receipt = self._erase(id)
        self._parts.events.emit("forgotten", receipt)
        return receipt

    def _erase(self, id: str) -> ForgetReceipt:
        store, scope = self._parts.store, self._scope
        versions = store.versions(scope, [id])
        copies = store.copies(scope, [id, *versions])
        derived = store.derived(scope, [id, *versions, *copies])
        every = [id, *versions, *copies, *derived]
        messages = store.quoting(scope, every)
        cleaning = notes_erasure(self._parts, scope, store.get_many(scope, every))
        entries = cleaning.history()
        store.apply(scope, revise.erase(id, self._parts.now()))
        lines = cleaning.lines()  # It changes the store, too: before the wipe.
        return ForgetReceipt(
            id=id,
            erased=True,
            versions=tuple(versions),
            copies=tuple(copies),
            derived=tuple(derived),
            messages=messages,
            purged=self._parts.wipe(),
            notes=entries + lines,
        )

    def set_context(self, key: str, value: str) -> Record:
        """Keep ``value`` under ``key`` until the day ends in the user's time zone (seed 001)."""
        clean(key, "key")
        draft = Draft(content=clean(value, "value"), kind=Kind.CONTEXT, metadata={CONTEXT_KEY: key})
        new = self._parts.ingest.plan(self._scope, draft)
        closings = [
            action
            for old in self._contexts(key)
            for action in revise.replace(old, new.record, self._parts.now())
        ]
        self._parts.store.apply(self._scope, [new, *closings])
        return self._parts.announce(self._scope, [new])[0]

    def get_context(self, key: str) -> str | None:
        """Return the newest value of ``key``, ``None`` if there is none or its day is over."""
        found = self._contexts(clean(key, "key"))
        return found[-1].content if found else None

    def _contexts(self, key: str) -> list[Record]:
        where = self._where(kinds=(Kind.CONTEXT,), metadata={CONTEXT_KEY: key})
        return self._parts.store.page(self._scope, where, limit=1_000, after=None)

    # Finding

    def search(
        self,
        query: str,
        *,
        kind: str | None = None,
        limit: int = 5,
        min_score: float | None = None,
        session: str | None = None,
        exclude_session: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
    ) -> list[Hit]:
        """Return the records that best answer ``query``, best first, each with its reasons.

        Args:
            query: a question or words, in any language; no query syntax.
            kind, session, exclude_session: only of this kind, of this session, not of that.
            limit, min_score: how many at most, and none with a lower score (0 to 1); the setting
                ``retrieval.min_score``, if not given.
            tags, metadata: only records that have all of these.
            since, until, as_of: what happened in this time, or was believed at that moment.

        Raises:
            InvalidInput: one of these cannot be used.
        """
        where = self._where(
            kinds=() if kind is None else (parse_kind(kind),),
            session=named(session, "session"),
            exclude_session=named(exclude_session, "exclude_session"),
            tags=() if tags is None else parse_tags(tags),
            metadata=parse_metadata(metadata),
            since=known(since, "since"),
            until=known(until, "until"),
            as_of=known(as_of, "as_of"),
        )
        text, least = clean(query, "query"), self._parts.least(min_score)
        return self._parts.found(self._scope, text, where, limit=limit, min_score=least)

    def recall(
        self, prompt: str, *, budget: int = 1_000, exclude_session: str | None = None
    ) -> Recall:
        """Return what memory has for ``prompt``, as a Markdown block of ``budget`` tokens at most.

        What is recalled counts as accessed, which keeps it from fading.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        other = named(exclude_session, "exclude_session")
        return recalled(
            self._parts, self._scope, prompt, budget, self._where(exclude_session=other)
        )

    def get(self, id: str) -> Record | None:
        """Return a record, active or not; ``None`` if there is none, or it is another user's."""
        return self._parts.store.get(self._scope, clean(id, "id"))

    def records(
        self,
        *,
        kind: str | None = None,
        session: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[Record]:
        """Return a page of active records in the order they were recorded.

        Args:
            kind: only of this kind.
            session: only of this session.
            limit: how many at most.
            after: the id of the last record of the page before.

        Raises:
            NotFound: ``after`` is no record of this user.
            InvalidInput: an argument cannot be used.
        """
        where = self._where(
            kinds=() if kind is None else (parse_kind(kind),), session=named(session, "session")
        )
        return self._parts.store.page(
            self._scope, where, limit=limited(limit, "limit"), after=named(after, "after")
        )

    def history(self, id: str) -> list[Change]:
        """Return what was done to a record, oldest first; empty if nothing is known of it."""
        return self._parts.store.history(self._scope, clean(id, "id"))

    def entity(self, name: str) -> Entity | None:
        """Return the person, place or thing of that name or alias, with records about it."""
        found = self._parts.store.entity(self._scope, clean(name, "name"), self._where())
        return None if found is None else profile(found)

    def entities(self, *, type: str | None = None, limit: int = 100) -> list[Entity]:
        """Return what records speak of, most mentioned first."""
        return self._parts.store.entities(
            self._scope, self._where(), type=named(type, "type"), limit=limited(limit, "limit")
        )

    # Conversations

    def conversation(
        self,
        id: str,
        *,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        keep_recent: int | None = None,
        strategy: str | None = None,
        summarizer: Summarizer | None = None,
    ) -> Conversation:
        """Open the conversation ``id``, or start it. It goes on where it was left.

        ``id`` is also the session of its episodes. ``system``, ``model`` and ``context_limit``
        are as stored, if not given; all else, and what is raised, as for :class:`Conversation`.
        """
        limits = checked(
            self._parts.settings.conversation,
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
        )
        place = self._parts, self._scope, clean(id, "id")
        transcript, other_model = StoredTranscript.opened(
            *place, system=system, model=model, context_limit=limits.context_limit
        )
        return Conversation.over(
            transcript,
            limits,
            self._parts.talk(),
            recall=partial(self._recall_in_talk, place[2]),
            notes=self._noted(),
            summarizer=summarizer,
            other_model=other_model,
        )

    def _noted(self) -> Callable[[], str] | None:
        """Return what gives MEMORY.md to contexts, where it belongs there."""
        notes = self._parts.notes.find(self._scope)
        wanted = self._parts.settings.notes.in_context
        return notes.context_text if notes is not None and wanted else None

    def _recall_in_talk(self, id: str, asking: Asking) -> Recall:
        return recalled(
            self._parts,
            self._scope,
            asking.question,
            asking.budget,
            self._where(),
            session=id,
            skip=asking.seen,
            counter=asking.counter,
        )

    def conversations(self) -> list[ConversationInfo]:
        """Return the stored conversations, the newest first."""
        return self._parts.store.conversations(self._scope)

    @property
    def notes(self) -> SyncedNotes:
        """The Markdown notes that a person can read and edit: MEMORY.md and the history."""
        return self._parts.notes.open(self._scope)

    def tools(self) -> list[Tool]:
        """Return the six tools by which an agent uses this memory (seed 004).

        Each is called with keyword arguments and returns a text for the model; ``name``,
        ``description`` and ``parameters`` (a JSON schema) describe it, ``openai()`` and
        ``anthropic()`` in the forms of the providers.
        """
        return AgentTools(self, self._parts, self._scope).tools()

    # Parts of the verbs

    def _existing(self, id: str) -> Record:
        record = self.get(id)
        if record is None:
            message = f"there is no record {id!r} for user {self._scope.user!r}"
            raise NotFound(message)
        return record

    def _active(self, id: str) -> Record:
        return self._parts.require_believed(self._existing(id))

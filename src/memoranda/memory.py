"""Memory, the main class of memoranda: it hands each verb to one service.

What is not needed to open, to store and to search is imported by the verb that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, Unpack, cast

from memoranda.errors import InvalidInput, NotFound
from memoranda.learning.consolidation_queue import ConsolidationRequest
from memoranda.model import checks
from memoranda.model.clock import Clock
from memoranda.model.events import Callback
from memoranda.model.models import (
    UNSET,
    Change,
    ConversationInfo,
    Entity,
    ForgetReceipt,
    Hit,
    Kind,
    Recall,
    Record,
    Scope,
    Unset,
)
from memoranda.model.ports import (
    ConversationOptions,
    Embedder,
    LanguageModel,
    Progress,
    RecallRequest,
)
from memoranda.model.query import Filter, Order
from memoranda.model.reports import Check, MaintenanceReport, MemoryStats, StageReport
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage
from memoranda.records.drafts import (
    DEFAULTS,
    PARSERS,
    Draft,
    RecordDetails,
    RecordFilters,
    SecretPolicy,
    admit_draft,
    admit_text,
    draft_correction,
    parse_draft,
    parse_filters,
    parse_namespace,
)
from memoranda.records.service import RecordService
from memoranda.services import Services
from memoranda.store.locations import MEMORY
from memoranda.text.files import file_path

if TYPE_CHECKING:
    from memoranda.conversation.conversation import Conversation
    from memoranda.conversation.conversation_store import ConversationStore
    from memoranda.maintenance.audit import Audit
    from memoranda.maintenance.facts import Fact, FactService, Provenance
    from memoranda.maintenance.schedule import OnReport, Schedule
    from memoranda.maintenance.service import Maintenance
    from memoranda.maintenance.users import Admin
    from memoranda.notes.sync import SyncedNotes
    from memoranda.records.files import Files
    from memoranda.settings.settings import Settings
    from memoranda.tools import Tool, ToolList
    from memoranda.tools.agent import AgentTools
    from memoranda.transfer.sources import PortingReport


class Memory:
    """The long-term memory and the conversations of one user.

    Args:
        location: a file, or ``:memory:``; ``None`` is the setting ``location``, or
            ``memory.db`` in the user's data folder.
        user: whose memory it is; the setting ``user``, if not given. Nothing of one user is
            visible to another.
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
        user: str | Unset = UNSET,
        agent: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open the store, making it if it is not there. Loads no model yet."""
        # None is nobody, and not the user of the settings: a server may have meant someone.
        wanted = None if isinstance(user, Unset) else checks.clean(user, "user")
        other = checks.named(agent, "agent")
        self._services = Services(location, settings, embedder=embedder, llm=llm, clock=clock)
        self._asked_scope = Scope(wanted or self.settings.user, other)
        self._owner = True
        scope_of(self)  # Looked up now: whoever deletes the user from now on closes this memory.
        if self._services.store.foreign_memories():
            from memoranda.transfer.porting import adopt_memories  # noqa: PLC0415 - see the module

            adopt_memories(self._services.import_target(self._scope))
            self._services.derivations.notify()
        if self.settings.schedule.expire_at_start:
            self._maintenance.clean_up()

    def __repr__(self) -> str:
        """Return where and whose it is; no password of an address."""
        agent = f", agent={self._scope.agent!r}" if self._scope.agent else ""
        return f"Memory(location={self._services.store.location!r}, user={self.user!r}{agent})"

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the memory."""
        self.close()

    def close(self) -> None:
        """Stop the background work and release the store. Nothing is lost; twice is harmless.

        Records that still wait for their vectors get them when the memory is next searched.
        """
        if self._owner:
            self._services.close()

    def as_user(self, user: str, *, agent: str | None = None) -> Memory:
        """Return the memory of another user in the same store, sharing its services.

        Only the subscribers of :meth:`on` are its own: what happens to the memory of one
        user is no business of those who listen to another's.
        """
        other = share(self, user, agent)
        scope_of(other)
        return other

    @cached_property
    def _scope(self) -> Scope:
        # From now on it is refused once the user is deleted.
        return self._services.store.scope(self._asked_scope.user, self._asked_scope.agent)

    @cached_property
    def _records(self) -> RecordService:
        return self._services.records(self._scope)

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self._asked_scope.user

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._services.settings

    @property
    def admin(self) -> Admin:
        """The users of the whole store: lists and deletes them. Not for agents."""
        services = self._services
        from memoranda.maintenance.users import Admin  # noqa: PLC0415 - see the module

        return Admin(
            store=services.store,
            notes=services.notes,
            clock=services.clock,
            wipe=services.wipe_erased,
        )

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: remembered, corrected or forgotten.

        A callback that fails is logged and harms nobody.

        Raises:
            InvalidInput: there is no such event.
        """
        self._services.events.on(event, callback)

    # Writing

    @checks.list_arguments(RecordDetails, DEFAULTS)
    def remember(self, content: str, **details: Unpack[RecordDetails]) -> Record:
        """Store one record and return it. Waits for no model.

        A fact that is known already is returned, and not stored again: an active one of the same
        text that has the metadata and all else that is given. It gets the tags, and becomes as
        sure and as lasting as a person now says it is.

        Args:
            content: the text, stored exactly as it is.
            kind: ``fact``, if not given, ``episode`` (or ``conversation``), ``context``,
                ``reflection`` or ``item``.
            namespace, key: of an item, which takes the place of the one that is there: it keeps
                that one's id and ``created_at``, and of the former content nothing stays.
            tags: labels to filter by.
            metadata: any JSON to keep with it.
            event_time: when it happened, with its time zone; now, if not given.
            valid_until: when it stops being believed; by the kind's retention, if not given.
            session, role: the conversation it belongs to, and who said it.
            trust: who stands behind it: ``person``, ``agent`` or ``external``; by the role, if
                not given.
            origin: where it came from, a name of your own; ``api``, if not given.
            confidence: how far it is believed, 0 to 1; 1, if not given.
            decay_rate: how fast it fades, per day; 0 is never.

        Raises:
            InvalidInput: an argument is unknown, or a value cannot be stored; the message says
                which and why.
        """
        draft = parse_draft({"content": content, **details}, "remember")
        return self._records.add(self._admit(draft), unless_known=True)

    def remember_many(self, items: Iterable[str | Mapping[str, Any]]) -> list[Record]:
        """Store many records in one transaction: all of them, or none.

        Args:
            items: texts, or dicts of the arguments of :meth:`remember`.

        Raises:
            InvalidInput: an item cannot be stored; the message says which.
        """
        self._records.notify_derivations()  # What waits is derived afterwards, and not beside it.
        plan = []
        for number, item in enumerate(checks.several(items, "items")):
            place = f"item {number}"
            draft = parse_draft(item, place)
            with checks.error_prefix(place):
                plan.append(self._records.plan(self._admit(draft), unless_known=True))
        self._records.notify_derivations()
        return self._records.apply(plan)

    def _admit(self, draft: Draft) -> Draft:
        return admit_draft(draft, self.settings.secrets.remember)

    def correct(self, id: str, content: str, *, expected_version: str | None = None) -> Record:
        """Replace what a record says; return the record that supersedes it.

        The old one is kept for :meth:`history` and ``as_of``, and no longer found. A fact that
        waits for approval is kept with the new text.

        Args:
            id: the record.
            content: what it says from now on.
            expected_version: only where this is still its ``version``.

        Raises:
            NotFound: there is no such record.
            Conflict: it has another version.
            InvalidInput: it is no longer believed, or the new text cannot be stored.
        """
        old = self._records.existing(id)
        if self._records.is_proposal(old):
            text = self._admit(Draft(content=checks.clean(content, "content")))["content"]
            return self._services.keep_proposal(self._scope, old, text, version=expected_version)
        draft = self._admit(draft_correction(self._records.require_active(old), content))
        return self._records.correct(old, draft, expected_version)

    def confirm(self, id: str, *, expected_version: str | None = None) -> Record:
        """Believe a record fully and for ever; return it.

        A fact that waits for approval (``consolidation.approve``) is kept by that: the fact that it
        becomes is returned, and what that takes the place of ends now.

        Raises:
            NotFound: there is no such record.
            Conflict: it is not of the expected version.
            InvalidInput: it was superseded or forgotten.
        """
        held = self._records.existing(id)
        if self._records.is_proposal(held):
            return self._services.keep_proposal(self._scope, held, version=expected_version)
        return self._records.confirm(id, expected_version)

    def update(
        self,
        id: str,
        *,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        tags: Iterable[str] | Unset | None = UNSET,
        valid_until: datetime | Unset | None = UNSET,
        expected_version: str | None = None,
    ) -> Record:
        """Change what is attached to a record, in place; return it with the same id.

        Args:
            id: the record.
            metadata, tags: these instead of those it has; ``None`` is none.
            valid_until: when it stops being believed; ``None`` is never.
            expected_version: only where this is still its ``version``.

        What is not given stays as it is. :meth:`history` tells of the change.

        Raises:
            NotFound: there is no such record.
            Conflict: it has another version.
            InvalidInput: it is no longer believed, or a value cannot be stored.
        """
        labels = () if tags is None else tags
        asked = {"metadata": metadata, "tags": labels, "valid_until": valid_until}
        given = {name: value for name, value in asked.items() if value is not UNSET}
        draft: Any = self._admit(parse_draft({"content": "", **given}, "update"))
        changes = {name: PARSERS[name](draft[name], name) for name in given}
        return self._records.update(id, version=expected_version, **changes)

    def forget(
        self,
        id: str | None = None,
        *,
        namespace: Iterable[str] = (),
        key: str | None = None,
        erase: bool = False,
        expected_version: str | None = None,
    ) -> ForgetReceipt:
        """Stop believing a record in all its versions, or remove every trace of it.

        Args:
            id: the record, or any version of it.
            namespace, key: or the item that is kept under exactly these.
            erase: remove its text for good: from the store, its indexes, transcripts, prompts,
                notes and the free pages of the file; with its other versions, copies of five
                words or more, and all that was derived. The receipt lists where it was cut out,
                and what says the same on its own and stays. Takes longer the more is stored.
            expected_version: only where this is still its ``version``.

        Raises:
            NotFound: there is no such record.
            Conflict: it has another version.
        """
        record = self._records.existing(id, namespace=namespace, key=key)
        return self._records.forget([record.id], erase=erase, version=expected_version)

    def forget_many(
        self,
        *,
        ids: Iterable[str] | None = None,
        session: str | None = None,
        namespace: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        erase: bool = False,
    ) -> ForgetReceipt:
        """Forget the records that meet every filter given, as :meth:`forget`: all of them, or none.

        Args:
            ids, session: these records, or those of this session.
            namespace: items in this namespace, or below it.
            metadata: as for :meth:`search`.
            erase: remove their text for good, also of those that are no longer believed.

        Raises:
            NotFound: one of ``ids`` alone is not there; nothing is forgotten.
            InvalidInput: no filter is given, or one cannot be used.
        """
        where = self._listed(namespace=namespace, session=session, metadata=metadata)
        narrowed = session is not None or bool(namespace) or bool(metadata)
        if ids is None and not narrowed:
            message = "forget_many needs a filter; give ids, session, namespace or metadata"
            raise InvalidInput(message)
        return self._records.forget(
            None if ids is None else list(checks.several(ids, "ids")),
            where=replace(where, retired=erase) if narrowed else None,
            erase=erase,
        )

    def files(self, namespace: Iterable[str] = ("files",)) -> Files:
        """Return the text files with versions that are kept under a namespace, as items.

        Raises:
            InvalidInput: it is no namespace for files.
        """
        from memoranda.records.files import Files, parse_files_namespace  # noqa: PLC0415

        return Files(
            namespace=parse_files_namespace(namespace),
            records=self._records,
            admit=self._admit,
            find=self.search,
        )

    def set_context(self, key: str, value: str) -> Record:
        """Keep ``value`` under ``key`` until the day ends in the user's time zone."""
        return self._records.set_context(key, admit_text(value, self.settings.secrets.remember))

    def get_context(self, key: str) -> str | None:
        """Return the newest value of ``key``, ``None`` if there is none or its day is over."""
        return self._records.get_context(key)

    # Finding

    @checks.list_arguments(RecordFilters)
    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        offset: int = 0,
        min_score: float | None = None,
        exclude_session: str | None = None,
        as_of: datetime | None = None,
        **filters: Unpack[RecordFilters],
    ) -> list[Hit]:
        """Return the records that best answer ``query``, best first, each with its reasons.

        Args:
            query: a question or words, in any language; no query syntax.
            kind, session, exclude_session: only of this kind, of this session, not of that.
                Items are found only with ``kind="item"``, or by their namespace.
            namespace: only items in this namespace, or below it.
            limit, offset: how many at most, and how many of the best to pass over before.
            min_score: none with a lower score (0 to 1); the setting ``retrieval.min_score``, if
                not given.
            tags: only records that have all of these.
            metadata: only records that have these values, or values that operators describe:
                ``{"year": {"gte": 2020, "lt": 2025}}``. The operators are ``gt``, ``gte``,
                ``lt``, ``lte``, ``ne`` and ``in``.
            since, until, as_of: what happened in this time, or was believed at that moment.

        Raises:
            InvalidInput: one of these cannot be used.
        """
        where = parse_filters(
            self._services.clock.now(),
            (),
            filters,
            exclude_session=checks.named(exclude_session, "exclude_session"),
            as_of=checks.known(as_of, "as_of"),
        )
        least = self.settings.retrieval.min_score if min_score is None else min_score
        return self._services.retriever.search(
            self._scope,
            checks.clean(query, "query"),
            where,
            limit=checks.limited(limit, "limit"),
            offset=checks.limited(offset, "offset", least=0),
            min_score=checks.number(least, "min_score"),
            secrets=self.settings.secrets.search,
        )

    def recall(
        self, prompt: str, *, budget: int = 1_000, exclude_session: str | None = None
    ) -> Recall:
        """Return what memory has for ``prompt``, as a Markdown block of ``budget`` tokens at most.

        What is recalled counts as accessed, which keeps it from fading.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        other = checks.named(exclude_session, "exclude_session")
        searcher = self._services.searcher(self._scope)
        return searcher.recall(RecallRequest(prompt, budget), self._where(exclude_session=other))

    def get(
        self, id: str | None = None, *, namespace: Iterable[str] = (), key: str | None = None
    ) -> Record | None:
        """Return a record, active or not; ``None`` if there is none, or it is another user's.

        Args:
            id: the record.
            namespace, key: or the item that is kept under exactly these, unless it has expired.
        """
        return self._records.find(id, namespace=namespace, key=key)

    def namespaces(
        self, prefix: Iterable[str] = (), depth: int | None = None
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that have items, in order.

        Args:
            prefix: only this namespace and those below it.
            depth: longer ones are cut to so many parts, and each is returned once.
        """
        most = None if depth is None else checks.limited(depth, "depth")
        where = self._where(namespace=parse_namespace(prefix, "prefix"))
        found = self._services.store.namespaces(self._scope, where)
        return sorted({each[:most] for each in found})

    @checks.list_arguments(RecordFilters)
    def records(
        self,
        *,
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
        after: str | None = None,
        **filters: Unpack[RecordFilters],
    ) -> list[Record]:
        """Return a page of active records in the order they were recorded, or against it.

        Args:
            kind, session: only of this kind, of this session.
            namespace: only items in this namespace, or below it.
            tags, metadata: only records that have all of these, as for :meth:`search`.
            since, until: only what happened in this time.
            newest_first: whether the one recorded last comes first.
            limit, offset: how many at most, and how many to pass over before.
            after: the id of the last record of the page before.

        Raises:
            NotFound: ``after`` is not a record of this user.
            InvalidInput: an argument cannot be used.
        """
        return self._services.store.records(
            self._scope,
            self._listed(**filters),
            order=Order.LATEST if newest_first else Order.RECORDED,
            limit=checks.limited(limit, "limit"),
            offset=checks.limited(offset, "offset", least=0),
            after=checks.named(after, "after"),
        )

    @checks.list_arguments(RecordFilters)
    def count(self, **filters: Unpack[RecordFilters]) -> int:
        """Return how many active records there are, by the same filters as :meth:`records`.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        return sum(self._services.store.count(self._scope, self._listed(**filters)).values())

    def _listed(self, **filters: Unpack[RecordFilters]) -> Filter:
        return parse_filters(self._services.clock.now(), tuple(Kind), filters)

    def history(self, id: str) -> list[Change]:
        """Return what was done to a record and its other versions, from the oldest version on.

        Empty if nothing is known of it.
        """
        return self._services.store.history(self._scope, checks.clean(id, "id"))

    def entity(self, name: str) -> Entity | None:
        """Return the person, place or thing of that name or alias, with records about it."""
        self._services.link_entities(self._scope)
        from memoranda.entities.profiles import find_entity  # noqa: PLC0415 - see the module

        store, where = self._services.store, self._where()
        return find_entity(store, self._scope, checks.clean(name, "name"), where)

    def entities(self, *, type: str | None = None, limit: int = 100) -> list[Entity]:
        """Return the entities that records mention, most mentioned first.

        Args:
            type: only ``person``, ``organization``, ``location`` and so on; without it all but
                the dates, which are only given where they are asked for.
            limit: how many at most.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        wanted, most = checks.named(type, "type"), checks.limited(limit, "limit")
        self._services.link_entities(self._scope)
        store, where = self._services.store, self._where()
        return store.entities(self._scope, where, type=wanted, limit=most)

    # Conversations

    @checks.list_arguments(ConversationOptions)
    def conversation(self, id: str, **options: Unpack[ConversationOptions]) -> Conversation:
        """Open the conversation ``id``, or start it. It goes on where it was left.

        ``id`` is also the session of its episodes. ``system``, ``model`` and ``context_limit``
        are as stored, if not given; all else, and what is raised, as for :class:`Conversation`.
        """
        return self.stored_conversations.open(id, **options)

    @property
    def stored_conversations(self) -> ConversationStore:
        """The stored conversations, to be listed and looked at without leaving a trace."""
        return self._services.conversations(self._scope)

    def conversations(self) -> list[ConversationInfo]:
        """Return the stored conversations, the newest first."""
        return list(self._services.store.conversations(self._scope).values())

    def delete_conversation(self, id: str, *, erase: bool = False) -> ForgetReceipt:
        """Delete a conversation with its episodes, and what was learned only from these.

        Nothing lists or finds them any more, and who opens the conversation again begins with an
        empty view.

        Args:
            id: the conversation.
            erase: remove all of it for good, as :meth:`forget` does.

        Raises:
            NotFound: there is no such conversation; the message names similar ones.
        """
        return self.stored_conversations.delete(id, erase=erase)

    @property
    def notes(self) -> SyncedNotes:
        """The Markdown notes that a person can read and edit: MEMORY.md and the history."""
        return self._services.notes.open(self._scope)

    def tools(self) -> ToolList[Tool]:
        """Return the ten tools by which an agent uses this memory (S1.29, S4.61 to S4.66).

        Each is called with keyword arguments and returns a text for the model; ``name``,
        ``description`` and ``parameters`` (a JSON schema) describe it, ``openai()`` and
        ``anthropic()`` in the forms of the providers. ``find(name)`` returns one of them.
        """
        return agent_tools(self).tools()

    # Learning

    def consolidate(self, session: str | None = None, *, dry_run: bool = False) -> StageReport:
        """Turn finished sessions into facts; report what was done.

        Facts that are said again credit the ones that are there; what contradicts them, or
        brings a new value, supersedes them. A crash at any point loses and doubles nothing.

        Args:
            session: only this one; all that wait, if not given.
            dry_run: change nothing, and report what would be done.

        Raises:
            NotFound: there is no such session.
        """
        request = ConsolidationRequest(self._scope, session=checks.named(session, "session"))
        return self._services.consolidate(request, dry_run=dry_run)

    def facts(
        self,
        query: str | None = None,
        *,
        everything: bool = False,
        waiting: bool = False,
        limit: int = 100,
    ) -> list[Fact]:
        """Return facts with how far each is believed, since when, and what it replaced.

        Args:
            query: those that answer it, best first; if not given, of each thousand that were
                stored last, the last said first.
            everything: also those that were replaced, forgotten or faded.
            waiting: instead those that wait for a person's approval, the latest first; ``confirm``
                keeps one, and ``forget`` drops it.
            limit: how many at most.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        if waiting:
            return self._facts.waiting(query, limit=limit)
        return self._facts.find(query, everything=everything, limit=limit)

    def trace_fact(self, id: str) -> Provenance:
        """Return where a fact comes from: the turns that say it, its versions, its history.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it is no fact.
        """
        return self._facts.trace(id)

    @property
    def _facts(self) -> FactService:
        from memoranda.maintenance.facts import FactService  # noqa: PLC0415 - see the module

        return FactService(self._records, self._services.retriever, self.settings.decay.threshold)

    def expire(self, *, dry_run: bool = False) -> StageReport:
        """Retire what is past its retention; ``count`` says how many records."""
        return self._maintenance.expire(dry_run=dry_run)

    def decay(self, *, dry_run: bool = False) -> StageReport:
        """Lower the confidence of decaying facts; retire those below ``decay.threshold``.

        Confidence is computed from what it was when the fact was last said or recalled, so
        doing this twice changes nothing.
        """
        return self._maintenance.decay(dry_run=dry_run)

    def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names again, more accurately, in records with few of them (requirement S4.13).

        Skipped where neither a spaCy pipeline nor a language model is set up.
        """
        return self._maintenance.enrich(dry_run=dry_run)

    def derive(self, *, dry_run: bool = False) -> StageReport:
        """Make now what else would be made in the background: vectors and links to entities.

        Vectors are left out where there is no model for them.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        derivations = self._services.derivations
        derive = derivations.waiting if dry_run else derivations.finish
        count = derive(self._scope.whole_user) if derivations.has_model else 0
        return StageReport(stage="derive", count=count, counts={"vectors": count}, dry_run=dry_run)

    def reflect(self, *, dry_run: bool = False) -> StageReport:
        """Write the weekly insight, if one is due and there is something to say."""
        return self._maintenance.reflect(dry_run=dry_run)

    def maintain(
        self, stages: Iterable[str] | None = None, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Run all stages of upkeep, or some, in the order of a night.

        What goes wrong in one is in its report, and keeps no other from running.

        Args:
            stages: of ``expire``, ``enrich``, ``consolidate``, ``decay`` and ``reflect``.
            dry_run: change nothing, and report what would be done.

        Raises:
            InvalidInput: there is no such stage.
        """
        return self._maintenance.run(stages, dry_run=dry_run)

    def schedule(self, on_report: OnReport | None = None) -> Schedule:
        """Return the upkeep of the whole store, for all users, at the times of the settings.

        Args:
            on_report: called with a user and what a stage did for them.

        Raises:
            ConfigError: a time of the settings cannot be read.
        """
        return self._services.schedule(on_report=on_report)

    def run_upkeep(self) -> None:
        """Run :meth:`schedule` in the background until the memory is closed, beginning now.

        For a process that lives for long. What was missed is made up for. Several processes on
        one store divide the users of each stage. Once is enough; nothing, where the setting
        ``schedule.in_background`` is off.

        Raises:
            ConfigError: a time of the settings cannot be read.
        """
        self._services.run_upkeep()

    def sessions(self, *, pending: bool = False) -> list[SessionInfo]:
        """Return the sessions and how far they became facts; only those that wait, if asked."""
        return list(self._services.store.sessions(self._scope, pending=pending).values())

    def usage(self) -> list[StageUsage]:
        """Return what the stages have used of language models, by stage and model."""
        return self._services.store.usage(self._scope)

    def merge_entities(self, name: str, other: str) -> Entity:
        """Make two entities one, which keeps the name of the first; return it.

        What is said later under any of their names belongs to it, until :meth:`split_entity`.

        Raises:
            NotFound: there is no entity of one of these names.
            InvalidInput: they are one already.
        """
        first, second = self._entity(name), self._entity(other)
        if first.id == second.id:
            raise InvalidInput(f"{name!r} and {other!r} are one entity already; name two entities")
        with self._services.store.write(self._scope) as tx:
            tx.merge_entities(first.name, second.name)
        return self._entity(name)

    def split_entity(self, name: str, others: Iterable[str]) -> Entity:
        """Take back that names were merged with an entity; return the entity that they are again.

        Names, aliases and links of both are as they were, with what was said of them since.

        Args:
            name: the entity.
            others: names that :meth:`merge_entities` gave to it, that of the other entity first.

        Raises:
            NotFound: there is no such entity.
            InvalidInput: one of them was not merged with it.
        """
        entity, given = self._entity(name), list(checks.several(others, "others"))
        if not given:
            raise InvalidInput("others names nothing; name what was merged")
        with self._services.store.write(self._scope) as tx:
            tx.split_entity(entity.name, given)
        return self._entity(given[0])

    def _entity(self, name: str) -> Entity:
        found = self.entity(name)
        if found is None:
            raise NotFound(f"there is no entity {name!r} for user {self._scope.user!r}")
        return found

    def audit(self) -> Audit:
        """Look for junk: duplicates, contradictions, loops, secrets and more; change nothing."""
        from memoranda.maintenance.audit import audit_store  # noqa: PLC0415 - see the module

        return audit_store(self._services.store, [self._scope], self._services.clock.now())

    def consolidator_tools(self) -> list[Tool]:
        """Return the tools with which your own agent consolidates sessions (requirement S4.67).

        For a model that reads sessions and writes facts; not for the agent that talks.
        """
        from memoranda.tools.consolidator import ConsolidatorTools  # noqa: PLC0415 - see the module

        return ConsolidatorTools(self._services.consolidator(self._scope)).tools()

    @property
    def _maintenance(self) -> Maintenance:
        return self._services.maintenance(self._scope)

    # The whole memory

    def stats(self) -> MemoryStats:
        """Return what the memory holds, and whether all its parts work."""
        services = self._services
        names = services.names(self._scope)
        counts = services.store.count(self._scope, self._where(kinds=tuple(Kind)))
        newest = services.store.records(
            self._scope, Filter.at_any_time(), order=Order.NEWEST, limit=1
        )
        sessions = services.store.sessions(self._scope).values()
        return MemoryStats(
            user=self._scope.user,
            location=services.store.location,
            records={kind.value: counts.get(kind, 0) for kind in Kind},
            conversations=len(services.store.conversations(self._scope)),
            newest=newest[0].created_at if newest else None,
            pending_vectors=services.derivations.waiting(self._scope),
            vectors=services.derivations.describe(self._scope),
            size=services.store.size(),
            pending_sessions=sum(each.consolidated_at is None for each in sessions),
            llm="none" if services.models.model is None else services.models.model.name,
            usage=tuple(services.store.usage(self._scope)),
            names=names.strategies,
            missing=names.missing,
            notes=services.notes.status(self._scope),
            upkeep=tuple(services.store.job_runs()),
        )

    def doctor(self) -> list[Check]:
        """Look at everything that can be wrong, and return what was found at each point.

        Each arm of the search is asked for a record that is planted for it, in a memory of its own.
        """
        services, scope = self._services, self._scope
        from memoranda.maintenance.doctor import Doctor  # noqa: PLC0415 - see the module

        return Doctor(
            store=services.store,
            scope=scope,
            settings=services.settings,
            derivations=services.derivations,
            names=services.names(scope),
            notes=services.notes.status(scope),
            now=services.clock.now(),
            open_canaries=partial(
                Memory,
                MEMORY,
                user="canary",
                settings=services.settings,
                embedder=cast("Any", services.embedder),  # With its patience.
                clock=services.clock,
            ),
        ).examine()

    def verify(self) -> list[str]:
        """Return a line for each problem in the whole store; none if it is sound."""
        return self._services.store.verify()

    def rebuild(self) -> list[str]:
        """Derive index and counts anew, queue vectors and names; return what was different."""
        return self._services.store.rebuild()

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Give vectors to all records of the store that wait for them; return how many did."""
        return self._services.derivations.finish(None, progress=progress)

    def reembed(self, progress: Progress | None = None) -> int:
        """Make every vector of the store anew with the present model; return how many."""
        checks.required_callable(progress, "progress")
        self._services.derivations.start_over()
        return self._services.derivations.finish(None, progress=progress)

    def export(
        self,
        path: str | Path | BinaryIO,
        *,
        conversation: str | None = None,
        format: str | None = None,
    ) -> PortingReport:
        """Write all of the user's records and conversations to a JSON Lines file.

        Args:
            path: the file to make, or one that is open for bytes.
            conversation: only this conversation: metadata, then a message in each line.
            format: ``mif`` for what is known alone, in the Memory Interchange Format.

        Raises:
            InvalidInput: the file exists already, or there is no such format.
            NotFound: there is no such conversation.
        """
        from memoranda.transfer import porting  # noqa: PLC0415 - see the module

        source = self._services.import_target(self._scope)
        named = checks.named(conversation, "conversation"), checks.named(format, "format")
        return porting.export(source, path, *named)

    def import_(
        self,
        path: str | Path,
        format: str | None = None,
        *,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> PortingReport:
        """Read a file of memoranda, or what another program keeps, into memory.

        Args:
            path: the file, or a folder or ZIP archive of files.
            format: one of those that ``docs/capture.md`` lists; recognised, if not given.
            strict: refuse all where a line or a file cannot be read. Otherwise it is passed over,
                counted, and named in the report's ``left_out``.
            progress: told after each batch.

        Importing the same file twice adds nothing the second time; of one that has grown, the
        rest. Memories of mem0 go to the users that the file names.

        Raises:
            InvalidInput: nothing in it can be read; the message names the place.
        """
        file, told = file_path(path), checks.required_callable(progress, "progress")
        return import_path(self, file, format, strict=strict, progress=told)

    def copy_to(
        self,
        location: str | Path,
        *,
        users: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> tuple[PortingReport, ...]:
        """Copy users with all that they have to another store; return a report of each.

        A copy is an export that is imported: what is there already stays as it is, so one that
        was cut short goes on. What is derived is made anew there, vectors too.

        Args:
            location: where to, as for :class:`Memory`; it is made if it is not there.
            users: who; all users of the store, if not given.
            progress: told after each batch.

        Raises:
            NotFound: there is no such user, or nobody at all.
            InvalidInput: it is this store.
        """
        services, told = self._services, checks.required_callable(progress, "progress")
        from memoranda.transfer import porting  # noqa: PLC0415 - see the module

        names = porting.existing_users(services.store, users)
        settings = self.settings.with_values(embedding={"background": False})
        with closing(
            Services(location, settings, embedder=services.embedder, llm=None, clock=services.clock)
        ) as other:
            if len({realpath(each.store.location) for each in (services, other)}) == 1:
                raise InvalidInput(f"{location} is the store that is copied; name another one")
            reports = []
            for name in names:
                source, target = services.store.scope(name), other.store.scope(name)
                places = services.import_target(source), other.import_target(target, progress=told)
                reports.append(porting.copy_user(*places))
                other.finish_import(target)
            return tuple(reports)

    def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the whole store, while others go on using it.

        Raises:
            InvalidInput: there is a file at ``path`` already.
        """
        self._services.store.backup(str(file_path(path)))

    def _where(self, **conditions: Any) -> Filter:
        return Filter(now=self._services.clock.now(), **conditions)


def services_of(memory: Memory) -> Services:
    """Return the services of a memory, for modules of this package that maintain or show it."""
    return memory._services  # noqa: SLF001 - this module sees inside, so that no door has to


def scope_of(memory: Memory) -> Scope:
    """Return the scope of a memory, for modules of this package that maintain or show it."""
    return memory._scope  # noqa: SLF001 - as above


def agent_tools(
    memory: Memory, session: Callable[[], str] | None = None, *, secrets: SecretPolicy | None = None
) -> AgentTools:
    """Return what the tools of a memory do.

    Args:
        memory: the memory.
        session: gives the id of the present conversation; the newest, if not given.
        secrets: what becomes of secrets that are to be stored; by the setting of tools, if not
            given.
    """
    from memoranda.tools.agent import AgentTools  # noqa: PLC0415 - see the module

    def conversation(id: str | None) -> Conversation:
        given = id or (session and session())
        found = given or next((each.id for each in memory.conversations()), None)
        if found is None:
            raise NotFound("there is no conversation yet")
        return memory.stored_conversations.open_existing(found)

    services, scope = services_of(memory), scope_of(memory)
    return AgentTools(
        services.records(scope),
        services.searcher(scope),
        figures=memory.stats,
        entity=memory.entity,
        notes=lambda: memory.notes,
        conversation=conversation,
        secrets=secrets or memory.settings.secrets.tools,
        decay_rate=memory.settings.consolidation.decay_rate,
        approve=memory.settings.consolidation.approve,
    )


def import_path(
    memory: Memory,
    path: Path,
    format: str | None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    own_only: bool = False,
) -> PortingReport:
    """Do what ``Memory.import_`` does; with ``own_only``, for no user but that of the memory."""
    from memoranda.transfer import porting  # noqa: PLC0415 - see the module

    services, scope = services_of(memory), scope_of(memory)
    if strict:
        # All of it goes into a memory of no other use first.
        settings = memory.settings.with_values(
            embedding={"model": "none", "background": False}, notes={"folder": None}
        )
        with closing(
            Services(":memory:", settings, embedder=None, llm=None, clock=services.clock)
        ) as trial:
            place = trial.import_target(
                trial.store.scope(scope.user), own_only=own_only, strict=True
            )
            porting.import_file(place, path, format)
    target = services.import_target(scope, own_only=own_only, progress=progress)
    report = porting.import_file(target, path, format)
    services.finish_import(scope)
    return report


def share(memory: Memory, user: str, agent: str | None) -> Memory:
    """Return what ``Memory.as_user`` does, without a look at the store before the first use."""
    other = object.__new__(Memory)
    other._asked_scope = Scope(checks.clean(user, "user"), checks.named(agent, "agent"))
    other._services = services_of(memory).for_other_user()
    other._owner = False
    return other

"""The stored conversations of one user: opened to be gone on with, listed, and looked at.

An agent that opens a conversation may start it, or start a session in it. A person who looks
does neither: only what exists is opened, and without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ConversationStats
from memoranda.conversation.pruning import ConversationServices, MemoryNotes, check_limits
from memoranda.conversation.transcript import Transcript
from memoranda.errors import NotFound
from memoranda.model.checks import clean, nearest
from memoranda.model.models import ConversationInfo, ForgetReceipt, Kind, Message, Recall, Scope
from memoranda.model.ports import ConversationOptions
from memoranda.model.query import Filter
from memoranda.model.reports import RequestReceipt
from memoranda.records.service import RecordService
from memoranda.settings.sections import ConversationSettings
from memoranda.tokens.catalog import Catalog

NEARBY = 3  # ids that are named where one is not found
ALIKE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOverview:
    """A stored conversation in one line.

    Attributes:
        info: its settings, and how many messages the transcript holds.
        stats: its view in figures.
        title: what it was called where it was imported from, or its first task.
    """

    info: ConversationInfo
    stats: ConversationStats
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStore:
    """Opens the stored conversations of one user.

    Attributes:
        records: stores the episodes of messages; whose they are, and where they are kept.
        settings: of conversations.
        catalog: what is known of models.
        end_session: called with a scope and the conversation that is finished.
        recall: asks memory for a context, as ``ConversationServices`` says, of the conversation
            named ``session``; of none that is stored, where that is ``None``.
        notes: gives the text of MEMORY.md, where it belongs into contexts.
        requests: carries out what new messages of the conversation of that name ask of memory.
    """

    records: RecordService
    settings: ConversationSettings
    catalog: Catalog
    end_session: Callable[[Scope, str], None]
    recall: Callable[..., Recall]
    notes: Callable[[], str] | None
    requests: Callable[[str, Sequence[Message]], Sequence[RequestReceipt]]

    def transcript(self, id: str, *, dry_run: bool = False) -> Transcript:
        """Return the transcript of the conversation ``id``, whether it is there or not."""
        records = self.records
        return Transcript(records.store, records.scope, id, records, self.end_session, dry_run)

    def open(self, id: str, **options: Unpack[ConversationOptions]) -> Conversation:
        """Open the conversation ``id``, or start it, with a session that begins in it."""
        conversation = self.resume(id, **options)
        if self.settings.at_session_start == "prune":
            conversation.start_session()
        return conversation

    def resume(self, id: str, **options: Unpack[ConversationOptions]) -> Conversation:
        """Open the conversation ``id``, or start it. It goes on where it was left."""
        transcript = self.transcript(clean(id, "id"))
        conversation = self._over(transcript, **options)
        if transcript.open(options, self.records.now()):
            conversation.recount()
        return conversation

    def unsaved(self, id: str = "unsaved", *, model: str | None = None) -> Conversation:
        """Return an empty conversation that recalls from memory but is itself not stored.

        So one can look at a context without leaving a trace.
        """
        return self._over(Transcript.alone(id, self.records.now(), {"model": model}))

    def open_existing(self, id: str, *, dry_run: bool = False) -> Conversation:
        """Return a conversation that exists, to look at it or to change it.

        Opening it changes nothing yet: no session of an agent begins in it.

        Args:
            id: its name; or its title, where no other has that.
            dry_run: whether a pruning only answers what it would do.

        Raises:
            NotFound: there is none of that name; the message names similar ones.
        """
        is_known = id in self.records.store.conversations(self.records.scope, clean(id, "id"))
        return self._over(self.transcript(id if is_known else self._titled(id), dry_run=dry_run))

    def _titled(self, title: str) -> str:
        """Return the id of the only conversation of a title."""
        titles = self.records.store.titles(self.records.scope)
        named = [name for name, each in titles.items() if each.casefold() == title.casefold()]
        if not named:
            raise self._not_found(title)
        if len(named) > 1:
            message = f"{len(named)} conversations have the title {title!r}; name one by its id"
            raise NotFound(f"{message}: {', '.join(named[:NEARBY])}")
        return named[0]

    def overviews(self, limit: int | None = None) -> list[ConversationOverview]:
        """Return the ``limit`` conversations that were begun last, or all, the newest first."""
        found = self.records.store.conversations(self.records.scope)
        titles = self.records.store.titles(self.records.scope)
        return [
            ConversationOverview(
                info=info, stats=self.open_existing(info.id).stats(), title=titles.get(info.id)
            )
            for info in list(found.values())[:limit]
        ]

    def _not_found(self, id: str) -> NotFound:
        scope = self.records.scope
        near = name_similar(id, list(self.records.store.conversations(scope)))
        return NotFound(f"there is no conversation {id!r} for user {scope.user!r}; {near}")

    def delete(self, id: str, *, erase: bool = False) -> ForgetReceipt:
        """Delete a conversation with its episodes, and what was learned from these alone.

        Raises:
            NotFound: there is none of that name; the message names similar ones.
        """
        records = self.records
        clean(id, "id")
        try:
            if erase:
                said = Filter.at_any_time(kinds=(Kind.EPISODE,), session=id)
                whole = records.scope.whole_user
                ids = [each.id for each in records.store.records(whole, said)]
                learned = records.store.learned_from(whole, ids)
                return records.erase([*ids, *learned], conversation=id)
            with records.store.write(records.scope) as tx:
                done = tx.delete_conversation(id, at=records.now(), erase=False)
        except NotFound as error:
            raise self._not_found(id) from error
        records.events.emit("forgotten", done)
        return done

    def _over(self, transcript: Transcript, **options: Unpack[ConversationOptions]) -> Conversation:
        """Return the conversation that a transcript keeps, with this memory behind it.

        Raises:
            InvalidInput: an option cannot be used.
        """
        name = transcript.id
        services = ConversationServices(
            catalog=self.catalog,
            clock=self.records.clock,
            ids=self.records.planner.ids,
            recall=partial(self.recall, session=name if transcript.records else None),
            notes=partial(self._read_notes, name),
            requests=partial(self.requests, name),
        )
        return Conversation.over(transcript, check_limits(self.settings, **options), services)

    def _read_notes(self, id: str) -> MemoryNotes:
        """Return what memory has to say in every context of a conversation."""
        records, notes = self.records, self.notes
        where = Filter(now=records.now(), kinds=(Kind.FACT,), session=id)
        learned = records.store.records(records.scope, where) if notes else ()
        return MemoryNotes(notes() if notes else "", records.instructions(), learned)


def name_similar(id: str, known: Sequence[str]) -> str:
    """Return which of the names that are known ``id`` may have meant, as the end of a message."""
    names = nearest(id, known, most=NEARBY, alike=ALIKE) or known[:NEARBY]
    return f"there is {', '.join(map(repr, names))}" if names else "there are none yet"

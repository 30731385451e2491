"""The ports: what memoranda asks of a store, an embedder and its other parts.

The docstrings are the specification; ``laws`` is the
same specification as tests, for any implementation.

Common to every store method:

- ``scope`` bounds what is read. A record of another user, or of another agent of
  the same user when the scope names an agent, is as if it did not exist.
- Errors are those of :mod:`memoranda.errors`; none of a driver gets out.
- Methods may be called from any thread, and by several processes on one store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack, runtime_checkable

if TYPE_CHECKING:
    from memoranda.model.actions import Action, Outcome
    from memoranda.model.capabilities import Capability
    from memoranda.model.erasure import KeptText
    from memoranda.model.models import (
        Change,
        ConversationInfo,
        DateMention,
        Entity,
        Image,
        Kind,
        Mention,
        Message,
        Pruning,
        Record,
        Scope,
        Tombstone,
        ToolCall,
    )
    from memoranda.model.notes import NotesBase
    from memoranda.model.query import (
        Candidates,
        EmbeddedText,
        Filter,
        IndexChanges,
        IndexVersion,
        MessageRange,
        RecordPage,
        RecordRelation,
        RecordTokens,
        TermMatches,
        Vector,
        Vectors,
    )
    from memoranda.model.sessions import JobRun, SessionInfo, StageLease
    from memoranda.model.traces import AuditTrail, UserMetadata
    from memoranda.model.usage import Reply, StageUsage


T = TypeVar("T")
Key = TypeVar("Key", str, int)
VECTORS = "vectors"
# Kinds of work that records wait for: what is derived from them later.
ENTITIES = "entities"


class Analyzer(Protocol):
    """Turns text into the terms under which it is found."""

    @property
    def name(self) -> str:
        """Name and version; another name means that an index must be rebuilt."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur.

        The same word in another inflection, case or Unicode form gives the same term.
        Terms hold letters and digits only, so they can stand in any query language.
        """

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms worth searching: as ``terms``, less the stop words."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness."""

    @property
    def name(self) -> str:
        """The model; vectors of another name are never compared with these."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), dimensions)``, rows of unit length.

        Thread-safe. May be slow, so it is never called while a message is added.

        Raises:
            EmbeddingError: the model failed; the message says what to do.
        """


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that gives the tokens of a text vectors of their own, too."""

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return of each text its vector, as ``embed`` does, and those of its telling tokens.

        Of a ``query`` function words count, too: "who" is like a name, and "when" like a day.

        Raises:
            EmbeddingError: the model failed; the message says what to do.
        """

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the tokens of ``embed_tokens`` stand in a text, without embedding it."""


class EntityExtractor(Protocol):
    """Finds the named things in a text."""

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""


class DateReader(Protocol):
    """Finds the times that a text speaks of."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return the times in ``text``, in order, none overlapping.

        Args:
            text: what was said.
            said_at: when, in the time zone of who said it: "yesterday" is the day before.
        """


class LanguageModel(Protocol):
    """A large language model: text in, a typed answer out.

    Nothing needs one; each stage that can use one says what it does without.
    """

    @property
    def name(self) -> str:
        """The model, such as ``anthropic:claude-…``; no secrets."""

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Return what the model answers to ``prompt``, as an ``answer``.

        Args:
            instructions: what its task is; the system prompt.
            prompt: what it works on; data, never instructions.
            answer: the type wanted: a dataclass of plain values, lists and dataclasses. The
                docstring and fields are told to the model as a JSON schema.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no such answer;
                ``error.usage`` says what was spent all the same.
        """


class NameMatcher(Protocol):
    """Decides which names mean the same entity."""

    def fold(self, name: str) -> str:
        """Return the form in which names are compared: without case, accents or possessive."""

    def link(self, name: str, type: str, known: Mapping[str, str]) -> str | None:
        """Return which of the ``known`` folded names (with their types) ``name`` also means.

        ``None`` where there is no candidate, or more than one.
        """

    def keys(self, name: str) -> frozenset[str]:
        """Return under which keys to look for names that may mean the same.

        Names that :meth:`link` makes one share a key, whichever of them is known first.
        """


class TokenCounter(Protocol):
    """Measures text in the tokens of a model."""

    @property
    def exact(self) -> bool:
        """Whether the counts are the model's own rather than an estimate."""

    @property
    def name(self) -> str:
        """What counts: ``o200k_base``, the path of a tokenizer, ``estimate (cl100k_base)``, …."""

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has; 0 for an empty one.

        Thread-safe, and never fails: special tokens and lone surrogates in ``text`` are
        ordinary characters to it.
        """


class MessageMeter(Protocol):
    """Measures messages as the chat format of a model's provider packs them."""

    @property
    def counter(self) -> TokenCounter:
        """What measures their text."""

    @property
    def reply(self) -> int:
        """Tokens that open the model's reply, once in a context."""

    def message(
        self, content: str, calls: Sequence[ToolCall] = (), images: Sequence[Image] = ()
    ) -> int:
        """Return the tokens of a message with all that the format adds around it."""


class Summarizer(Protocol):
    """Summarizes the messages that leave the view."""

    def summarize(self, messages: Sequence[Message]) -> str:
        """Return a summary of ``messages``, a few lines at most; empty if nothing matters.

        It may be slow: it is called in the background. What it raises is logged, and the
        bare marker stays.
        """


class SearchStore(Protocol):
    """What ranking reads. It works with ordinals, and asks for texts only at the end."""

    def index_changes(
        self, scope: Scope, since: IndexVersion, *, items: bool = False
    ) -> IndexChanges:
        """Return the records and vectors of the scope's user that came after ``since``.

        Of memories, or of items alone: each have versions of their own.

        Of all the user's agents, active or not; where rows known to the reader have
        changed or gone, all of them anew. Rows are in the order of their ordinals. With rows
        that may rest on others comes the lineage of all records, also of those no longer
        believed, as far as sources and replacements are there.
        """

    def match_terms(
        self, scope: Scope, terms: Sequence[str], *, limit: int, items: bool = False
    ) -> TermMatches:
        """Return which records of the scope's user hold any of ``terms``, at most ``limit``.

        Memories, or items alone.

        Where more match, those that hold the rarer terms are kept. Only the user's own
        records count in the frequencies: others neither change a ranking nor can be
        guessed from it.
        """

    def is_large(self, scope: Scope) -> bool:
        """Return whether the scope's user has too many memories to rank them all in memory."""

    def candidates(
        self,
        scope: Scope,
        where: Filter,
        *,
        terms: Sequence[str],
        vector: Vector | None,
        attributes: Collection[str],
        most: int,
    ) -> Candidates:
        """Return what a question may be about among the memories of a large user.

        Args:
            scope: whose records.
            where: which of them count.
            terms: of the question.
            vector: of it; ``None`` without one.
            attributes: the attributes of facts that it may ask for.
            most: how many of them may answer, beside facts and what was drawn from the others.
        """

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of the records that mention entities with these names or aliases.

        With each the number of distinct entities; most first, then newest.
        """

    def vectors(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of these records as they are stored, of those that have one."""

    def token_vectors(self, scope: Scope, ordinals: Sequence[int]) -> RecordTokens:
        """Return the vectors of the tokens of these records, of those that have some."""

    def texts(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, str]:
        """Return the text of each of these records, as far as they exist in the scope.

        A ranking reads more records than it returns, and of most of them no more than this.
        """

    def ordinals(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the records that the scope sees and the filter lets through."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""

    def get(self, scope: Scope, keys: Sequence[Key]) -> Mapping[Key, Record]:
        """Return the records with these ids, or these ordinals, in the order of ``keys``.

        As far as they exist in the scope, active or not.
        """


class LeaseStore(Protocol):
    """Which process does what only one may do at a time, and which runs of upkeep are done."""

    def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime, due: datetime | None = None
    ) -> bool:
        """Take or renew the lease ``name``; false while another holder's is unexpired.

        With ``due`` it is the run of ``<stage>:<user>`` that was due then: false also where that
        run is done, or a later one.
        """

    def complete(
        self, name: str, holder: str, *, due: datetime, at: datetime, counts: Mapping[str, int]
    ) -> None:
        """Mark the run of ``<stage>:<user>`` as done, with what it did, and give up the claim.

        Nothing, if the claim is another's by now.
        """

    def stage_leases(self, stage: str) -> Mapping[str, StageLease]:
        """Return the lease on the runs of a stage of each user who has one."""

    def job_runs(self) -> list[JobRun]:
        """Return the last run of each stage, with what it did for all users, by name."""


class Store(SearchStore, LeaseStore, Protocol):
    """A whole store: one way to write, the reads of all rooms, and its own upkeep.

    Reads that only one caller needs are composed above it, of filters, orders and limits.
    """

    @property
    def location(self) -> str:
        """Where it is: a path, ``:memory:`` or an address without secrets."""

    @property
    def identity(self) -> object:
        """What is equal of two stores in one place, as far as that is not seen by its name."""

    @property
    def adoptable(self) -> Path | None:
        """The folder of the store, where another program has memories that are none here yet."""

    def finish_adoption(self) -> int:
        """Remove what another program had and is here now; return how many memories it was."""

    def scope(self, user: str, agent: str | None = None) -> Scope:
        """Return the scope of a user as it is now: it cannot be used once they are deleted.

        Every other method that takes such a scope raises ``UserDeleted`` then.
        """

    def apply(
        self, scope: Scope, actions: Sequence[Action], *, patience: float | None = None
    ) -> list[Outcome]:
        """Carry out ``actions`` in order, in one transaction: all of them or none.

        When it returns, they survive a kill of the process, and every other reader
        sees them. Actions on a record of another scope raise. Returns what was not stored
        because it was known, which positions new records have in their sessions, which items
        took the place of others, and what was taken out by those that remove messages, erase or
        delete: those of one kind in order.

        Args:
            scope: whose rows.
            actions: what to do.
            patience: seconds to wait for other writers, at most; ``None`` is as long as the store
                waits for them.

        Raises:
            NotFound: an action names a record or conversation that is not there.
            StoreBusy: others wrote for longer than that; nothing was changed.
            StoreError: the storage failed; nothing was changed.
        """

    # Records

    def records(
        self, scope: Scope | None, where: Filter, **page: Unpack[RecordPage]
    ) -> list[Record]:
        """Return the matching records, or a page of them.

        Args:
            scope: who asks; ``None`` is all users, only for ``Filter.waiting``.
            where: which records.
            page: how many of them, and in which order.

        Raises:
            NotFound: ``page["after"]`` is no record of this scope.
        """

    def count(self, scope: Scope | None, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind; kinds without any are left out.

        Without a scope as in :meth:`records`.
        """

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Take the next records of any user that wait for a kind of work, the oldest first.

        Nobody else gets them by this method until then; those that do not wait any more are gone.
        A store in which a claim would take as long as the work may give all of them to all.
        """

    def namespaces(self, scope: Scope, where: Filter) -> list[tuple[str, ...]]:
        """Return the namespaces of the matching items, each once, in order."""

    def related(self, scope: Scope, ids: Sequence[str], relation: RecordRelation) -> list[str]:
        """Return the other records that stand in a relation to one of ``ids``, oldest first."""

    def history(self, scope: Scope, id: str) -> list[Change]:
        """Return what was done to a record and its other versions, version by version.

        An erased one leaves only that.
        """

    def trails(self, scope: Scope, ids: Sequence[str]) -> Mapping[str, AuditTrail]:
        """Return what was done to each of these records, as far as they exist."""

    # Entities

    def entities(
        self,
        scope: Scope,
        where: Filter,
        *,
        name: str | None = None,
        type: str | None = None,
        except_type: str | None = None,
        limit: int,
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first, then by name.

        Only those that have ``name``, ignoring case, also as an alias; only those of ``type``, and
        none of ``except_type``.
        Only records that the filter lets through are counted.
        """

    def decisions(self, scope: Scope) -> Mapping[str, str]:
        """Return merges and splits that persons decided: folded name → the name of its entity.

        One that stands alone has itself. For an agent, only of names in what it sees.
        """

    # Conversations

    def conversations(self, scope: Scope, id: str | None = None) -> Mapping[str, ConversationInfo]:
        """Return all conversations by their ids, the newest first, or only that of ``id``.

        Not those that were deleted.
        """

    def messages(
        self,
        scope: Scope,
        id: str | None = None,
        *,
        records: Sequence[str] | None = None,
        now: datetime | None = None,
        **which: Unpack[MessageRange],
    ) -> list[Message]:
        """Return messages in order.

        Those of the conversation ``id``, or those that hold the text of ``records``. Of a
        conversation those that had expired ``now`` are left out, if that is given. A message
        expires with its episode, one without an episode with what came after it, and a system
        message never.
        """

    def expired_through(self, scope: Scope, id: str, *, now: datetime) -> int:
        """Return the position of the message of a conversation that expired last.

        -1, if none had expired ``now``.
        """

    def prunings(self, scope: Scope, id: str) -> list[Pruning]:
        """Return the receipts of all prunings of a conversation, oldest first."""

    def tombstones(self, scope: Scope, id: str, tombstone: str | None = None) -> list[Tombstone]:
        """Return all tombstones of a conversation, oldest first, or only that of this id."""

    def kept_texts(self, scope: Scope) -> list[KeptText]:
        """Return every text of the scope's user that is kept beside the records.

        Of all their agents: messages, also removed ones and those of deleted conversations, system
        prompts, names of conversations, and summaries.
        """

    # Sessions, notes and usage

    def sessions(
        self,
        scope: Scope,
        *,
        id: str | None = None,
        pending: bool = False,
        exclude: str | None = None,
    ) -> Mapping[str, SessionInfo]:
        """Return the sessions with episodes by their ids, the first seen first, or only ``id``.

        With ``pending`` only those not consolidated, and never the one to ``exclude``.
        """

    def notes_bases(self, scope: Scope) -> Mapping[tuple[Scope, str], NotesBase]:
        """Return what ``KeepNotes`` last kept, by scope and folder.

        Of the scope itself; where it names no agent, also of all agents of the user.
        """

    def noteworthy_version(self, scope: Scope, *, now: datetime) -> str:
        """Return a text that is another whenever other facts are noteworthy. Cheap."""

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models, by stage and model."""

    def user_metadata(self, scope: Scope) -> UserMetadata:
        """Return what is kept of the scope's user as a whole; for an agent, what it may see."""

    # The whole store

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the model of the stored vectors; ``None`` before any."""

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors, name the new model and let every record wait; return their count.

        Atomic. Also how the first model of a store is named.
        """

    def users(self) -> list[str]:
        """Return every user with a record or a conversation, in order; no deleted one."""

    def capabilities(self) -> Sequence[Capability]:
        """Return one entry for each of ``capabilities.NAMES``, in their order.

        It says what the storage does by itself: nothing is silently missing.
        """

    def index_large_users(self) -> int:
        """Prepare the search of users with too many memories to rank them all in memory.

        Returns of how many; 0 where each can be.
        """

    def verify(self) -> list[str]:
        """Compare what is derived with what is canonical; one line per problem, none if sound."""

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive index, links and vector queue anew; return what was different."""

    def purge(self, *, large: bool = False) -> str | None:
        """Overwrite the remains of erased text in free space; return why they could not all be.

        Args:
            large: also where others would have to wait for long.
        """

    def backup(self, path: str) -> None:
        """Write a consistent copy to ``path`` while others go on reading and writing.

        Raises:
            InvalidInput: ``path`` exists already.
        """

    def size(self) -> int:
        """Return the bytes that the store takes."""

    def close(self) -> None:
        """Release files and connections. Closing twice is harmless."""


class Progress(Protocol):
    """A callback for the progress of a long operation."""

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` units are finished."""

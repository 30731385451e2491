"""The verbs that look after a whole memory: figures, verification, files in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memoranda.model.capabilities import PURGE
from memoranda.model.checks import named
from memoranda.model.life import StageUsage
from memoranda.model.models import Kind
from memoranda.model.ports import Progress
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.transfer import porting


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """What a memory holds.

    Attributes:
        user: whose memory it is.
        location: where the store is.
        records: active records by kind.
        conversations: stored conversations.
        newest: when the newest record was recorded.
        pending_vectors: records that still wait for their vectors.
        vectors: the embedding model in use, or why there is none.
        size: bytes of the whole store, of all users.
        pending_sessions: sessions that wait to become facts.
        llm: the language model in use, or that there is none.
        usage: what the stages have used of language models.
        names: what finds names, by strategy.
        missing: what could find names but is not set up, and the remedy.
        notes: where the Markdown notes are, or what is wrong with them.
    """

    user: str
    location: str
    records: Mapping[str, int]
    conversations: int
    newest: datetime | None
    pending_vectors: int
    vectors: str
    size: int
    pending_sessions: int
    llm: str
    usage: tuple[StageUsage, ...]
    names: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, str]
    notes: str


class Upkeep:
    """The part of :class:`memoranda.Memory` that does not speak of single records."""

    _scope: Scope
    _parts: Parts

    def stats(self) -> MemoryStats:
        """Return what the memory holds, and whether all its parts work."""
        parts = self._parts
        names = parts.names(self._scope)
        counts = parts.store.count(self._scope, self._where())
        return MemoryStats(
            user=self._scope.user,
            location=parts.store.location,
            records={kind.value: counts.get(kind, 0) for kind in Kind},
            conversations=len(parts.store.conversations(self._scope)),
            newest=parts.store.newest(self._scope),
            pending_vectors=parts.store.pending_count(self._scope),
            vectors=parts.vector_status(),
            size=parts.store.size(),
            pending_sessions=len(parts.store.sessions(self._scope, pending=True)),
            llm="none" if parts.language.model is None else parts.language.model.name,
            usage=tuple(parts.store.usage(self._scope)),
            names=names.strategies,
            missing=names.missing,
            notes=parts.notes.status(self._scope),
        )

    def verify(self) -> list[str]:
        """Return a line for each problem in the whole store; none if it is sound."""
        return self._parts.store.verify()

    def rebuild(self) -> list[str]:
        """Derive index, entity links and vector queue anew; return what was different."""
        found = self._parts.store.rebuild(self._parts.extractor)
        self._parts.retriever.forget()
        return found

    def purge(self) -> bool:
        """Overwrite what erased text left in free space; false while others read the file."""
        return self._parts.wipe()

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Give vectors to all records of the store that wait for them; return how many did."""
        return self._parts.vectors.finish(None, progress)

    def reembed(self, progress: Progress | None = None) -> int:
        """Make every vector of the store anew with the present model; return how many."""
        self._parts.vectors.start_over()
        self._parts.retriever.forget()
        return self._parts.vectors.finish(None, progress)

    def export(self, path: str | Path, *, conversation: str | None = None) -> porting.PortingReport:
        """Write all of the user's records and conversations to a JSON Lines file.

        Args:
            path: the file to make.
            conversation: only this conversation, as a session file with which it can go on
                alone (``Conversation.open``).

        Raises:
            InvalidInput: the file exists already.
            NotFound: there is no such conversation.
        """
        return porting.export(
            self._parts.store,
            self._scope,
            self._parts.now(),
            Path(path),
            conversation=named(conversation, "conversation"),
        )

    def import_(
        self, path: str | Path, format: str | None = None, *, progress: Progress | None = None
    ) -> porting.PortingReport:
        """Read a file of memoranda, or what another program keeps, into memory.

        Args:
            path: the file; of notes and of transcripts, also a folder.
            format: ``memoranda``, ``session``, ``openai`` (messages), ``locomo``,
                ``claude-code``, ``chatgpt``, ``claude``, ``mem0``, ``mcp-memory`` or
                ``memory-md`` (the Markdown memory of an agent: a folder without transcripts of
                Claude Code, or a name that ends in ``.md``); recognised, if not given.
            progress: told after each batch.

        Importing the same file twice adds nothing the second time; of one that has grown, the
        rest. LoCoMo conversations and memories of mem0 go to users of their own, named as in
        the file. What was not read is in the report's ``left_out``.

        Raises:
            InvalidInput: the file is of no known format; the message names the place.
        """
        report = porting.import_file(self._parts, self._scope, Path(path), format, progress)
        self._parts.vectors.notify()
        return report

    def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the whole store, while others go on using it.

        Raises:
            InvalidInput: there is a file at ``path`` already.
        """
        self._parts.store.backup(str(path))

    def _where(self, **conditions: Any) -> Filter:
        return Filter(now=self._parts.now(), **conditions)


def parts_of(memory: Upkeep) -> Parts:
    """Return what a memory works with, for what looks after it."""
    return memory._parts  # noqa: SLF001 - this module sees inside, so that no door has to


def scope_of(memory: Upkeep) -> Scope:
    """Return whose memory it is, for what looks after it."""
    return memory._scope  # noqa: SLF001 - as above


def unpurged(memory: Upkeep) -> str:
    """Return why :meth:`Upkeep.purge` left something in free space, and what to do about it."""
    able = next(each for each in parts_of(memory).store.capabilities() if each.name == PURGE)
    if not able.native:
        return f"free space may still hold what was erased: {able.detail}"
    return (
        "free space could not be overwritten while others read the file; run "
        "memoranda doctor --purge when they are done"
    )

"""Pydantic AI's harness: a store for an agent's notebook, and conversations to be searched.

What its own store in memory can say of a file, ours lets that store say: which paths there can be,
what is cut, what a search finds. Files, versions and operations are those of a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchResult,
)
from pydantic_ai_harness.step_persistence import RunRecord

from memoranda.aio import AsyncMemory
from memoranda.errors import Conflict
from memoranda.integrations.pydantic_ai import read_messages
from memoranda.records.files import FileChange, FileOperation

AwaitedChange = Callable[..., Coroutine[Any, Any, FileChange]]


class HarnessMemoryStore:
    """A store of files with versions, metadata and search, on the files of a memory."""

    def __init__(self, memory: AsyncMemory, namespace: Iterable[str] = ("files",)) -> None:
        """Keep the files under ``namespace``."""
        self.files = memory.files(namespace)

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return a file, cut after ``max_chars`` characters; ``None`` if there is none."""
        found = await self.files.read(path)
        held = InMemoryStore({path: found.content if found else ""})
        shown = await held.read(path, max_chars=max_chars)
        if found is None or shown is None:
            return None
        metadata = {name: str(value) for name, value in found.metadata.items()} or None
        about = {"operation_id": found.operation, "metadata": metadata}
        return replace(shown, version=found.version, **about)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return what an operation did; ``None`` where it was not carried out."""
        own = FileOperation(operation.id, operation.fingerprint)
        try:
            done = await self.files.find_operation(own)
        except Conflict as error:
            raise MemoryOperationConflictError(str(error)) from error
        return as_mutation(done) if done else None

    async def write(self, path: str, content: str, **expected: Any) -> MemoryMutation:
        """Write a file without metadata, if its version is ``expected_version``."""
        return await self.write_with_metadata(path, content, metadata=None, **expected)

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Write a file, if its version is ``expected_version``."""
        await InMemoryStore().write_with_metadata(
            path, content, expected_version=None, metadata=metadata
        )
        about: dict[str, Any] = {"expected_version": expected_version, "metadata": metadata}
        return await self._change(self.files.write, operation, path, content, **about)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file, if its version is ``expected_version``."""
        InMemoryStore({path: ""})
        expected: dict[str, Any] = {"expected_version": expected_version}
        return await self._change(self.files.delete, operation, path, **expected)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the first paths that begin with ``prefix``."""
        paths: list[str] = await (await self._listed(prefix)).list_paths(prefix, limit=limit)
        return paths

    async def search(self, prefix: str, query: str, **bounds: int) -> MemorySearchResult:
        """Return the files below ``prefix`` that hold words of ``query``, within the bounds."""
        return await (await self._listed(prefix)).search(prefix, query, **bounds)

    async def _listed(self, prefix: str) -> InMemoryStore:
        """Return the files that the harness can name."""
        found = await self.files.list_files(prefix)
        return InMemoryStore({each.path: each.content for each in found if is_path(each.path)})

    async def _change(
        self, verb: AwaitedChange, operation: MemoryOperation | None, *given: str, **more: Any
    ) -> MemoryMutation:
        own = FileOperation(operation.id, operation.fingerprint) if operation else None
        try:
            return as_mutation(await verb(*given, operation=own, **more))
        except Conflict as error:
            if operation:
                await self.get_operation(operation)
            raise MemoryConflictError(str(error)) from error


class ConversationHistory:
    """A source for the capability ``ConversationSearch``: the conversations of a memory."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Show the conversations of ``memory``, whoever held them."""
        self.memory = memory

    async def list_runs(self) -> list[RunRecord]:
        """Return each conversation as a run, the oldest first."""
        return [
            RunRecord(run_id=each.id, conversation_id=each.id, started_at=each.created_at)
            for each in reversed(await self.memory.conversations())
        ]

    async def run_history(self, *, run_id: str) -> list[ModelMessage]:
        """Return what was said in a conversation; nothing, if there is none of that name."""
        if run_id not in {each.id for each in await self.memory.conversations()}:
            return []
        chat = await self.memory.conversation(run_id)
        return read_messages(await chat.messages())


def as_mutation(change: FileChange) -> MemoryMutation:
    """Return a change as the harness wants to hear of it."""
    return MemoryMutation(change.version, change.replayed, change.existed)


def is_path(path: str) -> bool:
    """Return whether the harness can name a file so."""
    try:
        InMemoryStore({path: ""})
    except ValueError:
        return False
    return True

"""A backend for Deep Agents: its file tools work on the files of a memory.

What the tools answer is made by its own ``StoreBackend``, over a store that has the files of the
memory. A change that somebody else's came before is made anew, from what is there then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from deepagents.backends import BackendProtocol, StoreBackend, protocol
from langgraph.store.base import BaseStore, GetOp, Op, PutOp, SearchItem, SearchOp

from memoranda.errors import Conflict, MemorandaError
from memoranda.integrations import blocks
from memoranda.memory import Memory
from memoranda.records.files import FileVersion

# What the store of one call says its namespace is; that of the files is the memory's.
NAMESPACE = ("files",)


class FileStore(BaseStore):
    """The files of a memory as a store of LangGraph, for one call of a tool.

    It writes a file only as long as that is what it read.
    """

    def __init__(self, backend: DeepAgentsBackend) -> None:
        """Have read nothing yet."""
        self._files, self._backend = backend.files, backend
        self._versions: dict[str, str | None] = {}
        self._listed: list[SearchItem] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """Return what each operation gives."""
        return [self._answer(op) for op in ops]

    abatch = blocks.awaited(batch)

    def _answer(self, op: Op) -> Any:
        match op:
            case GetOp():
                return self._get(op.key)
            case PutOp(value=dict(value)):
                self._put(op.key, **value)
            case PutOp():
                self._files.delete(op.key)
            case SearchOp():
                return self._list()[op.offset : op.offset + op.limit]
        return None

    def _get(self, key: str) -> SearchItem | None:
        if key == self._backend.notes:
            return self._notes()
        found = self._files.read(key)
        self._versions[key] = found.version if found else None
        return as_item(found) if found else None

    def _put(self, key: str, content: str, **about: Any) -> None:
        if key == self._backend.notes:
            self._backend.memory.notes.write_memory(content)
            return
        about.pop("modified_at", None)  # A file says itself when it was written.
        expected = {"expected_version": self._versions[key]} if key in self._versions else {}
        self._files.write(key, content, metadata=about, **expected)

    def _list(self) -> list[SearchItem]:
        """Return all files, read once: a page at a time is asked for."""
        if self._listed is None:
            self._listed = [as_item(each) for each in self._files.list_files()]
            self._listed += [self._notes()] if self._backend.notes else []
        return self._listed

    def _notes(self) -> SearchItem:
        text, now = self._backend.memory.notes.read_memory(), datetime.now(UTC)
        value = {"content": text, "encoding": "utf-8"}
        return SearchItem(NAMESPACE, self._backend.notes or "", value, now, now)


def as_item(found: FileVersion) -> SearchItem:
    """Return a file as Deep Agents keeps one in a store."""
    when = found.written_at
    value = {"encoding": "utf-8", **found.metadata, "modified_at": when.isoformat()}
    return SearchItem(NAMESPACE, f"/{found.path}", {"content": found.content, **value}, when, when)


def carry_out(verb: str, result: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb of a backend; what a memory refuses is an error for the model to read."""

    def run(self: DeepAgentsBackend, *arguments: Any, **named: Any) -> Any:
        try:
            return self.call(verb, *arguments, **named)
        except MemorandaError as error:
            return result(error=f"Error: {error}")

    return run


def transfer(verb: str, response: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return a verb that takes many files, each of which may fail by itself."""

    def run(self: DeepAgentsBackend, given: Iterable[Any]) -> list[Any]:
        done: list[Any] = []
        for each in given:
            try:
                done += self.call(verb, [each])
            except MemorandaError as error:
                path = each if isinstance(each, str) else each[0]
                done.append(response(path=path, error=str(error)))
        return done

    return run


class DeepAgentsBackend(BackendProtocol):
    """The files of a memory for ``create_deep_agent(backend=…)``, whole or for a route."""

    def __init__(
        self, memory: Memory, namespace: Iterable[str] = NAMESPACE, *, notes: str | None = None
    ) -> None:
        """Keep files under ``namespace``; ``notes`` is the path at which MEMORY.md is one, too."""
        self.memory, self.files, self.notes = memory, memory.files(namespace), notes

    def call(self, verb: str, *arguments: Any, **named: Any) -> Any:
        """Return what Deep Agents' own backend does with the files as they are now."""
        while True:
            backend = StoreBackend(store=FileStore(self), namespace=lambda _: NAMESPACE)
            try:
                return getattr(backend, verb)(*arguments, **named)
            except Conflict:
                continue

    ls = carry_out("ls", protocol.LsResult)
    read = carry_out("read", protocol.ReadResult)
    write = carry_out("write", protocol.WriteResult)
    edit = carry_out("edit", protocol.EditResult)
    delete = carry_out("delete", protocol.DeleteResult)
    grep = carry_out("grep", protocol.GrepResult)
    glob = carry_out("glob", protocol.GlobResult)
    upload_files = transfer("upload_files", protocol.FileUploadResponse)
    download_files = transfer("download_files", protocol.FileDownloadResponse)

"""Text files by path, each with its versions: what the file tools of agents and frameworks need.

A file is an item: its folders are parts of the namespace, its name is the key. A new version
supersedes the one before it, as a correction does, so that history and erasing know them all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from memoranda.errors import Conflict, InvalidInput, NotFound
from memoranda.model.changes import Close, Insert, RecordChange
from memoranda.model.checks import clean, content_hash, storable
from memoranda.model.models import UNSET, ForgetReceipt, Hit, Record, Unset
from memoranda.model.query import Filter, Order
from memoranda.records.drafts import Draft, parse_namespace
from memoranda.records.service import RecordService
from memoranda.store.sql.reads import SqlReads

LONGEST_PATH = 1_024
MOST_SEGMENTS = 20
LARGEST_FILE = 100_000
# What no path may hold: control characters, and what ends a line or a paragraph.
UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
# The namespace of the receipts of operations, and how long an operation can be repeated.
OPERATIONS = "file-operations"
REPEATABLE = timedelta(days=30)
# The field of an item's metadata that names the operation which wrote it.
OPERATION = "file_operation"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """One version of a text file.

    Attributes:
        path: ``folder/name.md``, within the namespace of the view.
        content: the text.
        version: an opaque name of this version; no other version of any file has it.
        content_sha256: of the text in UTF-8, in hexadecimal digits.
        metadata: what was attached when it was written.
        written_at: when.
        operation: the id of the operation that wrote it, if one was given.
        record: the id of the item that holds it, for ``Memory.history`` and ``Memory.forget``.
    """

    path: str
    content: str
    version: str
    content_sha256: str
    metadata: Mapping[str, Any]
    written_at: datetime
    operation: str | None
    record: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a write, a move or a deletion of a file did.

    Attributes:
        path: the file.
        version: which it has now; ``None`` where it is deleted.
        existed: whether there was a file before.
        replayed: whether nothing was done, as the same operation had been carried out already.
    """

    path: str
    version: str | None
    existed: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class FileHit:
    """A file that a search found, with the score of the hit: 0 to 1."""

    file: FileVersion
    score: float


@dataclass(frozen=True, slots=True)
class FileOperation:
    """The identity of one change, by which it is carried out once however often it is asked for.

    Attributes:
        id: a name that no other change has.
        fingerprint: what tells whether it is the same change; by its arguments, if not given.
    """

    id: str
    fingerprint: str = ""


class ExpectedFile(NamedTuple):
    """What a file has to be for a change of it; a field that is unset may be anything."""

    version: str | Unset | None = UNSET
    content_sha256: str | Unset | None = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Versioned text files of one namespace of a memory: see ``Memory.files``.

    Every change is one transaction: of several writers that expect the same version, in any
    threads and processes, one succeeds. A change takes ``expected_version`` or ``expected_sha256``:
    the file as the caller knows it; ``None`` is no file. Without either it holds in any case. And
    it takes an ``operation``: repeated within 30 days, it returns what it did the first time.

    Attributes:
        namespace: where the files are.
        records: stores them.
        admit: refuses or masks secrets of a draft.
        find: searches the items of a namespace.
    """

    namespace: tuple[str, ...]
    records: RecordService
    admit: Callable[[Draft], Draft]
    find: Callable[..., list[Hit]]

    def read(self, path: str, *, version: str | None = None) -> FileVersion | None:
        """Return a file, or one version of it; ``None`` if there is none.

        Raises:
            InvalidInput: it is no path.
        """
        if version is None:
            found = self._newest(self.records.store, path)
            return None if found is None else self._shown(found)
        return next((each for each in self.versions(path) if each.version == version), None)

    def write(
        self,
        path: str,
        content: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        expected_version: str | Unset | None = UNSET,
        expected_sha256: str | Unset | None = UNSET,
        operation: FileOperation | str | None = None,
    ) -> FileChange:
        """Make a file, or give it a new version.

        Args:
            path: up to 20 folders and a name, 1,024 bytes: ``folder/name.md``.
            content: the text, 100,000 bytes at most; it comes back as it is.
            metadata: any JSON to keep with this version.
            expected_version, expected_sha256: what the file is now; ``None`` is no file.
            operation: by which the same write is carried out once.

        Raises:
            Conflict: the file is another, or the operation was another change.
            InvalidInput: it is no path, or the text cannot be stored.
        """
        draft = self._draft(path, content, metadata)
        expected = ExpectedFile(expected_version, expected_sha256)
        done = self._operation(operation, "write", path, content, metadata, expected)
        return self._change(done, path, draft, expected)

    def edit(self, path: str, change: Callable[[str], str]) -> FileChange:
        """Give a file the text that ``change`` makes of its newest one, whoever else writes it.

        Raises:
            NotFound: there is no such file.
        """
        while True:
            found = self.read(path)
            if found is None:
                raise self._missing(path)
            text, metadata = change(found.content), found.metadata
            try:
                return self.write(path, text, metadata=metadata, expected_version=found.version)
            except Conflict:
                continue

    def move(
        self,
        path: str,
        to: str,
        *,
        expected_version: str | Unset | None = UNSET,
        operation: FileOperation | str | None = None,
    ) -> FileChange:
        """Give a file another path, where no file may be; its former versions stay its history.

        Raises:
            NotFound: there is no such file.
            Conflict: it is another, or there is a file already.
        """
        found = self.read(path)
        if found is None:
            raise self._missing(path)
        draft = self._draft(to, found.content, found.metadata)
        asked = ExpectedFile(expected_version)
        done = self._operation(operation, "move", path, to, asked)
        expected = asked if expected_version is not UNSET else ExpectedFile(found.version)
        return self._change(done, path, draft, expected)

    def delete(
        self,
        path: str,
        *,
        expected_version: str | Unset | None = UNSET,
        expected_sha256: str | Unset | None = UNSET,
        operation: FileOperation | str | None = None,
    ) -> FileChange:
        """Delete a file, if there is one; its versions stay readable until they are erased.

        Raises:
            Conflict: the file is another, or the operation was another change.
        """
        expected = ExpectedFile(expected_version, expected_sha256)
        done = self._operation(operation, "delete", path, expected)
        return self._change(done, path, None, expected)

    def erase(self, path: str) -> ForgetReceipt:
        """Remove a file and all versions of it for good, as ``Memory.forget(…, erase=True)`` does.

        Raises:
            NotFound: there never was such a file.
        """
        found = self._kept(path)
        if not found:
            raise self._missing(path)
        return self.records.forget([each.id for each in found], erase=True)

    def versions(self, path: str) -> list[FileVersion]:
        """Return all that stood at a path, the newest first, also where it was deleted."""
        return [self._shown(each) for each in self._kept(path)]

    def list_files(self, prefix: str = "") -> list[FileVersion]:
        """Return the files whose paths begin with ``prefix``, by path; ``folder/`` is a folder."""
        store, scope, folder = self.records.store, self.records.scope, prefix.rpartition("/")[0]
        where = Filter(now=self.records.now(), namespace=self._folder(folder))
        own = sorted(store.records(scope, where), key=lambda item: item.agent == scope.agent)
        files = {self._path(each): each for each in own}  # An agent's own one comes last.
        return [self._shown(files[path]) for path in sorted(files) if path.startswith(prefix)]

    def search(self, query: str, *, folder: str = "", limit: int = 5) -> list[FileHit]:
        """Return the files in a folder and below it that best answer ``query``, best first."""
        hits = self.find(query, namespace=self._folder(folder), limit=limit)
        return [FileHit(self._shown(hit.record), hit.score) for hit in hits]

    def find_operation(self, operation: FileOperation | str) -> FileChange | None:
        """Return what an operation did; ``None`` where it was not carried out.

        Raises:
            Conflict: it was another change, by its fingerprint.
        """
        asked = operation if isinstance(operation, FileOperation) else FileOperation(operation)
        return self._receipt(self.records.store, asked)

    def _folder(self, folder: str) -> tuple[str, ...]:
        return (*self.namespace, *(parse_path(folder) if folder else ()))

    def _address(self, path: str) -> tuple[tuple[str, ...], str]:
        *folders, name = parse_path(path)
        return (*self.namespace, *folders), name

    def _draft(self, path: str, content: str, metadata: Mapping[str, Any] | None) -> Draft:
        size = len(storable(content, "content").encode())
        if size > LARGEST_FILE:
            message = f"{path!r:.80} has {size:,} bytes; a file may have {LARGEST_FILE:,}: split it"
            raise InvalidInput(message)
        namespace, key = self._address(path)
        draft = Draft(content=content, kind="item", namespace=namespace, key=key, metadata=metadata)
        return self.admit(draft)

    def _operation(
        self, operation: FileOperation | str | None, *arguments: object
    ) -> FileOperation | None:
        """Return an operation with its fingerprint: by default of the arguments of the change."""
        if operation is None or (isinstance(operation, FileOperation) and operation.fingerprint):
            return operation
        name = operation.id if isinstance(operation, FileOperation) else operation
        return FileOperation(name, content_hash(repr(arguments)))

    def _change(
        self,
        operation: FileOperation | None,
        path: str,
        draft: Draft | None,
        expected: ExpectedFile,
    ) -> FileChange:
        """Let a draft, or nothing, take the place of a file in one transaction."""
        records = self.records
        with records.store.write(records.scope) as tx:
            tx.register(begins=draft is not None)  # A user without a row would lock nobody out.
            if operation is not None and (done := self._receipt(tx, operation)):
                return done
            old = self._newest(tx, path)
            _require_expected(path, None if old is None else self._shown(old), expected)
            changes: list[RecordChange] = []
            new = None if draft is None else self._successor(draft, old, operation)
            if old is not None:
                by = None if new is None else new.id
                changes.append(Close(old.id, records.now(), "replaced", superseded_by=by))
            change = FileChange(path.removeprefix("/"), None, existed=old is not None)
            if new is not None:
                shown = self._shown(new)
                if shown.path != change.path and self._newest(tx, shown.path):
                    raise Conflict(f"there is a file at {shown.path!r:.80} already")
                change = replace(change, path=shown.path, version=shown.version)
                changes.append(Insert(new, reason="written"))
            stored = tx.carry_out(changes)
            if operation is not None:  # A receipt is nothing that subscribers should hear of.
                receipt = Draft(
                    content=operation.fingerprint,
                    kind="item",
                    namespace=(OPERATIONS, *self.namespace),
                    key=operation.id,
                    metadata=asdict(change),
                    valid_until=records.now() + REPEATABLE,
                )
                tx.carry_out([records.plan(receipt)])
        records.announce(stored)
        return change

    def _successor(
        self, draft: Draft, old: Record | None, operation: FileOperation | None
    ) -> Record:
        """Return the record of a new version; who could see the former one sees it, too."""
        metadata = dict(draft.get("metadata") or {})
        if operation is not None:
            metadata[OPERATION] = operation.id
        new = self.records.plan({**draft, "metadata": metadata}).record
        return new if old is None else replace(new, agent=old.agent, supersedes=old.id)

    def _newest(self, reads: SqlReads, path: str) -> Record | None:
        return reads.item(self.records.scope, *self._address(path), now=self.records.now())

    def _kept(self, path: str) -> list[Record]:
        """Return all items that stood at a path, the newest first."""
        namespace, key = self._address(path)
        where = Filter.at_any_time(namespace=namespace, key=key)
        return self.records.store.records(self.records.scope, where, order=Order.LATEST)

    def _path(self, record: Record) -> str:
        return "/".join((*record.namespace[len(self.namespace) :], record.key or ""))

    def _shown(self, record: Record) -> FileVersion:
        """Return an item as a version of a file."""
        metadata = dict(record.metadata)
        operation = metadata.pop(OPERATION, None)
        digest = sha256(record.content.encode()).hexdigest()
        return FileVersion(
            path=self._path(record),
            content=record.content,
            # An application may have changed the item in place: it is another version then.
            version=f"{record.id}-{content_hash(f'{digest}{metadata}')[:8]}",
            content_sha256=digest,
            metadata=metadata,
            written_at=record.event_time,
            operation=operation,
            record=record.id,
        )

    def _receipt(self, reads: SqlReads, operation: FileOperation) -> FileChange | None:
        address = (OPERATIONS, *self.namespace), clean(operation.id, "operation")
        found = reads.item(self.records.scope, *address, now=self.records.now())
        if found is None:
            return None
        if operation.fingerprint and found.content != operation.fingerprint:
            message = f"operation {operation.id!r:.80} was another change; give this one its own id"
            raise Conflict(message)
        return FileChange(**{**found.metadata, "replayed": True})

    def _missing(self, path: str) -> NotFound:
        return NotFound(f"there is no file {path!r:.80} in {'/'.join(self.namespace)!r:.80}")


def _require_expected(path: str, found: FileVersion | None, expected: ExpectedFile) -> None:
    """Refuse to change a file that is not as its caller knows it.

    Raises:
        Conflict: it is of another version, has another text, or is there or not there.
    """
    for name, wanted in expected._asdict().items():
        is_now = None if found is None else getattr(found, name)
        if wanted is not UNSET and wanted != is_now:
            message = f"{path!r:.80} was changed: its {name} is {is_now}, not {wanted!r:.80}"
            raise Conflict(f"{message}; read it again")


def parse_path(path: object) -> tuple[str, ...]:
    """Return the segments of a path; a slash before the first is none of its own.

    Raises:
        InvalidInput: it is no path; the message says why.
    """
    text = storable(path, "path").removeprefix("/")
    segments = tuple(text.split("/"))
    reasons = {
        "has an empty segment, '.' or '..'": {"", ".", ".."}.intersection(segments),
        "holds a control character": any(unicodedata.category(c) in UNSEEN for c in text),
        "is not in Unicode form NFC; use unicodedata.normalize('NFC', path)": (
            not unicodedata.is_normalized("NFC", text)
        ),
        f"has {len(segments)} segments; it may have {MOST_SEGMENTS}": len(segments) > MOST_SEGMENTS,
        f"is longer than {LONGEST_PATH:,} bytes": len(text.encode()) > LONGEST_PATH,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInput(f"path={path!r:.80} {reason}; write 'folder/name.md'")
    return segments


def parse_files_namespace(namespace: Iterable[str]) -> tuple[str, ...]:
    """Return the namespace of a view of files, which is not that of the receipts.

    Raises:
        InvalidInput: it cannot be used.
    """
    parts = parse_namespace(namespace)
    if not parts or parts[0] == OPERATIONS:
        raise InvalidInput(f"namespace={parts!r:.80} can hold no files; write namespace=('files',)")
    return parts

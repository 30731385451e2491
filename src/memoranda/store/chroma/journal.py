"""The journal of a folder: what each commit changed, in order, as rows of a collection.

An entry is a patchset of SQLite's session extension, in base64 as metadata (documents would go
into Chroma's full-text index), in one row, or in several where it is large; the first of these is
written last, and is the commit. A snapshot is an entry that holds everything, and begins the
journal anew.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, NamedTuple

from memoranda.errors import NotADatabase, SchemaTooNew
from memoranda.store.chroma.folder import ChromaFolder, batches

JOURNAL = "memoranda-journal"
# The row that says up to which entry the memories are written.
MIRRORED = "mirrored"
# Characters of a patch in one row: Chroma holds the rows of a call several times.
PIECE = 1_000_000
# Entries that are fetched in one call.
TOGETHER = 32
# Bytes of commits that are kept behind any snapshot.
SMALLEST = 1 << 18
NO_VECTOR = [1.0]


class JournalEntry(NamedTuple):
    """What one commit changed.

    Attributes:
        schema: number of the schema that the tables had.
        patch: the patchset.
    """

    schema: int
    patch: bytes


class Journal:
    """Keeps the commits of a folder.

    Attributes:
        number: of the last entry; 0 before any.
    """

    def __init__(self, folder: ChromaFolder) -> None:
        """Keep them in a collection of their own."""
        self._folder = folder
        self.number = 0
        self._snapshot_bytes = self._commit_bytes = 0

    def read(self, newest_schema: int) -> Iterator[JournalEntry]:
        """Yield the last snapshot and the commits after it, in order.

        Raises:
            SchemaTooNew: a newer memoranda wrote one.
            NotADatabase: one is missing or cannot be read.
        """
        snapshots = self._ids(where={"snapshot": True})
        first = max(snapshots, default="")
        held = sorted(each for each in self._ids() if each[:1].isdigit() and "-" not in each)
        wanted = [each for each in held if each >= first]
        for ids in batches(wanted, TOGETHER):
            rows = self._rows(list(ids))
            for each in ids:
                yield self._entry(each, rows[each], newest_schema)
        if held[: len(held) - len(wanted)]:  # Whoever wrote the snapshot was killed.
            self._remove_before(int(first))

    def append(self, entry: JournalEntry, *, snapshot: bool = False) -> None:
        """Commit an entry; where it fails, it is not there."""
        text = b64encode(entry.patch).decode()
        pieces = list(batches(text, PIECE)) or [""]
        number = self.number + 1
        head = {"number": number, "schema": entry.schema, "parts": len(pieces)}
        for part, piece in enumerate(pieces[1:], 1):
            self._write(f"{number:012}-{part}", {"number": number, "patch": piece})
        self._write(f"{number:012}", {**head, "snapshot": snapshot, "patch": pieces[0]})
        self._count(number, len(text), snapshot=snapshot)

    def begin_anew(self, entry: JournalEntry) -> None:
        """Write a snapshot, and remove all entries before it."""
        self.append(entry, snapshot=True)
        self._remove_before(self.number)

    @property
    def outgrown(self) -> bool:
        """Whether the commits are larger than the snapshot that they follow."""
        return self._commit_bytes > max(self._snapshot_bytes, SMALLEST)

    @property
    def mirrored(self) -> int:
        """Number of the entry up to which the memories are known to be written."""
        return int(self._rows([MIRRORED]).get(MIRRORED, {}).get("through", -1))

    def note_mirrored(self) -> None:
        """Note that the memories are written up to the last entry."""
        if self.mirrored != self.number:
            self._write(MIRRORED, {"through": self.number})

    def _count(self, number: int, size: int, *, snapshot: bool) -> None:
        self.number = number
        if snapshot:
            self._snapshot_bytes, self._commit_bytes = size, 0
        else:
            self._commit_bytes += size

    def _entry(self, id: str, row: dict[str, Any], newest_schema: int) -> JournalEntry:
        try:
            number, schema = row["number"], row["schema"]
            if schema > newest_schema:
                message = (
                    f"{self._folder} has schema {schema}, this memoranda knows up to "
                    f"{newest_schema}; upgrade with pip install -U memoranda"
                )
                raise SchemaTooNew(message)
            if not row["snapshot"] and number != self.number + 1:
                raise ValueError(f"entry {self.number + 1} is missing")  # noqa: TRY301
            pieces = [f"{id}-{part}" for part in range(1, row["parts"])]
            text = row["patch"] + "".join(self._rows([it])[it]["patch"] for it in pieces)
            patch = b64decode(text, validate=True)
        except (KeyError, ValueError, TypeError) as error:
            message = (
                f"{self._folder}: the journal cannot be read ({error}); something else changed "
                f"it. Restore a backup"
            )
            raise NotADatabase(message) from error
        self._count(number, len(text), snapshot=row["snapshot"])
        return JournalEntry(schema, patch)

    def _ids(self, **where: Any) -> list[str]:
        ids: list[str] = self._folder.call(JOURNAL, "get", include=[], **where)["ids"]
        return ids

    def _rows(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        found = self._folder.call(JOURNAL, "get", ids=ids, include=["metadatas"])
        return dict(zip(found["ids"], found["metadatas"], strict=True))

    def _write(self, id: str, row: dict[str, Any]) -> None:
        values = {"ids": [id], "embeddings": [NO_VECTOR], "metadatas": [row]}
        self._folder.call(JOURNAL, "upsert", **values)

    def _remove_before(self, number: int) -> None:
        self._folder.call(JOURNAL, "delete", where={"number": {"$lt": number}})

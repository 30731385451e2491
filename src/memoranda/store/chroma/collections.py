"""The collections of a place: opened, made, called and purged of what was removed.

``memories`` has the records and their embeddings for other readers, ``journal`` all rows, as
:mod:`memoranda.store.chroma.journal` keeps them. All embeddings of a
collection have one length, which Chroma takes from the first. Those of another length, because
the store's model was changed, are in a collection of their own, ``memories-1536``: nothing has to
move while other processes write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from chromadb.api.models.Collection import Collection as ChromaCollection

from memoranda.store.chroma import index_files, removed_rows
from memoranda.store.chroma.client import Connection, translated
from memoranda.store.chroma.place import Folder, Place

MEMORIES, JOURNAL = "memories", "journal"
OURS = re.compile(rf"{JOURNAL}|{MEMORIES}(-\d+)?")
PAGE = 1_000
# Writes after which Chroma's index is stored: what comes after is replayed at each opening.
SYNC = 100
# A user whom nobody can be: what is written of them changes nothing.
NOBODY = "-"
T = TypeVar("T")


class Collections(Connection):
    """Calls the collections of one place."""

    def __init__(self, place: Place) -> None:
        """Open the collections that are there; others are made when they are first called."""
        super().__init__(place)
        self._open: dict[str, ChromaCollection] = {}
        try:
            self.look()
        except BaseException:
            self.close()
            raise

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a collection."""
        return name in self._open

    def look(self) -> None:
        """See which collections there are, as other processes make some, too."""
        with translated(self.place):
            found = self.client.list_collections()
        self._open |= {each.name: each for each in found if OURS.fullmatch(each.name)}

    def _opened(self, name: str) -> ChromaCollection:
        if name not in self._open:
            self._open[name] = self._made(name)
        return self._open[name]

    def _made(self, name: str) -> ChromaCollection:
        index = {"space": "cosine", "sync_threshold": SYNC, "batch_size": SYNC}
        with translated(self.place):
            made: ChromaCollection = self.client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"hnsw:space": "cosine"},
                configuration={"hnsw": index},
            )
            return made

    # Lengths

    def width(self) -> int | None:
        """Return how many numbers the embeddings of the memories have; ``None`` before any."""
        if _dimension(self._opened(MEMORIES)) is None:
            self._open[MEMORIES] = self._made(MEMORIES)
        return _dimension(self._open[MEMORIES])

    def homes(self) -> list[str]:
        """Return all collections that may have embeddings of records."""
        if self.shared:
            self.look()
        return [name for name in self._open if name != JOURNAL]

    # Calls

    def call(self, collection: str, method: str, **arguments: Any) -> Any:
        """Call a method of a collection; its failures are errors of ours."""
        opened = self._opened(collection)
        with translated(self.place):
            return getattr(opened, method)(**arguments)

    def pages(
        self, collection: str, where: Mapping[str, Any] | None, include: Sequence[str]
    ) -> Iterator[Any]:
        """Return what a collection has, in parts."""
        wanted = {"where": where and dict(where), "include": include, "limit": PAGE}
        for offset in count(0, PAGE):
            found = self.call(collection, "get", **wanted, offset=offset)
            yield found
            if len(found["ids"]) < PAGE:
                return

    # What was removed

    def purge(self, place: Folder) -> None:
        """Overwrite what is left in a folder of rows that were removed, or had another text.

        Chroma takes a vector out of an index by a mark, keeps the latest writes in its log, the
        letters of a document in its full-text index, and names of metadata in its schema.
        """
        self.look()
        for name, collection in self._open.items():
            self._save_index(name, collection)
        with self.left(place):
            used = removed_rows.overwrite(place.database, self._open)
            index_files.drop(place.path, used)
            index_files.blank(place.path, removed=True)
        self.look()

    def _save_index(self, name: str, collection: ChromaCollection) -> None:
        """Let Chroma save an index, after which nothing needs the log: it is time by then."""
        if _dimension(collection) is None:
            return  # Nothing was written.
        writes = collection.configuration_json["hnsw"]["sync_threshold"]
        for ids in batches([f"{NOBODY}{number}" for number in range(writes)], PAGE):
            self.call(name, "update", ids=ids, metadatas=[{"user": NOBODY}] * len(ids))


def _dimension(collection: ChromaCollection) -> int | None:
    return collection._model.dimension  # noqa: SLF001 - it is told nowhere else


def batches(values: Sequence[T] | Collection[T], size: int) -> Iterator[list[T]]:
    """Return ``values`` in lists of at most ``size``."""
    held = list(values)
    for start in range(0, len(held), size):
        yield held[start : start + size]

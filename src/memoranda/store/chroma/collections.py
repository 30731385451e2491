"""The collections of a place: opened, made, called, copied and written anew.

``memories`` has the records and their embeddings for other readers, ``journal`` all rows, as
:mod:`memoranda.store.chroma.journal` keeps them. All embeddings of a
collection have one length, which Chroma takes from the first. Those of another length, because
the store's model was changed, are in a collection of their own, ``memories-1536``: nothing has to
move while other processes write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.errors import ChromaError

from memoranda.store.chroma.client import Connection, translated
from memoranda.store.chroma.place import Folder, Place

MEMORIES, JOURNAL = "memories", "journal"
OURS = re.compile(rf"{JOURNAL}|{MEMORIES}(-\d+)?")
# Behind the name under which a collection is written anew.
NEXT = "-next"
EVERYTHING = ["metadatas", "documents", "embeddings"]
PAGE = 1_000
# Writes after which Chroma's index is stored: what comes after is replayed at each opening.
SYNC = 100
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
            client = self.client
            found: dict[str, ChromaCollection] = {c.name: c for c in client.list_collections()}
            for name in [name for name in found if name.endswith(NEXT)]:
                base = name.removesuffix(NEXT)
                # A writing anew was broken off: before the old one was dropped, or after. Another
                # process may be mending it at this moment.
                with suppress(ChromaError):
                    if base in found:
                        client.delete_collection(name)
                    else:
                        found[name].modify(name=base)
                        found[base] = found[name]
        self._open |= {name: each for name, each in found.items() if OURS.fullmatch(name)}

    def _opened(self, name: str) -> ChromaCollection:
        if name not in self._open:
            self._open[name] = self._made(name)
        return self._open[name]

    def _made(self, name: str, like: ChromaCollection | None = None) -> ChromaCollection:
        space = "cosine" if like is None else like.configuration_json["hnsw"]["space"]
        index = {"space": space, "sync_threshold": SYNC, "batch_size": SYNC}
        with translated(self.place):
            made: ChromaCollection = self.client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"hnsw:space": space} if like is None else like.metadata,
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

    # All of it

    def rewrite(self, place: Folder) -> None:
        """Write all of a folder anew and drop the old, with what was removed from it."""
        for name in (*self.homes(), JOURNAL):
            new = self._made(name + NEXT, like=self._open[name])
            for page in self.pages(name, None, EVERYTHING):
                told = {each: page[each] for each in EVERYTHING if each != "documents"}
                if any(page["documents"] or ()):
                    told["documents"] = page["documents"]
                if page["ids"]:
                    with translated(self.place):
                        new.upsert(ids=page["ids"], **told)
            with translated(self.place):
                self.client.delete_collection(name)
                new.modify(name=name)
        self._vacuum(place)
        self.look()


def _dimension(collection: ChromaCollection) -> int | None:
    return collection._model.dimension  # noqa: SLF001 - it is told nowhere else


def batches(values: Sequence[T] | Collection[T], size: int) -> Iterator[list[T]]:
    """Return ``values`` in lists of at most ``size``."""
    held = list(values)
    for start in range(0, len(held), size):
        yield held[start : start + size]

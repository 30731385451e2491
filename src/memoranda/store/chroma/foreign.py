"""Memories that another program keeps in Chroma, as that of requirement S1 does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from chromadb.errors import NotFoundError

from memoranda.errors import InvalidInput
from memoranda.store.chroma.client import Connection, translated
from memoranda.store.chroma.collections import MEMORIES, PAGE
from memoranda.store.chroma.mirror import OURS
from memoranda.store.chroma.place import Folder
from memoranda.store.chroma.replicas import Replicas


def foreign(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, text and metadata of what others put into ``memories`` of the folder ``path``.

    Raises:
        InvalidInput: there is no such collection.
        StoreError: the folder cannot be used, or another process has it.
    """
    place = Folder(path.expanduser().absolute())
    with _client(place) as client, translated(place):
        try:
            collection = client.get_collection(MEMORIES, embedding_function=None)
        except NotFoundError as error:
            message = f"{path} has no collection {MEMORIES!r}; there is nothing to import"
            raise InvalidInput(message) from error
        rows: list[tuple[str, str | None, dict[str, Any] | None]] = []
        for offset in range(0, collection.count(), PAGE):
            page = collection.get(limit=PAGE, offset=offset, include=["documents", "metadatas"])
            rows += zip(page["ids"], page["documents"], page["metadatas"], strict=True)
        return [
            (key, text or "", told or {}) for key, text, told in rows if OURS not in (told or {})
        ]


@contextmanager
def _client(place: Folder) -> Iterator[Any]:
    """Give a client of the folder: the one that this process has, as there can be no other."""
    replicas = Replicas.serving(place)
    if replicas is not None:
        with replicas.lock:
            yield replicas.connection.client
    else:
        with closing(Connection(place)) as connection:
            yield connection.client

"""CrewAI: a storage backend of its memory, on items under the scope of each record."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord, ScopeInfo

from memoranda.integrations import blocks
from memoranda.memory import Memory
from memoranda.model.checks import MOST
from memoranda.model.models import Record

ROOT = "crewai"
NOTHING = "-"  # the content of a record without a text


class MemorandaStorage:
    """Keeps what CrewAI's memory keeps, with the vectors that CrewAI made.

    A search compares the query with every vector below its scope.

    Args:
        memory: keeps the records, each as an item that ``search(…, kind="item")`` finds, too.
    """

    def __init__(self, memory: Memory) -> None:
        """Keep nothing yet."""
        self.memory = memory

    def save(self, records: list[MemoryRecord]) -> None:
        """Keep records, all or none."""
        self.memory.remember_many(map(as_item, records))

    def update(self, record: MemoryRecord) -> None:
        """Put a record in the place of the one with its id."""
        former = self._find([record.id])
        self.save([record])
        for each in former:
            if each.namespace != place(record.scope):
                self.memory.forget(each.id)

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that records were recalled now."""
        now = {"last_accessed": datetime.now(UTC).replace(tzinfo=None)}
        self.save([as_record(each).model_copy(update=now) for each in self._find(record_ids)])

    def search(
        self, query_embedding: list[float], *, limit: int = 10, min_score: float = 0, **which: Any
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records of the nearest vectors, each with 1 / (1 + squared distance).

        Raises:
            EmbeddingDimensionMismatchError: the vectors were made by another model.
        """
        asked, scored = np.asarray(query_embedding, np.float32), []
        for each in self._select(**which):
            vector = vector_of(each)
            if vector.size not in (0, asked.size):
                raise EmbeddingDimensionMismatchError(vector.size, asked.size)
            if vector.size:
                scored.append((1 / (1 + float(((vector - asked) ** 2).sum())), each))
        scored.sort(key=lambda pair: pair[0], reverse=True)
        return [(as_record(each), score) for score, each in scored[:limit] if score >= min_score]

    def delete(self, **which: Any) -> int:
        """Forget the records that meet every condition; return how many they were."""
        gone = [each.id for each in self._select(**which)]
        self.memory.forget_many(ids=gone)
        return len(gone)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record; ``None`` if there is none."""
        return next(map(as_record, self._find([record_id])), None)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return the records of a scope, the newest first."""
        found = [as_record(each) for each in self._select(scope_prefix)]
        found.sort(key=lambda each: each.created_at, reverse=True)
        return found[offset : offset + limit] if offset >= 0 else []

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how many records a scope has, of which categories and times."""
        found = self.list_records(scope, MOST)
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=len(found),
            categories=sorted({name for each in found for name in each.categories}),
            oldest_record=found[-1].created_at if found else None,
            newest_record=found[0].created_at if found else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below one."""
        above = place(parent)
        paths = self.memory.namespaces(above, len(above) + 1)
        return ["/" + "/".join(path[1:]) for path in paths if len(path) > len(above)]

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories in a scope, each with the number of its records."""
        return Counter(tag for each in self._select(scope_prefix) for tag in each.tags)

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records a scope has."""
        return self.memory.count(namespace=place(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget all records of a scope."""
        self.memory.forget_many(namespace=place(scope_prefix))

    asave, asearch, adelete = blocks.awaited(save), blocks.awaited(search), blocks.awaited(delete)

    def _find(self, ids: list[str]) -> list[Record]:
        return self.memory.records(namespace=(ROOT,), metadata={"id": {"in": ids}}, limit=MOST)

    def _select(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
    ) -> list[Record]:
        wanted = (metadata_filter or {}).items()
        return [
            each
            for each in self.memory.records(namespace=place(scope_prefix), limit=MOST)
            if (not categories or {*categories} & {*each.tags})
            and all(each.metadata["metadata"].get(name) == value for name, value in wanted)
            and (record_ids is None or each.key in record_ids)
            and (older_than is None or as_record(each).created_at < older_than)
        ]


def place(scope: str | None) -> tuple[str, ...]:
    """Return the namespace of a scope."""
    return (ROOT, *filter(None, (scope or "").split("/")))


def as_item(record: MemoryRecord) -> dict[str, Any]:
    """Return a record as memory keeps it."""
    vector = np.asarray(record.embedding or (), np.float32).tobytes()
    return {
        "kind": "item",
        "namespace": place(record.scope),
        "key": record.id,
        "content": record.content if record.content.strip() else NOTHING,
        "tags": record.categories,
        "metadata": record.model_dump(mode="json") | {"vector": b64encode(vector).decode()},
    }


def as_record(item: Record) -> MemoryRecord:
    """Return an item as CrewAI has it."""
    return MemoryRecord(**item.metadata, embedding=vector_of(item).tolist() or None)


def vector_of(item: Record) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the vector of a record; an empty one, if it has none."""
    return np.frombuffer(b64decode(item.metadata["vector"]), np.float32)

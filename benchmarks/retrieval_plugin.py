"""memoranda as an arm of a retrieval evaluator, through its public face alone.

The evaluator gives documents (``id``, ``text``, ``meta``) and asks for an order. Each
document is remembered as an episode with its date and speaker, and each question is one
``search`` with a limit as large as the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from benchmarks.kit.datasets import read_date
from memoranda import Hit, Memory, Settings

BATCH = 500


class Document(Protocol):
    """What the evaluator gives: a text with what is known about it."""

    id: str
    text: str
    meta: dict[str, Any]


class MemorandaArm:
    """A memory that holds one corpus."""

    def __init__(self, docs: Sequence[Document], **retrieval: Any) -> None:
        """Remember every document, in order, and make its vector."""
        chosen = {"retrieval": retrieval} if retrieval else {}
        # No facts but those that are asked for: else they would come at any time.
        settings = Settings(timezone="UTC", consolidation={"automatic": False}, **chosen)
        self._memory = Memory(":memory:", settings=settings)
        self.count = len(docs)
        self._place: dict[str, int] = {}
        dates: dict[object, datetime] = {}
        for start in range(0, len(docs), BATCH):
            batch = docs[start : start + BATCH]
            records = self._memory.remember_many([item(doc, dates) for doc in batch])
            self._place |= {record.id: start + i for i, record in enumerate(records)}
        self._memory.embed_pending()

    def rank(self, query: str) -> list[int]:
        """Return the places of all documents, the best first."""
        hits = self._memory.search(query, limit=self.count)
        order = list(dict.fromkeys(place for hit in hits for place in self.places(hit)))
        found = set(order)
        return order + [place for place in range(self.count) if place not in found]

    def places(self, hit: Hit) -> list[int]:
        """Return the documents that a hit is, or was drawn from."""
        ids = (hit.record.id, *hit.record.source_ids)
        return [self._place[each] for each in ids if each in self._place]

    def consolidate(self) -> None:
        """Draw facts from the documents."""
        self._memory.consolidate()
        self._memory.embed_pending()


def make(docs: Sequence[Document]) -> MemorandaArm:
    """Return the arm with the default configuration.

    Give it as ``--plugin benchmarks.retrieval_plugin:make``. Settings come from the
    environment, as always: ``MEMORANDA_RETRIEVAL__FUSION=rrf``.
    """
    return MemorandaArm(docs)


def make_with_facts(docs: Sequence[Document]) -> MemorandaArm:
    """Return the same with facts: ``--plugin benchmarks.retrieval_plugin:make_with_facts``."""
    arm = MemorandaArm(docs)
    arm.consolidate()
    return arm


def item(doc: Document, dates: dict[object, datetime]) -> dict[str, Any]:
    """Return how the memory is told of a document; ``dates`` are those of sessions until here."""
    meta = doc.meta
    session = meta.get("session")
    # BEAM dates only the first turn of a session: those after it happened then, too.
    date = read_date(meta.get("date")) or dates.get(session)
    if date is not None:
        dates[session] = date
    return {
        "content": doc.text if doc.text.strip() else "(empty)",
        "kind": "episode",
        "session": None if session is None else str(session),
        "role": meta.get("speaker") or meta.get("role"),
        # Of talks between people the speakers are known by name.
        "trust": "person" if meta.get("speaker") else None,
        "event_time": date,
    }

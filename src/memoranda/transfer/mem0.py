"""The memories of mem0: what its ``get_all`` returns or its export holds.

Each becomes a fact with its metadata, its time and its end, of the user whom its ``user_id`` names,
as conversations of LoCoMo have users of their own; without one, of the user who imports. The
memories of an ``agent_id`` are that agent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memoranda.model.models import Scope
from memoranda.records.drafts import Draft
from memoranda.text.json_values import list_of, words_of
from memoranda.transfer import sources

# What is kept with a fact, as ``mem0_id`` and so on.
KEPT = ("id", "updated_at", "run_id", "app_id", "actor_id")
DAY = len("2026-03-31")


def read_records(
    path: Path, target: sources.ImportTarget, counts: sources.ImportCounts
) -> Iterator[sources.ForeignRecord]:
    """Yield a fact for each memory, and whose it is."""
    scope = target.scope
    for place, memory in sources.read_values(path, counts, ["results"]):
        with counts.reading(place):
            draft = _draft(memory)
            user, agent = words_of(memory, "user_id").strip(), words_of(memory, "agent_id").strip()
            whose = Scope(user or scope.user, agent or scope.agent)
            key = memory.get("id") and f"{memory['id']}\n{draft.content}"
            yield sources.ForeignRecord(place, whose, draft, key=key)


def _draft(memory: Mapping[str, Any]) -> Draft:
    content, own = sources.text_of(memory, "memory"), memory.get("metadata")
    kept = {f"mem0_{name}": memory.get(name) for name in KEPT if memory.get(name) is not None}
    tags = list_of(memory, "categories")
    return Draft(
        content=content,
        tags=[tag for tag in tags if isinstance(tag, str) and tag.strip()],
        metadata={**(own if isinstance(own, Mapping) else {}), **kept},
        event_time=sources.moment_of(memory.get("created_at"), "created_at"),
        valid_until=_end(memory.get("expiration_date")),
        role=words_of(memory, "role").strip() or None,
    )


def _end(value: object) -> datetime | None:
    """Return when a memory ends: a moment, or the end of a day in UTC."""
    at = sources.moment_of(value, "expiration_date")
    return at + timedelta(days=1) if at and len(str(value)) == DAY else at

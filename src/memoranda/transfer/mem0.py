"""The memories of mem0: what its ``get_all`` returns or its export holds.

Each becomes a fact with its metadata, its time and its end, of the user whom its ``user_id`` names,
as conversations of LoCoMo have users of their own; without one, of the user who imports. The
memories of an ``agent_id`` are that agent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta, tzinfo
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import require_aware
from memoranda.model.models import Scope
from memoranda.records.drafts import Draft
from memoranda.text.json_values import list_of, words_of
from memoranda.transfer.batches import ImportTarget, PlacedDraft, is_kept
from memoranda.transfer.json_files import JsonFile, JsonItem, LeftOut, moment_of, text_of

# What is kept with a fact, as ``mem0_id`` and so on.
KEPT = ("id", "updated_at", "run_id", "app_id", "actor_id")
DAY = len("2026-03-31")


def read_drafts(file: JsonFile, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Yield a fact for each memory, and whose it is."""
    scope = target.scope
    for place, memory in _memories(file, left_out):
        with left_out.reading(place):
            draft = _draft(memory, left_out, target.zone)
            user, agent = words_of(memory, "user_id"), words_of(memory, "agent_id")
            if is_kept(draft.content, left_out):
                user, agent = user.strip() and user, agent.strip() and agent
                whose = Scope(user or scope.user, agent or scope.agent)
                key = memory.get("id") and f"{memory['id']}\n{draft.content}"
                yield PlacedDraft(place, whose, draft, key=key)


def _memories(file: JsonFile, left_out: LeftOut) -> Iterator[JsonItem]:
    for place, value in file.items(left_out):
        if not isinstance(value, Mapping) or "results" not in value or "memory" in value:
            yield JsonItem(place, value)
            continue
        with left_out.reading(place):
            left_out.add("relations of mem0's graph", len(list_of(value, "relations")))
            for number, result in enumerate(list_of(value, "results"), 1):
                yield JsonItem(f"{place}, result {number}", result)


def _draft(memory: Mapping[str, Any], left_out: LeftOut, zone: tzinfo) -> Draft:
    content, own = text_of(memory, "memory"), memory.get("metadata")
    if own is not None and not isinstance(own, Mapping):
        left_out.add("metadata that are no object")
    metadata: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    kept = {f"mem0_{name}": memory.get(name) for name in KEPT if memory.get(name) is not None}
    tags, role = list_of(memory, "categories"), words_of(memory, "role")
    return Draft(
        content=content,
        tags=[tag for tag in tags if isinstance(tag, str) and tag.strip()],
        metadata=metadata | kept,
        event_time=moment_of(memory.get("created_at"), "created_at"),
        valid_until=_end(memory.get("expiration_date"), zone),
        role=role if role.strip() else None,
    )


def _end(value: object, zone: tzinfo) -> datetime | None:
    """Return when a memory ends: a moment, or the end of a day in the zone of the user."""
    if isinstance(value, str) and len(value) == DAY:
        try:
            day = datetime.combine(datetime.fromisoformat(value), time(), zone)
        except ValueError as error:
            message = f"expiration_date={value!r} is no day; write it as 2026-03-31"
            raise InvalidInput(message) from error
        return require_aware(day + timedelta(days=1), "expiration_date")
    return moment_of(value, "expiration_date")

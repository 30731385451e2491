"""The memories of mem0: what its ``get_all`` returns or its export holds.

Each becomes a fact with its metadata and its own time, of the user whom its ``user_id`` names,
as conversations of LoCoMo have users of their own; without one, of the user who imports. The
memories of an ``agent_id`` are that agent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.model.models import Scope
from memoranda.records.drafts import Draft
from memoranda.transfer.batches import PlacedDraft, is_kept
from memoranda.transfer.json_files import JsonFile, JsonItem, LeftOut, moment_of, text_of

# What is kept with a fact, as ``mem0_id`` and so on.
KEPT = ("id", "updated_at", "run_id", "app_id", "actor_id")


def read_drafts(file: JsonFile, scope: Scope, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Return a fact for each memory, and whose it is.

    Raises:
        InvalidInput: a memory is not in mem0's form; the message names it.
    """
    seen: set[str] = set()
    for item in _memories(file, left_out):
        with located(item.place):
            fields = JsonObject(item.value)
            draft = _draft(fields, left_out)
        user, agent = _name(fields, "user_id"), _name(fields, "agent_id")
        key = fields.get("id")
        if isinstance(key, str) and key in seen:
            left_out.add("memories that stand twice in the file")
            continue
        if isinstance(key, str):
            seen.add(key)
        if is_kept(draft.content, left_out):
            whose = Scope(user or scope.user, agent or scope.agent)
            yield PlacedDraft(item.place, whose, draft)


def _memories(file: JsonFile, left_out: LeftOut) -> Iterator[JsonItem]:
    for item in file.items():
        value = item.value
        if not isinstance(value, Mapping) or "results" not in value or "memory" in value:
            yield item
            continue
        with located(item.place):
            found = JsonObject(value)
            results = found.list("results")
            left_out.add("relations of mem0's graph", len(found.list("relations")))
        for number, result in enumerate(results, 1):
            yield JsonItem(f"{item.place}, result {number}", result)


def _name(fields: JsonObject, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _draft(fields: JsonObject, left_out: LeftOut) -> Draft:
    own, tags = fields.get("metadata"), fields.get("categories")
    if own is not None and not isinstance(own, Mapping):
        left_out.add("metadata that are no object")
    if tags is not None and not isinstance(tags, list):
        raise InvalidInput(f"categories must be a list, got {tags!r:.80}")
    metadata: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    kept = {f"mem0_{name}": fields.get(name) for name in KEPT if fields.get(name) is not None}
    return Draft(
        content=text_of(fields, "memory"),
        tags=[tag for tag in tags or () if isinstance(tag, str) and tag.strip()],
        metadata=metadata | kept,
        event_time=moment_of(fields.get("created_at"), "created_at"),
        role=_name(fields, "role"),
    )

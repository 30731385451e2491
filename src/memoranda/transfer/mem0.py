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
from memoranda.model.models import Kind, Scope
from memoranda.records.drafts import Draft
from memoranda.transfer.batches import PlacedDraft, is_kept
from memoranda.transfer.json_files import (
    MEM0,
    JsonItem,
    JsonValues,
    LeftOut,
    moment_of,
    text_of,
)

KEPT = ("id", "updated_at", "run_id", "app_id", "actor_id")
"""What is kept with a fact, as ``mem0_id`` and so on."""


def is_mem0(value: object) -> bool:
    """Return whether a value of a file is of mem0: a memory, or an answer with several."""
    match value:
        case {"memory": str(), "id": _}:
            return True
        case {"results": [{"memory": str()}, *_]}:
            return True
    return False


def read_drafts(
    file: JsonValues, scope: Scope, left_out: LeftOut
) -> Iterator[tuple[Scope, PlacedDraft]]:
    """Return a fact for each memory, and whose it is.

    Raises:
        InvalidInput: a memory is not in mem0's form; the message names it.
    """
    seen: set[str] = set()
    for item in _memories(file, left_out):
        with located(item.place):
            fields = JsonObject(item.value)
            name = fields.get("id")
            text = text_of(fields, "memory")
            whose = Scope(
                _name(fields, "user_id") or scope.user, _name(fields, "agent_id") or scope.agent
            )
            draft = _draft(fields, text, left_out)
        if isinstance(name, str) and name in seen:
            left_out.add("memories that stand twice in the file")
            continue
        if isinstance(name, str):
            seen.add(name)
        if is_kept(text, left_out):
            yield whose, PlacedDraft(item.place, draft)


def _memories(file: JsonValues, left_out: LeftOut) -> Iterator[JsonItem]:
    for item in file.items():
        value = item.value
        if isinstance(value, Mapping) and "results" in value and "memory" not in value:
            with located(item.place):
                found = JsonObject(value)
                results = found.list("results")
                left_out.add("relations of mem0's graph", len(found.list("relations")))
            for number, result in enumerate(results, 1):
                yield JsonItem(f"{item.place}, result {number}", result)
        else:
            yield item


def _name(fields: JsonObject, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _draft(fields: JsonObject, text: str, left_out: LeftOut) -> Draft:
    own = fields.get("metadata")
    metadata: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    if own is not None and not isinstance(own, Mapping):
        left_out.add("metadata that are no object")
    for name in KEPT:
        if fields.get(name) is not None:
            metadata[f"mem0_{name}"] = fields.get(name)
    return Draft(
        content=text,
        kind=Kind.FACT,
        tags=_tags(fields.get("categories")),
        metadata=metadata,
        event_time=moment_of(fields.get("created_at"), "created_at"),
        role=_name(fields, "role"),
        origin=f"import:{MEM0}",
    )


def _tags(categories: object) -> tuple[str, ...]:
    if categories is None:
        return ()
    if isinstance(categories, list):
        return tuple(tag for tag in categories if isinstance(tag, str) and tag.strip())
    message = f"categories must be a list, got {categories!r:.80}"
    raise InvalidInput(message)

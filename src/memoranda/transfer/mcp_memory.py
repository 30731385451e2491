"""The knowledge graph of the reference memory server of MCP: ``memory.jsonl``.

Each line is an entity with its observations, or a relation of two entities (version 2026.8 of
``@modelcontextprotocol/server-memory``); what its tool ``read_graph`` returns is read, too. Each
observation becomes a fact that names its entity, each relation a sentence. The file has no times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.model.models import Mention, Scope
from memoranda.records.drafts import Draft
from memoranda.transfer.batches import PlacedDraft, is_kept
from memoranda.transfer.json_files import NAMES, JsonFile, JsonItem, LeftOut, plain_text, text_of

TYPE_OF = {
    word: kind for kind, words in NAMES["mcp_memory"]["types"].items() for word in words.split()
}
OTHER = "other"
KINDS = {"entities": "entity", "relations": "relation"}


# Place, metadata, and the names of the entities in its text.
Fact = tuple[str, dict[str, Any], tuple[str, ...]]


def read_drafts(file: JsonFile, scope: Scope, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Return a fact for each observation and each relation.

    Raises:
        InvalidInput: an entity or a relation is not in the server's form; the message names it.
    """
    types: dict[str, str] = {}
    facts: dict[str, Fact] = {}
    for item in _values(file):
        with located(item.place):
            for text, metadata, names in _read(JsonObject(item.value), types, left_out):
                known = facts.get(text)
                # Which of two ways to say the same comes first in the file is of no account.
                if known is None or names < known[2]:
                    facts[text] = (item.place, metadata, names)
    for text, (place, metadata, names) in facts.items():
        if is_kept(text, left_out):
            draft = Draft(content=text, metadata=metadata)
            # The first name stands at the beginning of the text, the other at its end.
            starts = (0, len(text) - len(names[-1]))
            mentions = (
                Mention(name, types.get(name, OTHER), start, start + len(name))
                for name, start in zip(names, starts, strict=False)
            )
            yield PlacedDraft(place, scope, draft, tuple(mentions))


def _values(file: JsonFile) -> Iterator[JsonItem]:
    """Yield entities and relations, each with its type."""
    for item in file.items():
        if not isinstance(item.value, Mapping) or "entities" not in item.value:
            yield item
            continue
        with located(item.place):
            fields = JsonObject(item.value)
            groups = {kind: fields.list(kind) for kind in KINDS}
        for kind, values in groups.items():
            for number, value in enumerate(values, 1):
                place = f"{item.place}, {kind}, item {number}"
                with located(place):
                    JsonObject(value)  # It must be an object.
                yield JsonItem(place, {**value, "type": KINDS[kind]})


def _read(
    fields: JsonObject, types: dict[str, str], left_out: LeftOut
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """Yield text, metadata and names of what a line says; note the type of its entity."""
    match fields.get("type"):
        case "entity":
            yield from _observations(fields, types, left_out)
        case "relation":
            one, other = text_of(fields, "from"), text_of(fields, "to")
            kind = text_of(fields, "relationType")
            words = " ".join(kind.replace("_", " ").split())
            metadata = {"from": one, "relation": kind, "to": other}
            yield f"{one} {words} {other}", metadata, (one, other)
        case _:
            left_out.add("lines that are neither entity nor relation")


def _observations(
    fields: JsonObject, types: dict[str, str], left_out: LeftOut
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    name, kind = text_of(fields, "name"), fields.get("entityType")
    metadata = {"entity": name}
    if isinstance(kind, str):
        metadata["entity_type"] = kind
        if kind.strip():
            types.setdefault(name, TYPE_OF.get(kind.strip().lower(), OTHER))
    observations = fields.list("observations")
    if not observations:
        left_out.add("entities without observations")
    for number, observation in enumerate(observations, 1):
        if not isinstance(observation, str):
            message = f"observation {number} must be text, got {observation!r:.80}; correct it"
            raise InvalidInput(message)
        if observation.strip():
            yield f"{name}: {plain_text(observation)}", metadata, (name,)
        else:
            left_out.add("observations without text")

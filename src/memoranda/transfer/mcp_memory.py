"""The knowledge graph of the reference memory server of MCP: ``memory.jsonl``.

Each line is an entity with its observations, or a relation of two entities (version 2026.8 of
``@modelcontextprotocol/server-memory``); what its tool ``read_graph`` returns is read, too. Each
observation becomes a fact that names its entity, each relation a sentence. The file has no times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.models import Mention
from memoranda.records.drafts import Draft
from memoranda.text.json_values import list_of, object_of
from memoranda.transfer.batches import ImportTarget, PlacedDraft, is_kept
from memoranda.transfer.json_files import NAMES, JsonFile, JsonItem, LeftOut, plain_text, text_of

TYPE_OF = {
    word: kind for kind, words in NAMES["mcp_memory"]["types"].items() for word in words.split()
}
OTHER = "other"
KINDS = {"entities": "entity", "relations": "relation"}
# Place, metadata, and the names of the entities in its text.
Fact = tuple[str, dict[str, Any], tuple[str, ...]]


def read_drafts(file: JsonFile, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Yield a fact for each observation and each relation."""
    types: dict[str, str] = {}
    facts: dict[str, Fact] = {}
    for place, value in _values(file, left_out):
        with left_out.reading(place):
            for text, metadata, names in _read(value, types, left_out):
                known = facts.get(text)
                # Which of two ways to say the same comes first in the file is of no account.
                if known is None or names < known[2]:
                    facts[text] = (place, metadata, names)
    for text, (place, metadata, names) in facts.items():
        if is_kept(text, left_out):
            draft = Draft(content=text, metadata=metadata)
            # The first name stands at the beginning of the text, the other at its end.
            starts = (0, len(text) - len(names[-1]))
            mentions = (
                Mention(name, types.get(name, OTHER), start, start + len(name))
                for name, start in zip(names, starts, strict=False)
            )
            yield PlacedDraft(place, target.scope, draft, tuple(mentions), once=True)


def _values(file: JsonFile, left_out: LeftOut) -> Iterator[JsonItem]:
    """Yield entities and relations, each with its type."""
    for place, value in file.items(left_out):
        if not isinstance(value, Mapping) or "entities" not in value:
            yield JsonItem(place, value)
            continue
        for kind, name in KINDS.items():
            for number, each in enumerate(list_of(value, kind), 1):
                typed = {**each, "type": name} if isinstance(each, Mapping) else each
                yield JsonItem(f"{place}, {kind}, item {number}", typed)


def _read(
    value: object, types: dict[str, str], left_out: LeftOut
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """Yield text, metadata and names of what a line says; note the type of its entity."""
    match object_of(value).get("type"):
        case "entity":
            yield from _observations(object_of(value), types, left_out)
        case "relation":
            one, other = text_of(value, "from"), text_of(value, "to")
            kind = text_of(value, "relationType")
            words = " ".join(kind.replace("_", " ").split())
            metadata = {"from": one, "relation": kind, "to": other}
            yield f"{one} {words} {other}", metadata, (one, other)
        case _:
            left_out.add("lines that are neither entity nor relation")


def _observations(
    entity: Mapping[str, Any], types: dict[str, str], left_out: LeftOut
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    name, kind = text_of(entity, "name"), entity.get("entityType")
    metadata = {"entity": name}
    if isinstance(kind, str):
        metadata["entity_type"] = kind
        if kind.strip():
            types.setdefault(name, TYPE_OF.get(kind.strip().lower(), OTHER))
    observations = list_of(entity, "observations")
    if not observations:
        left_out.add("entities without observations")
    for number, observation in enumerate(observations, 1):
        with left_out.reading(f"entity {name}, observation {number}"):
            if not isinstance(observation, str):
                raise InvalidInput(f"an observation must be text, got {observation!r:.80}")
            if observation.strip():
                yield f"{name}: {plain_text(observation)}", metadata, (name,)
            else:
                left_out.add("observations without text")

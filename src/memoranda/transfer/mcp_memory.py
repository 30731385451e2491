"""The knowledge graph of the reference memory server of MCP: ``memory.jsonl``.

Each line is an entity with its observations, or a relation of two entities (version 2026.8 of
``@modelcontextprotocol/server-memory``); what its tool ``read_graph`` returns is read, too. Each
observation becomes a fact that names its entity, each relation a sentence. The file has no times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.model.models import Kind, Mention, Scope
from memoranda.records.drafts import Draft
from memoranda.transfer.batches import PlacedDraft, is_kept
from memoranda.transfer.json_files import (
    MCP_MEMORY,
    JsonItem,
    JsonValues,
    LeftOut,
    plain_text,
    text_of,
)

TYPES = {
    "person": "person people human user friend colleague contact family",
    "organization": "organization organisation company org team employer institution school",
    "location": "location place city country town region address",
    "project": "project product software tool app application library repository service",
    "date": "date event",
}
TYPE_OF = {word: kind for kind, words in TYPES.items() for word in words.split()}
OTHER = "other"


def is_mcp_memory(value: object) -> bool:
    """Return whether a value of a file is of the graph of the MCP memory server."""
    match value:
        case {"type": "entity", "name": str(), "observations": list()}:
            return True
        case {"type": "relation", "from": str(), "to": str()}:
            return True
        case {"entities": list(), "relations": list()}:
            return True
    return False


@dataclass(slots=True)
class _Graph:
    """The entities and relations of a file.

    Attributes:
        types: name → type of the entity, as it is called here.
        facts: text → its fact: the same said twice is one.
    """

    types: dict[str, str] = field(default_factory=dict)
    facts: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = field(default_factory=dict)


def read_drafts(
    file: JsonValues, scope: Scope, left_out: LeftOut
) -> Iterator[tuple[Scope, PlacedDraft]]:
    """Return a fact for each observation and each relation.

    Raises:
        InvalidInput: an entity or a relation is not in the server's form; the message names it.
    """
    graph = _Graph()
    for item in _values(file):
        with located(item.place):
            _read(item, graph, left_out)
    for text, (place, metadata, names) in graph.facts.items():
        if is_kept(text, left_out):
            draft = Draft(
                content=text, kind=Kind.FACT, metadata=metadata, origin=f"import:{MCP_MEMORY}"
            )
            yield scope, PlacedDraft(place, draft, tuple(_mentions(text, names, graph.types)))


def _values(file: JsonValues) -> Iterator[JsonItem]:
    for item in file.items():
        if isinstance(item.value, Mapping) and "entities" in item.value:
            with located(item.place):
                fields = JsonObject(item.value)
                groups = {kind: fields.list(kind) for kind in ("entities", "relations")}
            for kind, values in groups.items():
                for number, value in enumerate(values, 1):
                    with located(f"{item.place}, {kind}, item {number}"):
                        JsonObject(value)
                    what = "entity" if kind == "entities" else "relation"
                    yield JsonItem(f"{item.place}, {kind}, item {number}", {**value, "type": what})
        else:
            yield item


def _read(item: JsonItem, graph: _Graph, left_out: LeftOut) -> None:
    fields = JsonObject(item.value)
    match fields.get("type"):
        case "entity":
            _entity(item.place, fields, graph, left_out)
        case "relation":
            one, other = text_of(fields, "from"), text_of(fields, "to")
            kind = text_of(fields, "relationType")
            words = " ".join(kind.replace("_", " ").split())
            metadata = {"from": one, "relation": kind, "to": other}
            _add(graph, f"{one} {words} {other}", item.place, metadata, (one, other))
        case _:
            left_out.add("lines that are neither entity nor relation")


def _entity(place: str, fields: JsonObject, graph: _Graph, left_out: LeftOut) -> None:
    name = text_of(fields, "name")
    kind = fields.get("entityType")
    if isinstance(kind, str) and kind.strip():
        graph.types.setdefault(name, TYPE_OF.get(kind.strip().lower(), OTHER))
    observations = fields.list("observations")
    if not observations:
        left_out.add("entities without observations")
    for number, observation in enumerate(observations, 1):
        if not isinstance(observation, str):
            message = f"observation {number} must be text, got {observation!r:.80}; correct it"
            raise InvalidInput(message)
        if not observation.strip():
            left_out.add("observations without text")
            continue
        metadata = (
            {"entity": name, "entity_type": kind} if isinstance(kind, str) else {"entity": name}
        )
        _add(graph, f"{name}: {plain_text(observation)}", place, metadata, (name,))


def _add(
    graph: _Graph, text: str, place: str, metadata: dict[str, Any], names: tuple[str, ...]
) -> None:
    known = graph.facts.get(text)
    # Which of two ways to say the same comes first in the file is of no account.
    if known is None or names < known[2]:
        graph.facts[text] = (place, metadata, names)


def _mentions(text: str, names: tuple[str, ...], types: Mapping[str, str]) -> Iterator[Mention]:
    """Return where the entities stand: the first at the beginning, the other at the end."""
    starts = (0, len(text) - len(names[-1]))
    for name, start in zip(names, starts, strict=False):
        yield Mention(name, types.get(name, OTHER), start, start + len(name))

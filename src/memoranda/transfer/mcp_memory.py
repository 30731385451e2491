"""The knowledge graph of the reference memory server of MCP: ``memory.jsonl``.

Each line is an entity with its observations, or a relation of two entities (version 2026.8 of
``@modelcontextprotocol/server-memory``); what its tool ``read_graph`` returns is read, too. Each
observation becomes a fact that names its entity, each relation a sentence. The file has no times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from memoranda.errors import InvalidInput
from memoranda.model.models import Mention
from memoranda.records.drafts import Draft
from memoranda.text.json_values import list_of, object_of, words_of
from memoranda.transfer import sources

TYPE_OF = {
    word: kind
    for kind, words in sources.NAMES["mcp_memory"]["types"].items()
    for word in words.split()
}
OTHER = "other"
# Text, the names of the entities that begin and end it, and metadata.
Fact: TypeAlias = tuple[str, tuple[str, ...], dict[str, Any]]


def read_records(
    path: Path, target: sources.ImportTarget, counts: sources.ImportCounts
) -> Iterator[sources.ForeignRecord]:
    """Yield a fact for each observation and each relation."""
    types: dict[str, str] = {}
    facts: list[tuple[str, Fact]] = []
    for place, value in sources.read_values(path, counts, ["entities", "relations"]):
        with counts.reading(place):
            match object_of(value):
                case {"observations": _}:
                    facts += ((place, fact) for fact in _observations(value, types, counts))
                case {"relationType": _}:
                    facts.append((place, _relation(value)))
                case _:
                    counts.leave_out("lines that are neither entity nor relation")
    for place, (text, names, metadata) in facts:
        # The first name stands at the beginning of the text, the other at its end.
        starts = (0, len(text) - len(names[-1]))
        mentions = (
            Mention(name, types.get(name, OTHER), start, start + len(name))
            for name, start in zip(names, starts, strict=False)
        )
        draft = Draft(content=text, metadata=metadata)
        yield sources.ForeignRecord(place, target.scope, draft, tuple(mentions), once=True)


def _relation(value: Mapping[str, Any]) -> Fact:
    one, other, kind = (sources.text_of(value, name) for name in ("from", "to", "relationType"))
    text = f"{one} {' '.join(kind.replace('_', ' ').split())} {other}"
    return text, (one, other), {"from": one, "relation": kind, "to": other}


def _observations(
    entity: Mapping[str, Any], types: dict[str, str], counts: sources.ImportCounts
) -> Iterator[Fact]:
    """Yield what is observed of an entity; note its type."""
    name, kind = sources.text_of(entity, "name"), words_of(entity, "entityType")
    types[name] = TYPE_OF.get(kind.strip().lower(), OTHER)
    metadata = {"entity": name} | ({"entity_type": kind} if kind else {})
    for observation in list_of(entity, "observations"):
        with counts.reading(f"entity {name}"):
            if not isinstance(observation, str):
                raise InvalidInput(f"an observation must be text, got {observation!r:.80}")
            if observation.strip():
                yield f"{name}: {sources.plain_text(observation)}", (name,), metadata

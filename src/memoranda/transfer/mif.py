"""MIF, the Memory Interchange Format, version 2.0: what is known, as one JSON document.

It is the draft of March 2026, ``mif-spec`` of varun29ankuS, with the converter ``mif-tools``. What
file says beside texts, tags and metadata is kept and written again, as the draft demands; what
memoranda knows besides stands in its vendor extension. Vectors are made anew. Facts, contexts and
reflections are written; what was said goes into an export of memoranda.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from importlib.metadata import version
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from memoranda.errors import InvalidInput
from memoranda.model.checks import iso
from memoranda.model.models import Kind, Record, Scope, Trust, is_active
from memoranda.model.query import Filter
from memoranda.records.drafts import Draft
from memoranda.store.sql.store import Store
from memoranda.text.json_values import list_of, object_of, to_object, value_of, words_of
from memoranda.transfer import sources

VENDOR, EXTENSIONS = "memoranda", "vendor_extensions"
# The types of what is known, and the type of what is no fact.
TYPES = {Kind.FACT: "observation", Kind.CONTEXT: "context", Kind.REFLECTION: "learning"}
SAID = "conversation"
# The fields of a record that stand in the extension, and their names there.
ENDS = ("valid_until", "event_until")
SAME = ("kind", "confidence", "decay_rate", "trust", *ENDS)
OWN = {name: name for name in SAME} | {"session_id": "session", "source_role": "role"}
# Where the rest of a memory is kept in its metadata, and that of a document as an item.
REST = "mif"
# What is not kept of a document, and of a memory.
ENVELOPE = frozenset({"mif_version", "generator", "export_meta", "memories", EXTENSIONS})
TOLD = frozenset({"content", "metadata", "tags", "embeddings"})


def document_lines(
    store: Store, scope: Scope, now: datetime, counts: sources.ImportCounts
) -> Iterator[tuple[str, bytes]]:
    """Yield a document of what the scope knows; count that, and what is left out."""
    memories, own, rest = list[dict[str, Any]](), dict[str, Any](), dict[str, Any]()
    for page in store.pages(scope, Filter.at_any_time(kinds=tuple(Kind))):
        for record in (each for each in page if is_active(each, now)):
            if record.namespace == (REST,):
                rest |= record.metadata
            elif record.kind in TYPES:
                memories.append(_memory(record))
                told = ((OWN.get(name), value) for name, value in to_object(record).items())
                own[memories[-1]["id"]] = {n: v for n, v in told if n and v is not None}
            else:
                counts.leave_out(f"records of the kind {record.kind} left out")
    counts.moved["records"] += len(memories)
    head = {
        "mif_version": "2.0",
        "generator": {"name": VENDOR, "version": version(VENDOR)},
        "export_meta": {"created_at": iso(now), "user_id": scope.user},
    }
    extensions = {**rest.get(EXTENSIONS, {}), VENDOR: {"memory_metadata": own}}
    document = {**head, "memories": memories, **rest, EXTENSIONS: extensions}
    yield sources.FileFormat.MIF, json.dumps(document, ensure_ascii=False, indent=1).encode()


def _memory(record: Record) -> dict[str, Any]:
    metadata = {**record.metadata}
    rest = metadata.pop(REST, {})
    return {
        "id": str(uuid5(NAMESPACE_URL, record.id)),
        "memory_type": TYPES[record.kind],
        "created_at": iso(record.event_time),
        "source": {"source_type": record.source_role or record.origin},
        "agent_id": record.agent,
        "external_id": record.id,
        **rest,
        "content": record.content,
        "tags": [*record.tags],
        "metadata": metadata,
    }


def read_mif(path: sources.File, target: sources.ImportTarget) -> Iterator[sources.ForeignRecord]:
    """Yield a record for each memory of a document, and an item for what else it says.

    Raises:
        InvalidInput: it is of another version.
    """
    for place, document in sources.read_values(path, target.counts):
        if not words_of(document, "mif_version").startswith("2."):
            found = value_of(document, "mif_version")
            raise InvalidInput(f"{place}: MIF of version {found!r:.20}; only 2 is read")
        extensions = dict(object_of(document.get(EXTENSIONS) or {}))
        own = value_of(extensions.pop(VENDOR, None), "memory_metadata")
        for number, memory in enumerate(list_of(document, "memories"), 1):
            with target.counts.reading(where := f"{place}, memory {number}"):
                draft = _draft(object_of(memory), own)
                scope = Scope(target.scope.user, words_of(memory, "agent_id") or target.scope.agent)
                key = f"{memory.get('id')}\n{draft['content']}"
                yield sources.ForeignRecord(where, scope, draft, once=True, key=key)
        rest = {name: value for name, value in document.items() if name not in ENVELOPE}
        if rest := rest | ({EXTENSIONS: extensions} if extensions else {}):
            key = blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=8).hexdigest()
            item = Draft(content="", kind="item", namespace=[REST], key=key, metadata=rest)
            yield sources.ForeignRecord(place, target.scope, item, key=key)


def _draft(memory: Mapping[str, Any], own: object) -> Draft:
    """Return the draft of a memory; a model wrote it, if the extension does not say otherwise."""
    told = object_of(value_of(own, str(memory.get("id"))) or {})
    ends = {name: sources.moment_of(told.get(name), name) for name in ENDS}
    rest = {name: value for name, value in memory.items() if name not in TOLD}
    draft: Draft = {
        "content": sources.text_of(memory, "content"),
        "kind": "episode" if memory.get("memory_type") == SAID else "fact",
        "tags": sources.tags_of(memory, "tags"),
        "metadata": {**object_of(memory.get("metadata") or {}), REST: rest},
        "event_time": sources.moment_of(memory.get("created_at"), "created_at"),
        "trust": Trust.AGENT,
    }
    known: Any = {name: told[name] for name in OWN.values() if name in told} | ends
    draft.update(known)
    return draft

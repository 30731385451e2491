"""Results as JSON: the one form in which ``--json`` and the tools of MCP give them.

A result is an object of its fields. What is found by a query is a record with its score, and a
record has its kind also as the ``type`` that requirements S1.30 and S1.31 ask for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any

from memoranda.model.models import Entity, ForgetReceipt, Hit, Kind, Recall, Record
from memoranda.text.patterns import compile_pattern

# Kinds that have another name as a type (requirement S1.33).
TYPES = {Kind.EPISODE: "conversation"}
# What stands in a record first, and what does also where it is empty.
FIRST = ("id", "type", "kind", "content", "created_at", "event_time", "tags", "metadata")
# What the upkeep of a record needs, and nobody else.
INNER = ("content_hash", "strength", "strength_at", "enriched_at")
PLAIN = {str, int, float, bool, NoneType}
LATIN_CONTROL = compile_pattern(r"[\x7f-\x9f]")


def form_of(result: Any) -> Mapping[str, object]:
    """Return what of a result is given, by name."""
    match result:
        case Record():
            return _form_of_record(result)
        case Hit():
            return {**_form_of_record(result.record), "score": result.score}
        case Recall():
            ids = [hit.record.id for hit in result.hits]
            return {"text": result.text, "ids": ids, "tokens": result.tokens}
        case ForgetReceipt():
            return {"success": True, **_fields_of(result)}
        case Entity():
            return {"known": True, **_fields_of(result)}
        case _:
            return {each.name: getattr(result, each.name) for each in fields(result) if each.repr}


def _fields_of(value: Any) -> dict[str, object]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _form_of_record(record: Record) -> dict[str, object]:
    values = {"type": TYPES.get(record.kind, record.kind.value), **_fields_of(record)}
    rest = (name for name in values if name not in (*FIRST, *INNER))
    return {
        **{name: values[name] for name in FIRST},
        **{name: values[name] for name in rest if values[name] not in (None, ())},
    }


def explain_hit(hit: Hit) -> Mapping[str, object]:
    """Return a hit with the reasons for it."""
    return {**form_of(hit), "why": hit.why}


def to_json(value: object) -> Any:
    """Return a result as what JSON can hold, its moments in the zone that they came in."""
    if type(value) in PLAIN:  # Most are, and the questions below take long.
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
        return [to_json(item) for item in value]
    if is_dataclass(value):
        value = form_of(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def format_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return ``value`` as a JSON document without a raw control character."""
    text = json.dumps(to_json(value), indent=indent, ensure_ascii=ascii_only)
    # json.dumps leaves these raw, and an old terminal takes some of them for commands.
    return LATIN_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

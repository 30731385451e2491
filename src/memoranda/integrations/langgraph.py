"""LangGraph: the long-term values of graphs are items of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from langgraph.store import base

from memoranda.errors import NotFound
from memoranda.integrations import blocks
from memoranda.memory import Memory, services_of
from memoranda.model.checks import refuse_unknown
from memoranda.model.models import Record

# An item that a query finds has this tag, one that ends another one with its minutes.
INDEXED, TTL = "indexed", "ttl="
WHOLE = ("$",)
NOTHING = "-"  # the content of an item that no query finds
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


class MemorandaStore(base.BaseStore):
    """Keeps the values of a graph in a memory, and finds them by words and by meaning.

    Args:
        memory: keeps them, each as an item under its namespace and key. What it embeds with is
            its own setting.
        fields: the paths of a value whose texts a query looks through, such as ``text`` or
            ``chapters[*].title``; all of it, if not given.
        ttl: LangGraph's settings of how long values are kept.
    """

    supports_ttl = True

    def __init__(
        self, memory: Memory, *, fields: Iterable[str] = WHOLE, ttl: base.TTLConfig | None = None
    ) -> None:
        """Keep nothing yet."""
        self.memory, self.fields, self.ttl_config = memory, tuple(fields), ttl
        # LangGraph's stores want the settings of a store to say so.
        self._refreshes = not ttl or ttl.get("refresh_on_read", False)

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Answer operations in order; what is read is as it was before what is written."""
        given = list(ops)
        for op in given:
            base.validate_op_namespace(op)
        answers = [self._read(op) for op in given]
        puts = [op for op in given if isinstance(op, base.PutOp)]
        if puts:
            self._write(puts)
        return answers

    abatch = blocks.awaited(batch)

    def _read(self, op: base.Op) -> base.Result:
        match op:
            case base.GetOp():
                found = self.memory.get(namespace=op.namespace, key=op.key)
                if found and op.refresh_ttl and self._refreshes:
                    self._refresh([found])
                return None if found is None else base.Item(**item_fields(found))
            case base.SearchOp():
                return self._search(op)
            case base.ListNamespacesOp():
                return self._list_namespaces(op)
            case _:
                return None

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        which: dict[str, Any] = {
            "kind": "item",
            "namespace": op.namespace_prefix,
            "metadata": {name: condition(value) for name, value in (op.filter or {}).items()},
            "limit": op.limit,
            "offset": op.offset,
        }
        found: list[tuple[Record, float | None]]
        if op.query:
            hits = self.memory.search(op.query, **which, tags=[INDEXED], min_score=0)
            found = [(hit.record, hit.score) for hit in hits]
        else:
            found = [(each, None) for each in self.memory.records(**which, newest_first=True)]
        if op.refresh_ttl and self._refreshes:
            self._refresh(record for record, _ in found)
        return [base.SearchItem(**item_fields(record), score=score) for record, score in found]

    def _list_namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        paths = self.memory.namespaces()
        fitting = (path for path in paths if all(fits(path, each) for each in conditions))
        return sorted({path[: op.max_depth] for path in fitting})[op.offset :][: op.limit]

    def _write(self, ops: Iterable[base.PutOp]) -> None:
        last = {(op.namespace, op.key): op for op in ops}.values()
        self.memory.remember_many(self._draft(op) for op in last if op.value is not None)
        for op in last:
            if op.value is None:
                with suppress(NotFound):
                    self.memory.forget(namespace=op.namespace, key=op.key)

    def _draft(self, op: base.PutOp) -> dict[str, Any]:
        value = op.value or {}
        paths = self.fields if op.index is None else op.index or ()
        texts = [text for path in paths for text in base.get_text_at_path(value, path)]
        text = "\n".join(texts).strip()
        tags = [INDEXED] if text else []
        return {
            "kind": "item",
            "namespace": op.namespace,
            "key": op.key,
            "content": text or NOTHING,
            "metadata": value,
            "tags": tags if op.ttl is None else [*tags, f"{TTL}{op.ttl}"],
            "valid_until": self._end(op.ttl),
        }

    def _refresh(self, records: Iterable[Record]) -> None:
        """Let the times to live of what was read begin anew."""
        for record in records:
            for minutes in (tag.removeprefix(TTL) for tag in record.tags if tag.startswith(TTL)):
                with suppress(NotFound):
                    self.memory.update(record.id, valid_until=self._end(float(minutes)))

    def _end(self, minutes: float | None) -> datetime | None:
        """Return when a time to live that begins now is over; ``None``, if it never is."""
        now = services_of(self.memory).clock.now()
        return None if minutes is None else now + timedelta(minutes=minutes)


def item_fields(record: Record) -> dict[str, Any]:
    """Return the arguments of LangGraph's item."""
    return {
        "value": dict(record.metadata),
        "key": record.key,
        "namespace": record.namespace,
        "created_at": record.created_at,
        "updated_at": record.event_time,
    }


def condition(value: Any) -> Any:
    """Return a condition on a value of an item as memory has it.

    Raises:
        InvalidInput: an operator is unknown.
    """
    if not isinstance(value, Mapping) or not any(name.startswith("$") for name in value):
        return {"in": [value]} if isinstance(value, Mapping) else value
    refuse_unknown(value, OPERATORS, "operator")
    compared = {name.removeprefix("$"): other for name, other in value.items()}
    if "eq" in compared:
        compared["in"] = [compared.pop("eq")]
    return compared


def fits(path: tuple[str, ...], wanted: base.MatchCondition) -> bool:
    """Return whether a namespace begins or ends as is wanted; ``*`` is any label."""
    size = len(wanted.path)
    part = path[:size] if wanted.match_type == "prefix" else path[-size:] if size else ()
    return len(part) == size and all(
        asked in {label, "*"} for asked, label in zip(wanted.path, part, strict=True)
    )

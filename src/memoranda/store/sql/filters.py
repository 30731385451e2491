"""A scope and a filter as the WHERE clause of a query over ``records AS r``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoranda.model.checks import to_ms
from memoranda.model.models import Scope
from memoranda.model.query import Filter, Order, Subset
from memoranda.store.sql.rows import dump

VALID = "(r.valid_until IS NULL OR r.valid_until > :now)"
# Word for word as the partial indexes have them, or these would not be used.
NOTEWORTHY = "r.kind = 'fact' AND r.superseded_by IS NULL AND r.trust <> 'external'"
SUBSETS = {
    Subset.STANDING: "r.closed_at IS NULL",
    Subset.ENDED: "r.valid_until IS NOT NULL AND r.valid_until <= :now AND r.closed_at IS NULL "
    "AND r.indexed = 1",
    Subset.DECAYING: "r.kind = 'fact' AND r.decay_rate > 0 AND r.indexed = 1",
    Subset.UNENRICHED: "r.enriched = 0 AND r.indexed = 1",
    Subset.NOTEWORTHY: NOTEWORTHY,
}
ORDERS = {
    Order.RECORDED: "r.key",
    Order.LATEST: "r.key DESC",
    Order.NEWEST: "r.created_at DESC, r.key DESC",
    Order.HAPPENED: "r.event_time DESC, r.key DESC",
    Order.POSITION: "r.position",
    Order.RECALLED: "(SELECT c.at FROM recalls c WHERE c.user_key = r.user_key "
    "AND c.session_id = :recalled_in AND c.record_key = r.key) DESC, r.key DESC",
    Order.NOTEWORTHY: "(r.trust = 'person') DESC, (r.decay_rate = 0) DESC, r.confidence DESC, "
    "r.created_at DESC, r.key DESC",
}


RECALLED = """
r.key IN (SELECT c.record_key FROM recalls c
    WHERE c.user_key = :user AND c.session_id = :recalled_in)
"""
CITING = """
r.key IN (SELECT s.record_key FROM record_sources s
    WHERE s.user_key = :user AND s.source_id IN (@texts(:citing)))
"""
MENTIONING = """
r.key IN (SELECT l.record_key FROM record_entities l JOIN entities e ON e.key = l.entity_key
    WHERE e.id = :entity AND e.user_key = :user)
"""
FEW_ENTITIES = """
(SELECT count(DISTINCT l.entity_key) FROM record_entities l WHERE l.record_key = r.key)
    <= :most_entities
"""


def _as_is(value: Any) -> Any:
    return value


# The condition of each field of a filter that may be given, and how its value is bound.
CONDITIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "session": ("r.session_id = :session", _as_is),
    "exclude_session": ("r.session_id IS DISTINCT FROM CAST(:exclude_session AS text)", _as_is),
    "since": ("r.event_time >= :since", to_ms),
    "until": ("r.event_time < :until", to_ms),
    "recorded_since": ("r.created_at >= :recorded_since", to_ms),
    "recorded_before": ("r.created_at < :recorded_before", to_ms),
    "hashes": ("r.content_hash IN (@texts(:hashes))", dump),
    "citing": (CITING, dump),
    "beyond": ("r.position > :beyond", _as_is),
    "recalled_in": (RECALLED, _as_is),
    "entity": (MENTIONING, _as_is),
    "most_entities": (FEW_ENTITIES, _as_is),
    "waiting": ("w.record_key = r.key AND w.work = :waiting", _as_is),
}


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by AND, with the values of their parameters by name.

    Attributes:
        sql: the conditions.
        values: their parameters.
        source: the tables that they are about, ``records AS r`` among them.
    """

    sql: str
    values: dict[str, Any]
    source: str = "records r"


def owned(scope: Scope | None, user: int, table: str = "r") -> Where:
    """Limit to what the scope may see; ``None`` sees what all users have."""
    if scope is None:
        return Where("TRUE", {})
    sql = f"{table}.user_key = :user"
    if scope.agent is not None:
        sql += f" AND ({table}.agent IS NULL OR {table}.agent = :agent)"
    return Where(sql, {"user": user, "agent": scope.agent})


def matching(scope: Scope | None, user: int, where: Filter) -> Where:
    """Limit to what the scope may see and the filter lets through."""
    base = owned(scope, user)
    sql, values = [base.sql], base.values | {"now": to_ms(where.as_of or where.now)}
    if where.as_of is not None:
        sql.append("r.created_at <= :now AND " + VALID)
    elif not where.retired:
        sql.append(VALID)
    if where.kinds:
        sql.append("r.kind IN (@texts(:kinds))")
        values["kinds"] = dump([kind.value for kind in where.kinds])
    if where.subset is not None:
        sql.append(SUBSETS[where.subset])
    for name, (condition, bound) in CONDITIONS.items():
        value = getattr(where, name)
        if value is not None:
            sql.append(condition)
            values[name] = bound(value)
    for number, tag in enumerate(where.tags):
        sql.append(f":tag{number} IN (@texts(r.tags))")
        values[f"tag{number}"] = tag
    for number, (name, value) in enumerate(where.metadata.items()):
        sql.append(f"@attribute(r.attributes, :attribute{number})")
        values[f"attribute{number}"] = dump({name: value})
    # What waits is few: SQLite takes the tables of a CROSS JOIN in their order.
    source = "records r" if where.waiting is None else "derivations w CROSS JOIN records r"
    return Where(" AND ".join(sql), values, source)

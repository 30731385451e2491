"""A scope and a filter as the WHERE clause of a query over ``records AS r``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoranda.model.checks import to_ms
from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.store.sql.rows import dump

OWNED = (
    "r.user_key = :user AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)"
)
VALID = "(r.valid_until IS NULL OR r.valid_until > :now)"


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by AND, with the values of their parameters by name."""

    sql: str
    values: dict[str, Any]


def owned(scope: Scope, user: int) -> Where:
    """Limit to what the scope may see."""
    values = {"user": user, "agent": scope.agent}
    return Where("r.user_key = :user" if scope.agent is None else OWNED, values)


def matching(scope: Scope, user: int, where: Filter) -> Where:
    """Limit to what the scope may see and the filter lets through."""
    base = owned(scope, user)
    sql, values = [base.sql], base.values
    if where.as_of is not None:
        sql.append("r.created_at <= :now AND " + VALID)
        values["now"] = to_ms(where.as_of)
    elif not where.retired:
        sql.append(VALID)
        values["now"] = to_ms(where.now)
    if where.kinds:
        sql.append("r.kind IN (@texts(:kinds))")
        values["kinds"] = dump([kind.value for kind in where.kinds])
    if where.session is not None:
        sql.append("r.session_id = :session")
        values["session"] = where.session
    if where.exclude_session is not None:
        sql.append("r.session_id IS DISTINCT FROM CAST(:exclude_session AS text)")
        values["exclude_session"] = where.exclude_session
    if where.since is not None:
        sql.append("r.event_time >= :since")
        values["since"] = to_ms(where.since)
    if where.until is not None:
        sql.append("r.event_time < :until")
        values["until"] = to_ms(where.until)
    for number, tag in enumerate(where.tags):
        sql.append(f":tag{number} IN (@texts(r.tags))")
        values[f"tag{number}"] = tag
    for number, (name, value) in enumerate(where.metadata.items()):
        sql.append(f"@attribute(r.attributes, :attribute{number})")
        values[f"attribute{number}"] = dump({name: value})
    return Where(" AND ".join(sql), values)

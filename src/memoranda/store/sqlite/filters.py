"""A Filter and a Scope as the WHERE clause of a query over ``records AS r``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apsw

from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.model.times import to_ms
from memoranda.store.sqlite.rows import dump

NOBODY = 0
AGENT = "(r.agent IS NULL OR r.agent = ?)"
VALID = "(r.valid_until IS NULL OR r.valid_until > ?)"
HAS_TAG = "EXISTS (SELECT 1 FROM json_each(r.tags) WHERE value = ?)"
HAS_ATTRIBUTE = (
    "EXISTS (SELECT 1 FROM json_each(r.attributes) a JOIN json_each(?) b "
    "ON a.key = b.key AND a.value IS b.value AND (a.type = b.type OR "
    "(a.type IN ('integer', 'real') AND b.type IN ('integer', 'real'))))"
)


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by AND, with the values of their placeholders in order."""

    sql: str
    values: tuple[Any, ...]


def user_key(connection: apsw.Connection, scope: Scope) -> int:
    """Return the number of the scope's user; ``NOBODY``, who has nothing, where there is none."""
    found: int | None = connection.execute(
        "SELECT key FROM users WHERE name = ?", (scope.user,)
    ).get
    return NOBODY if found is None else found


def owned(scope: Scope, user: int) -> Where:
    """Limit to what the scope may see."""
    if scope.agent is None:
        return Where("r.user_key = ?", (user,))
    return Where(f"r.user_key = ? AND {AGENT}", (user, scope.agent))


def matching(scope: Scope, user: int, where: Filter) -> Where:
    """Limit to what the scope may see and the filter lets through."""
    base = owned(scope, user)
    sql, values = [base.sql], list(base.values)
    for condition, value in _conditions(where):
        sql.append(condition)
        values.extend(value)
    return Where(" AND ".join(sql), tuple(values))


def _conditions(where: Filter) -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = []
    if where.as_of is not None:
        moment = to_ms(where.as_of)
        found.append((f"r.created_at <= ? AND {VALID}", (moment, moment)))
    elif not where.retired:
        found.append((VALID, (to_ms(where.now),)))
    if where.kinds:
        marks = ", ".join("?" * len(where.kinds))
        found.append((f"r.kind IN ({marks})", tuple(kind.value for kind in where.kinds)))
    if where.session is not None:
        found.append(("r.session_id = ?", (where.session,)))
    if where.exclude_session is not None:
        found.append(("r.session_id IS NOT ?", (where.exclude_session,)))
    if where.since is not None:
        found.append(("r.event_time >= ?", (to_ms(where.since),)))
    if where.until is not None:
        found.append(("r.event_time < ?", (to_ms(where.until),)))
    found.extend((HAS_TAG, (tag,)) for tag in where.tags)
    found.extend((HAS_ATTRIBUTE, (dump({name: value}),)) for name, value in where.metadata.items())
    return found

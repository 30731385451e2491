"""Which rows a scope and a filter let through."""

from __future__ import annotations

from recollect.core.scope import Scope


def sees(scope: Scope, agent: str | None) -> bool:
    """Return whether ``scope`` may see what is of ``agent``, the user being the same."""
    return scope.agent is None or agent is None or agent == scope.agent

"""The stages of upkeep: each reads what its plan needs, plans, and applies the plan."""

from __future__ import annotations

STAGES = ("expire", "enrich", "consolidate", "decay", "reflect")
"""In the order of a night: names are found before facts are drawn, and these before they fade."""

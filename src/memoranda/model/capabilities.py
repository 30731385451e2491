"""The capabilities of a storage engine, and what replaces those that it lacks."""

from __future__ import annotations

from dataclasses import dataclass

TRANSACTIONS = "transactions"
FULL_TEXT = "full-text search"
NEAREST = "nearest neighbours"
SNAPSHOTS = "snapshots"
PROCESSES = "several processes"
PURGE = "purging"
# What every store speaks of.
NAMES = (TRANSACTIONS, FULL_TEXT, NEAREST, SNAPSHOTS, PROCESSES, PURGE)


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that memoranda needs of a storage.

    Attributes:
        name: one of ``NAMES``.
        native: whether the storage does it by itself.
        detail: how it is done; where it is not native, what stands in for it and what that costs.
    """

    name: str
    native: bool
    detail: str

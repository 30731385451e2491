"""What is installed: which version this is, and what other packages add to it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version


def installed_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("memoranda")
    except PackageNotFoundError:  # pragma: no cover - run from a bare checkout
        return "unknown"


def installed_plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return what installed packages offer in an entry point group, by name; nothing is loaded."""
    return {each.name: each for each in entry_points(group=group)}

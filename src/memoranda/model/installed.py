"""Which version this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("memoranda")
    except PackageNotFoundError:  # pragma: no cover - run from a bare checkout
        return "unknown"

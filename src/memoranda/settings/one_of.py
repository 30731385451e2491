"""Settings that take one of our own names, or of a name that an installed package adds."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points


@dataclass(frozen=True, slots=True)
class OneOf:
    """The names that a setting takes.

    Attributes:
        own: those of memoranda itself.
        group: the entry point group under which packages add others.
    """

    own: tuple[str, ...]
    group: str

    def names(self) -> tuple[str, ...]:
        """Return all names there are now: our own, then those of installed packages."""
        return tuple(dict.fromkeys([*self.own, *sorted(entry_points(group=self.group).names)]))

    def check(self, name: str) -> str:
        """Return ``name`` if there is such a one; installed packages are only asked if need be."""
        if name not in self.own and name not in self.names():
            raise ValueError(f"{name!r} is none of {', '.join(self.names())}")
        return name


STRATEGIES = OneOf(("rolling_window", "recency", "importance", "hybrid"), "memoranda.strategies")

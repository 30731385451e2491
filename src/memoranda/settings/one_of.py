"""Settings that take one of our own names, or of a name that an installed package adds."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


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
        if name in self.own or name in self.names():
            return name
        *others, last = map(repr, self.names())
        expected = f"{', '.join(others)} or {last}"
        raise PydanticCustomError("unknown_name", "Input should be {names}", {"names": expected})

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of a text that is one of the names."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))


STRATEGIES = OneOf(("rolling_window", "recency", "importance", "hybrid"), "memoranda.strategies")

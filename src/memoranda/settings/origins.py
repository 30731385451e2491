"""Where each value comes from: an argument, the environment, a file, what follows, a default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memoranda.settings.fields import JOINT, PREFIX, variable
from memoranda.settings.files import VARIABLE, SettingsFile
from memoranda.settings.places import MISSING, Place, found
from memoranda.settings.profile import NAME, MemorySettings, derived

DEFAULT = "default"
ARGUMENT = "argument"


@dataclass(frozen=True, slots=True)
class Origins:
    """All that settings are made of, the strongest first.

    Attributes:
        arguments: what the caller gave.
        environment: what the environment says, as nested values.
        file: the settings file.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    file: SettingsFile | None = None

    def of(self, place: Place) -> str:
        """Return the source of ``place``: a variable, a file's path, or a word for the others.

        What follows from the section ``memory`` has the name of the setting it follows from, or
        ``memory``.
        """
        if found(self.arguments, place) is not MISSING:
            return ARGUMENT
        if found(self.environment, place) is not MISSING:
            return set_variable(place) or variable(place)
        if self.file is not None and found(self.file.values, place) is not MISSING:
            return str(self.file.path)
        follows = self._following().get(place)
        return DEFAULT if follows is None else ".".join(follows[1])

    def value(self, place: Place) -> Any:
        """Return what the source of ``place`` says there, unread, or ``MISSING``."""
        said = self._said(place)
        return self._following().get(place, (MISSING,))[0] if said is MISSING else said

    def _said(self, place: Place) -> Any:
        levels = [self.arguments, self.environment, {} if self.file is None else self.file.values]
        return next(
            (v for v in (found(each, place) for each in levels) if v is not MISSING), MISSING
        )

    def _following(self) -> dict[Place, tuple[Any, Place]]:
        section = {name: self._said((NAME, name)) for name in MemorySettings.model_fields}
        return derived({name: value for name, value in section.items() if value is not MISSING})

    def line(self, place: Place) -> int | None:
        """Return the line of the file on which ``place`` is set, if it comes from there."""
        if self.file is None or self.of(place) != str(self.file.path):
            return None
        return self.file.line(place)


def set_variable(place: Place) -> str | None:
    """Return the variable that is set for ``place``, or for a group that it is in."""
    by_name = {name.upper(): name for name in os.environ}
    for length in range(len(place), 0, -1):
        name = by_name.get(variable(place[:length]))
        if name is not None:
            return name
    return None


def strangers(places: list[Place], open_ended: list[Place]) -> list[str]:
    """Return the variables that look like settings and are none.

    Args:
        places: all settings and groups.
        open_ended: those below which any name may stand.
    """
    known = {variable(place) for place in places} | {VARIABLE}
    below = tuple(variable(place) + JOINT for place in open_ended)
    return sorted(
        name
        for name in os.environ
        if name.upper().startswith(PREFIX)
        and name.upper() not in known
        and not name.upper().startswith(below)
    )

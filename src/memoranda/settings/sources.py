"""Where each value of the settings comes from, and what is wrong in them, with the remedy.

The sources: an argument, the environment, the file, what follows from the section ``memory``, a
default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from memoranda.errors import ConfigError
from memoranda.model.checks import nearest
from memoranda.model.json_object import is_object_text
from memoranda.settings.fields import JOINT, MASK, PREFIX, fields, groups, suggestion, variable
from memoranda.settings.files import VARIABLE, SettingsFile
from memoranda.settings.nested import MISSING, Place, value_at
from memoranda.settings.profile import NAME, derive_settings
from memoranda.settings.sections import MemorySettings

DEFAULT = "default"
ARGUMENT = "argument"
# What helps while the settings are wrong; other commands need them right.
REMEDY = "memoranda config explain"


@dataclass(frozen=True, slots=True)
class Origins:
    """The sources of settings, the strongest first.

    Attributes:
        arguments: what the caller gave.
        environment: what the environment says, as nested values.
        file: the settings file.
    """

    arguments: Mapping[str, Any]
    environment: Mapping[str, Any]
    file: SettingsFile

    def source(self, place: Place) -> str:
        """Return the source of ``place``: a variable, a file's path, or a word for the others.

        What follows from the section ``memory`` has the name of the setting it follows from, or
        ``memory``.
        """
        given = [value_at(level, place) is not MISSING for level in self._levels()]
        if not any(given):
            follows = self._derived().get(place)
            return DEFAULT if follows is None else ".".join(follows[1])
        names = ARGUMENT, set_variable(place) or variable(place), str(self.file.path)
        return names[given.index(True)]

    def value(self, place: Place) -> Any:
        """Return the raw value that the source of ``place`` gives, or ``MISSING``."""
        given = self._given(place)
        return self._derived().get(place, (MISSING,))[0] if given is MISSING else given

    def line(self, place: Place) -> int | None:
        """Return the line of the file on which ``place`` is set, if it comes from there."""
        return self.file.line(place) if self.source(place) == str(self.file.path) else None

    def _levels(self) -> tuple[Mapping[str, Any], ...]:
        return self.arguments, self.environment, self.file.values

    def _given(self, place: Place) -> Any:
        values = (value_at(level, place) for level in self._levels())
        return next((value for value in values if value is not MISSING), MISSING)

    def _derived(self) -> dict[Place, tuple[Any, Place]]:
        section = {name: self._given((NAME, name)) for name in MemorySettings.model_fields}
        return derive_settings({k: value for k, value in section.items() if value is not MISSING})


def refuse_variables(settings: type[BaseModel]) -> None:
    """Refuse variables of the environment that were meant for a setting and set none.

    Those are the ones with two underscores inside, and those that are like a name that exists;
    others that begin with ``MEMORANDA_`` are somebody else's. Names inside a group are checked
    where it is read.

    Raises:
        ConfigError: there is one; the message suggests the nearest.
    """
    for name in os.environ:
        group, joint, _ = name.upper().removeprefix(PREFIX).lower().partition(JOINT)
        is_other = not name.upper().startswith(PREFIX) or name.upper() == VARIABLE
        if is_other or group in settings.model_fields:
            continue
        own = [each.name for each in fields(settings)]
        meant = name[len(PREFIX) :].lower().replace(JOINT, ".")
        near = nearest(meant, [*own, *groups(settings)]) or nearest(group, groups(settings))
        if joint or near:
            hint = (
                "".join(f"; did you mean {variable(tuple(each.split('.')))}?" for each in near)
                or f"; {REMEDY} lists all there are"
            )
            raise ConfigError(f"the environment variable {name} sets nothing{hint}")


def set_variable(place: Place) -> str | None:
    """Return the variable that is set for ``place``, or for a group that it is in."""
    by_name = {name.upper(): name for name in os.environ}
    names = (variable(place[:length]) for length in range(len(place), 0, -1))
    return next((by_name[name] for name in names if name in by_name), None)


def explain_errors(error: ValidationError, model: type[BaseModel], origins: Origins) -> str:
    """Return all that ``error`` says about values of ``model``, on one line."""
    told, about = [], set()
    for each in error.errors(include_url=False):
        place = tuple(str(part) for part in each["loc"] if part != "[key]")
        text, setting = _explain_error(each, place, model)
        told.append(_locate(place, text, model, origins) + text)
        about.add(setting)
    message = f"settings: {'; '.join(told)}"
    if about == {None}:  # Unknown names come with a suggestion each.
        return message
    return f"{message}; see {REMEDY} {about.pop() if len(about) == 1 else ''}".rstrip()


def _explain_error(
    error: Mapping[str, Any], place: Place, model: type[BaseModel]
) -> tuple[str, str | None]:
    """Return what is wrong, and which setting or group it is about."""
    name, given = ".".join(place), error["input"]
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if error["type"] == "extra_forbidden":
        return f"{name} is unknown; {suggestion(model, name)}", None
    setting = next((each for each in fields(model) if place[: len(each.place)] == each.place), None)
    about = name if setting is None else setting.name
    if error["type"] == "value_error":  # Ours, and they name the value.
        return f"{name}: {message}", about
    if setting is None:
        return f"{name} is a group of settings, and {type(given).__name__} is none", about
    shown = MASK if setting.is_secret else given
    return f"{name}={shown!r:.200} {message}", about


def _locate(place: Place, text: str, model: type[BaseModel], origins: Origins) -> str:
    """Return where the values of a problem come from: files with their lines, variables."""
    places = [place]
    if ".".join(place) in groups(model):  # Its settings contradict each other.
        inside = [each.place for each in fields(model) if each.place[:-1] == place]
        places = [each for each in inside if f"{each[-1]}=" in text] or places
    found: dict[str, list[str]] = {}
    for each in places:
        line = origins.line(each)
        found.setdefault(origins.source(each), []).extend([] if line is None else [str(line)])
    told = [
        f"{source}, line {' and '.join(lines)}" if lines else source
        for source, lines in found.items()
        if source not in {ARGUMENT, DEFAULT}
    ]
    return f"{' and '.join(told)}: " if told else ""


def explain_not_json(model: type[BaseModel]) -> str:
    """Return which variable of the environment holds no JSON, though its setting needs it."""
    known = list(fields(model))
    for place in [(name,) for name in groups(model)] + [f.place for f in known if f.has_names]:
        name = variable(place)
        raw = next((value for each, value in os.environ.items() if each.upper() == name), None)
        if raw is not None and not is_object_text(raw):
            inside = next(each for each in known if each.place[: len(place)] == place)
            single = variable((*place, "name")) if inside.has_names else inside.variable
            return f"settings: {name} is no JSON object; write one, or set such as {single}"
    return f"settings: a variable of the environment is not understood; see {REMEDY}"

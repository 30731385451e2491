"""Where each value of the settings comes from, and what is wrong in them, with the remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memoranda.errors import ConfigError
from memoranda.model.passwords import hide_password
from memoranda.settings.fields import (
    DELIMITER,
    MASK,
    PREFIX,
    fields,
    nearest_setting,
    suggest,
    variable,
)
from memoranda.settings.files import VARIABLE
from memoranda.settings.nested import MISSING, Place, value_at
from memoranda.settings.sections import AllSettings

ARGUMENT = "argument"
DEFAULT = "default"
ENVIRONMENT = "environment"


# The values of each source, nested by group, by the source's name; the strongest is the last.
Levels = dict[str, Mapping[str, Any]]


def find_source(levels: Levels, place: Place) -> tuple[str, Any]:
    """Return the name of the source of ``place``, and the raw value that it gives.

    The name is that of an environment variable, the path of a file, or a word for the others.
    """
    for name, values in reversed(levels.items()):
        value = value_at(values, place)
        if value is not MISSING:
            found = find_variable(place) if name == ENVIRONMENT else None
            return found or name, value
    return DEFAULT, MISSING


def find_variable(place: Place) -> str | None:
    """Return the variable that is set for ``place``, for a group that it is in, or inside it."""
    wanted = variable(place) + DELIMITER
    names = [(name, name.upper() + DELIMITER) for name in os.environ]
    found = [name for name, own in names if wanted.startswith(own) or own.startswith(wanted)]
    return max(found, key=len, default=None)


def refuse_variables() -> None:
    """Refuse variables of the environment that were meant for a setting and set none.

    Those are the ones with two underscores inside, and those that are like a name that exists;
    others that begin with ``MEMORANDA_`` are somebody else's. Names inside a group are checked
    where it is read.

    Raises:
        ConfigError: there is one; the message suggests the nearest.
    """
    for name in os.environ:
        group, joint, _ = name.upper().removeprefix(PREFIX).lower().partition(DELIMITER)
        is_other = not name.upper().startswith(PREFIX) or name.upper() == VARIABLE
        if is_other or group in AllSettings.model_fields:
            continue
        meant = name[len(PREFIX) :].lower().replace(DELIMITER, ".")
        if joint or nearest_setting(meant):
            hint = suggest(meant)
            raise ConfigError(f"the environment variable {name} sets nothing; {hint}")


def explain_errors(error: ValidationError, levels: Levels) -> str:
    """Return all that ``error`` says about the settings, on one line."""
    found = error.errors(include_url=False)
    return f"settings: {'; '.join(_explain_error(each, levels) for each in found)}"


def _explain_error(error: Mapping[str, Any], levels: Levels) -> str:
    place = tuple(str(part) for part in error["loc"] if part != "[key]")
    name, source = ".".join(place), find_source(levels, place)[0]
    where = "" if source in {ARGUMENT, DEFAULT} else f"{source}: "
    if error["type"] == "extra_forbidden":
        return f"{where}{name} is unknown; {suggest(name)}"
    setting = next((each for each in fields() if place[: len(each.place)] == each.place), None)
    shown = MASK if setting and setting.is_secret else hide_password(f"{error['input']!r:.200}")
    message = str(error["msg"]).removeprefix("Input ")
    if error["type"] == "value_error":  # Ours, and they name the value.
        problem = f"{name}: {message.removeprefix('Value error, ')}"
    else:
        problem = f"{name}={shown} {message}"
    about = setting.name if setting else name
    return f"{where}{problem}; see memoranda config explain {about}"

"""Every setting, read in one place: a file, then the environment, then arguments.

The file is ``config.toml``, ``config.yaml`` or ``config.yml`` in the user's configuration
folder, or what ``MEMORANDA_CONFIG`` names. The environment overrides it
(``MEMORANDA_EMBEDDING__MODEL=none``), and arguments to :class:`Settings` override both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Self
from zoneinfo import ZoneInfo

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError
from tzlocal import get_localzone

from memoranda.errors import ConfigError
from memoranda.model.checks import nearest, require_attributes
from memoranda.model.passwords import hide_password
from memoranda.settings.fields import (
    DELIMITER,
    MASK,
    PREFIX,
    TOKEN_VARIABLE,
    fields,
    nearest_setting,
    suggest,
    variable,
)
from memoranda.settings.files import VARIABLE, config_path, read_file
from memoranda.settings.nested import MISSING, Place, merge, value_at
from memoranda.settings.profile import SECTION, derive_settings
from memoranda.settings.sections import AllSettings

__all__ = ["Settings", "config_path", "find_source", "find_variable", "read_sources"]

ARGUMENT = "argument"
DEFAULT = "default"
ENVIRONMENT = "environment"
# The values of each source, nested by group, by the source's name; the strongest is the last.
Levels = dict[str, Mapping[str, Any]]


class Settings(AllSettings):
    """All settings of memoranda. A value: it never changes after it was made.

    Raises:
        ConfigError: a name is unknown or a value is impossible; the message says where.
    """

    def __init__(self, **values: Any) -> None:
        """Read file and environment; ``values``, nested by group, win over both."""
        levels = read_sources(values)
        try:
            super().__init__(**merge(*levels.values()))
        except ValidationError as error:
            # It says all that pydantic's does, in words of ours.
            found = (_explain_error(each, levels) for each in error.errors(include_url=False))
            raise ConfigError(f"settings: {'; '.join(found)}") from None
        _refuse_variables()

    @classmethod
    def of(cls, given: Settings | None) -> Settings:
        """Return the settings that were given, or those of file and environment.

        Raises:
            InvalidInput: something else was given.
        """
        require_attributes(given, "settings", "embedding", "retention", "conversation", "tokens")
        return given or cls()

    def with_values(self, **groups: Mapping[str, Any]) -> Self:
        """Return settings with other values in some groups; nothing checks these."""
        changed = {name: getattr(self, name).model_copy(update=groups[name]) for name in groups}
        return self.model_copy(update=changed)

    @property
    def zone(self) -> tzinfo:
        """The user's time zone."""
        if self.timezone is not None:
            return ZoneInfo(self.timezone)
        try:
            return get_localzone()
        except (LookupError, ValueError) as error:  # TZ or the machine's own files name none.
            message = "the machine's time zone has no name; set timezone, such as Europe/Lisbon"
            raise ConfigError(message) from error


def read_sources(arguments: Mapping[str, Any] | None = None) -> Levels:
    """Return what each source says, first what follows from the section ``memory``.

    Raises:
        ConfigError: the file cannot be read, or a variable of the environment is no JSON.
    """
    file = read_file()
    levels = {
        str(file.path): _own_values(file.values),
        ENVIRONMENT: _read_environment(),
        ARGUMENT: arguments or {},
    }
    section = merge(*levels.values()).get(SECTION)
    return {SECTION: derive_settings(section), **levels}


def _read_environment() -> Mapping[str, Any]:
    """Return what the environment says; mostly nothing."""
    if not any(name.upper().startswith(PREFIX) and name != VARIABLE for name in os.environ):
        return {}
    try:
        return EnvSettingsSource(
            Settings,  # type: ignore[arg-type]  # any model will do
            env_prefix=PREFIX,
            env_nested_delimiter=DELIMITER,
        )()
    except (SettingsError, RecursionError) as error:
        message = f"settings: {error}; a group, and values by name, are written as a JSON object"
        raise ConfigError(message) from None


def _own_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a file that are for memoranda.

    Beside a section ``memory`` a robot has sections of its own (requirement S1.37).
    """
    if SECTION not in values:
        return values
    return {name: value for name, value in values.items() if _is_meant(name, value)}


def _is_meant(name: str, value: Any) -> bool:
    """Return whether a section is meant for memoranda, perhaps with a slip of the pen."""
    if name not in Settings.model_fields:
        return nearest_setting(name) is not None
    inside = [each.place[1] for each in fields() if each.place[0] == name and each.place[1:]]
    if isinstance(value, Mapping) != bool(inside):
        return False
    return not inside or any(nearest(each, inside) for each in value)


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


def _refuse_variables() -> None:
    """Refuse variables of the environment that were meant for a setting and set none.

    Those are the ones with two underscores inside, and those that are like a name that exists;
    others that begin with ``MEMORANDA_`` are somebody else's. Names inside a group are checked
    where it is read.

    Raises:
        ConfigError: there is one; the message suggests the nearest.
    """
    for name in os.environ:
        group, joint, _ = name.upper().removeprefix(PREFIX).lower().partition(DELIMITER)
        is_other = not name.upper().startswith(PREFIX) or name.upper() in {VARIABLE, TOKEN_VARIABLE}
        if is_other or group in AllSettings.model_fields:
            continue
        meant = name[len(PREFIX) :].lower().replace(DELIMITER, ".")
        near = nearest_setting(meant)
        if joint or near:
            hint = f"did you mean {variable(tuple(near.split('.')))}?" if near else suggest(meant)
            raise ConfigError(f"the environment variable {name} sets nothing; {hint}")


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
    about = f"explain {setting.name}" if setting else "show"
    return f"{where}{problem}; see memoranda config {about}"

"""Every setting, read in one place: a file, then the environment, then arguments.

The file is ``config.toml``, ``config.yaml`` or ``config.yml`` in the user's configuration
folder, or what ``MEMORANDA_CONFIG`` names. The environment overrides it
(``MEMORANDA_EMBEDDING__MODEL=none``), and arguments to :class:`Settings` override both.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Self
from zoneinfo import ZoneInfo

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError
from tzlocal import get_localzone

from memoranda.errors import ConfigError
from memoranda.settings.fields import DELIMITER, PREFIX, nearest_setting
from memoranda.settings.files import config_path, read_file
from memoranda.settings.nested import merge
from memoranda.settings.profile import SECTION, derive_settings
from memoranda.settings.sections import AllSettings
from memoranda.settings.sources import (
    ARGUMENT,
    ENVIRONMENT,
    Levels,
    explain_errors,
    refuse_variables,
)

__all__ = ["Settings", "config_path", "read_sources"]


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
            raise ConfigError(explain_errors(error, levels)) from None
        refuse_variables()

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
    try:
        environment = EnvSettingsSource(
            Settings,  # type: ignore[arg-type]  # any model will do
            env_prefix=PREFIX,
            env_nested_delimiter=DELIMITER,
        )()
    except SettingsError as error:
        message = f"settings: {error}; a group, and values by name, are written as a JSON object"
        raise ConfigError(message) from None
    levels = {
        str(file.path): _own_values(file.values),
        ENVIRONMENT: environment,
        ARGUMENT: arguments or {},
    }
    section = merge(*levels.values()).get(SECTION)
    return {SECTION: derive_settings(section), **levels}


def _own_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a file that are for memoranda.

    Beside a section ``memory`` a robot has sections of its own, which are called like none of
    ours (requirement S1.37).
    """
    if SECTION not in values:
        return values
    known = Settings.model_fields
    return {name: value for name, value in values.items() if name in known or nearest_setting(name)}

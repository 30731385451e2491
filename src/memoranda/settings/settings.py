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

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)
from tzlocal import get_localzone

from memoranda.errors import ConfigError
from memoranda.model.short_repr import PasswordlessRepr
from memoranda.settings import sections
from memoranda.settings.files import SettingsFile, config_path, read
from memoranda.settings.profile import apply_profile
from memoranda.settings.sources import Origins, explain_errors, explain_not_json, refuse_variables

__all__ = ["Settings", "config_path", "origins"]


class Settings(PasswordlessRepr, BaseSettings):
    """All settings of memoranda. A value: it never changes after it was made.

    Raises:
        ConfigError: a name is unknown or a value is impossible; the message says where.
    """

    model_config = SettingsConfigDict(
        env_prefix="MEMORANDA_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    location: str | None = Field(default=None, examples=["~/agent.db"])
    """Where the memory is, if the caller does not say. A file, ``postgresql://HOST/DATABASE``, or
    an address of Chroma; otherwise a file in the user's data folder."""
    user: str = Field(default="default", examples=["ana"])
    """Whose memory, if the caller does not say."""
    timezone: str | None = Field(default=None, examples=["Europe/Lisbon"])
    """The user's time zone, such as ``Europe/Lisbon``. Otherwise the machine's."""
    memory: sections.MemorySettings = sections.MemorySettings()
    storage: sections.StorageSettings = sections.StorageSettings()
    embedding: sections.EmbeddingSettings = sections.EmbeddingSettings()
    retrieval: sections.RetrievalSettings = sections.RetrievalSettings()
    retention: sections.RetentionSettings = sections.RetentionSettings()
    conversation: sections.ConversationSettings = sections.ConversationSettings()
    tokens: sections.TokenSettings = sections.TokenSettings()
    llm: sections.LLMSettings = sections.LLMSettings()
    consolidation: sections.ConsolidationSettings = sections.ConsolidationSettings()
    notes: sections.NotesSettings = sections.NotesSettings()
    agent: sections.AgentSettings = sections.AgentSettings()
    secrets: sections.SecretSettings = sections.SecretSettings()
    decay: sections.DecaySettings = sections.DecaySettings()
    entities: sections.EntitySettings = sections.EntitySettings()
    schedule: sections.ScheduleSettings = sections.ScheduleSettings()
    http: sections.HttpSettings = sections.HttpSettings()
    mcp: sections.McpSettings = sections.McpSettings()

    def __init__(self, **values: Any) -> None:
        """Read file and environment; ``values`` win over both."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            message = explain_errors(error, Settings, origins(type(self), values))
            # It says all that pydantic's does, in words of ours.
            raise ConfigError(message) from None
        except SettingsError:
            raise ConfigError(explain_not_json(Settings)) from None
        refuse_variables(Settings)

    @classmethod
    def settings_file(cls) -> SettingsFile:
        """Return the file that is read for these settings.

        Raises:
            ConfigError: it cannot be read, or there are several.
        """
        return read()

    @model_validator(mode="before")
    @classmethod
    def _with_profile(cls, values: dict[str, Any]) -> dict[str, Any]:
        return apply_profile(values)

    @field_validator("user")
    @classmethod
    def _somebody(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(f"{value!r} names nobody; write a name, or leave it out")
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (ValueError, OSError, KeyError) as error:
                message = f"{value!r} is no time zone; use a name such as Europe/Lisbon"
                raise ValueError(message) from error
        return value

    @classmethod
    def settings_customise_sources(  # type: ignore[override]
        cls, settings_cls: type[BaseSettings], **usual: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, file."""
        file = InitSettingsSource(settings_cls, dict(cls.settings_file().values))
        # The library names each source; two of the usual ones are enough.
        return usual["init_settings"], usual["env_settings"], file

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


def origins(made: type[Settings] = Settings, arguments: Mapping[str, Any] | None = None) -> Origins:
    """Return where the values of ``made(**arguments)`` come from.

    Raises:
        ConfigError: the settings file cannot be read.
    """
    return Origins(arguments or {}, EnvSettingsSource(made)(), made.settings_file())

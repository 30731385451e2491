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

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)
from tzlocal import get_localzone

from memoranda.errors import ConfigError
from memoranda.model.passwords import PasswordlessRepr
from memoranda.settings import fields, sections
from memoranda.settings.files import AGENT_SECTION, config_path, read_file
from memoranda.settings.profile import derive_settings
from memoranda.settings.sources import (
    ARGUMENT,
    ENVIRONMENT,
    Sources,
    explain_errors,
    refuse_variables,
)

__all__ = ["Settings", "config_path", "read_sources"]


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
    ``chroma:///FOLDER``; otherwise a file in the user's data folder."""
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
        """Read file and environment; ``values``, nested by group, win over both."""
        sources = read_sources(values)
        try:
            super().__init__(**sources.merged())
        except ValidationError as error:
            # It says all that pydantic's does, in words of ours.
            raise ConfigError(explain_errors(error, Settings, sources)) from None
        refuse_variables(Settings)

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
        """Take what :func:`read_sources` has found, and nothing else."""
        del settings_cls
        return (usual["init_settings"],)

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


def read_sources(arguments: Mapping[str, Any] | None = None) -> Sources:
    """Return the sources of the settings, first what follows from the section ``memory``.

    Raises:
        ConfigError: the file cannot be read, or a variable of the environment is no JSON.
    """
    file = read_file()
    try:
        environment = EnvSettingsSource(Settings)()
    except SettingsError as error:
        message = f"settings: {error}; a group, and values by name, are written as a JSON object"
        raise ConfigError(message) from None
    given = {
        name: value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
        for name, value in (arguments or {}).items()
    }
    levels = {str(file.path): own_values(file.values), ENVIRONMENT: environment, ARGUMENT: given}
    section = Sources(levels).merged().get(AGENT_SECTION)
    return Sources({AGENT_SECTION: derive_settings(section), **levels})


def own_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a file that are for memoranda.

    Of a file with a section ``memory`` and others that are not ours, nor nearly called like one of
    ours, that is the section alone: the rest is another program's (requirement S1.37).
    """
    if AGENT_SECTION not in values:
        return values
    unknown = [name for name in values if name not in Settings.model_fields]
    if all(fields.nearest_setting(Settings, name) for name in unknown):
        return values
    return {AGENT_SECTION: values[AGENT_SECTION]}

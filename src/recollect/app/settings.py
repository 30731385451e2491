"""Every setting, read in one place: a file, then the environment, then arguments.

The file is ``config.toml`` in the user's configuration folder, or what ``RECOLLECT_CONFIG``
names. The environment overrides it (``RECOLLECT_EMBEDDING__MODEL=none``), and arguments to
:class:`Settings` override both.
"""

from __future__ import annotations

import os
import re
import tomllib
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)
from tzlocal import get_localzone

from recollect.core.errors import ConfigError

SPAN = re.compile(r"(\d+)\s*([smhdw])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Section(BaseModel):
    """A group of settings: fixed once made, and unknown names are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StorageSettings(Section):
    """How the database file is written."""

    busy_timeout: float = Field(default=60.0, gt=0)
    """Seconds to wait while another process writes."""
    durability: Literal["process", "power"] = "process"
    """What an acknowledged write survives: a killed process, or also a power cut."""


class EmbeddingSettings(Section):
    """Which model turns texts into vectors."""

    model: str = "auto"
    """``auto`` (local, if its files are there), ``local``, ``none``, ``openai:NAME`` or
    ``sentence-transformers:NAME``."""
    dimensions: int | None = Field(default=None, gt=0)
    """For ``openai:`` models that can be cut; 256 for text-embedding-3-large."""
    base_url: str | None = None
    """Of a server that speaks OpenAI's format."""
    api_key: SecretStr | None = None
    """For that server, where it wants one."""
    folder: Path | None = None
    """Where the local model's two files are, if not in the usual places."""
    threads: int = Field(default=1, ge=1)
    """Threads of the local model."""
    background: bool = True
    """Whether new records get their vectors in the background, or only before a search."""


class RetrievalSettings(Section):
    """How arms become one ranking."""

    fusion: Literal["blend", "rrf"] = "blend"
    """Weighted sum of the evidence, or reciprocal rank fusion (seed 004)."""
    rrf_k: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion."""


class RetentionSettings(Section):
    """How long each kind is kept: ``forever``, ``day`` (until midnight) or such as ``30d``."""

    episode: str = "forever"
    fact: str = "forever"
    context: str = "day"
    reflection: str = "forever"

    @field_validator("*")
    @classmethod
    def _readable(cls, value: str) -> str:
        if value not in {"forever", "day"}:
            parse_span(value)
        return value


class ConversationSettings(Section):
    """Defaults of conversations that do not say otherwise."""

    context_limit: int = Field(default=128_000, gt=0)
    """Context window of the model, in tokens."""
    budget_share: float = Field(default=0.8, gt=0, le=1)
    """Share of the context window that a context may take (R8.2)."""


class Settings(BaseSettings):
    """All settings of recollect. A value: it never changes after it was made.

    Raises:
        ConfigError: a name is unknown or a value is impossible; the message says where.
    """

    model_config = SettingsConfigDict(
        env_prefix="RECOLLECT_",
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
    )

    location: str | None = None
    """Where the memory is, if the caller does not say."""
    user: str = "default"
    """Whose memory, if the caller does not say."""
    timezone: str | None = None
    """The user's time zone, such as ``Europe/Lisbon``; otherwise the machine's."""
    storage: StorageSettings = StorageSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    retention: RetentionSettings = RetentionSettings()
    conversation: ConversationSettings = ConversationSettings()

    def __init__(self, **values: Any) -> None:
        """Read file and environment; ``values`` win over both."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_explain(error)) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            message = f"{config_path()} is not valid TOML: {error}"
            raise ConfigError(message) from error
        except OSError as error:
            message = f"the settings file {config_path()} cannot be read: {error.strerror}"
            raise ConfigError(message) from error
        except SettingsError as error:
            message = f"settings: {error}; see recollect config for all names and values"
            raise ConfigError(message) from error

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
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, file."""
        del dotenv_settings, file_secret_settings  # Two ways in are enough.
        file = TomlConfigSettingsSource(settings_cls, toml_file=config_path())
        return init_settings, env_settings, file

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


def config_path() -> Path:
    """Return the path of the settings file, which need not exist."""
    named = os.environ.get("RECOLLECT_CONFIG")
    return Path(named) if named else user_config_path("recollect") / "config.toml"


def parse_span(text: str) -> timedelta:
    """Return the time span of a text such as ``30d``, ``12h`` or ``2w``."""
    match = SPAN.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        message = f"{text!r} is no time span; write forever, day, or a number with s, m, h, d or w"
        raise ValueError(message)
    try:
        return timedelta(**{UNITS[match[2]]: int(match[1])})
    except OverflowError as error:
        message = f"{text!r} is too long a time; write forever"
        raise ValueError(message) from error


def _explain(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False):
        place = ".".join(str(part) for part in problem["loc"])
        given = "" if problem["type"] == "extra_forbidden" else f" (got {problem['input']!r})"
        problems.append(f"{place}: {problem['msg']}{given}")
    return f"settings: {'; '.join(problems)}; see recollect config for all names and values"

"""The settings file: finding, reading and changing it.

Values of YAML are read as text, as those of the environment are, and the setting's type says what
they mean: ``expire: off`` is the word, not the ``false`` that YAML 1.1 makes of it. An empty
value, ``~`` and ``null`` leave the setting as it is without the file.
"""

# The libraries are imported in functions: only who has such a file, or changes one, waits for it.
# ruff: noqa: PLC0415

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any

from platformdirs import user_config_path

from memoranda.errors import ConfigError
from memoranda.settings.nested import MISSING, Place, nest, value_at
from memoranda.text.files import make_private_folder, write_whole

VARIABLE = "MEMORANDA_CONFIG"
NAMES = ("config.toml", "config.yaml", "config.yml")
YAML_SUFFIXES = {".yaml", ".yml"}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file: its path, text and values.

    Attributes:
        path: where it is, whether or not it exists.
        text: what is in it.
        values: what it says, nested by group.
    """

    path: Path
    text: str = field(default="", repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def write_value(self, place: Place, value: Any) -> bool:
        """Write the file with ``value`` at ``place``, or none there if it is ``MISSING``.

        It is replaced at once or not at all, with its permissions and, if it is a link, its place;
        only its owner can read a new one. Returns whether it is different from before.

        Raises:
            ConfigError: it is written in a way that does not allow it, or cannot be written.
        """
        if self.path.suffix.lower() in YAML_SUFFIXES:
            raise ConfigError(f"{self.path} is YAML, which is read and not written; edit the file")
        target = self.path.resolve()
        try:
            str(value).encode()
            is_absent = value is MISSING and value_at(self.values, place) is MISSING
            text = self.text if is_absent else _edit_toml(self.text, place, value)
            parse(self.path, text)
            if text != self.text:
                make_private_folder(target.parent)
                write_whole(target, [text.encode()])
        except OSError as error:
            why = error.strerror or error
            message = f"{self.path} cannot be written: {why}; another file is named by {VARIABLE}"
            raise ConfigError(message) from error
        # tomlkit's own errors are ValueErrors; others come of what stands in the way.
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"{self.path} cannot be changed: {error}; edit the file") from error
        return text != self.text


def config_path() -> Path:
    """Return the path of the settings file, which need not exist.

    It is what ``MEMORANDA_CONFIG`` names; otherwise the first that there is of ``config.toml``,
    ``config.yaml`` and ``config.yml`` in the user's configuration folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(os.path.expanduser(named))  # noqa: PTH111 - takes an unknown user as it is
    paths = [user_config_path("memoranda") / name for name in NAMES]
    return next((path for path in paths if path.is_file()), paths[0])


def read_file() -> SettingsFile:
    """Return the settings file at :func:`config_path`; an empty one if there is none.

    Raises:
        ConfigError: it cannot be read, or says nothing that can be understood.
    """
    path = config_path()
    try:
        if not S_ISREG(path.stat().st_mode):  # Path.is_file hides a missing right in Python 3.14.
            return SettingsFile(path)
        text = path.read_bytes().decode("utf-8-sig")
        return SettingsFile(path, text, parse(path, text))
    except (FileNotFoundError, NotADirectoryError):
        return SettingsFile(path)
    except OSError as error:
        message = f"the settings file {path} cannot be read: {error.strerror or error}"
        raise ConfigError(message) from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{path} cannot be understood: {error}; correct the file") from error


def parse(path: Path, text: str) -> dict[str, Any]:
    """Return the values in the text of a settings file.

    Raises:
        ConfigError: the file's name says no format.
        ValueError, RecursionError: the text is not of that format; the message says why.
    """
    suffix = path.suffix.lower()
    if suffix not in {".toml", *YAML_SUFFIXES}:
        message = f"the settings file {path} must be named .toml, .yaml or .yml, after its format"
        raise ConfigError(message)
    return _without_empty(tomllib.loads(text) if suffix == ".toml" else _parse_yaml(text))


def _parse_yaml(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import BaseConstructor
    from ruamel.yaml.error import YAMLError

    class TextConstructor(BaseConstructor):
        """Makes text of every scalar but null."""

    TextConstructor.add_constructor("tag:yaml.org,2002:null", lambda *_: None)
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = TextConstructor
    try:
        values = reader.load(text) or {}
    except YAMLError as error:
        told = str(error).partition("To suppress")[0].replace(' in "<unicode string>"', "")
        raise ValueError(" ".join(told.split())) from error
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise ValueError(f"it holds {values!r:.40}, not names with values")
    return values


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without those that are empty, and without groups that hold nothing."""
    inner = {name: _without_empty(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return {name: value for name, value in inner.items() if value is not None and value != {}}


def _edit_toml(text: str, place: Place, value: Any) -> str:
    """Return the text of a TOML file with another value, or without one."""
    import tomlkit

    document = tomlkit.parse(text if text.endswith("\n") or not text else f"{text}\n")
    _edit(document, place, value)
    return tomlkit.dumps(document)


def _edit(group: Any, place: Place, value: Any) -> None:
    """Put ``value`` at ``place``, or take that, and all inside, out if it is ``MISSING``."""
    name, *rest = place
    inner = group.get(name)
    if isinstance(inner, Mapping) and (rest or value is MISSING):
        for each in [tuple(rest)] if rest else [(one,) for one in inner]:
            _edit(inner, each, value)
    elif value is MISSING:
        del group[name]
    else:
        group[name] = nest(tuple(rest), value)

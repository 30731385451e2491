"""The settings file: finding, reading and changing it.

Values of YAML are read as text, as those of the environment are, and the setting's type says what
they mean: ``summaries: off`` is the word, not the ``false`` that YAML 1.1 makes of it. An empty
value, ``~`` and ``null`` leave the setting as it is without the file.
"""

# The libraries are imported in functions: only who has such a file, or changes one, waits for it.
# ruff: noqa: PLC0415

from __future__ import annotations

import io
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from memoranda.errors import ConfigError
from memoranda.settings.nested import MISSING, Place, value_at
from memoranda.text.files import write_whole

VARIABLE = "MEMORANDA_CONFIG"
NAMES = ("config.toml", "config.yaml", "config.yml")
# Where a small agent has its section `memory`, beside sections of its own (requirement S1.37).
AGENT_FILE = Path("config", "default.yaml")
AGENT_SECTION = "memory"


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
        edit = _edit_toml if self.path.suffix.lower() == ".toml" else _edit_yaml
        text, target = self.text, self.path.resolve()
        try:
            str(value).encode()
            for each in self._changed_places(place, value):
                text = edit(text, each, value)
            parse(self.path, text)
            if text != self.text:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_whole(target, [text.encode()])
        except OSError as error:
            message = f"{self.path} cannot be written: {error.strerror or error}"
            raise ConfigError(message) from error
        # tomlkit's own errors are ValueErrors; others come of what stands in the way.
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"{self.path} cannot be changed: {error}; edit the file") from error
        return text != self.text

    def _changed_places(self, place: Place, value: Any) -> list[Place]:
        """Return where the text is to be changed: of a group that goes, at each of its values."""
        there = value_at(self.values, place)
        if value is not MISSING:
            return [place]
        if not isinstance(there, Mapping):
            return [] if there is MISSING else [place]
        return [inner for name in there for inner in self._changed_places((*place, name), value)]


def config_path() -> Path:
    """Return the path of the settings file, which need not exist.

    It is what ``MEMORANDA_CONFIG`` names; otherwise ``config.toml``, ``config.yaml`` or
    ``config.yml`` in the user's configuration folder; otherwise ``config/default.yaml`` below the
    working directory, if it has a small agent's section ``memory``.

    Raises:
        ConfigError: there are several in the folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        try:
            return Path(named).expanduser()
        except RuntimeError as error:  # No such user, or no home.
            raise ConfigError(f"{VARIABLE}={named!r}: {error}") from error
    folder = user_config_path("memoranda")
    present = [folder / name for name in NAMES if (folder / name).is_file()]
    if len(present) > 1:
        raise ConfigError(
            f"there are several settings files: {' and '.join(map(str, present))}; "
            f"keep one of them, or name it in {VARIABLE}"
        )
    return present[0] if present else _agent_file() or folder / NAMES[0]


def read_file(path: Path | None = None) -> SettingsFile:
    """Return the settings file at ``path``, or at :func:`config_path`; an empty one if absent.

    Raises:
        ConfigError: it cannot be read, or says nothing that can be understood.
    """
    try:
        path = path or config_path()
        if not path.is_file():
            return SettingsFile(path)
        text = path.read_bytes().decode("utf-8-sig")
        return SettingsFile(path, text, parse(path, text))
    except OSError as error:
        message = f"the settings file {path or ''} cannot be read: {error.strerror or error}"
        raise ConfigError(message) from error
    except ValueError as error:
        raise ConfigError(f"{path} cannot be understood: {error}") from error


def parse(path: Path, text: str) -> dict[str, Any]:
    """Return the values in the text of a settings file.

    Raises:
        ConfigError: the file's name says no format.
        ValueError: the text is not of that format; the message says why.
    """
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".yaml", ".yml"}:
        message = f"the settings file {path} must be named .toml, .yaml or .yml, after its format"
        raise ConfigError(message)
    try:
        return _without_empty(tomllib.loads(text) if suffix == ".toml" else _parse_yaml(text))
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error


def _agent_file() -> Path | None:
    """Return where a small agent's configuration is, if the working directory has one."""
    from memoranda.settings.sections import MemorySettings

    try:
        section = read_file(AGENT_FILE).values.get(AGENT_SECTION)
    except ConfigError:
        return None  # Another program's, in a form of its own.
    is_ours = isinstance(section, Mapping) and section.keys() & MemorySettings.model_fields.keys()
    return AGENT_FILE if is_ours else None


def _parse_yaml(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import BaseConstructor
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    class TextConstructor(BaseConstructor):
        """Makes text of every scalar but null."""

    TextConstructor.add_constructor("tag:yaml.org,2002:null", lambda *_: None)
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = TextConstructor
    try:
        # A few aliases of aliases make more values than a machine can hold.
        if any(isinstance(each, AliasEvent) for each in YAML(pure=True).parse(text)):
            raise ValueError("settings take no aliases; repeat the value")
        values = reader.load(text)
    except YAMLError as error:
        raise ValueError(" ".join(str(error).partition("To suppress")[0].split())) from error
    if not isinstance(values, dict | None) or not all(
        isinstance(name, str) for name in values or ()
    ):
        raise ValueError(f"it holds {values!r:.40}, not names with values")
    return values or {}


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without those that are empty, and without groups that hold nothing."""
    inner = {name: _without_empty(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return {name: value for name, value in inner.items() if value is not None and value != {}}


def _edit_toml(text: str, place: Place, value: Any) -> str:
    """Return the text of a TOML file with another value, or without one."""
    import tomlkit

    document = tomlkit.parse(text if text.endswith("\n") or not text else f"{text}\n")
    table: Any = document
    for name in place[:-1]:
        if not isinstance(table.get(name), Mapping):
            table[name] = tomlkit.table()
        table = table[name]
    if value is MISSING:
        del table[place[-1]]
    else:
        table[place[-1]] = value
    return tomlkit.dumps(document)


def _edit_yaml(text: str, place: Place, value: Any) -> str:
    """Return the text of a YAML file with another value, or with an empty one.

    The name stays, since comments on what follows it would go with it.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    engine, written = YAML(), io.StringIO()
    engine.preserve_quotes, engine.width = True, 1 << 20
    document = engine.load(text)
    if document is None:
        written.write(text)
        document = CommentedMap()
    group: Any = document
    for name in place[:-1]:
        if not isinstance(group.get(name), Mapping):
            group[name] = CommentedMap()
        group = group[name]
    name = place[-1] if place[-1] in group else _quote(place[-1])
    group[name] = None if value is MISSING else _quote(value)
    engine.dump(document, written)
    return written.getvalue()


def _quote(value: Any) -> Any:
    """Return a text in quotes where it has, or begins with, what only stands in them."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    # ruamel.yaml itself does not quote what begins like an indicator within braces.
    odd = isinstance(value, str) and (not value.isprintable() or value[:1] in {*"?-:"})
    return DoubleQuotedScalarString(value) if odd else value

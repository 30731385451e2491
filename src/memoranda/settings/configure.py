"""What `memoranda config` does: list settings with their sources, explain them, change the file.

A value is tried, together with all other settings, before it is written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoranda.errors import ConfigError, InvalidInput
from memoranda.model.passwords import hide_password
from memoranda.settings import fields as declared
from memoranda.settings.fields import MASK, Field
from memoranda.settings.files import AGENT_SECTION, VARIABLE, SettingsFile, read_file
from memoranda.settings.nested import MISSING, Place, merge, nest, value_at
from memoranda.settings.settings import Settings, own_values, read_sources
from memoranda.settings.sources import find_variable

# What the settings are called together that are in no group.
GENERAL = "general"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting with its value in force and where that comes from.

    Attributes:
        name: such as ``embedding.model``.
        value: as JSON would hold it; a secret only as asterisks, the password of an address as
            ``…``.
        source: the name of an environment variable, the path of a file, or ``default``.
    """

    name: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All there is to say about a setting.

    Attributes:
        name: such as ``embedding.model``.
        meaning: what it does, as running text.
        type: what may stand in it, in words.
        allowed: the only values there are, empty where there are others.
        default: its value where nothing says otherwise.
        value: its value in force, a secret only as asterisks; with a ``problem``, the text that
            is there.
        source: where that comes from, as in :class:`Setting`; ``None`` if that cannot be read.
        variable: the environment variable that sets it.
        example: the command that sets it.
        problem: why no settings are in force, if something is wrong in them.
    """

    name: str
    meaning: str
    type: str
    allowed: Sequence[str]
    default: Any
    value: Any
    source: str | None
    variable: str
    example: str
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """What became of a change to the settings file.

    Attributes:
        name: the setting, or the group, that was changed.
        value: what is now in the file, secrets hidden as in ``Setting``; ``None`` if removed.
        path: the file.
        changed: whether the file is different from before.
        overridden_by: the environment variable that wins over the file here, if any is set.
    """

    name: str
    value: Any = None
    path: Path
    changed: bool
    overridden_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSummary:
    """A setting and what it is about, in a sentence."""

    name: str
    meaning: str


def list_settings(settings: Settings, **given: tuple[str, str | None]) -> list[Setting]:
    """Return every setting in the order of declaration; of values by name, each by itself.

    Args:
        settings: those of file and environment.
        given: the option of a command line and its value, by the name of a setting over which
            it wins where it has one.
    """
    sources, found = read_sources(), []
    values = settings.model_dump(mode="json")
    for field in declared.fields(Settings):
        value = value_at(values, field.place)
        inside = [(*field.place, name) for name in value] if field.has_names else []
        for place in inside or [field.place]:
            name, inner = ".".join(place), value_at(values, place)
            option, text = given.get(name, ("", None))
            source, shown = (sources.find(place)[0], inner) if text is None else (option, text)
            found.append(Setting(name=name, value=_mask(field, shown), source=source))
    return found


def groups() -> dict[str, str]:
    """Return what each group of settings is about."""
    return {GENERAL: "Where and whose the memory is", **declared.groups(Settings)}


def summaries(group: str | None = None) -> list[SettingSummary]:
    """Return what each setting, or each of a group, is about in one sentence."""
    return [
        SettingSummary(name=field.name, meaning=field.summary)
        for field in declared.fields(Settings)
        if group in {None, field.place[0] if field.place[1:] else GENERAL}
    ]


def explain(name: str) -> Explanation:
    """Return all there is to say about a setting, even while the settings are wrong.

    Raises:
        InvalidInput: there is no such setting; the message suggests the nearest.
    """
    field, place = declared.find(Settings, name)
    source, value, problem = None, None, None
    try:
        source, value = read_sources().find(place)
        value = value_at(Settings().model_dump(mode="json"), place)
    except ConfigError as error:
        problem = str(error)
    return Explanation(
        name=name,
        meaning=field.meaning,
        type=field.type,
        allowed=field.allowed,
        default=field.default if place == field.place else None,
        value=_mask(field, value),
        source=source,
        variable=declared.variable(field.place),
        example=_example(field, place),
        problem=problem,
    )


def put(name: str, text: str) -> SettingChange:
    """Write a setting to the settings file, its other lines as they are.

    Args:
        name: such as ``embedding.model``, or ``tokens.limits.my-model`` for one value of many.
        text: the value as the environment would hold it: plain text, or a JSON object for a
            setting of many values.

    Raises:
        InvalidInput: there is no such setting, or ``text`` cannot be written in a file.
        ConfigError: the value is impossible, the settings would contradict each other, or the
            file cannot be written. The file is as it was.
    """
    field, place = declared.find(Settings, name)
    given = _parse_given(field, place, text)
    # As an argument it is tried even where the environment hides it.
    made = Settings(**nest(place, given))
    file = read_file()
    if place[0] != AGENT_SECTION and own_values(file.values) is not file.values:
        raise ConfigError(
            f"{file.path} is another program's, of which the section {AGENT_SECTION} alone is "
            f"read; name a file of your own in {VARIABLE}"
        )
    is_typed = field.is_secret or isinstance(given, Mapping)
    value = given if is_typed else value_at(made.model_dump(mode="json"), place)
    return _change(file, place, value, shown=_mask(field, given))


def override(arguments: Mapping[str, Any], name: str, text: str) -> dict[str, Any]:
    """Return arguments of :class:`Settings` with one more setting, tried together.

    Args:
        arguments: what wins over file and environment so far, nested by group.
        name: as for :func:`put`.
        text: as for :func:`put`.

    Raises:
        InvalidInput: there is no such setting, or ``text`` has not the form of its value.
        ConfigError: the value is impossible, or the settings would contradict each other.
    """
    field, place = declared.find(Settings, name)
    given = merge(arguments, nest(place, _parse_given(field, place, text)))
    Settings(**given)
    return given


def unset(name: str) -> SettingChange:
    """Remove a setting, or a group of them, from the settings file.

    A name that is no setting can be removed, too, if it is in the file.

    Raises:
        InvalidInput: there is no such setting, neither here nor in the file.
        ConfigError: the file cannot be read or written.
    """
    place, file = tuple(name.split(".")), read_file()
    if value_at(file.values, place) is MISSING and name not in declared.groups(Settings):
        place = declared.find(Settings, name)[1]
    return _change(file, place, MISSING)


def split_name(name: str) -> tuple[str, str]:
    """Return the section of a setting, and its name in it."""
    section, _, inner = name.partition(".")
    return (section, inner) if inner else (GENERAL, name)


def format_value(value: Any) -> str:
    """Return a value as a person types it."""
    if value is None:
        return "not set"
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _mask(field: Field, value: Any) -> Any:
    if value is None or value is MISSING:
        return None
    if field.is_secret:
        return MASK
    return hide_password(value) if isinstance(value, str) else value


def _example(field: Field, place: Place) -> str:
    name, value = ".".join(place), field.example
    if field.has_names:
        ((inner, value),) = field.example.items()
        name = f"{name}.{inner}" if place == field.place else name
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"memoranda config set {shlex.quote(name)} {shlex.quote(text)}"


def _parse_given(field: Field, place: Place, text: str) -> str | dict[str, Any]:
    """Return a value as it was typed, or the object that stands for all values by name."""
    if not field.has_names or place != field.place:
        return text
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if isinstance(values, dict):
        return values
    raise InvalidInput(
        f"{field.name}={text!r:.80} is no JSON object; set one value of it by its name: "
        f"{_example(field, place)}"
    )


def _change(file: SettingsFile, place: Place, value: Any, *, shown: Any = None) -> SettingChange:
    return SettingChange(
        name=".".join(place),
        value=shown,
        path=file.path,
        changed=file.write_value(place, value),
        overridden_by=find_variable(place),
    )

"""What `memoranda config` does: list settings with their sources, explain them, change the file.

A value is tried, together with all other settings, before it is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memoranda.errors import ConfigError, InvalidInput
from memoranda.model.passwords import hide_password
from memoranda.settings.fields import MASK, Field, fields, find, groups
from memoranda.settings.files import read_file
from memoranda.settings.nested import MISSING, Place, merge, nest, value_at
from memoranda.settings.settings import Settings, find_source, find_variable, read_sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Field):
    """A setting with its value in force and where that comes from.

    Attributes:
        value: as JSON would hold it; a secret only as asterisks, the password of an address as
            ``…``; with a ``problem``, the text that is there.
        source: the name of an environment variable, the path of a file, or ``default``; empty
            if it cannot be read.
        problem: why no settings are in force, if something is wrong in them.
    """

    value: Any
    source: str
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


def list_settings(settings: Settings, **given: tuple[str, str | None]) -> list[Setting]:
    """Return every setting in the order of declaration; of values by name, each by itself.

    Args:
        settings: those of file and environment.
        given: the option of a command line and its value, by the name of a setting over which
            it wins where it has one.
    """
    levels, found = read_sources(), []
    values = settings.model_dump(mode="json")
    for field in fields():
        value = value_at(values, field.place)
        inside = [(*field.place, name) for name in value] if field.has_names else []
        for place in inside or [field.place]:
            source, text = given.get(".".join(place), ("", None))
            if text is None:
                source, text = find_source(levels, place)[0], value_at(values, place)
            found.append(_setting(field, place, text, source))
    return found


def explain(name: str) -> Setting:
    """Return all there is to say about a setting, even while the settings are wrong.

    Raises:
        InvalidInput: there is no such setting; the message suggests the nearest.
    """
    field, place = find(name)
    source, value, problem = "", None, None
    try:
        source, value = find_source(read_sources(), place)
        value = value_at(Settings().model_dump(mode="json"), place)
    except ConfigError as error:
        problem = str(error)
    return _setting(field, place, value, source, problem)


def put(name: str, text: str) -> SettingChange:
    """Write a setting to the settings file, its other lines as they are.

    Args:
        name: such as ``embedding.model``, or ``tokens.limits.my-model`` for one value of many.
        text: the value as the environment would hold it.

    Raises:
        InvalidInput: there is no such setting, or it holds values by name.
        ConfigError: the value is impossible, the settings would contradict each other, or the
            file cannot be written. The file is as it was.
    """
    field, place = _find_value(name)
    # As an argument it is tried even where the environment hides it.
    made = Settings(**nest(place, text))
    value = text if field.is_secret else value_at(made.model_dump(mode="json"), place)
    return _change(place, value, shown=_mask(field, text))


def override(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments of :class:`Settings` for settings that are still to be tried.

    Args:
        texts: a text by the name of each, as for :func:`put`.

    Raises:
        InvalidInput: there is no such setting, or it holds values by name.
    """
    return merge(*(nest(_find_value(each)[1], text) for each, text in texts.items()))


def unset(name: str) -> SettingChange:
    """Remove a setting, or a group of them, from the settings file.

    A name that is no setting can be removed, too, if it is in the file.

    Raises:
        InvalidInput: there is no such setting, neither here nor in the file.
        ConfigError: the file cannot be read or written.
    """
    place = tuple(name.split("."))
    if value_at(read_file().values, place) is MISSING and name not in groups():
        place = find(name)[1]
    return _change(place, MISSING)


def format_value(value: Any) -> str:
    """Return a value as a person types it."""
    if value is None:
        return "not set"
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _setting(
    field: Field, place: Place, value: Any, source: str, problem: str | None = None
) -> Setting:
    known = asdict(field) | {"name": ".".join(place), "value": _mask(field, value)}
    return Setting(**known, source=source, problem=problem)


def _mask(field: Field, value: Any) -> Any:
    if value is None or value is MISSING:
        return None
    if field.is_secret:
        return MASK
    return hide_password(value) if isinstance(value, str) else value


def _find_value(name: str) -> tuple[Field, Place]:
    """Return the setting called ``name``, and the place of the value that can be set."""
    field, place = find(name)
    if field.has_names and place == field.place:
        example = f"memoranda config set {name}.NAME VALUE"
        raise InvalidInput(f"{name} holds values by name; set one of them: {example}")
    return field, place


def _change(place: Place, value: Any, *, shown: Any = None) -> SettingChange:
    file = read_file()
    return SettingChange(
        name=".".join(place),
        value=shown,
        path=file.path,
        changed=file.write_value(place, value),
        overridden_by=find_variable(place),
    )

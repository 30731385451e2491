"""What `memoranda config` does: list settings with their sources, explain them, change the file.

A change is tried before it is written: the value by itself, and all settings as they would be
in force with it. Nothing is written unless both are right.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memoranda.errors import ConfigError, InvalidInput
from memoranda.model.json_object import is_object_text
from memoranda.model.short_repr import hide_password
from memoranda.settings import fields as declared
from memoranda.settings.fields import MASK, Field
from memoranda.settings.files import SettingsFile, rewrite
from memoranda.settings.nested import MISSING, Place, value_at, with_value, without
from memoranda.settings.settings import Settings, config_path, origins
from memoranda.settings.sources import set_variable

OTHERS = stat.S_IRWXG | stat.S_IRWXO
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
        line: the line of the file, if it comes from there.
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
    line: int | None
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
        exposed: whether a secret is in it, and others on this machine may read the file.
    """

    name: str
    value: Any = None
    path: Path
    changed: bool
    overridden_by: str | None
    exposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSummary:
    """A setting and what it is about, in a sentence."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPath:
    """Where the settings file is, and whether it is there."""

    path: Path
    exists: bool


def find_file() -> SettingsPath:
    """Return where the settings file is; it need not exist."""
    path = config_path()
    return SettingsPath(path=path, exists=path.is_file())


def list_settings(settings: Settings, **given: tuple[str, str | None]) -> list[Setting]:
    """Return every setting in the order of declaration; of values by name, each by itself.

    Args:
        settings: those of file and environment.
        given: the option of a command line and its value, by the name of a setting over which
            it wins where it has one.
    """
    known, found = origins(type(settings)), []
    values = settings.model_dump(mode="json")
    for field in declared.fields(Settings):
        value = value_at(values, field.place)
        inside = [(*field.place, name) for name in value] if field.has_names else []
        for place in inside or [field.place]:
            inner = value_at(values, place)
            name, source = ".".join(place), known.source(place)
            option, value = given.get(name, (source, None))
            if value is None:
                option, value = source, inner
            found.append(Setting(name=name, value=_mask(field, value), source=option))
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
    known, value, problem = None, None, None
    try:
        known = origins()
        value = known.value(place)
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
        source=None if known is None else known.source(place),
        line=None if known is None else known.line(place),
        variable=field.variable,
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

    def edit(file: SettingsFile) -> SettingsFile:
        # As an argument it is tried even where the environment hides it.
        others = replace(file, values=without(file.values, place))
        made = _draft(others)(**with_value({}, place, given)).model_dump(mode="json")
        after = _replace_names(file, place, given if field.is_secret else value_at(made, place))
        _draft(after)()
        return after

    done = _rewrite(name, place, edit)
    readable = os.name == "posix" and bool(done.path.stat().st_mode & OTHERS)
    shown = _mask(field, given)
    return replace(done, value=shown, exposed=shown != given and readable)


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
    given = with_value(arguments, place, _parse_given(field, place, text))
    Settings(**given)
    return given


def unset(name: str) -> SettingChange:
    """Remove a setting, or a group of them, from the settings file.

    A name that is no setting can be removed, too, if it is in the file.

    Raises:
        InvalidInput: there is no such setting, neither here nor in the file.
        ConfigError: the others would contradict each other without it, or the file cannot be
            written. The file is as it was.
    """
    place = tuple(name.split("."))
    in_file = value_at(Settings.settings_file().values, place) is not MISSING
    if not in_file and name not in declared.groups(Settings):
        place = declared.find(Settings, name)[1]

    def edit(file: SettingsFile) -> SettingsFile:
        after = _remove(file, place)
        wrong = _problem(after)
        if wrong is not None and _problem(file) is None:
            raise ConfigError(wrong)
        return after

    return _rewrite(name, place, edit)


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
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{field.name}={text!r:.80} is no Unicode text") from error
    if not field.has_names or place != field.place:
        return text
    if not is_object_text(text):
        raise InvalidInput(
            f"{field.name}={text!r:.80} is no JSON object; set one value of it by its name: "
            f"{_example(field, place)}"
        )
    return dict(json.loads(text))


def _draft(file: SettingsFile) -> type[Settings]:
    class SettingsDraft(Settings):
        @classmethod
        def settings_file(cls) -> SettingsFile:
            return file

    return SettingsDraft


def _problem(file: SettingsFile) -> str | None:
    try:
        _draft(file)()
    except ConfigError as error:
        return str(error)
    return None


def _replace_names(file: SettingsFile, place: Place, value: Any) -> SettingsFile:
    """Return the file with a value; of one with names, those that stay keep their lines."""
    if not isinstance(value, Mapping):
        return file.with_value(place, value)
    there = value_at(file.values, place)
    names = [*there, *value] if isinstance(there, Mapping) else value
    for name in names:
        file = file.with_value((*place, name), value.get(name, MISSING))
    return file


def _remove(file: SettingsFile, place: Place) -> SettingsFile:
    there = value_at(file.values, place)
    if isinstance(there, Mapping):
        # One by one, so that the comments between them stay.
        for name in there:
            file = _remove(file, (*place, name))
    return file.with_value(place, MISSING)


def _rewrite(
    name: str, place: Place, edit: Callable[[SettingsFile], SettingsFile]
) -> SettingChange:
    path = config_path()
    changed = rewrite(path, edit)
    hidden = value_at(origins().environment, place) is not MISSING
    over = set_variable(place) if hidden else None
    return SettingChange(name=name, path=path, changed=changed, overridden_by=over)

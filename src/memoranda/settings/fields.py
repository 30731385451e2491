"""Which settings a model has, what they mean, and what may stand in them: read off the model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from memoranda.errors import InvalidInput
from memoranda.model.checks import nearest
from memoranda.settings.nested import Place
from memoranda.settings.sections import AllSettings
from memoranda.text.patterns import compile_pattern

# What the settings are called together that are in no group.
GENERAL = "general"
PREFIX = "MEMORANDA_"
# What opens a memory on a server, and is no setting of this machine.
TOKEN_VARIABLE = "MEMORANDA_TOKEN"  # noqa: S105 - a name
DELIMITER = "__"
# What is shown of a secret, however long it is.
MASK = "**********"
KINDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    SecretStr: "text, kept secret",
}
BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
# An entry of the list of attributes in a docstring.
ATTRIBUTE = compile_pattern(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A setting, as its model declares it.

    Attributes:
        name: such as ``embedding.model``.
        meaning: what it does, as running text.
        type: what may stand in it, in words.
        allowed: the only values there are, empty where there are others.
        default: its value where nothing says otherwise.
        variable: the environment variable that sets it.
        is_secret: whether its value is never shown.
        has_names: whether it holds values by names of the user's own.
    """

    name: str
    meaning: str
    type: str
    allowed: tuple[str, ...]
    default: Any
    variable: str
    is_secret: bool
    has_names: bool

    @property
    def place(self) -> Place:
        """Where it stands, such as ``("embedding", "model")``."""
        return tuple(self.name.split("."))

    @property
    def summary(self) -> str:
        """The first sentence of its meaning, without its full stop."""
        return self.meaning.partition(". ")[0].removesuffix(".")


def variable(place: Place) -> str:
    """Return the name of the environment variable for ``place``."""
    return PREFIX + DELIMITER.join(place).upper()


@cache
def fields(model: type[BaseModel] = AllSettings, within: Place = ()) -> tuple[Field, ...]:
    """Return every setting of ``model`` in the order of declaration."""
    found = list[Field]()
    attributes = ATTRIBUTE.finditer(inspect.cleandoc(model.__doc__ or ""))
    meanings = {each[1]: each[2] for each in attributes}
    for name, info in model.model_fields.items():
        place, group = (*within, name), _group(info)
        found += fields(group, place) if group else [_field(place, info, meanings.get(name, ""))]
    return tuple(found)


def groups() -> dict[str, str]:
    """Return the groups of settings by name, with the first sentence of what each is about."""
    found = {name: _group(info) for name, info in AllSettings.model_fields.items()}
    meanings = {name: _plain(g.__doc__ or "").partition(".")[0] for name, g in found.items() if g}
    return {GENERAL: "Where and whose the memory is", **meanings}


def find(name: str) -> tuple[Field, Place]:
    """Return the setting called ``name``, and the place it names.

    The place is longer than the setting's own if the setting holds values by name, and
    ``name`` is one of them: ``tokens.limits.gpt-4.1`` is ``gpt-4.1`` in ``tokens.limits``.

    Raises:
        InvalidInput: there is no such setting; the message suggests the nearest.
    """
    for each in fields():
        if name == each.name or (each.has_names and name.startswith(f"{each.name}.")):
            inner = name[len(each.name) + 1 :]
            return each, (*each.place, inner) if inner else each.place
    if name in groups():
        inside = next((each.name for each in fields() if each.place[0] == name), "user")
        raise InvalidInput(f"{name} is a group of settings; name one of them, such as {inside}")
    raise InvalidInput(f"the setting {name!r:.80} is unknown; {suggest(name)}")


def nearest_setting(name: str) -> str | None:
    """Return the setting or group that ``name`` was probably meant to be."""
    return next(iter(nearest(name, [*(each.name for each in fields()), *groups()])), None)


def suggest(name: str) -> str:
    """Return what to do about a ``name`` that is unknown: the nearest one, or where all are."""
    near = nearest_setting(name)
    return f"did you mean {near}?" if near else "memoranda config show lists all there are"


def _group(info: FieldInfo) -> type[BaseModel] | None:
    kind = info.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _plain(docstring: str) -> str:
    """Return a docstring as running text."""
    return " ".join(docstring.replace("``", "").split())


def _field(place: Place, info: FieldInfo, meaning: str) -> Field:
    kind, marks = info.annotation, list[Any](info.metadata)
    is_optional = NoneType in get_args(kind)
    if is_optional:
        kind = get_args(kind)[0]
    if get_origin(kind) is Annotated:
        kind, *inside = get_args(kind)
        marks += inside
    allowed = get_args(kind) if get_origin(kind) is Literal else ()
    words = f"one of {', '.join(allowed)}" if allowed else ", ".join(_words(kind, marks))
    return Field(
        name=".".join(place),
        meaning=_plain(meaning),
        type=f"{words}; may be left out" if is_optional else words,
        allowed=allowed,
        default=info.default,
        variable=variable(place),
        is_secret=kind is SecretStr,
        has_names=get_origin(kind) is dict,
    )


def _words(kind: Any, marks: Iterable[Any]) -> list[str]:
    """Return what may stand in a setting, in words: its kind, then its bounds."""
    if get_origin(kind) is dict:
        inner = get_args(get_args(kind)[1])[0]
        return [f"names, each with a {KINDS[inner]}"]
    limits = [(each, name) for each in marks for name in BOUNDS if hasattr(each, name)]
    return [KINDS[kind], *(f"{BOUNDS[name]} {getattr(each, name):g}" for each, name in limits)]

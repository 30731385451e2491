"""Which settings a model has, what they mean, and what may stand in them: read off the model."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from memoranda.errors import InvalidInput
from memoranda.model.checks import nearest
from memoranda.settings.nested import Place
from memoranda.settings.one_of import OneOf

PREFIX = "MEMORANDA_"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A setting, as its model declares it.

    Attributes:
        place: where it stands, such as ``("embedding", "model")``.
        meaning: its docstring, as plain text.
        default: its value where nothing says otherwise.
        type: what may stand in it, in words.
        allowed: the only values there are, empty where there are others.
        is_secret: whether its value is never shown.
        example: a value that could stand in it.
        has_names: whether it holds values by names of the user's own.
    """

    place: Place
    meaning: str
    default: Any
    type: str
    allowed: tuple[str, ...]
    example: Any
    is_secret: bool
    has_names: bool

    @property
    def name(self) -> str:
        """Its name, such as ``embedding.model``."""
        return ".".join(self.place)

    @property
    def summary(self) -> str:
        """The first sentence of its meaning, without its full stop."""
        return self.meaning.partition(". ")[0].removesuffix(".")


def variable(place: Place) -> str:
    """Return the name of the environment variable for ``place``."""
    return PREFIX + DELIMITER.join(place).upper()


def fields(model: type[BaseModel], within: Place = ()) -> tuple[Field, ...]:
    """Return every setting of ``model`` in the order of declaration."""
    found, meanings = list[Field](), _read_meanings(model)
    for name, info in model.model_fields.items():
        place, group = (*within, name), _group(info)
        if group is None:
            found.append(_field(place, info, meanings[name]))
        else:
            found += fields(group, place)
    return tuple(found)


def groups(model: type[BaseModel]) -> dict[str, str]:
    """Return the groups of settings by name, with the first sentence of what each is about."""
    found = {name: _group(info) for name, info in model.model_fields.items()}
    return {name: _plain(g.__doc__ or "").partition(".")[0] for name, g in found.items() if g}


def find(model: type[BaseModel], name: str) -> tuple[Field, Place]:
    """Return the setting called ``name``, and the place it names.

    The place is longer than the setting's own if the setting holds values by name, and
    ``name`` is one of them: ``tokens.limits.gpt-4.1`` is ``gpt-4.1`` in ``tokens.limits``.

    Raises:
        InvalidInput: there is no such setting; the message suggests the nearest.
    """
    for each in fields(model):
        inner = name.removeprefix(f"{each.name}.")
        if name == each.name:
            return each, each.place
        if each.has_names and inner not in {name, ""}:
            return each, (*each.place, inner)
    if name in groups(model):
        inside = next(each.name for each in fields(model) if each.place[0] == name)
        raise InvalidInput(f"{name} is a group of settings; name one of them, such as {inside}")
    raise InvalidInput(f"the setting {name!r:.80} is unknown; {suggest(model, name)}")


def nearest_setting(model: type[BaseModel], name: str) -> str | None:
    """Return the setting or group that ``name`` was probably meant to be."""
    return next(iter(nearest(name, [*(each.name for each in fields(model)), *groups(model)])), None)


def suggest(model: type[BaseModel], name: str) -> str:
    """Return what to do about a ``name`` that is unknown: the nearest one, or where all are."""
    near = nearest_setting(model, name)
    return f"did you mean {near}?" if near else "memoranda config explain lists all there are"


# Two threads that parse at once can make CPython 3.11 raise a SystemError.
_PARSING = Lock()


def _read_meanings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring below each setting of ``model``, read from its source when asked for.

    Pydantic's ``use_attribute_docstrings`` reads them when the class is made, which takes longer
    than all else about settings, and few processes ask what one means.
    """
    with _PARSING:
        (made,) = ast.parse(inspect.getsource(model)).body
    return {
        ast.unparse(one.target): ast.literal_eval(text.value)
        for one, text in pairwise(made.body if isinstance(made, ast.ClassDef) else ())
        if isinstance(one, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _group(info: FieldInfo) -> type[BaseModel] | None:
    kind = info.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _plain(docstring: str) -> str:
    """Return a docstring as running text."""
    return " ".join(docstring.replace("``", "").split())


def _field(place: Place, info: FieldInfo, meaning: str) -> Field:
    kind: Any = info.annotation
    is_optional = get_origin(kind) in {Union, types.UnionType}
    if is_optional:
        kind = next(each for each in get_args(kind) if each is not types.NoneType)
    inner = get_args(kind)
    allowed = tuple(inner) if get_origin(kind) is Literal else ()
    for listed in (each for each in info.metadata if isinstance(each, OneOf)):
        allowed = listed.names()
    if allowed:
        words = f"one of {', '.join(allowed)}"
    elif inner:
        words = f"names, each with a {KINDS[inner[1]]}"
    else:
        limits = [(each, name) for each in info.metadata for name in BOUNDS if hasattr(each, name)]
        bounds = [f"{BOUNDS[name]} {getattr(each, name):g}" for each, name in limits]
        words = ", ".join([KINDS[kind], *bounds])
    default = info.get_default(call_default_factory=True, validated_data={})
    return Field(
        place=place,
        meaning=_plain(meaning),
        default=default,
        type=f"{words}; may be left out" if is_optional else words,
        allowed=allowed,
        example=info.examples[0] if info.examples else default,
        is_secret=kind is SecretStr,
        has_names=get_origin(kind) is dict,
    )

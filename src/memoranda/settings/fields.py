"""Which settings a model has, what they mean, and what may stand in them: read off the model."""

from __future__ import annotations

import ast
import inspect
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
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
JOINT = "__"
# What is shown of a secret, however long it is.
MASK = "**********"
# Settings of a group up to which all are named where one is unknown.
FEW = 4
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
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable(self.place)

    @property
    def summary(self) -> str:
        """The first sentence of its meaning, without its full stop."""
        return self.meaning.partition(". ")[0].removesuffix(".")


def variable(place: Place) -> str:
    """Return the name of the environment variable for ``place``."""
    return PREFIX + JOINT.join(place).upper()


def fields(model: type[BaseModel], within: Place = ()) -> Iterator[Field]:
    """Yield every setting of ``model`` in the order of declaration."""
    for name, info in model.model_fields.items():
        place = (*within, name)
        group = info.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from fields(group, place)
        else:
            yield _field(place, info, attribute_docstrings(model)[name])


# Two threads that parse at once can make CPython 3.11 raise a SystemError.
_PARSING = Lock()


@cache
def attribute_docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return what stands below each setting of ``model`` in its source.

    Read when somebody asks what a setting means: reading it whenever the settings are imported
    would take longer than all else about them.
    """
    found: defaultdict[str, str] = defaultdict(str)
    with _PARSING:
        tree = ast.parse(inspect.getsource(model))
    for node in ast.walk(tree):
        for setting, after in pairwise(node.body if isinstance(node, ast.ClassDef) else ()):
            match setting, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant(value=str(text))
                ):
                    found[name] = inspect.cleandoc(text)
    return found


def groups(model: type[BaseModel]) -> dict[str, str]:
    """Return the groups of settings by name, with the first sentence of what each is about."""
    found = {}
    for name, info in model.model_fields.items():
        group = info.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            found[name] = plain(group.__doc__ or "").partition(".")[0]
    return found


def find(model: type[BaseModel], name: str) -> tuple[Field, Place]:
    """Return the setting called ``name``, and the place it names.

    The place is longer than the setting's own if the setting holds values by name, and
    ``name`` is one of them: ``tokens.limits.gpt-4.1`` is ``gpt-4.1`` in ``tokens.limits``.

    Raises:
        InvalidInput: there is no such setting; the message suggests the nearest.
    """
    known = list(fields(model))
    for each in known:
        if name == each.name:
            return each, each.place
        inner = name.removeprefix(f"{each.name}.")
        if each.has_names and inner not in {name, ""}:
            return each, (*each.place, inner)
    if name in groups(model):
        inside = next(each.name for each in known if each.place[0] == name)
        raise InvalidInput(f"{name} is a group of settings; name one of them, such as {inside}")
    raise InvalidInput(f"the setting {name!r:.80} is unknown; {suggestion(model, name)}")


def suggestion(model: type[BaseModel], name: str) -> str:
    """Return what to do about a ``name`` that is unknown: the nearest one, or where all are."""
    near = next(iter(nearest(name, [*(each.name for each in fields(model)), *groups(model)])), None)
    group = name.partition(".")[0]
    inside = [each.place[-1] for each in fields(model) if each.place[:-1] == (group,)]
    if 0 < len(inside) <= FEW:
        return f"{group} takes {', '.join(inside[:-1])}{' and ' * bool(inside[1:])}{inside[-1]}"
    return f"did you mean {near}?" if near else "memoranda config explain lists all there are"


def plain(docstring: str) -> str:
    """Return a docstring as running text."""
    return " ".join(docstring.replace("``", "").split())


def _field(place: Place, info: FieldInfo, meaning: str) -> Field:
    kind, optional = info.annotation, False
    if get_origin(kind) in {Union, types.UnionType}:
        (kind,) = [each for each in get_args(kind) if each is not type(None)]
        optional = True
    origin, inner = get_origin(kind), get_args(kind)
    allowed = tuple(map(str, inner)) if origin is Literal else ()
    for listed in (each for each in info.metadata if isinstance(each, OneOf)):
        allowed = listed.names()
    if allowed:
        words = f"one of {', '.join(allowed)}"
    elif origin is dict:
        words = f"names, each with a {KINDS[inner[1]]}"
    else:
        limits = [(each, name) for each in info.metadata for name in BOUNDS if hasattr(each, name)]
        bounds = [f"{BOUNDS[name]} {getattr(each, name):g}" for each, name in limits]
        words = ", ".join([KINDS[kind], *bounds])
    default = info.get_default(call_default_factory=True, validated_data={})
    (example,) = info.examples or [default]
    return Field(
        place=place,
        meaning=plain(meaning),
        default=default,
        type=f"{words}; may be left out" if optional else words,
        allowed=allowed,
        example=example,
        is_secret=kind is SecretStr,
        has_names=origin is dict,
    )

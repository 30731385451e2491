"""Dataclasses out of JSON and into it, by pydantic, with errors that name key and value."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from memoranda.errors import InvalidInput
from memoranda.model.checks import MOST, require_aware, require_json, storable

Value = TypeVar("Value")


def object_of(value: object) -> Mapping[str, Any]:
    """Return a JSON object.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"expected an object with keys, found {value!r:.80}")
    return value


def list_of(value: object, name: str) -> Sequence[Any]:
    """Return a list of an object, an empty one where there is none.

    Raises:
        InvalidInput: it is something else.
    """
    found = object_of(value).get(name)
    if found is not None and not isinstance(found, list):
        raise InvalidInput(f"{name} must be a list, got {found!r:.80}")
    return found or ()


def value_of(value: object, name: str) -> Any:
    """Return what an object has under a name; ``None`` for what is no object."""
    return value.get(name) if isinstance(value, Mapping) else None


def words_of(value: object, name: str) -> str:
    """Return the text that an object has under a name; an empty one for anything else."""
    found = value_of(value, name)
    return found if isinstance(found, str) else ""


def refuse_constant(constant: str) -> None:
    """Refuse ``NaN`` and ``Infinity``, as a parser of JSON calls it."""
    raise ValueError(f"{constant} is not a JSON number")


@cache
def type_adapter(kind: Hashable) -> TypeAdapter[Any]:
    """Return what makes values of a type out of JSON, and JSON of them; made once."""
    shape: Any = kind
    return TypeAdapter(shape)


def parse_as(kind: type[Value], value: object) -> Value:
    """Return the dataclass that a JSON object says.

    Args:
        kind: the dataclass.
        value: the object; keys that are no fields are passed over.

    Raises:
        InvalidInput: a key is missing, or a value cannot be stored; the message names the key.
    """
    try:
        found: Value = type_adapter(cast("Hashable", kind)).validate_python(value)
    except ValidationError as error:
        raise InvalidInput(explain(error)) from error
    require_storable(found, kind.__name__)
    return found


def explain(error: ValidationError) -> str:
    """Return what is wrong with the first value that pydantic refused, with its key."""
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"])) or "the value"
    if first["type"] == "missing":
        return f"the key {name} is missing; found {', '.join(map(str, first['input']))}"
    return f"{name}={first['input']!r:.80} cannot be used: {first['msg']}"


def require_storable(value: object, name: str) -> None:
    """Refuse a text, time, number or depth that no store can hold, anywhere in a dataclass.

    Raises:
        InvalidInput: there is one; the message names its field.
    """
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        storable(value, name)
    elif isinstance(value, datetime):
        require_aware(value, name)
    elif isinstance(value, int | float):
        if not -MOST <= value <= MOST:
            raise InvalidInput(f"{name}={value!r:.80} must be a number between -2^53 and 2^53")
    elif isinstance(value, tuple):
        for each in value:
            require_storable(each, name)
    elif isinstance(value, Mapping):
        require_json(dict(value), name)
    else:
        for field in _names(cast("Hashable", type(value))):
            require_storable(getattr(value, field), field)


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass; none for any other type."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()


def to_object(value: object, *, leave_out: Any = None) -> dict[str, Any]:
    """Return a dataclass as a JSON object.

    Args:
        value: the dataclass.
        leave_out: the fields that are not written, as pydantic's ``exclude`` takes them.
    """
    kind: Any = type(value)
    found: dict[str, Any] = type_adapter(kind).dump_python(
        value, mode="json", exclude=leave_out, fallback=dict, warnings=False
    )
    return found

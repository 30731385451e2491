"""Brings the JSON of a model nearer to the type that was wanted, where its meaning is clear.

Names may be written in another case, one object is a list of one, null is the default, a number
is a text. The type itself is checked by pydantic afterwards.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from memoranda.errors import InvalidInput
from memoranda.text.patterns import compile_pattern

LISTS = (list, tuple)
PASSES = 4
MARKS = compile_pattern(r"[\s_-]")


def answer_schema(answer: Any) -> dict[str, Any]:
    """Return the JSON schema of the dataclass ``answer``.

    Raises:
        InvalidInput: it is no dataclass of plain values, choices, lists and dataclasses.
    """
    if not (isinstance(answer, type) and dataclasses.is_dataclass(answer)):
        raise InvalidInput(f"answer must be a dataclass, and is {answer!r:.80}")
    try:
        return TypeAdapter(answer).json_schema()
    # What pydantic raises for types that it does not know is of several kinds.
    except Exception as error:
        message = f"{answer.__name__} cannot be read from JSON: {str(error).partition('.')[0]}"
        raise InvalidInput(message) from error


def fit(value: Any, wanted: Any) -> Any:
    """Return ``value`` in the form of a ``wanted``, as far as it is clear which that is."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in {Union, types.UnionType}:
        options = [option for option in inner if option is not type(None)]
        return None if value is None else fit(value, options[0])
    if origin in LISTS:
        items = value if isinstance(value, list) else [] if value is None else [value]
        return [fit(item, inner[0]) for item in items]
    if dataclasses.is_dataclass(wanted):
        return _fit_object(value, wanted)
    choices = _choices(wanted)
    return _fit_scalar(value, wanted) if choices is None else choices.get(_plain(value), value)


def _fit_object(value: Any, wanted: Any) -> Any:
    hints = get_type_hints(wanted)
    lists = [name for name, hint in hints.items() if get_origin(hint) in LISTS]
    if isinstance(value, list):
        # The list it is all about, or one object in a list.
        value = {lists[0]: value} if len(lists) == 1 else value[0] if len(value) == 1 else value
    if not isinstance(value, dict):
        return value
    names = {_plain(name): name for name in value} | {name: name for name in value}
    result = {}
    for item in dataclasses.fields(wanted):
        name = names.get(item.name, names.get(_plain(item.name)))
        nothing = dataclasses.MISSING
        optional = item.default is not nothing or item.default_factory is not nothing
        if name is None or (value[name] is None and optional):
            continue
        fitted, choices = fit(value[name], hints[item.name]), _choices(hints[item.name])
        # A word outside of a closed list says less than the default does, and harms nothing.
        if choices is None or not optional or fitted in choices.values():
            result[item.name] = fitted
    return result


def _fit_scalar(value: Any, wanted: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is str and (is_number or isinstance(value, str)):
        return storable(str(value))
    if wanted in {int, float}:
        with suppress(TypeError, ValueError, OverflowError):
            return None if isinstance(value, bool) or not math.isfinite(float(value)) else value
    return value


def misfits(value: Any, adapter: TypeAdapter[Any]) -> list[str]:
    """Say where and why ``value`` does not fit the type; quote nothing of it."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        return [f"{'.'.join(map(str, ('answer', *e['loc'])))}: {e['msg']}" for e in error.errors()]
    return []


def drop_misfits(value: Any, adapter: TypeAdapter[Any]) -> Any:
    """Return ``value`` without the elements and optional fields that do not fit the type."""
    for _ in range(PASSES):
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            # A required field that is missing takes its object with it.
            places = [e["loc"][:-1] if e["type"] == "missing" else e["loc"] for e in error.errors()]
            for place in reversed(dict.fromkeys(places)):
                with suppress(LookupError, TypeError):
                    _remove(value, place)
        else:
            break
    return value


def _remove(tree: Any, place: Sequence[int | str]) -> None:
    if not place:
        return
    *above, last = place
    parent = tree
    for step in above:
        parent = parent[step]
    del parent[last]
    if parent == []:
        _remove(tree, above)


def storable(text: str) -> str:
    """Return ``text`` as any store can hold it: pairs of halves are one, and NUL is none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


def _plain(name: object) -> str:
    return MARKS.sub("", str(name)).lower()


def _choices(wanted: Any) -> dict[str, Any] | None:
    """Return the words of a closed list and what they stand for; ``None`` for other types."""
    if get_origin(wanted) is Literal:
        return {_plain(item): item for item in get_args(wanted)}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return {_plain(item.value): item.value for item in wanted}
    return None

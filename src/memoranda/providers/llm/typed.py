"""A model's JSON as the dataclass that was wanted, forgiving what is clear all the same.

``"0.8"`` is a number, one object is a list of one, names may be written in another case, fields
too many are left out, and those missing have their defaults. What is not clear is a problem, said
in words that help the model to mend it and quote nothing of the answer.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from memoranda.errors import InvalidInput

DEEPEST = 32
WORDS = {"true": True, "yes": True, "false": False, "no": False}
JSON_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
PLAIN = re.compile(r"[\s_-]")


class Missing:
    """The type of :data:`MISSING`."""


MISSING = Missing()
"""Stands for a value that could not be had."""
DEFAULT = Missing()
"""Stands for a value in whose place the default is taken."""


@dataclass(slots=True)
class Coercion:
    """One pass over one answer.

    Attributes:
        lenient: whether elements of a list that cannot be used are left out, if others can.
        problems: what could not be used, as paths and words.
    """

    lenient: bool = False
    problems: list[str] = field(default_factory=list)

    def read(self, value: Any, wanted: Any, path: str = "answer", depth: int = 0) -> Any:
        """Return ``value`` as a ``wanted``, or :data:`MISSING` with a problem noted."""
        if wanted is Any:
            return value
        if depth > DEEPEST:
            return self._problem(path, "less deeply nested", value)
        if (choices := _choices(wanted)) is not None:
            return self._choice(value, choices, path)
        if get_origin(wanted) in {Union, types.UnionType}:
            return self._either(value, get_args(wanted), path, depth)
        if get_origin(wanted) in {list, tuple}:
            return self._list(value, wanted, path, depth)
        read = self._object if dataclasses.is_dataclass(wanted) else self._scalar
        return read(value, wanted, path, depth)

    def _problem(self, path: str, wanted: str, value: Any) -> Missing:
        got = JSON_NAMES.get(type(value), "something else")
        self.problems.append(f"{path} must be {wanted}, and is {got}")
        return MISSING

    def _either(self, value: Any, options: tuple[Any, ...], path: str, depth: int) -> Any:
        if value is None and type(None) in options:
            return None
        found: Any = MISSING
        for option in options:
            if option is type(None):
                continue
            attempt = Coercion(self.lenient)
            found = attempt.read(value, option, path, depth)
            if not attempt.problems:
                return found
        wanted = [option for option in options if option is not type(None)]
        return self.read(value, wanted[0], path, depth)

    def _list(self, value: Any, wanted: Any, path: str, depth: int) -> Any:
        origin, item_type = get_origin(wanted), get_args(wanted)[0]
        items = value if isinstance(value, list) else [] if value is None else [value]
        result = []
        before = len(self.problems)
        for number, item in enumerate(items):
            read = self.read(item, item_type, f"{path}[{number}]", depth + 1)
            if read is not MISSING:
                result.append(read)
        if len(result) < len(items):
            if not (self.lenient and result):
                return MISSING
            del self.problems[before:]
        return tuple(result) if origin is tuple else result

    def _object(self, value: Any, wanted: Any, path: str, depth: int) -> Any:
        fields = [item for item in dataclasses.fields(wanted) if item.init]
        hints = get_type_hints(wanted)
        given = _as_object(value, [(item.name, hints[item.name]) for item in fields])
        if given is None:
            return self._problem(path, "an object", value)
        keys = {_plain(name): name for name in given} | {name: name for name in given}
        arguments = {}
        for item in fields:
            key = keys.get(item.name, keys.get(_plain(item.name)))
            found = None if key is None else given[key]
            if found is None and _has_default(item):
                continue
            if key is None:
                self.problems.append(f"{path}.{item.name} is missing")
                read: Any = MISSING
            else:
                read = self._field(found, item, hints[item.name], f"{path}.{item.name}", depth + 1)
            arguments[item.name] = read
        if any(read is MISSING for read in arguments.values()):
            return MISSING
        defaults = [name for name, read in arguments.items() if read is DEFAULT]
        return wanted(**{name: arguments[name] for name in arguments if name not in defaults})

    def _field(
        self, value: Any, item: dataclasses.Field[Any], wanted: Any, path: str, depth: int
    ) -> Any:
        before = len(self.problems)
        read = self.read(value, wanted, path, depth)
        # A word outside of a closed list says less than the default does, and harms nothing.
        forgiven = self.lenient or _choices(wanted) is not None
        if read is MISSING and forgiven and _has_default(item):
            del self.problems[before:]
            return DEFAULT
        return read

    def _choice(self, value: Any, options: Mapping[str, Any], path: str) -> Any:
        if isinstance(value, str | int):
            word = str(value).strip()
            for name, option in options.items():
                if name.lower() == word.lower():
                    return option
        return self._problem(path, f"one of {', '.join(options)}", value)

    def _scalar(self, value: Any, wanted: Any, path: str, _: int) -> Any:
        read = SCALARS[wanted](value)
        return self._problem(path, JSON_NAMES[wanted], value) if read is None else read


def _plain(name: str) -> str:
    return PLAIN.sub("", name).lower()


def _choices(wanted: Any) -> dict[str, Any] | None:
    """Return the words of a closed list and what they stand for; ``None`` for other types."""
    if get_origin(wanted) is Literal:
        return {str(item): item for item in get_args(wanted)}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return {str(item.value): item for item in wanted}
    return None


def _has_default(item: dataclasses.Field[Any]) -> bool:
    nothing = dataclasses.MISSING
    return item.default is not nothing or item.default_factory is not nothing


def _as_object(value: Any, fields: list[tuple[str, Any]]) -> dict[str, Any] | None:
    """Return ``value`` as an object: itself, one in a list, or the list it is all about."""
    if isinstance(value, dict):
        return value
    lists = [name for name, hint in fields if get_origin(hint) in {list, tuple}]
    if not isinstance(value, list):
        return None
    if len(lists) == 1:
        return {lists[0]: value}
    return value[0] if len(value) == 1 and isinstance(value[0], dict) else None


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    # What no store can hold: halves of pairs, put together where both are there, and NUL.
    paired = str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return paired.replace("\x00", "")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else WORDS.get(str(value).strip().lower())


SCALARS = {str: _text, float: _number, int: _whole, bool: _truth}


def check_answer_type(wanted: Any, path: str = "answer") -> None:
    """Refuse a type that no answer can be read as.

    Raises:
        InvalidInput: it is no dataclass of plain values, choices, lists and dataclasses.
    """
    if not (isinstance(wanted, type) and dataclasses.is_dataclass(wanted)):
        raise InvalidInput(f"{path} must be a dataclass, and is {wanted!r:.80}")
    hints = get_type_hints(wanted)
    for item in dataclasses.fields(wanted):
        _check(hints[item.name], f"{path}.{item.name}", (wanted,))


def _check(wanted: Any, path: str, above: tuple[Any, ...]) -> None:
    origin = get_origin(wanted)
    if wanted is Any or wanted in SCALARS or _choices(wanted) is not None or wanted is type(None):
        return
    if origin in {list, tuple, Union, types.UnionType} and get_args(wanted):
        for option in get_args(wanted):
            if option is not Ellipsis:
                _check(option, path, above)
        return
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted) and wanted not in above:
        hints = get_type_hints(wanted)
        for item in dataclasses.fields(wanted):
            _check(hints[item.name], f"{path}.{item.name}", (*above, wanted))
        return
    raise InvalidInput(f"{path} cannot be read from JSON: {wanted!r:.80}")

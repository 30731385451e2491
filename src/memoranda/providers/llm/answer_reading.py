"""Reads the answer of a model: the JSON in its words, brought nearer to the type that was wanted.

The JSON is found in three tiers, each for what the one before could not read:

1. Markdown fences are stripped and the whole is parsed.
2. The first ``{…}`` that parses and has a wanted field is taken, whatever stands around it.
3. The wanted fields are looked up one by one; of a text that was cut off, those that are whole.

Requirements S2.19 to S2.21. Every tier takes time linear in the text, and nothing is raised. A
general repairer would not do: it ends what was cut off in its own way, and half a sentence would
become a fact.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from memoranda.errors import InvalidInput
from memoranda.text.patterns import compile_pattern

# Models break lines inside of strings.
DECODER = json.JSONDecoder(strict=False)
FENCE = compile_pattern(r"\A```[^\n`]*\n(.*?)(?:\n```\s*)?\Z", re.DOTALL)
OBJECT = compile_pattern(r'\{(?=\s*+["}])')
GAP = compile_pattern(r"[\s,]*+")
ENDED = compile_pattern(r"[\s,\]}]")
THOUGHT = "</think>"
# Where a field's name occurs so often without a value, the text is no answer.
OCCURRENCES = 8
LISTS = (list, tuple)
PASSES = 4


def read_json(text: str, fields: Sequence[str]) -> dict[str, Any] | list[Any] | None:
    """Return the JSON in ``text``, or as many of the wanted ``fields`` as are whole in it.

    Args:
        text: what a model wrote: perhaps with prose, fences or thoughts around, perhaps cut off.
        fields: names of the object's fields.

    Returns:
        the object or list; ``None`` where there is none.
    """
    body = text.strip()
    # What follows a model's thinking aloud, which may hold drafts of the answer.
    answer = body.rpartition(THOUGHT)[2].strip()
    body = answer if "{" in answer else body
    fenced = FENCE.match(body)
    with suppress(ValueError, RecursionError):
        whole = DECODER.decode(fenced[1].strip() if fenced else body)
        if isinstance(whole, dict | list):
            return whole
    wanted = (each for each in _objects(body) if not each.keys().isdisjoint(fields))
    found = next(wanted, None) or {name: value for name in fields for value in _field(body, name)}
    return found or None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in ``text``, up to the first that cannot be parsed."""
    found = OBJECT.search(text)
    while found:
        value, end = _decoded(text, found.start())
        if end is None:
            return
        yield value
        found = OBJECT.search(text, end)


def _field(text: str, name: str) -> Iterator[Any]:
    """Yield the first whole value of the field, if there is one; of a list, the elements that are.

    A list that was cut off is taken as far as its elements are whole.
    """
    label = compile_pattern(rf'(?<!\\)"{re.escape(name)}"\s*+:\s*+')
    for match in islice(label.finditer(text), OCCURRENCES):
        value, end = _decoded(text, match.end())
        if end is None and text.startswith("[", match.end()):
            value = list(_items(text, match.end() + 1))
        if end is not None or value:
            yield value
            return


def _items(text: str, place: int) -> Iterator[Any]:
    """Yield the elements of a list that was cut off, as long as they are whole."""
    end: int | None = place
    while end is not None:
        gap = GAP.match(text, end)
        value, end = _decoded(text, gap.end() if gap else end)
        if end is not None:
            yield value


def _decoded(text: str, start: int) -> tuple[Any, int | None]:
    """Return the whole value at ``start`` and where it ends; nothing where there is none."""
    with suppress(ValueError, RecursionError):
        value, end = DECODER.raw_decode(text, start)
        # A number where the text breaks off may have had more digits.
        if not isinstance(value, int | float) or ENDED.match(text, end):
            return value, end
    return None, None


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
    """Return ``value`` in the form of a ``wanted``, as far as it is clear which that is.

    One object is a list of one, null is the default, a number is a text, and a word outside of a
    closed list is the default. The type itself is checked by pydantic afterwards.
    """
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in {Union, types.UnionType}:
        options = [option for option in inner if option is not type(None)]
        return None if value is None else fit(value, options[0])
    if origin in LISTS:
        items = value if isinstance(value, list) else [] if value is None else [value]
        return [fit(item, inner[0]) for item in items]
    if dataclasses.is_dataclass(wanted):
        return _fit_object(value, wanted)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is str and (is_number or isinstance(value, str)):
        return storable(str(value))
    if wanted in {int, float}:
        with suppress(TypeError, ValueError, OverflowError):
            return None if isinstance(value, bool) or not math.isfinite(float(value)) else value
    return _choices(wanted).get(str(value).lower(), value)


def _fit_object(value: Any, wanted: Any) -> Any:
    if not isinstance(value, dict):
        return value
    hints, result = get_type_hints(wanted), {}
    for item in dataclasses.fields(wanted):
        nothing = dataclasses.MISSING
        optional = item.default is not nothing or item.default_factory is not nothing
        if item.name not in value or (value[item.name] is None and optional):
            continue
        fitted, choices = fit(value[item.name], hints[item.name]), _choices(hints[item.name])
        if not choices or not optional or fitted in choices.values():
            result[item.name] = fitted
    return result


def _choices(wanted: Any) -> dict[str, Any]:
    """Return the words of a closed list, in small letters, and what they stand for."""
    if get_origin(wanted) is Literal:
        return {str(item).lower(): item for item in get_args(wanted)}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return {str(item.value).lower(): item.value for item in wanted}
    return {}


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

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

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import islice
from operator import getitem
from typing import Any

from pydantic import TypeAdapter, ValidationError

from memoranda.text.patterns import compile_pattern, join_surrogates

# Models break lines inside of strings. What is no finite number is nothing.
DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
FENCE = compile_pattern(r"\A```[^\n`]*\n(.*?)(?:\n```\s*)?\Z", re.DOTALL)
OBJECT = compile_pattern(r'\{\s*["}]')
GAP = compile_pattern(r"[\s,]*")
ENDED = compile_pattern(r"[\s,\]}]")
# A character in two escapes; or half of one, or NUL, which no store can hold.
ESCAPE = compile_pattern(r"(\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|\\u[dD][89a-fA-F]\w\w|\\u0000")
THOUGHT = "</think>"
# Where a field's name occurs so often without a value, the text is no answer.
OCCURRENCES = 8
PASSES = 4


def read_json(text: str, fields: Sequence[str]) -> dict[str, Any] | list[Any] | None:
    """Return the JSON in ``text``, or as many of the wanted ``fields`` as are whole in it.

    Args:
        text: what a model wrote: perhaps with prose, fences or thoughts around, perhaps cut off.
        fields: names of the object's fields.

    Returns:
        the object or list; ``None`` where there is none.
    """
    body = ESCAPE.sub(lambda found: found[1] or "", storable(text)).strip()
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
    label = compile_pattern(rf'(?:^|[^\\])"{re.escape(name)}"\s*:\s*')
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


def read_answer(text: str, fields: Sequence[str], adapter: TypeAdapter[Any], *, drops: bool) -> Any:
    """Return the JSON in ``text`` in the form of the type, as far as it is clear which that is.

    One value is a list of one, null is the default, a number is a text, and a word outside of a
    closed list is the default.

    Args:
        text: what a model wrote.
        fields: the names of the type's fields.
        adapter: checks the type.
        drops: whether elements and optional fields go that do not fit the type all the same.
    """
    value = read_json(text, fields)
    for _ in range(PASSES):
        # From the end, so that what is removed of a list moves nothing that is still to be mended.
        found = reversed(_errors(value, adapter))
        if not sum(_mend(value, error, drops=drops) for error in found):
            break
    return value


def misfits(value: Any, adapter: TypeAdapter[Any]) -> list[str]:
    """Say where and why ``value`` does not fit the type; quote nothing of it."""
    found = _errors(value, adapter)
    told = {"dataclass_type": "Input should be an object"}  # pydantic's own words name a class.
    return [
        f"{'.'.join(map(str, ('answer', *e['loc'])))}: {told.get(e['type'], e['msg'])}"
        for e in found
    ]


def _errors(value: Any, adapter: TypeAdapter[Any]) -> list[Any]:
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        return list(error.errors())
    return []


def _mend(value: Any, error: Mapping[str, Any], *, drops: bool) -> bool:
    """Bring the place of an error nearer to its type; return whether anything changed."""
    place = error["loc"]
    with suppress(LookupError, TypeError, ValueError):
        *above, last = place
        parent = reduce(getitem, above, value)
        match error["type"], error["input"]:
            case "missing", _:
                # A required field that is missing takes its object with it.
                return drops and _remove(value, above)
            case "list_type" | "tuple_type", str() | int() | float() | dict() as given:
                parent[last] = [given]
            case "string_type", int() | float() as given if not isinstance(given, bool):
                parent[last] = str(given)
            case "enum" | "literal_error", str() as given if given != given.lower():
                parent[last] = given.lower()
            case ("enum" | "literal_error", _) | (_, None):
                del parent[last]
            case _:
                return drops and _remove(value, place)
        return True
    return False


def _remove(tree: Any, place: Sequence[int | str]) -> bool:
    """Remove what is at ``place``, and a list that is then empty; return whether that could be."""
    if not place:
        return False
    *above, last = place
    parent = reduce(getitem, above, tree)
    del parent[last]
    if parent == []:
        _remove(tree, above)
    return True


def storable(text: str) -> str:
    """Return ``text`` as any store can hold it: pairs of halves are one, and NUL is none."""
    return join_surrogates(text).replace("\x00", "")

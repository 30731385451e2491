"""JSON out of what a model wrote: three tiers, each for what the one before could not read.

1. Markdown fences are stripped and the whole is parsed.
2. The first balanced ``{…}`` that parses and has a wanted field is taken, whatever stands
   around it.
3. The wanted fields are looked up one by one; of a text that was cut off, those that are whole.

Requirements S2.19 to S2.21. Every tier takes time linear in the text, and nothing is raised. A
general repairer would not do: it ends what was cut off in its own way, and half a sentence would
become a fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memoranda.text.patterns import compile_pattern

Tier = Literal["whole", "object", "fields", "nothing"]

# Models break lines inside of strings.
DECODER = json.JSONDecoder(strict=False)
UNREADABLE = (ValueError, RecursionError)
# A string that never ends reaches to the end of the text: so no quote is looked at twice.
STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
BRACE = compile_pattern(rf"{STRING}|[{{}}]", re.DOTALL)
TRAILING_COMMA = compile_pattern(rf"({STRING})|,(\s*+[}}\]])", re.DOTALL)
FENCE = compile_pattern(r"\A```[^\n`]*\n(.*?)(?:\n```\s*)?\Z", re.DOTALL)
GAP = compile_pattern(r"[\s,]*+")
ENDED = compile_pattern(r"[\s,\]}]")
THOUGHT = "</think>"
# Where a field's name occurs so often without a value, the text is no answer.
OCCURRENCES = 8


@dataclass(frozen=True, slots=True)
class JsonReading:
    """What was read.

    Attributes:
        value: the object or list; ``None`` where there is none.
        tier: how it was found; ``fields`` means that the rest of the text was of no use.
    """

    value: dict[str, Any] | list[Any] | None
    tier: Tier


def read_json(text: str, fields: Sequence[str] = ()) -> JsonReading:
    """Return the JSON in ``text``, or as many of the wanted ``fields`` as are whole in it.

    Args:
        text: what a model wrote: perhaps with prose, fences or thoughts around, perhaps cut off.
        fields: names of the object's fields; without any, every object will do.
    """
    body = text.strip()
    for part in (body, _answer(body)):
        fenced = FENCE.match(part)
        whole = _parsed(fenced.group(1).strip() if fenced else part)
        if isinstance(whole, dict | list):
            return JsonReading(whole, "whole")
        body = part
    objects = [value for _, _, value in _objects(body)]
    wanted = [value for value in objects if not fields or not value.keys().isdisjoint(fields)]
    if wanted:
        return JsonReading(wanted[0], "object")
    found = {name: value for name in fields for value in _field(body, name)}
    if found:
        return JsonReading(found, "fields")
    return JsonReading(objects[0], "object") if objects else JsonReading(None, "nothing")


def _answer(text: str) -> str:
    """Return what follows a model's thinking aloud, which may hold drafts of the answer."""
    mark = text.rfind(THOUGHT)
    if mark < 0 or "{" not in text[mark:]:
        return text
    inside = any(start < mark < end for start, end, _ in _objects(text))
    return text if inside else text[mark + len(THOUGHT) :].strip()


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of the outermost balanced objects that can be parsed."""
    for start, end in _balanced(text):
        value = _parsed(text[start:end])
        if isinstance(value, dict):
            yield start, end, value


def _parsed(text: str) -> Any:
    """Return the value that all of ``text`` is, with commas too many or not; ``None`` for none."""
    try:
        return DECODER.decode(text)
    except UNREADABLE:
        pass
    try:
        return DECODER.decode(TRAILING_COMMA.sub(r"\1\2", text))
    except UNREADABLE:
        return None


def _balanced(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the outermost balanced ``{…}`` begin and end, minding braces in strings."""
    start = text.find("{")
    while start >= 0:
        depth, end = 0, -1
        for token in BRACE.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(token.group(), 0)
            if depth == 0:
                end = token.end()
                break
        if end < 0:
            return
        yield start, end
        start = text.find("{", end)


def _field(text: str, name: str) -> Iterator[Any]:
    """Yield the first whole value of the field, if there is one."""
    label = compile_pattern(rf'(?<!\\)"{re.escape(name)}"\s*+:\s*+')
    for count, match in enumerate(label.finditer(text)):
        if count == OCCURRENCES:
            return
        value, found = _value(text, match.end())
        if found:
            yield value
            return


def _value(text: str, start: int) -> tuple[Any, bool]:
    """Return the value at ``start`` and whether it is whole; of a list, the elements that are."""
    value, end = _decoded(text, start)
    if end is not None:
        return value, True
    if not text.startswith("[", start):
        return None, False
    items = list(_items(text, start + 1))
    return items, bool(items)


def _items(text: str, place: int) -> Iterator[Any]:
    """Yield the elements of a list that was cut off, as long as they are whole."""
    end: int | None = place
    while end is not None:
        gap = GAP.match(text, end)
        value, end = _decoded(text, gap.end() if gap else end)
        if end is not None:
            yield value


def _decoded(text: str, start: int) -> tuple[Any, int | None]:
    try:
        value, end = DECODER.raw_decode(text, start)
    except UNREADABLE:
        return None, None
    # A number where the text breaks off may have had more digits.
    if isinstance(value, int | float) and not ENDED.match(text, end):
        return None, None
    return value, end

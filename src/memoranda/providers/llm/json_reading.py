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
from contextlib import suppress
from itertools import islice
from typing import Any

from memoranda.text.patterns import compile_pattern

# Models break lines inside of strings.
DECODER = json.JSONDecoder(strict=False)
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


def read_json(text: str, fields: Sequence[str] = ()) -> dict[str, Any] | list[Any] | None:
    """Return the JSON in ``text``, or as many of the wanted ``fields`` as are whole in it.

    Args:
        text: what a model wrote: perhaps with prose, fences or thoughts around, perhaps cut off.
        fields: names of the object's fields; without any, every object will do.

    Returns:
        the object or list; ``None`` where there is none.
    """
    body = text.strip()
    for part in (body, _answer(body)):
        fenced = FENCE.match(part)
        whole = _parsed(fenced.group(1).strip() if fenced else part)
        if isinstance(whole, dict | list):
            return whole
        body = part
    objects = list(_objects(body))
    wanted = [value for value in objects if not fields or not value.keys().isdisjoint(fields)]
    found = wanted[0] if wanted else {name: v for name in fields for v in _field(body, name)}
    return found or (objects[0] if objects else None)


def _answer(text: str) -> str:
    """Return what follows a model's thinking aloud, which may hold drafts of the answer."""
    answer = text.rpartition(THOUGHT)[2]
    return answer.strip() if "{" in answer else text


def _parsed(text: str) -> Any:
    """Return the value that all of ``text`` is, with commas too many or not; ``None`` for none."""
    with suppress(ValueError, RecursionError):
        return DECODER.decode(text)
    with suppress(ValueError, RecursionError):
        return DECODER.decode(TRAILING_COMMA.sub(r"\1\2", text))
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost balanced ``{…}`` that can be parsed, minding braces in strings."""
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
        value = _parsed(text[start:end])
        if isinstance(value, dict):
            yield value
        start = text.find("{", end)


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

"""Compares what the product gives with a committed file, and writes that file anew if asked.

A golden file is JSON with sorted keys. What no promise is made of is taken out of it first:

- ids keep their prefix and become a number, by the order of all ids of that prefix in the file;
- ids of entities become ``ent``, folders become the word they are replaced by;
- numbers with a fraction are rounded to four digits, times to seconds; numbers that are off by
  two units of the last digit are the same, because stores keep vectors in other precisions;
- of dataclasses the fields are kept, not the names of the classes, and no field that does not
  take part in comparisons.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

REGENERATE = "MEMORANDA_REGENERATE_GOLDENS"
FILES = Path(__file__).parent / "files"
DIGITS = 4
NOISE = 2.1 * 10**-DIGITS
DIFFERENCES = 80  # lines of a difference that are shown
ID = re.compile(r"\b(?P<prefix>[a-z]{2,6})_[0-9A-HJKMNP-TV-Z]{26}\b")
FRACTION = re.compile(r"(?<=T\d\d:\d\d:\d\d)\.\d+")
ENTITY_ID = re.compile(r"\bent_[0-9A-Za-z]{16,}\b")


def encode(value: Any) -> Any:
    """Return ``value`` as what JSON can hold, with its numbers rounded."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.compare]
        return {name: encode(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(encode(key)): encode(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((encode(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return _encode_scalar(value)


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return round(value, DIGITS) if isinstance(value, float) else value


def render(value: Any, replacements: Mapping[str, str]) -> str:
    """Return the text of a golden file: sorted, rounded, without ids and folders."""
    text = json.dumps(encode(value), indent=1, sort_keys=True, ensure_ascii=False)
    for found, word in sorted(replacements.items(), key=lambda item: -len(item[0])):
        text = text.replace(found, word)
    return number_ids(ENTITY_ID.sub("ent", FRACTION.sub("", text))) + "\n"


def number_ids(text: str) -> str:
    """Replace each id by its prefix and its place among the sorted ids of that prefix."""
    found = sorted({match[0] for match in ID.finditer(text)})
    counts: dict[str, int] = {}
    numbered: dict[str, str] = {}
    for each in found:
        prefix = each.partition("_")[0]
        counts[prefix] = counts.get(prefix, 0) + 1
        numbered[each] = f"{prefix}_{counts[prefix]:03}"
    return ID.sub(lambda match: numbered[match[0]], text)


def same(golden: Any, now: Any) -> bool:
    """Return whether two documents are equal, but for noise in numbers with a fraction."""
    if isinstance(golden, dict) and isinstance(now, dict):
        return golden.keys() == now.keys() and all(same(golden[key], now[key]) for key in golden)
    if isinstance(golden, list) and isinstance(now, list):
        return len(golden) == len(now) and all(map(same, golden, now))
    if float in {type(golden), type(now)} and {type(golden), type(now)} <= {int, float}:
        return abs(golden - now) <= NOISE
    return type(golden) is type(now) and golden == now


def check_golden(
    name: str, value: Any, replacements: Mapping[str, str], *, may_write: bool = True
) -> None:
    """Fail with the difference unless ``value`` is what the golden file ``name`` holds.

    Where it is asked for, write that file instead.
    """
    path, text = FILES / f"{name}.json", render(value, replacements)
    if may_write and os.environ.get(REGENERATE):
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8")
    if text != golden and not same(json.loads(golden), json.loads(text)):
        lines = difflib.unified_diff(
            golden.splitlines(), text.splitlines(), "golden", "now", n=4, lineterm=""
        )
        shown = "\n".join(list(lines)[:DIFFERENCES])
        raise AssertionError(f"{path.name} differs; {REGENERATE}=1 writes it anew:\n{shown}")

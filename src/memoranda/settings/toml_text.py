"""A settings file in TOML: what it says, on which lines, and how to change one value of it.

tomlkit changes and removes values where they stand, with the comments beside them. Where it
would add one below a comment that belongs to the next table, a line of our own is put above.
Either result counts only if it reads back as what was wanted, and as nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memoranda.settings.places import MISSING, Place, every, filled, found, placed, without

NAME = "TOML"


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines of a file that only make sense together, counted from 1, and what they bring."""

    first: int
    last: int
    brings: Mapping[Place, Any]


def parse(text: str) -> dict[str, Any]:
    """Return what ``text`` says.

    Raises:
        ValueError: it is no TOML; the message says where.
    """
    return tomllib.loads(text)


def lines(text: str) -> dict[Place, int]:
    """Return the first line of what brings each value and each table of ``text``."""
    return {place: each.first for each in _statements(text) for place in each.brings}


def stored(value: Any) -> Any:
    """Return what :func:`parse` gives for ``value``: TOML knows the same types."""
    return value


def put(text: str, place: Place, value: Any) -> str:
    """Return ``text`` with ``value`` at ``place``, all other lines as they were.

    Raises:
        ValueError: the file is written in a way that does not allow it.
    """
    values = parse(text)
    wanted = placed(values, place, value)
    item = partial(_with_item, text, place, value)
    line = partial(_with_line, text, place, value)
    ways = [line, item] if found(values, place) is MISSING else [item]
    return _first(ways, lambda now: now == wanted)


def drop(text: str, place: Place) -> str:
    """Return ``text`` without what is at ``place``, all other lines as they were.

    Raises:
        ValueError: the file is written in a way that does not allow it.
    """
    values = parse(text)
    if found(values, place) is MISSING:
        return text
    # With its last value a group may go, too, where it is written as part of that name.
    wanted = filled(without(values, place))
    return _first(
        [partial(_without_lines, text, place), partial(_without_item, text, place)],
        lambda now: found(now, place) is MISSING and filled(now) == wanted,
    )


def _first(ways: Sequence[Callable[[], str]], is_right: Callable[[dict[str, Any]], bool]) -> str:
    for way in ways:
        try:
            changed = way()
            if is_right(parse(changed)):
                return changed
        except (AttributeError, LookupError, TypeError, ValueError):
            continue  # tomlkit's own are ValueErrors; others come of what stands in the way.
    raise ValueError("it is written in a way that cannot be changed here")


def _statements(text: str) -> Iterator[Statement]:
    # A file's first lines are TOML wherever a statement ends, and never within one. So this
    # finds statements and what each brings exactly, with no second grammar of TOML.
    known: dict[Place, Any] = {}
    raw = text.split("\n")
    first = 1
    for last in range(1, len(raw) + 1):
        try:
            now = dict(every(parse("\n".join(raw[:last]) + "\n")))
        except tomllib.TOMLDecodeError:
            continue
        yield Statement(first, last, {each: now[each] for each in now if each not in known})
        known, first = now, last + 1


def _with_line(text: str, place: Place, value: Any) -> str:
    import tomlkit  # noqa: PLC0415 - only who changes a file waits for it to load

    *table, _ = place
    line = f"{tomlkit.key(place[-1]).as_string()} = {tomlkit.item(value).as_string()}"
    header = f"[{tomlkit.key(table).as_string()}]" if table else ""
    raw = text.rstrip("\n").split("\n") if text.strip() else []
    statements = [each for each in _statements(text) if each.brings]
    in_table = [each.last for each in statements if _belongs(each, tuple(table))]
    if in_table:
        at = in_table[-1]
        last = raw[at - 1]
        indent = "" if last.lstrip().startswith("[") else last[: len(last) - len(last.lstrip())]
        return _joined(raw[:at], [indent + line], raw[at:])
    if not table:
        at = _below_title(raw)
        return _joined(raw[:at], [line, ""] if raw[at:] else [line], raw[at:])
    kin = [each.last for each in statements if any(p[0] == table[0] for p in each.brings)]
    at = kin[-1] if kin else len(raw)
    gap = [""] if raw[at:] and raw[at].strip() else []
    return _joined(raw[:at], [*([""] if raw[:at] else []), header, line, *gap], raw[at:])


def _belongs(statement: Statement, table: Place) -> bool:
    return any(
        place == table or (place[:-1] == table and not isinstance(value, Mapping))
        for place, value in statement.brings.items()
    )


def _below_title(raw: list[str]) -> int:
    # Comments at the top with an empty line below speak of the file, not of what follows.
    title = 0
    while title < len(raw) and raw[title].startswith("#"):
        title += 1
    if title == len(raw):
        return title
    return title + 1 if title and not raw[title].strip() else 0


def _joined(*parts: list[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"


def _with_item(text: str, place: Place, value: Any) -> str:
    import tomlkit  # noqa: PLC0415 - only who changes a file waits for it to load

    document = tomlkit.parse(text)
    table: Any = document
    for name in place[:-1]:
        table = table.setdefault(name, tomlkit.table())
    table[place[-1]] = value
    return tomlkit.dumps(document)


def _without_lines(text: str, place: Place) -> str:
    raw = text.split("\n")
    for each in _statements(text):
        if place in each.brings:
            return "\n".join(raw[: each.first - 1] + raw[each.last :])
    raise LookupError(place)


def _without_item(text: str, place: Place) -> str:
    import tomlkit  # noqa: PLC0415 - only who changes a file waits for it to load

    document = tomlkit.parse(text)
    table: Any = document
    for name in place[:-1]:
        table = table[name]
    del table[place[-1]]
    return tomlkit.dumps(document)

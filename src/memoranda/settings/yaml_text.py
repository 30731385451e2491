"""A settings file in YAML: what it says, on which lines, and how to change one value of it.

Values are read as text, as those of the environment are, and the setting's type says what they
mean. So ``summaries: off`` is the word, not the ``false`` that YAML 1.1 makes of it. An empty
value, ``~`` and ``null`` leave the setting as it is without the file.

Changes are made in the text itself, at the positions that the parser gives, so all other lines
stay as they were. A result counts only if it reads back as what was wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memoranda.settings.places import Place, filled, placed, without

if TYPE_CHECKING:  # Loading it takes longer than all else here, and most files are TOML.
    from yaml import MappingNode, Node

NAME = "YAML"
STANDARD = "tag:yaml.org,2002:"
KINDS = frozenset({"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "value"})
EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
INDENT = 2


def parse(text: str) -> dict[str, Any]:
    """Return what ``text`` says, every value as text.

    Raises:
        ValueError: it is no YAML, or no names with values; the message says where.
    """
    root = _root(text)
    return {} if root is None else _mapping(root)


def lines(text: str) -> dict[Place, int]:
    """Return the line, counted from 1, of each name in ``text``."""
    root = _root(text)
    return {} if root is None else dict(_lines(root, ()))


def stored(value: Any) -> str:
    """Return what :func:`parse` gives for ``value``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def put(text: str, place: Place, value: Any) -> str:
    """Return ``text`` with ``value`` at ``place``, all other lines as they were.

    Raises:
        ValueError: the file is written in a way that does not allow it.
    """
    wanted = placed(parse(text), place, stored(value))
    return _checked(_put(text, place, value), wanted)


def drop(text: str, place: Place) -> str:
    """Return ``text`` without what is at ``place``, all other lines as they were.

    Raises:
        ValueError: the file is written in a way that does not allow it.
    """
    root = _root(text)
    wanted = without(parse(text), place)
    for name in place[:-1]:
        group = None if root is None else _entry(root, name)[1]
        root = group if group is not None and group.id == "mapping" else None
    key, value = (None, None) if root is None else _entry(root, place[-1])
    if root is None or key is None:
        return text
    first, last = key.start_mark.index, _end(text, value)
    if root.flow_style:
        after = re.compile(r"\s*,\s*").match(text, last)
        if after is not None:
            last = after.end()
        else:
            first = len(text[:first].rstrip().removesuffix(",").rstrip())
    else:
        first, last = text.rfind("\n", 0, first) + 1, _next_line(text, last)
    return _checked(text[:first] + text[last:], wanted, without_empty=True)


def _checked(text: str, wanted: Mapping[str, Any], *, without_empty: bool = False) -> str:
    # A group that has lost its last value reads as nothing at all.
    shape = filled if without_empty else dict
    if shape(parse(text)) != shape(wanted):
        raise ValueError("it is written in a way that cannot be changed here")
    return text


def _root(text: str) -> MappingNode | None:
    import yaml  # noqa: PLC0415 - only who has a YAML file waits for it to load

    try:
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        told = ((error.context, error.context_mark), (error.problem, error.problem_mark))
        what = [f"{text}{_at(mark) if mark else ''}" for text, mark in told if text]
        raise ValueError(": ".join(what)) from error
    except yaml.YAMLError as error:  # A character that YAML does not allow.
        raise ValueError(str(error).partition("\n")[0]) from error
    if root is None or (root.id == "scalar" and root.value == ""):
        return None
    if root.id != "mapping":
        raise ValueError(f"it holds a {root.id}, not names with values{_at(root.start_mark)}")
    _refuse_what_settings_do_not_need(root, set())
    mapping: MappingNode = root
    return mapping


def _at(mark: Any) -> str:
    return f" (at line {mark.line + 1}, column {mark.column + 1})"


def _refuse_what_settings_do_not_need(node: Any, seen: set[int]) -> None:
    if id(node) in seen:
        raise ValueError(f"settings take no aliases; repeat the value{_at(node.start_mark)}")
    seen.add(id(node))
    kind = node.tag.removeprefix(STANDARD)
    if kind not in KINDS:
        raise ValueError(f"settings take no {kind}{_at(node.start_mark)}")
    if node.id == "mapping":
        names: set[str] = set()
        for key, value in node.value:
            if key.id != "scalar" or key.value in names:
                problem = "appears twice" if key.id == "scalar" else "is no name"
                raise ValueError(f"{key.value!r:.80} {problem}{_at(key.start_mark)}")
            names.add(key.value)
            _refuse_what_settings_do_not_need(key, seen)
            _refuse_what_settings_do_not_need(value, seen)
    elif node.id == "sequence":
        for each in node.value:
            _refuse_what_settings_do_not_need(each, seen)


def _mapping(node: MappingNode) -> dict[str, Any]:
    return {key.value: _value(value) for key, value in node.value if not _is_empty(value)}


def _value(node: Any) -> Any:
    if node.id == "mapping":
        return _mapping(node)
    if node.id == "sequence":
        return [_value(each) for each in node.value]
    return node.value


def _is_empty(node: Any) -> bool:
    return node.id == "scalar" and node.style is None and node.value in EMPTY


def _lines(node: MappingNode, within: Place) -> Iterator[tuple[Place, int]]:
    for key, value in node.value:
        place = (*within, key.value)
        yield place, key.start_mark.line + 1
        if value.id == "mapping":
            yield from _lines(value, place)


def _entry(node: MappingNode, name: str) -> tuple[Any, Any]:
    return next(((key, value) for key, value in node.value if key.value == name), (None, None))


def _put(text: str, place: Place, value: Any) -> str:
    root = _root(text)
    if root is None:
        return _ended(text) + _block(place, value, 0, INDENT)
    step = _step(root)
    node = root
    for depth, name in enumerate(place):
        key, inner = _entry(node, name)
        rest = place[depth + 1 :]
        if inner is None:
            return _added(text, node, _block_or_flow(node, place[depth:], value, step))
        if rest and inner.id == "mapping":
            node = inner
        elif rest and _is_empty(inner):
            column = key.start_mark.column + step
            cut = _next_line(text, _end(text, inner))
            return _ended(text[:cut]) + _block(rest, value, column, step) + text[cut:]
        else:
            return _replaced(text, inner, _scalar(value))
    raise AssertionError(place)  # pragma: no cover - the loop ends at the last name


def _replaced(text: str, node: Node, scalar: str) -> str:
    first, last = node.start_mark.index, _end(text, node)
    gap = " " if text[first - 1] == ":" else ""
    return f"{text[:first]}{gap}{scalar}{text[last:]}"


def _added(text: str, node: MappingNode, what: str) -> str:
    if node.flow_style:
        cut = node.end_mark.index - 1
        head = text[:cut].rstrip()
        comma = "" if head.endswith(("{", ",")) else ", "
        return f"{head}{comma}{what}{text[cut:]}"
    cut = _next_line(text, _end(text, node))
    return _ended(text[:cut]) + what + text[cut:]


def _block_or_flow(node: MappingNode, place: Place, value: Any, step: int) -> str:
    if not node.flow_style:
        return _block(place, value, node.start_mark.column, step)
    *groups, name = (_scalar(each) for each in place)
    opening = "".join(f"{group}: {{" for group in groups)
    return f"{opening}{name}: {_scalar(value)}{'}' * len(groups)}"


def _block(place: Place, value: Any, column: int, step: int) -> str:
    *groups, name = (_scalar(each) for each in place)
    margins = [" " * (column + step * depth) for depth in range(len(place))]
    opening = "".join(f"{margin}{group}:\n" for margin, group in zip(margins, groups, strict=False))
    return f"{opening}{margins[-1]}{name}: {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    import yaml  # noqa: PLC0415 - only who has a YAML file waits for it to load

    if not isinstance(value, str):
        return stored(value)
    # As an item of a list it is quoted for every context; its brackets go.
    style = None if value.isprintable() else '"'
    written = yaml.safe_dump(
        [value], default_flow_style=True, default_style=style, allow_unicode=True, width=1 << 30
    )
    return str(written).strip()[1:-1]


def _step(root: MappingNode) -> int:
    for _, value in root.value:
        if value.id == "mapping" and not value.flow_style:
            return int(value.start_mark.column)
    return INDENT


def _end(text: str, node: Any) -> int:
    # A block ends where the next token begins, beyond comments; what it holds ends before.
    while node.id != "scalar" and not node.flow_style and node.value:
        node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if node.id == "scalar" and node.style in {"|", ">"} else end


def _next_line(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"

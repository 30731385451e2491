"""The formats of a settings file: what a text says, on which lines, and one value changed in it.

tomlkit and ruamel.yaml change the text and keep its comments. A result counts only if it reads
back as what was wanted, and as nothing else.

Values of YAML are read as text, as those of the environment are, and the setting's type says what
they mean: ``summaries: off`` is the word, not the ``false`` that YAML 1.1 makes of it. An empty
value, ``~`` and ``null`` leave the setting as it is without the file.
"""

# The libraries are imported in functions: only who has such a file, or changes one, waits for it.
# ruff: noqa: PLC0415

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from memoranda.settings.nested import MISSING, Place, value_at, walk, with_value, without
from memoranda.settings.nested import without_empty as compact


class TomlFormat:
    """TOML: Python reads it, tomlkit changes it."""

    name = "TOML"

    def parse(self, text: str) -> dict[str, Any]:
        """Parse ``text`` into nested values."""
        return tomllib.loads(text)

    def stored(self, value: Any) -> Any:
        """Return ``value``: TOML knows the same types."""
        return value

    def lines(self, text: str) -> dict[Place, int]:
        """Return the first line of the statement that brings each value and each table."""
        # A file's first lines are TOML wherever a statement ends, and never within one.
        found: dict[Place, int] = {}
        raw, first = text.split("\n"), 1
        for last in range(1, len(raw) + 1):
            with suppress(tomllib.TOMLDecodeError):
                known = walk(tomllib.loads("\n".join(raw[:last]) + "\n"))
                found = {place: found.get(place, first) for place, _ in known}
                first = last + 1
        return found

    def insert(self, text: str, place: Place, value: Any) -> str:
        """Return ``text`` with ``value`` at ``place``, a new line below the others of its table."""
        import tomlkit

        document = tomlkit.parse(text)
        table: Any = document
        for name in place[:-1]:
            table = table.setdefault(name, tomlkit.table())
        # Added at the end it would stand below comments on what follows.
        body, groups = getattr(table, "value", table), tomlkit.items.AoT | tomlkit.items.Table
        lines = [k for k, v in getattr(body, "body", ()) if k and not isinstance(v, groups)]
        item = tomlkit.item(value)
        if place[-1] in table:
            table[place[-1]] = value
        elif lines and not isinstance(table, tomlkit.items.InlineTable):
            item.trivia.indent = body[lines[-1]].trivia.indent
            body._insert_after(lines[-1], tomlkit.key(place[-1]), item)  # noqa: SLF001 - the only way to say where
        else:
            table.append(place[-1], item)
        return tomlkit.dumps(document)

    def delete(self, text: str, place: Place) -> str:
        """Return ``text`` without the line of ``place``, or without a table that is empty."""
        import tomlkit

        document = tomlkit.parse(text)
        table: Any = document
        for name in place[:-1]:
            table = table[name]
        body = getattr(getattr(table[place[-1]], "value", None), "body", ())
        if not any(isinstance(item, tomlkit.items.Comment) for _, item in body):
            del table[place[-1]]
        return tomlkit.dumps(document)


class YamlFormat:
    """YAML: ruamel.yaml reads and changes it; tags, aliases and lists of documents are refused."""

    name = "YAML"
    standard = "tag:yaml.org,2002:"
    kinds = frozenset({"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "value"})
    empty = frozenset({"", "~", "null", "Null", "NULL"})
    indent = 2

    def parse(self, text: str) -> dict[str, Any]:
        """Return what ``text`` says, every value as text."""
        root = self._compose(text)
        return {} if root is None else dict(self._read(root, (), {}, set()))

    def stored(self, value: Any) -> str:
        """Return the text of ``value``."""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def lines(self, text: str) -> dict[Place, int]:
        """Return the line of each name."""
        root, found = self._compose(text), dict[Place, int]()
        if root is not None:
            self._read(root, (), found, set())
        return found

    def insert(self, text: str, place: Place, value: Any) -> str:
        """Return ``text`` with ``value`` at ``place``, a new line among the others of its group."""
        engine, document = self._load(text)
        group, rest = document, list(place)
        while len(rest) > 1 and group.get(rest[0]) is not None:
            group = group[rest.pop(0)]
        value, rest = self._quote(value), [self._quote(name) for name in rest]
        while len(rest) > 1:
            value = type(document)({rest.pop(): value})
        if rest[0] in group:
            group[rest[0]] = value
        else:
            # Comments below the last line are about what follows, and stay below it.
            last = next(reversed(group), None)
            above = last is not None and "#" in self._comment_below(group, last)
            group.insert(len(group) - above, rest[0], value)
        return self._dump(engine, document)

    def delete(self, text: str, place: Place) -> str:
        """Return ``text`` without ``place``; its name stays, empty, where a comment is below it."""
        engine, document = self._load(text)
        group: Any = document
        for name in place[:-1]:
            group = group[name]
        if "#" not in self._comment_below(group, place[-1]):
            del group[place[-1]]
        elif not isinstance(group[place[-1]], Mapping):
            group[place[-1]] = None
        return self._dump(engine, document)

    @staticmethod
    def _quote(value: Any) -> Any:
        """Return a value in quotes where it has, or begins with, what only stands in them."""
        from ruamel.yaml.scalarstring import DoubleQuotedScalarString

        # ruamel.yaml itself does not quote what begins like an indicator within braces.
        odd = isinstance(value, str) and (not value.isprintable() or value[:1] in {*"?-:"})
        return DoubleQuotedScalarString(value) if odd else value

    def _load(self, text: str) -> tuple[Any, Any]:
        """Return what writes a document as ``text`` is written, and the document."""
        from ruamel.yaml import YAML
        from ruamel.yaml.comments import CommentedMap

        engine = YAML()
        engine.preserve_quotes, engine.width = True, 1 << 20
        engine.explicit_start = re.search(r"^---", text, re.MULTILINE) is not None
        root = self._compose(text)
        groups = [value for _, value in root.value if value.id == "mapping"] if root else []
        columns = (group.start_mark.column for group in groups if not group.flow_style)
        engine.indent(mapping=next(columns, self.indent))
        document = engine.load(text)
        if document is None:
            document = CommentedMap()
            if text.strip():
                document.yaml_set_start_comment(text.replace("---", "").strip().lstrip("# "))
        return engine, document

    @staticmethod
    def _dump(engine: Any, document: Any) -> str:
        written = io.StringIO()
        engine.dump(document, written)
        return written.getvalue()

    @staticmethod
    def _comment_below(group: Any, name: str) -> str:
        """Return the lines of comment and space below the last line of a value."""
        value: Any = group[name]
        while hasattr(value, "items") and value and not value.fa.flow_style():
            group, name = value, next(reversed(value))
            value = group[name]
        tokens = group.ca.items.get(name)
        return str(tokens[2].value).partition("\n")[2] if tokens and tokens[2] else ""

    def _compose(self, text: str) -> Any:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            root: Any = YAML().compose(text)
        except MarkedYAMLError as error:
            causes = ((error.context, error.context_mark), (error.problem, error.problem_mark))
            what = [f"{said}{_position(mark) if mark else ''}" for said, mark in causes if said]
            raise ValueError(": ".join(what)) from error
        except YAMLError as error:  # A character that YAML does not allow.
            raise ValueError(str(error).partition("\n")[0]) from error
        if root is None or (root.id == "scalar" and root.value == ""):
            return None
        if root.id != "mapping":
            where = _position(root.start_mark)
            raise ValueError(f"it holds a {root.id}, not names with values{where}")
        return root

    def _read(self, node: Any, place: Place, lines: dict[Place, int], seen: set[int]) -> Any:
        """Return what a node says, every value as text, and note the line of each name.

        What settings do not need is refused: aliases, tags, names that appear twice.
        """
        where = _position(node.start_mark)
        if id(node) in seen:
            raise ValueError(f"settings take no aliases; repeat the value{where}")
        seen.add(id(node))
        kind = str(node.tag).removeprefix(self.standard)
        if kind not in self.kinds:
            raise ValueError(f"settings take no {kind}{where}")
        if node.id == "scalar":
            return None if not node.style and node.value in self.empty else node.value
        if node.id == "sequence":
            return [self._read(each, place, {}, seen) for each in node.value]
        names: set[str] = set()
        found = {}
        for key, value in node.value:
            if key.id != "scalar" or key.value in names:
                problem = "appears twice" if key.id == "scalar" else "is no name"
                raise ValueError(f"{key.value!r:.80} {problem}{_position(key.start_mark)}")
            names.add(key.value)
            self._read(key, place, lines, seen)
            inner = (*place, key.value)
            lines[inner] = key.start_mark.line + 1
            said = self._read(value, inner, lines, seen)
            if said is not None:
                found[key.value] = said
        return found


def _position(mark: Any) -> str:
    return f" (at line {mark.line + 1}, column {mark.column + 1})"


Format = TomlFormat | YamlFormat


def change(form: Format, text: str, place: Place, value: Any = MISSING) -> str:
    """Return ``text`` with ``value`` at ``place``, or without what is there; the comments stay.

    Raises:
        ValueError: the file is written in a way that does not allow it.
    """
    values = form.parse(text)
    if value is MISSING and value_at(values, place) is MISSING:
        return text
    ended = text if text.endswith("\n") or not text else f"{text}\n"
    # tomlkit's own errors are ValueErrors; others come of what stands in the way.
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        if value is MISSING:
            wanted, changed = without(values, place), form.delete(ended, place)
        else:
            wanted = with_value(values, place, form.stored(value))
            changed = form.insert(ended, place, value)
        # A group that has lost its last value may go, too.
        if compact(form.parse(changed)) == compact(wanted):
            return changed if ended == text else changed.removesuffix("\n")
    raise ValueError("it is written in a way that cannot be changed here")

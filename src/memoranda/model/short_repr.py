"""How results show themselves: in one readable line, without whole texts and without passwords."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from enum import Enum
from typing import Any
from urllib.parse import unquote

LONGEST = 120
# Characters of a text that are shown.
SHOWN = 40
# The user and the password of an address.
CREDENTIALS = re.compile(r"//[^/\s]*@")
# The same with a password, also of what is nearly an address; a parameter of one; and a password
# as libpq takes it beside addresses.
LOGIN = re.compile(r"^([a-z][a-z+]*:/*[^:/@]*):.*@", re.DOTALL)
PARAMETER = re.compile(r"([?&])([^=&]*)=[^&]*")
KEYWORD = re.compile(r"(?i)(password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)")
HIDDEN = "…"


class ShortRepr:
    """A dataclass that shows itself as one line; it is declared with ``repr=False``."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the class and the fields that say something."""
        shown: Any = self
        values = {each.name: getattr(shown, each.name) for each in fields(shown) if each.repr}
        usual = {each.name: _default(each) for each in fields(shown)}
        told = {name: value for name, value in values.items() if not _is_usual(value, usual[name])}
        return line_of(type(shown).__name__, told)


def line_of(name: str, values: Mapping[str, Any]) -> str:
    """Return ``name`` with these values as one line of at most ``LONGEST`` characters."""
    line = f"{name}({', '.join(f'{field}={_short(value)}' for field, value in values.items())})"
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]}…)"


def hide_password(address: str) -> str:
    """Return an address as it may be shown: with ``…`` for each password in it."""

    def hide(parameter: re.Match[str]) -> str:
        sign, name = parameter.groups()
        return f"{sign}{name}={HIDDEN}" if "password" in unquote(name).lower() else parameter[0]

    shown = PARAMETER.sub(hide, LOGIN.sub(rf"\1:{HIDDEN}@", address))
    return KEYWORD.sub(rf"\1{HIDDEN}", shown)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is_usual(value: Any, default: Any) -> bool:
    if value is None:
        return True
    return type(value) is type(default) and bool(value == default)


def _short(value: Any) -> str:
    match value:
        case Enum():
            text = str(value.value)
        case datetime():
            text = value.isoformat(" ", "minutes")
        case float():
            text = f"{value:.3g}"
        case str():
            line = CREDENTIALS.sub("//…@", " ".join(value[: 4 * SHOWN].split()))
            text = repr(line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…")
        case int():
            text = str(value)
        case Collection():
            text = f"<{len(value)}>"
        case _:
            text = f"{type(value).__name__}({getattr(value, 'id', None) or '…'})"
    return text

"""How results show themselves: in one readable line, without whole texts and without passwords."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, fields
from typing import Any
from urllib.parse import unquote

LONGEST = 120
# Characters of a text that are shown.
SHOWN = 40
HIDDEN = "…"
# User and password of a URL, whose path begins at the first slash; of an address of PostgreSQL, or
# what is nearly one, in which a password may have been left as it is; and a port with what follows
# it up to a parameter, which is no password.
URL_LOGIN = re.compile(r"(//[^/?#\s:]*):[^/?#\s]*@")
LOGIN = re.compile(r"(?is)(postgres[a-z0-9+]*:/{0,2}[^:]*?):(.*)@")
PORT = re.compile(r"\d*(?:,[^:@/?]*(?::\d+)?)*(?:/[^?]*)?\?[^@]*=.*", re.DOTALL)
# The name of a parameter, before its value.
NAME = re.compile(r"([^\s?&;=]+)\s*=")


class PasswordlessRepr:
    """A model of pydantic that shows itself without the passwords of addresses."""

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Return what is shown of it."""
        shown: Any = super()
        for name, value in shown.__repr_args__():
            yield name, hide_password(value) if isinstance(value, str) else value


class ShortRepr:
    """A dataclass that shows itself as one line; it is declared with ``repr=False``."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the class and the fields that say something."""
        shown: Any = self
        values = {each: getattr(shown, each.name) for each in fields(shown) if each.repr}
        told = {each.name: value for each, value in values.items() if not _is_usual(value, each)}
        return line_of(type(shown).__name__, told)


def line_of(name: str, values: Mapping[str, Any]) -> str:
    """Return ``name`` with these values as one line of at most ``LONGEST`` characters."""
    line = f"{name}({', '.join(f'{field}={_shorten(value)}' for field, value in values.items())})"
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]}…)"


def hide_password(address: str) -> str:
    """Return an address as it may be shown: with ``…`` for each password in it.

    From a parameter that is a password on, nothing is shown: its end may be part of it.
    """

    def hide(login: re.Match[str]) -> str:
        return login[0] if PORT.fullmatch(login[2]) else f"{login[1]}:{HIDDEN}@"

    shown = URL_LOGIN.sub(rf"\1:{HIDDEN}@", LOGIN.sub(hide, address))
    for name in NAME.finditer(shown):
        if "passw" in unquote(name[1]).lower():
            return shown[: name.end()] + HIDDEN
    return shown


def _is_usual(value: Any, field: Field[Any]) -> bool:
    return value is None or value == field.default or value in ((), {}, [])


def _shorten(value: Any) -> str:
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"<{len(value)}>"
    line = " ".join(hide_password(str(value))[: 4 * SHOWN].split())
    line = line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
    return repr(line) if type(value) is str else line

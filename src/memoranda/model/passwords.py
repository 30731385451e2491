"""Addresses as they may be shown: without the passwords in them."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "…"
# User and password of a URL, whose path begins at the first slash; of an address of PostgreSQL, or
# what is nearly one, in which a password may have been left as it is; and a port with what follows
# it up to a parameter, which is no password.
URL_LOGIN = re.compile(r"(//[^/?#\s:]*):[^/?#\s]*@")
LOGIN = re.compile(r"(?is)(postgres[a-z0-9+]*:/{0,2}[^:]*?):(.*)@")
PORT = re.compile(r"\d*(?:,[^:@/?]*(?::\d+)?)*(?:/[^?]*)?\?[^@]*=.*", re.DOTALL)
# The name of a parameter, before its value.
NAME = re.compile(r"([^\s?&;=]+)\s*=")


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

"""Addresses as they may be shown: without the passwords in them."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "…"
# From the user to the last @: of a URL, or of what is nearly an address of PostgreSQL, a password
# may have any sign in it.
LOGIN = re.compile(r"(?is)((?://|postgres[a-z0-9+]*:/{0,2})[^:/?#\s]*):.*@")
# The name of a parameter, before its value.
NAME = re.compile(r"([^\s?&;=]+)\s*=")


def hide_password(address: str) -> str:
    """Return an address as it may be shown: with ``…`` for each password in it.

    From a parameter that is a password on, nothing is shown: its end may be part of it.
    """
    shown = LOGIN.sub(rf"\1:{HIDDEN}@", address)
    for name in NAME.finditer(shown):
        if "passw" in unquote(name[1]).lower():
            return shown[: name.end()] + HIDDEN
    return shown

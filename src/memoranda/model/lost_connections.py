"""Reading once more what a lost connection to a server has interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memoranda.errors import StoreUnreachable

T = TypeVar("T")


def read_again(read: Callable[[], T]) -> T:
    """Return what ``read`` returns; it begins anew, once, if the server was lost meanwhile.

    Args:
        read: changes nothing that is stored, and takes a snapshot of its own.

    Raises:
        StoreUnreachable: the server did not come back within ``storage.busy_timeout``.
    """
    try:
        return read()
    except StoreUnreachable as error:
        if not error.lost:
            raise
        return read()

"""What a memory must do to be measured: an adapter has about 30 lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NoReturn, Protocol

Embed = Callable[[Sequence[str]], list[list[float]]]
"""From texts to vectors of unit length."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said at once, and what is known about it.

    Attributes:
        id: its name in the data set, such as ``D3:12``.
        text: what a memory keeps and searches.
        speaker: who said it, where people talk with each other.
        role: ``user`` or ``assistant``, where one talks with an assistant.
        session: the sitting in which it was said.
        time: when it was said, if that is known.
    """

    id: str
    text: str
    session: str
    speaker: str | None = None
    role: str | None = None
    time: datetime | None = None


class Adapter(Protocol):
    """A memory, opened in a folder that is its own.

    What a memory does not have raises :class:`NotImplementedError`, and counts as not offered.

    Attributes:
        about: how it searches, in a few words.
        packages: the distributions whose versions are printed.
    """

    about: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Open what the folder holds; what takes an embedder gets ``embed``."""

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep the turns of one user, in order."""

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the ids of that user's turns that best answer, best first."""

    def put(self, user: str, key: str, value: str) -> None:
        """Keep a value, in the place of the one that the key had."""

    def get(self, user: str, key: str) -> str | None:
        """Return the value of a key; None, if there is none."""

    def delete(self, user: str, key: str) -> None:
        """Remove a value; where there is none, nothing happens."""

    def list(self, user: str) -> list[str]:
        """Return the keys of a user."""

    def close(self) -> None:
        """Write what is not written, and let go of the folder."""


class WithoutKeys:
    """What a memory inherits that holds no values under keys."""

    def put(self, *_: str) -> NoReturn:
        """Say that there are none."""
        raise NotImplementedError

    get = delete = list = put

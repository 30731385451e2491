"""The journal: what makes several calls of Chroma one transaction.

A commit is one row of the ledger that holds all that a transaction changed, under the number that
follows the user's last. Adding it is one atomic call, and of two processes that add the same
number the first one wins: that is the moment of the commit. Then the rows themselves are written,
the counters with the number of the commit last. Whoever finds a commit beyond the counters reads
it as if it were written; and where the process that made it does not come to write it, the next
one that writes for the user does it in its place, which harms nothing if both do.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import PydanticSerializationError

from memoranda.errors import InvalidInput, NotADatabase
from memoranda.model.vectors import Vector
from memoranda.store.chroma.collections import COMMITS, PAGE, batches
from memoranda.store.chroma.rows import Counters, Row, decode, encode
from memoranda.store.chroma.shelf import Shelf, Write, address, entry
from memoranda.store.chroma.state import Address

KEPT = 64
"""Commits that are kept, at least, for other processes to follow."""
AHEAD = 8
"""Commits that are asked for at once."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What stands in the journal beyond a number.

    Attributes:
        commits: the commits that follow it, in order.
        written: number of the last commit whose rows are all written.
        more: whether there may be more commits behind these.
    """

    commits: Sequence[Write]
    written: int
    more: bool


class Journal:
    """The commits of all users of one place."""

    def __init__(self, shelf: Shelf) -> None:
        """Keep the journal of ``shelf``."""
        self._shelf = shelf

    def written(self, user: str) -> Counters | None:
        """Return the counters that are stored: they say which commit's rows are all written.

        ``None`` where nobody ever committed anything for the user.
        """
        return self._counters(self._shelf.entries([_counters(user)]), user)

    def behind(self) -> list[str]:
        """Return the users who have a commit whose rows are not all written."""
        heads = {
            _commit(user, counters.commit + 1): user
            for user, counters in self._shelf.users().items()
        }
        found = (self._shelf.entries(part) for part in batches(heads, PAGE))
        return [heads[each] for part in found for each in part]

    def ahead(self, user: str, number: int) -> Ahead:
        """Return the commits that follow ``number``."""
        wanted = [_commit(user, number + step) for step in range(1, AHEAD + 1)]
        found = self._shelf.entries([*wanted, _counters(user)])
        commits: list[Write] = []
        for each in wanted:
            if each not in found:
                break
            commits.append(self._read(user, found[each]))
        written = (self._counters(found, user) or Counters()).commit
        return Ahead(commits, written, more=len(commits) == AHEAD)

    def append(self, write: Write, number: int, token: str) -> None:
        """Commit ``write`` under ``number``, unless another has that number already.

        Args:
            write: what is committed.
            number: follows the user's last.
            token: by which the commit is known again; none of others, or of another try.
        """
        user = write.user
        entries = {
            _commit(user, number): {
                "user": user,
                "table": COMMITS,
                "holder": token,
                "row": _dumped(write),
            }
        }
        if number == 1:
            # So that the user is known of, should the rows not come to be written.
            entries[_counters(user)] = entry(user, Counters())
        self._shelf.enter(entries)

    def won(self, user: str, number: int, token: str) -> bool:
        """Return whether the commit ``number`` is the one with this token.

        Not, where it was made so late that others have long gone on from there.
        """
        at = _commit(user, number)
        found = self._shelf.entries([at, _counters(user)])
        if found.get(at, {}).get("holder") != token:
            return False
        written = self._counters(found, user)
        if written is None or written.commit <= number:
            return True
        self._shelf.remove([at])
        return False

    def trim(self, user: str, number: int, *, all: bool = False) -> None:
        """Remove commits that nobody needs any more.

        Args:
            user: whose they are.
            number: the last commit, whose rows are written.
            all: every one before it, as they may hold what was erased. Who has not read them
                reads everything anew.
        """
        if all:
            commits = self._shelf.commits(user)
            self._shelf.remove([each for each in commits if int(json.loads(each)[-1]) < number])
        elif number % KEPT == 0:
            first = max(1, number - 2 * KEPT)
            self._shelf.remove([_commit(user, old) for old in range(first, number - KEPT)])

    def _counters(self, found: Mapping[str, Any], user: str) -> Counters | None:
        entry = found.get(_counters(user))
        row = None if entry is None else decode(Counters.table, entry["row"])
        return row if isinstance(row, Counters) else None

    def _read(self, user: str, entry: Mapping[str, Any]) -> Write:
        try:
            return _loaded(user, entry["row"])
        except (KeyError, ValueError) as error:
            message = f"{self._shelf.connection.place}: a commit cannot be read; restore a backup"
            raise NotADatabase(message) from error


def _commit(user: str, number: int) -> str:
    return address(user, COMMITS, str(number))


def _counters(user: str) -> str:
    return address(user, Counters.table, "")


def _dumped(write: Write) -> str:
    try:
        rows = [
            (table, key, None if row is None else encode(row))
            for (table, key), row in write.changes.items()
        ]
    except PydanticSerializationError as error:
        message = f"a text or a value cannot be stored: {error}; remove it"
        raise InvalidInput(message) from error
    vectors = {
        each: base64.b64encode(np.asarray(vector, np.float32).tobytes()).decode()
        for each, vector in write.vectors.items()
    }
    return json.dumps({"rows": rows, "vectors": vectors}, ensure_ascii=False)


def _loaded(user: str, text: str) -> Write:
    held = json.loads(text)
    changes: dict[Address, Row | None] = {
        (table, key): None if row is None else decode(table, row)
        for table, key, row in held["rows"]
    }
    vectors: dict[str, Vector] = {
        each: np.frombuffer(base64.b64decode(text), np.float32)
        for each, text in held["vectors"].items()
    }
    return Write(user, changes, vectors)

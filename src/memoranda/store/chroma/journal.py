"""The journal of a place: every change of a user's rows, in the order in which they were made.

An entry is one row of Chroma (or several, where it is large) with a patch: what SQLite's session
extension recorded of a transaction. There are two kinds of entries:

- ``commit`` n: what the n-th transaction of the user changed;
- ``base`` e: all rows there were after some commit. With a base the journal begins anew, as the
  next epoch, and everything before it is removed: when many commits follow the last base, and
  after each erasure.

Adding a commit is one atomic call, and of two processes that add the same number the first one
wins, as Chroma's ``add`` leaves a row that is there as it is. Bases are added in the same way
before what they replace is removed, so that a reader finds all commits at any time.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any, NamedTuple
from uuid import uuid4

from memoranda.errors import NotADatabase
from memoranda.store.chroma.collections import JOURNAL, PAGE, Collections, batches

COMMIT, BASE, MIRROR = "commit", "base", "mirror"
# Commits that are asked for at once.
AHEAD = 8
# Characters of a patch in one row: each call of Chroma has to hold its rows several times.
PIECE = 2_000_000
# Entries that are fetched in one call.
TOGETHER = 8
FORMAT = 1
NO_VECTOR = [1.0]


class JournalEntry(NamedTuple):
    """One change of a user's rows, as the journal has it.

    Attributes:
        through: number of the last commit that it holds.
        patch: the patchset.
        token: by which the entry is known again.
    """

    through: int
    patch: bytes
    token: str


class Position(NamedTuple):
    """The position of a reader in the journal of a user.

    Attributes:
        epoch: number of the base that it read; -1 where there was none.
        commit: number of the last commit that it read.
        base: number of the last commit that is in the base.
    """

    epoch: int = -1
    commit: int = 0
    base: int = 0


class JournalEntries(NamedTuple):
    """What the journal of a user has, from its base or from a position on.

    Attributes:
        epoch: number of the newest base; -1 where there is none.
        entries: in order; beyond a position, the next eight at most.
        mirrored: number of the last commit that is known to be in the collection of the memories.
    """

    epoch: int
    entries: Sequence[JournalEntry]
    mirrored: int


class Journal:
    """The journals of all users of one place."""

    def __init__(self, collections: Collections) -> None:
        """Keep the journals in a collection of their own."""
        self._collections = collections

    # Reading

    def users(self) -> list[str]:
        """Return everybody who ever stored something, the store itself among them."""
        return sorted({_parsed(each)[0] for each in self._ids({"of": BASE})})

    def load(self, user: str) -> JournalEntries:
        """Return all that there is of a user.

        What is listed may be removed by another process before it is read: then it is listed anew.
        """
        while True:
            numbers: dict[str, set[int]] = {COMMIT: set(), BASE: set(), MIRROR: set()}
            for each in self._ids({"user": user}):
                _, kind, number, part = _parsed(each)
                if not part:
                    numbers[kind].add(number)
            epoch = max(numbers[BASE], default=-1)
            if epoch < 0:
                return JournalEntries(-1, (), 0)
            at, mirror = _id(user, BASE, epoch), _id(user, MIRROR, 0)
            heads = self._rows([at, mirror])
            first = self._entry(user, heads[at]) if at in heads else None
            if first is None:
                continue
            entries = [first]
            following = takewhile(numbers[COMMIT].__contains__, count(first.through + 1))
            wanted = [_id(user, COMMIT, number) for number in following]
            for ids in batches(wanted, TOGETHER):
                found = self._rows(ids)
                read = (self._entry(user, found[each]) for each in ids if each in found)
                entries += filter(None, read)
            if len(entries) > len(wanted):
                return JournalEntries(epoch, entries, heads.get(mirror, {}).get("through", 0))

    def ahead(self, positions: Mapping[str, Position]) -> dict[str, JournalEntries]:
        """Return the commits that follow the positions of users, all in one call.

        Of a user whose position is of an older epoch there are none to follow, and nothing is told.
        """
        wanted = {
            user: [
                _id(user, BASE, at.epoch),
                _id(user, MIRROR, 0),
                *(_id(user, COMMIT, at.commit + step) for step in range(1, AHEAD + 1)),
            ]
            for user, at in positions.items()
        }
        found = self._rows([each for ids in wanted.values() for each in ids])
        ahead = {}
        for user, (base, mirror, *commits) in wanted.items():
            follow = takewhile(found.__contains__, commits)
            read = [self._entry(user, found[each]) for each in follow]
            entries = [entry for entry in read if entry is not None]
            if base in found and len(entries) == len(read):
                mirrored = found.get(mirror, {}).get("through", 0)
                ahead[user] = JournalEntries(positions[user].epoch, entries, mirrored)
        return ahead

    def won(self, user: str, entry: JournalEntry, epoch: int) -> bool | None:
        """Return whether a commit is the first; ``None`` where it was replaced, or others were."""
        commit = _id(user, COMMIT, entry.through)
        base, next_base = (_id(user, BASE, max(epoch, 0) + step) for step in (0, 1))
        found = self._rows([commit, base, next_base])
        if base not in found or next_base in found:
            return None
        return commit in found and found[commit]["token"] == entry.token

    def behind(self) -> list[str]:
        """Return the users with a commit that is not known to be among the memories."""
        pages = self._collections.pages(JOURNAL, {"of": MIRROR}, ["metadatas"])
        through = {row["user"]: row["through"] for page in pages for row in page["metadatas"]}
        heads = {_id(user, COMMIT, through.get(user, 0) + 1): user for user in self.users()}
        found = (self._rows(part) for part in batches(list(heads), PAGE))
        return [heads[each] for part in found for each in part]

    def erasing(self) -> list[str]:
        """Return the users of whom the journal still has what was erased."""
        return sorted({_parsed(each)[0] for each in self._ids({"erases": True})})

    def unpurged(self) -> bool:
        """Return whether the files may hold what was erased: a server had it."""
        return bool(self._ids({"unpurged": True}))

    def size(self) -> int:
        """Return how many bytes the journal takes, which has everything."""
        pages = self._collections.pages(JOURNAL, None, ["metadatas"])
        return sum(len(row.get("patch", "")) for page in pages for row in page["metadatas"])

    def _entry(self, user: str, row: Mapping[str, Any]) -> JournalEntry | None:
        """Return the entry of a row; ``None`` where another process removed a part of it."""
        place = self._collections.place
        if row.get("format", FORMAT) > FORMAT:
            raise NotADatabase(f"{place} was written by a newer memoranda; upgrade this one")
        try:
            token, numbers = row["token"], range(1, row["parts"])
            ids = [_id(user, row["of"], row["number"], f"{token}-{part}") for part in numbers]
            # One at a time: each is large.
            rows = [self._rows([each]).get(each) for each in ids]
            if None in rows:
                return None
            text = "".join(it["patch"] for it in (row, *rows) if it is not None)
            patch = b64decode(text, validate=True)
            return JournalEntry(row["through"], patch, token)
        except (KeyError, ValueError, TypeError) as error:
            raise NotADatabase(
                f"{place}: an entry of the journal of {user!r} cannot be read; something else "
                f"changed it. Restore a backup"
            ) from error

    # Writing

    def append(self, user: str, entry: JournalEntry, *, erases: bool) -> None:
        """Commit an entry, unless another has its number already.

        Args:
            user: whose it is.
            entry: what is committed; its number follows the user's last.
            erases: whether it removes texts, which then have to be purged.
        """
        if entry.through == 1:
            self._add(user, BASE, 0, JournalEntry(0, b"", entry.token))
        self._add(user, COMMIT, entry.through, entry, erases=erases)

    def begin(self, user: str, commit: int, patch: bytes) -> None:
        """Begin the journal of a user with all there is after a commit, in an empty place."""
        self._add(user, BASE, 0, JournalEntry(commit, patch, uuid4().hex))
        self.mirrored({user: commit})

    def mirrored(self, through: Mapping[str, int]) -> None:
        """Say up to which commits of users the memories are written."""
        rows = {
            _id(user, MIRROR, 0): {"user": user, "of": MIRROR, "through": number}
            for user, number in through.items()
        }
        self._write("upsert", rows)

    def rebase(self, user: str, at: Position, patch: bytes) -> bool:
        """Begin a new epoch: ``patch`` is all there is, and everything before it is removed.

        Where something was erased, it is noted that the files still have to be purged.

        Returns:
            whether it was done; not, where another process began that epoch first.
        """
        base, epoch = JournalEntry(at.commit, patch, uuid4().hex), at.epoch + 1
        noted = {"$or": [{"erases": True}, {"unpurged": True}]}
        unpurged = bool(self._ids({"$and": [{"user": user}, noted]}))
        self._add(user, BASE, epoch, base, unpurged=unpurged)
        begun = _id(user, BASE, epoch)
        if self._rows([begun]).get(begun, {}).get("token") != base.token:
            self.forget(base.token)
            return False
        # The base first: who follows the journal learns by it that commits are gone.
        self._remove({"user": user}, {"of": BASE}, {"number": {"$lt": epoch}})
        self._remove({"user": user}, {"of": COMMIT}, {"through": {"$lte": at.commit}})
        return True

    def purged(self) -> None:
        """Say that the files hold nothing any more that was erased."""
        for part in batches(self._ids({"unpurged": True}), PAGE):
            told = [{"unpurged": False}] * len(part)
            self._collections.call(JOURNAL, "update", ids=part, metadatas=told)

    def forget(self, token: str) -> None:
        """Remove an entry that came too late to count."""
        self._remove({"token": token})

    def _add(self, user: str, kind: str, number: int, entry: JournalEntry, **told: bool) -> None:
        text = b64encode(entry.patch).decode()
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]
        head = {
            "user": user,
            "of": kind,
            "number": number,
            "through": entry.through,
            "token": entry.token,
            "format": FORMAT,
            "parts": len(pieces),
        }
        for part, piece in enumerate(pieces[1:], 1):
            at = _id(user, kind, number, f"{entry.token}-{part}")
            self._write("upsert", {at: {**head, "patch": piece, "part": part}})
        noted = {name: True for name, value in told.items() if value}
        row = {**head, **noted, "patch": pieces[0]}
        # Where others may do so, too, the first one with an id stays.
        how = "add" if self._collections.shared else "upsert"
        self._write(how, {_id(user, kind, number): row})

    # Calls

    def _rows(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        if not ids:
            return {}
        found = self._collections.call(JOURNAL, "get", ids=list(ids), include=["metadatas"])
        return dict(zip(found["ids"], found["metadatas"], strict=True))

    def _ids(self, where: Mapping[str, Any]) -> list[str]:
        found = self._collections.call(JOURNAL, "get", where=dict(where), include=[])
        ids: list[str] = found["ids"]
        return ids

    def _write(self, how: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self._collections.call(
            JOURNAL,
            how,
            ids=list(rows),
            embeddings=[NO_VECTOR] * len(rows),
            metadatas=[dict(row) for row in rows.values()],
        )

    def _remove(self, *where: Mapping[str, Any]) -> None:
        condition = where[0] if len(where) == 1 else {"$and": list(where)}
        self._collections.call(JOURNAL, "delete", where=condition)


def _id(user: str, kind: str, number: int, part: str = "") -> str:
    """Return the id of a row of the journal."""
    return json.dumps([user, kind, number, part], ensure_ascii=False)


def _parsed(id: str) -> tuple[str, str, int, str]:
    try:
        user, kind, number, part = json.loads(id)
    except ValueError as error:
        message = f"the journal has a row {id!r} that is not its own; remove it"
        raise NotADatabase(message) from error
    return user, kind, number, part

"""Copies users from one store to another, as an export that is imported, and compares the two."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from memoranda.conversation.conversation_store import name_similar
from memoranda.errors import NotFound
from memoranda.model.checks import clean, several
from memoranda.model.models import Kind
from memoranda.model.ports import Progress
from memoranda.model.query import Filter
from memoranda.store.sql.store import Store
from memoranda.transfer.archive import archive_lines, read_archive, restore
from memoranda.transfer.batches import ImportCounts, ImportTarget
from memoranda.transfer.json_files import JsonItem, LeftOut
from memoranda.transfer.porting import one_moment

# How many lines of a type there are, and a sum of their digests, which knows no order.
Sums = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCopyReport:
    """What a copy did for one user, and how the two stores compare since.

    Attributes:
        user: who.
        records, messages: how many were added.
        lines: how much the user has: how many lines an export takes, by type.
        differences: a line for each type of which the copy has others.
        left_out: a line for each file of the notes that was not copied: its name, and why.
    """

    user: str
    records: int
    messages: int
    lines: Mapping[str, int]
    differences: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What a copy did, user by user, and how the two stores compare since."""

    users: tuple[UserCopyReport, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        """What is different in the copy; nothing, if all was copied."""
        return tuple(f"{each.user}: {what}" for each in self.users for what in each.differences)


def existing_users(store: Store, users: Iterable[str] | None) -> list[str]:
    """Return these users, or all of the store.

    Raises:
        NotFound: there is no such user, or nobody at all.
    """
    known = store.users()
    names = known if users is None else [clean(each, "user") for each in several(users, "users")]
    for name in names:
        if name not in known:
            raise NotFound(f"there is no user {name!r}; {name_similar(name, known)}")
    if not names:
        raise NotFound(f"{store.location} has no users, so there is nothing to copy")
    return names


def copy_users(
    pairs: Sequence[tuple[ImportTarget, ImportTarget]], progress: Progress | None = None
) -> CopyReport:
    """Copy users with all that they have, one after the other, and compare.

    What is there already stays as it is, so a copy that was cut short goes on.

    Args:
        pairs: of each user the memory that is copied, and the one that it goes to.
        progress: told after each batch.
    """
    counts = ImportCounts(progress)
    for source, _ in pairs:  # About how many parts the exports have.
        records = source.store.count(source.everyone, Filter.at_any_time(kinds=tuple(Kind)))
        counts.total += len(source.store.conversations(source.everyone)) + sum(records.values())
    return CopyReport(users=tuple(_copy(source, target, counts) for source, target in pairs))


def _copy(source: ImportTarget, target: ImportTarget, counts: ImportCounts) -> UserCopyReport:
    records, messages, counts.left_out = counts.records, counts.messages, LeftOut()
    theirs, ours = Sums(), Sums()
    restore(target, read_archive(_lines(source, theirs, counts.left_out), target.scope), counts)
    deque(_lines(target, ours, LeftOut()), maxlen=0)
    kinds = (kind for kind in (theirs | ours) if theirs.get(kind) != ours.get(kind))
    return UserCopyReport(
        user=target.scope.user,
        records=counts.records - records,
        messages=counts.messages - messages,
        lines={kind: number for kind, (number, _) in theirs.items()},
        differences=tuple(_difference(kind, theirs, ours) for kind in kinds),
        left_out=counts.left_out.lines(),
    )


def _lines(memory: ImportTarget, sums: Sums, left_out: LeftOut) -> Iterator[JsonItem]:
    """Yield the lines of an export of a user; count and digest those of each type."""
    store, scope = memory.store, memory.everyone
    place = f"{store.location}, user {scope.user!r}"
    with one_moment(store, scope, memory.notes, left_out) as told:
        for kind, line in archive_lines(store, scope, memory.records.now(), told):
            if kind not in {"header", "notes"}:  # Of the notes, what was not written is told.
                number, total = sums.get(kind, (0, 0))
                digest = int.from_bytes(blake2b(line, digest_size=8).digest())
                sums[kind] = number + 1, total + digest
            yield JsonItem(place, json.loads(line))


def _difference(kind: str, theirs: Sums, ours: Sums) -> str:
    (there, _), (here, _) = theirs.get(kind, (0, 0)), ours.get(kind, (0, 0))
    if there != here:
        return f"{kind}: {there:,}, but {here:,} in the copy"
    return f"{kind}: {there:,}, of which some are others in the copy"

"""Copies users from one store to another, as often as is wanted, and compares the two.

What is copied of a user is of one moment, and is brought up to date where it was copied before. So
a copy that was cut short goes on where it was, and one of a store in use can be repeated when
nobody uses it any more: that takes as long as it takes to read both stores.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from itertools import islice, starmap, zip_longest

from memoranda.conversation.conversation_store import name_similar
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import PutVectors
from memoranda.model.checks import clean, several
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import VECTORS, Progress, Store
from memoranda.model.query import Filter
from memoranda.model.short_repr import ShortRepr
from memoranda.notes.service import NotesService
from memoranda.records.pages import PAGE, record_pages
from memoranda.transfer.archive import (
    OTHERWISE,
    ArchivedPart,
    ArchiveEntry,
    part_lines,
    stored_parts,
    write_entries,
)
from memoranda.transfer.batches import ImportCounts, ImportTarget
from memoranda.transfer.json_files import LeftOut
from memoranda.transfer.porting import one_moment

EVERYTHING = Filter.at_any_time(kinds=tuple(Kind))
WAITING = replace(EVERYTHING, waiting=VECTORS)
# Of a digest, in bytes.
DIGEST = 16
Line = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UserCopyReport(ShortRepr):
    """What a copy did for one user, and how the two stores compare since.

    Attributes:
        user: who.
        records, messages: how many were added.
        updated: how many records and conversations were brought up to date.
        vectors: how many were copied, too.
        lines: how much the user has: how many lines an export takes, by type.
        digest: of these lines, which the copy has, too, where nothing is different.
        differences: what is different in the copy; the first one, and what is not as often there.
        left_out: a line for each file of the notes that was not copied: its name, and why.
    """

    user: str
    records: int
    messages: int
    updated: int
    vectors: int
    lines: Mapping[str, int]
    digest: str
    differences: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CopyReport(ShortRepr):
    """What a copy did, user by user, and how the two stores compare since."""

    users: tuple[UserCopyReport, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        """What is different in the copy; nothing, if all was copied."""
        return tuple(f"{each.user}: {what}" for each in self.users for what in each.differences)


@dataclass(frozen=True, slots=True)
class CopySource:
    """Where a copy comes from.

    Attributes:
        store: where everybody's memory is.
        notes: finds the notes of a user.
        now: tells the time.
    """

    store: Store
    notes: NotesService
    now: Callable[[], datetime]


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
    source: CopySource, targets: Mapping[str, ImportTarget], progress: Progress | None = None
) -> CopyReport:
    """Copy users with all that they have, one after the other, and compare.

    Args:
        source: where they are.
        targets: who, each with the memory that the copy goes to.
        progress: told after each batch; what is compared counts once more.

    Raises:
        InvalidInput: the target has something of a user that the source has not: then nothing of
            that user was written; or one of their conversations went on otherwise there.
    """
    sizes = {user: 2 * _size(source.store, Scope(user)) for user in targets}
    total, before = sum(sizes.values()), 0
    done = []
    for user, size in sizes.items():
        told = None if progress is None else _part_of(progress, before, size, total)
        done.append(_copy_user(source, targets[user], ImportCounts(told)))
        before += size
    return CopyReport(users=tuple(done))


def _part_of(progress: Progress, before: int, size: int, whole: int) -> Progress:
    """Return the progress of a part of the whole that has about this size."""

    def tell(done: int, total: int) -> None:
        del total
        progress(before + min(done, size), whole)

    return tell


def _size(store: Store, scope: Scope) -> int:
    """Return about how many lines an export takes."""
    talks = sum(1 + info.messages for info in store.conversations(scope).values())
    return talks + sum(store.count(scope, EVERYTHING).values())


def _copy_user(source: CopySource, target: ImportTarget, counts: ImportCounts) -> UserCopyReport:
    scope, store = Scope(target.scope.user), target.store
    with one_moment(source.store, scope, source.notes, counts.left_out) as notes:
        _refuse_others(source.store, target)
        parts = stored_parts(source.store, scope, source.now(), notes)
        place = f"{source.store.location}, user {scope.user!r}"
        write_entries(target, (ArchiveEntry(place, part) for part in parts), counts, update=True)
        vectors = _copy_vectors(source.store, store, scope)
        kept = [each for each in notes if target.notes.find(replace(scope, agent=each.agent))]
        theirs = stored_parts(source.store, scope, source.now(), kept)
        with one_moment(store, scope, target.notes, LeftOut()) as copied:
            ours = stored_parts(store, scope, source.now(), copied)
            lines, digest, differences = _compare(theirs, ours, counts)
    return UserCopyReport(
        user=scope.user,
        records=counts.records,
        messages=counts.messages,
        updated=counts.updated,
        vectors=vectors,
        lines=lines,
        digest=digest,
        differences=differences,
        left_out=counts.left_out.lines(),
    )


def _refuse_others(source: Store, target: ImportTarget) -> None:
    """Refuse to mix what a source has with what a target has of its own."""
    scope = target.everyone
    alien = next(_records_alone(source, target), None)
    if alien is None:
        alone = target.store.conversations(scope).keys() - source.conversations(scope).keys()
        alien = min((f"the conversation {name!r}" for name in alone), default=None)
    if alien is not None:
        raise InvalidInput(
            f"user {scope.user!r} has {alien} in {target.store.location}, but not in "
            f"{source.location}; {OTHERWISE}"
        )


def _records_alone(source: Store, target: ImportTarget) -> Iterator[str]:
    scope = target.everyone
    for page in record_pages(target.store, scope, target.records.now(), tuple(Kind)):
        there = source.get(Scope(scope.user), [record.id for record in page])
        yield from (record.id for record in page if record.id not in there)


def _copy_vectors(source: Store, target: Store, scope: Scope) -> int:
    """Give the records that wait for vectors those of the source, if they are of one model."""
    model = source.vector_model()
    if model is None or model != target.vector_model():
        return 0
    waiting = set(_waiting(target, scope))
    ordinals = iter(source.ordinals(scope, EVERYTHING) if waiting else ())
    done = 0
    while page := list(islice(ordinals, PAGE)):
        found, tokens = source.vectors(scope, page), source.ask_token_vectors(scope, page)()
        records = {
            ordinal: record
            for ordinal, record in source.get(scope, list(found)).items()
            if record.id in waiting
        }
        vectors = {record.id: found[ordinal] for ordinal, record in records.items()}
        hashes = {record.id: record.content_hash for record in records.values()}
        of_tokens = {each.id: tokens.of(ordinal) for ordinal, each in records.items()}
        some = {name: each for name, each in of_tokens.items() if each is not None}
        if vectors:
            target.apply(scope, [PutVectors(model[0], vectors, hashes, some)])
        done += len(vectors)
    return done


def _waiting(store: Store, scope: Scope) -> Iterator[str]:
    """Yield the ids of the records that wait for vectors."""
    after = None
    while page := store.records(scope, WAITING, limit=PAGE, after=after):
        yield from (record.id for record in page)
        after = page[-1].id


# Comparing


def _compare(
    theirs: Iterable[ArchivedPart], ours: Iterable[ArchivedPart], counts: ImportCounts
) -> tuple[dict[str, int], str, tuple[str, ...]]:
    """Return how many lines there are by type, their digest, and what is different in ours."""
    here: Counter[str] = Counter()
    there: Counter[str] = Counter()
    digest, first, compared = blake2b(digest_size=DIGEST), "", 0
    for one, other in zip_longest(theirs, ours):
        lines = [] if one is None else list(part_lines(one))
        copied = lines
        if one != other:
            copied = [] if other is None else list(part_lines(other))
        for line in lines:
            digest.update(line[1].encode())
        there.update(kind for kind, _ in lines)
        here.update(kind for kind, _ in copied)
        pairs = (pair for pair in zip_longest(lines, copied) if pair[0] != pair[1])
        first = first or next(starmap(_difference, pairs), "")
        compared += len(lines)
        if compared >= PAGE:
            counts.advance(compared)
            compared = 0
    counts.advance(compared)
    kinds = [kind for kind in sorted({*here, *there}) if here[kind] != there[kind]]
    missing = [f"{kind}: {there[kind]:,}, but {here[kind]:,} in the copy" for kind in kinds]
    return dict(there), digest.hexdigest(), (*([first] if first else []), *missing)


def _difference(one: Line | None, other: Line | None) -> str:
    """Say what the first lines are that are not the same."""
    if one is None or other is None:
        return f"{_name(other)} is only in the copy" if one is None else f"{_name(one)} is missing"
    if _name(one) != _name(other):
        return f"{_name(one)} is missing, or not in its place"
    theirs, ours = json.loads(one[1]), json.loads(other[1])
    keys = [key for key in theirs if theirs[key] != ours.get(key)]
    return f"{_name(one)} is another in the copy: {', '.join(keys)}"


def _name(line: Line | None) -> str:
    if line is None:
        return "nothing"
    kind, text = line
    value = json.loads(text)
    names = (value.get(key) for key in ("conversation", "id", "name", "stage", "agent"))
    return " ".join([kind, *(name for name in names if name)])

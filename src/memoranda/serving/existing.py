"""What has to be there before it is read: the file of a store, its user, a record, an entity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from memoranda.errors import NotFound
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.checks import nearest
from memoranda.model.models import Entity, Record
from memoranda.store.locations import file_of

NAMED = 5
# Names of a folder that are looked at.
MOST = 1_000
BEGIN = "memoranda demo shows how it works, and memoranda remember begins one"
NOTHING_YET = (
    'nothing is remembered here yet; begin with memoranda remember "Ana is vegetarian", with '
    "memoranda chat, or with memoranda import FILE"
)


def require_place(place: str) -> None:
    """Refuse a store whose file or folder is not there: reading creates none.

    Raises:
        NotFound: it is not there; the message names those beside it.
    """
    file = file_of(place)
    if file is None or file.exists():
        return
    folder = file.parent
    if not folder.is_dir():
        raise NotFound(f"there is no memory at {file}, nor a folder {folder}; {BEGIN}")
    there = sorted(each.name for each in islice(folder.glob("[!.]*"), MOST))
    of_kind = [name for name in there if file.suffix and Path(name).suffix == file.suffix]
    near = nearest(file.name, there, most=NAMED) or of_kind
    hint = f"beside it: {_list(near)}" if near else BEGIN
    raise NotFound(f"there is no memory at {file}; {hint}")


def require_user(memory: Memory) -> bool:
    """Refuse a user of whom the store knows nothing, while it knows others; say if it knows any.

    Raises:
        NotFound: there is no such user; the message names those there are.
    """
    there = services_of(memory).store.users()
    if not there or memory.user in there:
        return bool(there)
    near = nearest(memory.user, there, most=NAMED)
    names = [*dict.fromkeys([*near, *there])]
    raise NotFound(f"there is no user {memory.user!r} in this memory; --user takes {_list(names)}")


def require_record(
    memory: Memory, id: str | None = None, *, namespace: Sequence[str] = (), key: str | None = None
) -> Record:
    """Return a record, active or not, or the item of exactly this namespace and key.

    Raises:
        NotFound: there is none; another user's is as if it were not there.
    """
    records = services_of(memory).records(scope_of(memory))
    return records.existing(id, namespace=namespace, key=key)


def require_entity(memory: Memory, name: str) -> Entity:
    """Return an entity with what is said of it.

    Raises:
        NotFound: no record speaks of it; the message names those that are near.
    """
    found = memory.entity(name)
    if found is not None:
        return found
    near = nearest(name, [each.name for each in memory.entities(limit=MOST)], most=NAMED)
    hint = f"did you mean {_list(near)}?" if near else "memoranda entities lists the names"
    raise NotFound(f"no record mentions {name!r}; {hint}")


def _list(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")

"""Stores facts of other memories, of one user or of several: only what is not there yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

from memoranda.model.ports import Progress
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.text.secrets import secret_kind
from memoranda.transfer.batches import Additions, Moved, Placed, Steps
from memoranda.transfer.importing.found import LeftOut


def is_kept(text: str, left_out: LeftOut) -> bool:
    """Return whether a fact may be stored: what looks like a secret stays where it is."""
    if secret_kind(text) is None:
        return True
    left_out.add("facts that look like secrets")
    return False


def import_facts(
    parts: Parts,
    read: Callable[[LeftOut], Iterable[tuple[Scope, Placed]]],
    progress: Progress | None,
) -> tuple[tuple[str, ...], Moved, tuple[str, ...]]:
    """Store what ``read`` gives, each in its scope; what is there already is skipped.

    Everything is checked before anything is written. A batch is one transaction, so an import
    that was cut short goes on with the next.

    Returns:
        the users; how many facts were stored; a line for each kind of thing that was left out.

    Raises:
        InvalidInput: a fact cannot be stored; nothing was written.
    """
    left_out = LeftOut()
    found: defaultdict[Scope, list[Placed]] = defaultdict(list)
    for scope, placed in read(left_out):
        found[scope].append(placed)
    additions = [Additions(parts, scope, partial(iter, each)) for scope, each in found.items()]
    steps, moved = Steps(sum(each.total for each in additions), progress), Moved()
    for each in additions:
        moved = moved.plus(each.store(steps))
    return tuple(dict.fromkeys(scope.user for scope in found)), moved, left_out.lines()

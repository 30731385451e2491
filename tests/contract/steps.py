"""Steps of a unit of work as values, so that a law can be tried with each of them.

``do.pin_message("trip", "msg_1", pinned=True)`` is the call of that verb, to be made on a
transaction; ``do.Close(…)`` and its like are the changes of :mod:`memoranda.model.changes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import methodcaller
from typing import Any

from memoranda.model import changes
from memoranda.store.sql.store import Store

# What makes one change: a call of a verb of a transaction, or a change of a record.
Step = Any


class Steps:
    """Gives the verbs of a transaction and the changes of records by their names."""

    def __getattr__(self, name: str) -> Callable[..., Step]:
        """Return what makes a step of that name."""
        if name[0].isupper():
            return getattr(changes, name)
        return lambda *arguments, **named: methodcaller(name, *arguments, **named)


do = Steps()


def carry_out(store: Store, scope: Any, steps: Sequence[Step], **how: Any) -> list[Any]:
    """Carry out steps in one unit of work; return what each of them returned, if anything."""
    with store.write(scope, **how) as tx:
        results: list[Any] = []
        for is_call, group in groupby(steps, lambda step: isinstance(step, methodcaller)):
            several = list(group)
            results += [step(tx) for step in several] if is_call else tx.carry_out(several)
    return [each for each in results if each is not None]

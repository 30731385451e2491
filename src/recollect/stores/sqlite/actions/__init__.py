"""Carries out actions: one small function for each kind, all in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from recollect.core.actions import Action
from recollect.core.ports import NameMatcher
from recollect.core.scope import Scope
from recollect.stores.sqlite.actions import erasing, life, naming, notes, records, talks
from recollect.stores.sqlite.actions.transaction import Transaction, perform, register_user

SUBJECTS = (records, life, naming, erasing, notes, talks)
"""The modules that enter their functions in ``perform`` when they are imported."""


def apply(
    connection: apsw.Connection, scope: Scope, names: NameMatcher, actions: Sequence[Action]
) -> None:
    """Carry out ``actions`` in order, in the transaction that is open on ``connection``."""
    tx = Transaction(connection, scope, register_user(connection, scope), names)
    for action in actions:
        perform(action, tx)

"""Carries out actions: one small function for each kind, all in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memoranda.model.actions import Action
from memoranda.model.ports import NameMatcher
from memoranda.model.scope import Scope
from memoranda.store.sqlite.actions import erasing, life, naming, notes, records, talks
from memoranda.store.sqlite.actions.transaction import Transaction, perform, register_user

SUBJECTS = (records, life, naming, erasing, notes, talks)
"""The modules that enter their functions in ``perform`` when they are imported."""


def apply(
    connection: apsw.Connection, scope: Scope, names: NameMatcher, actions: Sequence[Action]
) -> None:
    """Carry out ``actions`` in order, in the transaction that is open on ``connection``."""
    tx = Transaction(connection, scope, register_user(connection, scope), names)
    for action in actions:
        perform(action, tx)

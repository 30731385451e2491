"""Carries out actions: one small function for each kind, all on the rows of one user."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.model.actions import Action
from memoranda.store.chroma.actions import erasing, life, naming, notes, records, talks
from memoranda.store.chroma.actions.transaction import Transaction, perform

SUBJECTS = (records, life, naming, erasing, notes, talks)
"""The modules that enter their functions in ``perform`` when they are imported."""


def apply(tx: Transaction, actions: Sequence[Action]) -> None:
    """Carry out ``actions`` in order. Where one raises, the caller undoes those before it."""
    for action in actions:
        perform(action, tx)

"""The laws of a store as tests, one class for each group; ``StoreContract`` is all of them.

A test file of a back end subclasses it and gives it a store that was made with ``WordAnalyzer`` and
``PlainNames``. Each test proves one sentence of :mod:`memoranda.model.ports`; its docstring says
which.
"""

from __future__ import annotations

from inspect import signature

from laws import (
    changes,
    conversations,
    copying,
    deleting,
    entities,
    isolation,
    items,
    jobs,
    records,
    search,
    sessions,
)
from laws.base import Contract, Reopen

__all__ = ["Contract", "Reopen", "StoreContract", "reopening"]


class StoreContract(
    records.RecordContract,
    records.FilterContract,
    items.ItemContract,
    changes.ApplyContract,
    changes.BeliefContract,
    changes.ForgetContract,
    changes.EraseContract,
    deleting.UserDeletionContract,
    deleting.ConversationDeletionContract,
    search.IndexContract,
    search.TermContract,
    search.VectorContract,
    entities.EntityContract,
    entities.DecisionContract,
    sessions.SessionContract,
    conversations.TranscriptContract,
    conversations.RemovalContract,
    conversations.PruningContract,
    sessions.NotesBaseContract,
    sessions.FactRevisionContract,
    jobs.JobContract,
    jobs.DerivationQueueContract,
    jobs.MaintenanceContract,
    copying.CopyContract,
    isolation.IsolationContract,
):
    """The whole contract of :class:`memoranda.store.sql.store.Store`."""


def reopening(test_class: type) -> type:
    """Add to a test class every law of the contract that closes a store and opens it again."""
    for part in StoreContract.__mro__:
        for name, law in vars(part).items():
            reopens = name.startswith("test_") and "reopen" in signature(law).parameters
            if reopens and not hasattr(test_class, name):
                setattr(test_class, name, law)
    return test_class

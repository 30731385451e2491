"""The laws of a store as tests, one class for each group; ``StoreContract`` is all of them.

A test file of a back end subclasses it and gives it a store that was made with ``WordAnalyzer`` and
``PlainNames``. Each test proves one sentence of :mod:`memoranda.model.ports`; its docstring says
which.
"""

from __future__ import annotations

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

__all__ = ["Contract", "Reopen", "StoreContract"]


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

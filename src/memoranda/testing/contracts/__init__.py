"""The ports of a store as tests, for whoever writes one. Needs pytest and hypothesis.

Subclass :class:`StoreContract` in a test file and give it a store:

.. code-block:: python

    from memoranda.testing.analyzers import PlainNames, WordAnalyzer
    from memoranda.testing.contracts import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self):
            store = MyStore(analyzer=WordAnalyzer(), names=PlainNames())
            yield store
            store.close()

Each test proves one sentence of :mod:`memoranda.model.ports`; its docstring says which. The
classes it is made of can be run one by one: each module has those of one port. For readable
failures, call ``pytest.register_assert_rewrite("memoranda.testing")`` in
``conftest.py``.
"""

from __future__ import annotations

from memoranda.testing.contracts import (
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
from memoranda.testing.contracts.base import Contract, Reopen

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
    sessions.NoteworthyVersionContract,
    jobs.JobContract,
    jobs.ScheduledRunContract,
    jobs.DerivationQueueContract,
    jobs.MaintenanceContract,
    copying.CopyContract,
    isolation.IsolationContract,
):
    """The whole contract of :class:`memoranda.model.ports.Store`."""

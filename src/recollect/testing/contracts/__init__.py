"""The ports of a store as tests, for whoever writes one. Needs pytest and hypothesis.

Subclass :class:`StoreContract` in a test file and give it a store:

.. code-block:: python

    from recollect.testing.analyzers import PlainNames, WordAnalyzer
    from recollect.testing.contracts import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self):
            store = MyStore(analyzer=WordAnalyzer(), names=PlainNames())
            yield store
            store.close()

Each test proves one sentence of :mod:`recollect.core.ports`; its docstring says which. The
classes it is made of can be run one by one. For readable failures, call
``pytest.register_assert_rewrite("recollect.testing.contracts")`` in ``conftest.py``.
"""

from __future__ import annotations

from recollect.testing.contracts.base import Contract, Reopen
from recollect.testing.contracts.changes import ApplyContract, EraseContract
from recollect.testing.contracts.decisions import DecisionContract
from recollect.testing.contracts.entities import EntityContract
from recollect.testing.contracts.filters import FilterContract
from recollect.testing.contracts.isolation import IsolationContract
from recollect.testing.contracts.jobs import JobContract
from recollect.testing.contracts.life import SessionContract, UsageContract, WorkContract
from recollect.testing.contracts.notes import (
    BaseContract,
    StandingContract,
    ToldContract,
    VersionContract,
)
from recollect.testing.contracts.prunings import PruningContract
from recollect.testing.contracts.records import RecordContract
from recollect.testing.contracts.search import IndexContract, MentionContract, TermContract
from recollect.testing.contracts.transcripts import TranscriptContract
from recollect.testing.contracts.upkeep import UpkeepContract
from recollect.testing.contracts.vectors import VectorContract
from recollect.testing.contracts.weighing import (
    BeliefContract,
    EnrichContract,
    EraseSourcesContract,
    RetireContract,
)

__all__ = [
    "ApplyContract",
    "BaseContract",
    "BeliefContract",
    "Contract",
    "DecisionContract",
    "EnrichContract",
    "EntityContract",
    "EraseContract",
    "EraseSourcesContract",
    "FilterContract",
    "IndexContract",
    "IsolationContract",
    "JobContract",
    "MentionContract",
    "PruningContract",
    "RecordContract",
    "Reopen",
    "RetireContract",
    "SessionContract",
    "StandingContract",
    "StoreContract",
    "TermContract",
    "ToldContract",
    "TranscriptContract",
    "UpkeepContract",
    "UsageContract",
    "VectorContract",
    "VersionContract",
    "WorkContract",
]


class StoreContract(
    RecordContract,
    FilterContract,
    IndexContract,
    TermContract,
    MentionContract,
    VectorContract,
    EntityContract,
    DecisionContract,
    SessionContract,
    WorkContract,
    UsageContract,
    ToldContract,
    BaseContract,
    StandingContract,
    VersionContract,
    JobContract,
    BeliefContract,
    RetireContract,
    EnrichContract,
    TranscriptContract,
    PruningContract,
    ApplyContract,
    EraseContract,
    EraseSourcesContract,
    IsolationContract,
    UpkeepContract,
):
    """The whole contract of :class:`recollect.core.ports.Store`."""

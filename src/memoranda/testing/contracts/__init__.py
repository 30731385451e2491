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
classes it is made of can be run one by one. For readable failures, call
``pytest.register_assert_rewrite("memoranda.testing.contracts")`` in ``conftest.py``.
"""

from __future__ import annotations

from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.changes import ApplyContract, EraseContract
from memoranda.testing.contracts.decisions import DecisionContract
from memoranda.testing.contracts.entities import EntityContract
from memoranda.testing.contracts.filters import FilterContract
from memoranda.testing.contracts.isolation import IsolationContract
from memoranda.testing.contracts.jobs import JobContract
from memoranda.testing.contracts.life import SessionContract, UsageContract, WorkContract
from memoranda.testing.contracts.notes import (
    BaseContract,
    StandingContract,
    ToldContract,
    VersionContract,
)
from memoranda.testing.contracts.prunings import PruningContract
from memoranda.testing.contracts.records import RecordContract
from memoranda.testing.contracts.search import IndexContract, MentionContract, TermContract
from memoranda.testing.contracts.transcripts import TranscriptContract
from memoranda.testing.contracts.upkeep import UpkeepContract
from memoranda.testing.contracts.vectors import VectorContract
from memoranda.testing.contracts.weighing import (
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
    """The whole contract of :class:`memoranda.model.ports.Store`."""

"""What a worker has done since it started: the figures for its progress and its metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from memoranda.derivations import BATCH
from memoranda.maintenance.service import STAGES
from memoranda.model.reports import StageReport


def _of(names: tuple[str, ...]) -> Counter[str]:
    return Counter(dict.fromkeys(names, 0))


@dataclass(slots=True)
class WorkerMetrics:
    """Counts since the start. The keys stay the same, so that any thread may read them.

    Attributes:
        derived: records, by kind of work.
        derivation_seconds: what that took.
        derivation_failures: how often deriving was broken off by an error.
        stages: how often each stage was run for a user.
        stage_failures: and how often that failed, wholly or in part.
        stage_seconds: what it took.
    """

    derived: Counter[str] = field(default_factory=lambda: _of(tuple(BATCH)))
    derivation_seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(BATCH, 0.0))
    derivation_failures: int = 0
    stages: Counter[str] = field(default_factory=lambda: _of(STAGES))
    stage_failures: Counter[str] = field(default_factory=lambda: _of(STAGES))
    stage_seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))

    def add_batch(self, work: str, records: int, seconds: float) -> None:
        """Count records that were derived."""
        self.derived[work] += records
        self.derivation_seconds[work] += seconds

    def add_stage(self, report: StageReport, seconds: float) -> None:
        """Count what a stage did for a user."""
        self.stages[report.stage] += 1
        self.stage_failures[report.stage] += bool(report.failed)
        self.stage_seconds[report.stage] += seconds

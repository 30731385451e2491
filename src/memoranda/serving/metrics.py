"""The figures of a worker and of its store, as Prometheus reads them over HTTP.

None of them names a user. What is in the store is looked up when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memoranda.derivations import BATCH, DerivationWorker
from memoranda.errors import ConfigError, MemorandaError
from memoranda.maintenance.schedule import WorkerMetrics
from memoranda.serving.addresses import ListenAddress
from memoranda.store.sql.store import Store

WORK, STAGE = "work", "stage"


# What a worker counts, by the name of its metric: what it is, what there is a figure for each of,
# and where the figures stand in WorkerMetrics.
COUNTERS = {
    "memoranda_records_derived": ("Records derived by this worker.", WORK, "derived"),
    "memoranda_derivation_seconds": ("Seconds of deriving.", WORK, "derivation_seconds"),
    "memoranda_stage_users": ("Users for whom this worker ran a stage.", STAGE, "stages"),
    "memoranda_stage_failures": ("Users whose stage failed here.", STAGE, "stage_failures"),
    "memoranda_stage_seconds": ("Seconds that this worker ran stages.", STAGE, "stage_seconds"),
}


@dataclass(eq=False)
class WorkerCollector(Collector):
    """Collects the figures of a worker.

    Attributes:
        figures: what it has done.
        derivations: knows what waits.
        store: knows which runs are done.
        now: gives the present.
    """

    figures: WorkerMetrics
    derivations: DerivationWorker
    store: Store
    now: Callable[[], datetime]

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; without those of the store, where it cannot be asked."""
        for name, (about, label, place) in COUNTERS.items():
            counter = CounterMetricFamily(name, about, labels=[label])
            for each, value in getattr(self.figures, place).items():
                counter.add_metric([each], value)
            yield counter
        yield CounterMetricFamily(
            "memoranda_derivation_failures",
            "Times that deriving failed here.",
            value=self.figures.derivation_failures,
        )
        try:
            found = self._of_store()
        except MemorandaError:
            found = []
        yield GaugeMetricFamily(
            "memoranda_store_up", "Whether the store could be asked just now.", value=bool(found)
        )
        yield from found

    def _of_store(self) -> list[Metric]:
        waiting = GaugeMetricFamily(
            "memoranda_records_waiting", "Records that wait for a kind of work.", labels=[WORK]
        )
        oldest = GaugeMetricFamily(
            "memoranda_oldest_waiting_seconds",
            "Age of the oldest record that waits; 0 where none does.",
            labels=[WORK],
        )
        for work in BATCH:
            waiting.add_metric([work], self.derivations.waiting(None, work))
            since = self.derivations.oldest_waiting(work)
            age = 0.0 if since is None else (self.now() - since).total_seconds()
            oldest.add_metric([work], max(0.0, age))
        finished = GaugeMetricFamily(
            "memoranda_stage_finished_timestamp_seconds",
            "When the last scheduled run of a stage was done for all users.",
            labels=[STAGE],
        )
        for run in self.store.job_runs():
            finished.add_metric([run.job], run.finished_at.timestamp())
        return [waiting, oldest, finished]


@contextmanager
def serve_metrics(address: ListenAddress, collector: WorkerCollector) -> Iterator[str]:
    """Serve metrics from a thread until the block ends; give their URL.

    Raises:
        ConfigError: nothing can listen at the address.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as error:
        raise ConfigError(
            f"--metrics={address}: cannot listen there: {error.strerror or error}; choose another"
        ) from error
    try:
        yield f"http://{ListenAddress(address.host, server.server_port)}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

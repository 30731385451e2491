"""How many requests were answered and how long they took, as Prometheus reads it; of no user."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest

LABELS = ("route", "status")


class RequestMetrics:
    """The figures of this process."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        about = "Seconds that answers took."
        self._seconds = Histogram(
            "memoranda_request_seconds", about, LABELS, registry=self._registry
        )

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._seconds.labels(route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return all figures in Prometheus' text format."""
        return generate_latest(self._registry)

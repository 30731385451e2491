"""What tests of several rooms share."""

import gc
import signal
from collections import Counter, defaultdict
from functools import partial

import pytest
from postgres_server import running_server
from proofs import ProofCheck

from memoranda import services
from memoranda.derivations import DerivationWorker

pytest.register_assert_rewrite("laws", "samples")

# Seconds that are more than a slow machine takes.
PATIENCE = 20.0
# Objects made before garbage is looked for, and how many such looks come before a deeper one: a
# deepest look at what a worker holds takes a quarter of a second, which was a twentieth of a run.
GC_THRESHOLDS = (2_000, 10, 20)
OUTCOMES = ("passed", "failed", "error", "skipped")
# What starts processes or servers is slow, wherever it is used.
SLOW_ROOMS = ("tests/faults/",)
SERVERS = {"postgres", "server", "servers", "started", "terminal"}


def pytest_configure(config):
    """Have a full run fail where a proof of a requirement did not pass."""
    page = config.rootpath / "docs" / "requirements.md"
    config.pluginmanager.register(ProofCheck(page), "proofs")


@pytest.fixture(scope="session", autouse=True)
def _patient():
    """Wait for what is done in the background, however slow the machine: no vector is missing."""
    finish_soon = DerivationWorker.finish_soon

    def finish_patiently(self, scope, work, seconds):
        finish_soon(self, scope, work, seconds and PATIENCE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DerivationWorker, "finish_soon", finish_patiently)
        patch.setattr(services, "LAST_MOMENTS", PATIENCE)
        yield


@pytest.fixture
def on_hangup():
    """Set what programs that are started here do with SIGHUP, whatever this process inherited."""
    before = signal.getsignal(signal.SIGHUP)
    yield partial(signal.signal, signal.SIGHUP)
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def postgres():
    """Run one PostgreSQL server for all tests that stop and change none."""
    with running_server() as address:
        yield address


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage meanwhile: thousands of tests and what they import are here to stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()


def pytest_collection_modifyitems(items):
    """Run files without slow tests first, then those with many, those with few; slow tests last."""
    for item in items:
        if item.nodeid.startswith(SLOW_ROOMS) or SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    places = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(
        key=lambda item: (
            item.path in slow,
            -slow[item.path],
            places[item.path],
            item.get_closest_marker("slow") is not None,
        )
    )


def pytest_terminal_summary(terminalreporter):
    """Print a line for each back end: how much of the contract of a store it keeps."""
    counts = defaultdict(Counter)
    for outcome in OUTCOMES:
        for report in terminalreporter.stats.get(outcome, ()):
            path, *inner = getattr(report, "nodeid", "").split("::")
            if path.startswith("tests/contract/") and inner and inner[0].startswith("Test"):
                counts[inner[0].removeprefix("Test")][outcome] += 1
    for store, found in sorted(counts.items()):
        told = ", ".join(f"{found[each]} {each}" for each in OUTCOMES if found[each])
        terminalreporter.write_line(f"store contract, {store}: {told}")

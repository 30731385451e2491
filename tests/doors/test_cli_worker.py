"""``memoranda worker`` as a process: what it does, what it tells, and how it ends."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from urllib.request import urlopen

import pytest

from memoranda import Memory, Settings
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.testing.clocks import FrozenClock

QUIET = Settings(consolidation={"automatic": False}, embedding={"background": False})
PATIENCE = 60
FINISHED = 'memoranda_stage_finished_timestamp_seconds{{stage="{}"}}'
USERS = 'memoranda_stage_users_total{{stage="{}"}}'


@pytest.fixture
def environment(environment):
    """One for processes, in one time zone."""
    # No stage is due twice, also where an hour ends meanwhile.
    return environment | {"MEMORANDA_TIMEZONE": "UTC", "MEMORANDA_SCHEDULE__EXPIRE": "1d"}


@pytest.fixture
def talked(tmp_path):
    """A memory of last week: a session of one user that waits, and a record of another user."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=8))
    with Memory(tmp_path / "agent.db", user="ana", settings=QUIET, clock=clock) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.as_user("eva").remember("Eva sings with Marta")
        yield memory


@pytest.fixture
def started(environment, tmp_path):
    """Start a worker, killed if a test leaves it running."""

    @contextmanager
    def start(*arguments, **changes):
        with subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
            [sys.executable, "-W", "error", "-m", "memoranda", "worker", *arguments],
            env=environment | changes,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    return start


def ended(process):
    """Return the exit code of a process that ends, and what it wrote."""
    shown, said = process.communicate(timeout=PATIENCE)
    return process.returncode, shown, said


def test_once_works_off_what_waits_and_what_is_due(started, talked):
    """For every user, also what was learned just now; a line of JSON for each, and the sum."""
    with started("--once", "--json") as process:
        code, shown, said = ended(process)
    assert (code, said) == (0, "")
    *lines, last = map(json.loads, shown.splitlines())
    # A slow machine is told of the derivations, too.
    told = {(line["report"]["stage"], line["user"]) for line in lines if "report" in line}
    assert told == {(stage, user) for stage in STAGES for user in ("ana", "eva")}
    assert last["ended"]["stages"] == dict.fromkeys(STAGES, 2)
    assert last["ended"]["derived"]["entities"] >= 2  # A stage links what it reads by itself.
    assert [fact.content for fact in talked.records(kind="fact")] == ["The user lives in Porto."]
    assert {run.job for run in services_of(talked).store.job_runs()} == set(STAGES)


def test_once_fails_where_a_stage_did(started, talked):
    """Exit code 1, with the reason; the other user's part is done."""
    with started("--once", MEMORANDA_CONSOLIDATION__EXTRACTOR="llm") as process:
        code, shown, said = ended(process)
    assert code == 1
    assert "trip: consolidation.extractor=llm needs a language model" in shown
    assert "stages run 10 times, 2 failed" in said
    assert talked.records(kind="fact") == []


def test_a_signal_ends_it(started, talked):
    """With 0 and a line that says what was done; until then there are metrics."""
    del talked
    with started("--metrics", "127.0.0.1:0") as process:
        url = re.fullmatch(r"note: metrics at (\S+)\n", process.stderr.readline())[1]
        since, metrics = monotonic(), {}
        while not all(
            FINISHED.format(stage) in metrics and metrics[USERS.format(stage)] == "2.0"
            for stage in STAGES
        ):
            assert monotonic() - since < PATIENCE
            with urlopen(url) as answer:  # noqa: S310 - the address of our own process
                metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines())
        process.send_signal(signal.SIGTERM)
        code, _, said = ended(process)
    assert code == 0
    assert re.search(r"note: ended; derived: vectors 0, entities \d; stages run 10 times", said)
    assert metrics["memoranda_store_up"] == "1.0"
    assert metrics['memoranda_records_waiting{work="vectors"}'] == "3.0"
    assert float(metrics['memoranda_oldest_waiting_seconds{work="vectors"}']) > 0
    for stage in STAGES:
        assert metrics[f'memoranda_stage_failures_total{{stage="{stage}"}}'] == "0.0"
    assert "process_resident_memory_bytes" in metrics
    assert not any("eva" in name for name in metrics)


def test_an_address_that_cannot_be_used_is_told(started, talked):
    """What is no address, and what is taken already, end it at once with a line."""
    del talked
    with started("--metrics", "9464") as process:
        code, _, said = ended(process)
    assert (code, said[:24]) == (1, "error: --metrics='9464' ")
    with started("--metrics", "203.0.113.1:9464") as process:
        code, _, said = ended(process)
    assert code == 1
    assert said.startswith("error: --metrics=203.0.113.1:9464 cannot be listened at: ")

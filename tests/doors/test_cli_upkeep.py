"""Upkeep for all users of a store: by a worker, and beside a chat."""

import json
import re
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from memoranda import Memory, Settings
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.testing.clocks import FrozenClock

QUIET = Settings(
    consolidation={"automatic": False}, embedding={"background": False, "model": "none"}
)
PATIENCE = 60
LEARNED = ["The user lives in Porto."]


@pytest.fixture(autouse=True)
def talked(own_machine, tmp_path, monkeypatch):
    """A memory of last week: a session of one user that waits, and a record of another user."""
    del own_machine  # Which comes first.
    monkeypatch.setenv("MEMORANDA_USER", "ana")
    monkeypatch.setenv("MEMORANDA_SCHEDULE__EXPIRE", "1d")  # Once, also where an hour ends.
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=8))
    with Memory(tmp_path / "agent.db", user="ana", settings=QUIET, clock=clock) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.as_user("eva").remember("Eva sings with Marta")
        yield memory


def facts(memory):
    """Return what the facts of the first user say."""
    return [record.content for record in memory.records(kind="fact")]


def test_once_works_off_what_waits_and_what_is_due(run, talked):
    """For every user, also what was learned just now; a line of JSON for each."""
    done = run("worker", "--once", "--json")
    lines = [*map(json.loads, done.stdout.splitlines())]
    told = {(line["report"]["stage"], line["user"]) for line in lines}
    assert told == {(stage, user) for stage in STAGES for user in ("ana", "eva")}
    assert facts(talked) == LEARNED
    assert {run.job for run in services_of(talked).store.job_runs()} == set(STAGES)


def test_once_fails_where_a_stage_did(run, talked, monkeypatch):
    """Exit code 1, with the reason; the other user's part is done."""
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__EXTRACTOR", "llm")
    done = run("worker", "--once", code=1)
    assert "trip: consolidation.extractor=llm needs a language model" in done.stdout
    assert facts(talked) == []


def test_a_worker_tells_what_failed_and_goes_on_until_a_signal(started):
    """It runs what is due for every user, and says why a stage failed."""
    with started("worker", MEMORANDA_CONSOLIDATION__EXTRACTOR="llm") as process:
        runs = []
        for line in process.stdout:
            runs.append(line)
            if "reflect     eva" in line:
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    done = {tuple(line.split()[2:4]) for line in runs if not line.startswith("  ")}
    assert done == {(stage, user) for stage in STAGES for user in ("ana:", "eva:")}
    assert any("trip: consolidation.extractor=llm needs" in line for line in runs)
    assert "consolidate failed for ana/trip" in said
    assert said.endswith("note: ended\n")
    assert "Traceback" not in said


def test_a_chat_keeps_the_store_up(started, run, talked):
    """While somebody chats, every stage runs for every user, and stats say so afterwards."""
    with started("chat", "--user", "ana", stdin=subprocess.PIPE) as process:
        while {run.job for run in talked.as_user("eva").stats().upkeep} != set(STAGES):
            assert process.poll() is None
            Event().wait(0.1)
        assert facts(talked) == LEARNED
        _, said = process.communicate("", timeout=PATIENCE)
        assert (process.returncode, said) == (0, "")
    ran = re.findall(r"(\w+): [-\d]+ [:\d]+, ", run("stats").stdout)
    assert sorted(ran) == sorted(STAGES)

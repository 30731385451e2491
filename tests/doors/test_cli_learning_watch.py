"""Upkeep as a process: how ``maintain --watch`` ends, and what runs beside a chat."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from memoranda import Memory, Settings
from memoranda.maintenance.service import STAGES
from memoranda.testing.clocks import FrozenClock

QUIET = Settings(consolidation={"automatic": False})


@pytest.fixture
def environment(environment):
    """One for processes, in one time zone and of one user."""
    # No stage is due twice, also where an hour ends meanwhile.
    rare = {"MEMORANDA_SCHEDULE__EXPIRE": "1d"}
    return environment | rare | {"MEMORANDA_TIMEZONE": "UTC", "MEMORANDA_USER": "ana"}


@pytest.fixture
def talked(tmp_path):
    """A file of last week: a session of one user that waits, and a record of another user."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=8))
    with Memory(tmp_path / "agent.db", user="ana", settings=QUIET, clock=clock) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.as_user("eva").remember("Eva sings")
    return tmp_path / "agent.db"


@pytest.fixture
def started(environment, tmp_path, talked):
    """Start a command on that file, killed if a test leaves it running."""

    @contextmanager
    def start(*arguments, stdin=subprocess.DEVNULL, **changes):
        with subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
            [sys.executable, "-W", "error", "-m", "memoranda", *arguments, "--db", str(talked)],
            env=environment | changes,
            cwd=tmp_path,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    return start


def facts(path):
    """Return what the facts of the first user say."""
    with Memory(path, user="ana", settings=QUIET) as memory:
        return [record.content for record in memory.records(kind="fact")]


def until(stream, word):
    """Return the lines of ``stream`` up to the one that holds ``word``."""
    lines = []
    for line in stream:
        lines.append(line)
        if word in line:
            return lines
    pytest.fail(f"no line with {word!r} in {lines}")


def test_watch_runs_every_stage_and_ends_on_a_signal(started, talked):
    """It shows the next runs, runs what is due for every user, and a signal ends it with 0."""
    with started("maintain", "--watch") as process:
        table = until(process.stdout, "reflect")
        assert [line.split()[0] for line in table[2:]] == list(STAGES)
        runs = until(process.stdout, "expire      eva")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said.splitlines()[-1].startswith("note: ended; derived: vectors 0, entities ")
        assert said.endswith("; stages run 10 times, 0 failed\n")
        assert "Traceback" not in said
    done = {(line.split()[2], line.split()[3]) for line in runs}
    assert done == {(stage, user) for stage in STAGES for user in ("ana:", "eva:")}
    assert facts(talked) == ["The user lives in Porto."]


def test_watch_tells_what_failed_and_goes_on(started):
    """A stage that fails is told with its reason, and the others still run; in JSON as lines."""
    failing = {"MEMORANDA_CONSOLIDATION__EXTRACTOR": "llm"}
    with started("maintain", "--watch", "--json", **failing) as process:
        table = json.loads(process.stdout.readline())
        assert [run["job"] for run in table["next"]] == list(STAGES)
        runs = [json.loads(process.stdout.readline()) for _ in range(2 * len(STAGES))]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
    assert all(sorted(run) == ["at", "report", "user"] for run in runs)
    assert not any("actions" in run["report"] for run in runs)
    failed = {run["user"]: run["report"]["failed"] for run in runs if run["report"]["failed"]}
    assert failed["ana"]["trip"].startswith("consolidation.extractor=llm needs a language model")
    assert "consolidate failed for ana/trip" in said
    assert "llm.model" in said
    assert "Traceback" not in said


def test_a_chat_keeps_the_store_up(started, talked):
    """While somebody chats, every stage runs for every user, and stats say so afterwards."""
    with started("chat", stdin=subprocess.PIPE) as process:
        with Memory(talked, user="eva", settings=QUIET) as memory:
            while {run.job for run in memory.stats().upkeep} != set(STAGES):
                assert process.poll() is None
                Event().wait(0.05)
        assert facts(talked) == ["The user lives in Porto."]
        _, said = process.communicate("", timeout=60)
        assert (process.returncode, said) == (0, "")
    with started("stats") as process:
        shown, _ = process.communicate(timeout=60)
    ran = re.findall(r"(\w+): ran [-\d]+ [:\d]+, ", shown)
    assert sorted(ran) == sorted(STAGES)

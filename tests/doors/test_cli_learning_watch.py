"""Upkeep as a process: what it asks on a terminal, and how ``maintain --watch`` ends."""

import json
import os
import pty
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watch_runs_every_stage_and_ends_on_a_signal(started, talked, number):
    """It shows the next runs, runs what is due for every user, and a signal ends it with 0."""
    with started("maintain", "--watch") as process:
        table = until(process.stdout, "reflect")
        assert [line.split()[0] for line in table[2:]] == list(STAGES)
        runs = until(process.stdout, "expire      eva")
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said.splitlines()[-1].startswith("note: ended; derived: vectors 0, entities ")
        assert said.endswith("; stages run 10 times, 0 failed\n")
        assert "Traceback" not in said
    done = {(line.split()[2], line.split()[3]) for line in runs}
    assert done == {(stage, user) for stage in STAGES for user in ("ana:", "eva:")}
    assert facts(talked) == ["The user lives in Porto."]


def reported(lines):
    """Return stage and user of the lines of JSON that tell of one."""
    found = map(json.loads, lines)
    return [(line["report"]["stage"], line["user"]) for line in found if "report" in line]


def test_watch_ends_after_the_user_at_hand(started):
    """A signal in the middle of a stage leaves nobody half done: the next process does the rest."""
    with started("maintain", "--watch", "--json") as process:
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        # Not communicate(), which leaves out what was read ahead of the lines above.
        lines += process.stdout.read().splitlines()
        assert (process.wait(60), process.stderr.read()) == (0, "")
    told = reported(lines)
    assert sum(json.loads(lines[-1])["ended"]["stages"].values()) == len(told)
    with started("worker", "--once", "--json") as process:
        rest, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "")
    again = reported(rest.splitlines())
    assert {*told, *again} == {(stage, user) for stage in STAGES for user in ("ana", "eva")}
    # Each process begins with its own expiry.
    assert {stage for stage, user in again if (stage, user) in told} <= {"expire"}


def test_watch_in_json_is_json_lines(started):
    """First when each stage runs next, then a line for each stage and user, as it happens."""
    with started("maintain", "--watch", "--json") as process:
        table = json.loads(process.stdout.readline())
        assert [run["job"] for run in table["next"]] == list(STAGES)
        line = json.loads(process.stdout.readline())
        assert sorted(line) == ["at", "report", "user"]
        assert "actions" not in line["report"]


def test_watch_tells_what_failed_and_goes_on(started):
    """A stage that fails is told with its reason, and the other stages still run."""
    with started("maintain", "--watch", MEMORANDA_CONSOLIDATION__EXTRACTOR="llm") as process:
        runs = "".join(until(process.stdout, "expire      eva"))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "trip: consolidation.extractor=llm needs a language model" in runs
    assert "consolidate failed for ana/trip" in said
    assert "llm.model" in said
    assert "Traceback" not in said


def test_a_dry_run_of_watch_only_shows_the_times(started, talked):
    """With --dry-run it shows the next runs, runs nothing and ends by itself."""
    with started("maintain", "--watch", "--dry-run") as process:
        shown, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert [line.split()[0] for line in shown.splitlines()[2:]] == list(STAGES)
    assert facts(talked) == []


@pytest.fixture
def asking(started):
    """A ``maintain`` that has shown its plan and waits for an answer on a terminal."""
    ours, theirs = pty.openpty()
    with started("maintain", "consolidate", stdin=theirs) as process:
        plan = "".join(until(process.stdout, "+ The user lives in Porto."))
        asked = ""
        while "Do this?" not in asked:
            some = process.stderr.read(1)
            assert some, asked
            asked += some
        yield plan, process, ours
    os.close(ours)
    os.close(theirs)


def test_maintain_shows_the_plan_and_takes_no_for_an_answer(asking, talked):
    """On a terminal the plan comes first; a no changes nothing and exits with 1."""
    plan, process, terminal = asking
    assert "what would be done" in plan
    os.write(terminal, b"n\n")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "nothing was done" in said
    assert facts(talked) == []


def test_maintain_takes_yes_for_an_answer(asking, talked):
    """A yes does what the plan said, and shows it as done."""
    _, process, terminal = asking
    os.write(terminal, b"y\n")
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "what was done" in shown
    assert facts(talked) == ["The user lives in Porto."]


@pytest.mark.parametrize("options", [("--yes",), ("--json",)])
def test_maintain_does_not_ask_where_it_is_told_not_to(started, talked, options):
    """With --yes, and for scripts that want JSON, it is done at once, also on a terminal."""
    ours, theirs = pty.openpty()
    with started("maintain", "consolidate", *options, stdin=theirs) as process:
        shown, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "")
    os.close(ours)
    os.close(theirs)
    assert "would" not in shown
    assert facts(talked) == ["The user lives in Porto."]


def test_maintain_with_nothing_to_do_asks_nothing(started):
    """Where the plan is empty there is nothing to ask, and that is no failure."""
    ours, theirs = pty.openpty()
    with started("maintain", "expire", "decay", stdin=theirs) as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
    os.close(ours)
    os.close(theirs)
    assert said == "note: there is nothing to do\n"


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


def test_a_chat_leaves_the_upkeep_where_that_is_set(started, talked):
    """With schedule.in_background off, nothing of it has run when a chat ends."""
    with started(
        "chat", stdin=subprocess.PIPE, MEMORANDA_SCHEDULE__IN_BACKGROUND="false"
    ) as process:
        process.communicate("hello\n", timeout=60)
    with Memory(talked, user="ana", settings=QUIET) as memory:
        assert memory.stats().upkeep == ()

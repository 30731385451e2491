"""Upkeep of a whole store: jobs at their times, for all users, once; and what an audit reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from learning_talks import DAY, START, by_hand, clock_of, contents, facts, remembering, tables, talk

from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.maintenance.service import STAGES
from memoranda.testing.models import ScriptedLLM

HOUR = timedelta(hours=1)
SUNDAY = datetime(2026, 3, 8, tzinfo=UTC)
NIGHT = [("enrich", 2), ("consolidate", 3), ("decay", 4)]


@pytest.fixture
def memory():
    """Ana's memory, which learns only when it is told to, or by the nightly jobs."""
    with remembering() as made:
        made.set_context("task", "water the plants")
        yield made


def ran(maintenance):
    """Run what is due; return the stages that were run."""
    reports = maintenance.step()
    assert not any(report.failed for report in reports), reports
    return [report.stage for report in reports]


def begun(memory):
    """Return the upkeep of a memory after what it runs when it starts."""
    maintenance = memory.schedule()
    maintenance.step()
    return maintenance


def test_the_jobs_of_s4_are_run_at_their_times(memory):
    """02:00, 03:00, 04:00 each night, Sunday 03:00, and each hour: hour by hour, for a week."""
    maintenance = begun(memory)
    found = []
    for _ in range(7 * 24):
        clock_of(memory).advance(HOUR)
        found += [(stage, clock_of(memory).now()) for stage in ran(maintenance)]
    expected = [("expire", START + hour * HOUR) for hour in range(1, 7 * 24 + 1)]
    midnights = [START.replace(hour=0) + day * DAY for day in range(1, 8)]
    expected += [(job, day + hour * HOUR) for day in midnights for job, hour in NIGHT]
    expected.append(("reflect", SUNDAY + 3 * HOUR))
    assert sorted(found) == sorted(expected)


def test_the_jobs_do_their_work_for_all_users(memory):
    """Every user of the store is served, and learns only what is theirs."""
    bo = memory.as_user("bo")
    maintenance = begun(memory)
    talk(memory, "s", "I used to sail with old friends.")
    talk(bo, "s", "I used to sail with cousins.")
    clock_of(memory).advance(DAY)
    told = []
    watching = memory.schedule(lambda user, report: told.append((user, report.stage)))
    watching.step()
    assert contents(memory) == ["“I used to sail with old friends.” (the user, 2 March 2026)"]
    assert contents(bo) == ["“I used to sail with cousins.” (the user, 2 March 2026)"]
    assert ("ana", "consolidate") in told
    assert ("bo", "consolidate") in told
    clock_of(memory).advance(60 * DAY)
    watching.step()
    assert facts(memory) == facts(bo) == []
    assert ran(maintenance) == []


def test_the_weekly_insight_comes_with_the_night(memory):
    """Sunday at three: the week's talks are facts by then or not, and the insight is written."""
    maintenance = begun(memory)
    talk(memory, "s", "I live in Porto.", "My sister Marta lives in Berlin.", "I'm vegetarian.")
    memory.consolidate()
    clock_of(memory).set(SUNDAY + 3 * HOUR)
    ran(maintenance)
    (insight,) = memory.records(kind="reflection")
    assert "Marta" in insight.content


@pytest.fixture
def full(tmp_path):
    """Return a file in which every stage but enrichment has something to do, and its memory."""
    path = tmp_path / "memory.db"
    chosen = by_hand(retention={"context": "1d"})
    with remembering(path, settings=chosen) as memory:
        memory.remember("Busy today.", kind="context")
        memory.remember("Something that fades away.", decay_rate=0.4)
        memory.remember("Something that fades a little.", decay_rate=0.01)
        clock_of(memory).advance(10 * DAY)
        talk(memory, "done", "I live in Porto.", "I'm vegetarian.", "My sister Marta is a nurse.")
        memory.consolidate()
        talk(memory, "open", "I live in Lisbon.", "I'm vegetarian.", "I have a dog named Rex.")
        memory.embed_pending()
        memory.entities()  # What waits is linked now, and not in the background meanwhile.
        yield path, memory


def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(full):
    """Not one byte of any table, of any stage; then the run itself does just that."""
    path, memory = full
    for stage in STAGES:
        before = tables(path)
        plan = memory.maintain([stage], dry_run=True).stages[0]
        assert tables(path) == before, stage
        assert (plan.stage, plan.dry_run) == (stage, True)
        if stage != "enrich":
            done = memory.maintain([stage]).stages[0]
            assert plan.count == done.count > 0, stage
            assert dict(plan.counts) == dict(done.counts)
            assert tables(path) != before, stage


def test_a_dry_run_with_a_model_writes_down_only_what_it_cost(tmp_path):
    """Calls that were paid for are figures of ``stats``, also where nothing else is kept."""
    path = tmp_path / "memory.db"
    model = ScriptedLLM([ClaimsAnswer([ClaimAnswer("The user lives in Porto.", ["t1"])])])
    with remembering(path, llm=model) as memory:
        talk(memory, "s", "I live in Porto.")
        memory.derive()
        before = tables(path, but=("model_usage", "users"))
        assert memory.consolidate(dry_run=True).count == 1
        assert tables(path, but=("model_usage", "users")) == before
        assert memory.stats().usage[0].usage.requests == 1


def test_stages_are_run_in_the_order_of_a_night(memory):
    """Whatever the order in which they are named; each once."""
    report = memory.maintain(["reflect", "decay", "expire", "decay"])
    assert [each.stage for each in report.stages] == ["expire", "decay", "reflect"]
    assert [each.stage for each in memory.maintain().stages] == list(STAGES)
    assert memory.maintain([]).stages == ()
    assert str(report).splitlines()[0] == "expire: nothing to do"


def test_upkeep_twice_changes_nothing(full):
    """All stages again, at once and an hour later: every table is as the first left it."""
    path, memory = full
    memory.maintain()
    memory.embed_pending()
    memory.entities()
    memory.maintain()  # What was derived of the first is no change of the second.
    before = tables(path, but=("leases",))
    memory.maintain()
    assert tables(path, but=("leases",)) == before
    assert memory.verify() == []


def test_a_policy_that_is_set_later_ends_what_is_older(tmp_path):
    """What was stored to stay for ever has an end then, once."""
    with remembering(tmp_path / "m.db") as memory:
        memory.remember("The ferry was late", kind="episode")
    with remembering(tmp_path / "m.db", settings=by_hand(retention={"episode": "2d"})) as memory:
        assert memory.expire().count == 0
        clock_of(memory).advance(3 * DAY)
        assert (memory.expire().count, memory.expire().count, memory.records()) == (1, 0, [])

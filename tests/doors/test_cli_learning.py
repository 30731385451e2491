"""The commands by which a memory learns, and by which a person looks at what it learned."""

import json

import pytest
from steps import carry_out, do

from memoranda import Memory
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.model.models import Scope
from memoranda.model.usage import Usage


@pytest.fixture(autouse=True)
def talked(own_machine, monkeypatch):
    """Two sessions that nobody has read, and a record of another user."""
    del own_machine  # Which comes first.
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__AUTOMATIC", "false")
    monkeypatch.setenv("MEMORANDA_USER", "ana")
    with Memory() as memory:
        for number, said in enumerate(("I live in Porto.", "I never fly before nine.")):
            memory.conversation(f"talk{number}").add("user", said)
        memory.as_user("eva").remember("I am someone else")


def test_a_dry_run_says_what_would_be_done(run):
    """By consolidate, by maintain; facts that are not there have no id."""
    shown = run("consolidate", "--dry-run").output
    assert "nothing was changed" in shown
    assert "fact_" not in shown
    for command in ("consolidate", "maintain", "consolidate"):  # Each did nothing.
        assert "The user lives in Porto." in run(command, "--dry-run").stdout


def test_a_session_that_fails_is_named_and_the_exit_code_says_so(run, monkeypatch):
    """What cannot be read is told on stderr with its session; each command exits with 1."""
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__EXTRACTOR", "llm")
    error = run("consolidate", "talk0", code=1).stderr
    assert "talk0 waits:" in error
    assert "llm.model" in error
    round_ = json.loads(run("maintain", "--json", code=1).stdout)
    failed = {stage["stage"]: sorted(stage["failed"]) for stage in round_["stages"]}
    assert failed == {stage: [] for stage in STAGES} | {"consolidate": ["talk0", "talk1"]}


def test_upkeep_tells_of_the_stages_that_are_named(told):
    """In the order of a night."""
    done = told("maintain", "expire", "decay")
    assert [each["stage"] for each in done["stages"]] == ["expire", "decay"]


def test_stats_show_what_waits_and_what_was_used(run, told):
    """It has sessions that wait, the language model, its use by stage, and what finds names."""
    used = Usage(
        requests=3,
        failures=1,
        input_tokens=12_345,
        cached_tokens=9_000,
        output_tokens=67,
        cost=0.0123,
        seconds=4.5,
    )
    with Memory() as memory:
        stages = ("consolidate", "reflect")
        spent = [do.add_usage(stage, "openai:small", used) for stage in stages]
        carry_out(services_of(memory).store, Scope("ana"), spent)
    found = told("stats")
    assert (found["pending_sessions"], found["llm"]) == (2, "none")
    assert found["usage"][0]["usage"]["input_tokens"] == 12_345
    assert found["names"]["fast"] == ["regex"]
    out = run("stats").stdout
    assert "2 sessions: memoranda consolidate" in out
    assert "no language model is set up" in found["missing"]["llm"]
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    shown = ["openai:small", "3", "12,345", "9,000", "67", "$0.01"]
    assert rows["consolidate"][1:] == shown
    assert "24,690" in rows["all"]


def test_a_record_that_is_no_fact_is_named_so(run, told):
    """For an episode, facts show says what it is and which command shows it."""
    episode = told("remember", "We met", "--kind", "episode")["id"]
    (line,) = run("facts", "show", episode, code=1).stderr.splitlines()
    assert f"memoranda show {episode}" in line


def test_what_waits_for_approval_is_listed_and_kept(run, told, monkeypatch):
    """Consolidate says that it waits; facts --waiting has its id, and confirm keeps it."""
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__APPROVE", "true")
    assert "waits for approval" in run("consolidate").output
    assert told("facts") == []
    waiting = [each["record"] for each in told("facts", "--waiting")]
    held = {each["content"]: each["id"] for each in waiting}
    kept = told("confirm", held["The user lives in Porto."])
    assert [each["record"]["id"] for each in told("facts")] == [kept["id"]]
    assert "The user lives in Porto." not in run("facts", "--waiting").output

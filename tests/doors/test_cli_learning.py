"""The commands by which a memory learns, and by which a person looks at what it learned."""

import json
import os
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from steps import carry_out, do
from tables import each_row

from memoranda import Memory
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.model.models import Scope
from memoranda.model.usage import Usage
from memoranda.testing.clocks import FrozenClock

CODES = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-7](?:;\d+)*m")
HOSTILE = "I live in [red]Rome[/] \x1b[31mred\x07."
TALKS = (
    ("I live in Porto.", "I am a vegetarian.", "My dog is called Rex."),
    ("I live in Lisbon now.", "I'm a vegetarian, you know.", "I never fly before nine."),
    ("Actually, I work at Acme now.",),
)


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone, a folder of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__AUTOMATIC", "false")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("MEMORANDA_USER", "ana")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def talked(tmp_path):
    """Three talks a month apart, the first long ago, in a memory that has read none of them."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=90))
    with Memory(tmp_path / "agent.db", user="ana", clock=clock) as memory:
        for number, lines in enumerate(TALKS):
            chat = memory.conversation(f"talk{number}")
            for line in lines:
                chat.add("user", line)
                chat.add("assistant", "I see.")
            clock.advance(timedelta(days=29))
    return tmp_path / "agent.db"


def everything(path):
    """Return all that a memory holds that a dry run might change."""
    with Memory(path, user="ana") as memory:
        ids = [record.id for record in memory.records(limit=1_000)]
        return (
            memory.records(limit=1_000), memory.sessions(), memory.entities(),
            [memory.history(each) for each in ids],
        )  # fmt: skip


def fact(told, words):
    """Return the fact that says ``words``, believed or not."""
    found = [each for each in told("facts", "--all") if words in each["record"]["content"]]
    assert len(found) == 1, found
    return found[0]


# consolidate


def test_a_dry_run_changes_nothing(run, talked):
    """What --dry-run of consolidate and maintain shows is done by neither."""
    before = everything(talked)
    shown = run("consolidate", "--dry-run")
    assert "nothing was changed" in shown.stdout
    assert "fact_" not in shown.stdout
    assert "The user lives in Porto." in shown.stdout
    assert "The user lives in Porto." in run("maintain", "--dry-run").stdout
    run("maintain", "--watch", "--dry-run")
    assert everything(talked) == before


@pytest.mark.usefixtures("talked")
def test_a_session_that_fails_is_named_and_the_exit_code_says_so(run, monkeypatch):
    """What cannot be read is told on stderr with its session; both commands exit with 1."""
    monkeypatch.setenv("MEMORANDA_CONSOLIDATION__EXTRACTOR", "llm")
    result = run("consolidate", "talk0", code=1)
    assert "talk0 waits:" in result.stderr
    assert "llm.model" in result.stderr
    (round_,) = json.loads(run("maintain", "--yes", "--json", code=1).stdout)
    failed = {stage["stage"]: sorted(stage["failed"]) for stage in round_["stages"]}
    assert failed == {
        "expire": [], "enrich": [], "consolidate": ["talk0", "talk1", "talk2"],
        "decay": [], "reflect": [],
    }  # fmt: skip


# maintain


@pytest.mark.usefixtures("talked")
def test_maintain_of_all_users(run, told):
    """--all-users reaches every user of the store; without it only the one of the command."""
    run("remember", "I am someone else", "--user", "eva")
    assert [each["user"] for each in told("maintain", "expire")] == ["ana"]
    rounds = told("maintain", "expire", "decay", "--all-users")
    assert [each["user"] for each in rounds] == ["ana", "eva"]
    assert [stage["stage"] for stage in rounds[0]["stages"]] == ["expire", "decay"]
    assert re.search("^eva$", run("maintain", "expire", "--all-users").stdout, re.MULTILINE)


def test_a_store_without_users_has_nothing_to_maintain(run, told):
    """In a new store --all-users does nothing, and says that there is nobody."""
    Memory().close()
    assert told("maintain", "--all-users") == []
    assert "no users yet" in run("maintain", "--all-users").stderr


@pytest.mark.usefixtures("talked")
def test_maintain_asks_at_a_terminal(ask, told):
    """The plan comes first, and only a yes does it; an empty plan is no question."""
    for answer in ("n\n", ""):
        code, said = ask("maintain", "consolidate", answer=answer)
        assert code == 1
        for part in ("what would be done", "+ The user lives in Porto.", "Do this?"):
            assert part in said
        assert "nothing was done" in said
        assert told("facts") == []
    code, said = ask("maintain", "consolidate", answer="y\n")
    assert (code, "what was done" in said) == (0, True)
    assert len(told("facts")) == 5
    code, said = ask("maintain", "consolidate")
    assert (code, said.splitlines()[-1]) == (0, "note: there is nothing to do")


@each_row("option", ["--yes", "--json"])
def test_maintain_does_not_ask_where_it_is_told_not_to(ask, told, option):
    """With --yes, and for scripts that want JSON, it is done at once, also at a terminal."""
    with Memory() as memory:
        memory.conversation(option).add("user", f"My friend Cid{option} lives in Oslo.")
    before = len(told("facts"))
    code, said = ask("maintain", "consolidate", option)
    assert (code, "Do this?" in said) == (0, False)
    assert len(told("facts")) > before


def test_a_dry_run_of_watch_only_shows_the_times(run, talked):
    """With --dry-run it shows the next runs, runs nothing and ends by itself."""
    before = everything(talked)
    shown = run("maintain", "--watch", "--dry-run").stdout
    assert [line.split()[0] for line in shown.splitlines()[2:]] == list(STAGES)
    assert everything(talked) == before


# stats and doctor


def test_stats_show_what_waits_and_what_was_used(run, told, talked):
    """It has sessions that wait, the language model, its use by stage, and what finds names."""
    used = Usage(
        requests=3, failures=1, input_tokens=12_345, output_tokens=67, cost=0.0123, seconds=4.5
    )
    with Memory(talked, user="ana") as memory:
        spent = [do.add_usage(stage, "openai:small", used)
                 for stage in ("consolidate", "reflect")]  # fmt: skip
        carry_out(services_of(memory).store, Scope("ana"), spent)
    found = told("stats")
    assert (found["pending_sessions"], found["llm"]) == (3, "none")
    assert found["usage"][0]["usage"]["input_tokens"] == 12_345
    assert found["names"]["fast"] == ["regex"]
    out = run("stats").stdout
    assert "3 sessions: memoranda consolidate" in out
    assert "without llm: no language model is set up; set llm.model" in " ".join(out.split())
    row = next(line for line in out.splitlines() if line.startswith("consolidate "))
    assert row.split() == ["consolidate", "openai:small", "3", "1", "12,345", "67", "$0.01", "4.5",
                           "s"]  # fmt: skip
    total = next(line for line in out.splitlines() if line.startswith("all "))
    assert "24,690" in total


def test_doctor_names_the_model_without_asking_it(told, monkeypatch):
    """A model that is set up is named; that nothing listens at its address is not noticed."""
    pytest.importorskip("pydantic_ai")
    monkeypatch.setenv("MEMORANDA_LLM__MODEL", "openai:small@http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMORANDA_ENTITIES__ACCURATE", "regex, llm")
    checks = {check["name"]: check for check in told("doctor")}
    assert checks["language model"]["ok"] is True
    assert "openai:small" in checks["language model"]["detail"]
    assert checks["names"]["ok"] is True


# all of them


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("consolidate", "nowhere"), "'nowhere'"),
        (("maintain", "sleep"), "'sleep'"),
        (("maintain", "expire", "--watch"), "--watch"),
        (("entities", "merge", "Nobody", "Noone"), "'Nobody'"),
        (("facts", "--category", "gossip"), "'gossip'"),
        (("facts", "--limit", "0"), "limit=0"),
        (("facts", "show", "fact_nope"), "'fact_nope'"),
        (("audit", "--kind", "noise"), "'noise'"),
        (("audit", "--kind", ""), "kind is empty"),
    ],
)
@pytest.mark.usefixtures("talked")
def test_bad_input_gives_one_line(run, arguments, word):
    """What cannot be done is said in one line on stderr that names the value; exit code 1."""
    result = run(*arguments, code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert word in line
    assert result.stdout == ""


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.usefixtures("talked")
def test_no_line_is_wider_than_the_terminal(run, told, monkeypatch, columns):
    """On terminals of any width nothing overflows, and there is colour."""
    run("consolidate")
    run("remember", HOSTILE)
    porto = fact(told, "Porto")["record"]["id"]
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    for command in (
        ("facts", "--all"), ("facts", "show", porto), ("maintain", "--dry-run"), ("audit",),
        ("entities",), ("stats",),
    ):  # fmt: skip
        out = run(*command).stdout
        assert COLOUR.search(out) or command in {("entities",), ("stats",)}
        for line in CODES.sub("", out).splitlines():
            assert cell_len(line.rstrip()) <= columns, (command, line)


@pytest.mark.usefixtures("talked")
def test_stored_text_cannot_drive_the_terminal(run, told):
    """Markup is shown as it is, control characters never raw, and a pipe gets no colour."""
    run("consolidate")
    id_ = told("remember", HOSTILE, "--role", "\x1b[1mmallory")["id"]
    for command in (("facts",), ("facts", "show", id_), ("audit",), ("maintain", "--dry-run")):
        assert not re.search("[\x1b\x07]", run(*command).output)
    assert "[red]Rome[/]" in " ".join(run("facts", "show", id_).stdout.split())


def test_doctor_notes_that_there_is_no_model(told):
    """No language model, and no accurate provider of names, is worth a note and no fault."""
    checks = {check["name"]: check for check in told("doctor")}
    assert checks["language model"]["ok"] is None
    assert checks["names"]["ok"] is None
    assert "entities.spacy_model" in checks["names"]["remedy"]
    assert "llm.model" in checks["names"]["remedy"]


def test_a_record_that_is_no_fact_is_named_so(run, told):
    """For an episode, facts show says what it is and which command shows it."""
    episode = told("remember", "We met", "--kind", "episode")["id"]
    (line,) = run("facts", "show", episode, code=1).stderr.splitlines()
    assert f"memoranda show {episode}" in line

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
KINDS = (
    "exact duplicates", "near duplicates", "contradictions", "loops", "stale", "orphans",
    "secrets", "injections",
)  # fmt: skip


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


@pytest.mark.usefixtures("talked")
def test_consolidate_shows_what_was_learned(run):
    """New facts have a +, one said again a =, one replaced a -; each with day, id and session."""
    out = run("consolidate").stdout
    rows = [line for line in out.splitlines() if re.match(r"[-+=] ", line)]
    assert [line[0] for line in rows] == ["+"] * 6 + ["=", "-"]
    assert all(re.search(r"\d{4}-\d\d-\d\d +user ", line) for line in rows)
    assert "talk0 #0" in out
    assert out.count("fact_") == 8
    assert out.splitlines()[-1] == ("3 sessions read, 6 new facts, 1 said again, 1 replaced")


@pytest.mark.usefixtures("talked")
def test_consolidate_in_json(told):
    """The JSON document has the new facts with their first turn, and what they replaced."""
    found = told("consolidate")
    assert (found["sessions"], found["failed"], found["dry_run"]) == (3, {}, False)
    porto = next(new for new in found["new"] if "Porto" in new["fact"]["content"])
    assert porto["source"]["content"] == TALKS[0][0]
    (again,), (replaced,) = found["again"], found["replaced"]
    assert again["source"]["content"] == TALKS[1][1]
    assert replaced["fact"]["id"] == porto["fact"]["id"]
    assert "Lisbon" in replaced["by"]["content"]


@pytest.mark.usefixtures("talked")
def test_consolidate_reads_one_session_and_nothing_twice(run, told):
    """With a name only that session is read; read again, it brings nothing."""
    assert told("consolidate", "talk2")["sessions"] == 1
    assert len(told("facts")) == 1
    assert "nothing waits" in run("consolidate", "talk2").stdout
    assert told("stats")["pending_sessions"] == 2


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
def test_maintain_without_a_terminal_does_it_at_once(run, told):
    """Where nobody can be asked, the stages run, and each says what it did."""
    out = run("maintain", "consolidate", "expire").stdout
    stages = [line.split()[0] for line in out.splitlines() if re.match("[a-z]", line)]
    assert stages == ["stage", "expire", "consolidate"]
    assert "+ The user lives in Porto." in out
    assert len(told("facts")) == 5


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
def test_maintain_shows_so_many_deeds(run):
    """--limit says how many deeds of a stage are shown; the rest is counted."""
    out = run("maintain", "consolidate", "--limit", "2").stdout
    assert out.count(" + ") == 2
    assert "… 9 more" in out  # Six facts, and the entries of three sessions.


# entities


@pytest.mark.usefixtures("talked")
def test_entities_are_listed_with_and_without_the_word(run, told):
    """The bare command lists, with its options, as ``entities list`` does."""
    run("remember", "Melanie and Bruno met in Lisbon")
    assert told("entities") == told("entities", "list") == told("--json", "entities")
    people = {each["name"] for each in told("entities", "--type", "person", "--limit", "20")}
    assert "Melanie" in people
    assert "Lisbon" not in people


def test_entities_are_merged(run, told):
    """After a merge both names mean one entity."""
    run("remember", "Melanie likes tea")
    run("remember", "Big Em sings in Lisbon")
    run("remember", "Lisbon is far away")
    merged = told("entities", "merge", "Lisbon", "Melanie")
    assert (merged["name"], merged["mention_count"]) == ("Lisbon", 3)
    assert told("entity", "melanie")["id"] == merged["id"]


# facts


@pytest.mark.usefixtures("talked")
def test_facts_with_confidence_bars(run, told):
    """Each line has a bar as long as its figure, the day it was said, and when it fades."""
    run("consolidate")
    lines = run("facts").stdout.splitlines()
    bars = [re.match(r"(\S+) +([01]\.\d\d) +(\d{4}-\d\d-\d\d) +(\S.*)", line) for line in lines]
    shown = {match[4].partition(" · ")[0]: match for match in bars if match}
    assert len(shown) == 5
    for each in told("facts"):
        match = shown[each["record"]["content"]]
        assert match[2] == f"{each['confidence']:.2f}"
        assert len(match[1]) == -(-round(each["confidence"] * 48) // 8)
    assert "said 2 times" in run("facts", "vegetarian").stdout
    assert "fades 2" in "".join(lines)


@pytest.mark.usefixtures("talked")
def test_what_was_replaced_is_shown_with_all(run, told):
    """A superseded fact is listed with --all alone, beside what took its place."""
    run("consolidate")
    assert not [each for each in told("facts") if "Porto" in each["record"]["content"]]
    porto, lisbon = fact(told, "Porto"), fact(told, "Lisbon")
    assert (porto["state"], lisbon["state"]) == ("superseded", "believed")
    assert porto["superseded_by"]["id"] == lisbon["record"]["id"]
    assert [each["id"] for each in lisbon["supersedes"]] == [porto["record"]["id"]]
    out = run("facts", "--all").stdout
    assert "replaced by: The user lives in Lisbon now." in out
    assert "replaces: The user lives in Porto." in out


@pytest.mark.usefixtures("talked")
def test_facts_are_found_chosen_and_limited(run, told):
    """A query finds, --category and --limit choose, and what has ended needs --all."""
    run("consolidate")
    assert "dog" in told("facts", "what is the dog called?")[0]["record"]["content"]
    assert {each["category"] for each in told("facts", "--category", "constraint")} == {
        "constraint"
    }
    assert told("facts", "tea on Mars", "--category", "plan") == []
    assert len(told("facts", "--limit", "2")) == 2
    rex = fact(told, "Rex")["record"]["id"]
    run("forget", rex)
    assert rex not in {each["record"]["id"] for each in told("facts")}
    assert fact(told, "Rex")["state"] == "ended"
    assert rex in {each["record"]["id"] for each in told("facts", "Rex", "--all")}
    assert told("facts", "list", "Rex") == []


@pytest.mark.usefixtures("talked")
def test_a_fact_shows_its_provenance(run, told):
    """It quotes each turn that says it, with speaker, date and place, and its history."""
    run("consolidate")
    found = told("facts", "show", fact(told, "vegetarian")["record"]["id"])
    assert [each["text"] for each in found["sources"]] == [TALKS[0][1], TALKS[1][1]]
    assert {each["speaker"] for each in found["sources"]} == {"user"}
    assert [each["position"] for each in found["sources"]] == [2, 2]
    assert [each["action"] for each in found["history"]] == ["insert", "credit"]
    out = run("facts", "show", found["fact"]["record"]["id"]).stdout
    for line in ("said 2 times", "▎ I am a vegetarian.", "▎ I'm a vegetarian, you know."):
        assert line in out
    assert "talk1 #2" in out


@pytest.mark.usefixtures("talked")
def test_a_fact_shows_its_versions(run, told):
    """Both sides of a replacement show the other one, corrections by a person among them."""
    run("consolidate")
    lisbon = fact(told, "Lisbon")["record"]["id"]
    run("correct", lisbon, "The user moved to Braga.")
    middle = told("facts", "show", lisbon)
    assert [each["record"]["content"] for each in middle["before"]] == ["The user lives in Porto."]
    assert [each["record"]["content"] for each in middle["after"]] == ["The user moved to Braga."]
    porto = told("facts", "show", middle["before"][0]["record"]["id"])
    assert [each["record"]["content"] for each in porto["after"]] == [
        "The user lives in Lisbon now.", "The user moved to Braga.",
    ]  # fmt: skip


def test_a_fact_that_was_told_rests_on_no_turn(run, told):
    """What someone asked to remember has no turn, and never fades."""
    plain = told("remember", "Ana likes tea")["id"]
    assert "it was told as it is" in run("facts", "show", plain).stdout
    assert fact(told, "tea")["fades_on"] is None


# audit


def test_audit_counts_shows_and_names_the_remedy(run, told):
    """Every kind has a count; those with findings have examples and what mends them."""
    run("remember", "Ana likes tea")
    run("remember", "Ana likes tea", "--metadata", "place=office")
    run("remember", "The password is hunter2!x77")
    found = told("audit")
    assert (found["entries"], found["clean"]) == (3, False)
    assert tuple(fault["kind"] for fault in found["faults"]) == KINDS
    counts = {fault["kind"]: fault["count"] for fault in found["faults"] if fault["count"]}
    assert counts == {"exact duplicates": 1, "secrets": 1}
    out = run("audit").stdout
    assert "3 entries, 2 faults found" in out
    assert "memoranda forget ID --erase" in out
    assert "hunter2" not in out


def test_audit_of_one_kind_and_its_exit_code(run, told):
    """--kind takes the beginning of a name; --strict exits with 1 where something was found."""
    run("remember", "Ana likes tea")
    run("remember", "Ana likes tea", "--metadata", "place=office")
    for name in ("exact duplicates", "exact-duplicates", "EXACT"):
        assert [fault["count"] for fault in told("audit", "--kind", name)["faults"]] == [1]
    run("audit")
    run("audit", "--strict", code=1)
    assert told("audit", "--strict", "--kind", "secrets")["clean"]


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


def test_doctor_notes_that_there_is_no_model(told):
    """No language model, and no accurate provider of names, is worth a note and no fault."""
    checks = {check["name"]: check for check in told("doctor")}
    assert checks["language model"]["ok"] is None
    assert checks["names"]["ok"] is None
    assert "entities.spacy_model" in checks["names"]["remedy"]
    assert "llm.model" in checks["names"]["remedy"]


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


def test_a_record_that_is_no_fact_is_named_so(run, told):
    """For an episode, facts show says what it is and which command shows it."""
    episode = told("remember", "We met", "--kind", "episode")["id"]
    (line,) = run("facts", "show", episode, code=1).stderr.splitlines()
    assert f"memoranda show {episode}" in line


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


@each_row(
    "command",
    ["consolidate", "maintain", "audit", "stats", "facts", "facts list", "facts show", "entities",
     "entities merge"],
)  # fmt: skip
def test_help_has_examples(run, command):
    """Each command says what it does, with an example, and takes the shared options."""
    out = run(*command.split(), "--help").stdout
    assert f"memoranda {command.removesuffix(' list')}" in out
    assert "Examples" in out
    assert "--json" in out

"""The commands of the settings, on real files and a real environment, 80 columns wide."""

import pytest
from rich.cells import cell_len

from memoranda import Settings


@pytest.fixture(autouse=True)
def file(own_machine, tmp_path, monkeypatch):
    """A settings file of the test's own, which is not there yet, and an environment without any."""
    del own_machine  # Which comes first.
    for name in ("EMBEDDING__MODEL", "TIMEZONE", "SCHEDULE__IN_BACKGROUND", "LOCATION"):
        monkeypatch.delenv(f"MEMORANDA_{name}")
    return tmp_path / "config.toml"


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda config``."""
    return ("config",)


def one_line(result):
    """Return the single line on standard error of a command that printed nothing else."""
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def test_the_words_of_other_programs_only_look(told, file):
    """``get`` and ``list`` are what ``explain`` and ``show`` are; nothing is written."""
    assert told("get", "timezone") == told("explain", "timezone")
    assert told("list") == told("show")
    assert not file.exists()


def test_set_show_and_unset_agree(run, told, file):
    """What set writes, show reads, with its source; unset brings the default back."""
    before = told("show")
    assert f"{file}  (not there" in run("show").stdout
    assert told("set", "conversation.strategy", "hybrid")["path"] == str(file)
    shown = {each["name"]: each for each in told("show")}["conversation.strategy"]
    assert (shown["value"], shown["source"]) == ("hybrid", str(file))
    assert Settings().conversation.strategy == "hybrid"
    assert str(file) in run("set", "conversation.strategy", "recency").stdout
    assert "not there" not in run("show").stdout
    assert "removed from" in run("unset", "conversation.strategy").stdout
    assert "is not in" in run("unset", "conversation.strategy").stdout
    assert told("show") == told() == before
    assert run().stdout == run("show").stdout


def test_what_wins_over_the_file_is_told(run, told, monkeypatch):
    """Set says which variable keeps its value from being in force; options win over all else."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__STRATEGY", "recency")
    assert run("set", "conversation.strategy", "hybrid").stderr == (
        "warning: MEMORANDA_CONVERSATION__STRATEGY is set in the environment, "
        "and wins over the file\n"
    )
    found = {each["name"]: each for each in told("show", "--db", "x.db", "--user", "eva")}
    for name, value, source in (
        ("conversation.strategy", "recency", "MEMORANDA_CONVERSATION__STRATEGY"),
        ("location", "x.db", "--db"),
        ("user", "eva", "--user"),
    ):
        assert (found[name]["value"], found[name]["source"]) == (value, source)


def test_while_settings_are_wrong_they_can_be_explained_and_mended(run, file, monkeypatch):
    """Show fails with the place, or the variable; explain and set still do their work."""
    file.write_text("\n[embedding]\nthreads = 0\n")
    line = one_line(run("show", code=1))
    assert line.startswith(f"settings: {file}: embedding.threads=0 should be greater")
    assert line.endswith("see memoranda config explain embedding.threads")
    result = run("explain", "embedding.threads")
    assert "whole number, above 0" in result.stdout
    assert result.stderr.startswith("warning: settings:")
    run("set", "embedding.threads", "2")
    run("show")
    monkeypatch.setenv("MEMORANDA_EMBEDING__MODEL", "none")
    told = "MEMORANDA_EMBEDING__MODEL sets nothing; did you mean MEMORANDA_EMBEDDING__MODEL?"
    assert told in one_line(run("show", code=1))


def test_a_secret_is_read_from_standard_input_and_never_shown(run):
    """With - the value comes from standard input; no command prints it."""
    outputs = [run("set", "embedding.api_key", "-", stdin="sk-swordfish\n").output]
    assert Settings().embedding.api_key.get_secret_value() == "sk-swordfish"
    explain = ("explain", "embedding.api_key")
    outputs += [run(*words).output for words in ((), ("--json",), explain, (*explain, "--json"))]
    outputs.append(run("set", "embedding.api_key", "sk-swordfish-2").output)
    assert all("swordfish" not in output for output in outputs)
    assert sum("**********" in output for output in outputs) == len(outputs)


def test_explain_says_all_there_is(told, run, file):
    """Meaning, type, allowed values, default, value, source, variable."""
    file.write_text('[conversation]\nstrategy = "hybrid"\n')
    found = told("explain", "conversation.strategy")
    assert found["allowed"] == ["rolling_window", "recency", "importance", "hybrid"]
    assert (found["default"], found["value"]) == ("rolling_window", "hybrid")
    assert found["source"] == str(file)
    assert found["variable"] == "MEMORANDA_CONVERSATION__STRATEGY"
    out = run("explain", "conversation.strategy").stdout
    assert found["meaning"].split(". ")[0] in out
    for text in ("one of rolling_window, recency", found["variable"]):
        assert text in " ".join(out.split())


def test_it_fits_the_terminal(run, drawn, monkeypatch):
    """No line is wider than the terminal, even with the longest names and values."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__AT_TASK_BOUNDARY", "keep")
    monkeypatch.setenv("MEMORANDA_LOCATION", "/a/long/path" * 9)
    run("set", "tokens.limits.an-organisation/a-model-with-a-name", "32000")
    for arguments in (("show",), ("explain", "tokens.tokenizers")):
        for columns in (60, 80):
            lines = drawn(*arguments, columns=columns)
            tables = [line for line in lines if not line.startswith("settings file")]
            assert max(map(cell_len, tables)) <= columns
    assert "MEMORANDA_CONVERSATION__AT_TASK_BOUNDARY" in "".join(run().stdout.split())

"""A full run fails where a requirement is called done and its proof did not pass."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

WORKERS = ("-p", "xdist.plugin", "-n2")
HEAD = "| id | requirement | status | proof |\n|---|---|---|---|\n"
CONFTEST = """
from proofs import ProofCheck

def pytest_configure(config):
    config.pluginmanager.register(ProofCheck(config.rootpath / "docs" / "requirements.md"))
"""
TESTS = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="no server")
def test_is_skipped():
    pass

@pytest.mark.parametrize("store", ["here", "elsewhere"])
def test_is_skipped_in_part(store):
    if store == "elsewhere":
        pytest.skip("not here")

class TestChroma:
    def test_in_a_class(self):
        pass
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs a small project with these rows of a table."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "shared"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\ntestpaths = tests")
    (pytester.path / "tests").mkdir()
    (pytester.path / "docs").mkdir()
    (pytester.path / "tests" / "conftest.py").write_text(CONFTEST)
    (pytester.path / "tests" / "test_it.py").write_text(TESTS)

    def start(*rows, arguments=()):
        (pytester.path / "docs" / "requirements.md").write_text(HEAD + "\n".join(rows))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)

    return start


def row(name, *, status="done", after=""):
    """Return a row of the table whose proof is this test."""
    return f"| R1.1 | It works | {status} | `tests/test_it.py::{name}`{after} |"


@pytest.mark.parametrize("name", ["test_is_skipped", "test_is_gone"])
@pytest.mark.parametrize("arguments", [(), WORKERS], ids=["alone", "xdist"])
def test_a_proof_that_did_not_pass_fails_the_run(run, name, arguments):
    """A skipped or missing proof fails the run with the name of the requirement, once."""
    result = run(row(name), arguments=arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = [line for line in result.outlines if "R1.1" in line]
    assert lines == [f"R1.1: tests/test_it.py::{name}"]


def test_a_proof_that_passed_in_one_case_is_enough(run):
    """A test passes by itself, in a class, or in one of its cases, with several workers too."""
    rows = [row(name) for name in ("test_passes", "test_in_a_class", "test_is_skipped_in_part")]
    assert run(*rows, arguments=WORKERS).ret == pytest.ExitCode.OK


def test_what_needs_data_is_reported_and_does_not_fail(run):
    """A skipped proof marked with data is named as not proven here."""
    result = run(row("test_is_skipped", after=" (with data)"))
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*not proven here*", "R1.1: tests/test_it.py::test_is_skipped"])


def test_only_done_rows_of_full_runs_are_judged(run):
    """A row that is not yet done, and a run of a part, are left alone."""
    assert run(row("test_is_skipped", status="not yet")).ret == pytest.ExitCode.OK
    for part in (["tests/test_it.py"], ["-k", "passes"]):
        assert run(row("test_is_skipped"), arguments=part).ret == pytest.ExitCode.OK

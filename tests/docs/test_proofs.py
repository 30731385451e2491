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


def test_a_proof_that_did_not_pass_fails_the_run(run):
    """Skipped or missing it is named with its requirement, once; one passed case is enough.

    A proof marked with data is named as not proven here; what is not yet done is left alone.
    """
    bad = ["test_is_skipped", "test_is_gone"]
    passed = ["test_passes", "test_in_a_class", "test_is_skipped_in_part"]
    rows = [row("test_is_skipped", after=" (with data)"), row("test_is_gone", status="not yet")]
    result = run(*rows, *map(row, [*bad, *passed]), arguments=WORKERS)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = [line for line in result.outlines if "R1.1" in line]
    assert lines == [f"R1.1: tests/test_it.py::{name}" for name in ("test_is_skipped", *bad)]
    result.stdout.fnmatch_lines(["*not proven here*", "R1.1: tests/test_it.py::test_is_skipped"])


def test_what_is_not_judged_fails_no_run(run):
    """A proof with data that is skipped; and any, in a run of a part, which knows not all."""
    assert run(row("test_is_skipped", after=" (with data)")).ret == pytest.ExitCode.OK
    assert run(row("test_is_gone"), arguments=["-k", "passes"]).ret == pytest.ExitCode.OK

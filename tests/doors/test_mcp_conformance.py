"""What ``make conformance`` judges by, as far as it can be told without npm and a network."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "conformance.py"


@pytest.fixture(scope="module")
def conformance():
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("conformance_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # Dataclasses look for their module.
        spec.loader.exec_module(module)
        yield module


def test_only_what_needs_a_fixture_is_expected_to_fail(conformance):
    """Each scenario that is listed has a reason that names the fixture it asks for."""
    listed = conformance.expected_failures(conformance.EXPECTED.read_text("utf-8"))
    assert listed
    for scenario, reason in listed.items():
        assert re.fullmatch(r".+ the fixture (tool|resource|prompt) \S+", reason), scenario


@pytest.mark.parametrize(
    "line",
    [
        "  - tools-list",
        "  - tools-list  # ",
        "- tools-list  # why",
        "client:",
        "  - a  # why\n  - a  # why",
    ],
)
def test_a_line_without_a_reason_is_refused(line, conformance):
    """A scenario that is listed without a reason, or twice, fails the run."""
    with pytest.raises(conformance.Failed, match="no new scenario with a reason"):
        conformance.expected_failures(f"server:\n{line}\n")


@pytest.mark.parametrize(
    ("failures", "problems"),
    [
        ({"ping": [], "known": ["no"]}, []),
        ({"ping": ["no"], "known": ["no"]}, ["ping fails: no"]),
        ({"ping": [], "known": []}, ["known passes and is listed"]),
        ({"ping": []}, ["known is listed and there is no such scenario"]),
    ],
)
def test_what_is_not_as_listed_is_a_problem(failures, problems, conformance):
    """A failure that is not listed, and a listed scenario that passes or is gone, fail the run."""
    outcome = conformance.Suite(failures, {"known": "asks for the fixture tool x"})
    assert outcome.problems() == problems


def test_the_programs_have_exact_versions(conformance):
    """No later version of a program comes by itself, and no place to load it from is named."""
    packages = json.loads(conformance.PACKAGES.read_text("utf-8"))
    versions = packages["dependencies"] | packages["optionalDependencies"]
    assert {"@modelcontextprotocol/conformance", "@modelcontextprotocol/inspector"} <= set(versions)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", each) for each in versions.values())
    assert {each.name for each in conformance.PACKAGES.parent.iterdir()} == {
        "package.json",
        "expected-failures.yaml",
    }


def test_the_target_is_there_and_told():
    """``make help`` and the page for contributors name it."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(
        r"^conformance: .*## .*\n\t.* scripts/conformance\.py$", makefile, re.MULTILINE
    )
    assert "make conformance " in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "`make conformance`" in (ROOT / "docs" / "mcp.md").read_text("utf-8")


def test_without_npm_it_says_so(tmp_path):
    """Where npm is missing, the target ends with one line that names what to install."""
    run = subprocess.run(  # noqa: S603 - this interpreter, on a script of ours
        [sys.executable, SCRIPT],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.startswith("conformance: npm is not installed")
    assert run.stderr.count("\n") == 1

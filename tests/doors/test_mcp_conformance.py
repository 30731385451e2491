"""What ``make conformance`` judges by, as far as it can be told without npm and a network."""

import importlib.util
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

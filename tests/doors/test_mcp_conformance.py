"""What ``make conformance`` judges by, as far as it can be told without npm and a network."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_only_what_needs_a_fixture_is_expected_to_fail():
    """Each scenario that is listed has a reason that names the fixture it asks for."""
    script = runpy.run_path(str(ROOT / "scripts" / "conformance.py"))
    listed = script["expected_failures"](script["EXPECTED"].read_text("utf-8"))
    assert listed
    for scenario, reason in listed.items():
        assert re.fullmatch(r".+ the fixture (tool|resource|prompt) \S+", reason), scenario

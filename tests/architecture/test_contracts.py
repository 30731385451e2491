"""The import contract: each room knows only rooms on lower storeys, and no circle is anywhere."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACTS = 4


def test_the_import_contracts_are_kept():
    """Every contract in pyproject.toml holds; the failing ones are shown."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{CONTRACTS} kept, 0 broken" in run.stdout

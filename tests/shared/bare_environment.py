"""Processes of Python that tests start, and their environment."""

import os
import subprocess
import sys


def bare_environment(folder, **changes):
    """Return an environment without settings of this machine, and without a model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    return kept | {
        "MEMORANDA_CONFIG": str(folder / "no-config.toml"),
        "MEMORANDA_LOCATION": str(folder / "agent.db"),
        "MEMORANDA_EMBEDDING__MODEL": "none",
        **changes,
    }


def run_python(*arguments, **options):
    """Run an interpreter to its end; return its exit code and what it wrote, as text."""
    return subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        **options,
    )

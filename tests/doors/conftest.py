"""What the tests of the command line share: commands are run in this process."""

import json

import pytest
from typer.testing import CliRunner

from memoranda.cli import app


@pytest.fixture
def prefix():
    """The words that stand before the arguments of each command that a file runs."""
    return ()


@pytest.fixture
def run(prefix):
    """Run a command; it must exit with ``code``, and never with a traceback."""
    runner = CliRunner()

    def start(*arguments, code=0, stdin=None):
        result = runner.invoke(app, [*prefix, *arguments], input=stdin)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return start


@pytest.fixture
def told(run):
    """Run a command with --json and return its document."""

    def start(*arguments, code=0):
        return json.loads(run(*arguments, "--json", code=code).stdout)

    return start

"""What the tests of the command line share: commands are run in this process."""

import json
import os
import re

import pytest
from bare_environment import bare_environment
from typer.testing import CliRunner, _NamedTextIOWrapper

from memoranda.cli import app

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def own_machine(tmp_path, monkeypatch):
    """No settings of this machine, no embedding model, one time zone, a folder of its own."""
    for name in os.environ:
        if name.startswith(("MEMORANDA_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_SCHEDULE__IN_BACKGROUND", "false")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def environment(tmp_path):
    """An environment for processes, without settings of this machine, and without a model."""
    return bare_environment(tmp_path, COLUMNS="80")


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
def drawn(run, monkeypatch):
    """Run a command as on a terminal of so many columns; return its lines without codes."""

    def start(*arguments, columns=80):
        with monkeypatch.context() as changed:
            changed.setenv("COLUMNS", str(columns))
            changed.setenv("FORCE_COLOR", "1")
            return CODES.sub("", run(*arguments).stdout).splitlines()

    return start


@pytest.fixture
def ask(monkeypatch):
    """Run a command as at a terminal and type an answer; return its code and what was shown."""

    def start(*arguments, answer=""):
        with monkeypatch.context() as terminal:
            terminal.setattr(_NamedTextIOWrapper, "isatty", lambda each: each.name == "<stdin>")
            done = CliRunner().invoke(app, arguments, input=answer)
        return done.exit_code, CODES.sub("", done.output)

    return start


@pytest.fixture
def told(run):
    """Run a command with --json and return its document."""

    def start(*arguments, code=0):
        return json.loads(run(*arguments, "--json", code=code).stdout)

    return start

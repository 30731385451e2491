"""What the tests of the doors share: a machine of their own, commands here and as processes."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from bare_environment import bare_environment
from model_server import server
from terminal_codes import CODES
from typer.testing import CliRunner, _NamedTextIOWrapper

from memoranda.cli import app

__all__ = ["server"]
FOREIGN = ("MEMORANDA_", "OPENAI_", "ANTHROPIC_", "FORCE_COLOR", "NO_COLOR", "TTY_", "EDITOR")


@pytest.fixture(autouse=True)
def own_machine(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone, a terminal and a folder of its own."""
    for name in os.environ:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    own = {
        "MEMORANDA_CONFIG": str(tmp_path / "config.toml"),
        "MEMORANDA_EMBEDDING__MODEL": "none",
        "MEMORANDA_TIMEZONE": "UTC",
        "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false",
        "MEMORANDA_LOCATION": str(tmp_path / "agent.db"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "OPENAI_API_KEY": "no-secret",
        "ANTHROPIC_API_KEY": "no-secret",
        "NO_PROXY": "127.0.0.1",
        "COLUMNS": "80",
        "TERM": "xterm",
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


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


@pytest.fixture
def coloured(run, monkeypatch):
    """Run a command as on a terminal of so many columns; return what it shows."""

    def start(*arguments, columns=80):
        with monkeypatch.context() as changed:
            changed.setenv("COLUMNS", str(columns))
            changed.setenv("FORCE_COLOR", "1")
            return run(*arguments).stdout

    return start


@pytest.fixture
def drawn(coloured):
    """Run a command as on a terminal of so many columns; return its lines without codes."""
    return lambda *arguments, columns=80: CODES.sub(
        "", coloured(*arguments, columns=columns)
    ).splitlines()


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
def environment(tmp_path):
    """An environment for processes, without settings of this machine, and without a model."""
    # No stage is due twice, also where an hour ends meanwhile.
    return bare_environment(tmp_path, MEMORANDA_TIMEZONE="UTC", MEMORANDA_SCHEDULE__EXPIRE="1d")


@pytest.fixture
def started(environment, tmp_path):
    """Start a command as a process of its own, killed if a test leaves it running."""

    @contextmanager
    def start(*arguments, stdin=subprocess.DEVNULL, text=True, **changes):
        with subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "memoranda", *arguments],
            env=environment | changes,
            cwd=tmp_path,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=text,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    return start

"""What the golden tests share: an environment without settings, and the command line."""

from __future__ import annotations

import io
import os
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory
from memoranda.testing.clocks import FrozenClock


@pytest.fixture
def plain_environment(tmp_path, monkeypatch):
    """No settings of this machine, and a folder of its own; gives what changes them."""
    for name in os.environ:
        if name.startswith("MEMORANDA_") and name != "MEMORANDA_REGENERATE_GOLDENS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_ENTITIES__ACCURATE", "regex")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "Europe/Lisbon")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.fixture
def frozen_clock(monkeypatch):
    """A clock for every memory that is opened without one."""
    clock = FrozenClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    usual = Memory.__init__

    def with_clock(self, *arguments, **chosen):
        usual(self, *arguments, **{"clock": clock} | chosen)

    monkeypatch.setattr(Memory, "__init__", with_clock)
    return clock


@pytest.fixture
def anas_file(tmp_path, plain_environment):
    """Have commands work for Ana on a file, in which nothing is done by itself."""
    plain_environment.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    plain_environment.setenv("MEMORANDA_USER", "ana")
    plain_environment.setenv("MEMORANDA_CONSOLIDATION__AUTOMATIC", "false")
    plain_environment.setenv("MEMORANDA_SCHEDULE__IN_BACKGROUND", "false")


@pytest.fixture
def run_command(frozen_clock, monkeypatch):
    """Run ``python -m memoranda`` in this process; return its exit code and both outputs."""

    def start(*arguments, stdin=""):
        frozen_clock.advance(timedelta(minutes=1))
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["memoranda", *arguments])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            code = exit_code()
        return code, out.getvalue(), err.getvalue()

    return start


def exit_code():
    """Run the package as ``python -m`` does; return the code with which it exits."""
    try:
        runpy.run_module("memoranda", run_name="__main__")
    except SystemExit as left:
        return left.code or 0
    return 0

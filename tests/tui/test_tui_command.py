"""The command ``memoranda tui``: what it needs, and that it comes and goes on a real terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import util

from typer.testing import CliRunner

from memoranda.cli import app


def test_without_the_library_or_a_terminal_it_says_so(monkeypatch):
    """In a pipe the line names the command that works there; without Textual how to get it."""
    result = CliRunner().invoke(app, ["tui"])
    assert (result.exit_code, "in a pipe use memoranda chat" in result.stderr) == (1, True)
    found = util.find_spec
    monkeypatch.setattr(
        "memoranda.cli.doors.find_spec", lambda name: None if name == "textual" else found(name)
    )
    result = CliRunner().invoke(app, ["tui"])
    assert (result.exit_code, "pip install 'memoranda[tui]'" in result.stderr) == (1, True)


def test_it_opens_and_leaves_on_a_terminal(tmp_path, on_hangup):
    """The chat is there, the settings name an option, and a signal leaves in order."""
    on_hangup(signal.SIG_DFL)
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "TERM": "xterm-256color", "MEMORANDA_EMBEDDING__MODEL": "none", "NO_COLOR": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "memoranda", "tui", "--db", str(tmp_path / "agent.db")]
    with subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen, until = b"", time.monotonic() + 60
        # F3 for the settings, and then a signal.
        due = [(b"memory alone", partial(os.write, ours, b"\x1bOR")),
               (b"--db", partial(process.send_signal, signal.SIGHUP))]  # fmt: skip
        while process.poll() is None and time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    seen += os.read(ours, 65_536)
                except OSError:  # A terminal that nobody writes to any more.
                    break
            if due and due[0][0] in seen:
                due.pop(0)[1]()
        try:
            code = process.wait(timeout=30)
        finally:
            process.kill()
            os.close(ours)
    assert not due
    assert b"session" in seen
    assert b"\x1b[38;" not in seen  # No colour was wanted.
    assert seen.rindex(b"\x1b[?1049h") < seen.rindex(b"\x1b[?1049l")  # What was there is again.
    assert seen.rindex(b"\x1b[?25l") < seen.rindex(b"\x1b[?25h")  # So is the cursor.
    assert code == 128 + signal.SIGHUP

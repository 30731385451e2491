"""Signals that end a program, which is to leave its terminal and its temporary files in order."""

from __future__ import annotations

import signal
from collections.abc import Sequence

# What is added to the number of the signal that ended a program: its exit code.
SIGNALLED = 128


def ending_signals() -> Sequence[signal.Signals]:
    """Return the signals that terminate a program, or tell that its terminal was closed.

    Not those that are ignored, as by ``nohup``: such a program is to outlive its terminal.
    """
    return [
        each
        for each in signal.Signals
        if each.name in {"SIGTERM", "SIGHUP"} and signal.getsignal(each) != signal.SIG_IGN
    ]

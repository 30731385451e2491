"""Starts and stops ``chroma run``, as a user would."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from time import monotonic

START = 60.0


def free_port():
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def start(folder, port):
    """Start a server over ``folder`` and return its process once it answers."""
    with closing(sqlite3.connect(Path(folder) / "chroma.sqlite3")) as database:
        database.execute("PRAGMA journal_mode = WAL")  # As in folders: each write is shorter.
    log = (Path(folder) / "server.log").open("ab")
    with log:
        process = subprocess.Popen(  # noqa: S603 - the program of the extra, and our arguments
            [
                str(Path(sys.executable).with_name("chroma")),
                *("run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)),
            ],
            stdout=log,
            stderr=log,
            env={**os.environ, "NO_COLOR": "1"},
            start_new_session=True,
        )
    since = monotonic()
    while not answers(port):
        if process.poll() is not None or monotonic() - since > START:
            process.kill()
            message = (Path(folder) / "server.log").read_text()[-2_000:]
            raise RuntimeError(message)
        Event().wait(0.02)
    return process


def answers(port):
    """Return whether a server answers on ``port``."""
    with suppress(OSError):
        address = f"http://127.0.0.1:{port}/api/v2/heartbeat"
        with urllib.request.urlopen(address, timeout=1) as answer:
            return answer.status == 200
    return False


def stop(process):
    """End a server and all it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


@contextmanager
def running(folder):
    """Give host and port of a server over ``folder`` for as long as the block lasts."""
    for left in reversed(range(3)):
        port = free_port()
        try:
            process = start(folder, port)
            break
        except RuntimeError:  # Such as a port that somebody else has taken by now.
            if not left:
                raise
    try:
        yield f"127.0.0.1:{port}"
    finally:
        stop(process)

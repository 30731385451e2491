"""A real PgBouncer before a server: each transaction of a client may have another session."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONFIG = """\
[databases]
* = host={host}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 3
log_connections = 0
log_disconnections = 0
{more}
"""
# It refuses to be run by root: the user as whom the server runs then, who alone has its socket.
SYSTEM_USER = "pgserver"


def free_port():
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def pooling(address, *users, **files):
    """Run one before the server of an address; give what stands for the address there.

    Skips the test where it is not installed.

    Args:
        address: of the server.
        users: who may connect beside ``postgres``, without a password.
        files: settings of its own that name a file, with the content of that.
    """
    if PROGRAM is None:
        pytest.skip("PgBouncer is not installed")
    (host,) = parse_qs(urlsplit(address).query)["host"]
    with tempfile.TemporaryDirectory(prefix="pb") as folder:
        port, known = free_port(), "".join(f'"{name}" ""\n' for name in ("postgres", *users))
        more = "\n".join(f"{name} = {folder}/{name}" for name in files)
        more += "\nclient_tls_sslmode = require" if files else ""
        config = CONFIG.format(host=host, port=port, folder=folder, more=more)
        for name, content in {**files, "users": known, "pgbouncer.ini": config}.items():
            Path(folder, name).write_text(content, encoding="utf-8")
        as_user = {}
        if os.geteuid() == 0:
            as_user = {"user": SYSTEM_USER, "group": SYSTEM_USER, "extra_groups": []}
            for path in (folder, *Path(folder).iterdir()):
                shutil.chown(path, SYSTEM_USER, SYSTEM_USER)
        command = [PROGRAM, f"{folder}/pgbouncer.ini"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **as_user) as process:  # noqa: S603
            try:
                told = ""
                while "process up" not in told:
                    line = process.stderr.readline()
                    assert line, told
                    told += line
                yield address.replace("postgres:@", f"postgres@127.0.0.1:{port}").partition("?")[0]
            finally:
                process.terminate()

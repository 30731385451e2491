"""A proxy before a PostgreSQL server, which cuts connections where a test wants it."""

import socket
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PORT = ".s.PGSQL.5432"
PIECE = 65_536
PATIENCE = 30


class CuttingProxy:
    """Passes on what clients and a server say to each other, until it is told to cut.

    Args:
        target: the socket of the server.
        own: its own socket.

    Attributes:
        at: the next message of a client that holds this cuts its connection.
        answered: whether the server gets that message, and answers it, before the cut.
        last: what is done before the client sees the cut, once the server has what it gets.
        cuts: how many connections it has cut.
    """

    def __init__(self, target, own):
        """Listen."""
        self.at, self.answered, self.last, self.cuts = None, False, None, 0
        self._target, self._muted, self._may_see = str(target), set(), threading.Event()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(own))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Take no more connections."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                for pass_on in (self._to_server, self._to_client):
                    threading.Thread(target=pass_on, args=(client, server), daemon=True).start()

    def _to_server(self, client, server):
        with suppress(OSError), client, server:
            while said := client.recv(PIECE):
                cut = self.at is not None and self.at in said
                if cut:
                    self.at = None
                    self.cuts += 1
                    self._muted.add(client)
                if self.answered or not cut:
                    server.sendall(said)
                if cut:
                    if self.last is not None:
                        self.last()
                    self._may_see.set()
                    if not self.answered:
                        break
            _end(server)

    def _to_client(self, client, server):
        with suppress(OSError):
            while (said := server.recv(PIECE)) and client not in self._muted:
                client.sendall(said)
        if client in self._muted:
            self._may_see.wait(PATIENCE)
        _end(client)


def _end(connection):
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting(address):
    """Run a proxy before the server of an address; give the proxy, and its address."""
    with tempfile.TemporaryDirectory(prefix="cut") as folder:
        (host,) = parse_qs(urlsplit(address).query)["host"]
        proxy = CuttingProxy(Path(host) / PORT, Path(folder) / PORT)
        try:
            yield proxy, address.replace(host, folder)
        finally:
            proxy.close()

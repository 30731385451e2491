"""Chroma by hand: what a program pays that adds to a collection and queries it, and no more.

One collection in cosine space; of each text its id, vector, document and three metadata. No
transactions, no terms, no entities, no history, no validity, no reasons.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import chromadb
import httpx
from chromadb.config import Settings

from memoranda.model.query import Vector, Vectors

NAME = "bare"
USER = "ana"
START = 60.0
"""Seconds that a server may take to answer."""


class BareChroma:
    """A collection of Chroma's own client."""

    def __init__(self, place: Path | str) -> None:
        """Open a folder, or the server at ``host:port``; the collection is made if need be."""
        quiet = Settings(anonymized_telemetry=False)
        if isinstance(place, Path):
            self._client: Any = chromadb.PersistentClient(path=str(place), settings=quiet)
        else:
            host, _, port = place.partition(":")
            self._client = chromadb.HttpClient(host=host, port=int(port), settings=quiet)
        self._collection = self._client.get_or_create_collection(
            NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, first: int, texts: Sequence[str], vectors: Vectors) -> None:
        """Add texts in one call; their ids count on from ``first``."""
        numbers = range(first, first + len(texts))
        self._collection.add(
            ids=[f"fact_{number:026d}" for number in numbers],
            embeddings=vectors,
            documents=list(texts),
            metadatas=[{"user": USER, "type": "fact", "created_at": n} for n in numbers],
        )

    def nearest(self, vector: Vector, limit: int) -> list[str]:
        """Return the documents of the nearest texts of the user."""
        found = self._collection.query(
            query_embeddings=[vector],
            n_results=limit,
            where={"user": USER},
            include=["documents", "metadatas", "distances"],
        )
        documents: list[str] = found["documents"][0]
        return documents

    def close(self) -> None:
        """Release the place."""
        self._client.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Give ``host:port`` of a ``chroma run`` over ``folder`` for as long as the block lasts.

    Raises:
        RuntimeError: it did not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    log = folder.with_suffix(".log")
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - the program of the extra, and our arguments
            [
                *(_program(), "run", "--path", str(folder)),
                *("--host", "127.0.0.1", "--port", str(port)),
            ],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait(process, port, log)
        yield f"127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _program() -> str:
    beside = Path(sys.executable).with_name("chroma")
    return str(beside) if beside.exists() else shutil.which("chroma") or "chroma"


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    since = monotonic()
    while not _answers(port):
        if process.poll() is not None or monotonic() - since > START:
            message = f"chroma run did not start: {log.read_text('utf-8')[-500:]}"
            raise RuntimeError(message)
        Event().wait(0.05)


def _answers(port: int) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).is_success
    return False

"""The HTTP server under load, beside a bare FastAPI application with raw SQL in the same run.

Clients are connections that ask one thing after another: they add, read, search, list and forget.
What was acknowledged has to be there afterwards. ``python -m benchmarks.serving --help``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import uvicorn
from fastapi import FastAPI
from psycopg_pool import ConnectionPool
from pydantic import BaseModel
from tests.shared.bare_environment import bare_environment
from tests.shared.postgres_server import new_database, running_server

from benchmarks.measure import show
from memoranda import Memory, Settings
from memoranda.model.tokens import TokenScope
from memoranda.serving.tokens import TokenService

USERS = 20
SLICE = 5.0  # seconds of a turn
# Method, path and body of a request.
Asked = tuple[str, str, dict[str, Any] | None]
BOTH = {"add": 0.5, "get": 0.5}
MIXED = {"add": 0.3, "get": 0.4, "search": 0.15, "list": 0.1, "forget": 0.05}
WORDS = ("tea", "Porto", "garden", "violin", "ferry", "green", "doctor", "Friday", "key", "bread")
# The table of the floor, and what is done with it, with parameters as sqlite3 has them.
BARE = """
CREATE TABLE IF NOT EXISTS bare (
    id {} PRIMARY KEY, content TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL
)
"""
BARE_ADD = "INSERT INTO bare (content, created_at) VALUES (?, ?) RETURNING id"
BARE_GET = "SELECT id, content, created_at FROM bare WHERE id = ?"
Execute = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


class NewNote(BaseModel):
    """What the floor is told to store."""

    content: str


def bare_sqlite(path: str) -> Execute:
    """Return what runs a statement of the floor: one connection a thread, a commit each."""
    local = threading.local()

    def execute(sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if not hasattr(local, "made"):
            local.made = sqlite3.connect(path, timeout=60, isolation_level=None)
            # As memoranda has it.
            local.made.execute("PRAGMA journal_mode = WAL")
            local.made.execute("PRAGMA synchronous = NORMAL")
            local.made.execute(BARE.format("INTEGER"))
        found: list[tuple[Any, ...]] = local.made.execute(sql, values).fetchall()
        return found

    return execute


def bare_postgres(address: str) -> Execute:
    """Return the same over psycopg's pool, with as many connections as memoranda has."""
    pool = ConnectionPool(address, kwargs={"autocommit": True}, max_size=10, open=True)
    with pool.connection() as connection:
        connection.execute(BARE.format("bigserial"))

    def execute(sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with pool.connection() as connection:
            return connection.execute(sql.replace("?", "%s"), values).fetchall()

    return execute


def bare_app(place: str) -> Any:
    """Return the floor: what a person would write in ten minutes."""
    app = FastAPI(openapi_url=None)
    execute = bare_postgres(place) if place.startswith("postgresql:") else bare_sqlite(place)

    @app.post("/v1/records", status_code=201)
    def add(new: NewNote) -> dict[str, Any]:
        at = time.time()
        ((id_,),) = execute(BARE_ADD, (new.content, at))
        return {"id": id_, "content": new.content, "created_at": at}

    @app.get("/v1/records/{id}")
    def get(id: int) -> dict[str, Any]:
        ((id_, content, at),) = execute(BARE_GET, (id,))
        return {"id": id_, "content": content, "created_at": at}

    return app


def serve_bare(place: str, port: int) -> None:
    """Serve the floor until the process is told to stop."""
    app = bare_app(place)
    uvicorn.run(app, port=port, http="h11", ws="none", log_config=None, access_log=False)


@contextmanager
def process(*words: str, port: int, **environment: str) -> Iterator[int]:
    """Run a server as a process until the block ends; give its id when it answers."""
    folder = Path(tempfile.mkdtemp())
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, *words], env=bare_environment(folder, **environment)
    ) as running:
        try:
            for _ in range(600):
                with socket.socket() as trial:
                    if trial.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield running.pid
        finally:
            running.terminate()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        port: int = made.getsockname()[1]
        return port


@dataclass(slots=True)
class Load:
    """What clients ask, and what they were answered.

    Attributes:
        port: where the server is.
        process: its id.
        tokens: of the users, among whom the clients are divided.
        mix: how often each thing is asked for.
        until: when they stop, this time.
        seconds: how long each answer took, by what was asked.
        statuses: how often there was each status.
        used: seconds that the server took of processors.
        kept: of each token the ids that have to be there.
    """

    port: int
    process: int
    tokens: list[str]
    mix: Mapping[str, float]
    until: float = 0.0
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    used: float = 0.0
    kept: defaultdict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))

    async def client(self, number: int) -> None:
        """Ask one thing after another over one connection."""
        token, choose = (
            self.tokens[number % len(self.tokens)],
            random.Random(f"{number} {self.until}"),  # noqa: S311 - no secret
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        ids: list[Any] = []
        while time.perf_counter() < self.until:
            (what,) = choose.choices([*self.mix], [*self.mix.values()])
            what = what if ids or what in {"search", "list"} else "add"
            asked = self._request(what, choose, ids)
            begun = time.perf_counter()
            status, answer = await exchange(reader, writer, asked, token)
            self.seconds[what].append(time.perf_counter() - begun)
            self.statuses[status] += 1
            if what == "add" and status == 201:
                ids.append(answer["id"])
                self.kept[token].add(answer["id"])
            if what == "forget" and status == 200:
                self.kept[token].discard(asked[1].rpartition("/")[2])
        writer.close()

    def _request(self, what: str, choose: random.Random, ids: list[Any]) -> Asked:
        match what:
            case "add":
                said = " ".join(choose.choices(WORDS, k=8))
                content = f"Note {choose.getrandbits(40)}: {said}"
                return "POST", "/v1/records", {"content": content}
            case "get":
                return "GET", f"/v1/records/{choose.choice(ids)}", None
            case "forget":
                return "DELETE", f"/v1/records/{ids.pop(choose.randrange(len(ids)))}", None
            case "list":
                return "GET", "/v1/records?limit=20&newest_first=true", None
        return "POST", "/v1/search", {"query": " ".join(choose.choices(WORDS, k=3))}


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Asked, token: str
) -> tuple[int, Any]:
    """Send a request over an open connection; return the status and the document."""
    method, path, body = asked
    sent = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    writer.write(head.encode() + sent)
    status = int((await reader.readline()).split()[1])
    length = 0
    while line := (await reader.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return status, json.loads(await reader.readexactly(length) or b"null")


def press(load: Load, clients: int, seconds: float) -> None:
    """Have clients ask a server for so many seconds, and note what they were answered."""
    load.until = time.perf_counter() + seconds
    before = psutil.Process(load.process).cpu_times()

    async def all_clients() -> None:
        await asyncio.gather(*(load.client(number) for number in range(clients)))

    asyncio.run(all_clients())
    after = psutil.Process(load.process).cpu_times()
    load.used += after.user + after.system - before.user - before.system


def summary(name: str, load: Load, secs: float) -> list[tuple[str, ...]]:
    """Return a row for each thing that was asked: how often a second, and how long it took."""
    rows = []
    for what in load.mix:
        took = 1_000 * np.array(load.seconds[what] or [0.0])
        p50, p99 = np.percentile(took, [50, 99])
        rows.append((f"{name}: {what}", f"{len(took) / secs:,.0f}", f"{p50:.1f}", f"{p99:.1f}"))
    return rows


def make_tokens(location: str) -> list[str]:
    """Return a token of each user."""
    settings = Settings(embedding={"model": "none", "background": False})
    with Memory(location, settings=settings) as memory:
        tokens = TokenService.of(memory)
        return [tokens.create(f"user{n}", TokenScope.WRITE)[0] for n in range(USERS)]


def count_lost(location: str, tokens: list[str], load: Load) -> int:
    """Return how many records were acknowledged and are not there."""
    settings = Settings(embedding={"model": "none", "background": False})
    lost = 0
    with Memory(location, settings=settings) as memory:
        for number, token in enumerate(tokens):
            own = memory.as_user(f"user{number}")
            there = {each.id for each in own.records(limit=10_000_000)}
            lost += len(load.kept[token] - there)
    return lost


@contextmanager
def served(location: str) -> Iterator[tuple[int, int]]:
    """Serve a store as ``memoranda serve`` does; give the port and the id of the process."""
    port = free_port()
    words = ("-m", "memoranda", "serve", "--http", f"127.0.0.1:{port}", "--db", location)
    quiet = {"MEMORANDA_HTTP__RATE": "100000", "MEMORANDA_HTTP__ALLOWED_HOSTS": "localhost"}
    # As compose.yaml has it: a worker does these.
    quiet |= {
        "MEMORANDA_EMBEDDING__BACKGROUND": "false",
        "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false",
    }
    with process(*words, port=port, **quiet) as running:
        yield port, running


def run(*, seconds: float, clients: int, servers: tuple[str, ...]) -> None:
    """Print how long answers took: of the floor, and of memoranda on each kind of store.

    The floor and memoranda take turns of some seconds, as a shared machine is now fast, now slow.
    """
    rows = []
    rounds = max(1, round(seconds / SLICE))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places = {"sqlite": [str(folder / name) for name in ("agent.db", "bare.db")]}
        if "postgres" in servers:
            server = stack.enter_context(running_server())
            places["postgres"] = [new_database(server, schema=False) for _ in range(2)]
        for name in servers:
            place, bare = places[name]
            tokens, port = make_tokens(place), free_port()
            words = "-m", "benchmarks.serving", "--bare", bare, str(port)
            with process(*words, port=port) as floor_id, served(place) as own:
                floor, same = Load(port, floor_id, ["none"], BOTH), Load(*own, tokens, BOTH)
                mixed = Load(*own, tokens, MIXED)
                for _ in range(rounds):
                    press(floor, clients, SLICE)
                    press(same, clients, SLICE)
                press(mixed, clients, seconds)
            rows += summary(f"floor beside {name}", floor, rounds * SLICE)
            rows += summary(f"{name}, the same", same, rounds * SLICE)
            rows += summary(f"{name}, mixed", mixed, seconds)
            for what in BOTH:
                ratio = np.median(same.seconds[what]) / np.median(floor.seconds[what])
                print(f"{name}: {what} takes {ratio:.2f} of the floor at the median")
            for kind, load in (("floor", floor), ("own", same)):
                used = 1_000 * load.used / load.statuses.total()
                print(f"{name}, {kind}: {used:.2f} ms of processors a request")
            lost = count_lost(place, tokens, same) + count_lost(place, tokens, mixed)
            answers = dict(same.statuses + mixed.statuses)
            print(f"{name}: answers {answers}; acknowledged and not there: {lost}")
    show("Serving", ("", "a second", "p50 ms", "p99 ms"), rows)


def main() -> None:
    """Read the command line, and measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each part")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--store", action="append", choices=("sqlite", "postgres"))
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.bare:
        serve_bare(asked.bare[0], int(asked.bare[1]))
    else:
        print(f"{os.cpu_count()} cores, {asked.clients} clients, {asked.seconds:g} s each")
        servers = tuple(asked.store or ("sqlite", "postgres"))
        run(seconds=asked.seconds, clients=asked.clients, servers=servers)


if __name__ == "__main__":
    main()

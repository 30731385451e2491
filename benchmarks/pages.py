"""How long the server takes for each of its web pages, over a large memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from starlette.testclient import TestClient

from benchmarks.adding import settings
from benchmarks.measure import show
from benchmarks.workload import talk
from memoranda import Memory
from memoranda.http.app import create_app
from memoranda.http.explorer.app import PAGES
from memoranda.model.tokens import TokenScope
from memoranda.serving.tokens import TokenService

SAID, LEARNED = 80, 20  # messages and facts of a conversation
ROUNDS = 9
# What examines or erases takes as long as there is much to read, and is asked for.
SLOW = {"/doctor"}
NOTE = "Target: 150 ms. CPU is what this process used: other load does not count in it."


def run(*, quick: bool) -> None:
    """Print the table."""
    records = 10_000 if quick else 100_000
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder, "memory.db"), user="ana", settings=settings()) as memory,
    ):
        said = list(talk(records).texts)
        for at in range(0, records, SAID + LEARNED):
            texts = said[at : at + SAID + LEARNED]
            turns = [{"role": "user", "content": each} for each in texts[:SAID]]
            memory.conversation(f"talk {at}").extend(turns)
            facts = [{"content": each, "tags": ["learned"]} for each in texts[SAID:]]
            memory.remember_many(facts)
        memory.entities()
        text, _ = TokenService.of(memory).create("ana", TokenScope.ADMIN)
        rows = []
        with TestClient(create_app(memory), cookies={"memoranda_session": text}) as client:
            for path, fields in _addresses(memory).items():
                taken = [_measure(client, path, fields) for _ in range(ROUNDS)]
                walls, cpus = zip(*taken, strict=True)
                figures = (walls[0], statistics.median(walls), statistics.median(cpus))
                rows.append((path, *(f"{1e3 * each:,.0f} ms" for each in figures)))
    show(f"Pages over {records:,} records", ("page", "first", "p50", "p50, CPU"), rows, NOTE)


def _addresses(memory: Memory) -> dict[str, dict[str, str]]:
    """Return the pages with fields of what is there."""
    (fact,) = memory.records(kind="fact", newest_first=True, limit=1)
    fields = {
        "/search": {"q": fact.content[:60]},
        "/timeline": {"day": "0"},
        "/entity": {"name": memory.entities(limit=1)[0].name},
        "/conversation": {"id": memory.conversations()[0].id, "budget": "2000"},
        "/bulk": {"tag": "learned"},
    }
    return {page.format(id=fact.id): fields.get(page, {}) for page in PAGES if page not in SLOW}


def _measure(client: TestClient, path: str, fields: dict[str, str]) -> tuple[float, float]:
    """Return the seconds that a page took, and those of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    client.get(path, params=fields).raise_for_status()
    return time.perf_counter() - wall, time.process_time() - cpu

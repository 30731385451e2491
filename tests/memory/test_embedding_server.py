"""An embedding server that is busy, fails or never answers holds nobody up (S4.32, S4.69)."""

import json
from itertools import pairwise
from time import monotonic

import pytest
from model_server import failing, stalling

from memoranda import Agent, Memory, Settings

# What the settings promise to wait, and room for a busy machine.
FIRST = 3.0
AFTERWARDS = 1.5
CLOSED = 2.0
TROUBLES = {"busy": failing(429, retry_after="30"), "broken": failing(500), "silent": stalling}


def embed(handler, body):
    """Answer as an embedding server does."""
    vectors = [[1.0, len(text) % 7, 2.0] for text in body["input"]]
    data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    handler.send(200, json.dumps({"object": "list", "data": data, "model": "small"}).encode())


@pytest.fixture
def connect(server, tmp_path):
    """Open a memory that embeds by the server."""
    opened = []

    def connect(**options):
        chosen = {"model": "openai:small", "base_url": f"{server.url}/v1", "dimensions": 3}
        settings = Settings(timezone="UTC", embedding=chosen | options)
        opened.append(Memory(tmp_path / "m.db", user="ana", settings=settings))
        return opened[-1]

    yield connect
    for memory in opened:
        memory.close()


def timed(work, *args):
    """Return how many seconds something takes, and its result."""
    start = monotonic()
    result = work(*args)
    return monotonic() - start, result


@pytest.mark.parametrize("trouble", TROUBLES)
def test_no_search_and_no_close_waits_for_a_server_in_trouble(server, connect, trouble):
    """The first search takes the time-out at most, all others that of words alone."""
    server.play(TROUBLES[trouble])
    memory = connect()
    memory.remember("The kiln is in the cellar")
    first, [hit] = timed(memory.search, "kiln")
    assert first < FIRST
    assert hit.record.content == "The kiln is in the cellar"
    assert "lexical" in hit.why.arms
    assert "vector" not in hit.why.arms
    Agent(memory).process("Where is the kiln?")  # What is loaded once is no part of it.
    asked = len(server.received)
    for question in ("a kiln", "my kiln", "the kiln"):
        assert timed(memory.search, question)[0] < AFTERWARDS
        assert timed(Agent(memory).process, f"Where is {question}?")[0] < AFTERWARDS
    assert len(server.received) == asked
    assert memory.stats().vectors.startswith("off: embedding failed")
    assert memory.stats().pending_vectors
    assert any(check.name == "vectors" and not check.ok for check in memory.doctor())
    assert timed(memory.close)[0] < CLOSED


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nobody_who_never_searched_waits_at_the_end(server, connect, trouble):
    """Closing lets go of what the background asks for."""
    server.play(TROUBLES[trouble])
    memory = connect()
    memory.remember("The kiln is in the cellar")
    assert server.arrived.wait(20)
    assert timed(memory.close)[0] < CLOSED


def test_a_query_is_embedded_once(server, connect):
    """A failed attempt is not made again within the search, and an answer is kept."""
    server.play(failing(500))
    memory = connect(background=False)
    memory.remember("The kiln is in the cellar")
    assert memory.search("kiln")
    assert [each.body["input"] for each in server.received] == [["kiln"]]
    memory.close()
    server.play(embed)
    memory = connect(background=False)
    found = [memory.search("kiln") for _ in range(3)]
    assert all("vector" in hit.why.arms for [hit] in found)
    assert all(one == other for one, other in pairwise(found))
    assert [each.body["input"] for each in server.received] == [
        ["kiln"],
        ["The kiln is in the cellar"],
    ]
    assert memory.stats().vectors == "small@3 (3 dimensions)"


def test_the_timeout_is_that_of_the_settings(server, connect):
    """``embedding.timeout`` is how long a search waits."""
    server.play(stalling)
    memory = connect(timeout=0.1)
    memory.remember("The kiln is in the cellar")
    assert timed(memory.search, "kiln")[0] < 1.5
    assert "within 0.1 s" in memory.stats().vectors
    assert "embedding.timeout" in memory.stats().vectors

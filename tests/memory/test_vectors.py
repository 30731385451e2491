"""Vectors: no write waits for a model, no search fails with it or its server, nothing is lost."""

import sqlite3
import threading
from contextlib import closing
from time import monotonic

import numpy as np
import pytest
from model_server import failing, stalling

from memoranda import Agent, Memory, Settings, derivations, errors
from memoranda.memory import services_of
from memoranda.model.ports import ENTITIES
from memoranda.model.query import IndexVersion
from memoranda.testing.embedders import HashEmbedder

PATIENCE = 30.0
FOREGROUND = {"timezone": "UTC", "embedding": {"background": False}}


class Gate(HashEmbedder):
    """Blocks in ``embed`` until released, and says when somebody is there."""

    def __init__(self):
        """Start closed."""
        super().__init__()
        self.entered = threading.Event()
        self.released = threading.Event()
        self.made = 0

    def embed(self, texts):
        """Return the vectors once the gate is open."""
        self.entered.set()
        assert self.released.wait(PATIENCE)
        self.made += len(texts)
        return super().embed(texts)


class Failing(HashEmbedder):
    """Fails with ``error`` while it is set, and says that it has."""

    def __init__(self, error):
        """Fail with ``error``."""
        super().__init__()
        self.error = error
        self.failed = threading.Event()

    def embed(self, texts):
        """Raise, or return the vectors."""
        if self.error is not None:
            self.failed.set()
            raise self.error
        return super().embed(texts)


def test_adding_never_waits_for_a_model(opened):
    """While the model blocks, every verb that writes returns; what waited is done later."""
    gate = Gate()
    memory = opened(embedder=gate)
    record = memory.remember("Ana likes tea")
    assert gate.entered.wait(PATIENCE), "the background thread did not start"
    chat = memory.conversation("c")
    chat.add("user", "hello")
    chat.extend([{"role": "assistant", "content": "hi"}])
    memory.remember_many(["one", "two"])
    memory.correct(record.id, "Ana likes coffee")
    memory.confirm(memory.records()[0].id)
    memory.set_context("mood", "awake")
    memory.forget(record.id)
    assert memory.stats().pending_vectors == 7
    gate.released.set()
    memory.embed_pending()
    assert memory.stats().pending_vectors == 0
    assert memory.search("hello")[0].record.content == "hello"


def test_a_search_embeds_what_is_pending_first(opened):
    """Nothing that was just said is missed; who embeds on request is told how far it is."""
    memory = opened(settings=Settings(**FOREGROUND))
    memory.remember_many([f"tea number {n}" for n in range(70)])
    told = []
    assert memory.embed_pending(lambda done, total: told.append((done, total))) == 70
    assert told == [(32, 70), (64, 70), (70, 70)]
    record = memory.remember("a kettle on the stove")
    assert memory.stats().pending_vectors == 1
    hit = memory.search("kettles and stoves")[0]
    assert hit.record.id == record.id
    assert "vector" in hit.why.arms
    assert memory.stats().pending_vectors == 0


def test_words_find_what_a_search_does_not_wait_for(opened):
    """The one record with the word of the question comes first, though others have vectors."""
    memory = opened(settings=Settings(**FOREGROUND, retrieval={"wait": 0}))
    memory.remember_many([f"Number {n} leads project P{n:03}." for n in range(100)])
    hits = memory.search("who leads project P099?", limit=50)
    assert 0 < memory.stats().pending_vectors < 100
    assert "P099" in hits[0].record.content


def test_a_search_finds_what_others_embed_meanwhile(tmp_path, opened, monkeypatch):
    """Vectors that another process makes after a search has read the records count as well."""
    memory = opened(tmp_path / "m.db", settings=Settings(**FOREGROUND))
    derivations = memory._services.derivations
    finish_soon = derivations.finish_soon

    def outrun(*args, **kwargs):
        with Memory(tmp_path / "m.db", user="ana", embedder=HashEmbedder()) as other:
            other.embed_pending()
        return finish_soon(*args, **kwargs)

    record = memory.remember("a kettle on the stove")
    monkeypatch.setattr(derivations, "finish_soon", outrun)
    [hit] = memory.search("kettles and stoves")
    assert hit.record.id == record.id
    assert "vector" in hit.why.arms


def test_a_search_awaits_the_thread_that_stores(tmp_path, opened):
    """A disk that is slow, or another who writes for a moment, hides nothing that was just said."""
    gate = Gate()
    memory = opened(tmp_path / "m.db", embedder=gate)
    record = memory.remember("a kettle on the stove")
    assert gate.entered.wait(PATIENCE)
    other = sqlite3.connect(tmp_path / "m.db", isolation_level=None, check_same_thread=False)
    with closing(other):
        other.execute("BEGIN IMMEDIATE")
        gate.released.set()
        released = threading.Timer(4 * derivations.PATIENCE, other.execute, ["COMMIT"])
        released.start()
        [hit] = memory.search("kettles and stoves")
        released.join(PATIENCE)
    assert hit.record.id == record.id
    assert "vector" in hit.why.arms


@pytest.mark.parametrize("error", [errors.InvalidInput, RuntimeError])
def test_a_failing_model_fails_no_search_but_shows_in_stats(opened, error):
    """Whatever a model raises, words are still found, and stats say what happened."""
    failing = Failing(error("the server is down"))
    memory = opened(embedder=failing, settings=Settings(**FOREGROUND))
    record = memory.remember("Ana likes tea")
    [hit] = memory.search("tea")
    assert hit.record.id == record.id
    assert memory.recall("tea").hits
    assert memory.stats().vectors.startswith("off: embedding failed")
    assert "the server is down" in memory.stats().vectors
    assert memory.stats().pending_vectors == 1
    failing.error = None
    assert "vector" in memory.search("tea")[0].why.arms
    assert memory.stats().vectors == "hash (64 dimensions)"
    failing.error = errors.EmbeddingError("quota used up")  # Also where nothing is pending.
    assert memory.search("more tea")
    assert "quota used up" in memory.stats().vectors


def test_embedding_on_request_says_what_failed(opened):
    """Who asks for vectors is told that there are none."""
    memory = opened(embedder=Failing(RuntimeError("no")), settings=Settings(**FOREGROUND))
    memory.remember("Ana likes tea")
    for verb in (memory.embed_pending, memory.reembed):
        with pytest.raises(errors.EmbeddingError, match="RuntimeError: no"):
            verb()


@pytest.mark.parametrize("fault", ["rows", "width", "nan"])
def test_a_model_that_gives_no_proper_vectors_is_found_out(opened, fault):
    """Vectors of a wrong shape or without a value never get into the store."""

    class Odd(HashEmbedder):
        def embed(self, texts):
            rows = super().embed(texts)
            if fault == "rows":
                return rows[:-1]
            return rows[:, :-1] if fault == "width" else rows * np.nan

    memory = opened(embedder=Odd(), settings=Settings(**FOREGROUND))
    memory.remember("Ana likes tea")
    assert len(memory.search("tea")) == 1
    assert memory.stats().vectors.startswith("off: embedding failed")
    assert memory.verify() == []


def test_a_failure_in_the_background_ends_no_thread(opened):
    """A model that raises what it likes in the background is asked again by a search."""
    failing = Failing(ZeroDivisionError("odd"))
    memory = opened(embedder=failing)
    memory.remember("Ana likes tea")
    assert failing.failed.wait(PATIENCE)
    failing.error = None
    assert "vector" in memory.search("tea")[0].why.arms
    assert "memoranda-derivations" in [each.name for each in threading.enumerate()]


def test_closing_waits_for_the_batch_at_work(tmp_path):
    """A close in the middle of a batch ends in order, with the batch kept."""
    gate = Gate()
    memory = Memory(tmp_path / "m.db", user="ana", embedder=gate)
    memory.remember("Ana likes tea")
    assert gate.entered.wait(PATIENCE)
    closing = threading.Thread(target=memory.close)
    closing.start()
    assert closing.is_alive()
    gate.released.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    with Memory(tmp_path / "m.db", user="ana", embedder=HashEmbedder()) as again:
        assert again.stats().pending_vectors == 0
        assert again.verify() == []


def test_what_waits_is_derived_when_asked(opened):
    """The vectors of this user; a dry run counts them and makes none."""
    memory = opened(settings=Settings(timezone="UTC", embedding={"background": False}))
    memory.remember_many(["Ana met Bruno Silva in Lisbon.", "Ana likes tea."])
    memory.as_user("ben").remember("Ben likes tea.")
    assert memory.derive(dry_run=True).counts == {"vectors": 2}
    report = memory.derive()
    assert (report.stage, report.count, report.counts) == ("derive", 2, {"vectors": 2})
    assert memory.derive().count == 0
    assert memory.stats().pending_vectors == 0
    assert memory.as_user("ben").stats().pending_vectors == 1


def test_what_waits_is_told_while_others_write_and_goes_with_what_is_erased(tmp_path):
    """Who only looks waits for nobody, and changes nothing where nothing waits any more."""
    settings = Settings(embedding={"background": False}, storage={"busy_timeout": 0.1})
    with Memory(tmp_path / "m.db", settings=settings) as one:
        kept = one.remember("tea")
        store, scope = one._services.store, one._scope
        with Memory(tmp_path / "m.db") as other, other._services.store.transact():
            assert one.stats().records["fact"] == 1
        assert one.stats().pending_vectors == 1
        one.forget(one.remember("cake").id, erase=True)
        one.forget(kept.id, erase=True)
        assert one.stats().pending_vectors == 0
        before = store.index_changes(scope, IndexVersion()).version
        assert one.stats().pending_vectors == 0
        assert store.index_changes(scope, IndexVersion()).version == before


def test_links_are_made_when_entities_are_asked_for(plain):
    """Neither by deriving nor by searching, but by whoever reads them."""
    waiting = services_of(plain).derivations.waiting
    for use in (plain.entities, lambda: plain.entity("Bruno")):
        plain.remember(f"Ana met Bruno Silva in Lisbon {use}.")
        assert plain.derive().count == 0
        assert plain.search("Lisbon")
        assert waiting(None, ENTITIES) == 1
        use()
        assert waiting(None, ENTITIES) == 0
    assert "Bruno Silva" in [each.name for each in plain.entities()]


# A server that is busy, fails or never answers holds nobody up (S4.32, S4.69)


# What the settings promise to wait, and room for a busy machine.
FIRST = 3.0
AFTERWARDS = 1.5
CLOSED = 2.0
TROUBLES = {"busy": failing(429, retry_after="30"), "broken": failing(500), "silent": stalling}


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

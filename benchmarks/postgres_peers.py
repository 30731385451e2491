"""A memory on PostgreSQL beside other people's on the same server: adding, searching, disk, recall.

All take turns in one process and get the same texts and the same vectors, made beforehand. Each has
a database of its own. Which others there are, and how they are set up, is in ``peer_stores``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from psycopg.sql import SQL, Identifier
from tests.shared.postgres_server import connected, new_database, running_server

from benchmarks.measure import Step, interleaved, micro, show
from benchmarks.peer_stores import OURS, PEERS, Numbers, OurStore, PeerStore, our_store
from benchmarks.postgres import BATCH, WordVectors, turns
from benchmarks.retrieval import evaluator_of
from benchmarks.retrieval_plugin import item
from benchmarks.workload import DIMENSIONS, KnownVectors, Talk, talk
from memoranda.errors import MemorandaError
from memoranda.model.ports import Embedder
from memoranda.model.query import EmbeddedText, Vectors

MANY = 100
METRICS = ("recall@5", "recall@10")
RELATIONS = """
SELECT CAST(sum(pg_total_relation_size(oid)) AS bigint) FROM pg_class
WHERE relkind IN ('r', 'm') AND relnamespace = 'public'::regnamespace
"""
GRAPHS = "SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"
# How our memory can rank beside its default, by which of its settings.
RANKINGS: Mapping[str, Mapping[str, Any]] = {
    f"{OURS}, no token vectors": {"token_vectors": False},
    f"{OURS}, rrf": {"fusion": "rrf"},
    f"{OURS}, cosine": {"fusion": "cosine"},
}
# How a server is told to search an index of nearest vectors on until enough of the user are found,
# where a peer makes one that knows no users; none tells it so by itself.
GO_ON = "options=-c%20hnsw.iterative_scan%3Dstrict_order"
GOING_ON = {f"{name}, iterative scan": name for name, peer in PEERS.items() if peer.makes_graph}
Stores = Mapping[str, PeerStore]
Addresses = Mapping[str, str]


class TalkVectors(KnownVectors):
    """An embedder that looks up what was made before; texts that share words are near each other.

    Vectors of single tokens are random, and as many as the real model makes: they take their place
    and time.
    """

    name = "talk"

    def __init__(self, texts: Sequence[str]) -> None:
        """Make the vectors of all texts."""
        super().__init__()
        self._words = WordVectors()
        self._known = dict(zip(texts, self._words.embed(texts), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        missing = [text for text in texts if text not in self._known]
        if missing:
            self._known |= zip(missing, self._words.embed(missing), strict=True)
        return np.stack([self._known[text] for text in texts])


class RealVectors:
    """An embedder that looks up what all-MiniLM-L6-v2 made before, for texts and for questions."""

    name = "all-MiniLM-L6-v2"
    dimensions = DIMENSIONS

    def __init__(self, texts: Sequence[str], questions: Sequence[str]) -> None:
        """Make all vectors.

        Raises:
            MemorandaError: the model, or what runs it, is not there.
        """
        from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - extra `local`

        self._model = model = MiniLM()
        self._texts = dict(zip(texts, model.embed_tokens(texts), strict=True))
        questions = [*questions, *map(str.strip, questions)]  # Some store asks without the spaces.
        made = model.embed_tokens(questions, query=True)
        self._questions = dict(zip(questions, made, strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        return np.stack([each.vector for each in self._found(texts, self._texts)])

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return of each text its vector and those of its tokens."""
        return self._found(texts, self._questions if query else self._texts)

    def _found(self, texts: Sequence[str], first: Mapping[str, EmbeddedText]) -> list[EmbeddedText]:
        return [first.get(t) or self._texts.get(t) or self._questions[t] for t in texts]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the tokens stand."""
        return self._model.token_spans(text)


def run(shared: Path, *, quick: bool) -> None:
    """Print the tables."""
    for name, peer in PEERS.items():
        if not peer.is_installed:
            print(f"\nPeers: {name} is left out, {peer.module} is not installed (extra `peers`).\n")
    with running_server(durable=True) as server:
        speed(server, users=20 if quick else 100, each=1_000, rounds=100 if quick else 400)
        recall(server, shared, conversations=1 if quick else None)


@contextmanager
def opened(server: str, embedder: Embedder) -> Iterator[tuple[Stores, Addresses, Stores]]:
    """Give ours and each peer that is installed, each on a new database, with its address.

    And with them all what only searches: our database once more, ranked in other ways, and those of
    peers, searched on until enough are found.
    """

    def embed(texts: Sequence[str]) -> Numbers:
        rows: Numbers = embedder.embed(texts).tolist()
        return rows

    with ExitStack() as left:
        addresses = {OURS: new_database(server)}
        stores: dict[str, PeerStore] = {
            OURS: left.enter_context(our_store(addresses[OURS], embedder))
        }
        for name, peer in PEERS.items():
            if peer.is_installed:
                addresses[name] = new_database(server)
                stores[name] = left.enter_context(peer.open(addresses[name], embed))
        again: dict[str, PeerStore] = {
            name: left.enter_context(our_store(addresses[OURS], embedder, **how))
            for name, how in RANKINGS.items()
        }
        again |= {
            name: left.enter_context(PEERS[peer].open(f"{addresses[peer]}&{GO_ON}", embed))
            for name, peer in GOING_ON.items()
            if peer in stores
        }
        yield stores, addresses, {OURS: stores[OURS], **stores, **again}


@contextmanager
def fast_loading(address: str) -> Iterator[None]:
    """Let commits wait for no disk, and make indexes of nearest vectors again at the end.

    That is much faster, and nobody measures it.
    """
    with connected(address) as raw:
        raw.execute("ALTER SYSTEM SET synchronous_commit = off")
        raw.execute("SELECT pg_reload_conf()")
        indexes = raw.execute(GRAPHS).fetchall()
        for name, _ in indexes:
            raw.execute(SQL("DROP INDEX {}").format(Identifier(name)))
        yield
        raw.execute("SET maintenance_work_mem = '512MB'")
        for _, definition in indexes:
            raw.execute(definition)
        raw.execute("ALTER SYSTEM RESET synchronous_commit")
        raw.execute("SELECT pg_reload_conf()")


def speed(server: str, users: int, each: int, rounds: int) -> None:
    """Compare searching, adding and disk, with so many texts of each of so many users."""
    said = talk(users * each)
    items = turns(said.texts)
    embedder = TalkVectors([item["content"] for item in items] + list(said.questions))
    with opened(server, embedder) as (stores, addresses, searched):
        for name, store in stores.items():
            with fast_loading(addresses[name]):
                _load(store, items, users)
        size = _vacuumed(addresses)
        title = f"{users:,} users with {each:,} records each"
        _show_searches(title, searched, said, users, rounds)
        _show_adds(title, stores, said, embedder, rounds)
    text = np.mean([len(each.encode()) for each in said.texts])
    rows = [(name, f"{size[name] / len(items):,.0f}") for name in stores]
    note = f"Tables with their indexes. A record has {text:,.0f} bytes of text."
    show(f"Peers: disk, {title}", ("", "bytes a record"), rows, note)


def _load(store: PeerStore, items: Sequence[dict[str, Any]], users: int) -> None:
    """Give each user as many items, and vectors to all."""
    each = len(items) // users
    for number in range(users):
        for first in range(number * each, (number + 1) * each, BATCH):
            store.add_many(f"user{number}", items[first : first + BATCH])
    if isinstance(store, OurStore):
        store.memory.embed_pending()


def _vacuumed(addresses: Addresses) -> dict[str, int]:
    """Let the server count and clean every database; return the bytes of their tables."""
    sizes = {}
    for name, address in addresses.items():
        with connected(address) as raw:
            raw.execute("VACUUM ANALYZE")
            (sizes[name],) = raw.execute(RELATIONS).fetchone() or (0,)
    return sizes


def _show_searches(title: str, stores: Stores, said: Talk, users: int, rounds: int) -> None:
    client: dict[str, list[float]] = {name: [] for name in stores}
    found: dict[str, list[int]] = {name: [] for name in stores}

    def searching(name: str) -> Step:
        def search(round_: int) -> None:
            start = time.process_time()
            question = said.questions[round_ % len(said.questions)]
            hits = stores[name].search(f"user{round_ % users}", question)
            client[name].append(time.process_time() - start)
            found[name].append(len(hits))

        return search

    steps = {name: searching(name) for name in stores}
    first = interleaved(steps, users)
    again = interleaved(steps, rounds)
    ours = again[OURS].median
    rows = [
        (
            name,
            micro(first[name].median),
            micro(again[name].median),
            micro(again[name].p95),
            micro(float(np.median(client[name][users:]))),
            f"{again[name].median / ours:.1f}",
            f"{np.mean(found[name]):.1f}",
        )
        for name in stores
    ]
    note = (
        "Ten hits of one user are asked for. First: of each user in this process. The client's "
        "part is the time of this process's processor; the rest is the server and the way to it. "
        "Goal: 3 at least, with better recall; below, how our memory can rank beside its default. "
        "An index of nearest vectors that knows no users gives fewer hits, unless the server is "
        "told to search on (hnsw.iterative_scan)."
    )
    header = ("", "first, p50", "again, p50", "p95", "client's part, p50", "p50 / ours", "hits")
    show(f"Peers: search, {title}", header, rows, note)


def _show_adds(title: str, stores: Stores, said: Talk, embedder: Embedder, rounds: int) -> None:
    ours = stores[OURS]
    assert isinstance(ours, OurStore)
    texts = [f"{text} [{place}]" for place, text in enumerate(said.texts[: 3 * rounds])]
    parts = [turns(said.texts[:MANY], 10**7 + place * MANY) for place in range(30)]
    embedder.embed([*texts, *(each["content"] for part in parts for each in part)])

    def with_vectors(add: Callable[[], object]) -> None:
        add()
        ours.memory.embed_pending()

    one: dict[str, Step] = {
        name: lambda i, s=store: s.add("user0", texts[i]) for name, store in stores.items()
    }
    many: dict[str, Step] = {
        name: lambda i, s=store: s.add_many("user1", parts[i]) for name, store in stores.items()
    }
    singly, together = interleaved(one, rounds, warm=5), interleaved(many, 10, warm=2)
    ours.memory.embed_pending()
    also = f"{OURS}, and its vectors"
    singly |= interleaved(
        {also: lambda i: with_vectors(lambda: ours.add("user0", texts[-1 - i]))},
        rounds // 2,
        warm=5,
    )
    together |= interleaved(
        {also: lambda i: with_vectors(lambda: ours.add_many("user1", parts[-1 - i]))}, 10, warm=2
    )
    rows = [
        (
            name,
            micro(singly[name].median),
            micro(singly[name].p95),
            micro(together[name].median / MANY),
        )
        for name in (OURS, also, *list(stores)[1:])
    ]
    note = (
        "Each commit waits for the disk. Ours makes vectors in the background, after it has "
        "answered; the second line waits for them. mem0 inserts what one call has one by one."
    )
    header = ("", "one, p50", "p95", f"one of {MANY} in a call, p50")
    show(f"Peers: adding, {title}", header, rows, note)


def recall(server: str, shared: Path, conversations: int | None) -> None:
    """Compare what is found of the evidence for LoCoMo's questions, scored by its evaluator."""
    script = shared / "eval" / "retrieval_eval.py"
    try:
        evaluator = evaluator_of(script)
        corpora = list(evaluator.load_locomo(str(shared / "data"), "turn"))[:conversations]
    except FileNotFoundError as error:
        print(f"\nPeers, recall: left out, {error.filename} is not there.\n")
        return
    try:
        embedder = RealVectors(
            [*(each.text for _, docs, _, _ in corpora for each in docs)],
            [*(each.text for _, _, queries, _ in corpora for each in queries)],
        )
    except MemorandaError as error:
        print(f"\nPeers, recall: left out, {error}\n")
        return
    rows = []
    with opened(server, embedder) as (stores, addresses, searched):
        places = {name: _stored(store, corpora) for name, store in stores.items()}
        places |= dict.fromkeys(RANKINGS, places[OURS])
        places |= {name: places[peer] for name, peer in GOING_ON.items() if peer in stores}
        _vacuumed(addresses)
        for name, store in searched.items():
            scores, seconds = [], []
            for user, docs, queries, _ in corpora:
                ids = [each.id for each in docs]
                for query in queries:
                    start = time.perf_counter()
                    found = store.search(user, query.text)
                    seconds.append(time.perf_counter() - start)
                    order = [places[name][user, each] for each in found]
                    scores.append(evaluator.score(order, ids, query.gold))
            means = [f"{np.mean([each[metric] for each in scores]):.3f}" for metric in METRICS]
            rows.append((name, *means, micro(float(np.median(seconds)))))
    documents = sum(len(docs) for _, docs, _, _ in corpora)
    note = (
        f"{documents:,} turns of {len(corpora)} conversations, {len(scores):,} questions, vectors "
        "of all-MiniLM-L6-v2 for all. Ours is also told who spoke when, and has the vectors of "
        "tokens that the same pass of the model makes."
    )
    show("Peers: recall, LoCoMo", ("", *METRICS, "search, p50"), rows, note)


def _stored(store: PeerStore, corpora: Sequence[Any]) -> dict[tuple[str, str], int]:
    """Store every conversation for a user of its name; return the place of each id in it."""
    places: dict[tuple[str, str], int] = {}
    for user, docs, _, _ in corpora:
        dates: dict[object, datetime] = {}
        items = [item(doc, dates) for doc in docs]
        for first in range(0, len(items), BATCH):
            ids = store.add_many(user, items[first : first + BATCH])
            places |= {(user, each): first + place for place, each in enumerate(ids)}
    if isinstance(store, OurStore):
        store.memory.embed_pending()
    return places

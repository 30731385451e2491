"""Other people's memories on PostgreSQL, and ours, behind the three calls that are compared.

Each is set up as its documentation says, and given the same vectors: they are made beforehand, and
what it takes to look them up is no part that differs. Packages that are missing are left out.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.workload import DIMENSIONS
from memoranda import Memory, Settings
from memoranda.model.ports import Embedder

Numbers = list[list[float]]
Embed = Callable[[Sequence[str]], Numbers]
OURS = "memoranda"


class PeerStore(Protocol):
    """What is compared."""

    def add(self, user: str, text: str) -> None:
        """Store one text of a user."""

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Store texts (``content``, and what else is known) in one call; return their ids."""

    def search(self, user: str, question: str) -> list[str]:
        """Return the ids of the ten best texts of a user."""


class OurStore:
    """A memory for each user, over one store.

    Args:
        memory: of any user.
    """

    def __init__(self, memory: Memory) -> None:
        """Open no user yet."""
        self.memory = memory
        self._faces: dict[str, Memory] = {}

    def face(self, user: str) -> Memory:
        """Return the memory of a user."""
        if user not in self._faces:
            self._faces[user] = self.memory.as_user(user)
        return self._faces[user]

    def add(self, user: str, text: str) -> None:
        """Store one text; its vector comes later."""
        self.face(user).remember(text)

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Store texts in one transaction; their vectors come later."""
        return [record.id for record in self.face(user).remember_many(items)]

    def search(self, user: str, question: str) -> list[str]:
        """Return the ids of the ten best."""
        return [hit.record.id for hit in self.face(user).search(question, limit=10)]


@contextmanager
def our_store(address: str, embedder: Embedder, **retrieval: Any) -> Iterator[OurStore]:
    """Open a memory that depends on no file and no environment, and does nothing by itself."""
    settings = Settings(
        embedding={"background": False},
        consolidation={"automatic": False},
        retrieval=retrieval,
        timezone="UTC",
    )
    with Memory(address, user="nobody", settings=settings, embedder=embedder) as memory:
        yield OurStore(memory)


class PgvectorByHand:
    """One table with an index of users; the nearest of a user are found by comparing all."""

    SCHEMA = f"""
    CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE texts (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_name text NOT NULL,
        content text NOT NULL, metadata jsonb NOT NULL, embedding vector({DIMENSIONS}) NOT NULL
    );
    CREATE INDEX ON texts (user_name);
    """
    INSERT = """
    INSERT INTO texts (user_name, content, metadata, embedding)
    VALUES (%s, %s, %s, %s::vector) RETURNING id
    """
    SEARCH = """
    SELECT id, content, metadata FROM texts WHERE user_name = %s
    ORDER BY embedding <=> %s::vector LIMIT 10
    """

    def __init__(self, connection: psycopg.Connection[Any], embed: Embed) -> None:
        """Create the table."""
        self._connection, self._embed = connection, embed
        connection.execute(self.SCHEMA)

    def add(self, user: str, text: str) -> None:
        """Insert a row."""
        self.add_many(user, [{"content": text}])

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Insert rows in one transaction."""
        vectors = self._embed([item["content"] for item in items])
        rows = [
            (user, item["content"], Jsonb(known(item)), vector)
            for item, vector in zip(items, vectors, strict=True)
        ]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(self.INSERT, rows, returning=True)
            return [str(result.fetchone()[0]) for result in cursor.results()]

    def search(self, user: str, question: str) -> list[str]:
        """Return the ids of the ten nearest."""
        (vector,) = self._embed([question])
        return [str(row[0]) for row in self._connection.execute(self.SEARCH, (user, vector))]


@contextmanager
def by_hand(address: str, embed: Embed) -> Iterator[PeerStore]:
    """Open pgvector by hand."""
    with psycopg.connect(address, autocommit=True) as connection:
        yield PgvectorByHand(connection, embed)


class LangGraphStore:
    """LangGraph's ``PostgresStore``, with a namespace for each user."""

    def __init__(self, store: Any) -> None:
        """Take over a store that was set up."""
        self._store, self._count = store, 0

    def add(self, user: str, text: str) -> None:
        """Put an item."""
        self._count += 1
        self._store.put(("memories", user), str(self._count), {"text": text})

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Put items in one batch."""
        from langgraph.store.base import PutOp  # noqa: PLC0415 - extra `peers`

        keys = [str(self._count + number) for number in range(1, len(items) + 1)]
        self._count += len(items)
        space = ("memories", user)
        values = [{"text": item["content"], **known(item)} for item in items]
        self._store.batch([PutOp(space, *each) for each in zip(keys, values, strict=True)])
        return keys

    def search(self, user: str, question: str) -> list[str]:
        """Return the keys of the ten best."""
        return [item.key for item in self._store.search(("memories", user), query=question)]


@contextmanager
def langgraph(address: str, embed: Embed) -> Iterator[PeerStore]:
    """Open LangGraph's store, which makes an HNSW index."""
    from langgraph.store.postgres import PostgresStore  # noqa: PLC0415 - extra `peers`

    index = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
    with PostgresStore.from_conn_string(address, index=index) as store:
        store.setup()
        yield LangGraphStore(store)


class Mem0Store:
    """mem0's ``Memory`` on pgvector, which stores what it is given: no model reads it before."""

    def __init__(self, memory: Any) -> None:
        """Take over a memory."""
        self._memory = memory

    def add(self, user: str, text: str) -> None:
        """Add a text as it is."""
        self._memory.add(text, user_id=user, infer=False)

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Add messages in one call, which inserts them one by one."""
        said = [{"role": "user", "content": item["content"]} for item in items]
        added = self._memory.add(said, user_id=user, infer=False, metadata=known(items[0]))
        return [each["id"] for each in added["results"]]

    def search(self, user: str, question: str) -> list[str]:
        """Return the ids of the ten best."""
        found = self._memory.search(question, filters={"user_id": user}, top_k=10)
        return [each["id"] for each in found["results"]]


@contextmanager
def mem0(address: str, embed: Embed) -> Iterator[PeerStore]:
    """Open mem0 with its default HNSW index, and with its history in memory, not in a file.

    It compares words, too, in the form that spaCy's en_core_web_sm gives them, where that is.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        logging.getLogger("mem0").setLevel(logging.ERROR)
        from mem0 import Memory as Mem0  # noqa: PLC0415 - extra `peers`

        store = {"connection_string": address, "embedding_model_dims": DIMENSIONS}
        never_asked: dict[str, Any] = {"provider": "openai", "config": {"api_key": "none"}}
        config = {
            "vector_store": {"provider": "pgvector", "config": store},
            "embedder": never_asked,
            "llm": never_asked,
            "history_db_path": ":memory:",
        }
        with closing(Mem0.from_config(config)) as memory:
            memory.vector_store.create_col()
            memory.embedding_model = _mem0_embedder(embed)
            yield Mem0Store(memory)
            memory.vector_store.connection_pool.close()


def _mem0_embedder(embed: Embed) -> Any:
    from mem0.embeddings.base import EmbeddingBase  # noqa: PLC0415 - extra `peers`

    class LookedUp(EmbeddingBase):  # type: ignore[misc]
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            del memory_action
            return embed([text])[0]

        def embed_batch(self, texts: list[str], memory_action: str = "add") -> Numbers:
            del memory_action
            return embed(texts)

    return LookedUp()


class LangChainStore:
    """LangChain's ``PGVectorStore``, with a column for the user."""

    def __init__(self, store: Any) -> None:
        """Take over a store."""
        self._store = store

    def add(self, user: str, text: str) -> None:
        """Add a text."""
        self._store.add_texts([text], [{"user_name": user}])

    def add_many(self, user: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Add texts in one call."""
        about = [{"user_name": user, **known(item)} for item in items]
        added: list[str] = self._store.add_texts([item["content"] for item in items], about)
        return added

    def search(self, user: str, question: str) -> list[str]:
        """Return the ids of the ten best."""
        found = self._store.similarity_search(question, k=10, filter={"user_name": user})
        return [document.id for document in found]


@contextmanager
def langchain(address: str, embed: Embed) -> Iterator[PeerStore]:
    """Open LangChain's store, with an index of users that it does not make itself."""
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415 - extra `peers`
    from langchain_postgres import Column, PGEngine, PGVectorStore  # noqa: PLC0415

    class LookedUp(Embeddings):
        def embed_documents(self, texts: list[str]) -> Numbers:
            return embed(texts)

        def embed_query(self, text: str) -> list[float]:
            return embed([text])[0]

    engine = PGEngine.from_connection_string(address.replace("://", "+psycopg://", 1))
    column = Column("user_name", "TEXT")
    engine.init_vectorstore_table("texts", DIMENSIONS, metadata_columns=[column])
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute("CREATE INDEX ON texts (user_name)")
    yield LangChainStore(
        PGVectorStore.create_sync(engine, LookedUp(), "texts", metadata_columns=["user_name"])
    )


def known(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about a text beside its content, as JSON has it."""
    given = {name: value for name, value in item.items() if name != "content"}
    return {name: value if isinstance(value, str) else str(value) for name, value in given.items()}


class Peer(NamedTuple):
    """A memory to compare with.

    Attributes:
        open: opens it on a database that is empty, or that it has made.
        module: what has to be installed.
        makes_graph: whether it makes an index of nearest vectors, of all users together.
    """

    open: Callable[[str, Embed], AbstractContextManager[PeerStore]]
    module: str
    makes_graph: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether it can be compared with here."""
        root = self.module.partition(".")[0]
        return find_spec(root) is not None and find_spec(self.module) is not None


PEERS: Mapping[str, Peer] = {
    "pgvector by hand": Peer(by_hand, "psycopg"),
    "LangGraph PostgresStore": Peer(langgraph, "langgraph.store.postgres", makes_graph=True),
    "mem0, infer=False": Peer(mem0, "mem0", makes_graph=True),
    "LangChain PGVectorStore": Peer(langchain, "langchain_postgres"),
}

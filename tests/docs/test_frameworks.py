"""The adapters of docs/frameworks.md are as short as they look, and the frameworks take them.

The ADK is imported in its test: every process collects this file, and one runs it.
"""

# ruff: noqa: PLC0415 - as the docstring says

import asyncio

import httpx2
import pytest
from framework_examples import load_example
from langgraph.store.base import BaseStore, SearchOp
from langgraph.store.memory import InMemoryStore
from tables import each_row

from memoranda import AsyncMemory, Memory, Settings


@pytest.fixture
def wordless():
    """Settings without an embedding model."""
    return Settings(embedding={"model": "none"}, timezone="UTC")


@pytest.fixture
def memory(wordless):
    """A memory of an application."""
    return AsyncMemory(":memory:", settings=wordless)


@each_row(
    ("heading", "most"),
    [
        ("Google ADK: a memory service", 40),
        ("LangGraph: a store", 60),
        ("FastAPI: one memory for all requests", 35),
    ],
)
def test_an_adapter_is_short(heading: str, most: int):
    """The whole of it has at most so many lines, its imports among them."""
    assert load_example(heading)[1] <= most


class TestGoogleAdk:
    """The memory service of the Agent Development Kit."""

    def test_sessions_are_found_again(self, memory):
        """By their user in their application alone, each turn once, however often added."""
        from google.adk.events import Event
        from google.adk.memory import BaseMemoryService
        from google.adk.sessions import Session
        from google.genai.types import Content, Part

        def said(author: str, text: str, id: str) -> Event:
            role = "user" if author == "user" else "model"
            return Event(id=id, author=author, content=Content(role=role, parts=[Part(text=text)]))

        example, _ = load_example("Google ADK: a memory service")
        service = example.MemorandaMemoryService(memory)
        assert isinstance(service, BaseMemoryService)
        first = said("user", "My cat is called Schnurri.", "1")
        session = Session(id="s", app_name="app", user_id="ana", events=[first])
        empty = Event(id="2", author="helper")

        async def search(query: str, **who: str) -> list[str]:
            asked = {"app_name": "app", "user_id": "ana"} | who
            found = await service.search_memory(query=query, **asked)
            return [(one.author, one.content.parts[0].text) for one in found.memories]

        async def use() -> None:
            await service.add_session_to_memory(session)
            session.events += [empty, said("helper", "Schnurri is a fine name for a cat.", "3")]
            await service.add_session_to_memory(session)
            assert await search("Schnurri the cat") == [
                ("user", "My cat is called Schnurri."),
                ("helper", "Schnurri is a fine name for a cat."),
            ]
            assert await search("Schnurri", user_id="ben") == []
            assert await search("Schnurri", app_name="other") == []
            found = await service.search_memory(app_name="app", user_id="ana", query="called")
            await service.delete_memory(
                app_name="app", user_id="ana", memory_id=found.memories[0].id
            )
            assert [author for author, _ in await search("Schnurri the cat")] == ["helper"]
            await memory.close()

        asyncio.run(use())


FRUIT = {"name": "pear", "n": 3, "deep": {"a": [1, None]}, "empty": None}


class TestLangGraph:
    """The store of LangGraph, beside LangGraph's own in memory."""

    @pytest.fixture
    def stores(self, wordless):
        """Ours and theirs."""
        with Memory(":memory:", settings=wordless) as memory:
            yield load_example("LangGraph: a store")[0].MemorandaStore(memory), InMemoryStore()

    def test_it_answers_as_theirs_does(self, stores):
        """Values, filters, pages and namespaces are the same, by every call of the base class."""
        told = []
        for store in stores:
            assert isinstance(store, BaseStore)
            answers = []
            for number, place in enumerate([("a", "b"), ("a", "c", "d"), ("e", "b")]):
                store.put(place, "k", FRUIT | {"n": number})
                store.put(place, "other", {"name": "plum", "n": 2.5})
            store.put(("a", "b"), "k", FRUIT)
            store.put(("e", "b"), "other", None)
            store.delete(("e", "b"), "never there")
            answers += [store.get(("a", "b"), key) for key in ("k", "none")]
            for wanted in (
                {"name": "plum"},
                {"n": {"$gte": 2, "$lt": 3}},
                {"n": {"$gt": 2.5}},
                {"name": {"$ne": "plum"}},
                {"name": {"$eq": "pear"}, "n": 3},
                {"empty": None, "n": 2},
                {"deep": {"a": [1, None]}},
            ):
                for prefix in ((), ("a",), ("a", "b"), ("x",)):
                    answers.append(store.search(prefix, filter=wanted))
            answers += [store.search(("a",), limit=2, offset=start) for start in (0, 2, 4)]
            for given in (
                {},
                {"prefix": ("a",)},
                {"suffix": ("b",)},
                {"prefix": ("*", "b")},
                {"max_depth": 1},
                {"max_depth": 2, "limit": 1, "offset": 1},
            ):
                answers.append(store.list_namespaces(**given))
            told.append([plain(answer) for answer in answers])
        assert told[0] == told[1]

    def test_a_query_finds_by_words(self, stores):
        """Below a namespace, with a score; without waiting for the event loop."""
        store, _ = stores
        store.put(("notes",), "1", {"text": "The cat is called Schnurri"})
        store.put(("notes", "more"), "2", {"text": "Buy oat milk"})
        found = asyncio.run(store.abatch([SearchOp(("notes",), query="what is the cat called?")]))
        assert [(item.key, item.score > 0) for item in found[0][:1]] == [("1", True)]
        assert store.search(("notes", "more"), query="cat") == []

    def test_what_has_a_time_to_live_ends(self, stores):
        """It is found until then, and not after it; the first time of writing stays."""
        store, _ = stores
        store.put(("a",), "k", FRUIT, ttl=5)
        first = store.get(("a",), "k")
        store.put(("a",), "k", {"n": 1}, ttl=0.0000001)
        assert (store.get(("a",), "k"), store.search(("a",)), first.value) == (None, [], FRUIT)


def plain(answer: object) -> object:
    """Return an answer of a store without its times, searches in the order of their keys."""
    if isinstance(answer, list) and answer and not isinstance(answer[0], tuple):
        return sorted((item.namespace, item.key, repr(plain(item))) for item in answer)
    if hasattr(answer, "value"):
        return answer.namespace, answer.key, sorted(answer.value.items(), key=repr)
    return answer


class TestFastApi:
    """The application whose requests share one memory."""

    def test_each_user_has_their_own_and_mistakes_are_the_clients(self, monkeypatch, tmp_path):
        """What is added is in the next context, and found by its user alone, until it is erased."""
        monkeypatch.chdir(tmp_path)
        app = load_example("FastAPI: one memory for all requests")[0].app

        async def ask(method: str, path: str, user: str = "ana", **query: str):
            site = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=site, base_url="http://app") as client:
                answer = await client.request(method, path, params=query, headers={"user": user})
            return answer.status_code, answer.json()

        async def use():
            async with app.router.lifespan_context(app):
                assert await ask("POST", "/messages", text="My cat is called Miau.") == (
                    200, [{"role": "user", "content": "My cat is called Miau."}],
                )  # fmt: skip
                _, sent = await ask("POST", "/messages", text="What is it called?")
                assert sent[0]["content"] == "My cat is called Miau."
                assert await ask("GET", "/memories", "ben", query="cat") == (200, [])
                _, (hit, *_) = await ask("GET", "/memories", query="cat")
                assert hit["text"] == "My cat is called Miau."
                assert await ask("DELETE", f"/memories/{hit['id']}") == (200, {"erased": True})
                status, told = await ask("DELETE", f"/memories/{hit['id']}")
                assert (status, "no record" in told["detail"]) == (404, True)
                status, told = await ask("GET", "/memories", query="")
                assert (status, told["detail"]) == (422, "query is empty; give it some text")

        asyncio.run(use())

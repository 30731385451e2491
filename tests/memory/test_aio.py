"""The asynchronous faces: the same verbs, and a loop that is never blocked."""

import asyncio
import inspect
import threading

import pytest
from tables import each_row

from memoranda import AsyncMemory, Conversation, Memory, Settings, errors
from memoranda.aio import AsyncConversation
from memoranda.testing.embedders import HashEmbedder

PATIENCE = 30.0


def public(face):
    """Return the public methods and properties of a class by name."""
    return {
        name: value
        for name, value in inspect.getmembers(face)
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }


def shape(method):
    """Return names, kinds and defaults of a method's parameters."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]


@each_row(
    ("direct", "waiting", "different"),
    # len() cannot be awaited, and only wiring puts a conversation over a transcript.
    [(Memory, AsyncMemory, {"open"}), (Conversation, AsyncConversation, {"count", "over"})],
)
def test_both_faces_have_the_same_verbs_and_arguments(direct, waiting, different):
    """No verb, argument or default is on one face alone."""
    ours, theirs = public(direct), public(waiting)
    assert set(ours) ^ set(theirs) == different
    for name, method in ours.items():
        if callable(method) and name not in different:
            assert shape(method) == shape(theirs[name]), name
    if direct is Memory:
        assert shape(Memory.__init__) == shape(AsyncMemory.__init__)


def test_a_memory_is_used_from_a_loop(tmp_path):
    """Write, find, recall, talk and close, all awaited."""

    async def work():
        async with AsyncMemory(
            tmp_path / "m.db",
            user="ana",
            embedder=HashEmbedder(),
            settings=Settings(timezone="UTC"),
        ) as memory:
            record = await memory.remember("Ana likes jasmine tea", tags=["tea"])
            await memory.remember_many(["one", "two"])
            assert await memory.get(record.id) == record
            assert (await memory.search("jasmine", tags=["tea"]))[0].record == record
            assert "jasmine" in (await memory.recall("tea")).text
            chat = await memory.conversation("c", system="You are kind.")
            await chat.add("user", "Hello there.")
            await chat.extend([{"role": "assistant", "content": "Hi!"}])
            assert await chat.count() == 2
            assert len(await chat.recent(1)) == 1
            context = await chat.context("Which tea?", budget=1_000)
            assert context.tokens <= 1_000
            assert "jasmine" in context.messages[0]["content"]
            new = await memory.correct(record.id, "Ana likes mint tea")
            assert (await memory.forget(new.id, erase=True)).erased
            assert (await memory.stats()).records["fact"] == 2
            bob = memory.as_user("bob")
            assert await bob.search("tea") == []
            with pytest.raises(errors.InvalidInput, match="query is empty"):
                await memory.search("")
        with pytest.raises(errors.StoreClosed):
            await memory.search("tea")

    asyncio.run(work())


def test_the_loop_goes_on_while_a_verb_waits():
    """While a search waits for a model, other tasks of the loop run."""
    entered, released = threading.Event(), threading.Event()

    class Gate(HashEmbedder):
        def embed(self, texts):
            entered.set()
            assert released.wait(PATIENCE)
            return super().embed(texts)

    async def work():
        chosen = Settings(embedding={"background": False})
        async with AsyncMemory(":memory:", embedder=Gate(), settings=chosen) as memory:
            await memory.remember("Ana likes tea")
            search = asyncio.create_task(memory.search("tea"))
            assert await asyncio.to_thread(entered.wait, PATIENCE)
            assert not search.done()
            await asyncio.wait_for(memory.remember("Ana likes coffee"), PATIENCE)
            released.set()
            assert await asyncio.wait_for(search, PATIENCE)

    asyncio.run(work())


@pytest.mark.parametrize("opened", [True, False])
def test_a_memory_of_another_user_is_of_the_moment_it_was_asked_for(tmp_path, opened):
    """Whoever deletes the user after that closes it, though it was never used before."""
    with Memory(tmp_path / "m.db", user="ben") as ben:
        ben.remember("Ben likes tea")

    async def work():
        memory = AsyncMemory(tmp_path / "m.db", user="ana", embedder=HashEmbedder())
        if opened:
            await memory.count()
        ben = memory.as_user("ben")
        assert repr(ben)
        await memory.admin.delete_user("ben")
        with pytest.raises(errors.UserDeleted, match="'ben' was deleted"):
            await ben.remember("Ben is back")
        assert await memory.as_user("ben").count() == 0
        await memory.close()

    asyncio.run(work())

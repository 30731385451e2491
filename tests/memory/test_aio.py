"""The asynchronous faces: the same verbs, and a loop that is never blocked."""

import asyncio
import threading

import pytest

from memoranda import AsyncMemory, Memory, Settings, errors
from memoranda.testing.embedders import HashEmbedder

PATIENCE = 30.0


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


def test_a_memory_of_a_user_who_was_deleted_raises(tmp_path):
    """Whoever used it before begins nothing anew in their name; who asks for it then does."""
    with Memory(tmp_path / "m.db", user="ben") as ben:
        ben.remember("Ben likes tea")

    async def work():
        memory = AsyncMemory(tmp_path / "m.db", user="ana", embedder=HashEmbedder())
        ben = memory.as_user("ben")
        assert repr(ben)
        assert await ben.count() == 1
        await memory.admin.delete_user("ben")
        with pytest.raises(errors.UserDeleted, match="'ben' was deleted"):
            await ben.remember("Ben is back")
        assert await memory.as_user("ben").count() == 0
        await memory.close()

    asyncio.run(work())

"""The store for Strands' memory manager finds what memory has, and keeps each message once."""

import asyncio

import pytest

from memoranda import AsyncMemory, Settings, errors

pytest.importorskip("strands", reason="not installed: pip install 'memoranda[strands-agents]'")

from strands import Agent
from strands.memory import MemoryManager
from strands.memory.extraction.triggers import InvocationTrigger
from strands.memory.types import AddMessagesContext
from strands.models import Model

from memoranda.integrations.strands_agents import MemorandaMemoryStore

PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
CAT = "My cat is called Schnurri."
CALL = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"q": 1}}}
RESULT = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "42"}]}}


def message(role: str, *blocks):
    """Return a message of texts or blocks."""
    return {
        "role": role,
        "content": [{"text": each} if isinstance(each, str) else each for each in blocks],
    }


class Scripted(Model):
    """A model that answers the same each time, and records what it was sent."""

    def __init__(self):
        """Have been sent nothing."""
        self.sent = []

    def update_config(self, **config):
        """Take no settings."""

    def get_config(self):
        """Return that there are none."""
        return {}

    def structured_output(self, *arguments, **named):
        """Make none."""
        raise NotImplementedError

    async def stream(self, messages, *arguments, **named):
        """Yield an answer."""
        del arguments, named
        self.sent.append([block.get("text", "") for each in messages for block in each["content"]])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def used(work):
    """Run ``work`` with a memory, and return what it returns."""

    async def use():
        async with AsyncMemory(":memory:", settings=PLAIN) as memory:
            return await work(memory)

    return asyncio.run(use())


def test_an_agent_is_told_what_an_earlier_one_heard():
    """Its messages are kept after each turn, once, and recalled into the request of another."""

    async def work(memory):
        model = Scripted()
        for session, prompts in (("monday", [CAT, "Thanks."]), ("friday", ["My cat's name?"])):
            store = MemorandaMemoryStore(
                memory, name="notes", session=session, extraction={"trigger": InvocationTrigger()}
            )
            manager = MemoryManager(stores=[store])
            agent = Agent(model=model, plugins=[manager], callback_handler=None)
            for prompt in prompts:
                await agent.invoke_async(prompt)
            await manager.flush()
        kept = await (await memory.conversation("monday")).messages()
        assert [each.content for each in kept] == [CAT, "Noted.", "Thanks.", "Noted."]
        assert any(CAT in text for text in model.sent[-1])

    used(work)


def test_a_message_that_is_tried_again_is_kept_once():
    """By its number in its run; in another run, and without numbers, the same words are new."""

    async def work(memory):
        store = MemorandaMemoryStore(memory, name="notes", session="s")
        said = [message("user", "ok"), message("assistant", CALL), message("user", RESULT)]
        first, more = AddMessagesContext([0, 1, 2]), AddMessagesContext([0, 1, 2, 7])
        await store.add_messages(said, first)
        await store.add_messages([*said, message("assistant", "ok")], more)
        await store.initialize()
        await store.add_messages(said[:1], AddMessagesContext([0]))
        await store.add_messages(said[:1])
        kept = await (await memory.conversation("s")).messages()
        assert [each.content for each in kept] == ["ok", "", "42", "ok", "ok", "ok"]
        assert kept[1].tool_calls[0].name == "look"

    used(work)


def test_facts_are_added_and_found_with_their_metadata():
    """Once, however often; what cannot be used is refused by name."""

    async def work(memory):
        store = MemorandaMemoryStore(memory, name="notes", max_search_results=1)
        added = {await store.add("Ana is vegetarian.", {"source": "form"}) for _ in range(2)}
        await store.add("Ana is a vegetarian cook.")
        (entry,) = await store.search("vegetarian")
        assert len(await store.search("vegetarian", {"max_search_results": 5})) == 2
        assert entry.metadata["score"] > 0
        found = {
            each.metadata["id"]
            for each in await store.search("Ana vegetarian", {"max_search_results": 5})
        }
        assert added <= found
        assert await store.search(" ") == []
        for refused in (
            lambda: MemorandaMemoryStore(memory, name=" "),
            lambda: MemorandaMemoryStore(memory, name="a", max_search_results=0),
        ):
            with pytest.raises(errors.InvalidInput):
                refused()
        closed = MemorandaMemoryStore(memory, name="a", writable=False)
        assert not closed.extraction
        with pytest.raises(errors.InvalidInput, match="writable=True"):
            await closed.add("no")

    used(work)

"""LlamaIndex's memory recalls from ours, and its chat store keeps what its own does."""

import asyncio

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Memory, Settings

pytest.importorskip(
    "llama_index.core", reason="not installed: pip install 'memoranda[llama-index]'"
)

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.memory import Memory as LlamaMemory
from llama_index.core.storage.chat_store import SimpleChatStore
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from memoranda.integrations.llama_index import MemorandaChatStore, MemorandaMemoryBlock

PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
CAT = "My cat is called Schnurri."
CALL = ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"q": 1})
OF_EVERY_KIND = [
    ChatMessage("Grüße 👋 日本語"),
    ChatMessage([TextBlock(text="Let me look."), CALL], role="assistant"),
    ChatMessage("42", role="tool", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage("Be brief.", role="system"),
    ChatMessage("", role="assistant"),
    ChatMessage("Hello.", role="chatbot", additional_kwargs={"n": [1, None]}),
]
MESSAGES = st.sampled_from(OF_EVERY_KIND)
KEYS = st.sampled_from(["a", "b"])
STEP = st.one_of(
    st.tuples(st.just("add_message"), KEYS, MESSAGES),
    st.tuples(st.just("add_message"), KEYS, MESSAGES),
    st.tuples(st.just("set_messages"), KEYS, st.lists(MESSAGES, max_size=4)),
    st.tuples(st.just("get_messages"), KEYS),
    st.tuples(st.just("delete_message"), KEYS, st.integers(0, 4)),
    st.tuples(st.just("delete_messages"), KEYS),
)


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=examples(8))
def test_the_chat_store_does_what_the_simple_one_does(steps):
    """After any steps, messages of any kind come back equal, in order, under their keys."""
    with Memory(":memory:", settings=PLAIN) as memory:
        ours, theirs = MemorandaChatStore(memory=memory), SimpleChatStore()
        for verb, *arguments in steps:
            copies = [list(each) if isinstance(each, list) else each for each in arguments]
            assert getattr(ours, verb)(*arguments) == getattr(theirs, verb)(*copies)
        assert set(ours.get_keys()) == set(theirs.get_keys())
        for key in ours.get_keys():
            assert ours.get_messages(key) == theirs.get_messages(key)


def test_a_buffer_goes_on_in_another_process(tmp_path):
    """With what was said before, and without what was taken back; calls are read as calls."""
    with Memory(tmp_path / "llama.db", settings=PLAIN) as memory:
        store = MemorandaChatStore(memory=memory)
        buffer = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="monday")
        for message in OF_EVERY_KIND[:3]:
            buffer.put(message)
        buffer.put(ChatMessage("Never mind."))
        assert store.delete_last_message("monday") == ChatMessage("Never mind.")
    with Memory(tmp_path / "llama.db", settings=PLAIN) as memory:
        store = MemorandaChatStore(memory=memory)
        buffer = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="monday")
        assert buffer.get_all() == OF_EVERY_KIND[:3]
        _, call, answer = memory.conversation("monday").messages
        assert (call.tool_calls[0].name, answer.tool_result.call_id) == ("look", "c1")


def test_what_was_erased_is_nowhere_in_a_message():
    """Neither in what it says nor in the whole of it that was kept beside."""
    with Memory(":memory:", settings=PLAIN) as memory:
        store = MemorandaChatStore(memory=memory)
        fact = memory.remember("The blue train to Lisbon leaves at nine every day.")
        said = ChatMessage(f"As you said: {fact.content}", role="assistant")
        store.add_message("monday", said)
        memory.forget(fact.id, erase=True)
        assert store.get_messages("monday") == [ChatMessage("[erased]", role="assistant")]


def test_what_left_the_short_term_memory_is_recalled():
    """In its session and in others, as a block of LlamaIndex's memory; what never left, is not."""

    async def use():
        async with AsyncMemory(":memory:", settings=PLAIN) as memory:
            block = MemorandaMemoryBlock(memory=memory)
            engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
            monday, friday = (
                LlamaMemory.from_defaults(
                    session_id=name,
                    token_limit=120,
                    token_flush_size=60,
                    memory_blocks=[block],
                    async_engine=engine,
                )
                for name in ("monday", "friday")
            )
            for text in (CAT, "It sleeps all day.", "Is that fine? " * 20, "And at night? " * 10):
                await monday.aput(ChatMessage(text))
                await monday.aput(ChatMessage("Yes.", role="assistant"))
            kept = [each.content for each in memory._opened().conversation("monday").messages]
            assert kept[0] == CAT
            assert "And at night? " * 10 not in kept
            await friday.aput(ChatMessage("What is my cat called?"))
            told, asked = await friday.aget()
            assert (told.role, asked.role) == ("system", "user")
            assert CAT in told.content
            assert await block.aget([]) == ""
            await engine.dispose()

    asyncio.run(use())

"""The asynchronous faces: the same verbs, and nothing reads a disk on an event loop."""

import asyncio
import inspect
from contextlib import contextmanager

import pytest

from memoranda import AsyncConversation, AsyncMemory, Memory, Settings
from memoranda.aio import AsyncNotes
from memoranda.errors import InvalidInput, StoreClosed
from memoranda.store.sqlite import SqliteConnection
from memoranda.testing.embedders import HashEmbedder

blockbuster = pytest.importorskip("blockbuster", reason="blockbuster is not installed")

SETTINGS = Settings(
    timezone="UTC", consolidation={"automatic": False}, schedule={"in_background": False}
)
# What a verb is given for parameters of these names; for others, where it needs them, a text.
GIVEN = {
    "items": ["Ana likes tea."],
    "event": "remembered",
    "callback": print,
    "role": "user",
    "messages": [{"role": "assistant", "content": "Good."}],
    "marker": "cut_0-0",
    "n": 2,
    "actual": {"input_tokens": 10},
    "tools": [],
    "form": "openai",
}


@contextmanager
def watched():
    """Fail whatever blocks the event loop inside memoranda, a statement of SQLite among it."""
    watch = blockbuster.BlockBuster("memoranda")
    for name in ("all", "run", "run_many"):
        function = blockbuster.BlockBusterFunction(
            SqliteConnection, name, scanned_modules="memoranda"
        )
        watch.functions[f"sqlite.{name}"] = function
    watch.activate()
    try:
        yield
    finally:
        watch.deactivate()


async def call_all(face, folder, id=None):
    """Call every verb of a face but ``close`` once; return their names."""
    kind = type(face)
    names = [name for name in dir(kind) if name[0] != "_" and name != "close"]
    for name in names:
        if isinstance(inspect.getattr_static(kind, name), property):
            getattr(face, name)
            continue
        if isinstance(inspect.getattr_static(kind, name), classmethod):
            continue
        known = GIVEN | {"id": id, "ids": [id]} | dict.fromkeys(("path", "location"), folder / name)
        parameters = inspect.signature(getattr(face, name)).parameters.values()
        given = {
            each.name: known.get(each.name, "tea")
            for each in parameters
            if each.name in known or each.default is each.empty
        }
        try:
            result = getattr(face, name)(**given)
            if inspect.isawaitable(result):
                await result
        except blockbuster.BlockingError as error:
            pytest.fail(f"{kind.__name__}.{name} blocks the event loop: {error}")
        except (ValueError, LookupError):
            pass  # A verb that refuses its arguments was called as well.
    return names


def test_what_blocks_is_noticed(tmp_path):
    """The watch itself sees a file that is opened, and a statement of SQLite."""

    async def work():
        with watched():
            with pytest.raises(blockbuster.BlockingError):
                Memory(tmp_path / "m.db")
            async with AsyncMemory(tmp_path / "m.db", settings=SETTINGS) as memory:
                with pytest.raises(blockbuster.BlockingError):
                    memory._face.records()

    asyncio.run(work())


def test_no_verb_of_the_asynchronous_faces_blocks(tmp_path):
    """Every verb of memory, conversation and notes, called on a loop."""

    async def work():
        with watched():
            opening = await AsyncMemory.open(
                tmp_path / "m.db", settings=SETTINGS, embedder=HashEmbedder()
            )
            async with opening as memory:
                record = await memory.remember("Ana likes jasmine tea.")
                chat = await memory.conversation("trip")
                message = await chat.add("user", "I like tea.")
                names = await call_all(chat, tmp_path, message.id)
                assert {"messages", "count", "add"} <= set(names)
                await call_all(memory.notes, tmp_path)
                names = await call_all(memory, tmp_path, record.id)
                assert {"remember", "search", "tools"} <= set(names)
                for tool in memory.tools():
                    await tool.call("{}")
                other = memory.as_user("bo")
                assert await other.search("tea") == []
                assert isinstance(chat, AsyncConversation)
                assert isinstance(memory.notes, AsyncNotes)

    asyncio.run(work())


def test_a_memory_is_opened_by_its_first_verb(tmp_path):
    """Making one touches nothing; what needs no waiting says that it is not open yet."""

    async def work():
        with watched():
            memory = AsyncMemory(tmp_path / "m.db", settings=SETTINGS)
            assert not (tmp_path / "m.db").exists()
            with pytest.raises(StoreClosed, match="not open yet"):
                memory.tools()
            assert await memory.as_user("bo").records() == []
            assert len(memory.tools()) == 10
            await memory.close()

    asyncio.run(work())


def test_the_handlers_of_mcp_do_not_block(tmp_path):
    """Tools, resources, prompts and completions of a server, each asked for once."""
    pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp import Client  # noqa: PLC0415 - an extra

    from memoranda.mcp.server import build  # noqa: PLC0415
    from memoranda.serving.late import LateMemory  # noqa: PLC0415

    memory = LateMemory(str(tmp_path / "m.db"), user="ana", settings=SETTINGS)
    given = {"query": "tea", "content": "Ana likes tea.", "memory_id": "fact_1", "name": "Ana"}
    given |= {"marker": "cut_0-0"}

    async def work():
        async with Client(build(memory)) as client:
            with watched():
                for tool in (await client.list_tools()).tools:
                    needed = tool.input_schema.get("required", ())
                    result = await client.call_tool(tool.name, {key: given[key] for key in needed})
                    assert "the log of the server" not in result.content[0].text, tool.name
                await client.read_resource("memoranda://notes/MEMORY.md")
                await client.get_prompt("recall", {"question": "what tea?"})

    asyncio.run(work())


def test_a_memory_is_used_from_a_loop(tmp_path):
    """Write, find, talk and close, all awaited; what is wrong is raised as it is."""

    async def work():
        location, embedder = tmp_path / "m.db", HashEmbedder()
        async with AsyncMemory(location, settings=SETTINGS, embedder=embedder) as memory:
            await memory.remember("Ana likes jasmine tea")
            chat = await memory.conversation("c", system="You are kind.")
            await chat.extend([{"role": "user", "content": "Hello there."}])
            assert [message.content for message in await chat.recent(1)] == ["Hello there."]
            context = await chat.context("Which tea?", budget=1_000)
            assert "jasmine" in context.messages[-2]["content"]
            assert await memory.as_user("bob").search("tea") == []
            with pytest.raises(InvalidInput, match="query is empty"):
                await memory.search("")
        with pytest.raises(StoreClosed):
            await memory.search("tea")

    asyncio.run(work())

"""Nothing that is called on an event loop reads a disk there."""

import asyncio
import inspect
from contextlib import contextmanager

import pytest

from memoranda import Agent, AsyncConversation, AsyncMemory, Memory, Settings
from memoranda.aio import AsyncNotes
from memoranda.errors import StoreClosed
from memoranda.store.sqlite import SqliteConnection
from memoranda.testing.embedders import HashEmbedder

blockbuster = pytest.importorskip("blockbuster", reason="blockbuster is not installed")

SETTINGS = Settings(
    timezone="UTC", consolidation={"automatic": False}, schedule={"in_background": False}
)
# What a verb of each face is given; verbs that need nothing are not named.
MEMORY = {
    "remember": ("Ana likes tea.",),
    "remember_many": (["Ana likes tea."],),
    "search": ("tea",),
    "recall": ("tea",),
    "get": ("{id}",),
    "history": ("{id}",),
    "correct": ("{id}", "Ana likes mint tea."),
    "confirm": ("{id}",),
    "update": ("{id}",),
    "forget": ("{id}",),
    "set_context": ("mood", "good"),
    "get_context": ("mood",),
    "entity": ("Ana",),
    "merge_entities": ("Ana", "Ana"),
    "conversation": ("trip",),
    "export": ("{folder}/a.jsonl",),
    "import_": ("{folder}/b.jsonl",),
    "backup": ("{folder}/c.db",),
    "on": ("remembered", print),
    "as_user": ("bo",),
    "delete_conversation": ("gone",),
    "forget_many": (),
}
CONVERSATION = {
    "add": ("user", "I like tea."),
    "extend": ([{"role": "assistant", "content": "Good."}],),
    "recent": (2,),
    "by_role": ("user",),
    "dump": ("openai",),
    "expand": ("cut_0-0",),
    "pin": ("{message}",),
    "remove": ("{message}",),
    "replace": (["{message}"], []),
    "calibrate": ({"input_tokens": 10},),
    "context": ("Which tea?",),
    "on": ("added", print),
}
NOTES = {
    "write_memory": ("# Memory\n",),
    "append_history": ("Deployed.",),
    "append_history_rotated": ("Deployed.",),
    "search": ("Deployed",),
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


def filled(values, known):
    """Return arguments with the ids and folders of this run."""
    return [
        value.format(**known)
        if isinstance(value, str)
        else [item.format(**known) if isinstance(item, str) else item for item in value]
        if isinstance(value, list)
        else value
        for value in values
    ]


async def call_all(face, given, known, *, but=()):
    """Call every verb of a face once; return those that raised what is no fault of blocking."""
    kind = type(face)
    names = [name for name, _ in inspect.getmembers(kind) if name[0] != "_" and name not in but]
    for name in names:
        if isinstance(inspect.getattr_static(kind, name), property):
            getattr(face, name)
            continue
        if isinstance(inspect.getattr_static(kind, name), classmethod):
            continue
        try:
            result = getattr(face, name)(*filled(given.get(name, ()), known))
            if inspect.isawaitable(result):
                await result
        except blockbuster.BlockingError as error:
            pytest.fail(f"{kind.__name__}.{name} blocks the event loop: {error}")
        except (ValueError, LookupError, TypeError):
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


@pytest.mark.parametrize("way", ["entered", "opened"])
def test_no_verb_of_the_asynchronous_faces_blocks(tmp_path, way):
    """Every verb of memory, conversation and notes, called on a loop."""

    async def work():
        location = tmp_path / "m.db"
        with watched():
            if way == "entered":
                opening = AsyncMemory(location, settings=SETTINGS, embedder=HashEmbedder())
            else:
                opening = await AsyncMemory.open(
                    location, settings=SETTINGS, embedder=HashEmbedder()
                )
            async with opening as memory:
                record = await memory.remember("Ana likes jasmine tea.")
                chat = await memory.conversation("trip")
                message = await chat.add("user", "I like tea.")
                known = {"id": record.id, "message": message.id, "folder": str(tmp_path)}
                names = await call_all(chat, CONVERSATION, known)
                assert {"messages", "count", "add"} <= set(names)
                await call_all(memory.notes, NOTES, known)
                names = await call_all(memory, MEMORY, known, but=("close",))
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


def test_an_agent_waits_in_a_thread(tmp_path):
    """The agent is synchronous: in a worker thread it holds up no loop."""

    async def work():
        async with AsyncMemory(tmp_path / "m.db", settings=SETTINGS) as memory:
            with watched():
                agent = await asyncio.to_thread(Agent, memory._face)
                answer = await asyncio.to_thread(agent.process, "I live in Porto.")
                assert answer.text

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

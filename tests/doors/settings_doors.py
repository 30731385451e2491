"""The doors through which a setting is seen: each does the same steps, and returns what it says.

A step is a name with its arguments: ``say`` and ``end`` (a talk), ``remember``, ``ask``,
``recall``, ``keep`` (a record of a kind), ``look`` (the state of the talk), ``figures``,
``upkeep``, ``tools``, and ``wait`` until a function returns. What nobody can do at a door is left
out there. Settings come from the environment alone.
"""

import json

import anyio
from mcp import Client
from typer.testing import CliRunner

from memoranda import Agent, Memory, Settings
from memoranda.cli import app
from memoranda.errors import MemorandaError
from memoranda.mcp.run import make_server


def library(session, steps):
    """Do steps by the verbs of ``Memory`` and ``Conversation``."""
    with Memory() as memory:
        settings = memory.settings
        model = (settings.llm.model or "").partition(":")[2].partition("@")[0] or None
        chat = memory.conversation(session, system=settings.agent.system, model=model)
        verbs = _verbs(chat) | {
            "say": lambda text: [chat.add("user", text), chat.add("assistant", "Noted.")],
            "end": chat.end,
            "remember": memory.remember,
            "keep": lambda kind, text: memory.remember(text, kind=kind),
            "ask": lambda text: [hit.record.content for hit in memory.search(text)],
            "recall": lambda text: memory.recall(text).text,
            "figures": lambda: memory.stats().vectors,
            "upkeep": memory.run_upkeep,
        }
        yield from _done(verbs, steps)


def agent(session, steps):
    """Do steps by talking with an ``Agent``."""
    with Memory() as memory:
        speaker = Agent(memory, session=session, upkeep=True)

        def say(text):
            return speaker.process(text).text

        verbs = _verbs(speaker.chat) | {
            "say": say,
            "end": speaker.end,
            "remember": lambda text: say(f"Remember that {text}"),
            "ask": say,
            "recall": say,
        }
        yield from _done(verbs, steps)


def _verbs(chat):
    return {
        "look": lambda: f"{chat.stats()} {chat.explain().counter} {chat.context().messages}",
        "wait": lambda until: until(),
    }


def _done(verbs, steps):
    for name, *arguments in steps:
        if name in verbs:
            yield str(verbs[name](*arguments))


def mcp(session, steps):
    """Do steps as a client of the server that ``memoranda mcp`` starts."""
    del session
    tools = {
        "remember": ("store_memory", "content"),
        "keep": ("store_memory", "memory_type", "content"),
        "ask": ("search_memories", "query"),
        "recall": ("recall_context", "query"),
        "figures": ("memory_stats",),
        "upkeep": ("memory_stats",),
    }

    async def do(client, name, arguments):
        if name == "wait":
            return await anyio.to_thread.run_sync(*arguments)
        if name == "tools":
            return [tool.name for tool in (await client.list_tools()).tools]
        if name == "look":
            return (await client.read_resource("memoranda://notes/MEMORY.md")).contents[0].text
        tool, *names = tools[name]
        result = await client.call_tool(tool, dict(zip(names, arguments, strict=True)))
        return "".join(part.text for part in result.content)

    async def main():
        server, _ = make_server(Settings())
        known = {*tools, "wait", "tools", "look"}
        async with Client(server) as client:
            return [str(await do(client, *_parted(step))) for step in steps if step[0] in known]

    yield from anyio.run(main)


def _parted(step):
    name, *arguments = step
    return name, arguments


DOORS = {"library": library, "agent": agent, "mcp": mcp}


def visit(door, steps):
    """Do steps at a door, in the session that the first may name; return what the door says.

    Where an error ends it, that is said last.
    """
    told, session = [], "chat"
    if steps[0][0] == "session":
        (_, session), *steps = steps
    try:
        told.extend(DOORS[door](session, steps))
    except MemorandaError as error:
        told.append(str(error))
    return "\n".join(told)


def command(*arguments):
    """Run a command of the command line; return its document."""
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)

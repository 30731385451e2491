"""The tools of the MCP server: what they take, what they return, and how they fail."""

import json
import threading
from datetime import datetime

import anyio
import pytest
from mcp import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_clients import BASIC, FULL, MODES, PATIENCE, Broken, asked, refusal, served, value
from tables import each_row

from memoranda import Settings, errors
from memoranda.mcp.server import build
from memoranda.mcp.tools import told_to_client
from memoranda.serving.late import LateMemory

KINDS = ("conversation", "episode", "fact", "context", "reflection")


@each_row(("which", "expected"), [("basic", BASIC), ("full", FULL)])
def test_the_tools_are_these(which, expected):
    """``basic`` serves the three tools of seed 001 alone, ``full`` all; each is described."""

    async def main():
        settings = Settings(mcp={"tools": which})
        async with Client(build(LateMemory(None, "ana", settings))) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(main)
    assert {each.name: set(each.input_schema["properties"]) for each in tools} == expected
    for tool in tools:
        hints = tool.annotations.model_dump(exclude={"title"})
        assert tool.title
        assert tool.description
        assert None not in hints.values(), tool.name
        assert hints["open_world_hint"] is False
        assert hints["read_only_hint"] == (
            tool.name.startswith(("search", "recall", "get", "expand")) or "stats" in tool.name
        )
        # A client asks before forgetting and correcting, and not before the rest.
        assert hints["destructive_hint"] == (tool.name in {"forget_memory", "correct_fact"})
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
        assert all("description" in each for each in tool.input_schema["properties"].values())


@each_row("mode", MODES)
def test_the_three_tools_return_what_s1_says(mode):
    """store, search and forget have the results of the requirement, and fields beside them."""

    async def work(client):
        assert client.protocol_version == MODES[mode]
        kept = await value(
            client, "store_memory", content="Ana trinkt Grüntee 🍵", metadata={"category": "diet"}
        )
        found = await client.call_tool("search_memories", {"query": "was trinkt Ana?"})
        gone = await value(client, "forget_memory", memory_id=kept["id"])
        left = await value(client, "search_memories", query="Grüntee")
        return kept, found, gone, left

    kept, found, gone, left = asked(work, mode=mode)
    assert set(kept) >= {"id", "content", "type", "created_at"}
    assert (kept["content"], kept["type"]) == ("Ana trinkt Grüntee 🍵", "fact")
    assert datetime.fromisoformat(kept["created_at"]).tzinfo is not None
    (hit,) = found.structured_content["result"]
    assert hit.items() >= {**kept, "access_count": hit["access_count"]}.items()
    assert hit["metadata"] == {"category": "diet"}
    assert 0 < hit["score"] <= 1
    # A client that knows no structured content reads the same from the text, a list as a list.
    assert json.loads(found.content[0].text) == [hit]
    assert "Grüntee 🍵" in found.content[0].text
    assert (gone["success"], gone["id"], gone["records"]) == (True, kept["id"], 1)
    assert left == {"result": []}


def test_the_names_of_types_are_those_of_s1():
    """An episode is a conversation to clients; ``episode`` is understood, and a type filters."""

    async def work(client):
        async def found(kind):
            told = await value(client, "search_memories", query="tea", memory_type=kind)
            return [each["type"] for each in told["result"]]

        for kind in ("conversation", "fact", "context"):
            await value(client, "store_memory", content=f"tea, as {kind}", memory_type=kind)
        return [await found(kind) for kind in KINDS]

    types = asked(work)
    assert types == [["conversation"], ["conversation"], ["fact"], ["context"], []]


def test_forgetting_what_is_not_there_is_no_error():
    """An unknown id is told as ``success: false``, as in seed 001."""

    async def work(client):
        return await value(client, "forget_memory", memory_id="fact_none")

    assert asked(work) == {"success": False, "id": "fact_none"}


@each_row("mode", MODES)
def test_a_wrong_call_is_told_what_is_wrong(mode):
    """It is an error of the tool that names value and remedy, and the session goes on."""
    query = {"query": "x"}
    rows = [
        (
            "search_memories",
            query | {"limit": 0},
            "limit: Input should be greater than or equal to 1",
        ),
        ("search_memories", {}, "search_memories: query: Missing required"),
        ("search_memories", query | {"kind": "fact"}, "kind: Unexpected keyword argument"),
        ("search_memories", {"query": " "}, "query is empty"),
        ("search_memories", query | {"since": "spring"}, "since='spring' is not a time"),
        ("search_memories", query | {"until": "May"}, "write it as 2025-03-31 or"),
        ("search_memories", query | {"tags": [""]}, "a tag is empty"),
        (
            "store_memory",
            {"content": "x", "memory_type": "dream"},
            "should be 'conversation', 'fact'",
        ),
        ("store_memory", {"content": "a\0b"}, "NUL character at position 1"),
        ("confirm_fact", {"memory_id": "fact_none"}, "there is no fact 'fact_none'"),
        ("correct_fact", {"memory_id": "ep_1", "content": "x"}, "an id that begins with fact_"),
        ("dream", {}, "tool='dream' is unknown"),
    ]

    async def work(client):
        for tool, arguments, told in rows:
            said = await refusal(client, tool, **arguments)
            assert told in said, (tool, arguments)
            assert "pydantic" not in said
        await value(client, "memory_stats")

    asked(work, mode=mode)


@each_row("which", ["basic", "full"])
def test_older_names_of_tools_are_understood(which):
    """Seed 004 calls two of them search_memory and remember_fact."""

    async def work(client):
        kept = await value(client, "remember_fact", content="Ana is vegan")
        return kept, await value(client, "search_memory", query="vegan")

    kept, found = asked(work, tools=which)
    assert found["result"][0]["id"] == kept["id"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errors.StoreUnreachable("10.0.0.7 is away"), "the memory cannot be reached now; try"),
        (errors.ConfigError("no role 'inner'"), "the memory failed; what went"),
        (errors.InvalidInput("id is empty"), "id is empty"),
    ],
)
def test_a_client_with_a_token_learns_nothing_of_the_machine(error, told, caplog):
    """What concerns its arguments it is told; of the storage, only whether to try again."""
    assert told_to_client(error) == str(error)
    token = AccessToken(token="t", client_id="ben", scopes=[], subject="ben")  # noqa: S106
    undo = auth_context_var.set(AuthenticatedUser(token))
    try:
        assert told_to_client(error).startswith(told)
    finally:
        auth_context_var.reset(undo)
    assert (str(error) in caplog.text) == (not isinstance(error, errors.InvalidInput))


def test_what_nobody_expected_is_logged_and_not_told(caplog):
    """The client hears that it failed, the log why, and the session goes on."""

    async def work(client):
        said = [await refusal(client, "memory_stats") for _ in range(2)]
        return said, await client.list_tools()

    for mode in MODES:
        said, _ = asked(work, mode=mode, memory=served(memory=Broken))
        assert said == ["memory_stats failed; what went wrong is in the log of the server"] * 2
        assert "inside None" in caplog.text
        caplog.clear()


class Meeting(LateMemory):
    """A memory that answers a call only when there is a second one."""

    both = threading.Barrier(2)

    def of(self, user=None):
        """Wait for the other call."""
        self.both.wait(PATIENCE)
        return super().of(user)


@each_row("mode", MODES)
def test_calls_of_one_session_run_side_by_side(mode):
    """A call that waits keeps no other of its session from being answered."""

    async def work(client):
        async with anyio.create_task_group() as calls:
            for content in ("one", "two"):
                calls.start_soon(client.call_tool, "store_memory", {"content": content})

    asked(work, mode=mode, memory=served(memory=Meeting))

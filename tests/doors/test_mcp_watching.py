"""What the MCP server tells without being asked again: changes, failures; and completion."""

import pytest
from mcp import MCPError
from mcp_clients import MODES, Ear, asked, refusal, served, value, watching
from mcp_types import (
    EmptyResult,
    PromptReference,
    ResourceTemplateReference,
    SetLevelRequest,
    SetLevelRequestParams,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)
from tables import each_row

from memoranda.mcp import watching as door
from memoranda.serving.late import LateMemory

NOTES = "memoranda://notes/MEMORY.md"


@each_row("mode", MODES)
def test_who_watches_hears_of_each_change(mode):
    """The notes and a record are told when a call has changed them, and nothing else is."""
    ear = Ear()

    async def work(client):
        kept = await value(client, "store_memory", content="Ana is vegetarian")
        record = f"memoranda://records/{kept['id']}"
        async with watching(client, NOTES, record):
            await value(client, "search_memories", query="vegetarian")
            await value(client, "forget_memory", memory_id="fact_none")
            await refusal(client, "confirm_fact", memory_id="fact_none")
            new = await value(client, "correct_fact", memory_id=kept["id"], content="Ana is vegan")
            await ear.until(record)
        return new, record

    new, record = asked(work, mode=mode, message_handler=ear)
    assert new["supersedes"] in record
    assert ear.heard == [NOTES, record]


def test_who_does_not_watch_any_more_hears_nothing():
    """After unsubscribing, a change is told of what is still watched alone."""
    ear = Ear()

    async def work(client):
        kept = await value(client, "store_memory", content="Ana is vegetarian")
        record = f"memoranda://records/{kept['id']}"
        async with watching(client, NOTES, record):
            request = UnsubscribeRequest(params=UnsubscribeRequestParams(uri=NOTES))
            await client.session.send_request(request, EmptyResult)
            await value(client, "confirm_fact", memory_id=kept["id"])
            await ear.until(record)
        return record

    record = asked(work, mode="legacy", message_handler=ear)
    assert ear.heard == [record]


def test_a_session_cannot_watch_without_end(monkeypatch):
    """Beyond so many resources it is told to unsubscribe; one that it watches counts once."""
    monkeypatch.setattr(door, "MOST_URIS", 2)

    async def work(client):
        async with watching(client, "a:1", "a:2", "a:1"):
            request = SubscribeRequest(params=SubscribeRequestParams(uri="a:3"))
            with pytest.raises(MCPError, match="can watch 2 resources; unsubscribe"):
                await client.session.send_request(request, EmptyResult)

    asked(work, mode="legacy")


class Broken(LateMemory):
    """A memory that fails as no memory should."""

    def of(self, user=None):
        """Fail."""
        message = f"inside {user}"
        raise ZeroDivisionError(message)


@each_row(("mode", "level"), [("legacy", "info"), ("auto", "error")])
def test_who_asks_for_the_log_hears_that_a_call_failed(mode, level):
    """A client that sets a level hears of an unexpected failure, and nothing of what is inside."""
    ear = Ear()

    async def work(client):
        if mode == "legacy":
            await set_level(client, level)
        said = await refusal(client, "memory_stats")
        await ear.until(("error", said))

    named = {"log_level": level} if mode == "auto" else {}
    asked(work, mode=mode, memory=served(memory=Broken), message_handler=ear, **named)
    assert ear.heard == [
        ("error", "memory_stats failed; what went wrong is in the log of the server")
    ]


async def set_level(client, level):
    """Ask for a log from ``level`` on, as the revisions with a handshake have it."""
    request = SetLevelRequest(params=SetLevelRequestParams(level=level))
    await client.session.send_request(request, EmptyResult)


@each_row(("mode", "level"), [("legacy", None), ("legacy", "alert"), ("auto", None)])
def test_who_does_not_ask_for_the_log_hears_nothing(mode, level):
    """Without a level, or with one above errors, a failure is the answer to the call alone."""
    ear = Ear()

    async def work(client):
        if level:
            await set_level(client, level)
        await refusal(client, "memory_stats")
        await client.list_tools()

    asked(work, mode=mode, memory=served(memory=Broken), message_handler=ear)
    assert ear.heard == []


@each_row("mode", MODES)
def test_the_id_of_a_memory_is_completed_from_words(mode):
    """Words that find a memory complete its id; an unknown argument has no completions."""

    async def work(client):
        kept = await value(client, "store_memory", content="Ana is vegetarian")
        await value(client, "store_memory", content="Ben plays chess")
        record = ResourceTemplateReference(uri="memoranda://records/{id}")
        tried = [(record, "vegetarian"), (record, " "), (PromptReference(name="recall"), "veg")]
        found = [await client.complete(ref, {"name": "id", "value": text}) for ref, text in tried]
        with pytest.raises(MCPError, match="NUL character"):
            await client.complete(record, {"name": "id", "value": "a\0b"})
        return kept["id"], [each.completion.values for each in found]

    expected, found = asked(work, mode=mode)
    assert found == [[expected], [], []]

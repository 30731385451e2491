"""Resources and prompts of the MCP server."""

import json

import pytest
from mcp import MCPError
from mcp_clients import MODES, asked, served, value
from mcp_types import INVALID_PARAMS
from tables import each_row


async def text(client, uri):
    """Return the text of a resource, which must be of the type that is listed."""
    (content,) = (await client.read_resource(uri)).contents
    listed = {each.uri: each.mime_type for each in (await client.list_resources()).resources}
    assert content.mime_type == listed.get(uri, "application/json")
    return content.text


async def failure(call):
    """Return the protocol's error of a request that must fail."""
    with pytest.raises(MCPError) as caught:
        await call
    return caught.value


@pytest.mark.parametrize("mode", MODES)
def test_the_notes_are_a_resource(mode, tmp_path):
    """MEMORY.md says what is known, as soon as it is known."""

    async def work(client):
        before = await text(client, "memoranda://notes/MEMORY.md")
        await value(client, "store_memory", content="Ana is vegetarian")
        history = await text(client, "memoranda://notes/HISTORY.md")
        return before, history, await text(client, "memoranda://notes/MEMORY.md")

    before, history, after = asked(work, mode=mode, memory=served(tmp_path / "a.db"))
    assert (before, history) == ("", "")
    assert "- Ana is vegetarian\n" in after


def test_the_newest_insight_is_a_resource(tmp_path):
    """The weekly insight is empty until there is one, then the newest."""
    memory = served(tmp_path / "a.db")
    direct = memory.of().memory

    async def work(client):
        before = await text(client, "memoranda://insight/weekly")
        for each in ("An older week", "Ana is busy with Lisbon"):
            direct.remember(each, kind="reflection")
        return before, await text(client, "memoranda://insight/weekly")

    assert asked(work, memory=memory) == ("", "Ana is busy with Lisbon")


@each_row("mode", MODES)
def test_a_record_is_a_resource(mode):
    """A record is read by its id with its source, and listed as a template."""

    async def work(client):
        kept = await value(client, "store_memory", content="Ana is vegetarian")
        record = json.loads(await text(client, f"memoranda://records/{kept['id']}"))
        return kept, record, (await client.list_resource_templates()).resource_templates

    kept, record, templates = asked(work, mode=mode)
    assert record.items() >= kept.items()
    assert record["confidence"] == 1.0
    assert [each.uri_template for each in templates] == ["memoranda://records/{id}"]


@each_row("mode", MODES)
def test_what_is_not_there_is_the_protocols_error(mode):
    """An unknown, forgotten or impossible id, an unknown resource and prompt: invalid params."""

    async def work(client):
        kept = await value(client, "store_memory", content="Ana is vegetarian")
        await value(client, "forget_memory", memory_id=kept["id"])
        ids = ("none", kept["id"], "%20", "..", "%00")
        uris = [f"memoranda://records/{each}" for each in ids] + ["memoranda://nothing"]
        found = [await failure(client.read_resource(uri)) for uri in uris]
        found.append(await failure(client.get_prompt("dream")))
        found.append(await failure(client.get_prompt("recall", {})))
        found.append(await failure(client.get_prompt("recall", {"question": " "})))
        await value(client, "memory_stats")
        return found

    found = asked(work, mode=mode)
    assert [each.code for each in found] == [INVALID_PARAMS] * 9
    assert found[0].message == "there is no memory 'none'"


@each_row("mode", MODES)
def test_the_prompts_are_these(mode):
    """``recall`` puts memory before a question; the other asks to store what matters."""

    async def work(client):
        await value(client, "store_memory", content="Ana is vegetarian")
        listed = (await client.list_prompts()).prompts
        recall = await client.get_prompt("recall", {"question": "What does Ana eat?"})
        keep = await client.get_prompt("remember_this_session")
        return listed, recall, keep

    listed, recall, keep = asked(work, mode=mode)
    assert {each.name: each.title for each in listed} == {
        "recall": "Recall",
        "remember_this_session": "Remember this session",
    }
    (argument,) = listed[0].arguments
    assert (argument.name, argument.required) == ("question", True)
    assert argument.description
    told = recall.messages[0].content.text
    assert "Ana is vegetarian\n</memoranda-memory>\n\nWhat does Ana eat?" in told
    assert "store_memory" in keep.messages[0].content.text

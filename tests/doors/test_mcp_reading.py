"""What the MCP server gives besides its tools: resources and prompts."""

import json

import pytest
from mcp import MCPError
from mcp_clients import MODES, asked, served, value
from mcp_types import INVALID_PARAMS
from tables import each_row

NOTES = "memoranda://notes/MEMORY.md"
HISTORY = "memoranda://notes/HISTORY.md"
WEEKLY = "memoranda://insight/weekly"


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


async def stored(client, content="Ana is vegetarian"):
    """Store a memory; return it, and where it is a resource."""
    kept = await value(client, "store_memory", content=content)
    return kept, f"memoranda://records/{kept['id']}"


@each_row("mode", MODES)
def test_what_is_known_is_a_resource_as_soon_as_it_is_known(mode):
    """MEMORY.md and HISTORY.md, the newest insight, and each record with its source by its id."""
    memory = served()
    direct = memory.of()

    async def work(client):
        before = [await text(client, uri) for uri in (NOTES, HISTORY, WEEKLY)]
        kept, uri = await stored(client)
        for each in ("An older week", "Ana is busy with Lisbon"):
            direct.remember(each, kind="reflection")
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["memoranda://records/{id}"]
        after = [await text(client, each) for each in (NOTES, WEEKLY, uri)]
        return before, kept, after

    before, kept, (notes, insight, record) = asked(work, mode=mode, memory=memory)
    assert before == [""] * 3
    assert "- Ana is vegetarian\n" in notes
    assert insight == "Ana is busy with Lisbon"
    assert json.loads(record).items() >= (kept | {"confidence": 1.0}).items()


def test_notes_are_told_without_secrets():
    """What a person had kept stands in MEMORY.md, and is masked for a model."""
    memory = served()
    secret = "sk-proj-abcDEF1234567890abcDEF1234567890abcdef"  # noqa: S105 - made up
    memory.of().remember(f"My API key is {secret} for the weather")
    memory.of().remember("Ana likes tea")
    told = asked(lambda client: text(client, NOTES), memory=memory)
    assert secret not in told
    assert "Ana likes tea" in told


@each_row("mode", MODES)
def test_tools_name_the_pages_that_show_their_results(mode):
    """Each page is whole, whatever the client announced, and may ask no machine for anything."""

    async def work(client):
        tools = {each.name: each.meta for each in (await client.list_tools()).tools}
        places = {each["ui"]["resourceUri"] for each in tools.values() if each and "ui" in each}
        pages = [(await client.read_resource(each)).contents[0] for each in sorted(places)]
        return tools["memory_stats"], sorted(places), pages, client.server_capabilities.extensions

    plain, places, pages, extensions = asked(work, mode=mode)
    assert plain is None
    assert places == ["ui://memoranda/record", "ui://memoranda/search"]
    assert "io.modelcontextprotocol/ui" in (extensions or {}) or mode == "legacy"
    for page in pages:
        assert page.mime_type == "text/html;profile=mcp-app"
        assert page.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
        assert not [
            each for each in ("http:", "https:", "src=", "<link", "url(") if each in page.text
        ]


@each_row("mode", MODES)
def test_what_is_not_there_is_the_protocols_error(mode):
    """An unknown, forgotten or impossible id, an unknown resource and prompt: invalid params."""

    async def work(client):
        kept, _ = await stored(client)
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
        await stored(client)
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

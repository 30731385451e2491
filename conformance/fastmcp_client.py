"""FastMCP's client: requests come as lines of JSON, and their results leave so.

The one argument says in JSON which ``version`` of the protocol is wanted, and the ``url`` or the
``command``, ``args`` and ``env`` of the server.
"""

import json
import sys
from typing import Any

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

LISTS = {
    "tools/list": ("tools", Client.list_tools),
    "resources/list": ("resources", Client.list_resources),
    "resources/templates/list": ("resourceTemplates", Client.list_resource_templates),
    "resources/read": ("contents", Client.read_resource),
    "prompts/list": ("prompts", Client.list_prompts),
}


def dumped(value: Any) -> dict[str, Any]:
    """Return what came, as JSON has it."""
    dump: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dump


async def answer(client: Client[Any], method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request, in the protocol's form."""
    if method == "tools/call":
        result = await client.call_tool(**params)
        content = [dumped(each) for each in result.content]
        return {"content": content, "structuredContent": result.structured_content}
    if method == "prompts/get":
        return dumped(await client.get_prompt(**params))
    name, ask = LISTS[method]
    return {name: [dumped(each) for each in await ask(client, **params)]}


async def main() -> None:
    """Connect, say in which version, and pass on requests until there are no more."""
    given = json.loads(sys.argv[1])
    version = given.pop("version")
    target = given["url"] if "url" in given else StdioTransport(**given, keep_alive=False)
    async with Client(target, mode=version or "legacy") as client:
        print(json.dumps(client.protocol_version), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            print(json.dumps(await answer(client, *json.loads(line))), flush=True)


anyio.run(main)

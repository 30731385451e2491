"""The official Python client: requests come as lines of JSON, and their results leave so.

The one argument says in JSON which ``version`` of the protocol is wanted, and the ``url`` or the
``command``, ``args`` and ``env`` of the server.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters

METHODS = {
    "tools/list": Client.list_tools,
    "tools/call": Client.call_tool,
    "resources/list": Client.list_resources,
    "resources/templates/list": Client.list_resource_templates,
    "resources/read": Client.read_resource,
    "prompts/list": Client.list_prompts,
    "prompts/get": Client.get_prompt,
}


async def main() -> None:
    """Connect, say in which version, and pass on requests until there are no more."""
    given = json.loads(sys.argv[1])
    version = given.pop("version")
    target = given["url"] if "url" in given else StdioServerParameters(**given)
    async with Client(target, mode=version or "legacy") as client:
        print(json.dumps(client.protocol_version), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            method, params = json.loads(line)
            result = await METHODS[method](client, **params)
            print(result.model_dump_json(by_alias=True, exclude_none=True), flush=True)


anyio.run(main)

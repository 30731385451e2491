"""The configurations in docs/mcp.md are of the form of each client, and start the server."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_clients import FULL, environment

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
COMMANDS = re.findall(r"^claude mcp add .*$", PAGE, re.MULTILINE)
HEADINGS = ["Claude Desktop", "Claude Code", "Cursor", "VS Code"]


def entries():
    """Yield what each configuration says of the server; the root is that of its client."""
    for block in BLOCKS:
        (servers,) = (block[root] for root in ("mcpServers", "servers") if root in block)
        assert set(block) <= {"mcpServers"} or set(block) <= {"servers", "inputs"}
        yield servers["memoranda"]


def starts():
    """Return the commands and environments by which the page starts the server."""
    found = [(each["command"], *each["args"]) for each in entries() if "command" in each]
    for line in COMMANDS:
        _, dashes, rest = line.partition(" -- ")
        if dashes:
            found.append(tuple(shlex.split(rest)))
    return list(dict.fromkeys(found))


def test_every_client_has_its_configuration():
    """There is one for each client, and one with a token for each form of file."""
    assert all(f"### {name}\n" in PAGE for name in HEADINGS)
    assert len([each for each in entries() if "command" in each]) == len(HEADINGS)
    remote = [each for each in entries() if "url" in each]
    assert [each["type"] for each in remote] == ["http", "http"]
    assert all(each["headers"]["Authorization"].startswith("Bearer ${") for each in remote)


def test_the_commands_of_claude_code_are_of_its_form():
    """Options come before the name, and the server's own command after two dashes."""
    assert len(COMMANDS) == 2
    form = r"claude mcp add (--scope user memoranda -- memoranda mcp .*|"
    form += r"--transport http memoranda http://127\.0\.0\.1:8000/mcp)"
    assert all(re.fullmatch(form, each) for each in COMMANDS)


def test_the_server_starts_as_they_say(tmp_path):
    """Each command starts a server that a client can use, found on its path."""
    folder = str(Path(sys.executable).parent)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    found = {}

    async def begin(start):
        place = tmp_path / str(starts().index(start))
        place.mkdir()
        server = StdioServerParameters(
            command=start[0], args=list(start[1:]), env=environment(place, PATH=path), cwd=place
        )
        async with Client(server) as client:
            found[start] = {each.name for each in (await client.list_tools()).tools}

    async def main():
        async with anyio.create_task_group() as servers:
            for start in starts():
                servers.start_soon(begin, start)

    anyio.run(main)
    assert len(found) > 1
    assert found == {start: set(FULL) for start in starts()}

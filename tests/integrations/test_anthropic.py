"""Anthropic's memory tool on a memory answers as the SDK's own on a folder, whatever is asked."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Memory, Settings

pytest.importorskip("memoranda.integrations.anthropic", reason="anthropic is not installed")

from anthropic import Anthropic, __version__
from anthropic.lib.tools import ToolError, _beta_builtin_memory_tool

from memoranda.integrations.anthropic import AnthropicMemoryTool, AsyncAnthropicMemoryTool

WORDLESS = Settings(embedding={"model": "none"})
ENDS = ["", "/", "/a.md", "/b", "/b/c.md", "/b/c/d.md", "/b/e/f/g.md", "/.h", "/b/../a.md", "/.."]
PATH = st.sampled_from([f"/memories{end}" for end in ENDS] + ["/a.md"])
TEXT = st.text("ab\n ", max_size=8)
NUMBER = st.integers(-1, 4)


def command(name: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Return how a model calls the tool."""
    return st.fixed_dictionaries({"command": st.just(name), **fields})


STEP = st.one_of(
    command("view", path=PATH),
    command("view", path=PATH, view_range=st.tuples(NUMBER, NUMBER) | st.lists(NUMBER, max_size=3)),
    command("create", path=PATH, file_text=TEXT),
    command("str_replace", path=PATH, old_str=TEXT, new_str=TEXT),
    command("insert", path=PATH, insert_line=NUMBER, insert_text=TEXT),
    command("delete", path=PATH),
    command("rename", old_path=PATH, new_path=PATH),
)


def answer(tool, step: dict) -> str:
    """Return what a tool says, without the sizes of a listing: those of folders differ."""
    try:
        said = tool.call(step)
    except ToolError as error:
        said = f"error: {error}"
    if said.startswith("Here're"):
        return "\n".join(line.partition("\t")[2] or line for line in said.splitlines())
    return said


@pytest.fixture(scope="module")
def memory():
    """A memory in which each example has a namespace of its own."""
    with Memory(":memory:", settings=WORDLESS) as opened:
        yield opened


def remove_empty_folders(root: Path) -> None:
    """Leave the folders that a memory would have, too: those in which files are."""
    for folder in sorted((each for each in root.rglob("*") if each.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


@pytest.mark.skipif(
    tuple(map(int, __version__.split(".")[:2])) < (2, 8),
    reason="the tool of this version let /memories itself be deleted",
)
@given(text=TEXT, steps=st.lists(STEP, max_size=20))
@settings(max_examples=examples(25))
def test_it_answers_as_the_tool_on_a_folder(memory, text, steps):
    """To the letter, errors too; that a path be a file and a folder at once is refused."""
    with tempfile.TemporaryDirectory() as place:
        theirs = _beta_builtin_memory_tool.BetaLocalFilesystemMemoryTool(place)
        ours = AnthropicMemoryTool(memory, ("files", Path(place).name))
        paths = ("/memories/a.md", "/memories/b/c.md", "/memories/.h")
        first = [{"command": "create", "path": path, "file_text": text} for path in paths]
        for step in [*first, *steps]:
            try:
                expected = answer(theirs, step)
            except OSError:
                assert answer(ours, step).startswith("error: ")
                break
            remove_empty_folders(theirs.memory_root)
            assert answer(ours, step) == expected
        kept = [each for each in theirs.memory_root.rglob("*") if each.is_file()]
        names = {str(each.relative_to(theirs.memory_root)): each.read_bytes() for each in kept}
        assert {e.path: e.content.encode() for e in ours.files.list_files()} == names


def test_what_cannot_be_kept_is_said_to_the_model(memory):
    """A path or a text that a memory refuses is an error of the tool, with its reason."""
    tool = AnthropicMemoryTool(memory, cache_control={"type": "ephemeral"})
    assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}
    for path, text, reason in (
        ("/memories/a\x07", "text", "control character"),
        ("/memories/a.md", "x" * 100_001, "100,001 bytes"),
        ("/memories2/a.md", "text", "must start with /memories"),
    ):
        with pytest.raises(ToolError, match=reason):
            tool.call({"command": "create", "path": path, "file_text": text})
    assert tool.clear_all_memory() == "All memory cleared"


def test_the_asynchronous_tool_is_the_same():
    """It keeps its files where the other one does; all of them can be cleared."""

    async def use() -> None:
        async with AsyncMemory(":memory:", settings=WORDLESS) as memory:
            tool = AsyncAnthropicMemoryTool(memory)
            done = {"command": "create", "path": "/memories/b/a.md", "file_text": "one"}
            assert "created" in await tool.call(done)
            assert (await memory.files().read("b/a.md")).content == "one"
            with pytest.raises(ToolError, match="already exists"):
                await tool.call(done)
            listing = await tool.call({"command": "view", "path": "/memories"})
            assert listing.splitlines()[1:] == [
                "3B\t/memories",
                "3B\t/memories/b/",
                "3B\t/memories/b/a.md",
            ]
            await tool.clear_all_memory()
            assert await memory.files().list_files() == []

    asyncio.run(use())


def test_the_runner_of_the_sdk_calls_it(memory):
    """What Claude asks for is done, and what cannot be done is told to it as an error."""
    httpx2 = pytest.importorskip("httpx2", reason="this version of anthropic is on httpx")
    create = {"command": "create", "path": "/memories/a.md", "file_text": "tea"}
    asked = iter([create, create, None])
    told = []

    def answer(request):
        told.append(json.loads(request.content)["messages"][-1]["content"])
        step = next(asked)
        use = {"type": "tool_use", "id": f"t{len(told)}", "name": "memory", "input": step}
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5-5",
            "content": [use if step else {"type": "text", "text": "Done."}],
            "stop_reason": "tool_use" if step else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=message)

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    with Anthropic(api_key="none", http_client=transport) as client:
        client.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=100,
            messages=[{"role": "user", "content": "Remember that I drink tea."}],
            tools=[AnthropicMemoryTool(memory, ("files", "runner"))],
        ).until_done()
    assert memory.files(("files", "runner")).read("a.md").content == "tea"
    (first,), (second,) = told[1:]
    assert "successfully" in str(first["content"])
    assert second["is_error"]
    assert "already exists" in str(second["content"])

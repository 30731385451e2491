"""Puts the memory tools of memoranda in the place of the SDK's own, which its tests are about.

The tests write and read a folder beside the tool; so each command begins with the files of that
folder and ends with the folder as the memory is then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from anthropic.lib.tools import _beta_builtin_memory_tool as sdk

from memoranda import AsyncMemory, Memory, Settings
from memoranda.integrations.anthropic import AnthropicMemoryTool, AsyncAnthropicMemoryTool

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
WORDLESS = Settings(embedding={"model": "none"})
FolderTool = sdk.BetaLocalFilesystemMemoryTool


def texts(root: Path) -> dict[str, str]:
    """Return the files of a folder, by their paths in it."""
    files = (each for each in root.rglob("*") if each.is_file())
    return {each.relative_to(root).as_posix(): each.read_bytes().decode() for each in files}


def take(files: Any, root: Path) -> None:
    """Put what is new in a folder into a memory."""
    for path, text in texts(root).items():
        files.write(path, text)


def give(files: Any, root: Path) -> None:
    """Make a folder as a memory is."""
    kept = {each.path: each.content for each in files.list_files()}
    for path in texts(root).keys() - kept:
        (root / path).unlink()
    for path, text in kept.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def mirrored(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command between a look at the folder and a change of it."""

    def run(self: Any, given: Any) -> Any:
        take(self.files, self.memory_root)
        try:
            return command(self, given)
        finally:
            give(self.files, self.memory_root)

    return run


def mirrored_awaited(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same of a command that is awaited."""

    async def run(self: Any, given: Any) -> Any:
        await self.files.run(lambda files: take(files, self.memory_root))
        try:
            return await command(self, given)
        finally:
            await self.files.run(lambda files: give(files, self.memory_root))

    return run


class AsyncRoot(type(Path())):
    """A folder whose existence is awaited."""

    async def is_dir(self) -> bool:
        """Return whether it is there."""
        return super().is_dir()


class MirroredTool(AnthropicMemoryTool):
    """The tool, made as the SDK's own is."""

    def __init__(self, base_path: str) -> None:
        """Keep nothing yet."""
        super().__init__(Memory(":memory:", settings=WORDLESS))
        self.base_path = Path(base_path)
        self.memory_root = self.base_path / "memories"
        self.memory_root.mkdir()


class AsyncMirroredTool(AsyncAnthropicMemoryTool):
    """The asynchronous tool, made as the SDK's own is."""

    def __init__(self, base_path: str) -> None:
        """Keep nothing yet."""
        super().__init__(AsyncMemory(":memory:", settings=WORDLESS))
        self.base_path = Path(base_path)
        self.memory_root = AsyncRoot(self.base_path / "memories")
        self.memory_root.mkdir()


for name in COMMANDS:
    setattr(MirroredTool, name, mirrored(getattr(AnthropicMemoryTool, name)))
    setattr(AsyncMirroredTool, name, mirrored_awaited(getattr(AsyncAnthropicMemoryTool, name)))
sdk.BetaLocalFilesystemMemoryTool = MirroredTool
sdk.BetaAsyncLocalFilesystemMemoryTool = AsyncMirroredTool


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on ours and on the SDK's own, to be called with numbers."""
    ours = AnthropicMemoryTool(Memory(place, settings=WORDLESS))
    theirs = FolderTool(str(place.parent))

    def create(number: int) -> dict[str, str]:
        return {"command": "create", "path": f"/memories/{number}.md", "file_text": f"a {number}"}

    def replace(number: int) -> dict[str, str]:
        path = f"/memories/{number}.md"
        return {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"}

    def look(number: int) -> dict[str, str]:
        return {"command": "view", "path": f"/memories/{number}.md"}

    steps = {"create": create, "str_replace": replace, "view": look}
    return {
        name: (lambda n, s=step: ours.call(s(n)), lambda n, s=step: theirs.call(s(n)))
        for name, step in steps.items()
    }

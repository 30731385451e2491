"""Anthropic's memory tool: what Claude keeps under ``/memories`` are files of a memory.

It answers in the words of the SDK's own tool, which keeps the files on a disk.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types import beta

from memoranda.aio import AsyncMemory
from memoranda.errors import Conflict, MemorandaError
from memoranda.memory import Memory
from memoranda.records.files import Files

ROOT = "/memories"
NAMESPACE = ("files",)
# Lines shown before and after a replaced text.
CONTEXT_LINES = 2
# How many folders deep a listing goes.
DEPTH = 2


def view(files: Files, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
    """Return a file with numbered lines, or what is in a folder and in the folders in it."""
    path = parse_path(command.path)
    found = files.read(path) if path else None
    if found is None:
        return list_folder(files, path, command.path)
    lines = found.content.split("\n")
    first, last = 1, len(lines)
    match command.view_range:
        case [begin, end]:
            first, last = max(1, begin), last if end == -1 else end
    shown = lines[first - 1 : last]
    return f"Here's the content of {command.path} with line numbers:\n{number_lines(shown, first)}"


def create(files: Files, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
    """Make a file where nothing is."""
    path = parse_path(command.path)
    taken = ToolError(f"File {command.path} already exists")
    if is_folder(files, path):
        raise taken
    refuse_in_file(files, path, command.path)
    try:
        files.write(path, command.file_text, expected_version=None)
    except Conflict:
        raise taken from None
    return f"File created successfully at: {command.path}"


def str_replace(files: Files, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
    """Replace a text that stands in a file once, and show the lines around it."""
    old, edited, line = command.old_str, "", 0

    def replace_once(text: str) -> str:
        nonlocal edited, line
        starts = (at for at in range(len(text) + 1) if text.startswith(old, at))
        lines = [text.count("\n", 0, at) + 1 for at in starts]
        refused = "No replacement was performed"
        if not lines:
            message = f"old_str `{old}` did not appear verbatim in {command.path}."
            raise ToolError(f"{refused}, {message}")
        if text.count(old) > 1:
            message = f"Multiple occurrences of old_str `{old}` in lines: {str(lines)[1:-1]}"
            raise ToolError(f"{refused}. {message}. Please ensure it is unique")
        edited, line = text.replace(old, command.new_str), lines[0]
        return edited

    files.edit(parse_file(files, command.path), replace_once)
    first = max(1, line - CONTEXT_LINES)
    shown = number_lines(edited.split("\n")[first - 1 : line + CONTEXT_LINES], first)
    done = "The memory file has been edited. Here is the snippet showing the change"
    return f"{done} (with line numbers):\n{shown}"


def insert(files: Files, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
    """Put lines behind one of a file; behind line 0 is before the first."""

    def insert_lines(text: str) -> str:
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= command.insert_line <= len(lines):
            message = f"Invalid `insert_line` parameter: {command.insert_line}."
            raise ToolError(f"{message} It should be within the range [0, {len(lines)}].")
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        return "\n".join(lines).removesuffix("\n") + "\n"

    files.edit(parse_file(files, command.path), insert_lines)
    return f"The file {command.path} has been edited."


def delete(files: Files, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
    """Delete a file, or a folder with all that is in it."""
    path = parse_path(command.path)
    if not path:
        raise ToolError(f"Cannot delete the {ROOT} directory itself")
    for each in find_paths(files, path, command.path):
        files.delete(each)
    return f"Successfully deleted {command.path}"


def rename(files: Files, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
    """Give a file, or a folder with all that is in it, another path, where nothing is."""
    old, new = parse_path(command.old_path), parse_path(command.new_path)
    if not old:
        raise ToolError(f"Cannot rename the {ROOT} directory itself")
    if is_folder(files, new) or files.read(new):
        raise ToolError(f"The destination {command.new_path} already exists")
    paths = find_paths(files, old, command.old_path)
    refuse_in_file(files, new, command.new_path)
    if new.startswith(f"{old}/"):
        raise ToolError(f"Cannot rename {command.old_path} into itself: {command.new_path}")
    for each in paths:
        files.move(each, new + each.removeprefix(old))
    return f"Successfully renamed {command.old_path} to {command.new_path}"


def clear(files: Files) -> str:
    """Delete all files."""
    for each in files.list_files():
        files.delete(each.path)
    return "All memory cleared"


def parse_path(given: str) -> str:
    """Return a path within the files; ``""`` is the folder of all.

    Raises:
        ToolError: it is not below ``/memories``.
    """
    if given != ROOT and not given.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {given}")
    path = posixpath.normpath(given)
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {given} would escape {ROOT} directory")
    return path.removeprefix(ROOT).removeprefix("/")


def parse_file(files: Files, given: str) -> str:
    """Return the path of a file that is there.

    Raises:
        ToolError: there is none.
    """
    path = parse_path(given)
    if is_folder(files, path):
        raise ToolError(f"The path {given} is not a file.")
    if files.read(path) is None:
        raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
    return path


def is_folder(files: Files, path: str) -> bool:
    """Return whether files are in ``path``, or it is the folder of all."""
    return not path or bool(files.list_files(f"{path}/"))


def refuse_in_file(files: Files, path: str, given: str) -> None:
    """Refuse a path for which a file would have to be a folder.

    Raises:
        ToolError: it is one.
    """
    while path := posixpath.dirname(path):
        if files.read(path):
            raise ToolError(f"The path {given} cannot be made: {ROOT}/{path} is a file.")


def find_paths(files: Files, path: str, given: str) -> list[str]:
    """Return the path of a file, or the paths of all files in a folder.

    Raises:
        ToolError: it is neither.
    """
    paths = [path] if files.read(path) else [each.path for each in files.list_files(f"{path}/")]
    if not paths:
        raise ToolError(f"The path {given} does not exist")
    return paths


def list_folder(files: Files, path: str, given: str) -> str:
    """Return what is in a folder and in the folders in it, each with its size.

    Raises:
        ToolError: there is no such folder.
    """
    folder = f"{path}/" if path else ""
    found = files.list_files(folder)
    if path and not found:
        raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
    sizes: Counter[tuple[str, ...]] = Counter()
    for each in found:
        *folders, name = each.path.removeprefix(folder).split("/")
        parts = (*(f"{part}/" for part in folders), name)
        for entry in {parts[:depth] for depth in range(DEPTH + 1)}:
            sizes[entry] += len(each.content.encode())
    total = sizes.pop((), 0)
    lines = [
        f"{format_size(sizes[entry])}\t{given}/{''.join(entry)}"
        for entry in sorted(sizes, key=lambda entry: [part.rstrip("/") for part in entry])
        if not any(part.startswith(".") for part in entry)
    ]
    header = f"Here're the files and directories up to {DEPTH} levels deep in {given}"
    above = [f"{header}, excluding hidden items:", f"{format_size(total)}\t{given}"]
    return "\n".join([*above, *lines])


def number_lines(lines: Sequence[str], first: int) -> str:
    """Return lines with their numbers, counted from ``first``."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def format_size(size: int) -> str:
    """Return a number of bytes as people read it, such as ``1.5K``."""
    unit = max(0, size.bit_length() - 1) // 10
    return f"{size / 1024**unit:.1f}".removesuffix(".0") + "BKMG"[unit]


Command = Callable[..., str]


def answer(command: Command, files: Files, *given: object) -> str:
    """Return what a command says; what cannot be done is for the model to read."""
    try:
        return command(files, *given)
    except MemorandaError as error:
        raise ToolError(str(error)) from error


def carry_out(command: Command) -> Callable[..., Any]:
    """Return a command as a method."""
    return lambda self, *given: self.carry_out(command, *given)


class _FileCommands:
    """The commands of the memory tool, carried out on the files of a memory."""

    def __init__(
        self, memory: Memory | AsyncMemory, namespace: Iterable[str] = NAMESPACE, **options: Any
    ) -> None:
        """Keep what Claude writes under ``namespace``; ``options`` are the SDK's own."""
        super().__init__(**options)
        self.files: Any = memory.files(namespace)

    view = carry_out(view)
    create = carry_out(create)
    str_replace = carry_out(str_replace)
    insert = carry_out(insert)
    delete = carry_out(delete)
    rename = carry_out(rename)
    clear_all_memory = carry_out(clear)


class AnthropicMemoryTool(_FileCommands, BetaAbstractMemoryTool):
    """The memory tool of ``client.beta.messages.tool_runner(…)`` on the files of a memory."""

    def carry_out(self, command: Command, *given: object) -> str:
        """Return what a command says."""
        return answer(command, self.files, *given)


class AsyncAnthropicMemoryTool(_FileCommands, BetaAsyncAbstractMemoryTool):
    """The same for an asynchronous client."""

    async def carry_out(self, command: Command, *given: object) -> str:
        """Return what a command says, from a worker thread."""
        said: str = await self.files.run(lambda files: answer(command, files, *given))
        return said

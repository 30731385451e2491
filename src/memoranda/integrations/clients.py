"""Puts memoranda into the configuration of other programs: as an MCP server, and as hooks.

Only entries of memoranda are written and removed. All else in a file stays, and a file that is not
understood is left as it is.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from memoranda.errors import InvalidInput
from memoranda.text.files import write_whole
from memoranda.text.patterns import compile_pattern

SERVER = "memoranda"
# Seconds that a client waits for a hook.
TIMEOUT = 60
FIRST_INDENT = compile_pattern(r"\n([ \t]+)\S")
Document = dict[str, Any]


def _entry(call: Sequence[str]) -> Document:
    return {"command": call[0], "args": list(call[1:])}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """A program that calls memoranda.

    Attributes:
        title: its name.
        file: where it lists MCP servers, in JSON or TOML.
        table: the key of the servers in the file.
        entry: makes the entry of a server from a command.
        hooks: the file of its hooks, if it has any.
        events: at which of its events a hook is called.
    """

    title: str
    file: Path
    table: str = "mcpServers"
    entry: Callable[[Sequence[str]], Document] = _entry
    hooks: Path | None = None
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """What becomes of one file; ``None`` is no file."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """Return what changes, as a unified diff."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(unified_diff(old, new, str(self.path), str(self.path)))

    def write(self) -> None:
        """Write the file with the line ends that it has, or remove it.

        Raises:
            OSError: it cannot be written.
        """
        path = self.path.resolve()  # What a link leads to is changed, and not the link.
        if self.after is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        windows = self.before is not None and b"\r\n" in path.read_bytes()
        text = self.after.replace("\n", "\r\n") if windows else self.after
        write_whole(path, [text.encode()])


def clients() -> Mapping[str, McpClient]:
    """Return the programs that are known, by the names of the command, with their files."""
    home, environment = Path.home(), os.environ
    claude = environment.get("CLAUDE_CONFIG_DIR")
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    return {
        "claude-code": McpClient(
            title="Claude Code",
            file=(Path(claude) if claude else home) / ".claude.json",
            entry=_typed_entry,
            hooks=(Path(claude) if claude else home / ".claude") / "settings.json",
            events=("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"),
        ),
        "claude-desktop": McpClient(
            title="Claude Desktop", file=_application("Claude") / "claude_desktop_config.json"
        ),
        "codex": McpClient(
            title="Codex",
            file=codex / "config.toml",
            table="mcp_servers",
            hooks=codex / "hooks.json",
            events=("SessionStart", "UserPromptSubmit"),
        ),
        "cursor": McpClient(title="Cursor", file=home / ".cursor" / "mcp.json"),
        "opencode": McpClient(
            title="OpenCode",
            file=config / "opencode" / "opencode.json",
            table="mcp",
            entry=lambda call: {"type": "local", "command": list(call), "enabled": True},
        ),
        "vscode": McpClient(
            title="VS Code",
            file=_application("Code") / "User" / "mcp.json",
            table="servers",
            entry=_typed_entry,
        ),
    }


def _typed_entry(call: Sequence[str]) -> Document:
    return {"type": "stdio", **_entry(call)}


def _application(name: str) -> Path:
    """Return the folder in which an application of this platform keeps its settings."""
    return user_config_path(name, appauthor=False, roaming=True)


def installed_command() -> list[str]:
    """Return how this installation is called by its full path: a client has a path of its own."""
    script = Path(sys.executable).with_name("memoranda.exe" if os.name == "nt" else "memoranda")
    return [str(script)] if script.exists() else [sys.executable, "-m", "memoranda"]


def plan_install(name: str, options: Sequence[str] | None) -> list[ConfigEdit]:
    """Return what has to change so that a client calls memoranda.

    Args:
        name: of the client, a key of :func:`clients`.
        options: of each command: ``--user ana``; ``None`` is that it does not call it any more.

    Raises:
        InvalidInput: a file is not understood, or its server ``memoranda`` is another program.
    """
    client, call, line = clients()[name], None, None
    if options is not None:
        call = [*installed_command(), "mcp", *options]
        words = [*installed_command(), "hook", name, *options]
        line = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
    edits = [_edit(client.file, lambda document: _put_server(document, client, call))]
    if client.hooks is not None:
        edits.append(_edit(client.hooks, lambda document: _put_hooks(document, client, line)))
    return [edit for edit in edits if edit.after != edit.before]


def _edit(path: Path, put: Callable[[Document], None]) -> ConfigEdit:
    """Return a file of JSON or TOML after a change; in the layout that it has."""
    form: Any = json
    before, empty = _read(path), "{}"
    if path.suffix == ".toml":
        import tomlkit  # noqa: PLC0415 - a hook, which is called often, needs none of it

        form, empty = tomlkit, ""
    text = before if before and before.strip() else empty
    try:
        document: Any = form.loads(text)
        if not isinstance(document, dict):
            raise TypeError(f"it holds a {type(document).__name__}")  # noqa: TRY301
    except (ValueError, TypeError) as error:
        raise _not_understood(path, error) from error
    put(document)
    same = before is not None and document == form.loads(text)
    if form is json:
        indent = FIRST_INDENT.search(text)
        after = json.dumps(document, ensure_ascii=False, indent=indent[1] if indent else 2)
    else:
        after = form.dumps(document).rstrip("\n")
    rest = None if after.strip() == empty else f"{after}\n"
    return ConfigEdit(path, before, before if same else rest)


def _put_server(document: Document, client: McpClient, call: Sequence[str] | None) -> None:
    """Put the server of a command into a document in the place of that there was, or take out."""
    servers = _table(document, client.table, client.file)
    words = json.dumps(servers.pop(SERVER, None))
    if words != "null" and not ("memoranda" in words and '"mcp"' in words):
        message = f"{client.file} has a server {SERVER!r} that is another program: {words:.120}"
        raise InvalidInput(f"{message}; give it another name, and try again")
    if call is not None:
        servers[SERVER] = client.entry(call)
    if not servers:
        del document[client.table]


def _put_hooks(document: Document, client: McpClient, line: str | None) -> None:
    """Put the hooks of a command into a document in the place of those there were, or take out."""
    if line is None and "hooks" not in document:
        return
    hooks = _table(document, "hooks", client.hooks)
    for event in {**hooks, **dict.fromkeys(client.events)}:
        groups = [each for each in hooks.get(event, ()) if not _is_own_group(each)]
        if line is not None and event in client.events:
            groups.append({"hooks": [{"type": "command", "command": line, "timeout": TIMEOUT}]})
        hooks[event] = groups
        if not groups:
            del hooks[event]
    if not hooks:
        del document["hooks"]


def _is_own_group(group: Any) -> bool:
    """Return whether all hooks of a group are of memoranda."""
    calls = group.get("hooks", ()) if isinstance(group, dict) else ()
    commands = [str(each.get("command", "")) for each in calls if isinstance(each, dict)]
    return bool(commands) and all("memoranda" in each and " hook " in each for each in commands)


def _table(document: Document, key: str, path: Path | None) -> Document:
    """Return the table of a document under a key, which is made if it is missing."""
    table: Any = document.setdefault(key, {})
    if not isinstance(table, dict):
        raise InvalidInput(f"{key} in {path} is no table: {table!r:.80}; mend it, and try again")
    return table


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _not_understood(path, error) from error


def _not_understood(path: Path, error: Exception) -> InvalidInput:
    message = f"{path} is not changed, because it cannot be read: {error}"
    return InvalidInput(f"{message}; docs/mcp.md shows what to write by hand")

"""The settings of other programs: memoranda comes and goes, and nothing else changes."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.integrations.clients import clients, plan_install

# Of each client: where its servers stand in a home folder of Linux, and the entry that it reads.
CALL = ["memoranda", "mcp", "--user", "ana"]
PLAIN = {"command": CALL[0], "args": CALL[1:]}
TYPED = {"type": "stdio", **PLAIN}
SERVERS = {
    "claude-code": (".claude.json", {"mcpServers": {"memoranda": TYPED}}),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        {"mcpServers": {"memoranda": PLAIN}},
    ),
    "codex": (".codex/config.toml", {"mcp_servers": {"memoranda": PLAIN}}),
    "cursor": (".cursor/mcp.json", {"mcpServers": {"memoranda": PLAIN}}),
    "opencode": (
        ".config/opencode/opencode.json",
        {"mcp": {"memoranda": {"type": "local", "command": CALL, "enabled": True}}},
    ),
    "vscode": (".config/Code/User/mcp.json", {"servers": {"memoranda": TYPED}}),
}
HOOKS = {
    "claude-code": (
        ".claude/settings.json",
        ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"],
    ),
    "codex": (".codex/hooks.json", ["SessionStart", "UserPromptSubmit"]),
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home folder, with memoranda installed as ``memoranda``."""
    if sys.platform != "linux":
        pytest.skip("the paths in the table are those of Linux")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("memoranda.integrations.clients.installed_command", lambda: ["memoranda"])
    return tmp_path


def apply(edits):
    """Write what is planned."""
    for edit in edits:
        edit.write()


def install(name):
    """Install for Ana."""
    apply(plan_install(name, CALL[2:]))


def read(path):
    """Return what a file of JSON or TOML holds."""
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("name", SERVERS)
def test_a_client_gets_its_entries_once_and_loses_them_again(home, name):
    """In files that were not there; twice changes nothing, and undone nothing is left."""
    install(name)
    path, entry = SERVERS[name]
    assert read(home / path) == entry
    if name in HOOKS:
        file, events = HOOKS[name]
        hooks = read(home / file)["hooks"]
        assert list(hooks) == events
        line = f"memoranda hook {name} --user ana"
        call = {"type": "command", "command": line, "timeout": 60}
        assert all(groups == [{"hooks": [call]}] for groups in hooks.values())
    assert plan_install(name, CALL[2:]) == []
    apply(plan_install(name, None))
    assert not [each for each in home.rglob("*") if each.is_file()]
    assert plan_install(name, None) == []
    assert set(SERVERS) == set(clients())


@pytest.mark.parametrize("name", SERVERS)
def test_what_stands_there_already_stays(home, name):
    """Other servers, settings, hooks and comments come back byte for byte, also with CRLF."""
    path = home / SERVERS[name][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    (table, _), *_ = SERVERS[name][1].items()
    if path.suffix == ".toml":
        before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "other"\n'
    else:
        held = {"ü": [1], table: {"other": {"command": "other"}}, "last": {"a": None}}
        before = json.dumps(held, indent=4, ensure_ascii=False) + "\n"
    before = before.replace("\n", "\r\n").encode()
    path.write_bytes(before)
    if name in HOOKS:
        hooks = home / HOOKS[name][0]
        hooks.parent.mkdir(parents=True, exist_ok=True)
        mine = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
        mine["hooks"]["SessionStart"] = mine["hooks"]["Stop"]
        hooks.write_text(json.dumps(mine, indent=2) + "\n")
    install(name)
    assert {"other", "memoranda"} == set(read(path)[table])
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")
    if name in HOOKS:
        assert len(read(hooks)["hooks"]["SessionStart"]) == 2
    apply(plan_install(name, None))
    assert path.read_bytes() == before
    if name in HOOKS:
        assert hooks.read_text() == json.dumps(mine, indent=2) + "\n"


def test_a_new_call_takes_the_place_of_the_old_one(home):
    """Another user or place; the diff shows it, with the full path of the file."""
    install("cursor")
    (edit,) = plan_install("cursor", ["--db", "/data/team.db"])
    assert '-        "ana"' in edit.diff()
    assert edit.diff().startswith(f"--- {home}/.cursor/mcp.json\n")
    edit.write()
    assert read(home / ".cursor/mcp.json")["mcpServers"]["memoranda"]["args"][1] == "--db"


@pytest.mark.parametrize(
    "text",
    [
        "{// comment\n}",
        "[]",
        "{",
        '{"mcpServers": []}',
        '{"mcpServers": {"memoranda": {"command": "other-program"}}}',
        "\udcff",
    ],
)
def test_what_is_not_understood_is_left_alone(home, text):
    """Comments in JSON, half a file, another program of this name: one error, and no change."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(data := text.encode(errors="surrogateescape"))
    for plan in (lambda: plan_install("cursor", []), lambda: plan_install("cursor", None)):
        with pytest.raises(InvalidInput, match=r"mcp\.json"):
            plan()
    assert path.read_bytes() == data


def test_a_link_leads_to_the_file_that_is_changed(home):
    """Settings that are kept elsewhere stay there."""
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(kept)
    install("cursor")
    assert link.is_symlink()
    assert "memoranda" in read(kept)["mcpServers"]


def test_the_folders_of_the_environment_are_used(home, monkeypatch):
    """As the programs say themselves."""
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    for name in ("codex", "claude-code"):
        install(name)
    found = sorted(str(each.relative_to(home)) for each in home.rglob("*") if each.is_file())
    assert found == [
        "claude/.claude.json",
        "claude/settings.json",
        "codex/config.toml",
        "codex/hooks.json",
    ]
    assert Path(os.environ["HOME"]) == home

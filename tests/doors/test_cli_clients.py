"""The commands that put memoranda into the settings of other programs, and take it out again."""

import json
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="the home folder is that of Linux")
def test_the_path_of_the_store_is_right_from_any_folder(run, tmp_path, monkeypatch):
    """A relative path is written in full."""
    monkeypatch.setenv("HOME", str(tmp_path))
    run("install", "cursor", "--db", "team.db", "--yes")
    servers = json.loads((tmp_path / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]
    assert servers["memoranda"]["args"][-2:] == ["--db", str(tmp_path / "team.db")]

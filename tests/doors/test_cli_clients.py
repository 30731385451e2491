"""The commands that put memoranda into the settings of other programs, and take it out again."""

import json
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="the home folder is that of Linux")
def test_the_path_of_the_store_is_right_from_any_folder(run, tmp_path, monkeypatch):
    """A relative path is written in full, and what there is to change is told as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "memoranda is not installed in cursor" in run("uninstall", "cursor", "--yes").stdout
    run("install", "cursor", "--db", "team.db", "--yes")
    servers = json.loads((tmp_path / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]
    assert servers["memoranda"]["args"][-2:] == ["--db", str(tmp_path / "team.db")]
    again = run("install", "cursor", "--db", "team.db", "--yes").stdout
    assert "memoranda is set up so already in cursor" in again

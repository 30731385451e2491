"""Settings for the tests of settings: those of no machine."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(tmp_path, monkeypatch):
    """Neither a settings file nor the environment of the machine reaches a test."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))

"""Settings for the tests of settings: those of no machine."""

import pytest
from memory_fixtures import no_settings_of_this_machine

__all__ = ["no_settings_of_this_machine"]

TOML = """\
# Settings of the kitchen agent.

user = "ana"   # me

# Which model
[embedding]
  model    = "none"  # for now
  # threads = 8

# How what was found is ranked
[retrieval]
fusion = "rrf"

[tokens.limits]
"gpt-4.1" = 1000 # a test
"""
YAML = """\
# Settings of the kitchen agent.

user: ana   # me

# Which model
embedding:
  model: none  # for now
  # threads: 8

# How what was found is ranked
retrieval: {fusion: rrf}   # in short

tokens:
  limits:
    gpt-4.1: 1_000 # a test
"""


@pytest.fixture(scope="session")
def kitchen():
    """A settings file of either format, by its suffix, with comments and spaces of a person."""
    return {".toml": TOML, ".yaml": YAML, ".YML": YAML, ".yml": YAML}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a settings file of any name, and let it be the one."""

    def write(content, name="agent.yaml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
        return path

    return write

"""The environment of processes that tests start."""

import os


def bare_environment(folder, **changes):
    """Return an environment without settings of this machine, and without a model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    return kept | {
        "MEMORANDA_CONFIG": str(folder / "no-config.toml"),
        "MEMORANDA_LOCATION": str(folder / "agent.db"),
        "MEMORANDA_EMBEDDING__MODEL": "none",
        **changes,
    }

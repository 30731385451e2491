"""What follows from the section ``memory``, a small agent's configuration (requirement S1.37).

Four names say where its memory is and how it is looked after. They name a whole system, so the
policy of that system comes with them: how long each kind is kept, how it is searched, when it is
cleaned up, and that nothing else is done or written. It is only what holds where nobody says
otherwise: a setting of its own wins, wherever it was set.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memoranda.settings.nested import merge
from memoranda.settings.sections import MemorySettings

# The section of a settings file, which may be another program's.
SECTION = "memory"
PATH = "~/.reachy/memory"
TURNS = 5
MODEL = "all-MiniLM-L6-v2"
INTERVAL = 3600
# Messages that always stay in a view where nobody says otherwise.
KEPT_WHOLE = 10
FILE = Path(__file__).with_name("profile.toml")


def derive_settings(section: Any) -> dict[str, Any]:
    """Return what follows from a section ``memory``, nested by group.

    Args:
        section: the section as it was written, checked or not. Nothing follows from a wrong one,
            or from one that sets nothing.
    """
    try:
        given = MemorySettings.model_validate(section or {})
    except ValidationError:
        return {}
    if not any(value is not None for _, value in given):
        return {}
    turns = given.context_window_size or TURNS
    # The local model is meant by its name on the hub, too.
    model = (given.embedding_model or MODEL).removeprefix("sentence-transformers/")
    return merge(
        tomllib.loads(FILE.read_text("utf-8")),
        {
            "location": chroma_location(given.path or PATH),
            "embedding": {"model": "local" if model == MODEL else given.embedding_model},
            "conversation": {
                "window": turns,
                "max_messages": 2 * turns,
                "keep_recent": min(KEPT_WHOLE, 2 * turns),
            },
            "schedule": {"expire": f"{given.cleanup_interval or INTERVAL}s"},
        },
    )


def chroma_location(path: str) -> str:
    """Return the location of a Chroma store in the folder ``path``, whose ``~`` is the home."""
    # Takes an unknown user's name as it is, as a shell does.
    folder = Path(os.path.expanduser(path)).absolute().as_posix()  # noqa: PTH111 - see above
    return f"chroma://{'' if folder.startswith('/') else '/'}{folder}"

"""What follows from the section ``memory``, a small agent's configuration (requirement S1.37).

Four names say where its memory is and how it is looked after. They name a whole system, so the
policy of that system comes with them: how long each kind is kept, how it is searched, when it is
cleaned up, and that nothing else is done or written. It is only what holds where nobody says
otherwise: a setting of its own wins, wherever it was set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from memoranda.settings.nested import MISSING, Place, value_at, walk, with_value
from memoranda.settings.sections import MemorySettings

NAME = "memory"
PATH = "~/.reachy/memory"
TURNS = 5
MODEL = "all-MiniLM-L6-v2"
INTERVAL = 3600
# Messages that always stay in a view where nobody says otherwise.
KEPT_WHOLE = 10
OWN_MODELS = frozenset({"auto", "local", "none"})
FILE = Path(__file__).with_name("profile.toml")


@cache
def read_policy() -> Mapping[Place, Any]:
    """Return what comes with the section beside its four names, by place."""
    found = walk(tomllib.loads(FILE.read_text("utf-8")))
    return {place: value for place, value in found if not isinstance(value, Mapping)}


def apply_profile(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` of settings with what follows from their section ``memory``.

    Without that section, or with a wrong one, they stay as they are.
    """
    whole = dict(values)
    for place, (value, _) in derive_settings(values.get(NAME)).items():
        group = whole.get(place[0])
        if isinstance(group, BaseModel):  # Made by the caller: what it was made with counts.
            whole[place[0]] = {name: getattr(group, name) for name in group.model_fields_set}
        if value_at(whole, place) is MISSING:
            whole = with_value(whole, place, value)
    return whole


def derive_settings(section: Any) -> dict[Place, tuple[Any, Place]]:
    """Return what follows from a section ``memory``: each setting's value and what it is from.

    Args:
        section: the section as it was written, checked or not. Nothing follows from a wrong one,
            or from one that sets nothing.
    """
    try:
        given = MemorySettings.model_validate(section)
    except ValidationError:
        return {}
    if not any(value is not None for _, value in given):
        return {}
    messages = 2 * (given.context_window_size or TURNS)
    values: dict[Place, tuple[Any, str]] = {
        ("location",): (chroma_location(given.path or PATH), "path"),
        ("embedding", "model"): (embedding_name(given.embedding_model or MODEL), "embedding_model"),
        ("conversation", "window"): (messages // 2, "context_window_size"),
        ("conversation", "max_messages"): (messages, "context_window_size"),
        ("conversation", "keep_recent"): (min(KEPT_WHOLE, messages), "context_window_size"),
        ("schedule", "expire"): (f"{given.cleanup_interval or INTERVAL}s", "cleanup_interval"),
    }
    return {
        **{
            place: (value, (NAME,) if getattr(given, name) is None else (NAME, name))
            for place, (value, name) in values.items()
        },
        **{place: (value, (NAME,)) for place, value in read_policy().items()},
    }


def chroma_location(path: str) -> str:
    """Return the location of a Chroma store in the folder ``path``, whose ``~`` is the home."""
    # Takes an unknown user's name as it is, as a shell does.
    folder = Path(os.path.expanduser(path)).absolute().as_posix()  # noqa: PTH111 - see above
    return f"chroma://{'' if folder.startswith('/') else '/'}{folder}"


def embedding_name(name: str) -> str:
    """Return which ``embedding.model`` is meant by a name as sentence-transformers know it."""
    if name.removeprefix("sentence-transformers/") == MODEL:
        return "local"
    return name if name in OWN_MODELS or ":" in name else f"sentence-transformers:{name}"

"""What follows from the section ``memory``, a small agent's configuration (requirement S1.37).

Four names say where its memory is and how it is looked after. They name a whole system, so the
policy of that system comes with them: how long each kind is kept, how it is searched, when it is
cleaned up, and that nothing else is done or written. It is only what holds where nobody says
otherwise: a setting of its own wins, wherever it was set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from memoranda.settings.nested import MISSING, Place, value_at, with_value
from memoranda.settings.sections import MemorySettings

NAME = "memory"
PATH = "~/.reachy/memory"
TURNS = 5
MODEL = "all-MiniLM-L6-v2"
INTERVAL = 3600
# Messages that always stay in a view where nobody says otherwise.
KEPT_WHOLE = 10
OWN_MODELS = frozenset({"auto", "local", "none"})
# What requirements S1.04 to S1.38 say beside the four: types, search, clean-up, nothing more.
POLICY: Mapping[Place, Any] = {
    ("retrieval", "fusion"): "cosine",
    ("retrieval", "min_score"): 0.3,
    ("retention", "episode"): "30d",
    ("retention", "fact"): "forever",
    ("retention", "context"): "day",
    ("consolidation", "automatic"): False,
    ("consolidation", "decay_rate"): 0.0,
    ("notes", "automatic"): False,
    ("schedule", "enrich"): "off",
    ("schedule", "consolidate"): "off",
    ("schedule", "decay"): "off",
    ("schedule", "reflect"): "off",
    ("schedule", "expire_at_start"): True,
}


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
        **{place: (value, (NAME,)) for place, value in POLICY.items()},
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

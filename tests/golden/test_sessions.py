"""A long mixed session and its exports, compared with the golden files in ``files/``.

``MEMORANDA_REGENERATE_GOLDENS=1 pytest tests/golden`` writes the files anew. Do that only where
behaviour is meant to change, read the difference, and say in the commit why it changed. What a
golden is insensitive to stands in ``goldens.py``.
"""

from __future__ import annotations

import pytest
from goldens import check_golden
from session_script import START, run_session

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder


@pytest.mark.usefixtures("plain_environment")
def test_a_session_without_vectors_is_as_ever(tmp_path):
    """Without a model, and consolidated by hand, all that a long session gives stays the same."""
    chosen = Settings(embedding={"background": False}, consolidation={"automatic": False})
    check_golden("session_by_hand", played(tmp_path, settings=chosen), {str(tmp_path): "<folder>"})


@pytest.mark.usefixtures("plain_environment")
def test_a_session_with_vectors_is_as_ever(tmp_path):
    """With vectors, consolidation at the end of a session and retention, all stays the same."""
    chosen = Settings(
        embedding={"model": "auto", "background": False}, retention={"episode": "40d"}
    )
    found = played(tmp_path, settings=chosen, embedder=HashEmbedder())
    check_golden("session_with_vectors", found, {str(tmp_path): "<folder>"})


def played(folder, **chosen):
    """Return what the long session gives in a new memory."""
    clock = FrozenClock(START)
    with Memory(folder / "agent.db", user="ana", clock=clock, **chosen) as memory:
        return run_session(memory, clock, folder)

"""A long mixed session and its exports, compared with the golden files in ``files/``.

``MEMORANDA_REGENERATE_GOLDENS=1 pytest tests/golden`` writes the files anew. Do that only where
behaviour is meant to change, read the difference, and say in the commit why it changed. What a
golden is insensitive to stands in ``goldens.py``.
"""

from __future__ import annotations

import pytest
from goldens import check_golden
from session_script import play, with_vectors

from memoranda import Settings

pytestmark = pytest.mark.usefixtures("plain_environment")


def test_a_session_without_vectors_is_as_ever(tmp_path):
    """Without a model, and consolidated by hand, all that a long session gives stays the same."""
    chosen = Settings(embedding={"background": False}, consolidation={"automatic": False})
    found = play(tmp_path / "agent.db", tmp_path, settings=chosen)
    check_golden("session_by_hand", found, {str(tmp_path): "<folder>"})


def test_a_session_with_vectors_is_as_ever(tmp_path):
    """With vectors, consolidation at the end of a session and retention, all stays the same."""
    found = play(tmp_path / "agent.db", tmp_path, **with_vectors())
    check_golden("session_with_vectors", found, {str(tmp_path): "<folder>"})

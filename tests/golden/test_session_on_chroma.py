"""The long mixed session on Chroma: every store gives what the golden file holds."""

from __future__ import annotations

import pytest
from goldens import compare
from session_script import play, with_vectors


@pytest.mark.usefixtures("plain_environment")
def test_a_session_on_chroma_is_as_on_sqlite(tmp_path):
    """A memory in a Chroma folder gives the same as one in a file."""
    pytest.importorskip("chromadb")
    found = play(f"chroma://{tmp_path.resolve()}/agent", tmp_path, **with_vectors())
    compare("session_with_vectors", found, {str(tmp_path): "<folder>"})

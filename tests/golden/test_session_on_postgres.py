"""The long mixed session on PostgreSQL: every store gives what the golden file holds."""

from __future__ import annotations

import pytest
from goldens import compare
from postgres_server import running_server
from session_script import play, with_vectors


@pytest.mark.usefixtures("plain_environment")
def test_a_session_on_postgresql_is_as_on_sqlite(tmp_path, monkeypatch):
    """A memory on a server gives the same as one in a file, with notes that last as long."""
    monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", str(tmp_path / "notes" / "{user}"))
    with running_server() as address:
        found = play(address, tmp_path, **with_vectors())
    # No client can search the files of a server, so nothing is said of them.
    unsearched = {'"purged": false': '"purged": true'}
    compare("session_with_vectors", found, {str(tmp_path): "<folder>"} | unsearched)

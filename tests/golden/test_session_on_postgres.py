"""The long mixed session on PostgreSQL: every store gives what the golden file holds."""

from __future__ import annotations

import pytest
from goldens import compare, encode
from postgres_server import running_server
from session_script import play, with_vectors


def as_if_searched(value):
    """Return it with ``purged`` of what was erased, as no client searches a server's files."""
    if isinstance(value, list):
        return [as_if_searched(each) for each in value]
    if isinstance(value, dict):
        purged = {"purged": True} if value.get("erased") and "purged" in value else {}
        return {name: as_if_searched(each) for name, each in value.items()} | purged
    return value


@pytest.mark.usefixtures("plain_environment")
def test_a_session_on_postgresql_is_as_on_sqlite(tmp_path, monkeypatch):
    """A memory on a server gives the same as one in a file, with notes that last as long."""
    monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", str(tmp_path / "notes" / "{user}"))
    with running_server() as address:
        found = play(address, tmp_path, **with_vectors())
    compare("session_with_vectors", as_if_searched(encode(found)), {str(tmp_path): "<folder>"})

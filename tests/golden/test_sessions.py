"""A long mixed session and its exports, compared with the golden files in ``files/``.

``MEMORANDA_REGENERATE_GOLDENS=1 pytest tests/golden`` writes the files anew. Do that only where
behaviour is meant to change, read the difference, and say in the commit why it changed. What a
golden is insensitive to stands in ``goldens.py``.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

import pytest
from goldens import check_golden, encode
from noting import by_hand as remembering
from postgres_server import new_database
from session_script import DAY, START, play, with_vectors

from memoranda import Settings

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_environment")]


def test_a_session_without_vectors_is_as_ever(tmp_path):
    """Without a model, and consolidated by hand, all that a long session gives stays the same."""
    chosen = Settings(embedding={"background": False}, consolidation={"automatic": False})
    found = play(tmp_path / "agent.db", tmp_path, settings=chosen)
    check_golden("session_by_hand", found, {str(tmp_path): "<folder>"})


def test_a_session_with_vectors_is_as_ever(tmp_path):
    """With vectors, consolidation at the end of a session and retention, all stays the same."""
    found = play(tmp_path / "agent.db", tmp_path, **with_vectors())
    check_golden("session_with_vectors", found, {str(tmp_path): "<folder>"})


def as_if_searched(value):
    """Return it with ``purged`` of what was erased, as no client searches a server's files."""
    if isinstance(value, list):
        return [as_if_searched(each) for each in value]
    if isinstance(value, dict):
        purged = {"purged": True} if value.get("erased") and "purged" in value else {}
        return {name: as_if_searched(each) for name, each in value.items()} | purged
    return value


def export(memory, folder):
    """Return the lines of an export, but for the notes: PostgreSQL has no folder for them here."""
    path = folder / "export.jsonl"
    memory.export(path)
    lines = path.read_bytes().splitlines()
    path.unlink()
    return [line for line in lines if not line.startswith(b'{"type":"notes"')]


def found(memory):
    """Return what searches find, and why."""
    asked = ("Where does Ana live?", "Who is allergic to hazelnuts?", "Rita", "cello")
    hits = [hit for question in asked for hit in memory.search(question, limit=3)]
    return [(hit.record.id, pytest.approx(hit.score, abs=1e-3), set(hit.why.arms)) for hit in hits]


def test_a_session_on_postgresql_is_the_same_and_goes_to_every_store(
    tmp_path, postgres, monkeypatch
):
    """It gives what one in a file gives; copied to Chroma and to a file, nothing of it is lost."""
    address = new_database(postgres)
    with monkeypatch.context() as patch:
        patch.setenv("MEMORANDA_NOTES__FOLDER", str(tmp_path / "notes" / "{user}"))
        told = as_if_searched(encode(play(address, tmp_path, **with_vectors())))
    check_golden("session_with_vectors", told, {str(tmp_path): "<folder>"}, may_write=False)
    with ExitStack() as stack:

        def opened(place):
            memory = remembering(place, schedule={"expire_at_start": False})
            memory._services.clock.source.set(START + 61 * DAY)
            return stack.enter_context(closing(memory))

        memory = first = opened(address)
        exports = {user: export(memory.as_user(user), tmp_path) for user in ("ana", "bruno")}
        for place in (f"chroma://{tmp_path / 'chroma'}", str(tmp_path / "b.db")):
            memory.copy_to(place)
            memory = opened(place)
            memory.embed_pending()
            assert memory.verify() == []
        for user, lines in exports.items():
            assert found(memory.as_user(user)) == found(first.as_user(user))
            assert export(memory.as_user(user), tmp_path) == lines

"""Users go from a file to PostgreSQL, to Chroma and back, and are the same everywhere."""

from contextlib import ExitStack, closing

import pytest
from both_stores import remembering
from postgres_server import new_database
from session_script import START, run_session

AT_REST = {"expire_at_start": False}
ASKED = ("Where does Ana live?", "Who is allergic to hazelnuts?", "Rita", "cello")


def found(memory):
    """Return what searches find, and why."""
    hits = [hit for asked in ASKED for hit in memory.search(asked, limit=3)]
    return [(hit.record.id, pytest.approx(hit.score, abs=1e-3), set(hit.why.arms)) for hit in hits]


def export(memory, folder):
    """Return the bytes of an export, but for the notes: PostgreSQL has no folder for them here."""
    path = folder / "export.jsonl"
    memory.export(path)
    lines = path.read_bytes().splitlines()
    path.unlink()
    return [line for line in lines if not line.startswith(b'{"type":"notes"')]


def test_a_rich_memory_is_the_same_in_every_store(postgres, tmp_path):
    """What a long session of two users leaves behind goes from place to place without a loss."""
    with ExitStack() as stack:

        def opened(place):
            return stack.enter_context(closing(remembering(place, schedule=AT_REST)))

        memory = first = opened(str(tmp_path / "a.db"))
        clock = memory._services.clock.source
        clock.set(START)
        run_session(memory, clock, tmp_path)
        exports = {user: export(memory.as_user(user), tmp_path) for user in ("ana", "bruno")}
        chroma = f"chroma://{tmp_path / 'chroma'}"
        for place in (new_database(postgres), chroma, str(tmp_path / "b.db")):
            memory.copy_to(place)
            memory = opened(place)
            memory._services.clock.source.set(clock.now())
            memory.embed_pending()
            assert memory.verify() == []
        for user, data in exports.items():
            assert found(memory.as_user(user)) == found(first.as_user(user))
            assert export(memory.as_user(user), tmp_path) == data


def test_notes_arrive_on_postgresql_where_there_is_a_folder(postgres, tmp_path):
    """With a folder for them, notes are copied there and back, also where it is named since."""
    with closing(remembering(str(tmp_path / "a.db"))) as memory:
        memory.remember("Ana likes tea")
        memory.notes.sync()
        memory.notes.append_history("Talked of tea.")
        where, own = new_database(postgres), memory.notes.folder
        (told,) = memory.copy_to(where)
        assert "no folder for them; set notes.folder" in told.left_out[0]
    folder, notes = tmp_path / "notes" / "ana", {"folder": str(tmp_path / "notes" / "{user}")}
    for _ in range(2):
        with closing(remembering(str(tmp_path / "a.db"), notes=notes)) as memory:
            (told,) = memory.copy_to(where)
        assert told.left_out == ()
        for path in own.glob("*.md"):
            assert (folder / path.name).read_text() == path.read_text()
    with closing(remembering(where, notes=notes)) as copy:
        assert copy.notes.search("tea")[0].text == "Talked of tea."
        assert copy.notes.sync().changes == 0

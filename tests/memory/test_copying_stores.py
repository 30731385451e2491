"""Users go from a file to PostgreSQL, to Chroma and back, and are the same everywhere."""

from contextlib import ExitStack, closing

import pytest
from both_stores import remembering
from memory_flows import FLOWS, importing, looking_after
from postgres_server import new_database

from memoranda import errors

ASKED = ("Which tea does Ana like?", "Where does the user live?", "boats in Lisbon", "Rex")


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
    """What all flows of a user leave behind goes from place to place without a loss."""
    with ExitStack() as stack:

        def opened(place):
            memory = stack.enter_context(closing(remembering(place, schedule=AT_REST)))
            return memory, memory._services.clock.source

        first, clock = opened(str(tmp_path / "a.db"))
        names = []
        for flow in FLOWS:
            # These look at other users, or purge and copy the file.
            if flow not in {importing, looking_after}:
                (tmp_path / flow.__name__).mkdir()
                names.append(flow.__name__)
                flow(first.as_user(flow.__name__), clock, tmp_path / flow.__name__)
        memory = first
        first_exports = {name: export(first.as_user(name), tmp_path) for name in names}
        chroma = f"chroma://{tmp_path / 'chroma'}"
        for place in (new_database(postgres), chroma, str(tmp_path / "b.db")):
            memory.copy_to(place)
            memory, late = opened(place)
            late.advance(clock.now() - late.now())
            memory.embed_pending()
            assert memory.verify() == []
        for name, data in first_exports.items():
            assert found(memory.as_user(name)) == found(first.as_user(name))
            assert export(memory.as_user(name), tmp_path) == data


AT_REST = {"expire_at_start": False}


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


def test_a_server_that_cannot_be_reached_shows_no_password(tmp_path):
    """The error names the place and keeps the secret, also of an address that is misspelt."""
    with closing(remembering(str(tmp_path / "a.db"), storage={"busy_timeout": 0.5})) as memory:
        memory.remember("tea")
        for place in (
            "postgresql://ana:tiger@127.0.0.1:1/none?connect_timeout=2",
            "postgres_ql://ana:tiger@host/none",
        ):
            with pytest.raises((errors.StoreError, errors.ConfigError)) as raised:
                memory.copy_to(place)
            assert "tiger" not in str(raised.value)

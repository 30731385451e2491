"""A sweep of damaged files: no raw exception, and whatever is on a whole page can be read again."""

import pytest
from benchmarks.torture.corrupting import make_sound, survive
from benchmarks.torture.damaging import PAGE
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app
from memoranda.errors import NotADatabase
from memoranda.store.sqlite import salvage
from memoranda.testing.embedders import HashEmbedder


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A database, with the pages that each of its records is on."""
    return make_sound(tmp_path_factory.mktemp("sound") / "memory.db")


@pytest.mark.parametrize("seed", range(15))
def test_damage_is_an_answer(tmp_path, sound, seed):
    """Whatever was damaged, every verb answers, and a rebuild saves each record that is whole."""
    assert survive(tmp_path / "memory.db", sound, seed) == set()


@pytest.mark.usefixtures("no_settings")
def test_the_doctor_saves_what_cannot_be_opened(tmp_path, sound):
    """A file without its head is refused with the remedy, which makes it anew and keeps the old."""
    path = tmp_path / "memory.db"
    path.write_bytes(b"\0" * PAGE + sound.content[PAGE:])
    at = ["--db", str(path), "--user", "ana"]
    refused = CliRunner().invoke(app, ["list", *at])
    assert refused.exit_code != 0
    assert "doctor --rebuild" in refused.stderr
    saved = CliRunner().invoke(app, ["doctor", "--rebuild", *at])
    assert "made anew with all rows" in saved.stderr
    assert path.with_name("memory.db.damaged").stat().st_size == len(sound.content)
    with Memory(path, user="ana", embedder=HashEmbedder()) as memory:
        assert {record.content for record in memory.records(limit=1_000)} >= set(
            sound.texts.values()
        )


def test_what_holds_no_memory_is_left_alone(tmp_path):
    """A file of somebody else is not made anew, and nothing stands beside it."""
    path = tmp_path / "diary.db"
    path.write_bytes(b"Dear diary, today " * 4_000)
    before = path.read_bytes()
    with pytest.raises(NotADatabase, match="nothing of memoranda's"):
        salvage(str(path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

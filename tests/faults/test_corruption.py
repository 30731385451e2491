"""A sweep of damaged files: no raw exception, and whatever is on a whole page can be read again."""

import re
from contextlib import suppress

import pytest
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app
from memoranda.errors import MemorandaError, NotADatabase, SchemaTooNew
from memoranda.store.sqlite import salvage
from memoranda.testing.embedders import HashEmbedder

from .damaging import PAGE, damage, whole_pages

RECORDS = 120


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a database, and which pages each of its records is on."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with Memory(path, user="ana", embedder=HashEmbedder()) as memory:
        # Some are longer than a page, and one is longer than what a read of SQLite takes at once.
        sizes = [
            400 if number % 40 == 7 else 2000 if number == 60 else 6 for number in range(RECORDS)
        ]
        texts = [f"{number:03}word " * size for number, size in enumerate(sizes)]
        memory.remember_many([{"content": text, "metadata": {"n": 1}} for text in texts])
        chat = memory.conversation("trip", system="You plan.")
        for number in range(30):
            chat.add("user", f"We go to Porto on day {number}.")
        memory.embed_pending()
        memory.entities()
    content = path.read_bytes()
    pages = {}
    for found in re.finditer(rb"(\d{3})word", content):
        pages.setdefault(int(found[1]), set()).add(found.start() // PAGE)
    return content, dict(enumerate(texts)), pages


def call(verb):
    """Call a verb, which may refuse; anything but an error of memoranda's is a failure."""
    with suppress(MemorandaError):
        return verb()


def sweep(path, sound, seed):
    """Damage the database, call every verb, rebuild it, and look for what was not damaged."""
    content, texts, pages = sound
    damaged = damage(content, seed)
    path.write_bytes(damaged)
    whole = whole_pages(content, damaged)
    try:
        memory = Memory(path, user="ana", embedder=HashEmbedder())
    except SchemaTooNew:
        return  # Only a newer one knows what is in it.
    except MemorandaError:
        try:
            salvage(str(path))
        except NotADatabase:
            assert not any(pages[number] <= whole for number in texts)
            return
        memory = Memory(path, user="ana", embedder=HashEmbedder())
    with memory:
        call(memory.records)
        call(lambda: memory.search("007word Porto"))
        call(lambda: memory.recall("What is in Porto?"))
        call(memory.verify)
        call(memory.stats)
        call(lambda: memory.export(path.with_name("before.jsonl")))
        call(memory.doctor)
        memory.rebuild()
        assert memory.verify() == []
        expected = {texts[number] for number in texts if pages[number] <= whole}
        users = [memory, *(memory.as_user(name) for name in memory.admin.users() if name != "ana")]
        read = {record.content for user in users for record in user.records(limit=1_000)}
        assert expected <= read, len(expected - read)
        memory.search("007word Porto")
        memory.remember("It goes on.")
    with Memory(path, user="ana", embedder=HashEmbedder()) as again:
        assert again.search("It goes on.")


@pytest.mark.parametrize("seed", range(15))
def test_damage_is_an_answer(tmp_path, sound, seed):
    """Whatever was damaged, every verb answers, and a rebuild saves each record that is whole."""
    sweep(tmp_path / "memory.db", sound, seed)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(15, 515))
def test_much_damage_is_an_answer(tmp_path, sound, seed):
    """The same of five hundred files."""
    sweep(tmp_path / "memory.db", sound, seed)


@pytest.mark.usefixtures("no_settings")
def test_the_doctor_saves_what_cannot_be_opened(tmp_path, sound):
    """A file without its head is refused with the remedy, which makes it anew and keeps the old."""
    content, texts, _ = sound
    path = tmp_path / "memory.db"
    path.write_bytes(b"\0" * PAGE + content[PAGE:])
    at = ["--db", str(path), "--user", "ana"]
    refused = CliRunner().invoke(app, ["list", *at])
    assert refused.exit_code != 0
    assert "doctor --rebuild" in refused.stderr
    saved = CliRunner().invoke(app, ["doctor", "--rebuild", *at])
    assert "made anew with all rows" in saved.stderr
    assert path.with_name("memory.db.damaged").stat().st_size == len(content)
    with Memory(path, user="ana", embedder=HashEmbedder()) as memory:
        assert {record.content for record in memory.records(limit=1_000)} >= set(texts.values())


def test_what_holds_no_memory_is_left_alone(tmp_path):
    """A file of somebody else is not made anew, and nothing stands beside it."""
    path = tmp_path / "diary.db"
    path.write_bytes(b"Dear diary, today " * 4_000)
    before = path.read_bytes()
    with pytest.raises(NotADatabase, match="nothing of memoranda's"):
        salvage(str(path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

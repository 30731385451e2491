"""A copy of users to another store is whole, and can be cut short."""

from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from both_stores import remembering
from file_samples import exported

from memoranda.errors import NotFound, StoreError
from memoranda.model.models import Scope


@pytest.fixture
def ana(tmp_path):
    """Ana's memory in a file, with vectors."""
    with closing(remembering(str(tmp_path / "a.db"))) as memory:
        yield memory


@pytest.fixture
def there(tmp_path):
    """Where it is copied to."""
    return str(tmp_path / "b.db")


@contextmanager
def opened(place, user="ana"):
    """Open the copy."""
    with closing(remembering(place)) as memory:
        yield memory.as_user(user)


def lines(place, folder, user="ana"):
    """Return what an export of a user holds, without its header."""
    with closing(remembering(place)) as memory:
        return exported(memory.as_user(user), folder / f"{Path(place).name}.jsonl")[1:]


def fill(memory):
    """Say and remember something, keep items, and let an agent do so, too."""
    talk = memory.conversation("trip", system="You plan trips.")
    talk.extend({"role": "user", "content": f"What about tea, number {n}?"} for n in range(3))
    memory.remember("Ana lives in Lisbon", tags=["home"], session="s")
    for key in ("drink", "food"):
        memory.remember("tea", kind="item", namespace=("likes",), key=key)
    memory.forget(memory.remember("cake", kind="item", namespace=("likes",), key="food").id)
    memory.remember("figs", kind="item", namespace=("likes",), key="food")
    planner = memory.as_user(memory.user, agent="planner")
    planner.conversation("plans").add("user", "I plan to visit Boris Prado.")


def test_everything_of_every_user_is_copied_once(ana, there, tmp_path):
    """A copy exports the same lines, agents and items included; a second one adds what is new."""
    fill(ana)
    ana.as_user("ben").remember("Ben likes boats")
    reports = ana.copy_to(there)
    assert [each.users for each in reports] == [("ana",), ("ben",)]
    for user in ("ana", "ben"):
        own = exported(ana.as_user(user), tmp_path / "own.jsonl")[1:]
        assert lines(there, tmp_path, user) == own
    assert not any(each.records or each.messages for each in ana.copy_to(there))
    with opened(there) as copy:
        assert "plans" not in copy._services.store.conversations(Scope("ana", "other"))
        assert copy.verify() == []
    ana.remember("new here")
    ana.conversation("trip").add("user", "And boats?")
    report, _ = ana.copy_to(there)
    assert (report.records, report.messages) == (2, 1)


def test_only_the_users_that_are_named_are_copied(ana, there):
    """Others stay behind; one that is not there is named, with those that are like it."""
    ana.remember("tea")
    ana.as_user("ben").remember("boats")
    assert [each.users for each in ana.copy_to(there, users=["ben"])] == [("ben",)]
    with opened(there, "ben") as copy:
        assert copy.admin.users() == ["ben"]
    with pytest.raises(NotFound, match="no user 'bem'; there is 'ben'"):
        ana.copy_to(there, users=["bem"])


def test_a_source_in_use_is_copied_as_of_one_moment(ana, there):
    """What is added while a user is copied waits for the next copy."""
    ana.remember_many(f"note {number}" for number in range(600))

    def tell(done, _):
        if done == 500:
            ana.remember("meanwhile")

    assert ana.copy_to(there, progress=tell)[0].records == 600
    assert ana.copy_to(there)[0].records == 1


def test_notes_go_with_the_memory(ana, there, tmp_path):
    """Files, what a person wrote into them and has not been read yet, and the history arrive."""
    fill(ana)
    ana.notes.sync()
    ana.notes.append_history_rotated("Talked of tea.")
    planner = ana.as_user("ana", agent="planner")
    planner.notes.sync()
    file = ana.notes.folder / "MEMORY.md"
    file.write_text(file.read_text() + "\n## By hand\n\n- Ana sails on Fridays.\n")
    written = {path.name: path.read_text() for path in ana.notes.folder.glob("*.md")}
    ana.copy_to(there)
    with opened(there) as copy:
        folder = copy.notes.folder
        assert folder != ana.notes.folder
        assert {path.name: path.read_text() for path in folder.glob("*.md")} == written
        assert copy.notes.search("tea")[0].text == "Talked of tea."
        assert (folder / "agents" / "planner" / "MEMORY.md").exists()
        assert [fact.content for fact in copy.notes.sync().added] == ["Ana sails on Fridays."]
    path = tmp_path / "ana.jsonl"
    ana.export(path)
    with closing(remembering(str(tmp_path / "c.db"))) as other:
        assert other.import_(path).left_out == ()
        assert other.notes.read_file() == file.read_text()
        file.write_text("- Something else.\n")
        ana.export(tmp_path / "later.jsonl")
        told = other.import_(tmp_path / "later.jsonl").left_out
        left = other.notes.folder / "MEMORY.md"
        assert told == (f"{left}: it is there already, and says something else",)
    with closing(remembering(":memory:")) as nowhere:
        assert "no folder for them; set notes.folder" in nowhere.import_(path).left_out[0]


def test_notes_that_cannot_be_read_are_left_out_and_named(ana, there):
    """What is no text keeps nothing else from being copied."""
    ana.remember("Ana likes tea")
    ana.notes.sync()
    (ana.notes.folder / "MEMORY.md").write_bytes(b"\xff\xfe")
    (report,) = ana.copy_to(there)
    assert "is not UTF-8" in report.left_out[0]
    assert report.records == 1


def test_places_that_make_no_sense_are_refused(ana, there, tmp_path):
    """A folder that is not there; a copy to itself changes nothing."""
    ana.remember("tea")
    (told,) = ana.copy_to(tmp_path / "a.db")
    assert told.records == 0
    with pytest.raises(StoreError, match="nowhere"):
        ana.copy_to(tmp_path / "nowhere" / "b.db")
    assert not Path(there).exists()

"""A copy of users to another store is whole, and can be cut short."""

import pytest
from file_samples import exported, opened
from samples import User

from memoranda.errors import InvalidInput, NotFound, StoreError


@pytest.fixture
def ana(tmp_path):
    """Ana's memory in a file."""
    with opened("ana", tmp_path / "a.db") as memory:
        yield memory


@pytest.fixture
def there(tmp_path):
    """Where it is copied to."""
    return tmp_path / "b.db"


def test_everything_of_every_user_is_copied_once(ana, there, tmp_path):
    """A copy exports the same lines, those of agents included; a second one adds what is new."""
    user = User(ana._services.store, ana._scope)
    for each in (user, user.planner):
        each.apply(*each.prepare())
    ben = ana.as_user("ben")
    ben.remember("Ben likes boats")
    assert [each.users for each in ana.copy_to(there)] == [("ana",), ("ben",)]
    assert not any(each.records or each.messages for each in ana.copy_to(there))
    with opened("ana", there) as copy:
        for one, two in ((ana, copy), (ben, copy.as_user("ben"))):
            assert exported(two, tmp_path / "two")[1:] == exported(one, tmp_path / "one")[1:]
        assert copy.verify() == []
    ana.remember("new here")
    ana.conversation("new").add("user", "And boats?")
    report, _ = ana.copy_to(there)
    assert (report.records, report.messages) == (2, 1)


def test_merges_outlive_a_copy_and_an_erasure_after_it(ana, there, tmp_path):
    """Also where the names in the records were not looked for yet."""
    ana.remember("Robert Miller works at Acme")
    ana.remember("Bobby Zett came to dinner")
    ana.merge_entities("Robert Miller", "Bobby Zett")
    ana.copy_to(there)
    ana.export(tmp_path / "a.jsonl")
    with opened("ana", there) as copied, opened("ana", tmp_path / "c.db") as imported:
        imported.import_(tmp_path / "a.jsonl")
        for memory in (copied, imported):
            memory.forget(memory.remember("The cat is called Mitzi").id, erase=True)
            assert memory.entity("Robert Miller").aliases == ("Bobby Zett",)


def test_only_the_users_that_are_named_are_copied(ana, there):
    """Others stay behind; one that is not there is named, with those that are like it."""
    ana.remember("tea")
    ana.as_user("ben").remember("boats")
    assert [each.users for each in ana.copy_to(there, users=["ben"])] == [("ben",)]
    with opened("ben", there) as copy:
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
    """Files, what a person wrote into them and has not been read yet, and the history arrive.

    They are left out, and named, where there is no folder for them, or another text.
    """
    ana.remember("Ana lives in Lisbon")
    for memory in (ana, ana.as_user("ana", agent="planner")):
        memory.notes.sync()
        memory.notes.append_history_rotated("Talked of tea.")
    file = ana.notes.folder / "MEMORY.md"
    file.write_text(file.read_text() + "\n## By hand\n\n- Ana sails on Fridays.\n")

    def files(memory):
        found = memory.notes.folder.rglob("*.md")
        return {str(path.relative_to(memory.notes.folder)): path.read_text() for path in found}

    written = files(ana)
    assert "agents/planner/HISTORY.md" in written
    ana.copy_to(there)
    with opened("ana", there) as copy:
        assert copy.notes.folder != ana.notes.folder
        assert files(copy) == written
        assert [fact.content for fact in copy.notes.sync().added] == ["Ana sails on Fridays."]
    path = tmp_path / "ana.jsonl"
    ana.export(path)
    with opened("ana", tmp_path / "c.db") as other, opened("ana") as nowhere:
        assert other.import_(path).left_out == ()
        assert files(other) == written
        file.write_text("- Something else.\n")
        told = ana.copy_to(tmp_path / "c.db")[0].left_out
        left = other.notes.folder / "MEMORY.md"
        assert told == (f"{left}: it is there already, and says something else",)
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
    """A folder that is not there, and the store itself, by whatever path."""
    ana.remember("tea")
    (tmp_path / "link.db").symlink_to("a.db")
    for place in ("a.db", "link.db"):
        with pytest.raises(InvalidInput, match=rf"{place} is the store that is copied"):
            ana.copy_to(tmp_path / place)
    assert ana.count() == 1
    with pytest.raises(StoreError, match="nowhere"):
        ana.copy_to(tmp_path / "nowhere" / "b.db")
    assert not there.exists()

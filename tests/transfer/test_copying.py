"""A copy of users to another store is whole, can be repeated and cut short, and mixes nothing."""

import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from both_stores import remembering
from file_samples import every, exported, prune

from memoranda import Memory
from memoranda.errors import InvalidInput, NotFound, StoreError
from memoranda.model.actions import Spend, Touch
from memoranda.model.models import Scope
from memoranda.model.usage import Usage
from memoranda.testing.embedders import HashEmbedder

CHILD = Path(__file__).parent / "copy_child.py"


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
    """Say, remember, correct, forget, erase and recall something, and keep notes of it."""
    talk = memory.conversation("trip", system="You plan trips.")
    for number in range(4):
        talk.add("user", f"What about tea in Porto, number {number}?")
    talk.pop()
    prune(memory, "trip", (0, 1, "tea"))
    home = memory.remember("Ana lives in Lisbon", tags=["home"], session="s")
    memory.correct(home.id, "Ana lives in Porto")
    memory.forget(memory.remember("Ana has a cat").id)
    memory.forget(memory.remember("Ana has a secret").id, erase=True)
    for value in ("tea", "coffee"):
        memory.remember(value, kind="item", namespace=("likes",), key="drink")
    gone = memory.remember("gone", kind="item", namespace=("likes",), key="food")
    memory.forget(gone.id)
    memory.remember("back", kind="item", namespace=("likes",), key="food")
    planner = memory.as_user(memory.user, agent="planner")
    planner.conversation("plans").add("user", "I plan to visit Boris Prado.")
    planner.remember("The planner likes maps")
    store, now = memory._services.store, memory._services.clock.now()
    store.apply(planner._scope, [Spend("reflect", "m", Usage(requests=2, cost=0.5), now)])
    store.apply(memory._scope, [Touch((every(memory)[0].id,), now, "trip")])
    memory.embed_pending()


def test_everything_of_every_user_is_copied_once(ana, there, tmp_path):
    """A copy exports the same lines, agents and items included; a second one changes nothing."""
    ben = ana.as_user("ben")
    fill(ana)
    ben.remember("Ben likes boats")
    report = ana.copy_to(there)
    assert [each.user for each in report.users] == ["ana", "ben"]
    assert report.differences == ()
    assert report.users[0].lines["erased"] == 1
    for user in ("ana", "ben"):
        own = exported(ana.as_user(user), tmp_path / "own.jsonl")[1:]
        assert lines(there, tmp_path, user) == own
    again = ana.copy_to(there)
    assert not any(each.records or each.messages or each.updated for each in again.users)
    assert [each.digest for each in again.users] == [each.digest for each in report.users]
    with opened(there) as copy:
        store, scope = copy._services.store, copy._scope
        assert "plans" not in store.conversations(Scope("ana", "other"))
        assert copy.as_user("ana", agent="planner").usage()[0].usage.requests == 2
        assert copy.history(every(ana)[0].id) == ana.history(every(ana)[0].id)
        assert store.user_metadata(scope) == ana._services.store.user_metadata(ana._scope)
        assert copy.verify() == []


def test_only_the_users_that_are_named_are_copied(ana, there):
    """Others stay behind; one that is not there is named, with those that are like it."""
    ana.remember("tea")
    ana.as_user("ben").remember("boats")
    assert [each.user for each in ana.copy_to(there, users=["ben"]).users] == ["ben"]
    with opened(there, "ben") as copy:
        assert copy.admin.users() == ["ben"]
    with pytest.raises(NotFound, match="no user 'bem'; there is 'ben'"):
        ana.copy_to(there, users=["bem"])


def test_vectors_are_copied_where_both_stores_name_one_model(ana, there):
    """The copy finds by meaning at once; of another model, records wait for their vectors."""
    fill(ana)
    asked = "where does she live?"
    found = [(hit.record.id, hit.score) for hit in ana.search(asked)]
    report = ana.copy_to(there)
    assert report.users[0].vectors > 0
    with opened(there) as copy:
        assert copy.stats().pending_vectors == 0
        assert [(hit.record.id, hit.score) for hit in copy.search(asked)] == found
    other = HashEmbedder(dimensions=8)
    with Memory(f"{there}.other", user="ana", embedder=other) as elsewhere:
        elsewhere.conversations()
    assert ana.copy_to(f"{there}.other").users[0].vectors == 0


def test_a_copy_is_brought_up_to_date(ana, there, tmp_path):
    """What has changed since, in whatever way, is changed in the copy; what is new is added."""
    fill(ana)
    ana.copy_to(there)
    kept = next(each for each in every(ana) if each.content == "Ana lives in Porto")
    ana.confirm(kept.id)
    ana.update(kept.id, tags=["moved"])
    ana.correct(kept.id, "Ana lives in Faro")
    ana.remember("milk", kind="item", namespace=("likes",), key="drink")
    talk = ana.conversation("trip")
    talk.pin(talk.messages[0].id)
    talk.add("user", "And boats?")
    talk.prune(max_tokens=40)
    ana.conversation("later").add("user", "Hello.")
    ana.consolidate()
    report = ana.copy_to(there)
    assert report.differences == ()
    assert report.users[0].updated > 2
    assert lines(there, tmp_path) == exported(ana, tmp_path / "own.jsonl")[1:]
    with opened(there) as copy:
        assert copy.search("milk", kind="item")[0].record.content == "milk"
        assert copy.search("where does Ana live?")[0].record.content == "Ana lives in Faro"
        assert copy.verify() == []


@pytest.mark.parametrize(
    ("own", "complaint"),
    [
        (lambda copy: copy.remember("of its own"), r"has fact_\S+ in .*b\.db, but not in .*a\.db"),
        (lambda copy: copy.conversation("own"), "has the conversation 'own' in .*b.db, but not in"),
        (lambda copy: copy.conversation("trip").add("user", "Hi"), r"has ep_\S+ in .*b\.db"),
        (
            lambda copy: copy.conversation("trip").add("assistant", "", tool_calls=[
                {"id": "c", "function": {"name": "f", "arguments": "{}"}}
            ]),
            r"the conversation 'trip' has msg_\S+ in .*b\.db alone",
        ),
    ],
)  # fmt: skip
def test_what_a_user_has_elsewhere_is_never_mixed(ana, there, tmp_path, own, complaint):
    """A user who has something there that is not here is refused, and left as they are."""
    fill(ana)
    ana.copy_to(there)
    with opened(there) as copy:
        own(copy)
    before = lines(there, tmp_path)
    ana.remember("new here")
    with pytest.raises(InvalidInput, match=complaint):
        ana.copy_to(there)
    after = lines(there, tmp_path)
    assert [each for each in after if "new here" not in str(each)] == before


def test_a_conversation_that_was_deleted_there_comes_back(ana, there, tmp_path):
    """What is here is there again, once."""
    fill(ana)
    ana.copy_to(there)
    with opened(there) as copy:
        copy.delete_conversation("trip")
    assert ana.copy_to(there).differences == ()
    assert lines(there, tmp_path) == exported(ana, tmp_path / "own.jsonl")[1:]


def test_a_difference_is_named(ana, there, monkeypatch):
    """What was changed behind the back of a copy, or got lost, is told with its id and its keys."""
    fill(ana)
    ana.copy_to(there)
    with opened(there) as copy, copy._services.store.write() as connection:
        connection.run("DELETE FROM model_usage")
    monkeypatch.setattr("memoranda.transfer.copying.write_entries", lambda *_, **__: None)
    (told,) = ana.copy_to(there, users=["ana"]).users
    assert told.differences[0].startswith("usage reflect planner is missing")
    assert "usage: 1, but 0 in the copy" in told.differences


def test_a_change_of_one_record_is_named(ana, there, monkeypatch):
    """The first record that is another is named with what differs."""
    fact = ana.remember("tea")
    ana.copy_to(there)
    with opened(there) as copy, copy._services.store.write() as connection:
        connection.run("UPDATE records SET content = 'coffee', access_count = 3")
    monkeypatch.setattr("memoranda.transfer.copying.write_entries", lambda *_, **__: None)
    report = ana.copy_to(there)
    assert report.differences == (
        f"ana: record {fact.id} is another in the copy: content, access_count",
    )


def test_a_copy_goes_on_after_a_kill(ana, there, tmp_path):
    """Killed in the midst of writing, it goes on there, and ends with the same."""
    for name in ("ana", "ben"):
        memory = ana.as_user(name)
        memory.remember_many(f"note {number} of {name}" for number in range(700))
        memory.conversation("trip").add("user", "Hello.")
    command = [sys.executable, CHILD, ana._services.store.location, there, "3"]
    child = subprocess.run(command, check=False)  # noqa: S603 - our own program
    assert child.returncode == -signal.SIGKILL
    report = ana.copy_to(there)
    assert report.differences == ()
    assert [each.records for each in report.users] == [0, 201]
    for user in ("ana", "ben"):
        own = exported(ana.as_user(user), tmp_path / "own.jsonl")[1:]
        assert lines(there, tmp_path, user) == own
    with opened(there) as copy:
        assert copy.verify() == []


def test_a_source_in_use_is_copied_as_of_one_moment(ana, there):
    """What is added while a user is copied waits for the next copy, and is no difference."""
    ana.remember_many(f"note {number}" for number in range(600))

    def tell(done, total):
        assert 0 <= done <= total
        if done == 500:
            ana.remember("meanwhile")

    report = ana.copy_to(there, progress=tell)
    assert (report.differences, report.users[0].records) == ((), 600)
    assert ana.copy_to(there).users[0].records == 1


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
    report = ana.copy_to(there)
    assert report.differences == ()
    assert report.users[0].lines["notes"] == 2
    with opened(there) as copy:
        folder = copy.notes.folder
        assert folder != ana.notes.folder
        assert {path.name: path.read_text() for path in folder.glob("*.md")} == written
        assert copy.notes.search("tea")[0].text == "Talked of tea."
        assert (folder / "agents" / "planner" / "MEMORY.md").exists()
        assert [fact.content for fact in copy.notes.sync().added] == ["Ana sails on Fridays."]
    with pytest.raises(InvalidInput, match="but not in"):
        ana.copy_to(there)
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


def test_notes_are_brought_up_to_date_but_no_edit_is_written_over(ana, there):
    """A copy's notes follow those of the source, unless a person has edited them since."""
    ana.remember("Ana likes tea")
    ana.notes.sync()
    ana.copy_to(there)
    ana.remember("Ana likes boats")
    ana.notes.sync()
    assert ana.copy_to(there).differences == ()
    with opened(there) as copy:
        file = copy.notes.folder / "MEMORY.md"
        assert file.read_text() == ana.notes.read_file()
        file.write_text(file.read_text() + "- Ana sails.\n")
        (copy.notes.folder / "HISTORY.md").write_text("## 2026-03-02T09:00Z\n\nBy hand.\n")
    ana.remember("Ana likes maps")
    ana.notes.append_history("Talked of maps.")
    ana.notes.sync()
    (told,) = ana.copy_to(there).users
    left = (file, file.with_name("HISTORY.md"))
    assert told.left_out == tuple(
        f"{path}: it is there already, and says something else" for path in left
    )
    assert "notes is another in the copy: lines, files" in told.differences[0]


def test_notes_that_cannot_be_read_are_left_out_and_named(ana, there):
    """What is no text keeps nothing else from being copied."""
    ana.remember("Ana likes tea")
    ana.notes.sync()
    (ana.notes.folder / "MEMORY.md").write_bytes(b"\xff\xfe")
    (told,) = ana.copy_to(there).users
    assert "is not UTF-8" in told.left_out[0]
    assert (told.records, told.differences) == (1, ())


def test_places_that_make_no_sense_are_refused(ana, there, tmp_path):
    """The same place, one that lasts no longer than the copy, and a memory of nobody."""
    with pytest.raises(NotFound, match="has no users, so there is nothing to copy"):
        ana.copy_to(there)
    ana.remember("tea")
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "a.db")
    for same in (str(tmp_path / "a.db"), link):
        with pytest.raises(InvalidInput, match="is the place to copy from"):
            ana.copy_to(same)
    with pytest.raises(InvalidInput, match=":memory: lasts no longer"):
        ana.copy_to(":memory:")
    with pytest.raises(StoreError, match="nowhere"):
        ana.copy_to(tmp_path / "nowhere" / "b.db")
    assert not Path(there).exists()

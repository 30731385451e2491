"""Users and conversations that are deleted: nowhere listed, and not brought back by anybody."""

import pytest
from test_memory_erasing import SAID, WORDS, remains

from memoranda import Settings, errors


@pytest.fixture
def folder(tmp_path):
    """A folder of its own for a file of memory."""
    made = tmp_path / "files"
    made.mkdir()
    return made


def filled(memory):
    """Give a memory records, a conversation, notes and history; return its conversation."""
    memory.remember(SAID, tags=["Brimstone"])
    chat = memory.conversation("trip", system=f"Be kind to {SAID}")
    chat.add("user", SAID)
    chat.add("assistant", "understood")
    chat.end()
    memory.notes.append_history_rotated(SAID)
    assert "xylophone" in memory.notes.read_memory()
    memory.recall("xylophone")
    return chat


def test_a_deleted_user_is_in_no_byte_and_on_no_list(folder, opened):
    """Records, messages, names, notes and the user's own name are gone; others have all of it."""
    memory = opened(folder / "m.db", user="Quetzalcoatl-81723")
    other = memory.as_user("bob")
    filled(memory)
    other.remember("Bob likes tea")
    other.notes.append_history("Bob had tea")
    before = (other.records(), other.notes.read_memory(), other.notes.history())
    admin = other.admin
    assert admin.users() == ["Quetzalcoatl-81723", "bob"]
    receipt = admin.delete_user("Quetzalcoatl-81723")
    assert (receipt.erased, receipt.purged, receipt.unpurged) == (True, True, None)
    assert (receipt.records >= 3, receipt.messages, receipt.conversations) == (True, 2, 1)
    assert receipt.notes >= 3
    assert admin.users() == ["bob"]
    assert remains(folder, *WORDS) == []
    assert [path for path in folder.rglob("*") if "81723" in path.name] == []
    assert (other.records(), other.notes.read_memory(), other.notes.history()) == before
    assert other.verify() == []


@pytest.mark.parametrize("erase", [True, False])
def test_whatever_was_open_raises_and_brings_nobody_back(folder, opened, erase):
    """Memory, conversation and notes of before raise, for good; who opens anew begins empty."""
    owner = opened(folder / "m.db", user="root")
    memory = owner.as_user("ana")
    agent = owner.as_user("ana", agent="planner")
    chat, notes = filled(memory), memory.notes
    owner.admin.delete_user("ana", erase=erase)
    anew = owner.as_user("ana")
    for _ in range(2):
        for use in (
            lambda: memory.remember("back"),
            memory.records,
            memory.stats,
            lambda: memory.search("xylophone"),
            lambda: memory.recall("xylophone"),
            memory.conversations,
            lambda: memory.conversation("new"),
            lambda: agent.remember("back"),
            lambda: chat.add("user", "back"),
            lambda: chat.messages,
            lambda: chat.context("xylophone"),
            notes.read_memory,
            lambda: notes.write_memory("- back"),
            lambda: notes.append_history("back"),
            lambda: notes.search("xylophone"),
            notes.history,
        ):
            with pytest.raises(errors.UserDeleted, match="'ana' was deleted"):
                use()
        anew.remember("new")
    assert [record.content for record in anew.records()] == ["new"]
    assert {hit.record.content for hit in anew.search("xylophone floorboard")} <= {"new"}
    assert anew.conversations() == []
    assert owner.admin.users() == ["ana"]


def test_the_notes_of_others_stay_in_a_shared_folder(tmp_path, opened):
    """Only files of memoranda are removed, and whatever else is in the folder stays."""
    shared = tmp_path / "project"
    chosen = Settings(timezone="UTC", notes={"folder": str(shared)}, user="ana")
    memory = opened(tmp_path / "m.db", settings=chosen)
    memory.remember(SAID)
    memory.notes.append_history_rotated(SAID)
    assert memory.notes.read_memory()
    (shared / "README.md").write_text("mine")
    assert memory.admin.delete_user("ana").notes == 3
    assert sorted(path.name for path in shared.iterdir() if path.suffix) == ["README.md"]


def test_an_unknown_user_is_named_with_the_near_ones(memory):
    """Deleting a user who is not there says who is."""
    memory.remember("tea")
    with pytest.raises(errors.NotFound, match="no user 'anna'; there is 'ana'"):
        memory.admin.delete_user("anna")
    memory.admin.delete_user("ana")
    with pytest.raises(errors.NotFound, match="no user 'ana'; there are none yet"):
        memory.admin.delete_user("ana")


def test_background_work_brings_nobody_back(opened):
    """Learning and vectors that were on their way when the user went are dropped."""
    owner = opened(user="root")
    ana = owner.as_user("ana")
    chat = ana.conversation("trip")
    chat.add("user", "I live in Porto and I work as a baker.")
    owner.admin.delete_user("ana")
    owner.embed_pending()
    with pytest.raises(errors.UserDeleted):
        ana.consolidate()
    assert owner.admin.users() == []


@pytest.mark.parametrize("erase", [True, False])
def test_a_deleted_conversation_is_on_no_list(folder, opened, erase):
    """Conversations, stats, search, recall and sessions know it no more; others stay whole."""
    memory = opened(folder / "m.db")
    filled(memory)
    kept = memory.conversation("work")
    kept.add("user", "understood")
    fact = memory.records(kind="fact")[0]
    receipt = memory.delete_conversation("trip", erase=erase)
    assert (receipt.id, receipt.erased, receipt.purged) == ("trip", erase, erase)
    assert (receipt.messages, receipt.conversations) == (2, 1)
    assert set(receipt.independent) >= ({fact.id} if erase else set())
    assert [info.id for info in memory.conversations()] == ["work"]
    assert memory.stats().conversations == 1
    assert [session.id for session in memory.sessions()] == ["work"]
    assert memory.records(session="trip") == []
    assert {hit.record.session_id for hit in memory.search("understood")} <= {"work", None}
    assert [message.content for message in kept.messages] == ["understood"]
    assert memory.get(fact.id) is not None
    assert memory.conversation("trip").messages == ()
    assert memory.verify() == []
    if erase:
        memory.forget(fact.id, erase=True)
        assert remains(folder, *WORDS) == []


def test_what_was_learned_only_there_goes_with_a_conversation(opened):
    """A fact that another conversation says, too, stays; one that it alone said goes."""
    memory = opened()
    for name, texts in {
        "one": ("I live in Porto.", "I am allergic to peanuts."),
        "two": ("I live in Porto.",),
    }.items():
        chat = memory.conversation(name)
        for text in texts:
            chat.add("user", text)
        chat.end()
    memory.consolidate()
    facts = [record.content for record in memory.records(kind="fact")]
    assert any("Porto" in fact for fact in facts)
    assert any("peanuts" in fact for fact in facts)
    memory.delete_conversation("one", erase=True)
    facts = [record.content for record in memory.records(kind="fact")]
    assert any("Porto" in fact for fact in facts)
    assert not any("peanuts" in fact for fact in facts)


def test_an_unknown_conversation_is_named_with_the_near_ones(memory):
    """Deleting a conversation that is not there says which are."""
    memory.conversation("trip")
    with pytest.raises(errors.NotFound, match=r"no conversation 'trips'.*there is 'trip'"):
        memory.delete_conversation("trips")
    memory.delete_conversation("trip")
    with pytest.raises(errors.NotFound, match="there are none yet"):
        memory.delete_conversation("trip")

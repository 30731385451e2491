"""Law 7: what was erased is nowhere any more. Law 11: what was believed stays told."""

from dataclasses import replace
from datetime import timedelta

import pytest
from steps import carry_out

from memoranda import Memory
from memoranda.model.changes import Insert
from memoranda.model.checks import content_hash
from memoranda.model.clock import IdFactory
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

SAID = "Quetzalcoatl Brimstone hides the xylophone under floorboard 81723"
WORDS = ("Quetzalcoatl", "quetzalcoatl", "Brimstone", "brimston", "xylophon", "81723", "floorboard")


def remains(folder, *words):
    """Return which words are still in which files."""
    return [
        (path.name, word)
        for path in folder.rglob("*")
        for word in words
        if path.is_file() and word.encode() in path.read_bytes()
    ]


def derived_from(memory, source, content):
    """Store a record that rests on ``source``, as consolidation will."""
    parts = memory._services
    record = replace(
        source,
        id=IdFactory(parts.clock).new("fact"),
        content=content,
        content_hash=content_hash(content),
        source_ids=(source.id,),
        origin="consolidation",
    )
    mentions = tuple(parts.extractor.extract(content))
    carry_out(parts.store, memory._scope, [Insert(record, mentions)])
    return memory.get(record.id)


@pytest.fixture
def file(tmp_path, opened):
    """A memory in a folder of its own, with other records around."""
    folder = tmp_path / "files"
    folder.mkdir()
    memory = opened(folder / "m.db")
    memory.remember_many([f"Ana likes tea number {n}" for n in range(20)])
    return memory, folder


def test_an_erased_text_is_in_no_byte_of_the_files(file):
    """No table, index, vector, history or free page holds a word of it, even before closing."""
    memory, folder = file
    record = memory.remember(SAID, tags=["Brimstone"], metadata={"x": "xylophone"})
    assert memory.search(SAID)[0].record.id == record.id
    memory.correct(memory.remember("filler").id, "other filler")
    assert remains(folder, "Quetzalcoatl")
    receipt = memory.forget(record.id, erase=True)
    assert (receipt.erased, receipt.purged) == (True, True)
    assert remains(folder, *WORDS) == []
    assert memory.get(record.id) is None
    assert memory.search("xylophone floorboard", limit=100) == [] or all(
        "xylophone" not in hit.record.content for hit in memory.search("xylophone", limit=100)
    )
    assert memory.entity("Quetzalcoatl Brimstone") is None
    assert [(c.action, c.reason) for c in memory.history(record.id)] == [
        ("erase", "erased on request")
    ]
    assert memory.verify() == []
    memory.close()
    assert remains(folder, *WORDS) == []


def test_copies_go_with_it(file):
    """The same words said in a conversation and remembered as a fact are erased together."""
    memory, folder = file
    memory.conversation("talk").add("user", SAID)
    fact = memory.remember(SAID)
    receipt = memory.forget(fact.id, erase=True)
    assert (len(receipt.copies), receipt.messages) == (1, 1)
    assert remains(folder, *WORDS) == []


def test_what_was_derived_goes_with_it(file):
    """Derived records, and what rests on them, go too, and the receipt names them."""
    memory, folder = file
    source = memory.remember(SAID)
    first = derived_from(memory, source, "Brimstone owns a xylophone")
    second = derived_from(memory, first, "Somebody owns a xylophone")
    corrected = memory.correct(second.id, "Brimstone sold the xylophone")
    receipt = memory.forget(source.id, erase=True)
    assert set(receipt.derived) == {first.id, second.id, corrected.id}
    assert all(memory.get(gone) is None for gone in receipt.derived)
    assert remains(folder, *WORDS) == []
    assert memory.verify() == []


def test_the_message_that_said_it_goes_too(file):
    """Erasing the episode of a message takes the message out of the transcript."""
    memory, folder = file
    chat = memory.conversation("c")
    chat.add("user", "hello")
    said = chat.add("user", SAID)
    chat.add("assistant", "understood")
    episode = next(r for r in memory.records(kind="episode") if r.content == SAID)
    receipt = memory.forget(episode.id, erase=True)
    assert receipt.messages == 1
    assert [message.content for message in chat.messages] == ["hello", "understood"]
    assert said.id not in [message.id for message in chat.messages]
    assert remains(folder, *WORDS) == []
    assert memory.verify() == []


def test_erasing_while_another_has_the_file_open_is_told_honestly(file, opened):
    """``purged`` says whether the free pages were overwritten; if so, nothing is left."""
    memory, folder = file
    other = opened(folder / "m.db")
    record = memory.remember(SAID)
    assert other.search(SAID)[0].record.id == record.id
    receipt = memory.forget(record.id, erase=True)
    assert receipt.purged == (remains(folder, *WORDS) == [])
    assert other.get(record.id) is None
    assert all(hit.record.id != record.id for hit in other.search(SAID))


def test_vectors_of_an_erased_text_are_not_put_back(tmp_path, opened):
    """A model that is at work while its text is erased puts nothing back."""
    memory = opened(tmp_path / "m.db", embedder=_Meanwhile())
    record = memory.remember(SAID)
    memory._services.embedder._inner.then = lambda: memory.forget(record.id, erase=True)
    memory.remember("Ana likes tea")
    memory.search("tea")
    assert memory.get(record.id) is None
    assert memory.verify() == []
    assert len(memory._services.embedder._rows) <= 3


class _Meanwhile(HashEmbedder):
    """Does something once while it embeds a batch."""

    then = None

    def embed(self, texts):
        work, self.then = self.then, None
        if work is not None:
            work()
        return super().embed(texts)


def test_as_of_tells_what_was_believed_then(opened):
    """Law 11: the past is as it was, before and after correcting and forgetting."""
    clock = FrozenClock()
    memory = opened(clock=clock)
    moments = [clock.now()]
    old = memory.remember("Ana lives in Porto")
    moments.append(clock.advance(timedelta(days=1)))
    new = memory.correct(old.id, "Ana lives in Lisbon")
    moments.append(clock.advance(timedelta(days=1)))
    memory.forget(new.id)
    clock.advance(timedelta(days=1))

    def is_active(moment):
        return [hit.record.id for hit in memory.search("where does Ana live", as_of=moment)]

    assert is_active(moments[0]) == [old.id]
    assert is_active(moments[1] - timedelta(milliseconds=1)) == [old.id]
    assert is_active(moments[1]) == [new.id]
    assert is_active(moments[2] - timedelta(milliseconds=1)) == [new.id]
    assert is_active(moments[2]) == []
    assert is_active(moments[0] - timedelta(days=1)) == []
    assert memory.search("where does Ana live") == []


def test_forgetting_frees_nobody_elses_file(tmp_path, opened):
    """An erasure in one file leaves a backup of it alone: a backup is the caller's own."""
    memory = opened(tmp_path / "m.db")
    record = memory.remember(SAID)
    memory.backup(tmp_path / "copy.db")
    memory.forget(record.id, erase=True)
    with Memory(tmp_path / "copy.db", user="ana", embedder=HashEmbedder()) as copy:
        assert copy.get(record.id) == record


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_whole_chain_goes_with_a_version(file, place):
    """Erasing any version of what was corrected erases all of them, and the receipt says so."""
    memory, folder = file
    first = memory.remember(SAID)
    second = memory.correct(first.id, f"{SAID} Still.")
    third = memory.correct(second.id, "Nothing under the boards.")
    chain = [first.id, second.id, third.id]
    gone = chain.pop(place)
    receipt = memory.forget(gone, erase=True)
    assert (receipt.records, receipt.versions) == (3, tuple(chain))
    assert remains(folder, *WORDS) == []
    assert [memory.get(each) for each in chain] == [None, None]


def test_a_short_word_takes_no_other_with_it(file):
    """Erasing "yes" here leaves "yes" of another conversation where it is, and names it."""
    memory, _ = file
    for name in ("here", "there"):
        memory.conversation(name).add("user", "yes")
    here, there = (memory.records(session=name)[0].id for name in ("here", "there"))
    receipt = memory.forget(here, erase=True)
    assert (receipt.records, receipt.messages, receipt.independent) == (1, 1, (there,))
    assert [message.content for message in memory.conversation("there").messages] == ["yes"]
    assert memory.conversation("here").messages == ()

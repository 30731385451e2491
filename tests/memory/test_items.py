"""Items: an application's own values under a namespace and a key, and no memories."""

from datetime import UTC, datetime, timedelta

import pytest
from noting import noting
from tables import each_row

from memoranda import errors
from memoranda.model.models import MEMORY_KINDS
from memoranda.testing.clocks import FrozenClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
CODE = "  def add(a, b):\n\treturn a + b\r\n\u2028# Ana lives in Lisbon. \U0001f408  \n"
# What a person could say of themselves, were it said and not kept by an application.
FACTS = ("Ana lives in Lisbon.", "Ana likes green tea.", "My dog is called Rex.")


def put(memory, content, *namespace, key="k", **more):
    """Write an item."""
    return memory.remember(content, kind="item", namespace=namespace, key=key, **more)


def test_what_a_list_holds_is_written_together(memory):
    """Items and memories in one transaction; the second of a key replaces the first."""
    place = {"kind": "item", "namespace": ("a",), "key": "k"}
    one, fact, two = memory.remember_many(
        [{"content": "one", **place}, "Ana likes tea", {"content": "two", **place}]
    )
    assert one.id == two.id != fact.id
    assert memory.get(namespace=("a",), key="k").content == "two"
    assert memory.stats().records["item"] == 1


def test_no_item_is_found_unasked(memory):
    """Search, recall and context have the same hits with the same scores as without items."""

    def seen():
        question = "Where does Ana live, and what tea does she like?"
        hits = memory.search(question, limit=20)
        context = memory.conversation("talk").context(question)
        return [(hit.record.id, hit.score) for hit in hits], context.messages

    memory.remember("Ana lives in Porto.")
    memory.remember("Ana's tea is in the kitchen.")
    before = seen()
    for number, text in enumerate(FACTS * 5):
        put(memory, text, "app", key=f"k{number}")
    assert seen() == before
    assert {hit.record.kind for hit in memory.search("Ana tea", kind="item")} == {"item"}
    assert memory.entity("Rex") is None


def test_no_item_is_learned_from(tmp_path):
    """Neither notes nor consolidation, decay, enrichment, reflection or audit know of any."""
    clock = FrozenClock(START)
    with noting(tmp_path / "memory.db", clock=clock) as memory:
        for number, text in enumerate(FACTS * 3):
            put(memory, text, "app", key=f"k{number}")
        before = memory.records()
        memory.notes.sync()
        clock.advance(timedelta(days=400))
        memory.maintain()
        assert memory.records() == before
        assert all(memory.count(kind=kind.value) == 0 for kind in MEMORY_KINDS)
        assert not any(text in memory.notes.read_memory() for text in FACTS)
        assert memory.audit().entries == 0


@each_row(
    ("arguments", "message"),
    [
        ({"namespace": ("a",)}, "an item needs a key"),
        ({"kind": "fact", "key": "k"}, "key='k' is of items; add kind='item'"),
        ({"kind": "fact", "namespace": ("a",)}, "is of items; add kind='item'"),
        ({"key": "k", "namespace": "a/b"}, "namespace='a/b' must be a tuple of texts"),
        ({"key": "k", "namespace": 7}, "namespace=7 must be a tuple of texts"),
        ({"key": "k", "namespace": ("a", 7)}, "a part of namespace must be text, got int: 7"),
        ({"key": "k", "namespace": ("a", "")}, "a part of namespace is empty"),
        ({"key": "", "namespace": ("a",)}, "key is empty"),
        ({"key": 7}, "key must be text, got int: 7"),
        ({"key": "k" * 3_000}, "take 3,000 bytes; they may take 2,000"),
        ({"key": "k", "content": "a\x00"}, "content holds a NUL character"),
        ({"key": "k", "session": "s"}, "session='s' is of memories"),
        ({"key": "k", "role": "user"}, "role='user' is of memories"),
        ({"key": "k", "confidence": 0.5}, r"confidence=0\.5 is of memories"),
        ({"key": "k", "decay_rate": 0.5}, r"decay_rate=0\.5 is of memories"),
        ({"key": "k", "event_time": START}, "event_time=.* is of memories"),
    ],
)
def test_what_cannot_be_an_item_is_refused(memory, arguments, message):
    """The message names the value and what to write instead; nothing is stored."""
    with pytest.raises(errors.InvalidInput, match=message):
        memory.remember(**{"content": "x", "kind": "item"} | arguments)
    assert memory.count() == 0


def test_what_is_asked_wrongly_is_refused(memory):
    """A record has an id, an item a key; nobody corrects or confirms an item."""
    item = put(memory, "value", "a")
    for wrong in (
        memory.get,
        lambda: memory.get(item.id, key="k"),
        lambda: memory.get(namespace=("a",)),
        memory.forget,
        lambda: memory.namespaces("a"),
        lambda: memory.namespaces(depth=0),
        lambda: memory.correct(item.id, "other"),
        lambda: memory.confirm(item.id),
    ):
        with pytest.raises(errors.InvalidInput):
            wrong()
    assert memory.get(item.id) == item


def test_items_move_with_the_rest(opened, tmp_path):
    """An export carries them; an import leaves those that are there, and adds the others once."""
    memory, other = opened(), opened()
    put(memory, CODE, "a", "b", tags=["t"], metadata={"v": [1]})
    put(memory, "", "a", key="blank")
    memory.forget(put(memory, "gone", "a", key="gone").id)
    put(memory, "here", "a", key="gone")
    put(memory, "theirs", "c")
    held = put(other, "ours", "c")
    memory.export(tmp_path / "memory.jsonl")
    for _ in range(2):
        other.import_(tmp_path / "memory.jsonl")
        assert other.get(namespace=("c",), key="k") == held
        for key in ("k", "blank", "gone"):
            place = {"namespace": ("a", "b") if key == "k" else ("a",), "key": key}
            assert other.get(**place) == memory.get(**place)
        assert other.count() == 4
    assert other.search("add", kind="item")[0].record.content == CODE

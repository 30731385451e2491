"""Items: one value for each key of a user, or of an agent of one, apart from memories."""

from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st
from samples import DIMENSIONS, LATER, MODEL, UNREAD, moment, new_id, vector
from steps import do

from laws.base import ONE_STORE, Contract
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.query import Filter, IndexVersion

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
PART = st.sampled_from(
    ['a","b', "a", "b", '"', ",", "a,", "\\", "-", "\x01", "ä", "日本", "😀"]
) | (TEXT.filter(str.strip))
NAMESPACE = st.lists(PART, max_size=4).map(tuple)
WRITERS, TURNS = 4, 10


def waiting(user):
    """Return the texts of the items that wait for their vectors."""
    where = Filter.at_any_time(kinds=(Kind.ITEM,), waiting="vectors")
    user.store.queue_newest()
    return user.page(where)


class ItemContract(Contract):
    """An item is what was last written under its key, and no memory."""

    def test_a_replacement_keeps_id_and_age(self, ana, reopen):
        """All else is of the last write, nothing of the one before; it leaves no version."""
        first = ana.put("k", "one", "a", tags=("t",), valid_until=moment(10**6))
        new = {"tags": ("u", "v"), "metadata": MappingProxyType({"n": 2}), "origin": "app"}
        second = ana.put("k", "two", "a", **new)
        assert (second.id, second.created_at) == (first.id, first.created_at)
        assert second.content_hash == content_hash("two")
        assert second.event_time > first.event_time
        assert (second.content, second.valid_until) == ("two", None)
        assert {name: getattr(second, name) for name in new} == new
        assert len(ana.history(first.id)) == 1
        ana.store = reopen(ana.store)
        assert ana.item("k", "a") == second
        assert ana.page(Filter.at_any_time(namespace=())) == ["two"]
        third = ana.insertion("three", kind=Kind.ITEM, key="k", namespace=("a",)).record
        (stored,) = ana.apply(do.Insert(third))
        assert (stored.record.id, stored.record.created_at) == (first.id, first.created_at)

    @given(namespace=NAMESPACE, key=TEXT.filter(str.strip), text=TEXT)
    @ONE_STORE
    def test_any_names_and_text_come_back(self, ana, namespace, key, text):
        """Any Unicode is kept as part, key and content, exactly; also blanks and nothing."""
        held = ana.put(key, text, *namespace)
        assert (held.namespace, held.key, held.content) == (namespace, key, text)
        assert namespace in ana.namespaces(Filter(now=LATER, namespace=()))

    @given(namespaces=st.sets(NAMESPACE, max_size=6), prefix=NAMESPACE)
    @ONE_STORE
    def test_a_namespace_holds_those_below_it(self, ana, namespaces, prefix):
        """By whole parts, whatever characters they have; with a key it is meant exactly."""
        key = new_id("key")
        for each in namespaces | {prefix}:
            ana.put(key, "value", *each)
        where = Filter(now=LATER, namespace=prefix)
        found = {item.namespace for item in ana.records(where) if item.key == key}
        below = {each for each in namespaces | {prefix} if each[: len(prefix)] == prefix}
        assert found == below
        assert below <= set(ana.namespaces(where))
        assert ana.item(key, *prefix).namespace == prefix

    def test_memories_are_as_if_there_were_no_items(self, store, ana):
        """No read that does not ask for items tells of one; nor do writes of theirs."""
        store.reset_vectors(MODEL, DIMENSIONS)
        ana.embed(ana.remember("Zoe drinks tea", "Dan eats cake"))
        before, version = ana.memories(), ana.index_changes(IndexVersion()).version
        revision = ana.fact_revision()
        for text in ("tea", "Zoe eats tea", "Dan eats cake"):
            item = ana.put("k", text, "a")
            ana.put(text, text)
            ana.embed([item])
        assert ana.memories() == before
        assert not ana.index_changes(version).reset
        assert ana.fact_revision() == revision
        assert ana.passing() == ["Zoe drinks tea", "Dan eats cake"]
        assert store.verify() == []

    def test_the_index_of_items_follows_the_content(self, store, ana):
        """A reader of items learns of a replacement; words and vector are those of the new text."""
        store.reset_vectors(MODEL, DIMENSIONS)
        item = ana.put("k", "old tea")
        ana.embed([item])
        before = ana.index_changes(IndexVersion(), items=True)
        assert len(before.vectors) == 1
        ana.put("k", "new coffee with milk")
        after = ana.index_changes(before.version, items=True)
        assert (after.reset, list(after.vectors)) == (False, [])
        assert after.revised["terms"].tolist() == [4]
        tea, coffee = ana.holders("tea", "coffee", items=True)
        assert (tea, [*coffee.values()]) == ({}, [1])
        assert waiting(ana) == ["new coffee with milk"]
        ana.embed([ana.item("k")], vector(0, 0, 1, 0))
        after = ana.index_changes(after.version, items=True)
        assert (after.reset, len(after.vectors), waiting(ana)) == (False, 1, [])
        ana.put("k", "new coffee with milk", tags=("t",))  # Of which nothing is derived anew.
        assert (waiting(ana), len(ana.index_changes(UNREAD, items=True).vectors)) == ([], 1)
        assert store.verify() == []

    def test_a_vector_of_the_former_content_is_passed_over(self, store, ana):
        """Whoever computed it while the item was replaced comes too late: it waits on."""
        store.reset_vectors(MODEL, DIMENSIONS)
        old = ana.put("k", "old")
        new = ana.put("k", "new")
        ana.embed([old])
        assert waiting(ana) == ["new"]
        ana.embed([new])
        assert waiting(ana) == []

    def test_a_key_that_was_forgotten_is_free(self, store, ana):
        """What is written then is a new item; the forgotten one stays as it was, by its id."""
        old = ana.put("k", "old", "a")
        ana.close(old)
        new = ana.put("k", "new", "a", created_at=moment(0))
        assert (new.id == old.id, new.created_at) == (False, moment(0))
        ana.close(new)
        ana.put("k", "newest", "a")
        assert [ana.found(item).content for item in (old, new)] == ["old", "new"]
        ana.erase(ana.item("k", "a"))
        assert ana.namespaces(Filter(now=LATER, namespace=())) == []
        store.purge()
        assert store.verify() == []

    def test_only_what_has_ended_is_retired(self, ana):
        """An item that was replaced by one without an end stays, though its end was planned."""
        old = ana.put("k", "old", valid_until=moment(10))
        new = ana.put("k", "new")
        ana.apply(do.Retire(old.id, moment(20), "expired"))
        assert ana.item("k") == new
        brief = ana.put("brief", "brief", valid_until=moment(10))
        ana.apply(do.Retire(brief.id, moment(20), "expired"))
        again = ana.put("brief", "again")
        assert (again.id, waiting(ana)) == (brief.id, ["new", "again"])

    def test_each_has_keys_of_its_own(self, ana, ben):
        """Another user, another agent and nobody's agent have items of their own under a key."""
        owners = (ana, ben, ana.planner, ana.writer)
        for number, each in enumerate(owners):
            each.put("k", f"value {number}", "a")
        assert [each.item("k", "a").content for each in owners] == [
            f"value {number}" for number in range(4)
        ]
        where = Filter(now=LATER, namespace=("a",), key="k")
        assert ana.planner.page(where) == ["value 0", "value 2"]

    def test_an_erasure_takes_no_item_along(self, ana):
        """An item that says the same as a memory is a value of its own, and so the other way."""
        (fact,) = ana.remember("tea")
        item = ana.put("k", "tea")
        ana.put("other", "tea")
        ana.erase(fact)
        assert ana.item("k") == item
        (fact,) = ana.remember("tea")
        ana.erase(item)
        assert (ana.found(fact), ana.item("other").content) == (fact, "tea")

    def test_threads_that_write_one_key_leave_one_item(self, ana):
        """Whoever comes first gives it its id; the last write of somebody is its content."""

        def write(writer):
            return [ana.put("k", f"{writer} {turn}", "a") for turn in range(TURNS)]

        with ThreadPoolExecutor(WRITERS) as threads:
            seen = [item for items in threads.map(write, range(WRITERS)) for item in items]
        last = ana.item("k", "a")
        assert {(item.id, item.created_at) for item in seen} == {(last.id, last.created_at)}
        assert last.content in {f"{writer} {TURNS - 1}" for writer in range(WRITERS)}
        assert len(ana.index_changes(IndexVersion(), items=True).rows) == 1

"""The cache of counts: invisible but for its speed, and bounded in bytes."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens.catalog import ENTRY_BYTES, CachedCounter
from memoranda.tokens.estimate import EstimatedCounter

ANY = st.text(st.characters(exclude_categories=[]))


class Length:
    """A counter that is easy to check: the characters of a text."""

    exact = True
    name = "characters"

    def __init__(self):
        """Nothing counted yet."""
        self.texts = []

    def count(self, text):
        """Return the length of the text, and note it."""
        self.texts.append(text)
        return len(text)


@given(texts=st.lists(ANY))
def test_the_cache_changes_no_count(texts):
    """Whatever is asked in whatever order, the counts are the inner counter's."""
    inner = EstimatedCounter()
    cached = CachedCounter(inner, max_bytes=3 * ENTRY_BYTES)
    for text in texts + texts[::-1]:
        assert cached.count(text) == inner.count(text)


def test_it_speaks_for_the_inner_counter():
    """Name and exactness are those of what counts."""
    assert (CachedCounter(Length()).exact, CachedCounter(Length()).name) == (True, "characters")
    assert not CachedCounter(EstimatedCounter()).exact


def test_a_text_is_counted_once():
    """And an empty text never."""
    inner = Length()
    cached = CachedCounter(inner)
    assert [cached.count(text) for text in ("tea", "bag", "tea", "", "tea")] == [3, 3, 3, 0, 3]
    assert inner.texts == ["tea", "bag"]


def test_the_least_recently_used_count_goes_first():
    """A text that is asked for again and again stays."""
    inner = Length()
    cached = CachedCounter(inner, max_bytes=2 * ENTRY_BYTES)
    for text in ("a", "bb", "a", "ccc", "a"):
        cached.count(text)
    assert inner.texts == ["a", "bb", "ccc"]
    cached.count("bb")
    assert inner.texts == ["a", "bb", "ccc", "bb"]


class Silent(Length):
    """A counter that keeps nothing, and whose numbers are objects of their own."""

    def count(self, text):
        """Return the length of the text, plus a thousand."""
        return len(text) + 1_000


def test_memory_is_bounded_in_bytes_whatever_the_texts_are():
    """Three times as many texts as there is room for, of 10 KB each, leave the bytes promised."""
    entries = 683  # where the dictionary has just grown
    limit = entries * ENTRY_BYTES
    cached = CachedCounter(Silent(), max_bytes=limit)
    text = "tea " * 2_500
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(3 * entries):
            cached.count(text + str(number))
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used <= limit


def test_threads_share_it():
    """Eight threads get right counts."""
    texts = [f"{number} " * number for number in range(1, 60)]
    cached = CachedCounter(EstimatedCounter(), max_bytes=40 * ENTRY_BYTES)
    expected = [EstimatedCounter().count(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for counts in pool.map(lambda _: [cached.count(text) for text in texts], range(16)):
            assert counts == expected

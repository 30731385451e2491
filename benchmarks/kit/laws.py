"""What holds of any memory of several users: laws of values under keys, and of turns.

Each law is a function that is given what opens one memory, in the same folder every time. Its
docstring is the law. ``LAWS`` can be the parameters of a test.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.kit.adapter import Adapter, Embed, Turn

Opened = Callable[[], AbstractContextManager[Adapter]]
Law = Callable[[Opened], None]
ANA, BEN = "ana", "ben"
KEPT, BROKEN, NOT_OFFERED = "yes", "no", "–"
MANY = 250  # more than a page of any of them
MEGABYTE = 1_000_000
TEXTS = (
    "naïve Zoë, Ελλάδα, Привет",
    "日本語 العربية עברית हिन्दी",
    "\U0001f469\u200d\U0001f467 \U0001f1f5\U0001f1f9 \U0001d518",  # family, flag, letter
    unicodedata.normalize("NFD", "é"),
    "two\nlines\ttab, \"quotes\", 'quotes', \\ and \u200b",
    " spaces around ",
)
KEYS = ("%", "_", "a_b", "axb", "a%b", "*", "a/b", "../a", "a.b", "a b", "'; --", '"', "A", "a")
QUERIES = ('"', "'; DROP TABLE turns; --", "NEAR(", "* OR *", "?", "(", "cat AND", "-", "\\", "%")
CAT = Turn("D1:1", 'Ana said, "My cat is called Schnurri."', session="1", speaker="Ana")
RENT = Turn("D1:2", 'Ana said, "The rent went up again."', session="1", speaker="Ana")


def get_what_was_put(opened: Opened) -> None:
    """A value that was put is got; a key without one has none."""
    with opened() as memory:
        memory.put(ANA, "city", "Porto")
        assert memory.get(ANA, "city") == "Porto"
        assert memory.get(ANA, "street") is None


def replace(opened: Opened) -> None:
    """A value put again takes the place of the old one, and its key is listed once."""
    with opened() as memory:
        for city in ("Porto", "Lisbon", "Faro"):
            memory.put(ANA, "city", city)
        assert memory.get(ANA, "city") == "Faro"
        assert memory.list(ANA) == ["city"]


def delete(opened: Opened) -> None:
    """A deleted value is gone, others stay; deleting it again does nothing; it may come back."""
    with opened() as memory:
        memory.put(ANA, "city", "Porto")
        memory.put(ANA, "cat", "Schnurri")
        memory.delete(ANA, "city")
        memory.delete(ANA, "city")
        assert memory.get(ANA, "city") is None
        assert memory.list(ANA) == ["cat"]
        memory.put(ANA, "city", "Faro")
        assert memory.get(ANA, "city") == "Faro"


def list_all(opened: Opened) -> None:
    """All keys are listed, however many; an unknown user has none."""
    with opened() as memory:
        keys = [f"key {number}" for number in range(MANY)]
        for key in keys:
            memory.put(ANA, key, f"value of {key}")
        assert sorted(memory.list(ANA)) == sorted(keys)
        assert memory.list(BEN) == []


def keep_users_apart(opened: Opened) -> None:
    """What one user has under a key, another neither gets, lists, replaces nor deletes."""
    with opened() as memory:
        memory.put(ANA, "city", "Porto")
        assert memory.get(BEN, "city") is None
        memory.put(BEN, "city", "Faro")
        memory.delete(BEN, "city")
        memory.put(BEN, "cat", "Maunz")
        assert memory.get(ANA, "city") == "Porto"
        assert memory.list(ANA) == ["city"]
        assert memory.list(BEN) == ["cat"]


def survive_reopening(opened: Opened) -> None:
    """Values outlive the process: replaced and deleted ones as they were last."""
    with opened() as memory:
        for city in ("Porto", "Lisbon"):
            memory.put(ANA, "city", city)
        memory.put(ANA, "cat", "Schnurri")
        memory.delete(ANA, "cat")
    with opened() as memory:
        assert memory.get(ANA, "city") == "Lisbon"
        assert memory.list(ANA) == ["city"]


def keep_any_text(opened: Opened) -> None:
    """Any Unicode text comes back as it was put, as a value and as a key."""
    with opened() as memory:
        for text in TEXTS:
            memory.put(ANA, text, text)
        assert {text: memory.get(ANA, text) for text in TEXTS} == dict(
            zip(TEXTS, TEXTS, strict=True)
        )
        assert sorted(memory.list(ANA)) == sorted(TEXTS)


def take_keys_literally(opened: Opened) -> None:
    """No character of a key is a wildcard, a path or a part of a query."""
    with opened() as memory:
        for key in KEYS:
            memory.put(ANA, key, f"<{key}>")
        assert [memory.get(ANA, key) for key in KEYS] == [f"<{key}>" for key in KEYS]
        memory.delete(ANA, "%")
        memory.delete(ANA, "*")
        assert set(memory.list(ANA)) == set(KEYS) - {"%", "*"}


def keep_large_values(opened: Opened) -> None:
    """A value of a megabyte comes back whole, and so does an empty one."""
    large = "".join(f"line {number}\n" for number in range(MEGABYTE // 10))[:MEGABYTE]
    with opened() as memory:
        memory.put(ANA, "large", large)
        memory.put(ANA, "empty", "")
    with opened() as memory:
        assert memory.get(ANA, "large") == large
        assert memory.get(ANA, "empty") == ""


def never_cut(opened: Opened) -> None:
    """A text with a NUL is kept whole or refused with an error, never cut."""
    text = "before\0after"
    with opened() as memory:
        try:
            memory.put(ANA, "nul", text)
        except Exception:  # noqa: BLE001 - each memory refuses in its own way
            assert memory.get(ANA, "nul") is None
        else:
            assert memory.get(ANA, "nul") == text


def put_from_threads(opened: Opened) -> None:
    """What several threads put at the same time is all there."""
    names = [[f"{thread}-{number}" for number in range(10)] for thread in range(4)]
    with opened() as memory, ThreadPoolExecutor(len(names)) as pool:

        def put_all(keys: list[str]) -> None:
            for key in keys:
                memory.put(ANA, key, key)

        list(pool.map(put_all, names))
        expected = sorted(key for keys in names for key in keys)
        assert sorted(memory.list(ANA)) == expected


def find_own_words(opened: Opened) -> None:
    """A turn is found by its words, in the order that fits, within the limit."""
    with opened() as memory:
        memory.add(ANA, [CAT, RENT])
        assert memory.search(ANA, "What is the cat called?", 5)[:1] == [CAT.id]
        assert len(memory.search(ANA, "the cat and the rent", 1)) <= 1


def search_own_turns(opened: Opened) -> None:
    """No user finds the turns of another, even under the same ids."""
    with opened() as memory:
        assert memory.search(BEN, "What is the cat called?", 5) == []
        memory.add(ANA, [CAT, RENT])
        assert memory.search(BEN, "What is the cat called?", 5) == []
        memory.add(BEN, [Turn(CAT.id, 'Ben said, "It rains."', session="1", speaker="Ben")])
        assert set(memory.search(BEN, "Ben said: it rains", 5)) <= {CAT.id}
        assert memory.search(ANA, "What is the cat called?", 5)[:1] == [CAT.id]


def find_after_reopening(opened: Opened) -> None:
    """Turns outlive the process and are found."""
    with opened() as memory:
        memory.add(ANA, [CAT, RENT])
    with opened() as memory:
        assert memory.search(ANA, "What is the cat called?", 5)[:1] == [CAT.id]


def take_any_query(opened: Opened) -> None:
    """No query fails, whatever characters it has."""
    with opened() as memory:
        memory.add(ANA, [CAT, RENT])
        for query in QUERIES:
            assert len(memory.search(ANA, query, 5)) <= 2


LAWS: tuple[Law, ...] = (
    get_what_was_put,
    replace,
    delete,
    list_all,
    keep_users_apart,
    survive_reopening,
    keep_any_text,
    take_keys_literally,
    keep_large_values,
    never_cut,
    put_from_threads,
    find_own_words,
    search_own_turns,
    find_after_reopening,
    take_any_query,
)


def check(law: Law, memory: type[Adapter], embed: Embed) -> tuple[str, str]:
    """Return whether a memory keeps a law, and what went wrong if it does not."""
    with TemporaryDirectory(prefix="memory-", ignore_cleanup_errors=True) as folder:

        @contextmanager
        def opened() -> Iterator[Adapter]:
            made = memory(Path(folder), embed)
            try:
                yield made
            finally:
                made.close()

        try:
            law(opened)
        except NotImplementedError:
            return NOT_OFFERED, ""
        except Exception as error:  # noqa: BLE001 - each memory fails in its own way
            said = f"{type(error).__name__}: {error}".splitlines() or [""]
            return BROKEN, said[0][:200]
    return KEPT, ""

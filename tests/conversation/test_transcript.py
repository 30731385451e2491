"""A transcript in the store: who holds it sees what changed, and one without a memory ends."""

import gc
import warnings

import apsw

from memoranda import Conversation


def test_two_conversations_without_a_memory_are_apart_and_end_with_their_holder():
    """Each has a store of its own, which is closed when nobody holds the conversation."""
    one, two = Conversation(), Conversation()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gc.collect()
        before = apsw.memory_used()
        one.extend([{"role": "user", "content": "x" * 100_000} for _ in range(50)])
        two.add("user", "Only here.")
        assert (len(one), len(two)) == (50, 1)
        assert apsw.memory_used() > before + 5_000_000
        del one
        assert apsw.memory_used() < before + 1_000_000
    assert told == []
    assert two.messages[0].content == "Only here."

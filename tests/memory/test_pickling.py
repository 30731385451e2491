"""What a memory gives can be sent to another process, and kept in a cache."""

import pickle
from copy import deepcopy

from memoranda import Memory, Settings


def test_what_is_returned_can_be_pickled_and_copied():
    """Records with metadata, hits, what was recalled, contexts, messages, changes, entities."""
    settings = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=settings) as memory:
        tea = memory.remember("Ana drinks tea in Porto.", metadata={"cups": [1, {"size": 2}]})
        chat = memory.conversation("trip")
        chat.add("user", "Where does Ana drink tea?")
        context = chat.context("And with whom?")
        found = (
            memory.get(tea.id),
            memory.search("tea"),
            memory.recall("tea"),
            memory.history(tea.id),
        )
        for value in (
            *found,
            context,
            chat.messages,
            memory.entities(),
            memory.facts(),
            memory.stats(),
        ):
            assert pickle.loads(pickle.dumps(value)) == value == deepcopy(value)  # noqa: S301

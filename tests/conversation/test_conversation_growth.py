"""Memory grows with what is said and with nothing else (N3.1, N3.2)."""

import gc

import pytest
from talks import alone, chatter, exchange, fill, remembering, sized

WINDOW = 4_000


def talk(chat, count):
    """Add ordinary messages, ten at a time, two of them a call with its result."""
    for number in range(count // 10):
        chatter(chat, 8)
        exchange(chat, f"call_{number}")


@pytest.mark.timeout(120)
def test_a_stored_conversation_holds_what_is_in_view_alone(tmp_path):
    """N3.1: of what is stored and pruned nothing stays in this process."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW)
        talk(chat, 100)
        gc.collect()
        before = held(chat)
        talk(chat, 400)
        assert held(chat) <= before * 2


def held(chat):
    """Return how many messages, units and signals a conversation holds in this process."""
    live = chat._states.live
    found = live.group()
    kept = (live.messages, found.units, live.gaps, live._signals, found.orphans)
    return sum(map(len, kept))


def objects(act, times):
    """Return how many objects more there are after doing something so many times."""
    act()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(times):
        act()
    gc.collect()
    return len(gc.get_objects()) - before


def test_looking_leaves_nothing_behind(tmp_path):
    """N3.2: contexts, views, figures and expansions leave no object behind."""
    with remembering(tmp_path / "m.db") as memory:
        for chat in (alone(context_limit=WINDOW), memory.conversation("c", context_limit=WINDOW)):
            fill(chat, [60] * 65)
            exchange(chat, "call", sized(100))
            marker = chat.view().markers[0]
            memory.derive()

            def look(chat=chat, marker=marker):
                chat.context("And now?")
                chat.view(900)
                chat.stats()
                chat.expand(marker)
                chat.recent(3)
                chat.by_role("user")

            for _ in range(5):
                look()
            # What is made once, as a pattern that is compiled at last, is there in one of them.
            assert min(objects(look, 20) for _ in range(3)) < 40  # fewer than two for each look


def test_sessions_that_end_leave_nothing_behind():
    """N3.2: a conversation that is no longer held is gone, listeners and all."""

    def session():
        chat = alone(context_limit=WINDOW)
        chat.on("pruned", lambda _: chat.stats())
        fill(chat, [60] * 70)
        assert chat.prunings
        chat.end()

    for _ in range(2):
        session()
    assert objects(session, 8) < 8

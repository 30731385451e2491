"""What a later call needs is in view: made-up runs, replayed as the real ones are.

Proves the laws where the real runs are not; ``test_replay.py`` has these.
"""

from functools import cache

import pytest
from made_up_runs import made_up_run
from tables import each_row

BUDGETS = (2_000, 4_000)


@pytest.fixture(scope="module")
def tallied(replay):
    """Return what was counted over four runs of 14 turns, with the default settings."""

    @cache
    def counted(budget):
        tally = replay.Tally()
        for seed in range(4):
            tally.add(replay.replayed(made_up_run(seed), None, budget))
        return tally

    return counted


@each_row("budget", BUDGETS)
def test_every_context_fits_and_holds_the_last_request(tallied, budget):
    """No context exceeds its budget, and each of the four conversations was pruned."""
    tally = tallied(budget)
    assert (tally.over, tally.impossible) == (0, 0)
    assert tally.requests == tally.contexts
    assert tally.cut == tally.conversations == 4


def test_conversations_stay_coherent(tallied):
    """N2.2, SM1: over nine of ten have in every context what the next call names."""
    tally = tallied(4_000)
    assert tally.coherent > 0.9 * tally.conversations


@each_row("budget", BUDGETS)
def test_few_pruned_messages_are_needed_later(tallied, budget):
    """SM3: the particulars in markers leave fewer than 5 %, and none beyond one expansion."""
    tally = tallied(budget)
    assert tally.pruned > 150
    assert tally.missed < 0.05 * tally.pruned
    assert tally.missed < tally.missed_without
    assert tally.unreachable == 0


def test_pruning_is_rare_and_takes_each_message_once(replay):
    """SM6: however long the conversation, it is due every fifth message at most."""
    for turns in (20, 60):
        run = made_up_run(1, turns)
        chat = replay.conversation(run[0]["content"], 4_000)
        for message in run[1:]:
            chat.extend([message])
        assert 0 < len(chat.prunings) <= len(run) / 5
        assert sum(item.messages for item in chat.prunings) < len(run)

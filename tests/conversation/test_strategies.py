"""Strategies: pure functions from units and a budget to what stays."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.conversation.strategies import recency, rolling_window
from recollect.conversation.units import Unit
from recollect.conversation.view import NAMES, strategy_named
from recollect.core.errors import InvalidInput
from recollect.core.models import Message

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SPECS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.integers(1, 20), st.booleans()),
    max_size=30,
)


def made(specs):
    """Make one unit for each role, tokens and pin."""
    return [
        Unit(
            (
                Message(
                    id=f"{number}",
                    role=role,
                    content="",
                    timestamp=MOMENT,
                    tokens=tokens,
                    pinned=pinned and number % 7 == 0,
                ),
            )
        )
        for number, (role, tokens, pinned) in enumerate(specs)
    ]


@given(specs=SPECS, budget=st.integers(0, 300))
def test_recency_keeps_the_longest_end_that_fits(specs, budget):
    """What is fixed stays; of the rest, the longest gapless end within the budget."""
    units = made(specs)
    kept = recency.keep(units, budget)
    free = [i for i, unit in enumerate(units) if not unit.fixed]
    stays = [i for i in free if kept[i]]
    assert all(kept[i] for i, unit in enumerate(units) if unit.fixed)
    assert stays == free[len(free) - len(stays) :]
    fixed = sum(unit.tokens for unit in units if unit.fixed)
    used = fixed + sum(units[i].tokens for i in stays)
    assert used <= max(budget, fixed)
    if len(stays) < len(free):
        assert used + units[free[-len(stays) - 1]].tokens > budget


@given(
    specs=SPECS,
    budget=st.integers(0, 300),
    most=st.integers(1, 12),
    recent=st.integers(1, 12),
)
def test_a_rolling_window_keeps_the_recent_and_opens_with_a_question(specs, budget, most, recent):
    """Never more than ``max_messages``; the recent ones that fit stay; an end without gaps."""
    most = max(most, recent)
    units = made(specs)
    kept = rolling_window.keep(units, budget, max_messages=most, keep_recent=recent)
    fits = recency.keep(units, budget)
    free = [i for i, unit in enumerate(units) if not unit.fixed]
    stays = [i for i in free if kept[i]]
    assert stays == free[len(free) - len(stays) :]
    assert all(fits[i] for i in stays)
    assert len(stays) <= most
    newest = free[-recent:]
    if all(fits[i] for i in newest):
        assert set(newest) <= set(stays)
    if stays and len(stays) > recent and not all(kept):
        roles = [units[i].messages[0].role for i in stays]
        unasked = roles.index("user") if "user" in roles else 0
        assert unasked == 0 or len(stays) - unasked < recent
    if free and fits[free[-1]]:
        assert stays, "the newest message fits and is not there"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_a_strategy(name):
    """Each listed name can be used."""
    assert strategy_named(name, max_messages=5, keep_recent=2)([], 10) == []


@pytest.mark.parametrize("name", ["", "Recency", None, 5])
def test_an_unknown_name_is_refused(name):
    """The message lists the names there are."""
    with pytest.raises(InvalidInput, match="is unknown; use one of recency, rolling_window"):
        strategy_named(name, max_messages=5, keep_recent=2)

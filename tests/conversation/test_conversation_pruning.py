"""When a conversation is pruned, how far, and how often (R6.1 to R6.3, workflows 1, 2 and 4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row
from talks import (
    REPLY,
    STRATEGIES,
    alone,
    chatter,
    chosen,
    cuts,
    exchange,
    fill,
    heard,
    lawful,
    live,
    sized,
    used,
)

from memoranda import Conversation, errors

WINDOW = 1_000
SMALLER = 45  # tokens of messages of which the ones that stay fit any target
LARGE = st.lists(st.integers(6, 240), min_size=10, max_size=40)


def test_twenty_ordinary_messages_are_never_pruned():
    """Workflow 1: a typical session sees all of its messages, and hears of no pruning."""
    chat = alone(max_messages=None)
    events = heard(chat, "pruned", "approaching_limit", "task_boundary")
    said = chatter(chat, 20)
    assert list(chat.view().messages) == said
    assert chat.prunings == ()
    assert events == []
    assert chat.stats().pruned_messages == 0
    assert chat.stats().last_prune is None


def test_at_eighty_percent_the_oldest_leave():
    """Workflow 2: told at the threshold, pruned beyond it, a marker for what left.

    Half of a context is left, with the request that all is about.
    """
    chat = alone(context_limit=WINDOW)
    events = heard(chat, "pruned", "approaching_limit")
    said = fill(chat, [39] * 10)
    assert chat.prune() is None
    said += fill(chat, [39] * 10)  # 783 of 1,000 with the opening of the reply
    assert chat.stats().percent_used == 78.3
    assert events == []
    said += fill(chat, [39])
    assert [event.name for event in events] == ["approaching_limit", "pruned"]
    [receipt] = chat.prunings
    assert events[1].subject == receipt
    assert (receipt.trigger, receipt.before) == ("automatic", 21 * 39 + REPLY)
    assert 350 < receipt.after == used(chat)
    assert "822 of 1,000 tokens (82 %)" in receipt.why
    shown = lawful(chat, 800)
    gone = said[2 : 2 + receipt.messages]
    assert list(shown.messages) == said[:2] + said[2 + len(gone) :]
    assert f"... [{len(gone)} messages removed] ..." in shown.entries[2].text
    assert 10 <= len(shown.messages) <= 14
    fill(chat, [39] * 3)
    assert chat.prune().trigger == "manual"
    assert used(chat) <= 500


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(6, 45) | st.integers(200, 450), min_size=15, max_size=35),
    strategy=st.sampled_from(STRATEGIES),
    by_budget=st.booleans(),
)
def test_nothing_leaves_below_the_threshold_and_less_than_the_target_stays(
    sizes, strategy, by_budget
):
    """R6.1, R6.2: each pruning was due, by its own trigger, and reaches its own target.

    What jumps beyond 90 % is pruned further. All shares are of the window, or of the cap that
    ``max_tokens`` is (R8.2). The request of the task, the last one and its answer stay.
    """
    limits = {"max_tokens": WINDOW} if by_budget else {"context_limit": WINDOW}
    budget = WINDOW if by_budget else WINDOW * 8 // 10
    chat = alone(strategy=strategy, keep_recent=1, **limits)
    fill(chat, sizes)
    for receipt in chat.prunings:
        assert receipt.before > WINDOW * 0.8
        assert receipt.trigger == ("aggressive" if receipt.before > WINDOW * 0.9 else "automatic")
        assert receipt.after < receipt.before
        target = budget * (0.5 if receipt.trigger == "automatic" else 0.4)
        # The request of the task, the last one and their answers stay; a marker stands for it.
        assert max(sizes) > SMALLER or receipt.after <= target + budget / 10
    assert used(chat) <= WINDOW or max(sizes) > SMALLER


def test_thresholds_are_settings():
    """R8: where pruning starts and how far it goes is what the settings say."""
    thresholds = {"warn_at": 0.3, "prune_at": 0.4, "prune_to": 0.2}
    further = {"aggressive_at": 0.7, "aggressive_to": 0.1}
    own = chosen(prune_from=0.2, **thresholds, **further)
    chat = alone(context_limit=WINDOW, keep_recent=1, settings=own)
    events = heard(chat, "approaching_limit")
    fill(chat, [99, 100, 97])
    assert chat.prunings == ()
    assert events == []
    fill(chat, [100])
    assert chat.prunings == ()
    assert [event.subject.tokens for event in events] == [399]
    fill(chat, [100])
    assert [(r.trigger, r.before, r.after < 300) for r in chat.prunings] == [
        ("automatic", 499, True)
    ]
    chat.add("user", sized(600))
    assert chat.prunings[-1].trigger == "aggressive"
    assert chat.prunings[-1].messages == len(chat) - chat.prunings[0].messages - 1


def test_a_conversation_goes_by_its_settings():
    """R8: how much of the window, how many stay and by which strategy, where no argument says."""
    own = {"budget_share": 0.5, "window": 1, "strategy": "recency"}
    chat = Conversation(context_limit=WINDOW, settings=chosen(**own))
    chatter(chat, 8)
    assert (chat.context().receipt.budget, chat.window()) == (500, chat.recent(2))
    assert (chat.prune(60).strategy, len(chat.view().messages) < 8) == ("recency", True)
    chat = Conversation(settings=chosen(prune_from=0.0, max_messages=6, keep_recent=2))
    chatter(chat, 7)
    assert len(chat.prunings) == 1
    far = chosen(prune_at=0.6, aggressive_at=0.6, aggressive_to=0.1)
    chat = alone(context_limit=4 * WINDOW, keep_recent=1, settings=far)
    fill(chat, [60] * 41)
    assert [(r.trigger, r.after < 500) for r in chat.prunings] == [("aggressive", True)]


@pytest.mark.slow
@given(
    sizes=LARGE,
    strategy=st.sampled_from(STRATEGIES),
    keep=st.sampled_from([1, 4, 10]),
    window=st.sampled_from([500, 1_000, 4_000]),
)
def test_no_trigger_takes_the_newest_or_the_last_request(sizes, strategy, keep, window):
    """N2.3, R3.3: what nobody asked to go stays live, however large it is."""
    chat = alone(context_limit=window, strategy=strategy, keep_recent=keep)
    for size in sizes:
        fill(chat, [size])
        newest = {message.id for message in chat.recent(keep)}
        assert newest <= live(chat)
        assert strategy == "recency" or chat.by_role("user")[-1].id in live(chat)


@each_row("wrong", [0, -1, True, False, "100", 2.5, (), float("nan")])
def test_pruning_to_what_is_no_number_is_refused(wrong):
    """R6.3: the message names the value, and nothing changed."""
    chat = alone(system="You plan trips.")
    chatter(chat, 30)
    before = (chat.messages, chat.view(), chat.stats())
    events = heard(chat)
    with pytest.raises(errors.InvalidInput, match=r"max_tokens=.* must be a whole number"):
        chat.prune(wrong)
    assert (chat.messages, chat.view(), chat.stats()) == before
    assert chat.prunings == ()
    assert events == []


def test_pruning_to_less_than_must_stay_is_refused():
    """R6.3: the error says what is needed; nothing changed; with that much it works."""
    chat = alone(system="You plan trips.")
    said = chatter(chat, 30)
    chat.pin(said[3].id)
    before = chat.view()
    with pytest.raises(errors.BudgetTooSmall) as raised:
        chat.prune(5)
    assert chat.view() == before
    assert chat.prunings == ()
    receipt = chat.prune(raised.value.needed)
    assert receipt.messages == 29
    assert [message.id for message in chat.view().messages] == [said[3].id]


@given(
    sizes=st.lists(st.integers(6, 120), max_size=30),
    most=st.integers(20, 3_000),
    strategy=st.sampled_from(STRATEGIES),
    tools=st.booleans(),
)
def test_what_a_person_prunes_fits_and_no_second_pruning_is_needed(sizes, most, strategy, tools):
    """R6.3: afterwards all that is live fits the number, and asking again does nothing."""
    chat = alone(system="You plan trips.", strategy=strategy, keep_recent=3)
    for index, size in enumerate(sizes):
        fill(chat, [size])
        if tools and index % 3 == 0:
            exchange(chat, f"call_{index}", sized(size))
    shown = chat.view(most)
    receipt = chat.prune(most)
    assert (receipt is None) == (shown.pruned == ())
    if receipt is not None:
        assert receipt.trigger == "manual"
        assert f"{most:,} tokens" in receipt.why
        assert receipt.messages == len(shown.pruned)
    after = lawful(chat, most)
    assert after.pruned == ()
    assert after.messages == shown.messages or shown.shortened
    assert chat.prune(most) is None


# Hysteresis


@given(sizes=st.lists(st.integers(6, 60), min_size=20, max_size=150))
def test_prunings_are_as_rare_as_the_tokens_they_free(sizes):
    """Each automatic pruning frees a quarter of the window: so many must be added between."""
    chat = alone(context_limit=WINDOW, keep_recent=4)
    fill(chat, sizes)
    step = WINDOW * 0.25
    freed = [receipt.tokens for receipt in chat.prunings]
    assert all(tokens >= step for tokens in freed)
    said = sum(message.tokens for message in chat.messages)
    assert len(freed) <= said / step
    marked = sum(marker.cost for marker in chat.view().markers)
    assert sum(freed) + used(chat) == said + REPLY + marked


@given(
    count=st.integers(20, 120),
    most=st.sampled_from([10, 12, 20, 50]),
    pins=st.sets(st.integers(0, 40), max_size=12),
    systems=st.integers(0, 12),
    strategy=st.sampled_from(["rolling_window", "importance", "hybrid"]),
)
def test_a_full_window_is_not_pruned_with_every_message(count, most, pins, systems, strategy):
    """By number, too, a pruning makes room for several messages, whatever is pinned."""
    chat = alone(max_messages=most, keep_recent=10, strategy=strategy)
    for number in range(systems):
        chat.add("system", f"Rule {number} of the house.")
    for number in range(count):
        [message] = fill(chat, [12])
        if number in pins:
            chat.pin(message.id)
    batch = max(2, most // 5)
    assert len(chat.prunings) <= 1 + (count + systems) / batch
    assert sum(cut.messages for cut in cuts(chat)) <= count

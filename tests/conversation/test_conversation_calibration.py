"""What the provider's own counts teach: later counts, budgets and triggers go by them (R2.1)."""

from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row
from talks import REPLY, alone, chatter, fill, heard, lawful, remembering, sized

from memoranda import Settings, errors
from memoranda.model.models import Calibration

WINDOW = 1_000
EXACT = {"tokenizers": {"precise": "o200k_base"}}


def calibration(chat):
    """Return what a conversation has learned."""
    return chat._transcript.info().calibration


def counted(chat):
    """Build a context and return its tokens."""
    return chat.context("And now?").tokens


def built(chat, prompt, budget, **arguments):
    """Build a context; where the budget is too small, one with what the error says is needed."""
    try:
        return chat.context(prompt, budget=budget, **arguments)
    except errors.BudgetTooSmall as error:
        needed = error.needed
    assert needed > budget
    return chat.context(prompt, budget=needed, **arguments)


FORMS = [
    lambda tokens: tokens,
    lambda tokens: {"prompt_tokens": tokens, "completion_tokens": 7, "total_tokens": tokens + 7},
    lambda tokens: SimpleNamespace(prompt_tokens=tokens, completion_tokens=7),
    lambda tokens: {"input_tokens": tokens, "output_tokens": 7},
    lambda tokens: SimpleNamespace(
        input_tokens=tokens, input_tokens_details=SimpleNamespace(cached_tokens=9), output_tokens=7
    ),
    lambda tokens: {
        "input_tokens": tokens - 30,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 10,
        "output_tokens": 7,
    },
    lambda tokens: SimpleNamespace(
        input_tokens=tokens - 20, cache_read_input_tokens=20, cache_creation_input_tokens=None
    ),
    lambda tokens: {"input_tokens": 0, "cache_read_input_tokens": tokens},
]


@each_row("form", FORMS)
def test_usage_comes_in_the_forms_of_the_providers(form):
    """A number, or the usage of OpenAI's and Anthropic's replies, with cached tokens."""
    chat = alone(system="You plan trips.")
    chatter(chat, 20)
    tokens = counted(chat)
    chat.calibrate(form(int(tokens * 1.25)))
    assert calibration(chat).scale == pytest.approx(1.25, abs=0.01)
    assert counted(chat) == pytest.approx(tokens * 1.25, rel=0.01)


WRONG = [
    0,
    -1,
    True,
    None,
    "120",
    12.5,
    {},
    {"tokens": 120},
    {"prompt_tokens": 0},
    {"prompt_tokens": None},
    {"prompt_tokens": "120"},
    {"prompt_tokens": True},
    {"prompt_tokens": -5},
    {"input_tokens": 40, "cache_read_input_tokens": -50},
    [120],
    SimpleNamespace(output_tokens=7),
]


@each_row("wrong", WRONG)
def test_what_is_no_usage_is_refused(wrong):
    """The message shows the value, and nothing is learned."""
    chat = alone()
    chatter(chat, 4)
    before = counted(chat)
    with pytest.raises(errors.InvalidInput, match="actual="):
        chat.calibrate(wrong)
    assert calibration(chat) == Calibration()
    assert counted(chat) == before


def test_without_a_context_there_is_nothing_to_compare():
    """Before the first context the count can be of anything, and is refused."""
    chat = alone()
    chatter(chat, 4)
    chat.view()
    chat.stats()
    with pytest.raises(errors.InvalidInput, match="no context was built yet"):
        chat.calibrate(120)


@given(
    sizes=st.lists(st.integers(6, 90), min_size=2, max_size=25),
    factors=st.lists(st.floats(0.3, 4), min_size=1, max_size=4),
    budget=st.integers(30, 900),
    form=st.sampled_from(["openai", "responses", "anthropic"]),
)
def test_contexts_keep_their_budget_by_the_corrected_count(sizes, factors, budget, form):
    """Law 1, N2.5: whatever was learned; and the lines of the receipt add up to the total."""
    chat = alone(system="You plan trips.", keep_recent=2, context_limit=WINDOW)
    fill(chat, sizes)
    for factor in factors:
        tokens = counted(chat)
        chat.calibrate(max(1, int(tokens * factor)))
        assert 0.5 <= calibration(chat).scale <= 3
    context = built(chat, "And now?", budget, form=form)
    assert context.tokens <= context.receipt.budget
    assert context.tokens == context.receipt.tokens
    assert context.tokens == sum(item.tokens for item in context.receipt.included)


@given(st.integers(10, 300), st.integers(5, 300), st.integers(20, 300))
@example(39, 25, 50)
@example(78, 50, 100)
def test_rounding_never_exceeds_the_budget(was, actual, budget):
    """N2.5: also where scale and budget meet at a whole number but for an error in rounding."""
    chat = alone(keep_recent=1)
    chat.add("user", sized(was - REPLY))
    chat.context()
    chat.calibrate(actual)
    chat.clear()
    room = int(budget / calibration(chat).scale)
    chat.add("user", sized(max(6, room - REPLY)))
    context = built(chat, None, budget)
    assert context.tokens <= context.receipt.budget


def test_an_exact_count_misses_only_what_is_sent_beside():
    """Where counts are exact the difference is a constant, such as definitions of tools."""
    settings = Settings(tokens=EXACT, timezone="UTC", embedding={"model": "none"})
    chat = alone(model="precise", settings=settings, context_limit=WINDOW)
    chatter(chat, 10)
    if not chat.stats().exact:
        pytest.skip("no tokenizer on this machine")
    tokens = counted(chat)
    chat.calibrate(tokens + 150)
    assert calibration(chat) == Calibration(scale=1.0, overhead=150)
    assert counted(chat) == tokens + 150
    context = chat.context("And now?", budget=300)
    assert context.tokens <= 300
    assert context.receipt.included[-1].what == "calibration"
    assert context.receipt.included[-1].tokens == 150
    chat.calibrate(context.tokens - 20)
    assert calibration(chat).overhead == 130


def test_one_strange_count_does_not_decide_alone():
    """The first count is believed, each later one by half; none beyond what can be."""
    chat = alone()
    chatter(chat, 20)
    tokens = counted(chat)
    chat.calibrate(int(tokens * 1.2))
    chat.context("And now?")
    chat.calibrate(int(tokens * 1.4))
    assert calibration(chat).scale == pytest.approx(1.3, abs=0.01)
    chat.context("And now?")
    chat.calibrate(tokens * 1_000)
    assert calibration(chat).scale == pytest.approx((1.3 + 3) / 2, abs=0.01)


def test_repeating_the_truth_converges_to_it():
    """With each reply the corrected count comes nearer to what is billed, and stays there."""
    chat = alone(system="You plan trips.")
    chatter(chat, 20)
    raw, missed = counted(chat), []
    for _ in range(8):
        told = counted(chat)
        missed.append(abs(told - raw * 1.17) / raw)
        chat.calibrate(round(raw * 1.17))
    assert missed[-1] < 0.01


def test_triggers_go_by_the_corrected_count():
    """R6.1: a conversation that is billed double is pruned at half the estimated size."""
    chat = alone(context_limit=WINDOW, keep_recent=2)
    events = heard(chat, "approaching_limit", "pruned")
    fill(chat, [40] * 5)
    chat.calibrate(2 * chat.context().tokens)
    fill(chat, [40] * 4)
    assert events == []
    fill(chat, [40])
    told, pruned = events
    assert told.subject.tokens == 2 * (10 * 40 + REPLY)
    assert pruned.subject.before == told.subject.tokens
    assert pruned.subject.after <= 600
    assert pruned.subject.before - pruned.subject.after == 2 * pruned.subject.tokens
    lawful(chat, 800)


def test_what_was_learned_stays_with_a_stored_conversation(tmp_path):
    """The next session counts as the last one learned to."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        chat, other = memory.conversation("c"), memory.conversation("d")
        for talk in (chat, other):
            chatter(talk, 20)
        tokens = chat.context().tokens
        chat.calibrate(int(tokens * 1.3))
        assert memory.conversation("c").context().tokens == chat.context().tokens
        assert other.context().tokens == tokens
    with remembering(path) as memory:
        chat = memory.conversation("c")
        assert calibration(chat).scale == pytest.approx(1.3, abs=0.01)
        assert chat.context().tokens == pytest.approx(tokens * 1.3, rel=0.01)


def test_what_was_learned_of_one_model_is_not_believed_of_another(tmp_path):
    """Going on with another model, whose tokens differ, starts without a correction."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", model="one")
        chatter(chat, 20)
        chat.calibrate(2 * chat.context().tokens)
        assert calibration(memory.conversation("c")).scale == pytest.approx(2, abs=0.01)
        assert calibration(memory.conversation("c", model="one")).scale > 1.9
        assert calibration(memory.conversation("c", model="two")) == Calibration()

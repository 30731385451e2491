"""What a model's name decides, and what its provider's own counts teach (R2.1, R2.3, R8.2)."""

from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row
from talks import REPLY, affordable, alone, chatter, fill, heard, lawful, meter, remembering, sized

from memoranda import Conversation, Memory, Settings, errors
from memoranda.model.models import Calibration
from memoranda.testing.embedders import HashEmbedder

CHINESE = "我们明天早上九点在里斯本见面,然后一起去喝茶。" * 5


def with_tokens(**tokens):
    """Return settings with these about tokens."""
    return Settings(tokens=tokens, timezone="UTC", embedding={"model": "none"})


@each_row(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("openai/gpt-4o-mini", 128_000),
        ("anthropic:claude-3-opus-20240229", 200_000),
        ("my-own-model", 8_192),
        (None, 128_000),
    ],
)
def test_the_window_is_that_of_the_model(model, window):
    """R2.3: known by name, with a provider before it or a date after it; else the setting."""
    chat = alone(model=model, settings=with_tokens())
    assert chat.stats().token_limit == window
    assert chat.stats().limit_known == (model != "my-own-model")
    assert chat.context("hello").receipt.budget == int(window * 0.8)


def test_settings_come_before_what_is_known():
    """R8.2: a window by name or pattern, one for all other models, and one of the caller's."""
    settings = Settings(
        tokens={"limits": {"gpt-4": 6_000, "my-*": 9_000}}, conversation={"context_limit": 5_000}
    )
    windows = {
        "gpt-4": 6_000,
        "openai/my-model:latest": 9_000,
        "gpt-4o": 5_000,
        "unheard-of": 5_000,
        None: 5_000,
    }
    for model, window in windows.items():
        assert Conversation(settings=settings, model=model).stats().token_limit == window
    chat = Conversation(settings=settings, model="gpt-4", context_limit=700)
    assert chat.stats().token_limit == 700


@pytest.fixture
def opening(tmp_path):
    """Open the memory of one file with models whose tokenizers differ."""
    names = {"old": "cl100k_base", "new": "o200k_base", "guess": "estimate"}

    def start():
        return Memory(
            tmp_path / "m.db",
            user="ana",
            embedder=HashEmbedder(),
            settings=with_tokens(tokenizers=names, limits={"*": 20_000, "new": 30_000}),
        )

    return start


def test_another_model_counts_anew(opening):
    """R2.6: going on with another model recounts every message, also those out of view."""
    with opening() as memory:
        chat = memory.conversation("c", model="guess", keep_recent=2)
        chat.add("user", CHINESE)
        chatter(chat, 10)
        chat.clear()
        chat.add("user", CHINESE, images=["https://example.org/plan.png"])
        fill(chat, [60] * 10)
        chat.prune(300)
        assert len(chat.prunings) == 1
        before = chat.expand("cut_0-100")
    with opening() as memory:
        assert memory.conversation("c").stats().token_limit == 20_000
        chat = memory.conversation("c", model="new", keep_recent=2)
        assert memory.conversation("c").stats().token_limit == 30_000
        measure = memory._services.catalog.meter("new")
        after = chat.expand("cut_0-100")
        assert [message.tokens for message in after] == [
            measure.message(message.content, message.tool_calls, message.images)
            for message in after
        ]
        assert sum(m.tokens for m in after) != sum(m.tokens for m in before)
        assert [(m.id, m.content, m.position) for m in after] == [
            (m.id, m.content, m.position) for m in before
        ]
        assert len(chat.prunings) == 1
        shown = lawful(chat, 800)
        assert shown.tokens == sum(
            entry.tokens if entry in shown.messages else entry.cost for entry in shown.entries
        )
        context = chat.context("And now?")
        assert context.tokens == sum(item.tokens for item in context.receipt.included)


def test_a_recount_reaches_who_holds_the_conversation(opening):
    """Another holder's budget goes by the new counts at once."""
    with opening() as memory:
        holder = memory.conversation("c", model="guess")
        holder.add("user", CHINESE)
        memory.conversation("c", model="new")
        [message] = holder.messages
        assert message.tokens == memory._services.catalog.meter("new").message(CHINESE)
        assert holder.view().messages == (message,)
        assert holder.add("user", CHINESE).tokens == message.tokens


def test_every_figure_says_whether_it_is_an_estimate():
    """R2.1: a model that is not known is estimated, and that is said."""
    chat = alone(model="unheard-of", settings=with_tokens())
    chat.add("user", CHINESE)
    assert not chat.stats().exact
    assert not chat.context().receipt.exact
    assert chat.messages[0].tokens == meter("unheard-of").message(CHINESE)


def test_the_settings_cap_a_context():
    """R8.2: a budget in tokens, whatever the window; an argument comes first."""
    own = Settings(conversation={"max_tokens": 700})
    for arguments, budget in (({}, 700), ({"max_tokens": 800}, 800)):
        chat = Conversation(model="gpt-4o", settings=own, **arguments)
        assert chat.context("hello").receipt.budget == budget
        assert chat.stats().token_limit == budget


WINDOW = 1_000


def calibration(chat):
    """Return what a conversation has learned."""
    return chat._transcript.info().calibration


def counted(chat):
    """Build a context and return its tokens."""
    return chat.context("And now?").tokens


FORMS = [
    lambda tokens: tokens,
    lambda tokens: {"prompt_tokens": tokens, "completion_tokens": 7, "total_tokens": tokens + 7},
    lambda tokens: SimpleNamespace(prompt_tokens=tokens, completion_tokens=7),
    lambda tokens: {"input_tokens": tokens, "output_tokens": 7},
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
    [120],
    {"tokens": 120},
    SimpleNamespace(output_tokens=7),
]
WRONG += [{"prompt_tokens": wrong} for wrong in (0, None, "120", True, -5)]
WRONG += [{"input_tokens": 40, "cache_read_input_tokens": -50}]


@each_row("wrong", WRONG)
def test_what_is_no_usage_is_refused(wrong):
    """The message shows the value, and nothing is learned; nor before there is a context."""
    chat = alone()
    chatter(chat, 4)
    chat.view()
    with pytest.raises(errors.InvalidInput, match="no context was built yet"):
        chat.calibrate(120)
    before = counted(chat)
    with pytest.raises(errors.InvalidInput, match="actual="):
        chat.calibrate(wrong)
    assert calibration(chat) == Calibration()
    assert counted(chat) == before


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
    context = affordable(lambda most: chat.context("And now?", budget=most, form=form), budget)
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
    context = affordable(lambda most: chat.context(budget=most), budget)
    assert context.tokens <= context.receipt.budget


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
    marked = sum(marker.cost for marker in chat.view().markers)
    freed = pruned.subject.before - pruned.subject.after
    assert freed == 2 * (pruned.subject.tokens - marked)
    lawful(chat, 800)


def test_what_was_learned_stays_with_a_stored_conversation(tmp_path):
    """The next session counts as the last one learned to, but not with another model."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        chat, other = memory.conversation("c", model="one"), memory.conversation("d")
        for talk in (chat, other):
            chatter(talk, 20)
        tokens, others = chat.context().tokens, other.context().tokens
        chat.context()
        chat.calibrate(int(tokens * 1.3))
        assert memory.conversation("c").context().tokens == chat.context().tokens
        assert other.context().tokens == others
    with remembering(path) as memory:
        for arguments in ({}, {"model": "one"}):
            chat = memory.conversation("c", **arguments)
            assert calibration(chat).scale == pytest.approx(1.3, abs=0.01)
            assert chat.context().tokens == pytest.approx(tokens * 1.3, rel=0.01)
        assert calibration(memory.conversation("c", model="two")) == Calibration()

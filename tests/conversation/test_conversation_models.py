"""What a model's name decides: the window, and how tokens are counted (R2.1, R2.3, R8.2)."""

import pytest
from tables import each_row
from talks import alone, chatter, fill, heard, lawful, meter, remembering

from memoranda import Conversation, Memory, Settings
from memoranda.testing.embedders import HashEmbedder

CHINESE = "我们明天早上九点在里斯本见面,然后一起去喝茶。" * 5


def with_tokens(**tokens):
    """Return settings with these about tokens."""
    return Settings(tokens=tokens, timezone="UTC", embedding={"model": "none"})


@each_row(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-32k", 32_768),
        ("gpt-4o", 128_000),
        ("openai/gpt-4o-mini", 128_000),
        ("GPT-4-0613", 8_192),
        ("claude-3-5-sonnet-20241022", 200_000),
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
    """R8.2: a window by name or pattern, one for unknown models, and one of the caller's."""
    limits = {"gpt-4": 6_000, "my-*": 9_000}
    settings = with_tokens(limits=limits).model_copy(
        update={
            "conversation": Settings(
                conversation={"context_limit": 5_000}, timezone="UTC"
            ).conversation
        }
    )

    def window(**arguments):
        return Conversation(settings=settings, **arguments).stats().token_limit

    assert window(model="gpt-4") == 6_000
    assert window(model="openai/my-model:latest") == 9_000
    assert window(model="gpt-4o") == 128_000
    assert window(model="unheard-of") == 5_000
    assert window() == 5_000
    assert window(model="gpt-4", context_limit=700) == 700


def test_a_stored_conversation_keeps_its_model_and_window(tmp_path):
    """What is not given again is as it was; what is given replaces it."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        memory.conversation("c", model="gpt-4")
        memory.conversation("d", model="gpt-4", context_limit=3_000)
    with remembering(path) as memory:
        assert memory.conversation("c").stats().token_limit == 8_192
        assert memory.conversation("d").stats().token_limit == 3_000
        assert memory.conversation("c", model="gpt-4o").stats().token_limit == 128_000
        assert memory.conversation("c").stats().token_limit == 128_000


@pytest.fixture
def counted(tmp_path):
    """Open the memory of one file with models whose tokenizers differ."""
    names = {"old": "cl100k_base", "new": "o200k_base", "guess": "estimate"}

    def start():
        return Memory(
            tmp_path / "m.db",
            user="ana",
            embedder=HashEmbedder(),
            settings=with_tokens(tokenizers=names, limits={"*": 20_000}),
        )

    return start


def test_another_model_counts_anew(counted):
    """R2.6: going on with another model recounts every message, also those out of view."""
    with counted() as memory:
        chat = memory.conversation("c", model="guess", keep_recent=2)
        chat.add("user", CHINESE)
        chatter(chat, 10)
        chat.clear()
        chat.add("user", CHINESE, images=["https://example.org/plan.png"])
        fill(chat, [60] * 10)
        chat.prune(300)
        assert len(chat.prunings) == 1
        before = chat.expand("cut_0-100")
    with counted() as memory:
        chat = memory.conversation("c", model="new", keep_recent=2)
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


def test_a_recount_reaches_who_holds_the_conversation(counted):
    """Another holder's budget goes by the new counts at once."""
    with counted() as memory:
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


def test_pruning_starts_at_the_window_of_the_model():
    """R6.1: the thresholds are shares of the window that the settings give the model."""
    chat = alone(model="tiny", settings=with_tokens(limits={"tiny": 1_000}))
    events = heard(chat, "approaching_limit", "pruned")
    fill(chat, [39] * 20)
    assert events == []
    fill(chat, [39])
    assert events[0].subject.limit == 1_000
    assert [receipt.trigger for receipt in chat.prunings] == ["automatic"]

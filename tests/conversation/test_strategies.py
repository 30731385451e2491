"""Strategies: what each keeps beside what stays in any case."""

import pytest
from dialogues import METER, dialogues, transcript, view
from hypothesis import given
from tables import each_row

from memoranda import Conversation, Memory
from memoranda.conversation.pruning import DEFAULT_LIMITS, check_limits
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.view import Policy
from memoranda.errors import InvalidInput

HERE = DEFAULT_LIMITS.settings


def shown(messages, budget, *, strategy, **policy):
    """Return the contents in view."""
    policy = Policy(strategy=STRATEGIES[strategy], **policy)
    return [item.content for item in view(messages, budget, policy, METER).messages]


def talk(*lines):
    """Make a transcript of ``user: …`` and ``assistant: …`` lines."""
    return transcript([(*line.split(": ", 1), {}) for line in lines])


@given(messages=dialogues())
def test_everything_stays_while_it_fits(messages):
    """R6.1: below every limit nothing is left out but what no provider takes."""
    for name in STRATEGIES:
        seen = view(messages, 10**9, Policy(strategy=STRATEGIES[name], max_messages=10**6), METER)
        assert seen.pruned == ()


def test_recency_keeps_the_end_message_by_message():
    """Seed 003: system messages, then the newest that fit; an answer without its question too."""
    messages = talk("system: Rules.", "user: one", "assistant: two", "user: three", "assistant: f")
    markers = 40
    tokens = sum(item.tokens for item in (messages[0], *messages[2:]))
    kept = shown(messages, tokens + markers, strategy="recency", keep_recent=1)
    assert kept in (["Rules.", "two", "three", "f"], ["Rules.", "one", "two", "three", "f"])
    tight = shown(messages, messages[0].tokens + messages[-1].tokens, strategy="recency")
    assert tight == ["Rules.", "f"]


def test_recency_stops_at_the_first_that_does_not_fit():
    """Seed 003: the walk back ends at the first message beyond the budget, none jumps in."""
    messages = talk("user: a", "assistant: " + "long " * 400, "user: b", "assistant: c")
    assert shown(messages, 200, strategy="recency", keep_recent=1) == ["b", "c"]


def test_a_rolling_window_holds_the_last_so_many():
    """R3.1, R8.1: of many messages the last so many, whole pairs."""
    messages = talk(*(f"{role}: {n}" for n in range(40) for role in ("user", "assistant")))
    kept = shown(messages, 10**6, strategy="rolling_window", max_messages=20)
    assert kept == [str(n) for n in range(30, 40) for _ in range(2)]


def test_a_rolling_window_opens_with_a_question():
    """R3.5: where the newest messages begin with an answer, its question comes along."""
    messages = talk(*(f"{role}: {n}" for n in range(40) for role in ("user", "assistant")))
    kept = shown(messages, 10**6, strategy="rolling_window", max_messages=10, keep_recent=9)
    assert kept == [str(n) for n in range(35, 40) for _ in range(2)]


def test_errors_and_their_corrections_stay_when_old():
    """R5.3: of an old task, the mistake and what mended it stay when the rest goes."""
    old = [
        "user: Compile it.",
        "assistant: Error: undefined symbol foo in main.c, exit code 1.",
        "user: No, I meant the release build.",
        "assistant: Sorry, I used the wrong target; now it builds.",
    ]
    filler = [f"{role}: We spoke of {n}." for n in range(60) for role in ("user", "assistant")]
    messages = talk(*old, *filler)
    for name in ("rolling_window", "importance", "hybrid"):
        kept = shown(messages, 900, strategy=name, keep_recent=4)
        assert any("undefined symbol" in text for text in kept), name
        assert any("release build" in text for text in kept), name


def test_a_finished_task_goes_before_the_current_one_is_touched():
    """R5.2: nothing of the current task leaves while a plain message of a finished one stays."""
    done = [f"{role}: Module {n} is renamed." for n in range(12) for role in ("user", "assistant")]
    end = ["assistant: Task complete. Renamed 12 modules.", "user: Now let's work on the tests."]
    now = [f"{role}: Test {n} covers a case." for n in range(14) for role in ("assistant", "user")]
    messages = talk(*done, *end, *now)
    for name in ("rolling_window", "importance", "hybrid"):
        for budget in (250, 350, 450, 550, 650):
            kept = shown(messages, budget, strategy=name, keep_recent=4)
            current = [text for text in kept if text.startswith("Test")]
            if any(text.startswith("Module") for text in kept):
                assert len(current) == len(now), (name, budget)


def test_importance_keeps_a_rule_that_recency_forgets():
    """R4.4: a standing rule outlives small talk that is newer."""
    rule = ["user: Never delete anything in /srv without asking me.", "assistant: Understood."]
    chat = [
        f"{role}: Nice weather, number {n}!" for n in range(60) for role in ("user", "assistant")
    ]
    messages = talk(*rule, *chat)
    assert not any("/srv" in text for text in shown(messages, 600, strategy="recency"))
    for name in ("importance", "hybrid"):
        assert any("/srv" in text for text in shown(messages, 600, strategy=name, keep_recent=4))


@each_row("name", sorted(STRATEGIES))
def test_every_name_gives_a_strategy(name):
    """Each listed name can be used."""
    assert check_limits(HERE, strategy=name).policy.strategy is STRATEGIES[name]


def test_an_unknown_argument_is_refused(tmp_path):
    """However a conversation is opened, a misspelt limit is no default; the nearest is named."""
    meant = "did you mean context_limit"
    with pytest.raises(InvalidInput, match=meant):
        Conversation(contextlimit=5)
    with pytest.raises(InvalidInput, match=meant):
        Conversation.open(tmp_path / "trip.jsonl", contextlimit=5)
    with Memory(":memory:") as memory, pytest.raises(InvalidInput, match=meant):
        memory.conversation("trip", contextlimit=5)


class FirstWords:
    """Keeps what was said first: a strategy of one's own."""

    name = "first_words"
    description = "what was said first"
    pairs = True

    def select(self, given, selection):
        """Keep units from the oldest on."""
        for index in range(len(given.units)):
            if not selection.take([index]):
                return


def test_an_object_of_ones_own_is_a_strategy():
    """It decides what stays beside what must, and the receipt and the explanation name it."""
    chat = Conversation(strategy=FirstWords(), keep_recent=1, max_messages=4)
    for number in range(8):
        chat.add("user", f"number {number}")
    shown = chat.view(10_000)
    assert [message.position for message in shown.messages] == [0, 1, 2, 7]
    assert chat.prune(60).strategy == "first_words"
    assert "first_words keeps what was said first" in chat.explain().told[0]

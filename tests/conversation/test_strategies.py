"""Strategies: what each keeps beside what stays in any case, and those of others."""

from dataclasses import replace

import pytest
from dialogues import METER, AnyStrategy, dialogues, talk, view
from hypothesis import given

from memoranda import Conversation, Memory, Settings
from memoranda.conversation import Strategy
from memoranda.conversation.pruning import check_limits
from memoranda.conversation.selection import Policy
from memoranda.conversation.strategies import STRATEGIES
from memoranda.errors import ConfigError, InvalidInput
from memoranda.settings.sections import ConversationSettings
from memoranda.testing.embedders import HashEmbedder

HERE = ConversationSettings()


def shown(messages, budget, *, strategy, **policy):
    """Return the contents in view."""
    policy = Policy(strategy=STRATEGIES[strategy], **{"prune_to": 1.0} | policy)
    return [item.content for item in view(messages, budget, policy, METER).messages]


@given(messages=dialogues())
def test_everything_stays_while_it_fits(messages):
    """R6.1: below every limit nothing is left out but what no provider takes."""
    for name in STRATEGIES:
        seen = view(messages, 10**9, Policy(strategy=STRATEGIES[name], max_messages=10**6), METER)
        assert seen.pruned == ()


def test_recency_stops_at_the_first_that_does_not_fit():
    """Seed 003: the walk back ends at the first message beyond the budget, none jumps in."""
    messages = talk("user: a", "assistant: " + "long " * 400, "user: b", "assistant: c")
    assert shown(messages, 200, strategy="recency", keep_recent=1) == ["b", "c"]


def test_a_rolling_window_holds_the_last_so_many():
    """R3.1, R8.1: of many messages the first request and the last so many, whole pairs."""
    messages = talk(*(f"{role}: {n}" for n in range(40) for role in ("user", "assistant")))
    kept = shown(messages, 380, strategy="rolling_window", max_messages=20)
    assert kept == [str(n) for n in (0, *range(31, 40)) for _ in range(2)]


def test_a_rolling_window_opens_with_a_question():
    """R3.5: where the newest messages begin with an answer, its question comes along."""
    messages = talk(*(f"{role}: {n}" for n in range(40) for role in ("user", "assistant")))
    kept = shown(messages, 380, strategy="rolling_window", max_messages=10, keep_recent=9)
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
    messages = [
        replace(item, task="tests") if item.content.startswith("Now") else item
        for item in talk(*done, *end, *now)
    ]
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


def test_an_unknown_argument_is_refused():
    """However a conversation is opened, a misspelt limit is no default; the nearest is named."""
    meant = "did you mean context_limit"
    with pytest.raises(InvalidInput, match=meant):
        Conversation(contextlimit=5)
    with Memory(":memory:") as memory, pytest.raises(InvalidInput, match=meant):
        memory.conversation("trip", contextlimit=5)


def test_every_name_gives_a_strategy():
    """Each listed name can be used."""
    for name, strategy in STRATEGIES.items():
        assert check_limits(HERE, strategy=name).policy.strategy is strategy


def test_question_and_answer_are_not_parted_by_a_strategy():
    """One that asks for pairs and takes an answer alone gets its question, too, or neither."""
    answer = AnyStrategy([[1]], pairs=True)
    chat = Conversation(strategy=answer, keep_recent=1, max_messages=100)
    for number in range(30):
        chat.add("user", f"Question {number}?")
        chat.add("assistant", f"Answer {number}.")
    assert [item.content for item in chat.view(200).messages] == [
        *("Question 0?", "Answer 0."),
        *("Question 29?", "Answer 29."),
    ]


def test_what_is_no_strategy_is_refused():
    """The message says what it lacks, or which names there are."""
    for given_, problem in (
        ("monye", "'monye' is unknown; use one of rolling_window, recency, importance, hybrid"),
        (object(), "it has no name and no description and no pairs and no select"),
        (AnyStrategy, "is a class; pass an object of it"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            Conversation(strategy=given_)
    with pytest.raises((ConfigError, ValueError), match="rolling_window"):
        Settings(conversation={"strategy": "monye"})


def test_an_object_is_a_strategy_of_a_memory(tmp_path):
    """It goes where a name goes, and the receipts of a stored conversation name it."""
    strategy = AnyStrategy([[0]], pairs=True)
    assert isinstance(strategy, Strategy)
    with Memory(tmp_path / "a.db", embedder=HashEmbedder()) as memory:
        chat = memory.conversation("trip", strategy=strategy, keep_recent=1)
        for number in range(12):
            chat.add("user", f"Number {number}.")
        assert chat.prune(70).strategy == "random"
        assert "Number 0." in [item.content for item in chat.view().messages]


class Broken:
    """A strategy with a mistake in it."""

    name = "broken"
    description = "nothing"
    pairs = True

    def select(self, given, selection):
        """Fail."""
        raise LookupError(f"no such word in {given!r:.40}, {selection!r:.40}")


def test_a_mistake_in_a_strategy_loses_no_message(caplog):
    """What is shown with it says so; what is added is kept, and the log has the mistake."""
    chat = Conversation(strategy=Broken(), keep_recent=1, max_tokens=100)
    for number in range(30):
        chat.add("user", f"Number {number}.")
    assert len(chat.messages) == 30
    assert chat.prunings == ()
    assert {str(each.exc_info[1])[:12] for each in caplog.records} == {"no such word"}
    with pytest.raises(LookupError, match="no such word"):
        chat.view()
    assert len(chat.view(10_000).messages) == 30

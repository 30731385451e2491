"""The first request of a task stays in the context while a pruned view has room for it (R5.4)."""

import random

import pytest

from memoranda import Conversation

WORDS = [
    "apple",
    "river",
    "stone",
    "cloud",
    "table",
    "window",
    "garden",
    "paper",
    "engine",
    "bridge",
    "deploy",
    "retry",
    "panel",
]
REQUEST = "Please help me move the whole billing service to the new cluster."


@pytest.mark.parametrize("strategy", ["rolling_window", "importance", "hybrid"])
def test_a_context_holds_the_first_request_of_its_task(strategy):
    """Also where the newest messages alone take half of the window, as nearly all do here."""
    dice = random.Random(5)  # noqa: S311 - no secret
    chat = Conversation(context_limit=8_000, strategy=strategy)
    held = 0
    for turn in range(50):
        said = f"Now the {' '.join(dice.choices(WORDS, k=dice.randint(20, 300)))}"
        said = said if turn else f"{REQUEST} {said}"
        sent = chat.context(said).messages
        held += any(REQUEST in str(each["content"]) for each in sent)
        chat.add("user", said)
        chat.add("assistant", f"Done: {' '.join(dice.choices(WORDS, k=dice.randint(20, 600)))}")
    assert chat.stats().pruned_messages
    assert held >= 49
